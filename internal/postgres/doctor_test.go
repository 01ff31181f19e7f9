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
