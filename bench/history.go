package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"time"

	jsonexp "github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"tidemark/api"
	"tidemark/api/view"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

const (
	// fortyYears is a daily history of that length.
	fortyYears = 14610
	// revisions is how many later computations changed a few points each.
	revisions = 200
)

// now is the time of the bench's world.
var now = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)

// fixture is a database with one signal's history in it.
type fixture struct {
	def signals.Definition
	// track is the history as it was stored last.
	track signals.Track
	// definitions are the signals that the API serves.
	definitions []signals.Definition
	// dir is for files, server the database's address.
	dir, server string
	client      *http.Client

	// db and url are there while the stand is served: the API's way to the database, and its address.
	db  *postgres.DB
	url string
}

// withFixture runs f on a stand with a history of so many points.
func withFixture(ctx context.Context, points int, f func(context.Context, *fixture) error) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-history")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // as root, the server runs as another user
		return err
	}
	server, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(dir, "postgres"), Throwaway: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	if err := postgres.Migrate(ctx, server.URL(), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	worker, err := postgres.Open(ctx, server.URL(), postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer worker.Close()
	if _, err := worker.EnsureWorld(ctx, view.WorldSandbox, &now); err != nil {
		return err
	}
	def, ok := signals.ByID("crack-spread-321")
	if !ok {
		return errors.New("the catalog has no crack spread")
	}
	s := &fixture{def: def, definitions: []signals.Definition{def}, dir: dir, server: server.URL(), client: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	if s.track, err = fill(ctx, worker, s.def, points); err != nil {
		return err
	}
	return f(ctx, s)
}

// withServed is withFixture with the API on a listener of this process.
func withServed(ctx context.Context, points int, f func(context.Context, *fixture) error) error {
	return withFixture(ctx, points, func(ctx context.Context, s *fixture) error { return s.serve(ctx, f) })
}

func (s *fixture) serve(ctx context.Context, f func(context.Context, *fixture) error) (err error) {
	if s.db, err = postgres.Open(ctx, s.server, postgres.RoleAPI); err != nil {
		return err
	}
	defer s.db.Close()
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.url = "http://" + ln.Addr().String()
	log := slog.New(slog.DiscardHandler)
	v, err := view.New(view.Options{
		Store: s.db, Definitions: s.definitions, PublicURL: s.url, World: view.WorldSandbox,
		Now: func() time.Time { return now }, Log: log,
	})
	if err != nil {
		return err
	}
	srv := api.New(api.Options{View: v, Log: log})
	g, ctx := errgroup.WithContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	g.Go(func() error { return v.Run(ctx) })
	g.Go(func() error { return srv.Serve(ctx, ln) })
	g.Go(func() error {
		defer stop()
		for v.State() == nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Millisecond):
			}
		}
		return f(ctx, s)
	})
	return g.Wait()
}

// fill stores a random walk, and then computations that revise some points, and returns how it came out.
func fill(ctx context.Context, db *postgres.DB, def signals.Definition, points int) (signals.Track, error) {
	rng := rand.New(rand.NewPCG(1, 1))
	track := make(signals.Track, points)
	v := 20.0
	for i := range track {
		v += rng.NormFloat64()
		at := now.AddDate(0, 0, i-points-revisions)
		track[i] = signals.Estimate{
			ObservedAt: series.InstantOf(at), KnownAt: series.InstantOf(at.Add(20*time.Hour + time.Duration(rng.IntN(1e9))*time.Microsecond)),
			Value: v, Lo: v - rng.Float64(), Hi: v + rng.Float64(), Baseline: v + rng.NormFloat64(), Scale: 1 + rng.Float64(), N: 105,
		}
	}
	for i := range track[:min(points, 1500)] {
		track[i].Baseline = math.NaN()
	}
	for i := range revisions {
		if i > 0 {
			for range 20 {
				track[rng.IntN(points)].Value += 0.01
			}
		}
		snap := postgres.Snapshot{
			Signal: def.ID, At: now.AddDate(0, 0, i-revisions), Status: signals.StatusLive, Cause: "bench", ObservedAt: new(track[points-1].ObservedAt.Time()),
			KnownAt: new(track[points-1].KnownAt.Time()), Value: &track[points-1].Value, Synthetic: true, CodeVersion: "bench",
		}
		if err := db.SaveSnapshot(ctx, task.Fence{}, snap, track); err != nil {
			return nil, err
		}
	}
	return track, nil
}

// get reads a whole response and returns its number of bytes. look, if any, is called for each piece.
func (s *fixture) get(ctx context.Context, path string, look func()) (int64, error) {
	return s.copyTo(ctx, path, writerFunc(func(p []byte) (int, error) {
		if look != nil {
			look()
		}
		return len(p), nil
	}))
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// copyTo writes a whole response.
func (s *fixture) copyTo(ctx context.Context, path string, to io.Writer) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/signals/"+s.def.ID+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answers %s", path, resp.Status)
	}
	return io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{resp.Body}, make([]byte, 64<<10))
}

// against compares a response with COPY of the same query.
func (s *fixture) against(ctx context.Context, m *meter, what, path string, asOf time.Time, target float64) (err error) {
	c, err := startCopier(ctx, s.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	query := copied(s.def.ID, asOf)
	if err := s.sameRows(ctx, c, path, query); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	ours, theirs, err := m.turns(
		func() (time.Duration, error) {
			return m.once(func() error { _, err := s.get(ctx, path, nil); return err })
		},
		func() (time.Duration, error) {
			return m.once(func() error { return c.copy(query) })
		},
	)
	if err != nil {
		return err
	}
	m.ratio(what, fortyYears, ours, theirs, target)
	return nil
}

// sameRows compares the rows of a response with the rows of the query.
func (s *fixture) sameRows(ctx context.Context, c *copier, path, query string) error {
	var body bytes.Buffer
	if _, err := s.copyTo(ctx, path, &body); err != nil {
		return err
	}
	file := filepath.Join(s.dir, "copied.csv")
	if err := c.copyTo(query, file); err != nil {
		return err
	}
	return sameAs(path, body.Bytes(), file)
}

func latestHistory(ctx context.Context, m *meter) error {
	return withServed(ctx, fortyYears, func(ctx context.Context, s *fixture) error {
		if err := s.against(ctx, m, "JSON, from memory", "/history", now, 4); err != nil {
			return err
		}
		if err := s.against(ctx, m, "CSV, from memory", "/history?format=csv", now, 4); err != nil {
			return err
		}
		return s.againstLibrary(ctx, m)
	})
}

// listed is a row of a history with the members that the API serves.
type listed struct {
	ObservedAt   time.Time `json:"observed_at"`
	IngestedAt   time.Time `json:"ingested_at"`
	Value        *float64  `json:"value"`
	Lo           *float64  `json:"uncertainty_lo"`
	Hi           *float64  `json:"uncertainty_hi"`
	Baseline     *float64  `json:"baseline_value"`
	DeltaPct     *float64  `json:"delta_vs_baseline_pct"`
	Z            *float64  `json:"z_score"`
	Vintage      int       `json:"vintage"`
	Revised      bool      `json:"revised"`
	PublishedAt  time.Time `json:"published_at"`
	Assumed      bool      `json:"published_at_assumed"`
	Bounds       string    `json:"bounds"`
	IntervalFrom string    `json:"basis"`
}

// againstLibrary compares a response with the library way. The program writes it row by row from columns in memory. The library's handler has the
// same rows as structs in memory and hands them to an encoder. The same client reads both over HTTP.
func (s *fixture) againstLibrary(ctx context.Context, m *meter) error {
	var body bytes.Buffer
	if _, err := s.copyTo(ctx, "/history", &body); err != nil {
		return err
	}
	var list struct {
		Data []listed `json:"data"`
	}
	if err := json.Unmarshal(body.Bytes(), &list); err != nil {
		return err
	}
	if len(list.Data) != fortyYears {
		return fmt.Errorf("the history has %d rows, want %d", len(list.Data), fortyYears)
	}
	for _, library := range []struct {
		name   string
		encode func(io.Writer) error
	}{
		{"encoding/json", func(w io.Writer) error { return json.NewEncoder(w).Encode(list) }},
		{"go-json-experiment", func(w io.Writer) error { return jsonexp.MarshalWrite(w, list) }},
	} {
		plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			out := bufio.NewWriterSize(w, 64<<10)
			if err := errors.Join(library.encode(out), out.Flush()); err != nil {
				panic(http.ErrAbortHandler)
			}
		}))
		theirs := *s
		theirs.url = plain.URL
		ours, theirTime, err := m.turns(
			func() (time.Duration, error) {
				return m.once(func() error { _, err := s.get(ctx, "/history", nil); return err })
			},
			func() (time.Duration, error) {
				return m.once(func() error { _, err := theirs.get(ctx, "/history", nil); return err })
			},
		)
		plain.Close()
		if err != nil {
			return err
		}
		m.ratio("JSON, against "+library.name, fortyYears, ours, theirTime, 1.3)
	}
	return nil
}

func pastHistory(ctx context.Context, m *meter) error {
	then := now.AddDate(0, 0, -revisions/2).Add(time.Hour)
	path := "/history?format=csv&as_of=" + then.Format(time.RFC3339)
	err := withServed(ctx, fortyYears, func(ctx context.Context, s *fixture) error {
		if err := s.against(ctx, m, "CSV, from the database", path, then, 0.9); err != nil {
			return err
		}
		return s.memory(ctx, m, path)
	})
	if err != nil {
		return err
	}
	return withServed(ctx, 5*fortyYears, func(ctx context.Context, s *fixture) error { return s.memory(ctx, m, path) })
}

// memory prints how far the heap of this process, server and client, grows while an answer is streamed.
func (s *fixture) memory(ctx context.Context, m *meter, path string) error {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, most := stats.HeapAlloc, uint64(0)
	n, err := s.get(ctx, path, func() {
		runtime.GC() // garbage does not count
		runtime.ReadMemStats(&stats)
		most = max(most, stats.HeapAlloc)
	})
	if err != nil {
		return err
	}
	m.say("  %-38s %12.2f MB sent: the heap grew by at most %.2f MB", "memory", float64(n)/1e6, max(0, (float64(most)-float64(before))/1e6))
	return nil
}
