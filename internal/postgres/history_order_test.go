package postgres_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

// TestOrderOfComputingDoesNotMatter computes the same list of tracks in the order of time and in random orders, some of them twice. The
// history as of each instant, and its times of knowledge, must be equal.
func TestOrderOfComputingDoesNotMatter(t *testing.T) {
	t.Parallel()
	const slots, days = 8, 6
	for seed := range uint64(12) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			tracks, states := make([]signals.Track, slots), make([]string, slots)
			for i := range tracks {
				states[i] = []string{signals.StatusLive, signals.StatusDecayed}[rng.IntN(2)]
				for d := range days {
					if rng.IntN(4) == 0 {
						continue // this point does not exist now
					}
					v := float64(rng.IntN(2)) // few values, so that many come back
					e := signals.Estimate{ObservedAt: series.InstantOf(day(d + 1)), KnownAt: series.InstantOf(day(d + 1).Add(time.Duration(v) * time.Hour)), Value: v, Lo: float64(rng.IntN(2)), Hi: 9, Baseline: math.NaN()}
					tracks[i] = append(tracks[i], e)
				}
			}
			save := func(db *postgres.DB, i int) {
				snap := snapshot(noon(10 + i))
				snap.Status, snap.Cause = states[i], "because of "+states[i]
				snap.ObservedAt = new(day(days)) // something is known
				if err := db.SaveSnapshot(t.Context(), task.Fence{}, snap, tracks[i]); err != nil {
					t.Fatal(err)
				}
			}
			ordered, _ := open(t, postgres.RoleWorker)
			shuffled, _ := open(t, postgres.RoleWorker)
			for i := range slots {
				save(ordered, i)
			}
			order := append(rng.Perm(slots), rng.IntN(slots), rng.IntN(slots))
			for _, i := range order {
				save(shuffled, i)
			}
			for i := range slots {
				for _, at := range []time.Time{noon(10 + i), noon(10 + i).Add(5 * time.Hour)} {
					var want []string
					for _, e := range tracks[i] {
						want = append(want, fmt.Sprintf("%d=%v %v", e.ObservedAt.Time().Day(), e.Value, e.Lo))
					}
					var got []string
					for p := range points(t, shuffled.History(t.Context(), postgres.HistoryQuery{Signal: "s", AsOf: at})) {
						got = append(got, fmt.Sprintf("%d=%v %v", p.ObservedAt.Day(), p.Value, p.Lo))
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Errorf("computed in the order %v, as of %s (-computed then, +said):\n%s", order, at, d)
					}
					checkServed(t, shuffled, at)
					if s, err := shuffled.StateAsOf(t.Context(), "s", at); err != nil || s.State != states[i] || s.Cause != "because of "+s.State {
						t.Errorf("computed in the order %v, as of %s the state is %v (%v), want %s", order, at, s, err, states[i])
					}
				}
			}
			for _, versions := range []bool{false, true} {
				q := postgres.HistoryQuery{Signal: "s", AsOf: noon(30), Versions: versions}
				want := slices.Collect(points(t, ordered.History(t.Context(), q)))
				got := slices.Collect(points(t, shuffled.History(t.Context(), q)))
				fields := cmp.Options{cmpopts.EquateNaNs()}
				if !versions {
					fields = append(fields, cmpopts.IgnoreFields(postgres.Point{}, "KnownFrom"))
				}
				if d := cmp.Diff(want, got, fields); d != "" {
					t.Errorf("computed in the order %v, versions %t (-ascending +shuffled):\n%s", order, versions, d)
				}
			}
			q := postgres.HistoryQuery{Signal: "s", AsOf: noon(30)}
			want, err := ordered.Changes(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			got, err := shuffled.Changes(t.Context(), q)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("computed in the order %v, changes (-ascending +shuffled): %v\n%s", order, err, d)
			}
		})
	}
}

// TestASlotThatComesLateChangesNothing computes few slots in every order, as a backfill does whose killed slots are resumed after later slots.
// A row that repeats the row before can stay, because rows are only added. A reader must not notice it.
func TestASlotThatComesLateChangesNothing(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	for name, slots := range map[string][]string{
		"a value that came at the late slot":         {"a 1=1", "a 1=2", "a 1=2", "a 1=2"},
		"a value at the late slot alone":             {"a 1=1", "a 1=2", "a 1=1", "a 1=1"},
		"a point that came":                          {"a 1=1", "a 1=1 2=2", "a 1=1 2=2", "a 1=1 2=2 3=3"},
		"a point that was withdrawn and came back":   {"a 1=1 2=2", "a 1=1", "a 1=1", "a 1=1 2=2"},
		"a point that was missing at the late slot":  {"a 1=1 2=2", "a 1=1", "a 1=1 2=2", "a 1=1"},
		"nothing known first":                        {"a", "a", "a 1=1", "a 1=1"},
		"nothing known between":                      {"a 1=1", "a", "a", "a 1=1"},
		"nothing known at the late slot":             {"a 1=1", "a", "a 1=1", "a 1=2"},
		"nothing known at every other slot":          {"a 1=1", "a", "a 1=1", "a"},
		"another program from the late slot on":      {"a 1=1 2=2", "b 1=1", "b 1=1", "b 1=1 2=2"},
		"another program at the late slot alone":     {"a 1=1 2=2", "b 1=1", "a 1=1 2=2", "a 1=1 2=2"},
		"another program that had a point for a day": {"a 1=1", "b 1=1 2=2", "a 1=1", "a 1=1 2=2"},
	} {
		ascending := ""
		for _, order := range orders(len(slots)) {
			signal := strings.NewReplacer(" ", "-", "[", "", "]", "").Replace(fmt.Sprint(name, " ", order))
			for _, i := range order {
				code, points, _ := strings.Cut(slots[i], " ")
				snap, tr := snapshot(noon(10+i)), track(t, points)
				snap.Signal, snap.CodeVersion = signal, code
				if len(tr) > 0 {
					snap.ObservedAt = new(tr[len(tr)-1].ObservedAt.Time())
				}
				if err := db.SaveSnapshot(t.Context(), task.Fence{}, snap, tr); err != nil {
					t.Fatal(err)
				}
			}
			if ascending == "" {
				ascending = signal
				continue
			}
			for i := range slots {
				q := postgres.HistoryQuery{AsOf: noon(10 + i)}
				said := func(signal string) (now, versions []postgres.Point, changes []postgres.Change) {
					q.Signal, q.Versions = signal, false
					now = slices.Collect(points(t, db.History(t.Context(), q)))
					q.Versions = true
					versions = slices.Collect(points(t, db.History(t.Context(), q)))
					changes, err := db.Changes(t.Context(), q)
					if err != nil {
						t.Fatal(err)
					}
					return now, versions, changes
				}
				wantNow, wantVersions, wantChanges := said(ascending)
				now, versions, changes := said(signal)
				for _, d := range []string{
					cmp.Diff(wantNow, now, cmpopts.EquateNaNs(), cmpopts.IgnoreFields(postgres.Point{}, "KnownFrom")),
					cmp.Diff(wantVersions, versions, cmpopts.EquateNaNs()), cmp.Diff(wantChanges, changes),
				} {
					if d != "" {
						t.Errorf("%s, as of slot %d (-in the order of time +in this order):\n%s", signal, i, d)
					}
				}
			}
		}
	}
}

// orders returns every order of n slots, the order of time first.
func orders(n int) (list [][]int) {
	if n == 0 {
		return [][]int{{}}
	}
	for _, o := range orders(n - 1) {
		for at := n - 1; at >= 0; at-- {
			list = append(list, slices.Insert(slices.Clone(o), at, n-1))
		}
	}
	return list
}
