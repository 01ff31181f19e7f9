package postgres_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

func TestACheckupFindsLostGuardsAndGrants(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	url := pool.Config().ConnString()
	db := as(t, url, postgres.RoleWorker)
	c, err := db.Checkup(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Writable) != 0 || len(c.Unguarded) != 0 || c.Schema < 14 || c.Size == 0 || c.MaxConnections == 0 || c.Connections == 0 || c.Connections > c.MaxConnections || c.Ahead.Abs() > time.Minute || c.Replica {
		t.Errorf("as the migrations made it: %+v", c)
	}
	// Every table whose rows can never be deleted is in the list.
	rows, err := pool.Query(t.Context(), `select tgrelid::regclass::text from pg_trigger where tgname = 'append_only' and tgtype & 8 <> 0 order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	var guarded []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		guarded = append(guarded, name)
	}
	slices.Sort(guarded)
	if d := cmp.Diff(guarded, postgres.AppendOnly); d != "" {
		t.Errorf("append-only tables (-database +list):\n%s", d)
	}
	if _, err := pool.Exec(t.Context(), `alter table picks disable trigger append_only; drop trigger append_only_truncate on ledger; grant insert on picks to tidemark_api;
		grant update (name) on keys to tidemark_api`); err != nil {
		t.Fatal(err)
	}
	if c, err = db.Checkup(t.Context(), func() time.Time { return time.Now().Add(time.Hour) }); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"keys", "picks"}, {"ledger", "picks"}}, [][]string{c.Writable, c.Unguarded}); d != "" {
		t.Errorf("after that (-want +got):\n%s", d)
	}
	if a := c.Ahead; a > -59*time.Minute || a < -61*time.Minute {
		t.Errorf("a clock that is an hour behind is %s ahead", a)
	}
}

func TestTheNewestBackupIsNeverInTheFuture(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	db := as(t, pool.Config().ConnString(), postgres.RoleWorker)
	last := func() *time.Time {
		t.Helper()
		began, err := db.LastBackup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return began
	}
	if began := last(); began != nil {
		t.Errorf("without a backup the newest is of %s", began)
	}
	old, ahead := time.Date(2026, 3, 4, 3, 10, 0, 0, time.UTC), time.Now().AddDate(1, 0, 0)
	for _, began := range []time.Time{old, old} { // a record that is repeated after a lost answer
		if err := db.AddBackup(t.Context(), began); err != nil {
			t.Fatal(err)
		}
	}
	if began := last(); began == nil || !began.Equal(old) {
		t.Errorf("the newest is of %v, want %s", began, old)
	}
	if err := db.AddBackup(t.Context(), ahead); err != nil { // the machine's clock is a year ahead
		t.Fatal(err)
	}
	if began := last(); began == nil || !began.After(old) || !began.Before(ahead.AddDate(0, 0, -300)) {
		t.Errorf("the newest is of %v, want the server's time", began)
	}
}
