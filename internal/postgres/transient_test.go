package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/accounts"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

func TestErrorsThatPassAreToldFromThoseThatLast(t *testing.T) {
	t.Parallel()
	state := func(s string) error {
		return fmt.Errorf("store: %w", &pgconn.PgError{Code: s, Severity: "ERROR", SeverityUnlocalized: "ERROR"})
	}
	for s, class := range map[string]string{
		"40001": postgres.ClassSerialization, "40P01": postgres.ClassDeadlock, "55P03": postgres.ClassLock,
		"57P01": postgres.ClassShutdown, "57P02": postgres.ClassShutdown, "57P03": postgres.ClassShutdown, "57P04": postgres.ClassShutdown,
		"57P05": postgres.ClassShutdown, "25P03": postgres.ClassShutdown, "53300": postgres.ClassConnections, "25006": postgres.ClassReadOnly,
		"08000": postgres.ClassConnection, "08006": postgres.ClassConnection, "08P01": postgres.ClassConnection,
		"57014": "", "53100": "", "23505": "", "22003": "", "42501": "", "42P01": "", "28P01": "", "3D000": "", "XX000": "",
	} {
		if got := postgres.Transient(state(s)); got != class {
			t.Errorf("%s: %q, want %q", s, got, class)
		}
		if class != "" && postgres.Lasting(state(s)) {
			t.Errorf("%s lasts and passes", s)
		}
	}
	// A broken connection to an upstream is not an error of the database.
	for _, err := range []error{nil, io.EOF, io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, errors.New("x")} {
		if got := postgres.Transient(err); got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
	cfg, err := pgx.ParseConfig("postgres://u:p@127.0.0.1:1/d?connect_timeout=5")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.ConnectConfig(t.Context(), cfg); postgres.Transient(err) != postgres.ClassConnection {
		t.Errorf("nothing listens: %v is %q", err, postgres.Transient(err))
	}
}

// trouble makes the first n changes of a table fail with an error of a state, or end the session if the state is "kill". A sequence counts
// them, and a rollback does not reset it. With deferred, it happens at COMMIT.
func trouble(t *testing.T, url, table, state string, n int, deferred bool) {
	t.Helper()
	act := fmt.Sprintf(`raise exception using errcode = '%s'`, state)
	if state == "kill" {
		act = `perform pg_terminate_backend(pg_backend_pid()), pg_sleep(10)`
	}
	create := fmt.Sprintf("create trigger trouble before insert or update on %s for each row execute function trouble()", table)
	if deferred {
		create = fmt.Sprintf("create constraint trigger trouble after insert or update on %s deferrable initially deferred for each row execute function trouble()", table)
	}
	err := exec(t, url, "", fmt.Sprintf(`
		create sequence troubles;
		create function trouble() returns trigger language plpgsql security definer as $$
			begin
				if nextval('troubles') <= %d then %s; end if;
				return new;
			end $$;
		%s`, n, act, create))
	if err != nil {
		t.Fatal(err)
	}
}

// counted opens url as a worker, and returns a function that reads its metrics of transient errors.
func counted(t *testing.T, url string, options ...postgres.Option) (*postgres.DB, func(class, outcome string) string) {
	t.Helper()
	m := telemetry.NewMetrics("1", "a", time.Now)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker, append(options, postgres.WithMetrics(m))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db, func(class, outcome string) string {
		w := httptest.NewRecorder()
		m.Handler(slog.New(slog.DiscardHandler)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		head := fmt.Sprintf("tidemark_postgres_transient_errors_total{class=%q,outcome=%q} ", class, outcome)
		if _, after, ok := strings.Cut(w.Body.String(), head); ok {
			number, _, _ := strings.Cut(after, "\n")
			return number
		}
		return "0"
	}
}

func TestWhatTheServerRolledBackIsDoneAgain(t *testing.T) {
	t.Parallel()
	slot := instant(t, "2026-03-02T00:00:00Z")
	for state, class := range map[string]string{
		"40001": postgres.ClassSerialization, "40P01": postgres.ClassDeadlock, "55P03": postgres.ClassLock,
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			db, counts := counted(t, url)
			l := load(t, db, "2026-02-01T00:00:00Z", series.Reading{Series: "a", ObservedAt: slot.AddDate(0, -2, 0), Value: 1})
			trouble(t, url, "runs", state, 2, false)
			// A single statement, whose row is read.
			if id, err := db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, slot, "test"); err != nil || id == 0 {
				t.Errorf("a statement: run %d, %v", id, err)
			}
			if got := counts(class, telemetry.TransientRepeated); got != "2" {
				t.Errorf("%s repetitions were counted, want 2", got)
			}
			// A transaction on the pool, a transaction that fails at its commit, and a transaction with rows that were staged before.
			for what, f := range map[string]func() error{
				"a transaction": func() error { return db.EnsureDue(t.Context(), task.Fence{}, task.Signal, []string{"x"}, slot) },
				"a load": func() error {
					added, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{l}, []string{"y"})
					if err == nil && added != 1 {
						err = fmt.Errorf("%d rows were added, want 1", added)
					}
					return err
				},
			} {
				if err := exec(t, url, "", `select setval('troubles', 1, false)`); err != nil {
					t.Fatal(err)
				}
				if err := f(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			list, err := db.Runs(t.Context(), postgres.RunFilter{Limit: 10})
			if err != nil || len(list) != 3 {
				t.Errorf("%d runs, want 3 (%v)", len(list), err)
			}
		})
	}
}

func TestACommitThatWasRefusedIsDoneAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, counts := counted(t, url)
	trouble(t, url, "runs", "40001", 2, true)
	if err := db.EnsureDue(t.Context(), task.Fence{}, task.Signal, []string{"x"}, instant(t, "2026-03-02T00:00:00Z")); err != nil {
		t.Error(err)
	}
	if got := counts(postgres.ClassSerialization, telemetry.TransientRepeated); got != "2" {
		t.Errorf("%s repetitions were counted, want 2", got)
	}
}

func TestASessionThatEndsBeforeTheCommitIsNoLoss(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, _ := counted(t, url)
	trouble(t, url, "runs", "kill", 1, false)
	if err := db.EnsureDue(t.Context(), task.Fence{}, task.Signal, []string{"x"}, instant(t, "2026-03-02T00:00:00Z")); err != nil {
		t.Error(err)
	}
}

func TestWhatMayHaveHappenedIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	slot := instant(t, "2026-03-02T00:00:00Z")
	for what, c := range map[string]struct {
		deferred bool
		f        func(db *postgres.DB) error
	}{
		"a statement whose session ended": {false, func(db *postgres.DB) error {
			_, err := db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, slot, "test")
			return err
		}},
		"a transaction whose session ended at its commit": {true, func(db *postgres.DB) error {
			return db.EnsureDue(t.Context(), task.Fence{}, task.Signal, []string{"x"}, slot)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			db, counts := counted(t, url)
			trouble(t, url, "runs", "kill", 1, c.deferred)
			if err := c.f(db); postgres.Transient(err) != postgres.ClassShutdown {
				t.Errorf("error %v, want one that passes", err)
			}
			if got := counts(postgres.ClassShutdown, telemetry.TransientReturned); got != "1" {
				t.Errorf("%s errors were counted, want 1", got)
			}
		})
	}
}

func TestARunEndsThoughItsSessionIsEnded(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, _ := counted(t, url)
	id, err := db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, instant(t, "2026-03-02T00:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "worker"); err != nil || !ok {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	trouble(t, url, "runs", "kill", 2, false)
	if err := db.Succeed(t.Context(), f); err != nil {
		t.Errorf("the session ended twice: %v", err)
	}
	if err := db.Succeed(t.Context(), f); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("it is over: %v", err)
	}
}

func TestWhatLastsIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, _ := counted(t, url)
	trouble(t, url, "runs", "23514", 1, false)
	_, err := db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, instant(t, "2026-03-02T00:00:00Z"), "test")
	if !postgres.Lasting(err) || postgres.Transient(err) != "" {
		t.Errorf("error %v", err)
	}
}

func TestNobodyWaitsForALockWithoutAnEnd(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, _ := counted(t, url)
	api := as(t, url, postgres.RoleAPI)
	err := exec(t, url, "", `
		create function limits() returns trigger language plpgsql as $$
			begin
				raise exception '% % %', current_setting('statement_timeout'), current_setting('lock_timeout'),
					current_setting('idle_in_transaction_session_timeout');
			end $$;
		create trigger limits before insert on runs for each row execute function limits();
		create trigger limits before insert on keys for each row execute function limits()`)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, instant(t, "2026-03-02T00:00:00Z"), "test")
	if err == nil || !strings.Contains(err.Error(), "10min 30s 5s") {
		t.Errorf("a worker's limits: %v", err)
	}
	if err := register(t, api); err == nil || !strings.Contains(err.Error(), "2min 3s 5s") {
		t.Errorf("the API's limits: %v", err)
	}
	// Another session has the table, and does not give it back. A client of the API gets an error, whether it writes or reads.
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(t.Context(), `begin; lock table keys`); err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for what, call := range map[string]func() error{
		"registers": func() error { return register(t, api) },
		"reads":     func() error { _, err := api.KeyByHash(t.Context(), accounts.KeyHash{}); return err },
	} {
		clients.Go(func() {
			if err := call(); postgres.Transient(err) != postgres.ClassLock {
				t.Errorf("a client %s while the table is locked: %v", what, err)
			}
		})
	}
	clients.Wait()
}

// register makes a key.
func register(t *testing.T, db *postgres.DB) error {
	text, err := accounts.NewKey(rand.Reader)
	if err != nil {
		return err
	}
	r := postgres.Registration{Key: text, PublicID: fmt.Sprintf("key_%026d", keyCount.Add(1)), Name: "test"}
	_, err = db.Register(t.Context(), r, nil, func(postgres.Registered) ([]byte, error) { return nil, nil })
	return err
}

func TestAWorkerWhosePoolIsUsedUpIsAlive(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	db, _ := counted(t, url+separator+"pool_max_conns=3", postgres.WithConnections(20))
	scheduler := as(t, url, postgres.RoleWorker)
	id, err := db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, instant(t, "2026-03-02T00:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "worker"); err != nil || !ok {
		t.Fatalf("claim: %v, %v", ok, err)
	}
	// Handlers hold every connection, and wait for a table that another session has locked.
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(t.Context(), `begin; lock table signal_states`); err != nil {
		t.Fatal(err)
	}
	var handlers sync.WaitGroup
	for n := range 6 {
		handlers.Go(func() {
			err := db.AddState(t.Context(), postgres.State{Signal: fmt.Sprint("s", n), At: time.Now(), State: "live", Cause: "", By: "test"})
			if err != nil && !postgres.Lasting(err) {
				t.Error(err)
			}
		})
	}
	for s := db.PoolStats(); s.Acquired < 3; s = db.PoolStats() {
		if s.Max != 3 {
			t.Fatalf("the pool has %d connections, the URL says 3", s.Max)
		}
		select {
		case <-t.Context().Done():
			return
		case <-time.After(time.Millisecond):
		}
	}
	// The run's last heartbeat was before this instant.
	var before time.Time
	if before, err = scheduler.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	if gone, err := db.Heartbeat(t.Context(), []task.Fence{f}); err != nil || len(gone) != 0 {
		t.Errorf("a beat while the pool is used up: %v, %v", gone, err)
	}
	list, err := scheduler.Runs(t.Context(), postgres.RunFilter{ID: id, Limit: 1})
	if err != nil || len(list) != 1 || list[0].HeartbeatAt == nil || list[0].HeartbeatAt.Before(before) {
		t.Errorf("the run's heartbeat is of before %s: %+v, %v", before, list, err)
	}
	if _, err := c.Exec(t.Context(), `commit`); err != nil {
		t.Fatal(err)
	}
	handlers.Wait()
}

func TestAPanicOfAListenerIsOneLostConnection(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	db, _ := counted(t, url)
	ctx, stop := context.WithCancel(t.Context())
	connected, heard, done := make(chan bool), make(chan bool), make(chan error)
	go func() {
		first := true
		done <- db.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelRunsDue},
			Connected: func(context.Context) error { connected <- true; return nil },
			Notified: func(context.Context, string, string) error {
				if first {
					first = false
					panic("the first notification")
				}
				heard <- true
				return nil
			},
			Log: slog.New(slog.DiscardHandler),
		})
	}()
	for _, next := range []chan bool{connected, heard} {
		<-connected
		if err := exec(t, url, "", `notify runs_due`); err != nil {
			t.Fatal(err)
		}
		if next == heard {
			<-heard
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
