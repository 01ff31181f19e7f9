package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
)

// older is a schema before today's. The table world is older.
const older = 50

func TestADatabaseOfAnotherWorldIsNeitherMigratedNorLookedAt(t *testing.T) {
	t.Parallel()
	const refused = "DATABASE_URL names a database of the world live, WORLD asks for sandbox: give each world its own database"
	for _, c := range []struct {
		name, sql string
		empty     bool
		code      int
		says      string
	}{
		{"another world", `insert into world (name) values ('live')`, false, 2, refused},
		{"the same world", `insert into world (name) values ('sandbox')`, false, 0, ""},
		{"no world yet", `select 1`, false, 0, ""},
		{"no schema yet", `select 1`, true, 0, ""},
		{"another program's table world", `create table world (country text)`, true, 1, "tables of another program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Empty(t)
			if !c.empty {
				pgtest.MigrateTo(t, url, older)
			}
			db, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close(context.Background()) })
			if _, err := db.Exec(t.Context(), c.sql); err != nil {
				t.Fatal(err)
			}
			tables := func() (list []string) {
				rows, err := db.Query(t.Context(), `select tablename::text from pg_tables where schemaname = 'public' order by 1`)
				if err != nil {
					t.Fatal(err)
				}
				if list, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
					t.Fatal(err)
				}
				return list
			}
			before := tables()
			for _, args := range [][]string{{"migrate", "--status"}, {"migrate", "--dry-run", "--json"}, {"migrate"}} {
				code, out := told(t, append(args, "--world=sandbox", "--database-url="+url)...)
				if code != c.code || !strings.Contains(out, c.says) {
					t.Errorf("%v: exit %d, want %d and %q:\n%s", args, code, c.code, c.says, out)
				}
				if changes := !slices.Equal(before, tables()); changes != (len(args) == 1 && c.code == 0) {
					t.Errorf("%v: the schema changed: %t", args, changes)
				}
			}
		})
	}
}
