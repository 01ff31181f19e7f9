package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/workers"
)

// reference are the signals that the peers compute, too, with their backtests. They hold nearly all points: the others are monthly or yearly.
var reference = []string{"crack-spread-321", "hormuz-transit", "eia-weekly-petroleum"}

// recompute measures Compute, and the backtests, on made-up inputs of 40 years, and on twice as many.
func recompute(ctx context.Context, m *meter) error {
	defer workers.CollectSeldom()() // as in a worker
	at := now.Add(17 * time.Hour)
	in, twice := inputs(now, 40), inputs(now, 80)
	all := func(in series.Set, f func(signals.Definition, series.Set)) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			return m.average(func() {
				for _, d := range signals.All() {
					f(d, in)
				}
			})
		}
	}
	compute := func(d signals.Definition, in series.Set) { d.Compute(in, at) }
	backtest := func(d signals.Definition, in series.Set) { d.RunBacktest(in, at, signals.Arrivals{}) }
	for _, c := range []struct {
		what string
		f    func(signals.Definition, series.Set)
	}{{"values and intervals", compute}, {"backtests", backtest}} {
		once, two, err := m.turns(all(in, c.f), all(twice, c.f))
		if err != nil {
			return err
		}
		r := two.Seconds() / once.Seconds()
		m.say("  %-38s %d signals, 40 years %.1f ms, 80 years %.1f ms: ratio %.2f  target <= 2.05  %s", c.what, len(signals.All()),
			1e3*once.Seconds(), 1e3*two.Seconds(), r, verdict(r <= 2.05))
	}
	if err := onAllCores(ctx, m, in, at); err != nil {
		return err
	}
	for _, p := range peers {
		if err := againstPeer(ctx, m, p, in, at); err != nil {
			return err
		}
	}
	return nil
}

// againstPeer compares each signal on one core by processor time, and then all of them on all cores by elapsed time.
func againstPeer(ctx context.Context, m *meter, p peer, in series.Set, at time.Time) error {
	one, err := p.start(ctx, in, at, 1)
	if err != nil {
		m.say("  no comparison with %s: %v", p.library, err)
		return nil //nolint:nilerr // it is said, and the others go on
	}
	defer one.stop()
	m.say("  %s, on one core: %s", one.version, p.how)
	if err := one.compare(m, in, at); err != nil || !p.threaded {
		return err
	}
	cores := runtime.GOMAXPROCS(0)
	all, err := p.start(ctx, in, at, cores)
	if err != nil {
		return err
	}
	defer all.stop()
	ours, theirs, err := m.turns(
		func() (time.Duration, error) {
			return m.once(func() error { return everything(ctx, cores, reference, in, at) })
		},
		func() (time.Duration, error) { _, elapsed, err := all.ask("all"); return elapsed, err },
	)
	if err != nil {
		return err
	}
	m.say("  %-38s %.1f ms against %.1f ms: ratio %.2f", fmt.Sprintf("the three on %d cores, elapsed", cores), 1e3*ours.Seconds(), 1e3*theirs.Seconds(),
		theirs.Seconds()/ours.Seconds())
	return nil
}

// everything computes signals and their backtests with so many goroutines.
func everything(ctx context.Context, goroutines int, ids []string, in series.Set, at time.Time) error {
	group, _ := errgroup.WithContext(ctx)
	group.SetLimit(goroutines)
	for _, id := range ids {
		d, ok := signals.ByID(id)
		if !ok {
			return fmt.Errorf("unknown signal %s", id)
		}
		group.Go(func() error { d.RunBacktest(in, at, signals.Arrivals{}); return nil })
		group.Go(func() error { d.Compute(in, at); return nil })
	}
	return group.Wait()
}

// onAllCores compares one goroutine that computes all signals and their backtests with one per core.
func onAllCores(ctx context.Context, m *meter, in series.Set, at time.Time) error {
	var ids []string
	for _, d := range signals.All() {
		ids = append(ids, d.ID)
	}
	return m.onCores("values and backtests", func(goroutines int) error { return everything(ctx, goroutines, ids, in, at) })
}

// inputs makes up a random walk for every input of every signal, for some years up to an instant. The dates follow the publisher's cadence:
// every weekday, day, Friday, month or year. Now and then a day is missing.
func inputs(until time.Time, years int) series.Set {
	set := series.Set{}
	for _, d := range signals.All() {
		for _, id := range d.BacktestInputs() {
			if set[id] == nil {
				set[id] = walk(id, rhythm(d, id), until.AddDate(-years, 0, 0), until)
			}
		}
	}
	return set
}

// rhythm is how often an input is published: as the signal is, but for the daily prices that others are held to.
func rhythm(d signals.Definition, id series.ID) string {
	if !slices.Contains(d.Inputs, id) {
		return "weekdays"
	}
	if d.ID == "crack-spread-321" {
		return "weekdays"
	}
	return d.Frequency
}

func walk(id series.ID, rhythm string, from, until time.Time) []series.Point {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(id) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	v := 100.0
	var out []series.Point
	for at := from; at.Before(until); at = at.AddDate(0, 0, 1) {
		var due bool
		switch rhythm {
		case "daily":
			due = true
		case "weekdays":
			due = at.Weekday() != time.Saturday && at.Weekday() != time.Sunday
		case "weekly":
			due = at.Weekday() == time.Friday
		case "monthly":
			due = at.Day() == 1
		default:
			due = at.Day() == 1 && at.Month() == time.August
		}
		if !due {
			continue
		}
		v = max(20, v+rng.NormFloat64())
		if rhythm != "weekly" && rng.IntN(100) == 0 {
			continue
		}
		out = append(out, series.Point{ObservedAt: series.InstantOf(at), VintageAt: series.InstantOf(release(at)), Value: math.Round(v*100) / 100})
	}
	return out
}

// release is the first Wednesday, at 15:30 UTC, that is at least two days after a day.
func release(day time.Time) time.Time {
	ahead := 2 + (int(time.Wednesday)-int(day.Weekday())+5)%7
	return day.AddDate(0, 0, ahead).Add(15*time.Hour + 30*time.Minute)
}
