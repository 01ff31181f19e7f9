package pgtest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Deadlocks returns how many deadlocks the server has broken in the database at url. It ends all other sessions of the database first,
// because a session's count arrives when it ends.
func Deadlocks(t testing.TB, url string) (n int) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	_, err = c.Exec(ctx, `
		select pg_terminate_backend(pid, 5000) from pg_stat_activity
		where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.QueryRow(ctx, `select deadlocks from pg_stat_database where datname = current_database()`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
