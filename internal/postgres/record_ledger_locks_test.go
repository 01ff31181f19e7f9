package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// One worker adds an entry to its ledger while another machine's ledger is rebuilt from the first entry on. The first waits for the entry
// that both have, so the second meets what the first holds.
func TestTwoMachinesSaveTheLedgerAtOnce(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	commit := strings.Repeat("a", 40)
	if err := exec(t, url, "", `set session_replication_role = replica;
		insert into gaps (date, reason, recorded_at) select date '2026-11-01' + i, 'x', now() from generate_series(1, 5) i;
		insert into ledger_entries (gap, at) select date '2026-11-01' + i, now() from generate_series(1, 5) i;
		update ledger_entries set commit_id = '`+commit+`' where id < 5`); err != nil {
		t.Fatal(err)
	}
	entries := make([]postgres.LedgerEntry, 5)
	for i := range entries {
		entries[i] = postgres.LedgerEntry{ID: int64(i + 1), Commit: commit}
	}
	state := postgres.LedgerState{Repository: "r", Branch: "main", Status: postgres.LedgerPushed}
	blocker := session(t, url)
	if _, err := blocker.Exec(t.Context(), `begin; select id from ledger_entries where id = 5 for no key update`); err != nil {
		t.Fatal(err)
	}
	var both errgroup.Group
	for i, list := range [][]postgres.LedgerEntry{entries[4:], entries} {
		both.Go(func() error { return db.SaveLedger(t.Context(), task.Fence{}, list, state) })
		waits(t, url, i+1)
	}
	if _, err := blocker.Exec(t.Context(), "rollback"); err != nil {
		t.Fatal(err)
	}
	if err := both.Wait(); err != nil {
		t.Error(err)
	}
	var pushed int
	if err := blocker.QueryRow(t.Context(), "select count(*) from ledger_entries where pushed_at is not null").Scan(&pushed); err != nil || pushed != 5 {
		t.Errorf("%d of 5 entries count as pushed, %v", pushed, err)
	}
	if n := pgtest.Deadlocks(t, url); n > 0 {
		t.Errorf("the server broke %d deadlocks", n)
	}
}

func session(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// waits waits until so many sessions of the database wait for a lock.
func waits(t *testing.T, url string, sessions int) {
	t.Helper()
	c := session(t, url)
	for n := 0; n < sessions; {
		err := c.QueryRow(t.Context(), `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
