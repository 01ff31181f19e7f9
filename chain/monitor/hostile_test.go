package monitor

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
	if !slices.Contains(kinds, KindUnavailable) || !slices.Contains(kinds, KindInconsistent) {
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
			if kinds, all := found(t, m); !slices.Equal(kinds, []string{KindUnavailable}) || len(m.state.Absent) > 0 {
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

// drips answers from a handler, each answer just before it would be given up, and counts the answers.
type drips struct {
	http.Handler

	each  time.Duration
	asked int
}

func (d *drips) RoundTrip(r *http.Request) (*http.Response, error) {
	d.asked++
	select {
	case <-time.After(d.each):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result(), nil
}

// Without a bound of its own, the round would last for as long as the log has files: half a minute for each.
func TestALogThatDripsHoldsARoundForMinutesAndIsNamed(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	for range 4 {
		l.grow(gaps(t, "more", 2000)...)
	}
	m := l.monitor(t.TempDir(), "two")
	m.o.Server = ""
	synctest.Test(t, func(t *testing.T) {
		slow := &drips{Handler: l, each: 29 * time.Second}
		m.client.Transport = slow
		rounds := 0
		for m.state.Size < l.tree.size {
			before, read := time.Now(), int64(0)
			if m.ahead != nil {
				read = m.ahead.edge.Size
			}
			_, all := found(t, m)
			if took := time.Since(before); took > 9*time.Minute { // the witnesses, the checkpoint, and five minutes of files
				t.Fatalf("a round took %s", took)
			}
			if rounds++; rounds > 10 {
				t.Fatalf("after %d rounds the monitor is at %d of %d", rounds, m.state.Size, l.tree.size)
			}
			if m.state.Size == l.tree.size {
				break
			}
			if m.ahead == nil || m.ahead.edge.Size <= read {
				t.Fatalf("round %d went no further: %+v", rounds, all)
			}
			says := fmt.Sprintf("its answers took more than 5m0s together; the next round continues. Of its %d leaves %d were read", l.tree.size, m.ahead.edge.Size)
			if !slices.ContainsFunc(all, func(f Finding) bool { return f.Kind == KindUnavailable && f.Warning && strings.Contains(f.Text, says) }) {
				t.Fatalf("round %d does not say %q: %+v", rounds, says, all)
			}
		}
		if rounds < 3 {
			t.Errorf("%d rounds sufficed for %d answers", rounds, slow.asked)
		}
		// Files that are read again drip, too.
		if _, all := found(t, m); !slices.ContainsFunc(all, func(f Finding) bool { return f.Kind == KindUnavailable && f.Subject == "files" }) {
			t.Errorf("files that cannot be read again are not told: %+v", all)
		}
		slow.each = time.Millisecond
		if kinds, all := found(t, m); len(kinds) > 0 {
			t.Errorf("the honest log at its usual pace: %+v", all)
		}
	})
}

// A part of one history does not begin another.
func TestALogThatChangesItsHistoryWhileItDripsIsFound(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	m.o.Server = ""
	synctest.Test(t, func(t *testing.T) {
		slow := &drips{Handler: l, each: time.Millisecond}
		m.client.Transport = slow
		found(t, m)
		first := l.tree
		l.grow(gaps(t, "more", 4000)...)
		slow.each = 29 * time.Second
		found(t, m)
		if m.ahead == nil || m.state.Size != first.size {
			t.Fatalf("the monitor is at %d of %d", m.state.Size, l.tree.size)
		}
		l.tree = first
		l.grow(gaps(t, "other", 5000)...)
		slow.each = time.Millisecond
		found(t, m) // what was read does not fit, and is forgotten
		if kinds, all := found(t, m); len(kinds) > 0 || m.state.Size != l.tree.size {
			t.Errorf("nothing was signed twice that the monitor had taken over; it is at %d of %d: %+v", m.state.Size, l.tree.size, all)
		}
	})
}
