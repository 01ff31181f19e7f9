package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// recomputer is a worker that keeps what it has read, computed and stored.
type recomputer struct {
	db     *postgres.DB
	killer *fatal
	tracks signals.Tracks
}

func (r *recomputer) recompute(ctx context.Context, d signals.Definition, at time.Time) (signals.Growing, error) {
	in, err := r.db.InputsOf(ctx, d, at)
	if err != nil {
		return signals.Growing{}, err
	}
	track := r.tracks.Compute(d, in, at)
	return track, r.db.SaveGrowing(ctx, task.Fence{}, recomputed(d, at, track.Track()), track)
}

func recomputed(d signals.Definition, at time.Time, track signals.Track) postgres.Snapshot {
	s := snapshot(at)
	s.Signal = d.ID
	if n := len(track); n > 0 {
		s.ObservedAt = new(track[n-1].ObservedAt.Time())
	}
	return s
}

// sameEstimate is quick where nothing is NaN, which is unequal to itself.
func sameEstimate(a, b signals.Estimate) bool { return a == b || cmp.Equal(a, b, cmpopts.EquateNaNs()) }

// Workers that read, compute and store only what follows from new observations must leave the tracks and the rows of workers that do all of it again.
// Values come late, are revised, withdrawn and restored, two workers take turns, start again, and any statement can be their last.
func TestRecomputesOfNewObservationsAreWholeOnes(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"crack-spread-321", "hormuz-transit", "eia-weekly-petroleum"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			d, _ := signals.ByID(id)
			url, wholeURL := pgtest.New(t), pgtest.New(t)
			start := func() *recomputer {
				r := &recomputer{killer: &fatal{}}
				r.db = another(t, url, postgres.WithTracer(r.killer))
				return r
			}
			workers := [2]*recomputer{start(), start()}
			store(t, workers[0].db, load(t, workers[0].db, "2026-01-08T00:00:00Z", reading("seen", "2026-01-05T00:00:00Z", 1))) // a fetch to refer to
			random := rand.New(rand.NewPCG(27, 11))
			days := map[string]int{"daily": 1, "weekly": 7}[d.Frequency]
			day := instant(t, "2019-01-04T00:00:00Z")
			put := func(id series.ID, observed, vintage time.Time, value string) {
				if err := exec(t, url, "", fmt.Sprintf(`insert into observations (series, observed_at, vintage_at, value, marker, assumed, fetch_id)
					select '%s', '%s', '%s', %s, false, (select min(id) from fetches) on conflict do nothing`,
					id, observed.Format(time.RFC3339), vintage.Format(time.RFC3339), value)); err != nil {
					t.Fatal(err)
				}
			}
			for _, id := range d.Inputs {
				if err := exec(t, url, "", fmt.Sprintf(`insert into observations (series, observed_at, vintage_at, value, assumed, fetch_id)
					select '%s', at, at + interval '1 day', 50 + (extract(epoch from at)::bigint / 86400 * 7919) %% 40, false, (select min(id) from fetches)
					from generate_series('%s'::timestamptz, '%s'::timestamptz, '%d days') as at`, id, day.Format(time.RFC3339),
					day.AddDate(0, 0, 1500*days).Format(time.RFC3339), days)); err != nil {
					t.Fatal(err)
				}
			}
			newest, now := day.AddDate(0, 0, 1500*days), day.AddDate(0, 0, 1502*days)
			killed, grown := 0, 0
			var before signals.Growing
			for step := range 60 {
				now = now.Add(time.Duration(1+random.IntN(30)) * time.Hour)
				if random.IntN(4) > 0 {
					newest = newest.AddDate(0, 0, days)
					for _, id := range d.Inputs {
						if random.IntN(30) > 0 {
							put(id, newest, now.Add(-time.Duration(random.IntN(3))*time.Minute), fmt.Sprint(40+random.IntN(50), ", null"))
						}
					}
				}
				if random.IntN(5) == 0 {
					value := fmt.Sprint(40+random.IntN(50), ", null")
					if random.IntN(3) == 0 {
						value = "null, 'withdrawn'"
					}
					back := random.IntN(5)
					if random.IntN(2) == 0 {
						back = random.IntN(1400)
					}
					vintage := now
					if random.IntN(3) == 0 { // committed late, or not known yet
						vintage = now.Add(time.Duration(random.IntN(96)-48) * time.Hour)
					}
					put(d.Inputs[random.IntN(len(d.Inputs))], newest.AddDate(0, 0, -back*days), vintage, value)
				}
				place := random.IntN(2)
				if random.IntN(15) == 0 {
					workers[place] = start()
				}
				worker := workers[place]
				ctx, kill := context.WithCancel(t.Context())
				if random.IntN(4) == 0 {
					worker.killer.arm(1+random.IntN(2), random.IntN(2) == 0, kill)
				}
				got, err := worker.recompute(ctx, d, now)
				worker.killer.arm(0, false, nil)
				if err != nil {
					if ctx.Err() == nil {
						t.Fatalf("step %d: %v", step, err)
					}
					killed++
					if got, err = worker.recompute(t.Context(), d, now); err != nil {
						t.Fatalf("step %d: the second attempt: %v", step, err)
					}
				}
				kill()
				if got.Shared(before) > 0 {
					grown++
				}
				before = got
				fresh := another(t, url)
				in, err := fresh.InputsOf(t.Context(), d, now)
				if err != nil {
					t.Fatal(err)
				}
				fresh.Close()
				want := d.Compute(in, now)
				if track := got.Track(); !slices.EqualFunc(want, track, sameEstimate) {
					t.Fatalf("step %d (-whole +recomputed):\n%s", step, cmp.Diff(want, track, cmpopts.EquateNaNs()))
				}
				whole := another(t, wholeURL)
				if err := whole.SaveSnapshot(t.Context(), task.Fence{}, recomputed(d, now, want), want); err != nil {
					t.Fatal(err)
				}
				whole.Close()
				if step%15 == 14 {
					if diff := cmp.Diff(versions(t, wholeURL), versions(t, url)); diff != "" {
						t.Fatalf("step %d (-whole tracks, +differences):\n%s", step, diff)
					}
				}
			}
			if killed < 3 || grown < 8 {
				t.Errorf("%d recomputes were killed and %d continued the one before, want some", killed, grown)
			}
		})
	}
}
