package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// onceRounds is how often a whole history is computed and stored, onceNews how often after one more observation of each input.
const onceRounds, onceNews = 5, 5

// recomputing has the times of the parts of a recompute, and the processor time of all of it: this process's and the server's.
type recomputing struct {
	server                            string
	read, computed, stored, processor []time.Duration
	// tracks are what the worker keeps of signals.
	tracks *signals.Tracks
}

func (r *recomputing) whole() time.Duration {
	return median(r.read) + median(r.computed) + median(r.stored)
}

// recomputeOnce compares a recompute of the whole history with one after a single new observation of each input. As in a worker, both read the
// inputs from the database, compute a track, and store what differs.
func recomputeOnce(ctx context.Context, m *meter) error {
	in, at := inputs(now, 40), now.Add(17*time.Hour)
	return withFixture(ctx, 1, func(ctx context.Context, s *fixture) error {
		worker, err := postgres.Open(ctx, s.server, postgres.RoleWorker)
		if err != nil {
			return err
		}
		defer worker.Close()
		if err := s.observe(ctx, in); err != nil {
			return err
		}
		server, err := s.postmaster()
		if err != nil {
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
			var last series.Instant
			for _, input := range d.Inputs {
				last = max(last, in[input][len(in[input])-1].ObservedAt)
			}
			newest := last.Time()
			kept := &signals.Tracks{}
			first, news, started := recomputing{server: server, tracks: kept}, recomputing{server: server, tracks: kept}, recomputing{server: server}
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
				newest, later = newest.AddDate(0, 0, step), later.AddDate(0, 0, step)
				if err := s.observe(ctx, oneMore(d, newest, later)); err != nil {
					return err
				}
				if err := started.takeAnew(ctx, m, s.server, d, later); err != nil {
					return err
				}
			}
			ratio := first.whole().Seconds() / news.whole().Seconds()
			m.count(onceRounds)
			m.count(onceRounds * onceNews)
			m.say("  %-38s whole history %.1f ms, one more observation %.1f ms: ratio %.1f  target >= 100  %s", id, milliseconds(first.whole()),
				milliseconds(news.whole()), ratio, verdict(ratio >= 100))
			busy := median(first.processor).Seconds() / median(news.processor).Seconds()
			m.say("  %-38s processor time of both processes: whole history %.1f ms, one more %.1f ms: ratio %.1f", "", milliseconds(median(first.processor)),
				milliseconds(median(news.processor)), busy)
			m.say("  %-38s of one more: inputs read %.1f ms, computed %.1f ms, compared and stored %.1f ms", "", milliseconds(median(news.read)),
				milliseconds(median(news.computed)), milliseconds(median(news.stored)))
			m.say("  %-38s of one more, by a worker that has just started: inputs read %.1f ms, compared and stored %.1f ms", "",
				milliseconds(median(started.read)), milliseconds(median(started.stored)))
			d.ID = id + "-touched"
			if err := s.touched(ctx, m, server, d, newest, later, step); err != nil {
				return err
			}
		}
		return nil
	})
}

// rowsTouched has the rows that a server has read from tables and written to them, by its statistics.
type rowsTouched struct{ read, written int64 }

// touched counts the rows of the database that a recompute touches: of the whole history, and after one more observation of each input.
func (s *fixture) touched(ctx context.Context, m *meter, server string, d signals.Definition, newest, later time.Time, step int) error {
	worker, err := postgres.Open(ctx, s.server+"&pool_max_conns=1", postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	// soFar returns the rows until now. A connection reports what it did after a command, if its last report is a second ago.
	soFar := func() (rows rowsTouched, err error) {
		select {
		case <-ctx.Done():
			return rows, ctx.Err()
		case <-time.After(1100 * time.Millisecond):
		}
		if _, err := worker.Runs(ctx, postgres.RunFilter{Limit: 1}); err != nil {
			return rows, err
		}
		said, err := exec.CommandContext(ctx, "psql", "-X", "-A", "-t", "-F", " ", "-c", //nolint:gosec // our own
			`select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables`, s.server).Output()
		if err != nil {
			return rows, fmt.Errorf("psql: %w", err)
		}
		_, err = fmt.Sscan(string(said), &rows.read, &rows.written)
		return rows, err
	}
	worked := recomputing{server: server, tracks: &signals.Tracks{}}
	take := func() (rowsTouched, error) {
		before, err := soFar()
		if err != nil {
			return before, err
		}
		if err := worked.take(ctx, m, worker, d, later); err != nil {
			return before, err
		}
		after, err := soFar()
		return rowsTouched{after.read - before.read, after.written - before.written}, err
	}
	whole, err := take()
	if err != nil {
		return err
	}
	later = later.AddDate(0, 0, step)
	if err := s.observe(ctx, oneMore(d, newest.AddDate(0, 0, step), later)); err != nil {
		return err
	}
	more, err := take()
	if err != nil {
		return err
	}
	if whole.read == 0 || whole.written == 0 || more.read == 0 || more.written == 0 {
		return fmt.Errorf("the statistics of the server say nothing: %+v, %+v", whole, more)
	}
	ratio := float64(whole.read+whole.written) / float64(more.read+more.written)
	m.say("  %-38s rows touched: whole history %d read and %d written, one more %d and %d: ratio %.0f  target >= 100  %s", "", whole.read, whole.written,
		more.read, more.written, ratio, verdict(ratio >= 100))
	return nil
}

// observe copies observations into the database, all of one fetch.
func (s *fixture) observe(ctx context.Context, in series.Set) error {
	var rows bytes.Buffer
	for id, points := range in {
		for _, p := range points {
			fmt.Fprintf(&rows, "%s\t%s\t%s\t%g\t\\N\tf\t1\n", id, p.ObservedAt, p.VintageAt, p.Value)
		}
	}
	load := &recordFixture{dsn: s.server}
	return load.psql(ctx, &rows, nil, `insert into fetches (source, url, status, fetched_at, sha256, bytes)
			select 'bench', 'bench', 200, now(), repeat('0', 64), 0 where not exists (select from fetches)`,
		`\copy observations (series, observed_at, vintage_at, value, marker, assumed, fetch_id) from pstdin`)
}

// oneMore is an observation of each input of a signal.
func oneMore(d signals.Definition, observed, known time.Time) series.Set {
	in := series.Set{}
	for _, id := range d.Inputs {
		in[id] = []series.Point{{ObservedAt: series.InstantOf(observed), VintageAt: series.InstantOf(known), Value: 50}}
	}
	return in
}

// takeAnew is take by a worker that has just started: it has kept nothing.
func (r *recomputing) takeAnew(ctx context.Context, m *meter, server string, d signals.Definition, at time.Time) error {
	worker, err := postgres.Open(ctx, server, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	return r.take(ctx, m, worker, d, at)
}

// take recomputes a signal as of an instant.
func (r *recomputing) take(ctx context.Context, m *meter, db *postgres.DB, d signals.Definition, at time.Time) error {
	var in series.Set
	var track signals.Growing
	begin, err := processorTimes(r.server)
	if err != nil {
		return err
	}
	read, err := m.once(func() (err error) { in, err = db.InputsOf(ctx, d, at); return err })
	if err != nil {
		return err
	}
	computed, err := m.once(func() error { track = r.tracks.Compute(d, in, at); return nil })
	if err != nil {
		return err
	}
	newest := track.At(track.Len() - 1)
	stored, err := m.once(func() error {
		return db.SaveGrowing(ctx, task.Fence{}, postgres.Snapshot{
			Signal: d.ID, At: at, Status: signals.StatusLive, Cause: "bench", ObservedAt: new(newest.ObservedAt.Time()), KnownAt: new(newest.KnownAt.Time()),
			Value: &newest.Value, Synthetic: true, CodeVersion: "bench",
		}, track)
	})
	if err != nil {
		return err
	}
	end, err := processorTimes(r.server)
	r.read, r.computed, r.stored = append(r.read, read), append(r.computed, computed), append(r.stored, stored)
	r.processor = append(r.processor, since(begin, end))
	return err
}

// processorTimes returns the processor times of this process, under an empty name, and of the children of a database server, which Linux counts in nanoseconds.
func processorTimes(server string) (map[string]time.Duration, error) {
	own, err := processorTime(syscall.RUSAGE_SELF)
	if err != nil {
		return nil, err
	}
	times := map[string]time.Duration{"": own}
	children, err := os.ReadFile(filepath.Join("/proc", server, "task", server, "children"))
	if err != nil {
		return nil, err
	}
	for child := range strings.FieldsSeq(string(children)) {
		line, err := os.ReadFile(filepath.Join("/proc", child, "schedstat"))
		if err != nil {
			continue // it has ended
		}
		var on time.Duration
		if _, err := fmt.Sscan(string(line), &on); err != nil {
			return nil, fmt.Errorf("read a process's time: %w", err)
		}
		times[child] = on
	}
	return times, nil
}

// since is the processor time of all processes since earlier times.
func since(before, now map[string]time.Duration) (sum time.Duration) {
	for process, t := range now {
		sum += t - before[process]
	}
	return sum
}

// postmaster is the process of the fixture's server.
func (s *fixture) postmaster() (string, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "postgres", "*", "postmaster.pid"))
	if err != nil || len(files) != 1 {
		return "", fmt.Errorf("%d servers in %s: %w", len(files), s.dir, err)
	}
	lines, err := os.ReadFile(files[0])
	pid, _, _ := strings.Cut(string(lines), "\n")
	return pid, err
}
