package backup

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/devstack"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/test/dailypick"
	"tidemark/test/program"
)

// TestAPointInTime follows the recipe of docs/operator.md: a base backup and the log of the server, by Postgres' own tools, bring the
// database to any instant since.
func TestAPointInTime(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operator.md")
	if err != nil {
		t.Fatal(err)
	}
	setting := func(name string) string {
		t.Helper()
		_, after, found := strings.Cut(string(page), "    "+name+" = '")
		value, _, ended := strings.Cut(after, "'\n")
		if !found || !ended {
			t.Fatalf("the page does not set %s", name)
		}
		return value
	}
	ctx, dir := t.Context(), program.Folder(t)
	wal := filepath.Join(dir, "wal")
	if err := os.Mkdir(wal, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(wal, 0o777); err != nil { // the server's user writes there
		t.Fatal(err)
	}
	here := strings.NewReplacer("/backups/wal", wal)
	primary, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{
		Dir: filepath.Join(dir, "primary"),
		Settings: map[string]string{
			"wal_level": "replica", "max_wal_senders": "4", "archive_mode": setting("archive_mode"), "archive_command": here.Replace(setting("archive_command")),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = primary.Kill() })
	if err := postgres.Migrate(ctx, primary.URL(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	db := open(t, primary.URL())
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := calendar.At(day, 0)
	if _, err := db.EnsureWorld(ctx, "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	pick := func() {
		t.Helper()
		day = calendar.Next(day)
		for _, clock := range []time.Duration{17*time.Hour + 31*time.Minute, 18 * time.Hour} {
			at := calendar.At(day, clock)
			if err := db.SetClock(ctx, &at); err != nil {
				t.Fatal(err)
			}
			if clock < 18*time.Hour {
				_, err = dailypick.Record(ctx, db, postgres.NewPick{
					Ticker: "NVDA", Price: fmt.Sprintf("%d.46", 180+day.Day()), Date: day.Format(time.DateOnly), CIK: 1045810, Origin: "method", Name: "NVIDIA",
					Exchange: "XNAS", Sector: "Information Technology", Region: "North America", Country: "US", Currency: "USD", Reason: "the best score of the day",
				})
			} else {
				_, err = db.AnnounceDue(ctx, task.Fence{}, at)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	ask := func(sql string) (text string) {
		t.Helper()
		c, err := pgx.Connect(ctx, primary.URL())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(ctx) }()
		if err := c.QueryRow(ctx, sql).Scan(&text); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return text
	}
	pick()
	base := filepath.Join(dir, "restored")
	tool, err := devstack.Client(ctx, "pg_basebackup", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, tool, "--dbname="+primary.URL(), "--pgdata="+filepath.Join(base, "data"), "--checkpoint=fast").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pick()
	moment := ask(`select clock_timestamp()::text`)
	pick()
	last := ask(`select pg_walfile_name(pg_switch_wal())`)
	program.Until(t, program.Timeout, "the log is kept", func() (bool, string) {
		_, err := os.Stat(filepath.Join(wal, last))
		return err == nil, fmt.Sprint(err)
	})
	// A server that crashed before it noted that a file is archived archives it again. Another file of the name stays out.
	kept, err := os.ReadFile(filepath.Join(wal, last))
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(dir, "again")
	for content, want := range map[string]bool{string(kept): true, "another server's": false} {
		if err := os.WriteFile(again, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		command := strings.NewReplacer("%p", again, "%f", last).Replace(here.Replace(setting("archive_command")))
		if err := exec.CommandContext(ctx, "sh", "-c", command).Run(); (err == nil) != want {
			t.Errorf("a file of %d bytes whose name is archived: %v", len(content), err)
		}
	}
	if is, err := os.ReadFile(filepath.Join(wal, last)); err != nil || string(is) != string(kept) {
		t.Errorf("the archived file has changed: %v", err)
	}
	db.Close()
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}

	// A server on another machine: the base backup, and the log up to the instant.
	password, err := os.ReadFile(filepath.Join(primary.Dir(), "server.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"server.json": password, "data/recovery.signal": nil} {
		if err := os.WriteFile(filepath.Join(base, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(primary.Dir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if out, err := exec.CommandContext(ctx, "chown", "-R", fmt.Sprintf("%d:%d", owner.Uid, owner.Gid), filepath.Join(base, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	restored, err := devstack.StartPostgres(ctx, devstack.PostgresOptions{Dir: base, Settings: map[string]string{
		"restore_command": here.Replace(setting("restore_command")), "recovery_target_time": moment,
		"recovery_target_action": setting("recovery_target_action"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = restored.Kill() })
	back := open(t, restored.URL())
	// The page has the statement that moves the cursors on. A restored database gets no cursor again.
	_, after, found := strings.Cut(string(page), `psql "$DATABASE_URL" -c "update push_head`)
	statement, _, ended := strings.Cut("update push_head"+after, "\"\n")
	if !found || !ended {
		t.Fatal("the page does not move the cursors on")
	}
	admin, err := pgx.Connect(ctx, restored.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(ctx) }()
	program.Until(t, program.Timeout, "the recovery ends", func() (recovered bool, _ string) {
		err := admin.QueryRow(ctx, `select not pg_is_in_recovery()`).Scan(&recovered)
		return recovered, fmt.Sprint(err)
	})
	if _, err := admin.Exec(ctx, statement); err != nil {
		t.Fatal(err)
	}
	var cursors struct{ stored, next int64 }
	if err := admin.QueryRow(ctx, `select max(id), (select last + 1 from push_head) from pushes`).Scan(&cursors.stored, &cursors.next); err != nil {
		t.Fatal(err)
	}
	if cursors.next <= cursors.stored+1_000_000 {
		t.Errorf("the next cursor is %d after %d", cursors.next, cursors.stored)
	}
	observer := &ops.Observer{DB: back, Now: time.Now, PickDue: 22 * time.Hour}
	s, err := observer.Observe(ctx)
	if err != nil || s.Chain.Length != 2 || s.Chain.Fault != "" {
		t.Errorf("the chain: %+v, %v: want the two picks before the instant", s.Chain, err)
	}
	if c, err := back.Checkup(ctx, time.Now); err != nil || len(c.Unguarded) != 0 || len(c.Writable) != 0 {
		t.Errorf("the guards: %+v, %v", c, err)
	}
}
