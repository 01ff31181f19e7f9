package up

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/test/program"
)

// firstRelease is the schema of the programs before 2026-11-22.
const firstRelease = 16

// TestAnUpgradeFromTheFirstReleaseKeepsEveryRow brings a database with the data of a sandbox to the first release's schema, and from there
// to today's as the operators' page says.
func TestAnUpgradeFromTheFirstReleaseKeepsEveryRow(t *testing.T) {
	t.Parallel()
	dir, url := program.Folder(t), pgtest.New(t)
	env := []string{"LOG_FORMAT=json", "DATABASE_URL=" + url, "REDIS_URL=" + pgtest.Redis(t)}
	live := func() (*program.Process, string) {
		p, base := program.Up(t, program.Options{Dir: dir, Env: env}, "--world=sandbox", "--sandbox-days=6")
		t.Cleanup(p.Kill) // before its database goes
		return p, base
	}
	p, _ := live()
	program.Until(t, program.Timeout, "the sandbox has reached the present", func() (bool, string) {
		return strings.Contains(p.Output(), "the sandbox has reached the present"), "it lives through its past"
	})
	p.Signal(syscall.SIGINT)
	<-p.Done
	pgtest.MigrateTo(t, url, firstRelease)
	tables := everything(t, url)
	tables["runs"] = strings.Replace(tables["runs"], " queue,", "", 1)          // unfinished runs move to the queues of the current version
	tables["snapshots"] = strings.Replace(tables["snapshots"], ", edge", "", 1) // what the status of a signal no longer follows from
	before := contents(t, url, tables)
	if len(before) < 40 || before["observations"] == before["gaps"] {
		t.Fatalf("this is no installation: %v", before)
	}

	o := program.Options{Dir: dir, Env: append(env, "WORLD=sandbox", "LOG_LEVEL=error")}
	if status, out := program.Shell(t, o, "tidemark worker"); status == 0 || !strings.Contains(out, "tidemark migrate") {
		t.Errorf("a new role on the old schema: exit %d: %s", status, out)
	}
	status, out := program.Shell(t, o, "tidemark migrate --dry-run --json")
	var left []struct {
		Version int64
		Applied *string
	}
	if err := json.Unmarshal([]byte(out), &left); err != nil || status != 0 || len(left) < 5 || left[0].Version <= firstRelease || left[0].Applied != nil {
		t.Errorf("what would be applied: exit %d, %v: %s", status, err, out)
	}
	if _, out = program.Shell(t, o, "tidemark migrate --status"); !strings.Contains(out, fmt.Sprintf("%d of ", len(left))) || !strings.Contains(out, "0016_bars_in_order.sql") {
		t.Errorf("the status: %s", out)
	}
	if d := cmp.Diff(before, contents(t, url, tables)); d != "" {
		t.Errorf("a look changed the database (-before +after):\n%s", d)
	}
	if status, out := program.Shell(t, o, "tidemark migrate"); status != 0 {
		t.Fatalf("exit %d: %s", status, out)
	}
	after := contents(t, url, tables)
	for table, was := range before {
		if after[table] != was {
			t.Errorf("%s was %s, is %s", table, was, after[table])
		}
	}
	if _, out = program.Shell(t, o, "tidemark migrate --status"); !strings.Contains(out, "the database has this program's schema") {
		t.Errorf("the status after it: %s", out)
	}
	// It continues, with every announced pick.
	_, base := live()
	awaitSignals(t, base)
	if status := get(t, base+"/api/v1/verify/picks?limit=1", nil); status != 200 {
		t.Errorf("the record: %d", status)
	}
}

// contents returns the results of queries, as checksums with the number of rows.
func contents(t *testing.T, url string, queries map[string]string) map[string]string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	all := map[string]string{}
	for table, query := range queries {
		var n int
		var sum string
		err := c.QueryRow(t.Context(), `
			select count(*), coalesce(md5(string_agg(md5(r::text), '' order by md5(r::text))), '') from (`+query+`) r`).Scan(&n, &sum)
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		all[table] = fmt.Sprint(n, " ", sum)
	}
	return all
}

// everything has a query for each table, which yields the columns that it has now.
func everything(t *testing.T, url string) map[string]string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	rows, err := c.Query(t.Context(), `
		select c.relname::text, format('select %s from %I', string_agg(format('%I', a.attname), ', ' order by a.attnum), c.relname)
		from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like 'goose%'
		group by c.relname`)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var table, query string
	if _, err := pgx.ForEachRow(rows, []any{&table, &query}, func() error { all[table] = query; return nil }); err != nil {
		t.Fatal(err)
	}
	return all
}
