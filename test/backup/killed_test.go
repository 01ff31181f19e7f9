package backup

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/devstack"
	"tidemark/internal/pgtest"
	"tidemark/test/program"
)

// restorer returns the path of the pg_restore that the program takes for a server.
func restorer(t *testing.T, url string) string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	var major int
	if err := c.QueryRow(t.Context(), `select current_setting('server_version_num')::int / 10000`).Scan(&major); err != nil {
		t.Fatal(err)
	}
	path, err := devstack.Client(t.Context(), "pg_restore", major)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAKilledRestoreIsBegunAgain kills a restore with SIGKILL when all rows are in the database and the cursors have not moved yet. Its
// client programs and the session in the server end with it, the database stays empty, and the same restore then succeeds and moves the cursors.
func TestAKilledRestoreIsBegunAgain(t *testing.T) {
	t.Parallel()
	url, state := pgtest.New(t), t.TempDir()
	real := restorer(t, url)
	refused(t, "nothing ever worked with this database", url, state, "backup", filepath.Join(t.TempDir(), "backup"))
	if _, err := open(t, url).EnsureWorld(t.Context(), "sandbox", new(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	good(t, url, state, "backup", folder)

	// The program that writes all statements, says that it did, and does not end.
	empty, elsewhere, tools := pgtest.Empty(t), t.TempDir(), t.TempDir()
	slow := "#!/bin/sh\nif [ \"$1\" = --version ]; then exec " + real + " --version; fi\n" + real + " \"$@\" || exit\n" +
		"echo \"select pg_advisory_xact_lock(7);\"\nexec sleep 3600\n"
	if err := os.WriteFile(filepath.Join(tools, "pg_restore"), []byte(slow), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	count := func(sql string) (n int) {
		t.Helper()
		if err := c.QueryRow(t.Context(), sql).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	count(`select count(pg_advisory_lock(hashtextextended('restore', 0)))`)
	refused(t, "another restore fills this database", empty, elsewhere, "restore", folder)
	count(`select count(pg_advisory_unlock(hashtextextended('restore', 0)))`)
	killed := program.Start(t, program.Options{Dir: t.TempDir(), Env: []string{
		"DATABASE_URL=" + empty, "STATE_DIR=" + elsewhere, "WORLD=sandbox", "PATH=" + tools + ":" + os.Getenv("PATH"),
	}}, "restore", folder)
	const restoring = `select count(*) from pg_stat_activity where datname = current_database() and application_name = 'tidemark restore'`
	const whole = `select count(*) from pg_locks where locktype = 'advisory' and objid = 7 and database = (select oid from pg_database where datname = current_database())`
	program.Until(t, time.Minute, "the server has all rows", func() (bool, string) { return count(whole) == 1, killed.Output() })
	killed.Signal(syscall.SIGKILL)
	<-killed.Done
	program.Until(t, time.Minute, "the session ends", func() (bool, string) { return count(restoring) == 0, "" })
	if n := count(`select count(*) from pg_tables where schemaname = 'public'`); n != 0 {
		t.Fatalf("the killed restore left %d tables", n)
	}
	before := time.Now().Unix()
	good(t, empty, elsewhere, "restore", folder)
	if last := count(`select last from push_head`); int64(last) < before {
		t.Errorf("the cursors of the restored database are at %d, want a jump to %d at least", last, before)
	}
}

// TestADumpThatCannotBeRestoredLeavesTheDatabaseEmpty ends the writer of the statements early.
func TestADumpThatCannotBeRestoredLeavesTheDatabaseEmpty(t *testing.T) {
	t.Parallel()
	url, state := pgtest.New(t), t.TempDir()
	real := restorer(t, url)
	if _, err := open(t, url).EnsureWorld(t.Context(), "sandbox", new(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	good(t, url, state, "backup", folder)
	for what, end := range map[string]string{
		"pg_restore fails after all statements": "echo 'pg_restore: error: no more' >&2\nexit 1\n",
		"a statement fails":                     "echo 'select none from nowhere;'\nexec cat /dev/zero\n",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			tools, empty := t.TempDir(), pgtest.Empty(t)
			script := "#!/bin/sh\nif [ \"$1\" = --version ]; then exec " + real + " --version; fi\n" + real + " \"$@\" || exit\n" + end
			if err := os.WriteFile(filepath.Join(tools, "pg_restore"), []byte(script), 0o700); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
			status, out := program.Run(t, program.Options{Dir: t.TempDir(), Env: []string{
				"DATABASE_URL=" + empty, "STATE_DIR=" + t.TempDir(), "WORLD=sandbox", "PATH=" + tools + ":" + os.Getenv("PATH"),
			}}, "restore", folder)
			if status == 0 || !strings.Contains(out, "no more") && !strings.Contains(out, "nowhere") {
				t.Errorf("exit %d\n%s", status, out)
			}
			c, err := pgx.Connect(t.Context(), empty)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(t.Context()) }()
			var n int
			if err := c.QueryRow(t.Context(), `select count(*) from pg_tables where schemaname = 'public'`).Scan(&n); err != nil || n != 0 {
				t.Errorf("%d tables are left (%v)", n, err)
			}
		})
	}
}
