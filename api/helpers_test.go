package api_test

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/api"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/signals"
)

// noon is the world's time at the start of a test.
var noon = time.Date(2026, time.March, 4, 12, 0, 0, 0, time.UTC)

// definitions are three signals of the catalog. The API never calls Compute.
func definitions() []signals.Definition {
	one := func(id, name, unit string, staleness time.Duration) signals.Definition {
		return signals.Definition{
			ID: id, Domain: "energy", Name: name, Unit: unit, Frequency: "daily",
			Description: "What " + name + " measures, in a text that dataset search takes for long enough. It is <not> what is & was sold.",
			Keywords:    []string{"oil", "refining"},
			Place:       "United States",
			License:     "Public domain; acknowledgement requested", LicenseURL: "https://upstream.example/terms",
			SourceURL: "https://upstream.example/data?a=1&b=2", Inputs: []series.ID{"up.one"}, Staleness: staleness,
			BaselineMethod: "same_week_5y_mean", IntervalMethod: "random_walk", BaselineCaption: "mean of five years", IntervalCaption: "random walk", Technique: "(a - b) / c",
			Compute: func(in series.Set, _ time.Time) (track signals.Track) {
				for _, p := range in["up.one"] {
					track = append(track, signals.Estimate{ObservedAt: p.ObservedAt, KnownAt: p.VintageAt, Value: p.Value, Baseline: 20, Scale: 2})
				}
				return track
			},
			Interval: signals.Interval{Bounds: signals.BoundsTrue, Truth: "the true " + name},
			Brief:    "## How it is made\n\nFrom `a` and **b**.\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n\n<script>alert(1)</script>\n",
		}
	}
	crack := one("crack-spread-321", "3:2:1 crack spread", "USD/bbl", 5*24*time.Hour)
	crack.Interval = signals.Interval{
		Bounds: signals.BoundsNextPrint, Truth: "the next price", Trials: func(signals.IntervalHistory) []signals.Trial { return nil },
	}
	hormuz := one("hormuz-transit", "Hormuz <transits>", "transits/day", 10*24*time.Hour)
	hormuz.Interval = signals.Interval{Bounds: signals.BoundsTrue, Truth: "the true number of ships"}
	return []signals.Definition{
		crack,
		hormuz,
		one("lng-arbitrage", "LNG arbitrage", "USD/MMBtu", 40*24*time.Hour),
	}
}

// full is a snapshot with every number. partial is a snapshot of a signal without a baseline and an interval.
func full() postgres.Snapshot {
	return postgres.Snapshot{
		Signal: "crack-spread-321", At: noon.Add(-time.Hour), Status: signals.StatusLive,
		ObservedAt: new(time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)),
		KnownAt:    new(time.Date(2026, time.March, 4, 10, 30, 15, 0, time.UTC)),
		// Data published earlier were first loaded at this time.
		FirstIngestedAt: new(time.Date(2026, time.February, 24, 12, 0, 0, 0, time.UTC)),
		Value:           new(22.5), Lo: new(21.25), Hi: new(23.75), Baseline: new(20.0), Scale: new(2.0), Z: new(1.25), DeltaPct: new(12.5),
		N: 105,
		Components: []postgres.SnapshotComponent{{
			Name: "wti", Label: "WTI, Cushing", Unit: "USD/bbl", ObservedAt: new(time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)),
			Value: new(71.5), Baseline: new(70.0), DeltaPct: new(2.142857142857143),
		}},
		Inputs: []postgres.Input{{
			Source: "up", URL: "https://upstream.example/file?x=1&y=2", SHA256: strings.Repeat("ab", 32),
			FetchedAt: time.Date(2026, time.March, 4, 10, 30, 15, 0, time.UTC),
		}},
		Uncertainty: &postgres.Uncertainty{Basis: signals.BasisMeasured, Record: &postgres.IntervalRecord{
			Cases: 40, Hits: 36, Share: new(0.9), CI95: &[2]float64{0.763, 0.972},
			Last2Years: postgres.Coverage{Cases: 10, Hits: 8, Share: new(0.8), CI95: &[2]float64{0.444, 0.975}},
		}},
		CodeVersion: "3f2c1a",
	}
}

func partial() postgres.Snapshot {
	return postgres.Snapshot{
		Signal: "hormuz-transit", At: noon.Add(-2 * time.Hour), Status: signals.StatusLive,
		ObservedAt: new(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)),
		KnownAt:    new(time.Date(2026, time.March, 3, 9, 0, 0, 0, time.UTC)),
		Value:      new(88.0), CodeVersion: "3f2c1a",
	}
}

// system is the reading half of the program, on its own database and behind a real listener.
type system struct {
	t      testing.TB
	dsn    string
	worker *postgres.DB
	view   *view.View
	server *api.Server
	url    string
	clock  atomic.Pointer[time.Time]
	// madeUp reports that the data endpoints return test data that do not match the description.
	madeUp bool
}

type setup struct {
	world  string // empty: live
	dsn    string // empty: a database of the test's own
	stored []postgres.Snapshot
	ready  []api.Check
	// accounts configures keys and money; start sets its DB. data are the data endpoints.
	accounts *api.Accounts
	data     map[string]api.Build
	// cards may be nil.
	cards api.Cards
	// claims may be nil.
	claims *api.ClaimsOptions
	// pushes reports that there is a stream, and that keys can have alerts.
	pushes bool
	// tracer may be nil.
	tracer *telemetry.Tracer
	// unloaded keeps the view in the state before the first load.
	unloaded bool
	// log takes the lines of the server and may be nil.
	log *slog.Logger
}

func start(t testing.TB, o setup) *system {
	t.Helper()
	if o.world == "" {
		o.world = view.WorldLive
	}
	if o.dsn == "" {
		o.dsn = pgtest.New(t)
	}
	s := &system{t: t, dsn: o.dsn, madeUp: o.data != nil}
	s.clock.Store(&noon)
	s.worker = s.open(postgres.RoleWorker)
	for _, snap := range o.stored {
		s.save(snap)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	log := cmp.Or(o.log, quiet)
	db := s.open(postgres.RoleAPI)
	if o.accounts != nil {
		o.accounts.DB = db
	}
	s.view, err = view.New(view.Options{
		Store: db, Definitions: definitions(), PublicURL: s.url + "/", World: o.world,
		Now: func() time.Time { return *s.clock.Load() }, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	html, err := pages.New(pages.Options{PublicURL: s.url, World: o.world, View: s.view, Pushed: o.pushes})
	if err != nil {
		t.Fatal(err)
	}
	var outbox api.PushStore
	if o.pushes {
		outbox = db
	}
	s.server = api.New(api.Options{Pushes: outbox, View: s.view, Pages: html, Ready: o.ready, Accounts: o.accounts, Cards: o.cards, Claims: o.claims, Data: o.data, Log: log, Now: time.Now, Tracer: o.tracer})
	server := s.server // serve may replace it
	s.run(func(ctx context.Context) error { return server.Serve(ctx, ln) })
	s.run(s.server.Run)
	if !o.unloaded {
		s.run(s.view.Run)
		s.eventually("the first load", func() bool { return s.view.State() != nil })
	}
	return s
}

var quiet = slog.New(slog.DiscardHandler)

// serve starts another server on another port.
func (s *system) serve(o api.Options) {
	s.t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.url = "http://" + ln.Addr().String()
	if o.Now = time.Now; o.Log == nil {
		o.Log = quiet
	}
	s.server = api.New(o)
	server := s.server // serve may replace it
	s.run(func(ctx context.Context) error { return server.Serve(ctx, ln) })
	s.run(s.server.Run)
}

// run runs f until the test ends.
func (s *system) run(f func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.t.Context()))
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("it ended with %v, want nil", err)
		}
	})
}

func (s *system) open(role string) *postgres.DB {
	s.t.Helper()
	db, err := postgres.Open(s.t.Context(), s.dsn, role)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(db.Close)
	return db
}

func (s *system) save(snap postgres.Snapshot) {
	s.t.Helper()
	if err := s.worker.SaveSnapshot(s.t.Context(), task.Fence{}, snap, nil); err != nil {
		s.t.Fatal(err)
	}
}

// eventually waits until f is true. It fails the test after a timeout.
func (s *system) eventually(what string, f func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-ctx.Done():
			s.t.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

// admin runs a statement as the superuser in the server's maintenance database.
func (s *system) admin(statement string, args ...any) {
	s.t.Helper()
	cfg, err := pgx.ParseConfig(s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	cfg.Database = "postgres"
	c, err := pgx.ConnectConfig(s.t.Context(), cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(s.t.Context()) }()
	if _, err := c.Exec(s.t.Context(), statement, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) database() string {
	s.t.Helper()
	cfg, err := pgx.ParseConfig(s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	return cfg.Database
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body []byte
}

// ask sends a request. header contains alternating names and values. It does not decompress the response or follow redirects.
func (s *system) ask(method, address string, header ...string) answer {
	s.t.Helper()
	return s.askWith(method, address, "", header...)
}

// askWith is ask with a body.
func (s *system) askWith(method, address, content string, header ...string) answer {
	s.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = s.url + address
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, address, strings.NewReader(content))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return s.send(r)
}

// send sends a request unchanged.
func (s *system) send(r *http.Request) answer {
	s.t.Helper()
	resp, err := plain.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{resp, body}
	if !s.madeUp || a.StatusCode != http.StatusOK {
		asDescribed(s.t, r.Method, r.URL.Path, a)
	}
	return a
}

var plain = &http.Client{
	// A connection that is closed after its response was read looks as if the response was lost. Therefore all connections are kept.
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// get returns the JSON object at an address, which must respond with 200.
func (s *system) get(address string) map[string]any {
	s.t.Helper()
	a := s.ask(http.MethodGet, address)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: %s, want 200: %s", address, a.Status, a.body)
	}
	return s.object(a)
}

func (s *system) object(a answer) map[string]any {
	s.t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		s.t.Fatalf("%v in %q", err, a.body)
	}
	return m
}

func (s *system) ids() []string {
	s.t.Helper()
	var ids []string
	for _, e := range s.get("/api/signals")["signals"].([]any) {
		ids = append(ids, e.(map[string]any)["id"].(string))
	}
	return ids
}

func unzip(t *testing.T, b []byte) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func isURL(v any) bool {
	text, ok := v.(string)
	u, err := url.Parse(text)
	return ok && err == nil && u.IsAbs() && u.Host != ""
}

func isTime(v any) bool {
	text, ok := v.(string)
	_, err := time.Parse(time.RFC3339, text)
	return ok && err == nil && strings.HasSuffix(text, "Z")
}
