package contention

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// tapped is a pool on a fresh database whose connections go through a Tap, and one whose connections do not.
func tapped(t *testing.T, o Options) (tap *Tap, pool, plain *pgxpool.Pool) {
	t.Helper()
	url := pgtest.New(t)
	tap, err := New(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tap.Close)
	open := func(tapped bool) *pgxpool.Pool {
		cfg, err := pgxpool.ParseConfig(url)
		if err != nil {
			t.Fatal(err)
		}
		if tapped {
			tap.Tap(cfg)
		}
		p, err := pgxpool.NewWithConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	pool, plain = open(true), open(false)
	if _, err := plain.Exec(t.Context(), `create table marks (name text)`); err != nil {
		t.Fatal(err)
	}
	return tap, pool, plain
}

func state(err error) string {
	if pe := (*pgconn.PgError)(nil); errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

func marks(t *testing.T, db *pgxpool.Pool) (n int) {
	t.Helper()
	if err := db.QueryRow(t.Context(), `select count(*) from marks`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A statement fails once, with the error of its class, and the server's state matches the error.
func TestAStatementFailsOnceInEachClass(t *testing.T) {
	t.Parallel()
	const sql = `insert into marks values ($1)`
	for _, class := range Classes {
		t.Run(string(class), func(t *testing.T) {
			t.Parallel()
			tap, pool, plain := tapped(t, Options{Seed: 1})
			tap.Load(Shot{SQL: sql, Class: class, Nth: 2})
			for n := range 3 {
				_, err := pool.Exec(t.Context(), sql, "a")
				if failed := err != nil; failed != (n == 1) {
					t.Fatalf("%d.: %v", n+1, err)
				}
				want := string(class)
				if class == Cut || class == AnswerLost {
					want = "" // a connection that broke has no SQLSTATE
				}
				if n == 1 && state(err) != want {
					t.Errorf("it fails with %v, want SQLSTATE %q", err, want)
				}
			}
			want := 2
			if class == AnswerLost {
				want = 3
			}
			if got := marks(t, plain); got != want {
				t.Errorf("%d rows, want %d", got, want)
			}
			if fired := tap.Fired(); len(fired) != 1 || tap.Statements()[sql].All != 3 {
				t.Errorf("fired %v, seen %v", fired, tap.Statements()[sql])
			}
		})
	}
}

// A transaction in which a statement fails leaves nothing. One whose commit has failed left nothing either, unless its answer was lost.
func TestATransactionIsAsItsErrorSays(t *testing.T) {
	t.Parallel()
	for _, at := range []string{`insert into marks values ($1)`, "commit"} {
		for _, class := range Classes {
			if class == Full {
				continue // inside of a transaction there is a connection
			}
			t.Run(at[:6]+" "+string(class), func(t *testing.T) {
				t.Parallel()
				tap, pool, plain := tapped(t, Options{Seed: 1})
				tap.Load(Shot{SQL: at, Class: class, Nth: 1})
				add := func() error {
					return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
						_, err := tx.Exec(t.Context(), `insert into marks values ($1)`, "a")
						return err
					})
				}
				if err := add(); err == nil {
					t.Fatal("the transaction succeeds")
				}
				want := 0
				if at == "commit" && class == AnswerLost {
					want = 1
				}
				if got := marks(t, plain); got != want {
					t.Errorf("%d rows after the failure, want %d", got, want)
				}
				if err := add(); err != nil {
					t.Errorf("the next one: %v", err)
				}
				if got := marks(t, plain); got != want+1 {
					t.Errorf("%d rows after the next one, want %d", got, want+1)
				}
			})
		}
	}
}

// Two statements that change the same rows in different orders meet in a deadlock, where the server pauses at rows.
func TestPausesAtRowsFindADeadlock(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	tap, err := New(t.Context(), url, Options{Seed: 1, Rows: 1, Plans: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tap.Close)
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	tap.Tap(cfg)
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	if _, err := pool.Exec(t.Context(), `insert into hosts (host, next_at) select 'h' || i, now() from generate_series(1, 20) i`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	found := make(chan error, 2)
	for _, order := range []string{"host", "host desc"} {
		go func() {
			for {
				_, err := pool.Exec(ctx, `update hosts h set next_at = now() from (select host from hosts order by `+order+`) o where h.host = o.host`)
				if err != nil {
					found <- err
					return
				}
			}
		}()
	}
	if err := <-found; state(err) != "40P01" {
		t.Errorf("found %v, want a deadlock", err)
	}
	stop()
	if err := <-found; err == nil {
		t.Error("the other goes on")
	}
}

func TestAStatementIsToldFromOthersByItsWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\n\tselect  1\n":                        "select 1",
		"insert into a values ($1, $2), ($3,$4)": "insert into a values ($n), ($n)",
		"select $1":                              "select $1",
	} {
		if got := Normalize(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
