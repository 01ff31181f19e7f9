package backup

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/test/program"
)

// TestAKilledRestoreIsBegunAgain kills a restore with its signal of no return while the server works for it. Its client program and the session
// in the server end with it, and the same restore then succeeds.
func TestAKilledRestoreIsBegunAgain(t *testing.T) {
	t.Parallel()
	psql, err := exec.LookPath("psql")
	if err != nil {
		t.Skip("psql is not on this machine")
	}
	url, state := pgtest.New(t), t.TempDir()
	refused(t, "nothing ever worked with this database", url, state, "backup", filepath.Join(t.TempDir(), "backup"))
	if _, err := open(t, url).EnsureWorld(t.Context(), "sandbox", new(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	good(t, url, state, "backup", folder)

	// A restore that does not come to its end: the server works on a statement for an hour.
	empty, elsewhere, tools := pgtest.Empty(t), t.TempDir(), t.TempDir()
	slow := "#!/bin/sh\nif [ \"$1\" = --version ]; then exec pg_dump --version | sed s/pg_dump/pg_restore/; fi\n" +
		"for last; do :; done\nPGAPPNAME=pg_restore exec " + psql + " \"$last\" -c 'begin' -c 'create table half (n int)' -c 'select pg_sleep(3600)'\n"
	if err := os.WriteFile(filepath.Join(tools, "pg_restore"), []byte(slow), 0o700); err != nil { //nolint:gosec // it is run
		t.Fatal(err)
	}
	killed := program.Start(t, program.Options{Dir: t.TempDir(), Env: []string{
		"DATABASE_URL=" + empty, "STATE_DIR=" + elsewhere, "WORLD=sandbox", "PATH=" + tools + ":" + os.Getenv("PATH"),
	}}, "restore", folder)
	c, err := pgx.Connect(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	sessions := func() (n int) {
		if err := c.QueryRow(t.Context(), `
			select count(*) from pg_stat_activity
			where datname = current_database() and application_name = 'pg_restore' and query like '%pg_sleep%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	program.Until(t, time.Minute, "the server restores", func() (bool, string) { return sessions() == 1, killed.Output() })
	killed.Signal(syscall.SIGKILL)
	<-killed.Done
	good(t, empty, elsewhere, "restore", folder)
	if n := sessions(); n != 0 {
		t.Errorf("%d sessions of the killed restore go on", n)
	}
}
