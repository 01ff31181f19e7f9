package simulate

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
)

// server ends sessions of a test's database.
type server struct{ own *pgxpool.Pool }

func (s server) end(pid uint32) {
	_, _ = s.own.Exec(context.Background(), `select pg_terminate_backend($1, 10000)`, int64(pid))
}

func (s server) terminate() {
	_, _ = s.own.Exec(context.Background(), `
		select pg_terminate_backend(pid, 10000) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'`)
}

// The transaction has four statements (begin, two inserts, commit). The server rolls it back if its process ends before the commit is sent,
// and keeps it if the process ends after.
func TestWhatAKilledProcessLeavesIsTheServersToDecide(t *testing.T) {
	t.Parallel()
	own := pgtest.Pool(t)
	if _, err := own.Exec(t.Context(), `create table marks (n int)`); err != nil {
		t.Fatal(err)
	}
	cfg := own.Config().Copy()
	cfg.ConnConfig.Tracer = tracer{}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	twice := func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			for n := range 2 {
				if _, err := tx.Exec(ctx, `insert into marks values ($1)`, n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for _, c := range []struct {
		mishap     workFault
		at         int
		stands     int
		told, dead bool // told: the work returned no error; dead: its process was killed
	}{
		{none, 0, 2, true, false},
		{killedBefore, 1, 0, false, true},
		{killedAfter, 3, 0, false, true},
		{killedBefore, 4, 0, false, true},
		{killedAfter, 4, 2, true, true},
		{cut, 3, 0, false, false},
		{cut, 4, 0, false, false},
	} {
		if _, err := own.Exec(t.Context(), `truncate marks`); err != nil {
			t.Fatal(err)
		}
		w := start(t.Context(), c.mishap, c.at, server{own}, twice)
		over, err := w.wait()
		if !over || (err == nil) != c.told || w.dead != c.dead || (w.hit != "") != (c.mishap != none) {
			t.Errorf("%s %d: over %t, err %v, dead %t, hit %q", c.mishap, c.at, over, err, w.dead, w.hit)
		}
		server{own}.terminate()
		var n int
		if err := own.QueryRow(t.Context(), `select count(*) from marks`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != c.stands {
			t.Errorf("%s statement %d: %d rows stand, want %d", c.mishap, c.at, n, c.stands)
		}
	}
}

// A frozen process holds no transaction: the server has ended its session before the freeze is detected. The process gets an error when it
// resumes.
func TestAFrozenProcessHasLostItsTransaction(t *testing.T) {
	t.Parallel()
	own := pgtest.Pool(t)
	cfg := own.Config().Copy()
	cfg.ConnConfig.Tracer = tracer{}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	work := start(t.Context(), frozen, 3, server{own}, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `create table marks (n int)`)
			return err
		})
	})
	if over, err := work.wait(); over {
		t.Fatalf("the work ended: %v", err)
	}
	if _, err := own.Exec(t.Context(), `create table marks (n int)`); err != nil {
		t.Errorf("the frozen process is in the way: %v", err)
	}
	if err := work.wake(); err == nil || errors.Is(err, errKilled) {
		t.Errorf("a commit on a session that is gone: %v", err)
	}
}
