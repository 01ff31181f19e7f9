package workers_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/world"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/scheduler"
	"tidemark/signals"
	"tidemark/workers"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a scheduler and a worker in this process, on a real Postgres and a real Redis, with an upstream that can misbehave.
type fixture struct {
	t     *testing.T
	db    *postgres.DB
	clock *world.Stepped
	sched *scheduler.Scheduler
	// ingest is the job that the worker runs.
	ingest workers.Ingest
	// fault is the publisher's present fault.
	fault atomic.Pointer[world.Fault]
	// rows are the rows that the publisher serves.
	rows atomic.Pointer[string]
}

const upstream = "https://upstream.example/data.csv"

func source() ingest.Source {
	return ingest.Source{
		ID: "test", Name: "A test's upstream", Publisher: "test", License: "none",
		Cadence: series.Cadence{Cron: "0 12 * * *", CatchUp: series.CatchUpLatest},
		Limits:  ingest.Limits{MaxBytes: 30000, Timeout: 2 * time.Second, ContentTypes: []string{"text/csv"}},
		Series:  []series.Info{{ID: "test.a", Name: "A", Unit: "units", Frequency: "daily"}},
		Request: func(series.Window) ([]ingest.Request, error) { return []ingest.Request{{URL: upstream}}, nil },
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			b := ingest.Batch{Covers: []ingest.Coverage{{Series: "test.a"}}}
			lines, err := csv.NewReader(strings.NewReader(string(r.Body))).ReadAll()
			if err != nil || len(lines) < 2 || lines[0][0] != "date" || lines[len(lines)-1][0] != "end" {
				return b, fmt.Errorf("expected a table from the line date,value to the line end,0 (%w)", err)
			}
			for _, l := range lines[1 : len(lines)-1] {
				at, err := time.Parse(time.DateOnly, l[0])
				if err != nil {
					return b, fmt.Errorf("expected a date: %w", err)
				}
				v, err := strconv.ParseFloat(l[1], 64)
				if err != nil {
					return b, fmt.Errorf("expected a number: %w", err)
				}
				b.Readings = append(b.Readings, ingest.Reading{Series: "test.a", ObservedAt: at, Value: v})
			}
			return b, nil
		},
	}
}

func definition() signals.Definition {
	return signals.Definition{
		ID: "test-signal", Inputs: []series.ID{"test.a"}, Staleness: 1000 * time.Hour,
		Compute: func(in series.Set, _ time.Time) (track signals.Track) {
			for _, p := range in["test.a"] {
				track = append(track, signals.Estimate{ObservedAt: p.ObservedAt, KnownAt: p.VintageAt, Value: p.Value})
			}
			return track
		},
	}
}

func newRig(t *testing.T) *fixture {
	t.Helper()
	return newTracedRig(t, nil)
}

// newTracedRig is newRig with a tracer, which may be nil, and with schedules.
func newTracedRig(t *testing.T, tracer *telemetry.Tracer, schedules ...task.Schedule) *fixture {
	t.Helper()
	url := pgtest.New(t)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker, postgres.WithTracer(postgres.Statements{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	redis := pgtest.Redis(t)
	begin := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	if _, err := db.EnsureWorld(t.Context(), "sandbox", &begin); err != nil {
		t.Fatal(err)
	}
	store, err := archive.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	r := &fixture{t: t, db: db, clock: world.NewStepped(begin)}
	r.publish("2026-02-26,10", "2026-02-27,11")
	log := slog.New(slog.DiscardHandler)
	transport := world.Sandbox(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = fmt.Fprint(w, *r.rows.Load())
	}), world.SandboxOptions{Fault: func(*http.Request, int) (world.Fault, bool) {
		f := r.fault.Load()
		if f == nil {
			return world.Fault{}, false
		}
		return *f, true
	}})
	src, def := source(), definition()
	r.ingest = workers.Ingest{
		DB: db, Sources: map[string]ingest.Source{src.ID: src}, Dependents: map[string][]string{src.ID: {def.ID}},
		Engine: &ingest.Engine{
			Transport: transport, Now: r.clock.Now, Ledger: db, Archive: store, Offline: true, Attempts: 1, Log: log,
		},
	}
	handlers := map[string]workers.Handler{
		task.Ingest: r.ingest.Run,
		task.Signal: workers.Signals{
			DB: db, Definitions: map[string]signals.Definition{def.ID: def}, Sources: map[string][]string{def.ID: {src.ID, "other"}},
			CodeVersion: "test",
		}.Run,
	}
	for job := range task.Policies {
		if handlers[job] == nil {
			handlers[job] = func(context.Context, task.Task) error { return errors.New("no run of this job is expected") }
		}
	}
	srv, err := workers.New(workers.Options{
		DB: db, RedisURL: redis, Name: t.Name(), Poll: 10 * time.Millisecond, Log: log, Handlers: handlers, Tracer: tracer,
	})
	if err != nil {
		t.Fatal(err)
	}
	queue, err := scheduler.NewAsynqQueue(redis, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = queue.Close() })
	r.sched = &scheduler.Scheduler{
		Store: db, Queue: queue, Schedules: schedules, Now: r.clock.Now, Log: log, Every: 20 * time.Millisecond, Tracer: tracer,
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- srv.Run(ctx) }()
	go func() { done <- r.sched.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
	})
	return r
}

// publish sets the publisher's rows.
func (r *fixture) publish(rows ...string) {
	text := "date,value\n" + strings.Join(rows, "\n") + "\nend,0\n"
	r.rows.Store(&text)
}

// fetch advances the clock by a day, asks for a run, and waits until it is over or its first attempt has failed.
func (r *fixture) fetch() postgres.Run {
	r.t.Helper()
	r.clock.AdvanceTo(r.clock.Now().Add(24 * time.Hour))
	id, err := r.db.AddRun(r.t.Context(), task.Ingest, "test", r.clock.Now(), r.t.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	return r.await(id)
}

func (r *fixture) await(id int64) postgres.Run {
	r.t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := r.db.Runs(r.t.Context(), postgres.RunFilter{Limit: 1000})
		if err != nil {
			r.t.Fatal(err)
		}
		settled := true // the signals that the run made due count too
		var run postgres.Run
		for _, l := range list {
			if l.ID == id {
				run = l
			}
			if l.Job == task.Signal && (l.Status == "due" || l.Status == "queued" || l.Status == "running") {
				settled = false
			}
		}
		if settled && (run.Failures > 0 || run.Status == "succeeded" || run.Status == "failed") {
			return run
		}
		select {
		case <-deadline:
			r.t.Fatalf("run %d is %s", id, run.Status)
		case <-tick.C:
		}
	}
}

// served is the value of the newest snapshot.
func (r *fixture) served() float64 {
	r.t.Helper()
	s, err := r.db.SnapshotAsOf(r.t.Context(), "test-signal", r.clock.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	if s.Value == nil {
		r.t.Fatal("the snapshot has no value")
	}
	return *s.Value
}

func (r *fixture) observations() []series.Observation {
	r.t.Helper()
	list, err := r.db.Observations(r.t.Context(), "test.a")
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func TestATroubledUpstreamLosesNothing(t *testing.T) {
	t.Parallel()
	csvHeader := http.Header{"Content-Type": {"text/csv"}}
	for _, c := range []struct {
		name  string
		fault world.Fault
		want  []string // what the run log must say
		final bool
	}{
		{"malformed", world.Fault{Body: []byte("date;value\x00\n\"2026"), Header: csvHeader}, []string{"layout changed", upstream, "expected a table"}, false},
		{"truncated in transit", world.Fault{Keep: 0.5}, []string{"broke off", upstream}, false},
		{"cut short by the publisher", world.Fault{Body: []byte("date,value\n2026-02-26,10\n"), Header: csvHeader}, []string{"layout changed", "to the line end"}, false},
		{"ten times too large", world.Fault{Body: []byte(strings.Repeat("2026-02-26,10\n", 20000)), Header: csvHeader}, []string{"too large", "30000 bytes"}, true},
		{"a maintenance page with status 200", world.ErrorPage(200), []string{"wrong content type", "text/html", "text/csv"}, false},
		{"status 429", world.Fault{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, []string{"status 429", "ask again in 7s"}, false},
		{"status 500", world.ErrorPage(500), []string{"status 500"}, false},
		{"status 404", world.ErrorPage(404), []string{"status 404"}, true},
		{"no answer in time", world.Fault{Hang: true}, []string{"no answer", upstream}, false},
		{"no connection", world.Fault{Err: errors.New("connection refused")}, []string{"connection refused"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 2 {
				t.Fatalf("a good fetch: %s, %v rows, %v", run.Status, run.RowsAdded, run.Error)
			}
			before := r.observations()

			r.publish("2026-02-26,10", "2026-02-27,11", "2026-03-02,12")
			r.fault.Store(&c.fault)
			run := r.fetch()
			if run.Error == nil {
				t.Fatalf("the run log has no error: %+v", run)
			}
			for _, w := range c.want {
				if !strings.Contains(*run.Error, w) {
					t.Errorf("the run log says %q, want it to say %q", *run.Error, w)
				}
			}
			if final := run.Status == "failed"; final != c.final {
				t.Errorf("the run is %s, want it given up: %v", run.Status, c.final)
			}
			if d := cmp.Diff(before, r.observations()); d != "" {
				t.Errorf("observations changed (-before +after):\n%s", d)
			}
			if v := r.served(); v != 11 {
				t.Errorf("%v is served, want the last good 11", v)
			}

			r.fault.Store(nil)
			if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 1 {
				t.Errorf("the next good fetch: %s, %v rows, %v", run.Status, run.RowsAdded, run.Error)
			}
			if v := r.served(); v != 12 {
				t.Errorf("%v is served, want the new 12", v)
			}
		})
	}
}

func TestFetchingTwiceAddsNothingAndARevisionOneVintage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.fetch()
	if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 0 {
		t.Errorf("the same page again: %s, %d rows, want 0", run.Status, *run.RowsAdded)
	}
	before := r.clock.Now()
	r.publish("2026-02-26,10", "2026-02-27,11.5")
	if run := r.fetch(); run.Status != "succeeded" || *run.RowsAdded != 1 {
		t.Errorf("a revised value: %s, %d rows, want 1", run.Status, *run.RowsAdded)
	}
	for at, want := range map[time.Time]float64{before: 11, r.clock.Now(): 11.5} {
		set, err := r.db.ObservationsAsOf(t.Context(), []series.ID{"test.a"}, at)
		if err != nil {
			t.Fatal(err)
		}
		if p := set["test.a"]; len(p) != 2 || p[1].Value != want {
			t.Errorf("as of %s: %v, want the second value to be %v", at, p, want)
		}
	}
	if n := len(r.observations()); n != 3 {
		t.Errorf("%d rows, want both vintages kept: 3", n)
	}
}

func TestAnUnknownSubjectIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id, err := r.db.AddRun(t.Context(), task.Signal, "no-such-signal", r.clock.Now(), t.Name())
	if err != nil {
		t.Fatal(err)
	}
	if run := r.await(id); run.Status != "failed" || !strings.Contains(*run.Error, `"no-such-signal"`) {
		t.Errorf("%s: %v", run.Status, run.Error)
	}
}
