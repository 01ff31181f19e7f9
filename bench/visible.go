package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"syscall"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

// changeVisible measures P2: how long after its commit a change of a long history is answered, by an API process as it is run. Beside it is
// the least that can be: a session that waits for the same notification, and reads the one row. The two take turns, in blocks; the API process
// is stopped while the session is measured.
func changeVisible(ctx context.Context, m *meter) error {
	return withFixture(ctx, fortyYears, func(ctx context.Context, s *fixture) error {
		ours, err := s.startAPI(ctx)
		if err != nil {
			return err
		}
		defer ours.stop()
		worker, err := postgres.Open(ctx, s.server, postgres.RoleWorker)
		if err != nil {
			return err
		}
		defer worker.Close()
		c := changer{fixture: s, meter: m, worker: worker}
		var answered, read []time.Duration
		for len(answered) < changes {
			for range changesInTurn {
				wait, err := c.answered(ctx, ours)
				if err != nil {
					return err
				}
				answered = append(answered, wait)
			}
			if err := ours.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				return err
			}
			waits, err := c.read(ctx, changesInTurn)
			if err != nil {
				return err
			}
			read = append(read, waits...)
			if err := ours.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				return err
			}
			if err := c.shown(ctx, ours); err != nil {
				return err
			}
		}
		slices.Sort(answered)
		slices.Sort(read)
		p99 := answered[changes*99/100]
		m.say("  %d commits: answered after %s; target p99 <= %d ms  %s", changes, spread(answered), changeLimit.Milliseconds(), verdict(p99 <= changeLimit))
		m.say("  as many read by a session that waits for them: %s  ratio of the medians %6.2f, of p99 %6.2f", spread(read),
			answered[changes/2].Seconds()/read[changes/2].Seconds(), p99.Seconds()/read[changes*99/100].Seconds())
		return nil
	})
}

// spread summarizes sorted times.
func spread(sorted []time.Duration) string {
	n := len(sorted)
	return fmt.Sprintf("%.1f ms (median), %.1f ms (p99), %.1f ms (longest)", milliseconds(sorted[n/2]), milliseconds(sorted[n*99/100]), milliseconds(sorted[n-1]))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// changer commits one newest value of a whole history after the other.
type changer struct {
	*fixture
	*meter
	worker *postgres.DB
	done   int
}

// commit commits another value, and returns when.
func (c *changer) commit(ctx context.Context) (time.Time, error) {
	newest := &c.track[len(c.track)-1]
	newest.Value += 0.01
	c.done++
	err := c.worker.SaveSnapshot(ctx, task.Fence{}, postgres.Snapshot{
		Signal: c.def.ID, At: now.Add(time.Duration(c.done-2*changes) * time.Second), Status: signals.StatusLive, Cause: "bench",
		ObservedAt: new(newest.ObservedAt.Time()), KnownAt: new(newest.KnownAt.Time()), Value: &newest.Value, Synthetic: true, CodeVersion: "bench",
	}, c.track)
	return c.now(), err
}

// answered is how long after a commit an API process answers with it.
func (c *changer) answered(ctx context.Context, ours *apiProcess) (time.Duration, error) {
	committed, err := c.commit(ctx)
	if err != nil {
		return 0, err
	}
	err = c.shown(ctx, ours)
	return c.now().Sub(committed), err
}

// shown waits until an API process answers with the newest value.
func (c *changer) shown(ctx context.Context, ours *apiProcess) error {
	for begin := c.now(); c.now().Sub(begin) < 10*time.Second; {
		body, err := ours.latest(ctx, c.client)
		if err != nil {
			return err
		}
		var answer struct{ Value float64 }
		if err := json.Unmarshal(body, &answer); err != nil {
			return err
		}
		if math.Abs(answer.Value-c.track[len(c.track)-1].Value) < 0.005 { // the answer has the digits of the inputs, and each change is 0.01
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollPause):
		}
	}
	return fmt.Errorf("commit %d is not visible after 10 s", c.done)
}

// read is how long after each of n commits a session that waits for it has read its row.
func (c *changer) read(ctx context.Context, n int) ([]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	listens, values := make(chan struct{}, 1), make(chan float64)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer stop()
	listening.Go(func() {
		_ = c.worker.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelSnapshots},
			Connected: func(context.Context) error { listens <- struct{}{}; return nil },
			Notified: func(ctx context.Context, _, signal string) error {
				newest, err := c.worker.SnapshotAsOf(ctx, signal, now.Add(changes*time.Second))
				if err != nil {
					return err
				}
				select {
				case values <- *newest.Value:
				case <-ctx.Done():
				}
				return nil
			},
			Log: slog.New(slog.DiscardHandler),
		}) // nil, when ctx has ended
	})
	select {
	case <-listens:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	waits := make([]time.Duration, n)
	for i := range waits {
		committed, err := c.commit(ctx)
		if err != nil {
			return nil, err
		}
		select {
		case value := <-values:
			waits[i] = c.now().Sub(committed)
			if value != c.track[len(c.track)-1].Value {
				return nil, fmt.Errorf("the commit that was read is not %d", c.done)
			}
		case <-time.After(10 * time.Second):
			return nil, fmt.Errorf("commit %d is not read after 10 s", c.done)
		}
	}
	return waits, nil
}
