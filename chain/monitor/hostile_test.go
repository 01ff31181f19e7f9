package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// hanging does not answer some addresses, and leaves the others to the transport below.
type hanging struct {
	http.RoundTripper

	at func(path string) bool
}

func (h hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.at(r.URL.Path) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return h.RoundTripper.RoundTrip(r)
}

func TestAWitnessThatHangsHidesNoLie(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Fatalf("the honest log: %+v", all)
	}
	m.o.AnswerTimeout = 3 * time.Second
	m.client.Transport = hanging{http.DefaultTransport, func(path string) bool { return strings.HasPrefix(path, "/w0/") }}
	other := &testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}
	l.mu.Lock()
	l.tree = other.grow(t, gaps(t, "forged", int(l.tree.size))...)
	l.note = l.sign(l.tree)
	l.mu.Unlock()
	kinds, all := found(t, m)
	if !slices.Contains(kinds, KindAway) || !slices.Contains(kinds, KindInconsistent) {
		t.Errorf("the witness w0 hangs, and the log signs another root: %+v", all)
	}
}

func TestAServerCannotRaiseAlertsWithoutEnd(t *testing.T) {
	t.Parallel()
	t.Run("by entries that the log lacks", func(t *testing.T) {
		t.Parallel()
		l := newTestLog(t)
		m := l.monitor(t.TempDir(), "two")
		var list []string
		for i := range maxPicks {
			list = append(list, fmt.Sprintf(`{"seq":%d,"hash":"x"}`, i+1))
		}
		l.picks = `{"picks":[` + strings.Join(list, ",") + `]}`
		found(t, m)
		l.pass(grace + time.Second)
		_, all := found(t, m)
		if len(all) != maxFaults+1 || !strings.Contains(all[maxFaults].Text, fmt.Sprint(maxPicks-maxFaults)) {
			t.Errorf("%d findings of %d entries, the last is %+v", len(all), maxPicks, all[len(all)-1])
		}
	})
	for name, lists := range map[string]func(l *testLog){
		"by picks that were not asked for": func(l *testLog) {
			l.picks = `{"picks":[` + strings.Repeat(`{"seq":7},`, maxPicks) + `{"seq":8}]}`
		},
		"by forecasts that were not asked for": func(l *testLog) {
			l.signal = `{"data":[` + strings.Repeat(`{"seq":7},`, maxForecasts) + `{"seq":8}]}`
		},
		"by signals": func(l *testLog) {
			l.lie = func(path string, _ []byte) (int, []byte) {
				if path != "/api/signals" {
					return 0, nil
				}
				return 0, []byte(`{"data":[` + strings.Repeat(`{"id":"a-signal"},`, maxSignals) + `{"id":"a-signal"}]}`)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			m := l.monitor(t.TempDir(), "two")
			lists(l)
			found(t, m)
			l.pass(grace + time.Second)
			if kinds, all := found(t, m); !slices.Equal(kinds, []string{KindAway}) || len(m.state.Absent) > 0 {
				t.Errorf("%+v, %d entries are kept", all, len(m.state.Absent))
			}
		})
	}
}

func TestALogCannotGrowTheStateBySeals(t *testing.T) {
	t.Parallel()
	r := &rules{}
	long := strings.Repeat("x", 1000)
	seal := func(n int) string {
		return r.add(int64(n), leafOf(t, tlog.KindSeal, fmt.Sprint(long, n), strings.Repeat("ab", 32), "m", "2026-03-04T13:00:00.000000Z", "2026-03-04T12:00:00.000000Z"), time.Time{})
	}
	const n = 2*maxSeals + 1
	for i := range n {
		if fault := seal(i); fault != "" {
			t.Fatal(fault)
		}
	}
	text, err := json.Marshal(r)
	if err != nil || len(r.Seals) > maxSeals || len(text) > 60*maxSeals {
		t.Errorf("%d seals are kept in %d bytes, %v", len(r.Seals), len(text), err)
	}
	for _, i := range []int{n - 1, n - maxSeals/2} {
		if seal(i) == "" {
			t.Errorf("the second seal of %d goes unnoticed after %d others", i, n-1-i)
		}
	}
}
