package workers_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

func TestAccountsAreChecked(t *testing.T) {
	t.Parallel()
	url := pgtest.New(t)
	open := func(role string) *postgres.DB {
		db, err := postgres.Open(t.Context(), url, role)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db
	}
	api := open(postgres.RoleAPI)
	text, err := accounts.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r := postgres.Registration{PublicID: "key_" + strings.Repeat("a", 26), Name: "a", Key: text}
	if _, err := api.Register(t.Context(), r, nil, func(postgres.Registered) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	charger := postgres.NewCharger(api.KeyStore)
	for i := range byte(3) {
		q := postgres.Charge{KeyID: 1, Price: 1000, Endpoint: "/picks/latest", RequestID: "r", Digest: append(make([]byte, 31), i)}
		if _, err := charger.Charge(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	superuser, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = superuser.Close(context.WithoutCancel(t.Context())) })
	exec := func(sql string) {
		t.Helper()
		if _, err := superuser.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`update paid_requests set expires_at = now() where get_byte(digest, 31) < 2`)
	exec(`insert into kept_answers values (sha256('a'), sha256('b'), 'old', now()), (sha256('b'), sha256('b'), 'new', now() + interval '1 hour')`)
	check := func() error { return workers.Accounts{DB: open(postgres.RoleWorker)}.Run(t.Context(), task.Task{}) }
	if err := check(); err != nil {
		t.Errorf("balances that are right: %v", err)
	}
	var paid, kept int
	if err := superuser.QueryRow(t.Context(), `select (select count(*) from paid_requests), (select count(*) from kept_answers)`).Scan(&paid, &kept); err != nil {
		t.Fatal(err)
	}
	if paid != 1 || kept != 1 {
		t.Errorf("%d paid requests and %d answers are kept, want one of each", paid, kept)
	}
	// What only who owns the server can do: the check says whose balance it is.
	exec(`alter table keys disable trigger all`)
	exec(`update keys set balance = balance + 1`)
	if err := check(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s: balance 0.197001, sum 0.197", r.PublicID)) {
		t.Errorf("a balance that is wrong: %v", err)
	}
}
