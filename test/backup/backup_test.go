// Package backup shows that an installation comes back from what tools/backup.sh wrote: the chain verifies, the guards are there, and the
// scheduler catches up on what was missed.
package backup

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/ops"
	"tidemark/scheduler"
	"tidemark/workers/task"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func open(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// script runs one of the tools.
func script(t *testing.T, name, url, state, folder string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("../../tools", name), folder)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+url, "STATE_DIR="+state, "WORLD=sandbox")
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin"); err == nil && len(found) > 0 {
		cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH")+":"+strings.Join(found, ":"))
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// queue takes every task.
type queue struct{ tasks []task.Task }

func (q *queue) Enqueue(_ context.Context, t task.Task) error {
	q.tasks = append(q.tasks, t)
	return nil
}

func (*queue) State(context.Context, task.Task) (scheduler.State, error) {
	return scheduler.StateWaiting, nil
}

func TestAnInstallationComesBack(t *testing.T) {
	t.Parallel()
	url, state, ctx := pgtest.New(t), t.TempDir(), t.Context()
	db := open(t, url)
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := calendar.At(day, 0)
	if _, err := db.EnsureWorld(ctx, "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	daily := task.Schedule{Job: task.Pick, Subject: task.Daily, Cron: "30 17 * * MON-FRI", Zone: "America/New_York", CatchUp: "all"}
	tick := func(db *postgres.DB) []task.Task {
		t.Helper()
		q := &queue{}
		now, err := db.Now(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s := &scheduler.Scheduler{Store: db, Queue: q, Schedules: []task.Schedule{daily}, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
		if err := db.SaveSchedules(ctx, s.Schedules); err != nil {
			t.Fatal(err)
		}
		if err := s.Tick(ctx); err != nil {
			t.Fatal(err)
		}
		return q.tasks
	}
	clock := func(db *postgres.DB, clock time.Duration) {
		t.Helper()
		at := calendar.At(day, clock)
		if err := db.SetClock(ctx, &at); err != nil {
			t.Fatal(err)
		}
	}
	pick := func(db *postgres.DB) error {
		clock(db, 17*time.Hour+31*time.Minute)
		tick(db)
		_, _, err := db.AppendPick(ctx, task.Fence{}, postgres.NewPick{
			Ticker: "NVDA", Price: fmt.Sprintf("%d.46", 180+day.Day()), Date: day.Format(time.DateOnly), CIK: 1045810, Origin: "method", Name: "NVIDIA",
			Exchange: "XNAS", Sector: "Information Technology", Region: "North America", Country: "US", Currency: "USD", Reason: "the best score of the day",
		})
		if err != nil {
			return err
		}
		clock(db, 18*time.Hour)
		_, err = db.AnnounceDue(ctx, task.Fence{}, calendar.At(day, 18*time.Hour))
		return err
	}
	for range 3 {
		day = calendar.Next(day)
		if err := pick(db); err != nil {
			t.Fatal(err)
		}
	}
	blob := filepath.Join(state, "sandbox", "archive", "ab", "abcd")
	if err := os.MkdirAll(filepath.Dir(blob), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(blob, []byte("raw bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "backup")
	if out, err := script(t, "backup.sh", url, state, folder); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := script(t, "backup.sh", url, state, folder); err == nil {
		t.Errorf("a second backup into the same folder: %s", out)
	}

	empty, elsewhere := pgtest.Empty(t), t.TempDir()
	if out, err := script(t, "restore.sh", empty, elsewhere, folder); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if b, err := os.ReadFile(strings.Replace(blob, state, elsewhere, 1)); err != nil || string(b) != "raw bytes" {
		t.Errorf("the archive: %q, %v", b, err)
	}
	back := open(t, empty)
	observer := &ops.Observer{DB: back, Now: time.Now, PickDue: 22 * time.Hour}
	if s, err := observer.Look(ctx); err != nil || s.Chain.Length != 3 || s.Chain.Fault != "" {
		t.Errorf("the chain: %+v, %v", s.Chain, err)
	}
	if c, err := back.Checkup(ctx, time.Now); err != nil || len(c.Unguarded) != 0 || len(c.Writable) != 0 {
		t.Errorf("the guards: %+v, %v", c, err)
	}
	// Two trading days passed until someone had the backup at hand: their slots are caught up, each once.
	day = calendar.Next(calendar.Next(day))
	clock(back, 20*time.Hour)
	var caught []string
	for _, missed := range tick(back) {
		if missed.Job == task.Pick {
			caught = append(caught, missed.Slot.UTC().Format(time.RFC3339))
		}
	}
	if got := strings.Join(caught, " "); !strings.HasSuffix(got, "2026-03-05T22:30:00Z 2026-03-06T22:30:00Z") {
		t.Errorf("caught up: %s", got)
	}
	for range 2 {
		for _, again := range tick(back) {
			t.Errorf("caught up twice: %s", again.ID())
		}
	}
	day = calendar.Next(day)
	if err := pick(back); err != nil {
		t.Fatalf("the record does not go on: %v", err)
	}
	if s, err := observer.Look(ctx); err != nil || s.Chain.Length != 4 || s.Chain.Fault != "" {
		t.Errorf("the chain goes on: %+v, %v", s.Chain, err)
	}
	// A damaged backup is refused before anything is written.
	if err := os.WriteFile(filepath.Join(folder, "archive.tar"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := script(t, "restore.sh", pgtest.Empty(t), t.TempDir(), folder); err == nil || !strings.Contains(out, "damaged") {
		t.Errorf("a damaged backup: %v\n%s", err, out)
	}
}
