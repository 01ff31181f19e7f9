package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/internal/devstack"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

const (
	// pagedDays is how many days each of the three series has, pageLength how many rows a page.
	pagedDays, pageLength = 100_000, 5000
	pagedRows             = 3 * pagedDays
	// loadRounds is how often each load is measured, after one round that does not count.
	loadRounds = 5
)

// loads measures P5 and P6. A whole history is fetched page by page from a local server, through the engine, the archive on disk and the
// fetch log, into the table of a durable Postgres. Then it is fetched again unchanged, and again with other bytes of the same meaning. The
// first load is compared with psql's \copy of the same rows into a clone of the table, with its index, checks and trigger, the second with
// the first.
//
// The pages come in two forms. The EIA API's form, with some 330 bytes of JSON a row, is read by the program's own adapter. A terse form,
// with 30 bytes, costs little to parse.
func loads(ctx context.Context, m *meter) (err error) {
	dir, err := os.MkdirTemp("", "tidemark-bench-loads")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o755); err != nil { // as root, the server runs as another user
		return err
	}
	server, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: filepath.Join(dir, "postgres")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	if err := postgres.Migrate(ctx, server.URL(), slog.New(slog.DiscardHandler)); err != nil {
		return err
	}
	for _, form := range []pagedForm{terseForm(), eiaForm()} {
		if err := (&loadBench{meter: m, form: form, dir: dir, server: server.URL()}).run(ctx); err != nil {
			return fmt.Errorf("%s: %w", form.name, err)
		}
	}
	return nil
}

// pagedForm is a source with the pages of a server that it asks.
type pagedForm struct {
	name   string
	source ingest.Source
	// page answers a request: nil where there is no such page.
	page func(q url.Values) []byte
}

// loadBench measures one form.
type loadBench struct {
	*meter
	form        pagedForm
	dir, server string
	engine      ingest.Engine
	// edition is how many blanks follow each page: other bytes, the same rows.
	edition int
}

func (b *loadBench) run(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: b, ReadHeaderTimeout: time.Minute}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = srv.Serve(ln) // it ends with srv.Close
	}()
	defer func() {
		_ = srv.Close()
		<-stopped
	}()
	b.engine.Transport = localHost{ln.Addr().String(), &http.Transport{}}

	var first, again, differs, copied []time.Duration
	for round := range loadRounds + 1 {
		t, err := b.round(ctx, round)
		if err != nil {
			return err
		}
		if round > 0 {
			first, again, differs, copied = append(first, t.first), append(again, t.again), append(differs, t.differs), append(copied, t.copied)
		}
	}
	f := median(first)
	b.ratio(b.form.name+", first load", pagedRows, f, median(copied), 0.7)
	b.ratio(b.form.name+", again", pagedRows, median(again), f, 0.8)
	b.say("  %-38s %12s rows/s  (every row is compared)", b.form.name+", again in other bytes", perSecond(pagedRows, median(differs)))
	return nil
}

// ServeHTTP answers with a page.
func (b *loadBench) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page := b.form.page(r.URL.Query())
	if page == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(slices.Clip(page), bytes.Repeat([]byte{' '}, b.edition)...))
}

// localHost sends every request to one server and ignores the host that the request names.
type localHost struct {
	host string
	to   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l localHost) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	out.URL.Scheme, out.URL.Host = "http", l.host
	return l.to.RoundTrip(out)
}

type loadTimes struct{ first, again, differs, copied time.Duration }

// round measures all loads in a separate database.
func (b *loadBench) round(ctx context.Context, round int) (t loadTimes, err error) {
	name := fmt.Sprintf("round%d", round)
	if err := b.psql(ctx, "postgres", "create database "+name+" template tidemark"); err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, b.psql(ctx, "postgres", "drop database "+name+" with (force)")) }()
	db, err := postgres.Open(ctx, b.database(name), postgres.RoleWorker)
	if err != nil {
		return t, err
	}
	defer db.Close()
	folder := filepath.Join(b.dir, "archive")
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	store, err := archive.Open(ctx, folder)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	// Offline: a server on this machine need not be spared.
	e := &ingest.Engine{Transport: b.engine.Transport, Now: b.now, Ledger: db, Archive: store, Offline: true}
	b.edition = 0
	for i, took := range []*time.Duration{&t.first, &t.again, &t.differs} {
		if i == 2 {
			b.edition++
		}
		want := int64(0)
		if i == 0 {
			want = pagedRows
		}
		if *took, err = b.load(ctx, db, e, name, want); err != nil {
			return t, err
		}
	}
	t.copied, err = b.copy(ctx, name)
	return t, err
}

// load is one run of the source, as a worker makes it.
func (b *loadBench) load(ctx context.Context, db *postgres.DB, e *ingest.Engine, name string, want int64) (time.Duration, error) {
	if err := b.psql(ctx, name, "checkpoint"); err != nil {
		return 0, err
	}
	id, err := db.AddRun(ctx, task.Ingest, b.form.source.ID, b.now(), "bench")
	if err != nil {
		return 0, err
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if _, err := db.Claim(ctx, f, "bench"); err != nil {
		return 0, err
	}
	var added int64
	took, err := b.once(func() error {
		got, err := backfill.Receive(ctx, db, e, b.form.source, series.Window{}, f)
		defer got.Discard(ctx)
		if err != nil {
			return err
		}
		added, err = got.Store(ctx, got.Good, nil)
		return err
	})
	if err == nil && added != want {
		err = fmt.Errorf("%d rows were added, want %d", added, want)
	}
	return took, errors.Join(err, db.Succeed(ctx, f))
}

// copy returns psql's time for the same rows.
func (b *loadBench) copy(ctx context.Context, name string) (time.Duration, error) {
	csv := filepath.Join(b.dir, "rows.csv")
	for _, c := range []string{
		`\copy (select * from observations order by fetch_id, observed_at) to ` + csv + ` csv`,
		`create table clone (like observations including all)`,
		`create trigger observations_have_fetches after insert on clone referencing new table as added
			for each statement execute function observations_have_fetches()`,
		`checkpoint`,
	} {
		if err := b.psql(ctx, name, c); err != nil {
			return 0, err
		}
	}
	return b.once(func() error { return b.psql(ctx, name, `\copy clone from `+csv+` csv`) })
}

func (b *loadBench) database(name string) string {
	u, err := url.Parse(b.server)
	if err != nil {
		return b.server
	}
	u.Path = "/" + name
	return u.String()
}

func (b *loadBench) psql(ctx context.Context, database, command string) error {
	cmd := exec.CommandContext(ctx, "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", command, b.database(database)) //nolint:gosec // our own
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("psql: %s: %w: %s", command, err, out)
	}
	return nil
}
