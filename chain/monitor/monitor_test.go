package monitor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

func TestAnHonestLogIsFollowedInSilence(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	for i := range 6 {
		if kinds, all := found(t, m); len(kinds) > 0 {
			t.Fatalf("round %d: %+v", i, all)
		}
		if s := m.Status(); s.Size != l.tree.size || !s.Looked.Equal(l.now) || !s.Quorum.Equal(l.now) {
			t.Errorf("round %d: %+v", i, s)
		}
		l.pass(time.Minute)
		l.grow(gaps(t, fmt.Sprint("round ", i), 3*i+100)...)
	}
}

func TestEachLieIsNoticedInTheNextRound(t *testing.T) {
	t.Parallel()
	corrupt := func(path string, at func(n int) int) func(l *testLog) {
		return func(l *testLog) {
			l.lie = func(p string, body []byte) (int, []byte) {
				if p != path || len(body) == 0 {
					return 0, nil
				}
				body[at(len(body))] ^= 1
				return 0, body
			}
		}
	}
	fork := func(l *testLog, common int64, n int) *testTree {
		base := &testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}
		return base.grow(l.t, slices.Concat(l.tree.leaves[:common], gaps(l.t, "fork", n))...)
	}
	for name, tt := range map[string]struct {
		lie  func(l *testLog)
		want string
	}{
		"another root of the same size": {func(l *testLog) {
			l.tree = fork(l, 500, int(l.tree.size)-500)
			l.publish()
			l.copies = nil
		}, KindInconsistent},
		"a longer fork": {func(l *testLog) {
			l.tree = fork(l, 500, 400)
			l.publish()
			l.copies = nil
		}, KindInconsistent},
		"an older size of another history": {func(l *testLog) {
			old := l.tree
			l.note, l.copies = l.sign(fork(l, 500, 20)), nil
			l.tree = old
		}, KindInconsistent},
		"an older size, without the files of the newer one": {func(l *testLog) {
			l.tree = fork(l, 300, 0)
			l.note, l.copies = l.cosigned(l.tree, l.now, l.witnesses...), nil
		}, KindStopped},
		"an older size": {func(l *testLog) { l.note = l.sign(fork(l, 300, 0)) }, KindStale},
		"a witness holds another history, which is shorter": {func(l *testLog) {
			l.copies[1] = l.cosigned(fork(l, 500, 20), l.now, l.witnesses[1])
		}, KindSplit},
		"a witness holds another history of this size": {func(l *testLog) {
			l.copies[2] = l.cosigned(fork(l, 700, 1), l.now, l.witnesses[2])
		}, KindSplit},
		"a witness holds a longer history": {func(l *testLog) {
			l.copies[0] = l.cosigned(fork(l, 700, 90), l.now, l.witnesses[0])
		}, KindSplit},
		"a leaf of an old bundle":     {corrupt("/log/tile/entries/000", func(int) int { return 700 }), KindTampered},
		"the last byte of a bundle":   {corrupt("/log/tile/entries/002.p/189", func(n int) int { return n - 1 }), KindTampered},
		"a hash of an old tile":       {corrupt("/log/tile/0/001", func(int) int { return 40 }), KindTampered},
		"a hash of the last tile":     {corrupt("/log/tile/0/002.p/189", func(n int) int { return n - 1 }), KindTampered},
		"a hash of a tile of level 1": {corrupt("/log/tile/1/000.p/2", func(int) int { return 3 }), KindTampered},
		"the signature":               {corrupt("/log/checkpoint", func(n int) int { return n - 9 }), KindTampered},
		"the copy of a witness":       {corrupt("/w1/"+idOf("log.example/log")+"/checkpoint", func(int) int { return 20 }), KindTampered},
		"a tile that is cut":          {func(l *testLog) { l.lie = cut("/log/tile/0/000") }, KindTampered},
		"a bundle that is cut":        {func(l *testLog) { l.lie = cut("/log/tile/entries/001") }, KindTampered},
		"a tile that is not there":    {func(l *testLog) { l.lie = gone("/log/tile/0/000") }, KindTampered},
		"nobody cosigns any more":     {func(l *testLog) { l.now = l.now.Add(27 * time.Hour) }, KindStopped},
		"witnesses whose lines are of the future": {func(l *testLog) {
			l.now = l.now.Add(27 * time.Hour)
			for i, w := range l.witnesses {
				l.copies[i] = l.cosigned(l.tree, l.now.Add(time.Hour), w)
			}
		}, KindStopped},
		"one of three cosigns still": {func(l *testLog) {
			l.now = l.now.Add(27 * time.Hour)
			l.copies[0] = l.cosigned(l.tree, l.now, l.witnesses[0])
		}, KindStopped},
		"new leaves are others than the signed ones": {func(l *testLog) {
			signed := l.tree.grow(l.t, gaps(l.t, "signed", 5)...)
			l.note, l.copies = l.cosigned(signed, l.now, l.witnesses...), nil
			l.tree = l.tree.grow(l.t, gaps(l.t, "served", 5)...)
		}, KindTampered},
		"the log is away for a day": {func(l *testLog) {
			l.now = l.now.Add(27 * time.Hour)
			l.lie = func(path string, _ []byte) (int, []byte) {
				if strings.HasPrefix(path, "/log/") {
					return http.StatusInternalServerError, []byte("x")
				}
				return 0, nil
			}
		}, KindStopped},
		"a pick of another chain": {func(l *testLog) {
			l.grow(leafOf(l.t, tlog.KindPick, "1", "AAPL|1.00|2026-03-04|"+chain.Genesis, strings.Repeat("ab", 32), "2026-03-04T12:00:00.000000Z"))
		}, KindRule},
		"a forecast that came too late": {func(l *testLog) { l.grow(forecastLeaf(l.t, 1, 0, noon.Add(-23*time.Hour))) }, KindRule},
		"a forecast dated after its print": {func(l *testLog) {
			l.grow(forecastLeaf(l.t, 1, 0, noon.Add(-22*time.Hour)))
		}, KindRule},
		"a forecast is left out": {func(l *testLog) { l.grow(forecastLeaf(l.t, 2, 1, noon.Add(-time.Hour))) }, KindRule},
		"a seal twice": {func(l *testLog) {
			for range 2 {
				l.grow(leafOf(l.t, tlog.KindSeal, "pick 2026-03-04", strings.Repeat("ab", 32), "m", "2026-03-04T13:00:00.000000Z", "2026-03-04T12:00:00.000000Z"))
			}
		}, KindRule},
		"a leaf in a form that is not one": {func(l *testLog) { l.grow([]byte("tidemark/gap/v1\ndate x\n")) }, KindRule},
		"the server shows another pick": {func(l *testLog) {
			link, err := chain.Next(chain.Checkpoint{}, "AAPL", "243.85", "2026-03-04")
			if err != nil {
				l.t.Fatal(err)
			}
			l.grow(leafOf(l.t, tlog.KindPick, "1", chain.Preimage(link), link.Hash, "2026-03-04T12:00:00.000000Z"))
			l.picks = `{"picks":[{"seq":1,"hash":"` + strings.Repeat("ab", 32) + `"}]}`
		}, KindRecord},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			m := l.monitor(t.TempDir(), "two")
			if kinds, all := found(t, m); len(kinds) > 0 {
				t.Fatalf("before the lie: %+v", all)
			}
			tt.lie(l)
			kinds, all := found(t, m)
			if !slices.Contains(kinds, tt.want) {
				t.Errorf("it finds %v, want %s: %+v", kinds, tt.want, all)
			}
			proven := []string{KindInconsistent, KindSplit, KindRule}
			for _, f := range all {
				if !slices.Contains(proven, tt.want) && slices.Contains(proven, f.Kind) {
					t.Errorf("it accuses the log: %+v", f)
				}
			}
		})
	}
}

func idOf(origin string) string {
	sum := sha256.Sum256([]byte(origin))
	return hex.EncodeToString(sum[:])
}

func cut(path string) func(string, []byte) (int, []byte) {
	return func(p string, body []byte) (int, []byte) {
		if p != path {
			return 0, nil
		}
		return 0, body[:len(body)-7]
	}
}

func gone(path string) func(string, []byte) (int, []byte) {
	return func(p string, _ []byte) (int, []byte) {
		if p != path {
			return 0, nil
		}
		return http.StatusNotFound, []byte("no")
	}
}

// forecastID is a forecast of the week that ends some weeks after Sunday, 2026-03-01. That week's figure was due on 2026-03-03 at 13:35 UTC.
func forecastID(week int) string {
	return "hormuz-transit/ships_week/" + time.Date(2026, 3, 1+7*week, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
}

// forecastLeaf is a forecast of a week, recorded at a time, with the true time of its release.
func forecastLeaf(t *testing.T, seq, week int, at time.Time) []byte {
	t.Helper()
	return forecastLeafOf(t, seq, forecastID(week), time.Date(2026, 3, 3+7*week, 13, 35, 0, 0, time.UTC), at)
}

func forecastLeafOf(t *testing.T, seq int, id string, release, at time.Time) []byte {
	t.Helper()
	return leafOf(t, tlog.KindForecast, fmt.Sprint(seq), id, tlog.FormatTime(release), "1", "0.5", "1.5", "0.8", "m-1",
		strings.Repeat("ab", 32), tlog.FormatTime(at))
}

func TestSilenceIsNoAccusation(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	found(t, m)
	for _, broken := range []string{"/log/checkpoint", "/log/tile/0/000", "/log/tile/entries/001", "/w0/", "/api/"} {
		l.lie = func(path string, _ []byte) (int, []byte) {
			if strings.HasPrefix(path, broken) {
				return http.StatusBadGateway, []byte("no")
			}
			return 0, nil
		}
		for _, growing := range []bool{false, true} {
			if growing {
				l.grow(gaps(t, "more"+broken, 10)...)
			}
			if _, all := found(t, m); slices.ContainsFunc(all, func(f Finding) bool { return !f.Warning }) {
				t.Errorf("%s fails: %+v", broken, all)
			}
		}
	}
	l.lie = nil
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("after all came back: %+v", all)
	}
}

func TestALogWithoutWitnessesStopsWhereItDoesNotGrow(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	l.copies = nil
	m := l.monitor(t.TempDir(), "none")
	found(t, m)
	l.pass(25 * time.Hour)
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("within its cadence: %+v", all)
	}
	l.pass(2 * time.Hour)
	if kinds, _ := found(t, m); !slices.Equal(kinds, []string{KindStopped}) {
		t.Errorf("after 27 hours it finds %v", kinds)
	}
	l.tree = l.tree.grow(t, gaps(t, "again", 1)...)
	l.note = l.sign(l.tree)
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("it grows again: %+v", all)
	}
}

func TestWhatTheServerShowsMustBeInTheLog(t *testing.T) {
	t.Parallel()
	l := newTestLog(t)
	m := l.monitor(t.TempDir(), "two")
	link, err := chain.Next(chain.Checkpoint{}, "AAPL", "243.85", "2026-03-04")
	if err != nil {
		t.Fatal(err)
	}
	l.picks = `{"picks":[{"seq":1,"hash":"` + link.Hash + `"}]}`
	l.signal = `{"data":[{"seq":1,"id":"` + forecastID(1) + `","grade":null}]}`
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("at once: %+v", all)
	}
	l.pass(grace + time.Second)
	if _, all := found(t, m); len(all) != 2 || all[0].Kind != KindMissing || all[1].Kind != KindMissing {
		t.Errorf("after the grace: %+v", all)
	}
	l.grow(leafOf(t, tlog.KindPick, "1", chain.Preimage(link), link.Hash, "2026-03-04T12:00:00.000000Z"), forecastLeaf(t, 1, 1, noon))
	if kinds, all := found(t, m); len(kinds) > 0 {
		t.Errorf("once it is there: %+v", all)
	}
	l.picks = `{"picks":[]}`
	if kinds, _ := found(t, m); !slices.Equal(kinds, []string{KindRecord}) {
		t.Errorf("the server hides the pick: %v", kinds)
	}
}

// The log may show another history in the checkpoint that readers take for its cosignatures, where no witness's copy can be asked.
func TestTheWitnessedCheckpointIsHeldToTheNewestOne(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		second func(l *testLog, before *testTree) []byte
		want   []string
	}{
		"of the same history": {func(l *testLog, before *testTree) []byte { return l.cosigned(before, l.now, l.witnesses...) }, nil},
		"of another history": {func(l *testLog, before *testTree) []byte {
			return l.cosigned(before.grow(l.t, gaps(l.t, "fork", 1)...), l.now, l.witnesses...)
		}, []string{KindInconsistent}},
		"larger than the newest one": {func(l *testLog, _ *testTree) []byte {
			return l.cosigned(l.tree.grow(l.t, gaps(l.t, "more", 1)...), l.now, l.witnesses...)
		}, []string{KindSplit}},
		"not signed by the log": {func(*testLog, *testTree) []byte { return []byte("nothing\n") }, []string{KindTampered}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTestLog(t)
			before := l.tree
			l.grow(gaps(t, "later", 5)...)
			second := tt.second(l, before)
			l.lie = func(path string, _ []byte) (int, []byte) {
				if path == "/log/checkpoint.witnessed" {
					return http.StatusOK, second
				}
				return 0, nil
			}
			m := l.monitor(t.TempDir(), "two")
			if _, err := m.Round(t.Context()); err != nil { // the environment of the log is known then
				t.Fatal(err)
			}
			if kinds, all := found(t, m); !slices.Equal(kinds, tt.want) {
				t.Errorf("it finds %+v, want %v", all, tt.want)
			}
		})
	}
}
