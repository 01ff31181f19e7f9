package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

const (
	// startDays is how many days of ten years each signal has a value of, startPicks how many picks those years have.
	startDays, startPicks = 10*365 + 3, years * tradingDays
	// startRounds is how often a process is started.
	startRounds = 5
	// startClients ask a process for startTime, before its memory is read again.
	startClients, startTime = 16, 5 * time.Second
	// startGoal and startMemory are the targets: until ready, and bytes of memory.
	startGoal, startMemory = 2 * time.Second, 200 << 20
)

// starts measures P14: how long `tidemark api` takes from its start until it is ready, and how much memory it holds then and after it has
// answered for a while. First with ten years of daily values of all signals, then with ten years of picks and with a million.
func starts(ctx context.Context, m *meter) error {
	err := withFixture(ctx, startDays, func(ctx context.Context, s *fixture) error {
		worker, err := postgres.Open(ctx, s.server, postgres.RoleWorker)
		if err != nil {
			return err
		}
		defer worker.Close()
		paths := []string{"/readyz", "/api/signals"}
		for _, d := range signals.All() {
			paths = append(paths, "/api/signals/"+d.ID, "/api/signals/"+d.ID+"/history", "/signals/"+d.ID)
			if d.ID == s.def.ID {
				continue
			}
			if _, err := fill(ctx, worker, d, startDays); err != nil {
				return err
			}
		}
		what := fmt.Sprintf("%d signals of %d days", len(signals.All()), startDays)
		return startsOf(ctx, m, what, s.dir, s.server, paths)
	})
	if err != nil {
		return err
	}
	for _, c := range []struct {
		picks int
		paths []string
	}{
		{startPicks, []string{"/readyz", "/verify", "/api/v1/verify/pick/AAPL"}},
		{longChain, []string{"/readyz", "/verify"}}, // not for a ticker, which has 143,000 of the picks: 16 such answers at once take longer than a request may
	} {
		if err := withRecord(ctx, c.picks, func(ctx context.Context, s *recordFixture) error {
			if err := ensureSandbox(ctx, s.dsn); err != nil {
				return err
			}
			s.links = nil // the memory is the server's
			what := fmt.Sprintf("a chain of %d picks", c.picks)
			return startsOf(ctx, m, what, s.dir, s.dsn, c.paths)
		}); err != nil {
			return err
		}
	}
	return nil
}

func ensureSandbox(ctx context.Context, server string) error {
	worker, err := postgres.Open(ctx, server, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	_, err = worker.EnsureWorld(ctx, view.WorldSandbox, &now)
	return err
}

// startsOf starts a process startRounds times and prints the medians.
func startsOf(ctx context.Context, m *meter, what, dir, server string, paths []string) error {
	var ready []time.Duration
	var idle, busy []int
	m.count(startRounds)
	for range startRounds {
		p, err := startAPI(ctx, dir, server, "SIGNALS_RATE_LIMIT=off", "PAGES_RATE_LIMIT=off", "RATE_LIMIT=off")
		if err != nil {
			return err
		}
		ready = append(ready, p.ready)
		before, errBefore := resident(p.cmd.Process.Pid)
		errAsked := ask(ctx, m, p.base, paths)
		after, errAfter := resident(p.cmd.Process.Pid)
		p.stop()
		if err := errors.Join(errBefore, errAsked, errAfter); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		idle, busy = append(idle, before), append(busy, after)
	}
	slices.Sort(idle)
	slices.Sort(busy)
	t, b := median(ready), busy[len(busy)/2]
	m.say("  %-30s ready after %s  target <= %s  %s", what, t.Round(10*time.Millisecond), startGoal, verdict(t <= startGoal))
	m.say("  %-30s %d MB when ready, %d MB after %d clients asked for %s  target <= %d MB  %s", "", idle[len(idle)/2]>>20, b>>20, startClients, startTime,
		startMemory>>20, verdict(b <= startMemory))
	return nil
}

// ask lets each client request all paths again and again.
func ask(ctx context.Context, m *meter, base string, paths []string) error {
	end := m.now().Add(startTime)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: startClients}, Timeout: time.Minute}
	defer client.CloseIdleConnections()
	g, ctx := errgroup.WithContext(ctx)
	for i := range startClients {
		g.Go(func() error {
			for n := i; m.now().Before(end); n++ {
				if _, err := fetch(ctx, client, base+paths[n%len(paths)], "gzip", io.Discard); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
