package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// onceRounds is how often a whole history is computed and stored, onceNews how often after one more observation of each input.
const onceRounds, onceNews = 5, 5

// recomputing has the times of the parts of a recompute.
type recomputing struct{ read, computed, stored []time.Duration }

func (r *recomputing) whole() time.Duration {
	return median(r.read) + median(r.computed) + median(r.stored)
}

// afterOne compares a recompute of the whole history with one after a single new observation of each input. As in a worker, both read the
// inputs from the database, compute a track, and store what differs.
func afterOne(ctx context.Context, m *meter, in series.Set, at time.Time) error {
	return withFixture(ctx, 1, func(ctx context.Context, s *fixture) error {
		worker, err := postgres.Open(ctx, s.server, postgres.RoleWorker)
		if err != nil {
			return err
		}
		defer worker.Close()
		if err := s.observe(ctx, in); err != nil {
			return err
		}
		for _, id := range reference {
			d, ok := signals.ByID(id)
			if !ok {
				return fmt.Errorf("unknown signal %s", id)
			}
			step, later := 1, at
			if d.Frequency == "weekly" {
				step = 7
			}
			var newest time.Time
			for _, input := range d.Inputs {
				if at := in[input][len(in[input])-1].ObservedAt; at.After(newest) {
					newest = at
				}
			}
			var first, news recomputing
			for round := range onceRounds {
				d.ID = fmt.Sprintf("%s-%d", id, round) // a history that is empty
				if err := first.take(ctx, m, worker, d, later); err != nil {
					return err
				}
				for range onceNews {
					newest, later = newest.AddDate(0, 0, step), later.AddDate(0, 0, step)
					if err := s.observe(ctx, oneMore(d, newest, later)); err != nil {
						return err
					}
					if err := news.take(ctx, m, worker, d, later); err != nil {
						return err
					}
				}
			}
			ratio := first.whole().Seconds() / news.whole().Seconds()
			m.say("  %-38s whole history %.1f ms, one more observation %.1f ms: ratio %.1f  target >= 100  %s", id, milliseconds(first.whole()),
				milliseconds(news.whole()), ratio, verdict(ratio >= 100))
			m.say("  %-38s of one more: inputs read %.1f ms, computed %.1f ms, compared and stored %.1f ms", "", milliseconds(median(news.read)),
				milliseconds(median(news.computed)), milliseconds(median(news.stored)))
		}
		return nil
	})
}

// observe copies observations into the database, past the fetch that each belongs to.
func (s *fixture) observe(ctx context.Context, in series.Set) error {
	var rows bytes.Buffer
	for id, points := range in {
		for _, p := range points {
			fmt.Fprintf(&rows, "%s\t%s\t%s\t%g\t\\N\tf\t1\n", id, p.ObservedAt.Format(time.RFC3339), p.VintageAt.Format(time.RFC3339), p.Value)
		}
	}
	load := &recordFixture{dsn: s.server}
	return load.psql(ctx, &rows, nil, "set session_replication_role = replica",
		`\copy observations (series, observed_at, vintage_at, value, marker, assumed, fetch_id) from pstdin`)
}

// oneMore is an observation of each input of a signal.
func oneMore(d signals.Definition, observed, known time.Time) series.Set {
	in := series.Set{}
	for _, id := range d.Inputs {
		in[id] = []series.Point{{ObservedAt: observed, VintageAt: known, Value: 50}}
	}
	return in
}

// take recomputes a signal as of an instant.
func (r *recomputing) take(ctx context.Context, m *meter, db *postgres.DB, d signals.Definition, at time.Time) error {
	var in series.Set
	var track signals.Track
	read, err := m.once(func() (err error) { in, err = db.InputsOf(ctx, d, at); return err })
	if err != nil {
		return err
	}
	computed, err := m.once(func() error { track = d.Compute(in, at); return nil })
	if err != nil {
		return err
	}
	newest := track[len(track)-1]
	stored, err := m.once(func() error {
		return db.SaveSnapshot(ctx, task.Fence{}, postgres.Snapshot{
			Signal: d.ID, At: at, Status: signals.StatusLive, Cause: "bench", ObservedAt: &newest.ObservedAt, KnownAt: &newest.KnownAt,
			Value: &newest.Value, Synthetic: true, CodeVersion: "bench",
		}, track)
	})
	r.read, r.computed, r.stored = append(r.read, read), append(r.computed, computed), append(r.stored, stored)
	return err
}
