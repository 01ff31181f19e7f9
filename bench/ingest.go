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
	"syscall"
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
		if err := (&loadBench{meter: m, form: form, dir: dir, server: server}).run(ctx); err != nil {
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
	form   pagedForm
	dir    string
	server *devstack.Server
	engine ingest.Engine
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

	var all []loadTimes
	b.count(loadRounds)
	for round := range loadRounds + 1 {
		t, err := b.round(ctx, round)
		if err != nil {
			return err
		}
		if round > 0 {
			all = append(all, t)
		}
	}
	of := func(which func(loadTimes) time.Duration) time.Duration {
		list := make([]time.Duration, len(all))
		for i, t := range all {
			list[i] = which(t)
		}
		return median(list)
	}
	f := of(func(t loadTimes) time.Duration { return t.first })
	b.ratio(b.form.name+", first load", pagedRows, f, of(func(t loadTimes) time.Duration { return t.copied }), 0.7)
	b.say("  %-38s our process %.0f ms, Postgres %.0f ms; for \\copy psql %.0f ms, Postgres %.0f ms", b.form.name+", processor time",
		milliseconds(of(func(t loadTimes) time.Duration { return t.ours.client })), milliseconds(of(func(t loadTimes) time.Duration { return t.ours.server })),
		milliseconds(of(func(t loadTimes) time.Duration { return t.psql.client })), milliseconds(of(func(t loadTimes) time.Duration { return t.psql.server })))
	b.ratio(b.form.name+", again", pagedRows, of(func(t loadTimes) time.Duration { return t.again }), f, 0.8)
	b.say("  %-38s %12s rows/s  (every row is compared)", b.form.name+", again in other bytes",
		perSecond(pagedRows, of(func(t loadTimes) time.Duration { return t.differs })))
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

type loadTimes struct {
	first, again, differs, copied time.Duration
	// ours and psql are the processor times of the first load and of the copy.
	ours, psql loadCost
}

// loadCost is the processor time of the process that sends the rows, and of the database's processes.
type loadCost struct{ client, server time.Duration }

// used returns the processor time that f takes of this process, or of its ended children, and of the database.
func (b *loadBench) used(who int, f func() error) (t loadCost, err error) {
	postmaster := b.server.PIDs()[0]
	began, err := cpuTime(postmaster)
	if err != nil {
		return t, err
	}
	if t.client, err = processorOf(who, f); err != nil {
		return t, err
	}
	ended, err := cpuTime(postmaster)
	t.server = ended - began
	return t, err
}

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
	t.ours, err = b.used(syscall.RUSAGE_SELF, func() (err error) {
		t.first, err = b.load(ctx, db, e, name, pagedRows)
		return err
	})
	if err != nil {
		return t, err
	}
	if t.again, err = b.load(ctx, db, e, name, 0); err != nil {
		return t, err
	}
	b.edition++
	if t.differs, err = b.load(ctx, db, e, name, 0); err != nil {
		return t, err
	}
	if err := b.prepareCopy(ctx, name); err != nil {
		return t, err
	}
	t.psql, err = b.used(syscall.RUSAGE_CHILDREN, func() (err error) {
		t.copied, err = b.once(func() error { return b.psql(ctx, name, `\copy clone from `+b.csv()+` csv`) })
		return err
	})
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

func (b *loadBench) csv() string { return filepath.Join(b.dir, "rows.csv") }

// prepareCopy writes the rows to a file and makes the empty table for them.
func (b *loadBench) prepareCopy(ctx context.Context, name string) error {
	for _, c := range []string{
		`\copy (select * from observations order by fetch_id, observed_at) to ` + b.csv() + ` csv`,
		`create table clone (like observations including all)`,
		`create trigger observations_arrive after insert on clone referencing new table as added
			for each statement execute function observations_arrive()`,
		`checkpoint`,
	} {
		if err := b.psql(ctx, name, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *loadBench) database(name string) string {
	u, err := url.Parse(b.server.URL())
	if err != nil {
		return b.server.URL()
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
