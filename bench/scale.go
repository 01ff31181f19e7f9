package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	random "math/rand/v2"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

const (
	// scaleSignals have a weekly history of 40 years each.
	scaleSignals, scaleWeeks = 1000, 2087
	// scaleNews is how many of them get one more week, with a revision of the last one, while a served API is watched.
	scaleNews = 50
	// scaleKeys pay; as many as scaleFew of them for comparison.
	scaleKeys, scaleFew = 100_000, 1000
	// scaleWriters store at once.
	scaleWriters = 4
)

// scale loads a thousand made-up signals and a hundred thousand keys. It prints their cost: time, disk, the start and the heap of an API,
// and charges of many keys against charges of few.
func scale(ctx context.Context, m *meter) error {
	return withFixture(ctx, scaleFew, func(ctx context.Context, s *fixture) error {
		b := &scaleBench{meter: m, fixture: s}
		if err := b.loadSignals(ctx); err != nil {
			return err
		}
		if err := b.serveSignals(ctx); err != nil {
			return err
		}
		return b.loadKeys(ctx)
	})
}

type scaleBench struct {
	*meter
	*fixture

	tracks []signals.Track
}

// definition returns the definition of one of the made-up signals.
func (b *scaleBench) definition(i int) signals.Definition {
	d := b.def
	d.ID = fmt.Sprintf("made-up-%04d", i)
	return d
}

// of is the fixture with one of the made-up signals instead of its signal.
func (b *scaleBench) of(i int) *fixture {
	one := *b.fixture
	one.def = b.definition(i)
	return &one
}

// scaleTrack returns a weekly random walk that ends at now.
func scaleTrack(seed uint64) signals.Track {
	rng := random.New(random.NewPCG(seed, 1))
	track := make(signals.Track, scaleWeeks)
	v := 20.0
	for i := range track {
		v += rng.NormFloat64()
		at := now.AddDate(0, 0, 7*(i-scaleWeeks))
		track[i] = signals.Estimate{
			ObservedAt: series.InstantOf(at), KnownAt: series.InstantOf(at.Add(70*time.Hour + time.Duration(rng.IntN(1e9))*time.Microsecond)),
			Value: v, Lo: v - rng.Float64(), Hi: v + rng.Float64(), Baseline: v + rng.NormFloat64(), Scale: 1 + rng.Float64(), N: 105,
		}
		if i < 300 {
			track[i].Baseline = math.NaN()
		}
	}
	return track
}

// store saves a computation of a made-up signal.
func (b *scaleBench) store(ctx context.Context, db *postgres.DB, i int, at time.Time) error {
	newest := &b.tracks[i][len(b.tracks[i])-1]
	return db.SaveSnapshot(ctx, task.Fence{}, postgres.Snapshot{
		Signal: b.definition(i).ID, At: at, Status: signals.StatusLive, Cause: "bench", ObservedAt: new(newest.ObservedAt.Time()), KnownAt: new(newest.KnownAt.Time()),
		Value: &newest.Value, Synthetic: true, CodeVersion: "bench",
	}, b.tracks[i])
}

func (b *scaleBench) loadSignals(ctx context.Context) error {
	worker, err := postgres.Open(ctx, b.server, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	b.tracks = make([]signals.Track, scaleSignals)
	for i := range b.tracks {
		b.tracks[i] = scaleTrack(uint64(i))
	}
	before, err := b.databaseSize(ctx, worker)
	if err != nil {
		return err
	}
	took, err := b.once(func() error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(scaleWriters)
		for i := range b.tracks {
			g.Go(func() error { return b.store(ctx, worker, i, now.AddDate(0, 0, -1)) })
		}
		return g.Wait()
	})
	if err != nil {
		return err
	}
	after, err := b.databaseSize(ctx, worker)
	if err != nil {
		return err
	}
	n := scaleSignals * scaleWeeks
	b.say("  %d signals of %d weeks stored by %d at once: %s, %s estimates/s; %.0f bytes an estimate with its indexes, %.0f MB", scaleSignals, scaleWeeks,
		scaleWriters, took.Round(time.Second), perSecond(n, took), float64(after-before)/float64(n), float64(after-before)/1e6)
	return nil
}

// serveSignals measures an API of all the signals in this process: its start, its heap, a week more, and a history.
func (b *scaleBench) serveSignals(ctx context.Context) error {
	b.definitions = b.definitions[:0]
	for i := range scaleSignals {
		b.definitions = append(b.definitions, b.definition(i))
	}
	var started runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&started)
	begin := b.now()
	return b.serve(ctx, func(ctx context.Context, _ *fixture) error {
		ready := b.now().Sub(begin)
		var loaded runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&loaded)
		b.say("  an API of them: ready after %s, with %.0f MB of heap more", ready.Round(time.Millisecond), float64(loaded.HeapAlloc-started.HeapAlloc)/1e6)
		if err := b.news(ctx); err != nil {
			return err
		}
		var first, again []time.Duration
		for i := range scaleNews {
			one := b.of(i)
			for _, times := range []*[]time.Duration{&first, &again} {
				took, err := b.once(func() error { _, err := one.get(ctx, "/history", nil); return err })
				if err != nil {
					return err
				}
				*times = append(*times, took)
			}
		}
		b.say("  a history of %d weeks as JSON: %s, again %s (medians of %d)", scaleWeeks, median(first).Round(10*time.Microsecond),
			median(again).Round(10*time.Microsecond), scaleNews)
		return nil
	})
}

// news stores one more week of some signals, in order.
func (b *scaleBench) news(ctx context.Context) error {
	worker, err := postgres.Open(ctx, b.server, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	var stored []time.Duration
	for i := range scaleNews {
		t := b.tracks[i]
		t[len(t)-1].Value += 0.01
		newest := t[len(t)-1]
		newest.ObservedAt, newest.KnownAt = newest.ObservedAt.AddDate(0, 0, 7), series.InstantOf(now)
		b.tracks[i] = append(t, newest)
		took, err := b.once(func() error { return b.store(ctx, worker, i, now) })
		if err != nil {
			return err
		}
		stored = append(stored, took)
	}
	b.say("  a week more and a revision: stored in %s (median of %d)", median(stored).Round(10*time.Microsecond), scaleNews)
	return nil
}

// databaseSize is the size of the database on the disk, in bytes.
func (b *scaleBench) databaseSize(ctx context.Context, db *postgres.DB) (int64, error) {
	c, err := db.Checkup(ctx, b.now)
	return c.Size, err
}

// loadKeys registers the keys, gives each a balance, and compares charges of all with charges of few.
func (b *scaleBench) loadKeys(ctx context.Context) error {
	worker, err := postgres.Open(ctx, b.server, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	api, err := postgres.Open(ctx, b.server, postgres.RoleAPI)
	if err != nil {
		return err
	}
	defer api.Close()
	before, err := b.databaseSize(ctx, worker)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	keys := make([]int64, 0, scaleKeys)
	took, err := b.once(func() error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(scaleWriters)
		for i := range scaleKeys {
			g.Go(func() error {
				id, err := scaleKey(ctx, api, worker, i)
				mu.Lock()
				defer mu.Unlock()
				keys = append(keys, id)
				return err
			})
		}
		return g.Wait()
	})
	if err != nil {
		return err
	}
	after, err := b.databaseSize(ctx, worker)
	if err != nil {
		return err
	}
	b.say("  %d keys registered and credited by %d at once: %s, %s a second; %.0f bytes a key with its first entry", scaleKeys, scaleWriters,
		took.Round(time.Second), perSecond(scaleKeys, took), float64(after-before)/scaleKeys)
	c := &chargeBench{meter: b.meter, charger: postgres.NewCharger(api.KeyStore)}
	var many, few []float64
	b.count(chargeRounds)
	for round := range chargeRounds + 1 {
		all, _, err := c.charge(ctx, keys)
		if err != nil {
			return err
		}
		some, _, err := c.charge(ctx, keys[:scaleFew])
		if err != nil {
			return err
		}
		if round > 0 {
			many, few = append(many, all), append(few, some)
		}
	}
	b.say("  charges of %d keys %.0f a second, of %d keys %.0f: ratio %.2f (the server writes nothing durably here)", scaleKeys, middle(many), scaleFew,
		middle(few), middle(many)/middle(few))
	return nil
}

// scaleKey registers a key with a balance.
func scaleKey(ctx context.Context, api, worker *postgres.DB, i int) (id int64, err error) {
	key, err := accounts.NewKey(rand.Reader)
	if err != nil {
		return 0, err
	}
	r := postgres.Registration{PublicID: fmt.Sprintf("key_%026d", i), Name: "bench", Key: key}
	_, err = api.Register(ctx, r, nil, func(made postgres.Registered) ([]byte, error) {
		id = made.ID
		return nil, nil
	})
	if err != nil {
		return 0, err
	}
	_, err = worker.Credit(ctx, id, 1000*accounts.PerDollar, postgres.Gift{Ref: fmt.Sprint("bench ", i), By: "bench", Reason: "to be spent"})
	return id, err
}
