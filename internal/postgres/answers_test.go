package postgres_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// freezer passes on connections to a server until it is frozen. From then on it accepts connections and passes nothing on, as a stopped
// server does.
type freezer struct {
	mu     sync.Mutex
	frozen bool
	thawed *sync.Cond
}

// freezing returns a URL at which the server of another URL is, and its freezer.
func freezing(t *testing.T, to string) (string, *freezer) {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	server := u.Host
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{}
	f.thawed = sync.NewCond(&f.mu)
	t.Cleanup(func() { _ = l.Close(); f.set(false) })
	pass := func(to, from net.Conn) {
		defer func() { _, _ = to.Close(), from.Close() }()
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			f.wait()
			if n > 0 {
				if _, err := to.Write(buffer[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				f.wait()
				s, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", server)
				if err != nil {
					_ = c.Close()
					return
				}
				go pass(s, c)
				pass(c, s)
			}()
		}
	}()
	u.Host = l.Addr().String()
	return u.String(), f
}

func (f *freezer) set(frozen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = frozen
	f.thawed.Broadcast()
}

func (f *freezer) wait() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.frozen {
		f.thawed.Wait()
	}
}

// within fails where something is not done in time. The time is far above what it takes.
func within(t *testing.T, what string, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(time.Minute):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

func TestAFrozenServerEndsACommandAtItsBeginning(t *testing.T) {
	t.Parallel()
	at, f := freezing(t, pgtest.New(t))
	f.set(true)
	done := make(chan error, 1)
	go func() {
		_, err := postgres.Open(t.Context(), at, postgres.RoleWorker, postgres.WithSetting("DATABASE_WORKER_URL"), postgres.WithAnswerTimeout(time.Second, nil))
		done <- err
	}()
	err := within(t, "Open", done)
	u, _ := url.Parse(at)
	if se := new(*postgres.SilentError); !errors.As(err, se) || (*se).Setting != "DATABASE_WORKER_URL" || (*se).Address != u.Host {
		t.Errorf("%v", err)
	}
}

func TestAFrozenServerEndsACommandInItsMiddle(t *testing.T) {
	t.Parallel()
	at, f := freezing(t, pgtest.New(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	db, err := postgres.Open(ctx, at, postgres.RoleWorker, postgres.WithAnswerTimeout(3*time.Second, func(err error) { cancel(err) }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Runs(ctx, postgres.RunFilter{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	f.set(true)
	done := make(chan error, 1)
	go func() {
		_, err := db.Runs(ctx, postgres.RunFilter{Limit: 1})
		db.Close()
		done <- err
	}()
	err = within(t, "a statement, or Close", done)
	if err == nil || !errors.As(context.Cause(ctx), new(*postgres.SilentError)) {
		t.Errorf("%v, the cause is %v", err, context.Cause(ctx))
	}
}

// A statement that takes long is no silence: the server answers on another connection.
func TestALongStatementDoesNotEndACommand(t *testing.T) {
	t.Parallel()
	at := pgtest.New(t)
	lost := make(chan error, 1)
	db, err := postgres.Open(t.Context(), at, postgres.RoleWorker, postgres.WithMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	stop := postgres.Watch(at, "DATABASE_URL", 3*time.Second, func(err error) { lost <- err })
	defer stop()
	other, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(context.Background()) })
	looks, err := pgx.Connect(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = looks.Close(context.Background()) })
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `lock table runs in access exclusive mode`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := db.Runs(t.Context(), postgres.RunFilter{Limit: 1})
		done <- err
	}()
	// The watch asks while the statement waits.
	for asked := false; !asked; {
		row := looks.QueryRow(t.Context(), `select exists (select from pg_stat_activity where datname = current_database() and query in (';', '-- ping') and state = 'idle')`)
		if err := row.Scan(&asked); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("the statement did not wait: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := within(t, "the statement", done); err != nil {
		t.Error(err)
	}
	select {
	case err := <-lost:
		t.Errorf("a server that is at work is called silent: %v", err)
	default:
	}
}
