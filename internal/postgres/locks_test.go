package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/migrations"
)

// slowed makes every change of a row in some tables slow, so that concurrent transactions meet.
func slowed(t *testing.T, url string, tables ...string) {
	t.Helper()
	sql := `create function slowed() returns trigger language plpgsql as $$
		begin perform pg_sleep(0.02); return case tg_op when 'DELETE' then old else new end; end $$;`
	for _, table := range tables {
		sql += fmt.Sprintf(`create trigger slowed before insert or update or delete on %s for each row execute function slowed();`, table)
	}
	if err := exec(t, url, "", sql); err != nil {
		t.Fatal(err)
	}
}

// undisturbed runs all of fs at the same moment, several times, and fails if the server had to break a deadlock.
func undisturbed(t *testing.T, url string, times int, fs ...func(n int) error) {
	t.Helper()
	for n := range times {
		var all sync.WaitGroup
		for _, f := range fs {
			all.Go(func() {
				if err := f(n); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
	if n := pgtest.Deadlocks(t, url); n > 0 {
		t.Errorf("the server broke %d deadlocks", n)
	}
}

// many is a load of many series, each with one reading that is new each time.
func many(t *testing.T, db *postgres.DB, names []string, fetched time.Time, same bool) postgres.Load {
	t.Helper()
	var list []series.Reading
	for i, name := range names {
		value := float64(fetched.UnixMilli()%1000 + int64(i))
		if same {
			value = 1
		}
		list = append(list, series.Reading{Series: series.ID(name), ObservedAt: instant(t, "2026-01-01T00:00:00Z"), Value: value})
	}
	return load(t, db, fetched.Format(time.RFC3339Nano), list...)
}

func TestLoadsOfTheSameSeriesNeverBlockEachOther(t *testing.T) {
	t.Parallel()
	names := make([]string, 12)
	for i := range names {
		names[i] = fmt.Sprintf("s%02d", i)
	}
	backwards := slices.Clone(names)
	slices.Reverse(backwards)
	at := instant(t, "2026-02-01T00:00:00Z")
	signals := []string{"x", "y", "z"}
	for what, store := range map[string]func(db *postgres.DB, n, who int) error{
		"values that are new": func(db *postgres.DB, n, who int) error {
			order, due := names, signals
			if who == 1 {
				order, due = backwards, []string{"z", "y", "x"}
			}
			// The second response repeats values of the first, so that they are compared in two steps.
			fetched := at.Add(time.Duration(n) * time.Minute)
			_, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{
				many(t, db, order[:6], fetched, false), many(t, db, order[5:], fetched.Add(time.Second), false),
			}, due)
			return err
		},
		"the same bytes again": func(db *postgres.DB, n, _ int) error {
			_, err := db.StoreLoads(t.Context(), task.Fence{}, []postgres.Load{many(t, db, names, at.Add(time.Duration(n)*time.Minute), true)}, nil)
			return err
		},
		"first answers that are sent ahead": func(db *postgres.DB, n, who int) error {
			order := slices.Clone(names)
			if who == 1 {
				slices.Reverse(order)
			}
			s := db.Storing(task.Fence{})
			defer s.Discard(t.Context())
			for _, name := range order {
				s.Add(t.Context(), many(t, db, []string{fmt.Sprintf("%s of %d", name, n)}, at, true))
				s.EndChain(t.Context(), true)
			}
			_, err := s.Commit(t.Context(), nil)
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			db, url := open(t, postgres.RoleWorker)
			// Enough other rows to make the planner use the index.
			if err := exec(t, url, "", `set session_replication_role = replica; insert into watermarks (series, first_loaded_at, fetch_id, confirmed_at)
				select 'other ' || n, now(), 0, now() from generate_series(1, 20000) n; analyze watermarks`); err != nil {
				t.Fatal(err)
			}
			slowed(t, url, "watermarks", "runs")
			undisturbed(t, url, 4, func(n int) error { return store(db, n, 0) }, func(n int) error { return store(db, n, 1) })
		})
	}
}

func TestABackfillIsCancelledWhileItsSlotsEnd(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	slowed(t, url, "backfill_slots")
	var id int64
	var run task.Task
	var list []postgres.BackfillSlot
	for range 3 {
		id = backfilled(t, db, 24, 1)
		for _, r := range due(t, db) {
			if r.Subject == fmt.Sprint(id) {
				run = r
			}
		}
		claim(t, db, run)
		at, err := db.BackfillWork(t.Context(), id, run.RunID, 100)
		if err != nil || len(at) != 24 {
			t.Fatalf("%d slots, %v", len(at), err)
		}
		list = nil
		for _, slot := range slices.Backward(at) {
			list = append(list, postgres.BackfillSlot{Slot: slot, Status: postgres.SlotFailed})
		}
		var both sync.WaitGroup
		both.Go(func() {
			if err := db.FinishSlots(t.Context(), run.Fence, id, list); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if err := db.CancelBackfill(t.Context(), id); err != nil {
				t.Error(err)
			}
		})
		both.Wait()
	}
	if n := pgtest.Deadlocks(t, url); n > 0 {
		t.Errorf("the server broke %d deadlocks", n)
	}
}

func TestKeysGiveToEachOtherWhileTheySpend(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	const keys = 5
	for i := range keys {
		b.register(fmt.Sprint("k", i))
	}
	// Enough other rows to make the planner use the index.
	b.exec(`insert into keys (public_id, name, created_at) select 'key_' || lpad(n::text, 26, 'x'), 'k', now() from generate_series(1, 20000) n; analyze keys`)
	slowed(t, b.url, "keys")
	pair := func(n int) (one, other int64) { return int64(n%keys) + 1, int64((n+1+n/keys)%keys) + 1 }
	undisturbed(t, b.url, 3*keys, func(n int) error {
		from, to := pair(n)
		_, _, err := b.worker.Move(t.Context(), from, to, "ops", "test")
		if errors.Is(err, postgres.ErrNothingToMove) {
			err = nil
		}
		return err
	}, func(n int) error {
		<-time.After(2 * time.Millisecond)
		one, other := pair(n)
		return exec(t, b.url, "", fmt.Sprintf(`
			select charge_requests(array[%d, %d], array[0, 0], array['/picks', '/picks'], array['r', 'r'], array[null, null]::bytea[], interval '1 minute')`, one, other))
	})
}

func TestAmountsRunShort(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	const keys, left = 12, 14
	var ids []int64
	for i := range keys {
		k, _ := b.register(fmt.Sprint("k", i))
		ids = append(ids, k.ID)
	}
	b.exec(fmt.Sprintf(`
		insert into keys (public_id, name, created_at) select 'key_' || lpad(n::text, 26, 'x'), 'k', now() from generate_series(1, %d) n;
		insert into payment_quotes (key_id, amount, held)
			select k.id, 5000000 + row_number() over (), tstzrange(now(), now() + interval '1 day') from keys k where k.public_id like 'key_x%%'`, 9999-left))
	var fs []func(int) error
	var mu sync.Mutex
	held := map[accounts.Micros]int64{}
	for _, id := range ids {
		fs = append(fs, func(int) error {
			q, err := b.api.Quote(t.Context(), id)
			mu.Lock()
			defer mu.Unlock()
			if was, ok := held[q.Amount]; ok && was != id && err == nil {
				return fmt.Errorf("%s is held by %d and %d", q.Amount, was, id)
			}
			held[q.Amount] = id
			return err
		})
	}
	undisturbed(t, b.url, 1, func(int) error {
		for range 30 {
			b.exec(`delete from payment_quotes where key_id <= 12`)
			clear(held)
			var all errgroup.Group
			for _, f := range fs {
				all.Go(func() error { return f(0) })
			}
			if err := all.Wait(); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestWhatIsKeptIsForgottenWhileItIsUsed(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("k")
	digest := func(i int) []byte { return append(make([]byte, 31), byte(i)) }
	slowed(t, b.url, "paid_requests")
	undisturbed(t, b.url, 4, func(int) error {
		_, err := b.worker.DeleteExpiredKeys(t.Context(), task.Fence{})
		return err
	}, func(n int) error {
		// Twelve expired digests are used again, in one transaction and in both orders.
		c, err := pgx.Connect(t.Context(), b.url)
		if err != nil {
			return err
		}
		defer func() { _ = c.Close(t.Context()) }()
		return pgx.BeginFunc(t.Context(), c, func(tx pgx.Tx) error {
			for i := range 12 {
				if n%2 == 1 {
					i = 11 - i
				}
				_, err := tx.Exec(t.Context(), `
					select charge_requests(array[@key::bigint], array[1::bigint], array['/picks'], array['r'], array[@digest::bytea], interval '-1 second')`,
					pgx.NamedArgs{"key": k.ID, "digest": digest(i)})
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// An operator starts a run again after retention has selected it and before retention deletes it.
func TestARunThatIsBegunAgainIsNotForgotten(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	db := as(t, pool.Config().ConnString(), postgres.RoleWorker)
	if _, err := pool.Exec(t.Context(), `
		insert into runs (job, subject, slot, trigger, queue, status, max_attempts, created_at, finished_at) values
			('signal', 'a', '2020-01-01Z', 'cron', 'critical', 'failed', 3, '2020-01-01', '2020-01-01'),
			('signal', 'a', now(), 'cron', 'critical', 'succeeded', 3, now(), now())`); err != nil {
		t.Fatal(err)
	}
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(t.Context()) }()
	if _, err := tx.Exec(t.Context(), `update runs set status = 'due', attempt = attempt + 1 where slot = '2020-01-01Z'`); err != nil {
		t.Fatal(err)
	}
	forgotten := make(chan error, 1)
	go func() {
		_, err := db.ApplyRetention(t.Context(), task.Fence{}, postgres.Retention{Runs: 24 * time.Hour})
		forgotten <- err
	}()
	for waits := false; !waits && len(forgotten) == 0; {
		if err := pool.QueryRow(t.Context(), `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).
			Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-forgotten; err != nil {
		t.Fatal(err)
	}
	var left int
	if err := pool.QueryRow(t.Context(), `select count(*) from runs where status = 'due'`).Scan(&left); err != nil || left != 1 {
		t.Errorf("%d runs are due, want the one that was begun again (%v)", left, err)
	}
}

// A migration waits for a table that a long COPY writes to. It does not block other writers, and continues when the COPY is over.
func TestAMigrationLetsOthersPassWhileItWaits(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	old, err := goose.NewProvider(goose.DialectPostgres, stdlib.OpenDBFromPool(connect(t, url)), migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.DownTo(t.Context(), 17); err != nil {
		t.Fatal(err)
	}
	pool := connect(t, url)
	if _, err := pool.Exec(t.Context(), `insert into keys (public_id, name, created_at) values ('key_' || repeat('a', 26), 'k', now())`); err != nil {
		t.Fatal(err)
	}
	const write = `insert into ledger (key_id, kind, amount, at, by, reason) values (1, 'credit', 1, now(), 'op', 'why')`
	long, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = long.Rollback(t.Context()) }()
	if _, err := long.Exec(t.Context(), `lock table ledger in row exclusive mode`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() {
		migrated <- postgres.Migrate(context.WithoutCancel(t.Context()), url, slog.New(slog.DiscardHandler))
	}()
	for waits := false; !waits; {
		if len(migrated) > 0 {
			t.Fatalf("the migration does not wait: %v", <-migrated)
		}
		err := pool.QueryRow(t.Context(), `
			select exists (select from pg_locks where relation = 'ledger'::regclass and not granted)`).Scan(&waits)
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := pool.Exec(ctx, write); err != nil {
		t.Errorf("a write behind the migration: %v", err)
	}
	if err := long.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Errorf("when the table is free: %v", err)
	}
}

func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}
