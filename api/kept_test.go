package api_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// answers returns all responses of a view about the crack spread, and the catalog.
func answers(ctx context.Context, v *view.View) (map[string]string, error) {
	st := v.State()
	sig := st.Signal("crack-spread-321")
	all := map[string]string{}
	for name, doc := range map[string]*view.Document{"catalog": st.Catalog, "snapshot": sig.JSON, "brief": sig.Brief} {
		all[name] = fmt.Sprintf("%v\n%s", doc.Identity.Header, doc.Identity.Body)
		all[name+", gzip"] = fmt.Sprintf("%v\n%s", doc.Gzip.Header, doc.Gzip.Body)
	}
	for name, r := range map[string]view.ListingRequest{
		"JSON": {Format: view.FormatJSON}, "CSV": {Format: view.FormatCSV}, "a page": {Format: view.FormatJSON, Desc: true, Limit: 5},
	} {
		l, err := v.History(ctx, sig, r)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		if err := l.Write(ctx, &body, 0); err != nil {
			return nil, err
		}
		all[name] = fmt.Sprintf("%s %s %s\n%s", l.ETag, l.Modified, l.Next, body.Bytes())
	}
	return all, nil
}

// loaded returns the responses of a view that was just loaded.
func (s *system) loaded() map[string]string {
	s.t.Helper()
	v, err := view.New(view.Options{
		Store: s.worker, Definitions: definitions(), PublicURL: s.url, World: view.WorldLive,
		Now: func() time.Time { return *s.clock.Load() }, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(s.t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { _ = v.Run(ctx) }) // it ends with ctx
	s.eventually("a new view to load", func() bool { return v.State() != nil })
	all, err := answers(ctx, v)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// TestWhatIsKeptIsWhatWouldBeLoaded applies changes of a history to a view in random order. After each change, it must return, byte for
// byte, the responses of a view that was just loaded.
func TestWhatIsKeptIsWhatWouldBeLoaded(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			h := &changing{system: start(t, setup{}), rng: rand.New(rand.NewPCG(seed, 321)), values: map[int]float64{}, last: noon.Add(-24 * time.Hour)}
			h.newPoint()
			h.backfill()
			changes := map[string]func(){
				"a new point": h.newPoint, "a revision": h.revise, "an interval went": h.remove, "decades were filled": h.backfill,
				"the same again": h.say, "an instant computed late": h.late, "the connection broke": h.lose, "another database": h.restore,
				"two at once": h.two, "ahead of its time": h.ahead,
			}
			names := slices.Sorted(maps.Keys(changes))
			for range 2 {
				for _, i := range h.rng.Perm(len(names)) {
					changes[names[i]]()
					h.hold(names[i])
				}
			}
		})
	}
}

// changing is a system with a history that changes at random.
type changing struct {
	*system

	rng *rand.Rand
	// values are the values by day. last is the instant of the last snapshot.
	values map[int]float64
	last   time.Time
}

// hold waits until the kept view equals a new one.
func (h *changing) hold(after string) {
	h.t.Helper()
	want := h.loaded()
	var kept map[string]string
	defer func() {
		if h.t.Failed() {
			h.t.Errorf("after %s, degraded %t (-loaded +kept):\n%s", after, h.view.Degraded(), cmp.Diff(want, kept))
		}
	}()
	h.eventually("the view to say the same", func() (same bool) {
		var err error
		if kept, err = answers(h.t.Context(), h.view); err != nil {
			h.t.Fatal(err)
		}
		return maps.Equal(kept, want) && !h.view.Degraded()
	})
}

// track returns the history to store.
func (h *changing) track() (out []signals.Estimate) {
	for _, day := range slices.Sorted(maps.Keys(h.values)) {
		e := estimate(day, h.values[day])
		e.KnownAt = min(e.KnownAt, series.InstantOf(noon.AddDate(0, 0, -2))) // before the first snapshot
		out = append(out, e)
	}
	return out
}

// say stores it for the next instant.
func (h *changing) say() {
	h.t.Helper()
	h.last = h.last.Add(time.Minute)
	h.system.say(h.last, h.track()...)
}

func (h *changing) day() int { return slices.Sorted(maps.Keys(h.values))[h.rng.IntN(len(h.values))] }

func (h *changing) newPoint() {
	h.values[len(h.values)] = h.rng.NormFloat64()
	h.say()
}

func (h *changing) revise() {
	h.values[h.day()] += 0.25
	h.say()
}

func (h *changing) remove() {
	from, n := h.day(), h.rng.IntN(100)
	maps.DeleteFunc(h.values, func(day int, _ float64) bool { return from <= day && day < from+n && len(h.values) > 1 })
	h.say()
}

// backfill adds a point every four weeks for 20 earlier years.
func (h *changing) backfill() {
	first := slices.Min(slices.Collect(maps.Keys(h.values)))
	for i := range 20 * 13 {
		h.values[first-28*(i+1)] = h.rng.NormFloat64()
	}
	h.say()
}

// late stores a snapshot for an earlier instant and does not change the existing ones.
func (h *changing) late() {
	kept := maps.Clone(h.values)
	h.values[h.day()] -= 0.5
	delete(h.values, h.day())
	h.system.say(h.last.Add(-time.Duration(h.rng.IntN(5*60)+1)*time.Second), h.track()...)
	h.values = kept
}

// two commits a revision and, immediately after it, a snapshot for an earlier instant or a removal.
func (h *changing) two() {
	h.revise()
	if h.rng.IntN(2) == 0 {
		h.late()
		return
	}
	h.remove()
}

// ahead stores a snapshot for a future instant, and advances the clock to it.
func (h *changing) ahead() {
	now := *h.clock.Load()
	h.last = now
	h.newPoint()
	h.hold("something ahead of its time")
	h.clock.Store(new(h.last.Add(time.Hour)))
}

// lose commits while nothing listens.
func (h *changing) lose() {
	h.admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and application_name = 'tidemark-api'`, h.database())
	h.revise()
}

// restore removes the last stored data, like a database that is restored from a copy. It sends a notification without closing a connection.
func (h *changing) restore() {
	h.t.Helper()
	h.revise()
	h.hold("what will be lost")
	c, err := pgx.Connect(h.t.Context(), h.dsn)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(h.t.Context())) }()
	_, err = c.Exec(h.t.Context(), `
		set session_replication_role = replica;
		delete from estimates where id = (select max(id) from estimates);
		notify `+postgres.ChannelSnapshots+`, 'crack-spread-321'`)
	if err != nil {
		h.t.Fatal(err)
	}
}
