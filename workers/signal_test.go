package workers_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/api/view"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/workers"
)

// backfillFixture is a database with observations in it, and the job that computes signals of them.
type backfillFixture struct {
	t    *testing.T
	url  string
	db   *postgres.DB
	job  workers.Signals
	load int
	// synthetic marks the bodies that are stored as made up.
	synthetic bool
}

func newBench(t *testing.T, defs ...signals.Definition) *backfillFixture {
	t.Helper()
	b := &backfillFixture{t: t, url: pgtest.New(t)}
	var err error
	if b.db, err = postgres.Open(t.Context(), b.url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.db.Close)
	b.job = workers.Signals{DB: b.db, Definitions: map[string]signals.Definition{}, CodeVersion: "one"}
	for _, d := range defs {
		b.job.Definitions[d.ID] = d
	}
	return b
}

// store records that a complete answer with these readings was fetched at an instant.
func (b *backfillFixture) store(at time.Time, readings []series.Reading) {
	b.t.Helper()
	b.storeSince(at, time.Time{}, readings)
}

// storeSince is store for an answer that is complete from a day on.
func (b *backfillFixture) storeSince(at, since time.Time, readings []series.Reading) {
	b.t.Helper()
	b.load++
	id, err := b.db.RecordFetch(b.t.Context(), series.Fetch{
		Source: "test", URL: "https://upstream.example/all", Status: 200, FetchedAt: at,
		SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, b.load, readings))), Bytes: 1, Synthetic: b.synthetic,
	}, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	l := postgres.Load{
		FetchID: id, FetchedAt: at, Readings: readings,
		Published: func(_ series.ID, observed time.Time) time.Time { return observed.Add(60 * time.Hour) },
	}
	seen := map[series.ID]bool{}
	for _, r := range readings {
		if !seen[r.Series] {
			seen[r.Series] = true
			l.Covers = append(l.Covers, series.Coverage{Series: r.Series, Window: series.Window{From: since}})
		}
	}
	if _, err := b.db.StoreLoads(b.t.Context(), task.Fence{}, []postgres.Load{l}, nil); err != nil {
		b.t.Fatal(err)
	}
}

// run computes one signal as of a slot.
func (b *backfillFixture) run(id string, slot time.Time) {
	b.t.Helper()
	if err := b.job.Run(b.t.Context(), task.Task{Job: task.Signal, Subject: id, Slot: slot}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *backfillFixture) snapshot(id string, at time.Time) postgres.Snapshot {
	b.t.Helper()
	s, err := b.db.SnapshotAsOf(b.t.Context(), id, at)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// history is all columns of the history at an instant, numbers as their bits.
func (b *backfillFixture) history(id string, at time.Time) []string {
	b.t.Helper()
	var out []string
	for p, err := range b.db.History(b.t.Context(), postgres.HistoryQuery{Signal: id, AsOf: at}) {
		if err != nil {
			b.t.Fatal(err)
		}
		line := fmt.Sprint(p.ObservedAt, p.PublishedAt, p.Vintage)
		for _, v := range []float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z} {
			if math.IsNaN(v) {
				v = math.NaN()
			}
			line += fmt.Sprintf(" %016x", math.Float64bits(v))
		}
		out = append(out, line)
	}
	return out
}

// past is a publisher's data on each of several days: random walks on the calendars of two signals. Each day adds the newest values,
// revises some old ones, and withdraws one.
type past struct {
	days  []time.Time
	loads [][]series.Reading
}

func newPast(seed uint64, days int) past {
	rng := rand.New(rand.NewPCG(seed, seed))
	begin := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	all := map[series.ID][]series.Reading{}
	for id, weekday := range map[series.ID]bool{
		"eia.RWTC": true, "eia.EER_EPMRU_PF4_Y35NY_DPG": true, "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": true,
		"eia.WCESTUS1": false, "eia.WGTSTUS1": false, "eia.WDISTUS1": false, "eia.WPULEUS3": false,
	} {
		v := 70.0
		for t := begin.AddDate(-6, 0, 0); t.Before(begin.AddDate(0, 0, days)); t = t.AddDate(0, 0, 1) {
			if wd := t.Weekday(); weekday && (wd == time.Saturday || wd == time.Sunday) || !weekday && wd != time.Friday {
				continue
			}
			v += rng.NormFloat64()
			all[id] = append(all[id], series.Reading{Series: id, ObservedAt: t, Value: math.Round(v*1000) / 1000})
		}
	}
	p := past{}
	for i := range days {
		day := begin.AddDate(0, 0, i)
		p.days = append(p.days, day)
		var load []series.Reading
		for _, id := range slices.Sorted(maps.Keys(all)) {
			list := all[id]
			for range 3 {
				list[rng.IntN(len(list)-days)].Value += 0.25
			}
			gone := rng.IntN(len(list) - days)
			for j, r := range list {
				if r.ObservedAt.Before(day.AddDate(0, 0, -2)) && j != gone {
					load = append(load, r)
				}
			}
		}
		p.loads = append(p.loads, load)
	}
	return p
}

// served is everything that was said of a signal after a slot was computed.
type served struct {
	id       string
	slot     time.Time
	snapshot postgres.Snapshot
	history  []string
	body     string
}

// TestThePastComesOutBitForBit serves two signals for some days of new, revised and withdrawn data. Later, with all later data known,
// each slot is computed once more, in random order: every bit must equal the served one. Then another database, which learned the same
// but computes its slots in another order from the start, must give the same results for each of them.
func TestThePastComesOutBitForBit(t *testing.T) {
	t.Parallel()
	crack, _ := signals.ByID("crack-spread-321")
	petroleum, _ := signals.ByID("eia-weekly-petroleum")
	for _, d := range []*signals.Definition{&crack, &petroleum} {
		if d.ID == "" {
			t.Fatal("the catalog lacks a signal that this test is about")
		}
	}
	p := newPast(1, 6)
	b, other := newBench(t, crack, petroleum), newBench(t, crack, petroleum)
	v := newView(t, b, crack, petroleum)
	var all []served
	for i, day := range p.days {
		for _, x := range []*backfillFixture{b, other} {
			x.store(day.Add(15*time.Hour+30*time.Minute), p.loads[i])
		}
		for _, id := range []string{crack.ID, petroleum.ID} {
			for _, at := range []time.Duration{9 * time.Hour, 15*time.Hour + 30*time.Minute, 22 * time.Hour} {
				slot := day.Add(at)
				b.run(id, slot)
				all = append(all, served{id, slot, b.snapshot(id, slot), b.history(id, slot), body(t, v, id, slot)})
			}
		}
	}
	if n := len(all[len(all)-1].history); n < 300 {
		t.Fatalf("the test's history has only %d points", n)
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for _, i := range rng.Perm(len(all)) {
		was := all[i]
		b.run(was.id, was.slot)
		other.run(was.id, was.slot)
	}
	for _, was := range all {
		what := fmt.Sprintf("%s as of %s (-served +again)", was.id, was.slot)
		was.snapshot.LoadsSeen = nil // what was stored when it was computed is no result of it
		repeated := b.snapshot(was.id, was.slot)
		repeated.LoadsSeen = nil
		if d := cmp.Diff(was.snapshot, repeated); d != "" {
			t.Errorf("snapshot of %s:\n%s", what, d)
		}
		if d := cmp.Diff(was.body, body(t, v, was.id, was.slot)); d != "" {
			t.Errorf("body of %s:\n%s", what, d)
		}
		if d := cmp.Diff(was.history, b.history(was.id, was.slot)); d != "" {
			t.Errorf("history of %s:\n%s", what, d)
		}
		if d := cmp.Diff(was.history, other.history(was.id, was.slot)); d != "" {
			t.Errorf("history in another order of %s:\n%s", what, d)
		}
		again, now := was.snapshot, other.snapshot(was.id, was.slot)
		for _, s := range []*postgres.Snapshot{&again, &now} { // neither the ledger's ids nor the instant of serving are inputs
			s.RunID, s.ServedAt, s.LoadsSeen = nil, nil, nil
		}
		if d := cmp.Diff(again, now); d != "" {
			t.Errorf("snapshot in another order of %s:\n%s", what, d)
		}
	}
}

// newView reads what a bench stores.
func newView(t *testing.T, b *backfillFixture, defs ...signals.Definition) *view.View {
	t.Helper()
	db, err := postgres.Open(t.Context(), b.url, postgres.RoleAPI)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	v, err := view.New(view.Options{
		Store: db, Definitions: defs, PublicURL: "http://signals.example", World: view.WorldLive, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC) },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- v.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for v.State() == nil {
		select {
		case <-t.Context().Done():
			t.Fatal("the view loads nothing")
		case <-time.After(time.Millisecond):
		}
	}
	return v
}

// body is the snapshot as the API renders it.
func body(t *testing.T, v *view.View, id string, at time.Time) string {
	t.Helper()
	doc, err := v.AsOf(t.Context(), v.State().Signal(id), at)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc.Identity.Body)
}

// edgy is a signal of one series. Its backtest has an edge while the newest value is above zero. ran counts the backtests.
func edgy(ran *int) signals.Definition {
	d := definition()
	d.Staleness = 10 * 24 * time.Hour
	d.Backtest = signals.Backtest{
		Symbol: "test.a", Description: "a test", HorizonDays: 1,
		Cases: func(_ signals.Track, in series.Set) []signals.Case {
			*ran++
			points := in["test.a"]
			newest := points[len(points)-1].Value
			var out []signals.Case
			rng := rand.New(rand.NewPCG(3, 3))
			for i := range 200 {
				at := time.Date(2020, 1, 1+i, 0, 0, 0, 0, time.UTC)
				predicted, happened := rng.NormFloat64(), rng.NormFloat64()
				if newest > 0 {
					happened = predicted + happened
				}
				out = append(out, signals.Case{Known: series.InstantOf(at), Start: series.InstantOf(at), End: series.InstantOf(at), Predicted: predicted, Happened: happened, Naive: math.NaN()})
			}
			return out
		},
	}
	return d
}

func TestStatesAndTheirCauses(t *testing.T) {
	t.Parallel()
	ran := 0
	def := edgy(&ran)
	b := newBench(t, def)
	day := func(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }
	var published []series.Reading
	publish := func(n int, value float64) {
		published = append(published, series.Reading{Series: "test.a", ObservedAt: day(n).Truncate(24 * time.Hour), Value: value})
		b.store(day(n).Add(-time.Hour), published)
	}
	operator := func(n int, state, reason string) {
		if err := b.db.AddState(t.Context(), postgres.State{Signal: def.ID, At: day(n).Add(-time.Minute), State: state, Cause: reason, By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	b.run(def.ID, day(1)) // nothing is there
	publish(2, 1)
	b.run(def.ID, day(2))
	b.run(def.ID, day(3))
	b.run(def.ID, day(13)) // eleven and a half days after the newest observation
	publish(14, -1)        // fresh, and the edge is lost
	b.run(def.ID, day(14))
	b.run(def.ID, day(16))
	b.run(def.ID, day(17)) // gone for three days: a backtest decides nothing
	publish(18, 1)
	b.run(def.ID, day(18))
	operator(19, signals.StatusDeprecated, "the source is abandoned")
	b.run(def.ID, day(19))
	b.run(def.ID, day(20))
	operator(21, signals.StatusLive, "restored: it is back")
	b.run(def.ID, day(21))
	b.run(def.ID, day(21))

	b.run(def.ID, day(5)) // late, and in between

	states, err := b.db.States(t.Context(), def.ID)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range states {
		got = append(got, fmt.Sprintf("%d %s, %s (%s)", s.At.Day(), s.State, s.Cause, s.By))
	}
	want := []string{
		"1 decayed, nothing was observed (by hand)",
		"2 live, fresh: the newest observation is of 2026-03-02 (by hand)",
		"13 decayed, stale: the newest observation is of 2026-03-02, more than 10 days ago (by hand)",
		"14 live, fresh: the newest observation is of 2026-03-14 (by hand)",
		"19 deprecated, the source is abandoned (ann)",
		"21 live, restored: it is back (ann)",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("states (-want +got):\n%s", d)
	}
	for n, want := range map[int]string{
		1: "decayed", 2: "live", 3: "live", 5: "live", 13: "decayed", 14: "live", 16: "live", 17: "live", 18: "live", 19: "deprecated",
		20: "deprecated", 21: "live",
	} {
		if s := b.snapshot(def.ID, day(n)); s.Status != want || s.Cause == "" {
			t.Errorf("the snapshot of the %d. is %s because of %q, want %s", n, s.Status, s.Cause, want)
		}
		if s, err := b.db.StateAsOf(t.Context(), def.ID, day(n)); err != nil || s.State != want {
			t.Errorf("the state of the %d. is %s (%v), want %s", n, s.State, err, want)
		}
	}
}

func TestBacktestIsMadeOnceADayOrWhenItsInputsChange(t *testing.T) {
	t.Parallel()
	ran := 0
	def := edgy(&ran)
	def.Backtest.Inputs = []series.ID{"test.b"}
	b := newBench(t, def)
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	one := series.Reading{Series: "test.a", ObservedAt: at(1, 0), Value: 1}
	two := series.Reading{Series: "test.a", ObservedAt: at(3, 0), Value: -1}
	b.store(at(2, 8), []series.Reading{one})
	step := func(slot time.Time, want bool, asOf time.Time) {
		t.Helper()
		before := ran
		b.run(def.ID, slot)
		if made := ran > before; made != want { // the search for a look-ahead makes the cases again
			t.Errorf("for %s a backtest was made: %t, want %t", slot, made, want)
		}
		if s := b.snapshot(def.ID, slot); s.Backtest == nil || !s.Backtest.ComputedAt.Equal(asOf) {
			t.Errorf("for %s the backtest is %+v, want one as of %s", slot, s.Backtest, asOf)
		}
	}
	b.run(def.ID, at(2, 7))
	if s := b.snapshot(def.ID, at(2, 7)); s.Backtest != nil || ran != 0 {
		t.Errorf("before anything was known there is a backtest: %+v", s.Backtest)
	}
	step(at(2, 9), true, at(2, 8))
	step(at(2, 12), false, at(2, 8))
	step(at(3, 9), true, at(3, 0)) // another day
	step(at(3, 10), false, at(3, 0))
	b.store(at(3, 11), []series.Reading{one, two})
	step(at(3, 11), true, at(3, 11)) // something came
	step(at(3, 20), false, at(3, 11))
	step(at(3, 20), false, at(3, 11)) // the same slot again
	b.store(at(3, 20), []series.Reading{{Series: "test.b", ObservedAt: at(1, 0).AddDate(0, 0, -30), Value: 1}})
	step(at(3, 20), true, at(3, 11)) // values were loaded that were known before
	b.job.CodeVersion = "two"
	step(at(3, 21), true, at(3, 11)) // another program
	step(at(3, 10), true, at(3, 0))
	if err := b.db.SaveSnapshot(t.Context(), task.Fence{}, func(s postgres.Snapshot) postgres.Snapshot {
		s.Backtest.HitRatePct = new(99.0)
		return s
	}(b.snapshot(def.ID, at(3, 21))), nil); err != nil {
		t.Fatal(err)
	}
	if step(at(3, 21), true, at(3, 11)); *b.snapshot(def.ID, at(3, 21)).Backtest.HitRatePct == 99 {
		t.Error("a backtest was taken from the stored snapshot of its own slot")
	}

	s := b.snapshot(def.ID, at(3, 21))
	if edge := s.Backtest.OutOfSample.RankICBounds; edge == nil || edge[0] > 0 || s.Backtest.N != 200 || s.Backtest.Target.Symbol != "test.a" {
		t.Errorf("the newest backtest says %+v, want 200 cases and no edge", s.Backtest)
	}
	if edge := b.snapshot(def.ID, at(2, 9)).Backtest.OutOfSample.RankICBounds; edge == nil || edge[0] <= 0 {
		t.Errorf("the first backtest has no edge: %v", edge)
	}
}

// Values that were there before the first request may have been others before. Only a publisher that left 60 values as they came can be believed to leave
// old ones, and only until it changes one.
func TestABacktestOfAssumedVintagesIsSafeWhileItsSourceWasSeenToLeaveOldValues(t *testing.T) {
	t.Parallel()
	def := definition()
	def.Backtest = signals.Backtest{
		Symbol: "test.a", Description: "a test", HorizonDays: 1,
		Cases: func(read signals.Track, in series.Set) (out []signals.Case) {
			for i, e := range read {
				day := e.KnownAt.Time().Truncate(24*time.Hour).AddDate(0, 0, 1)
				out = append(out, signals.Case{Known: e.KnownAt, Start: series.InstantOf(day), End: series.InstantOf(day), Predicted: e.Value, Happened: float64(i % 3), Naive: math.NaN()})
			}
			return out
		},
	}
	b := newBench(t, def)
	at := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	var published []series.Reading
	for day := range 20 {
		published = append(published, series.Reading{Series: "test.a", ObservedAt: at(day-30, 0), Value: float64(day)})
	}
	backtest := func(slot time.Time, reason string, words ...string) *postgres.Backtest {
		t.Helper()
		b.run(def.ID, slot)
		bt := b.snapshot(def.ID, slot).Backtest
		if bt.LookAheadReason != reason || bt.LookAheadSafe != (reason == signals.LookAheadUnrevised) || (bt.Vintages == nil) != bt.LookAheadSafe {
			t.Fatalf("at %s: safe %t, %q, vintages %+v, want %q", slot, bt.LookAheadSafe, bt.LookAheadReason, bt.Vintages, reason)
		}
		for _, w := range words {
			if !strings.Contains(bt.LookAheadText, w) {
				t.Errorf("at %s: %q lacks %q", slot, bt.LookAheadText, w)
			}
		}
		return bt
	}
	b.store(at(2, 8), published) // all of it was published long before
	bt := backtest(at(2, 9), signals.LookAheadUnwatched, "Too few came since", "test.a")
	if !bt.Vintages.RecordedFrom.Equal(at(2, 8)) || bt.Vintages.Before.N != bt.N {
		t.Errorf("vintages %+v of %d cases, want all before the first load", bt.Vintages, bt.N)
	}
	for day := 3; day < 92; day++ { // a value a day, each load with all values
		published = append(published, series.Reading{Series: "test.a", ObservedAt: at(day, 0), Value: float64(day % 7)})
		b.store(at(day, 8), published)
		if day == 91 { // the values of 59 days are 30 days old or older
			backtest(at(day, 9), signals.LookAheadUnwatched)
		}
	}
	published = append(published, series.Reading{Series: "test.a", ObservedAt: at(92, 0), Value: 4})
	b.store(at(92, 8), published)
	backtest(at(92, 9), signals.LookAheadUnrevised, "were seen to leave old values as they are")
	published[3].Value = 100
	published = append(published, series.Reading{Series: "test.a", ObservedAt: at(93, 0), Value: 7})
	b.store(at(94, 8), published)
	bt = backtest(at(94, 9), signals.LookAheadRevised, "changes old values: test.a.")
	if !bt.Vintages.RecordedFrom.Equal(at(2, 8)) || bt.Vintages.Before.N == 0 || bt.Vintages.Since.N < 80 || bt.N != bt.Vintages.Before.N+bt.Vintages.Since.N {
		t.Errorf("recorded from %s, %d cases before and %d since of %d", bt.Vintages.RecordedFrom, bt.Vintages.Before.N, bt.Vintages.Since.N, bt.N)
	}
	backtest(at(92, 10), signals.LookAheadUnrevised) // as of an instant before the revision, nothing is known of it
}
