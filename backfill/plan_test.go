package backfill_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/workers"
)

// fixture is a database with a source of one series and a signal that doubles it, on its own day. Its values became known two days after
// the day that they are about.
type fixture struct {
	record
	t      *testing.T
	now    time.Time
	def    signals.Definition
	src    ingest.Source
	signal workers.Signals
	// version is the program's.
	version string
}

func at(t *testing.T, s string) time.Time {
	t.Helper()
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if v, err := time.Parse(layout, s); err == nil {
			return v.UTC()
		}
	}
	t.Fatalf("%q is no time", s)
	return time.Time{}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{record: newRecord(t), t: t, now: at(t, "2026-03-01T12:00:00Z"), version: "v1"}
	s.src = ingest.Source{
		ID: "test", Series: []series.Info{{ID: "test.a"}}, Limits: ingest.Limits{Interval: 3 * time.Second, Pages: 7},
		Request: func(w series.Window) ([]ingest.Request, error) {
			url := "https://upstream.example/all"
			if !w.From.IsZero() {
				url = "https://upstream.example/" + w.From.Format(time.DateOnly)
			}
			return []ingest.Request{{URL: url}, {URL: url + "/2"}}, nil
		},
	}
	s.def = signals.Definition{
		ID: "twice", Inputs: []series.ID{"test.a"}, Cadence: series.Cadence{Cron: "0 12 * * *"}, Staleness: 1000 * time.Hour,
		Compute: func(in series.Set, _ time.Time) (track signals.Track) {
			nan := math.NaN()
			for _, p := range in["test.a"] {
				if p.Value == 13 {
					panic("thirteen")
				}
				track = append(track, signals.Estimate{
					ObservedAt: p.ObservedAt, KnownAt: p.VintageAt, Value: 2 * p.Value, Lo: nan, Hi: nan, Baseline: nan, Scale: nan,
				})
			}
			return track
		},
	}
	s.signal = workers.Signals{DB: s.db, Definitions: map[string]signals.Definition{"twice": s.def}, CodeVersion: "v1"}
	if _, err := s.db.EnsureWorld(t.Context(), "replay", &s.now); err != nil {
		t.Fatal(err)
	}
	return s
}

// publish stores what the source says at an instant: values of January 2026 by day, from the first on.
func (s *fixture) publish(fetched string, values ...float64) {
	s.t.Helper()
	l := postgres.Load{
		FetchedAt: at(s.t, fetched), Covers: []series.Coverage{{Series: "test.a"}},
		Published: func(_ series.ID, observed time.Time) time.Time { return observed.Add(48 * time.Hour) },
	}
	for i, v := range values {
		l.Readings = append(l.Readings, series.Reading{Series: "test.a", ObservedAt: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Value: v})
	}
	var err error
	l.FetchID, err = s.db.RecordFetch(s.t.Context(), series.Fetch{
		Source: "test", URL: "https://upstream.example/all", Status: 200, FetchedAt: l.FetchedAt,
		SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, values))),
	}, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.db.StoreLoads(s.t.Context(), task.Fence{}, []postgres.Load{l}, nil); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fixture) planner() backfill.Planner {
	return backfill.Planner{
		DB: s.db, Definitions: []signals.Definition{s.def}, Sources: []ingest.Source{s.src}, Compute: s.signal.Snapshot, Now: s.now,
		CodeVersion: s.version,
	}
}

// request asks for days of January 2026.
func (s *fixture) request(from, to int) backfill.Request {
	return backfill.Request{
		Signal: "twice", From: time.Date(2026, 1, from, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 1, to, 0, 0, 0, 0, time.UTC),
		Parallelism: 1, Preview: -1,
	}
}

func (s *fixture) plan(r backfill.Request) backfill.Plan {
	s.t.Helper()
	p := s.planner()
	plan, err := p.Plan(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := p.Store(s.t.Context(), &plan); err != nil {
		s.t.Fatal(err)
	}
	return plan
}

func (s *fixture) apply(id int64) {
	s.t.Helper()
	if err := s.planner().Apply(s.t.Context(), id); err != nil {
		s.t.Fatal(err)
	}
}

// work does due runs, as scheduler and worker do, until none is left, and returns them. Requests to sources succeed at once.
func (s *fixture) work() (done []task.Task) {
	s.t.Helper()
	job := workers.Backfills{DB: s.db, Signals: s.signal, Archive: s.store, Sources: map[string]ingest.Source{"test": s.src}, Now: func() time.Time { return s.now }}
	for {
		due, err := s.db.HandOut(s.t.Context(), 100)
		if err != nil {
			s.t.Fatal(err)
		}
		if len(due) == 0 {
			return done
		}
		for _, r := range due {
			if ok, err := s.db.Claim(s.t.Context(), r.Fence, "w"); err != nil || !ok {
				s.t.Fatalf("claim run %d: %t, %v", r.RunID, ok, err)
			}
			if r.Job == task.Backfill {
				if err := job.Run(s.t.Context(), r); err != nil {
					s.t.Fatal(err)
				}
			}
			if err := s.db.Succeed(s.t.Context(), r.Fence); err != nil {
				s.t.Fatal(err)
			}
			done = append(done, r)
		}
	}
}

// slots prints the slots of a backfill: day, status, outcome, old and new value.
func (s *fixture) slots(id int64) []string {
	s.t.Helper()
	list, err := s.db.BackfillSlots(s.t.Context(), id, "", false, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return lines(list)
}

func lines(list []postgres.BackfillSlot) (out []string) {
	value := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprint(*v)
	}
	for _, s := range list {
		words := []string{s.Slot.UTC().Format("02"), s.Status}
		if s.Outcome != nil {
			words = append(words, *s.Outcome)
		}
		out = append(out, strings.Join(append(words, value(s.OldValue), value(s.NewValue)), " "))
	}
	return out
}

// dump prints all rows of a table.
func (s *fixture) dump(sql string) []string {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	rows, err := c.Query(s.t.Context(), sql)
	if err != nil {
		s.t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

func TestRequestsThatMakeNoSenseNameTheFlag(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	for _, c := range []struct {
		name   string
		change func(*backfill.Request)
		want   []string
	}{
		{"a signal that is none", func(r *backfill.Request) { r.Signal = "thrice" }, []string{`--signal: unknown signal "thrice"; did you mean twice?`}},
		{"an end before the beginning", func(r *backfill.Request) { r.From, r.To = r.To, r.From }, []string{"--from 2026-01-09 is after --to 2026-01-03"}},
		{"a day to come", func(r *backfill.Request) { r.To = at(t, "2026-03-02") }, []string{"--to 2026-03-02 lies in the future"}},
		{"no runs at once", func(r *backfill.Request) { r.Parallelism = 0 }, []string{"--parallelism 0 is less than 1"}},
		{"a mistyped word", func(r *backfill.Request) { r.Existing = "faild" }, []string{`--existing "faild" is none of skip, failed, all; did you mean failed?`}},
		{"a word that is none", func(r *backfill.Request) { r.Existing = "none" }, []string{`--existing "none" is none of skip, failed, all`}},
		{"knowledge of the future", func(r *backfill.Request) { r.AsOf = at(t, "2026-03-02") }, []string{"--as-of 2026-03-02T00:00:00Z lies in the future"}},
		{"knowledge from before the range", func(r *backfill.Request) { r.AsOf = at(t, "2026-01-09") }, []string{"--as-of 2026-01-09T00:00:00Z is before the last slot"}},
		{"hindsight that leaves slots out", func(r *backfill.Request) { r.AsOf, r.Existing = at(t, "2026-02-09"), "skip" }, []string{"--existing skip does not go with --as-of"}},
		{"a day whose slot has not come", func(r *backfill.Request) {
			r.From, r.To = at(t, "2026-03-01"), at(t, "2026-03-01")
			s.now = s.now.Add(-time.Second)
		}, []string{"no slot"}},
		{"several at once", func(r *backfill.Request) { r.Signal, r.Parallelism = "", -1 }, []string{"--signal", "--parallelism -1"}},
	} {
		r := s.request(3, 9)
		s.now = at(t, "2026-03-01T12:00:00Z")
		c.change(&r)
		_, err := s.planner().Plan(t.Context(), r)
		if fault := (backfill.RequestError{}); !errors.As(err, &fault) {
			t.Errorf("%s: %v, want a fault of the request", c.name, err)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %q does not say %q", c.name, err, w)
			}
		}
	}
}

func TestAPlanShowsWhatAnApplicationDoes(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4, 5)
	plan := s.plan(s.request(1, 6))
	// A day's value is known from midnight two days later on, the slot is at noon: on the third the first is the newest.
	shown := []string{
		"01 skipped - -", "02 skipped - -", "03 pending - 2", "04 pending - 4", "05 pending - 6", "06 pending - 8",
	}
	if d := cmp.Diff(shown, lines(plan.Slots)); d != "" {
		t.Fatalf("planned (-want +got):\n%s", d)
	}
	if why := plan.Slots[0].Reason; plan.Unforeseen || why == nil || *why != "nothing was known by then" {
		t.Fatalf("the first slot is left alone because of %v", why)
	}
	if n := len(s.dump(`select signal from snapshots`)); n != 0 {
		t.Fatalf("a plan made %d snapshots", n)
	}
	s.apply(plan.ID)
	runs := s.work()
	want := []string{
		"01 skipped - -", "02 skipped - -", "03 done added - 2", "04 done added - 4", "05 done added - 6", "06 done added - 8",
	}
	if d := cmp.Diff(want, s.slots(plan.ID)); d != "" {
		t.Errorf("applied (-want +got):\n%s", d)
	}
	if len(runs) != 2 || runs[0].Job != task.Ingest || runs[1].Job != task.Backfill || runs[1].Queue != task.Low {
		t.Fatalf("runs %+v, want the source's and then one with the slots, in the low queue", runs)
	}
	if w := runs[0].Params.Window; w == nil || !w.From.Equal(at(t, "2026-01-01")) || !w.To.Equal(at(t, "2026-01-07").Add(-time.Microsecond)) {
		t.Errorf("the source is asked for the window %v, want the six days", w)
	}
	p, err := backfill.ProgressOf(t.Context(), s.db, plan.ID)
	if err != nil || p.State != backfill.StateDone || p.Added != 4 || p.Finished() != 4 {
		t.Errorf("progress %v (%v), want 4 added, done", p, err)
	}

	if n := len(s.dump(`select signal from snapshots where observed_at is null`)); n != 0 {
		t.Errorf("%d empty snapshots were added, of a time of which nothing is known", n)
	}
	if early := s.plan(s.request(1, 2)); len(early.Changes) != 0 {
		t.Errorf("a plan that has nothing to do says of what will look changed: %q", early.Changes)
	}

	before := s.dump(`select to_jsonb(s)::text from snapshots s order by at`)
	rows := s.dump(`select to_jsonb(e)::text from estimates e order by id`)
	for _, existing := range []string{"skip", "failed", "all"} {
		r := s.request(1, 6)
		r.Existing = existing
		again := s.plan(r)
		s.apply(again.ID)
		s.work()
		status := "skipped"
		if existing == "all" {
			status = "done unchanged"
		}
		for _, l := range s.slots(again.ID) {
			if day := l[:2]; !strings.Contains(l, status) && (day > "02" || !strings.Contains(l, "skipped")) {
				t.Errorf("again with --existing=%s: %s, want %s", existing, l, status)
			}
		}
		if d := cmp.Diff(before, s.dump(`select to_jsonb(s)::text from snapshots s order by at`)); d != "" {
			t.Errorf("the same range again with --existing=%s changed snapshots (-before +after):\n%s", existing, d)
		}
	}
	if d := cmp.Diff(rows, s.dump(`select to_jsonb(e)::text from estimates e order by id`)); d != "" {
		t.Errorf("the same range again changed the history (-before +after):\n%s", d)
	}
}

func TestAPlanBeforeTheFirstSnapshotSaysWhatWillLookChanged(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4, 5)
	s.apply(s.plan(s.request(5, 6)).ID)
	s.work()
	early := s.plan(s.request(1, 4))
	if len(early.Changes) != 1 || !strings.Contains(early.Changes[0], "2 slots before 2026-01-05T12:00:00Z get an answer") {
		t.Errorf("it says of what will look changed: %q", early.Changes)
	}
	if d := cmp.Diff([]string{"01 skipped - -", "02 skipped - -", "03 pending - 2", "04 pending - 4"}, lines(early.Slots)); d != "" {
		t.Errorf("planned (-want +got):\n%s", d)
	}
}

func TestAFirstLoadIsWhole(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	plan := s.plan(s.request(1, 6))
	a := plan.Fetches[0]
	if !plan.Unforeseen {
		t.Error("before the first load it is foreseen which slots are left alone")
	}
	if !a.First || a.WindowFrom != nil || a.Requests != 2 || a.MinDuration() != 3*time.Second || a.Pages != 7 {
		t.Errorf("asked %+v, want the whole history in two requests, three seconds apart", a)
	}
	if got := a.String(); got != "2 requests to upstream.example for its whole history" {
		t.Errorf("%q", got)
	}
	s.apply(plan.ID)
	due, err := s.db.HandOut(t.Context(), 10)
	if err != nil || len(due) != 1 || due[0].Params.Window != nil {
		t.Errorf("due %+v (%v), want the source's run without a window", due, err)
	}
}

func TestAPlanIsRefusedInAnotherWorld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*fixture)
		want   string
	}{
		{"a new vintage", func(s *fixture) { s.publish("2026-02-01T00:00:00Z", 1, 2, 3, 4, 5, 6) }, "the observations of test.a: was 5, the newest of 2026-01-07T00:00:00Z, is 6, the newest of 2026-02-01T00:00:00Z"},
		{"a snapshot in the range", func(s *fixture) {
			r := s.plan(s.request(4, 4))
			s.apply(r.ID)
			s.work()
		}, "the snapshots in the range: was 0"},
		{"another program", func(s *fixture) { s.version = "v2" }, "the program: was v1, is v2"},
		{"another definition", func(s *fixture) { s.def.BaselineMethod = "none" }, "the definition of twice"},
		{"another schedule", func(s *fixture) { s.def.Cadence.Cron = "0 11 * * *" }, "the slots"},
		{"another way to ask", func(s *fixture) {
			s.src.Request = func(series.Window) ([]ingest.Request, error) {
				return []ingest.Request{{URL: "https://api.example/"}}, nil
			}
		}, "what test is asked: was 2 requests to upstream.example"},
		{"a signal that is gone", func(s *fixture) { s.def.ID = "thrice" }, "--signal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4, 5)
			plan := s.plan(s.request(1, 6))
			c.change(s)
			err := s.planner().Apply(t.Context(), plan.ID)
			if !errors.Is(err, backfill.ErrChanged) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("applied: %v\nwant a refusal that says %q", err, c.want)
			}
			if b, err := s.db.Backfill(t.Context(), plan.ID); err != nil || b.Status != postgres.BackfillPlanned {
				t.Errorf("after the refusal it is %s (%v), want planned", b.Status, err)
			}
		})
	}
}

func TestTimeThatPassesChangesNoPlan(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.publish("2026-01-20T00:00:00Z", 1, 2, 3, 4, 5)
	r := s.request(30, 30)
	r.To = at(t, "2026-03-01")
	plan := s.plan(r)
	n := len(plan.Slots)
	s.now = s.now.Add(30 * time.Hour) // a slot of the last day has come since then
	s.apply(plan.ID)
	s.work()
	if got := len(s.slots(plan.ID)); got != n {
		t.Errorf("%d slots, want the %d of the plan", got, n)
	}
	if err := s.planner().Apply(t.Context(), plan.ID); !errors.Is(err, postgres.ErrState) {
		t.Errorf("applied twice: %v", err)
	}
}
