package ops_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/ops"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/signals"
	"tidemark/test/dailypick"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// fixture is a database with a record, in a sandbox whose clock a test moves, and an observer of it.
type fixture struct {
	t        *testing.T
	url      string
	db       *postgres.DB
	observer *ops.Observer
}

func day(s string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return d
}

// newFixture begins at 17:30 in New York, on a Monday.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	s := &fixture{t: t, url: pgtest.New(t)}
	db, err := postgres.Open(t.Context(), s.url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s.db = db
	at := calendar.At(day("2026-03-02"), 17*time.Hour+30*time.Minute)
	if _, err := db.EnsureWorld(t.Context(), "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	s.observer = &ops.Observer{
		DB: db, Definitions: definitions(), Now: time.Now, PickDue: 22*time.Hour + 30*time.Minute,
	}
	return s
}

func definitions() []signals.Definition {
	return []signals.Definition{
		{ID: "crack-spread-321", Staleness: 5 * 24 * time.Hour}, {ID: "hormuz-transit", Staleness: 24 * time.Hour}, {ID: "lng-arbitrage", Staleness: time.Hour},
	}
}

func (s *fixture) clock(on string, clock time.Duration) {
	s.t.Helper()
	at := calendar.At(day(on), clock)
	if err := s.db.SetClock(s.t.Context(), &at); err != nil {
		s.t.Fatal(err)
	}
}

// pick records and announces the pick of a day.
func (s *fixture) pick(on string) {
	s.t.Helper()
	s.clock(on, 17*time.Hour+30*time.Minute)
	if _, err := dailypick.Record(s.t.Context(), s.db, postgres.NewPick{
		Ticker: "NVDA", Price: "181.46", Date: on, CIK: 1045810, Origin: "method", Name: "NVIDIA", Exchange: "XNAS",
		Sector: "Information Technology", Region: "North America", Country: "US", Currency: "USD", Reason: "the best score of the day",
	}); err != nil {
		s.t.Fatal(err)
	}
	s.clock(on, 18*time.Hour)
	if _, err := s.db.AnnounceDue(s.t.Context(), task.Fence{}, calendar.At(day(on), 18*time.Hour)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fixture) snapshot(signal string, observed time.Time) {
	s.t.Helper()
	at, err := s.db.Now(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.db.SaveSnapshot(s.t.Context(), task.Fence{}, postgres.Snapshot{
		Signal: signal, At: at, Status: signals.StatusLive, ObservedAt: &observed, Value: new(1.0), CodeVersion: "test",
	}, signals.Track{}); err != nil {
		s.t.Fatal(err)
	}
}

// exec runs SQL as the owner of the database.
func (s *fixture) exec(sql string) {
	s.t.Helper()
	c, err := pgx.Connect(s.t.Context(), s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(s.t.Context())) }()
	if _, err := c.Exec(s.t.Context(), sql); err != nil {
		s.t.Fatal(err)
	}
}

func (s *fixture) look() ops.State {
	s.t.Helper()
	st, err := s.observer.Observe(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return st
}

// serve serves a private listener and returns its address.
func serve(t *testing.T, o ops.Options) string {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { done <- ops.New(o).Serve(ctx, ln) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + ln.Addr().String()
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	url := serve(t, ops.Options{
		Role: "worker", Ready: []ops.Readiness{{Name: "worker", OK: ready.Load}}, Metrics: telemetry.NewMetrics("1", "c", time.Now),
		Degraded: func() []string { return []string{"postgres"} },
	})
	for _, want := range []struct {
		ready  bool
		path   string
		status int
		ok     bool
		miss   string
	}{{false, "/healthz", 200, true, ""}, {false, "/readyz", 503, false, "worker"}, {true, "/readyz", 200, true, ""}} {
		ready.Store(want.ready)
		status, body := get(t, url+want.path)
		var h struct {
			OK                bool
			Role              string
			Missing, Degraded []string
		}
		if err := json.Unmarshal([]byte(body), &h); err != nil {
			t.Fatal(err)
		}
		if status != want.status || h.OK != want.ok || strings.Join(h.Missing, " ") != want.miss || h.Role != "worker" || len(h.Degraded) != 1 {
			t.Errorf("%s, ready %t: %d %s", want.path, want.ready, status, body)
		}
	}
}

func TestMetricsSayHowEverythingStands(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pick("2026-03-02")
	s.pick("2026-03-03")
	s.snapshot("crack-spread-321", calendar.At(day("2026-03-02"), 0))
	s.snapshot("hormuz-transit", calendar.At(day("2026-03-01"), 0))
	for _, status := range []string{"queued", "running", "due"} {
		s.exec(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, created_at)
			values ('ingest', '` + status + `', now(), 'cron', 'default', '` + status + `', 3, now() - interval '90 seconds')`)
	}
	s.exec(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts, finished_at) values
		('signal', 'x', '2026-03-01', 'cron', 'critical', 'succeeded', 3, '2026-03-01 10:00:00+00'),
		('signal', 'x', '2026-03-02', 'cron', 'critical', 'failed', 3, '2026-03-02 10:00:00+00')`)
	s.exec(`insert into hosts values ('up.example', now() + interval '1 hour'), ('quick.example', now() + interval '2 seconds')`)
	s.clock("2026-03-04", 12*time.Hour)

	at, err := redisurl.Parse(pgtest.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	client := asynq.NewClient(at)
	t.Cleanup(func() { _ = client.Close() })
	if _, err := client.EnqueueContext(t.Context(), asynq.NewTask(task.Signal, nil), asynq.Queue(task.Critical)); err != nil {
		t.Fatal(err)
	}
	queue := ops.NewQueue(at)
	t.Cleanup(func() { _ = queue.Close() })

	m := telemetry.NewMetrics("1.2.3", "abc", time.Now)
	s.observer.Watch(m)
	queue.Watch(m)
	ops.WatchPools(m, map[string]*postgres.DB{postgres.RoleWorker: s.db})
	m.Ran(task.Ingest, "succeeded", m.Now())
	_, body := get(t, serve(t, ops.Options{Role: "scheduler", Metrics: m})+"/metrics")
	for _, line := range []string{
		`tidemark_freshness_age_seconds{signal="crack-spread-321"} 216000`, // 60 hours: midnight to noon, three days on
		`tidemark_freshness_state{signal="crack-spread-321",state="fresh"} 1`,
		`tidemark_freshness_state{signal="hormuz-transit",state="stale"} 1`,
		`tidemark_freshness_state{signal="hormuz-transit",state="fresh"} 0`,
		`tidemark_freshness_state{signal="lng-arbitrage",state="unknown"} 1`,
		`tidemark_job_last_success_timestamp_seconds{job="signal",subject="x"} 1.7723592e+09`, // 2026-03-01T10:00:00Z
		`tidemark_job_failed{job="signal",subject="x"} 1`,
		`tidemark_runs_open{status="queued"} 1`,
		`tidemark_chain_length 2`, `tidemark_chain_valid 1`, `tidemark_pick_missing 0`,
		`tidemark_attestation_pending 2`, `tidemark_attestation_lag_seconds 151200`, // since Monday evening: 42 hours
		`tidemark_ledger_unpushed 2`,
		`tidemark_queue_tasks{queue="critical",state="pending"} 1`,
		`tidemark_postgres_connections{role="worker",state="max"} `,
		`tidemark_job_runs_total{job="ingest",outcome="succeeded"} 1`,
		`tidemark_source_host_shut_seconds{host="up.example"} `,
		`tidemark_build_info{commit="abc",go=`,
	} {
		if !strings.Contains(body, line) {
			t.Errorf("the metrics lack %s", line)
		}
	}
	if strings.Contains(body, "quick.example") {
		t.Error("a host with the ordinary pace is shown as shut")
	}
	if t.Failed() {
		t.Log(body)
	}
	if o := s.look().Open; o.Late < 2 || o.Oldest == nil || time.Since(*o.Oldest) < 80*time.Second {
		t.Errorf("open runs: %+v", o)
	}
}

func TestAPickIsMissedOnceItsDayIsOver(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.clock("2026-03-02", 23*time.Hour)
	if d := s.look().PickMissing; !d.IsZero() {
		t.Errorf("an installation without picks misses that of %s", d)
	}
	s.pick("2026-03-03")
	for _, c := range []struct {
		on    string
		clock time.Duration
		want  string
	}{
		{"2026-03-03", 23 * time.Hour, ""},
		{"2026-03-04", 22 * time.Hour, ""},
		{"2026-03-04", 22*time.Hour + 31*time.Minute, "2026-03-04"},
		{"2026-03-05", 10 * time.Hour, "2026-03-04"},
		{"2026-03-08", 23 * time.Hour, "2026-03-06"}, // a Sunday
	} {
		s.clock(c.on, c.clock)
		got := ""
		if d := s.look().PickMissing; !d.IsZero() {
			got = d.Format(time.DateOnly)
		}
		if got != c.want {
			t.Errorf("%s %s: missing %q, want %q", c.on, c.clock, got, c.want)
		}
	}
}

func TestAnEditedPickIsFound(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pick("2026-03-02")
	s.pick("2026-03-03")
	now := time.Now()
	s.observer.Now = func() time.Time { return now }
	if c := s.look().Chain; c.Length != 2 || c.Fault != "" {
		t.Fatalf("the chain: %+v", c)
	}
	s.exec(`alter table picks disable trigger user; update picks set price = '181.47' where seq = 1; alter table picks enable trigger user`)
	now = now.Add(time.Hour)
	if c := s.look().Chain; c.Length != 0 || c.Fault == "" {
		t.Errorf("after an edit of the first link: %+v", c)
	}
	s.exec(`alter table picks disable trigger user; update picks set price = '181.46' where seq = 1; alter table picks enable trigger user`)
	s.pick("2026-03-04")
	if c := s.look().Chain; c.Length != 3 || c.Fault != "" {
		t.Errorf("repaired: %+v", c)
	}
}
