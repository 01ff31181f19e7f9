// Package backup shows that an installation can be restored from a `tidemark backup`, and to a point in time from the files of Postgres'
// own tools. The chain verifies, the database's guards exist, and the scheduler catches up on missed slots.
package backup

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/chain/gitledger"
	"tidemark/ingest/archive"
	"tidemark/internal/calendar"
	"tidemark/internal/ops"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/test/dailypick"
	"tidemark/test/program"
)

func TestMain(m *testing.M) {
	remove := program.Build()
	defer remove()
	pgtest.Main(m)
}

func open(t *testing.T, url string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// tidemark runs a command on a database and a state folder.
func tidemark(t *testing.T, url, state string, args ...string) (int, string) {
	t.Helper()
	return program.Run(t, program.Options{Dir: t.TempDir(), Env: []string{"DATABASE_URL=" + url, "STATE_DIR=" + state, "WORLD=sandbox"}}, args...)
}

// good runs a tidemark command that must succeed.
func good(t *testing.T, url, state string, args ...string) string {
	t.Helper()
	status, out := tidemark(t, url, state, args...)
	if status != 0 {
		t.Fatalf("%v: exit %d\n%s", args, status, out)
	}
	return out
}

// refused runs a tidemark command that must fail and state the reason why.
func refused(t *testing.T, why, url, state string, args ...string) {
	t.Helper()
	if status, out := tidemark(t, url, state, args...); status == 0 || !strings.Contains(out, why) {
		t.Errorf("%v: exit %d, want %q in:\n%s", args, status, why, out)
	}
}

// answer archives bytes, and names them in the database.
func answer(t *testing.T, db *postgres.DB, state, body string) {
	t.Helper()
	store, err := archive.Open(t.Context(), filepath.Join(state, "sandbox", "archive"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	digest, err := store.Put(t.Context(), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.RecordFetch(t.Context(), series.Fetch{
		Source: "test", URL: "https://upstream.example/", Status: 200, FetchedAt: time.Now(), SHA256: digest, Bytes: int64(len(body)), Synthetic: true,
	}, 0); err != nil {
		t.Fatal(err)
	}
}

// cursor returns the newest cursor of a database: that of the pick that was announced last.
func cursor(t *testing.T, url string) (id int64) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
	if err := c.QueryRow(t.Context(), `select max(id) from pushes where topic = 'pick'`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	return id
}

// queue takes every task.
type queue struct{ tasks []task.Task }

func (q *queue) Enqueue(_ context.Context, t task.Task) error {
	q.tasks = append(q.tasks, t)
	return nil
}

func (*queue) States(_ context.Context, tasks []task.Task) ([]scheduler.State, error) {
	return slices.Repeat([]scheduler.State{scheduler.StateWaiting}, len(tasks)), nil
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
		_, err := dailypick.Record(ctx, db, postgres.NewPick{
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
	head := cursor(t, url)
	answer(t, db, state, "raw bytes")
	ledger := filepath.Join(state, "sandbox", "ledger.git")
	first := record(t, db, ledger)
	folder := filepath.Join(t.TempDir(), "backup")
	if out := good(t, url, state, "backup", folder); !strings.Contains(out, " 1 archived answers, a ledger of ") {
		t.Errorf("it says: %s", out)
	}
	refused(t, "there already", url, state, "backup", folder)
	good(t, url, state, "backup", "verify", folder)
	// A pick that is announced after the backup is lost, but receivers have its cursor.
	backedUp := day
	day = calendar.Next(day)
	if err := pick(db); err != nil {
		t.Fatal(err)
	}
	lost := cursor(t, url)
	if lost <= head {
		t.Fatalf("the cursor stays at %d", lost)
	}
	day = backedUp

	empty, elsewhere := pgtest.Empty(t), t.TempDir()
	good(t, empty, elsewhere, "restore", folder)
	for _, name := range []string{"archive/blobs", "ledger.git"} {
		was, is := files(t, filepath.Join(state, "sandbox", name)), files(t, filepath.Join(elsewhere, "sandbox", name))
		if diff := cmp.Diff(was, is); diff != "" || len(is) == 0 {
			t.Errorf("%s (-was +is):\n%s", name, diff)
		}
	}
	refused(t, "restore into an empty one", empty, t.TempDir(), "restore", folder)
	refused(t, "ledger.git is there already", pgtest.Empty(t), elsewhere, "restore", folder)
	back := open(t, empty)
	observer := &ops.Observer{DB: back, Now: time.Now, PickDue: 22 * time.Hour}
	if s, err := observer.Observe(ctx); err != nil || s.Chain.Length != 3 || s.Chain.Fault != "" {
		t.Errorf("the chain: %+v, %v", s.Chain, err)
	}
	if c, err := back.Checkup(ctx, time.Now); err != nil || len(c.Unguarded) != 0 || len(c.Writable) != 0 {
		t.Errorf("the guards: %+v, %v", c, err)
	}
	// Two trading days passed before an operator restored the backup: their slots are caught up, each once.
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
	if next := cursor(t, empty); next <= lost+1_000_000 {
		t.Errorf("after the restore a pick has the cursor %d, and one before it had %d", next, lost)
	}
	if s, err := observer.Observe(ctx); err != nil || s.Chain.Length != 4 || s.Chain.Fault != "" {
		t.Errorf("the chain goes on: %+v, %v", s.Chain, err)
	}
	// A damaged backup is refused before anything is written.
	for name, damage := range map[string]func(string) error{
		"database.dump": func(path string) error { return os.Truncate(path, 1000) },
		"ledger.tar":    func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"manifest.json": os.Remove,
		"archive":       os.RemoveAll,
	} {
		spoilt := filepath.Join(t.TempDir(), "backup")
		if err := os.CopyFS(spoilt, os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		if err := damage(filepath.Join(spoilt, name)); err != nil {
			t.Fatal(err)
		}
		why := "is damaged"
		if name == "manifest.json" {
			why = "is not a complete backup"
		}
		refused(t, why, url, state, "backup", "verify", spoilt)
		refused(t, why, pgtest.Empty(t), t.TempDir(), "restore", spoilt)
	}
	// So is a damaged ledger.
	next := filepath.Join(t.TempDir(), "backup")
	if err := os.Remove(filepath.Join(ledger, "objects", first[:2], first[2:])); err != nil {
		t.Fatal(err)
	}
	refused(t, "is not whole", url, state, "backup", next)
	if err := os.Remove(filepath.Join(ledger, "refs", "heads", "main")); err != nil {
		t.Fatal(err)
	}
	refused(t, "3 picks are in a git ledger, and there is none", url, state, "backup", next)
	good(t, url, state, "backup", next, "--without=ledger")
}

// record writes the announced picks to a ledger, as its job does, and returns the first commit.
func record(t *testing.T, db *postgres.DB, dir string) string {
	t.Helper()
	l, err := gitledger.Open(t.Context(), gitledger.Options{
		Dir: dir, Environment: "demo", Author: gitledger.Identity{Name: "Ledger", Email: "ledger@example.org"}, Environ: os.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := db.LedgerEntries(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range entries {
		commits, err := l.Append(t.Context(), gitledger.Entry{At: e.At, Pick: e.Pick})
		if err != nil {
			t.Fatal(err)
		}
		entries[i].Commit = commits[0].ID
	}
	if err := db.SaveLedger(t.Context(), task.Fence{}, entries, postgres.LedgerState{Branch: "main", Status: postgres.LedgerLocal}); err != nil {
		t.Fatal(err)
	}
	return entries[0].Commit
}

// files are the contents of a folder by their names.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		out[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// small is an installation with one archived answer.
func small(t *testing.T) (url, state string, db *postgres.DB) {
	t.Helper()
	url, state = pgtest.New(t), t.TempDir()
	db = open(t, url)
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	if _, err := db.EnsureWorld(t.Context(), "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	answer(t, db, state, strings.Repeat("raw bytes ", 1000))
	return url, state, db
}

func TestHalfABackupIsRefused(t *testing.T) {
	t.Parallel()
	url, state, db := small(t)
	begun := time.Now().Truncate(time.Second)
	recorded := func() *time.Time {
		t.Helper()
		last, err := db.LastBackup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return last
	}
	folder := filepath.Join(t.TempDir(), "backup")
	// This state folder has no archive. Older versions wrote such a folder and called it a backup.
	refused(t, "ARCHIVE_URL", url, t.TempDir(), "backup", folder)
	refused(t, "--without=archive", url, t.TempDir(), "backup", folder)
	if err := os.Rename(filepath.Join(state, "sandbox", "archive", "blobs"), filepath.Join(state, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "sandbox", "archive", archive.Marker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, "of the 1 answers that the database names, 1 are not in the archive", url, state, "backup", folder)
	if err := os.Rename(filepath.Join(state, "away"), filepath.Join(state, "sandbox", "archive", "blobs")); err != nil {
		t.Fatal(err)
	}
	if list, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(list) > 0 {
		t.Errorf("half a backup is left: %v, %v", list, err)
	}
	if last := recorded(); last != nil {
		t.Errorf("half a backup is recorded: %s", last)
	}
	if out := good(t, url, t.TempDir(), "backup", folder, "--without=archive,ledger"); !strings.Contains(out, "left out on purpose: archive, ledger") {
		t.Errorf("it says: %s", out)
	}
	if status, out := program.Run(t, program.Options{Dir: t.TempDir(), Env: []string{"DATABASE_URL=" + url, "STATE_DIR=" + state, "WORLD=live"}},
		"backup", folder+"2"); status == 0 || !strings.Contains(out, "WORLD") {
		t.Errorf("of another world: exit %d: %s", status, out)
	}
	if last := recorded(); last == nil || last.Before(begun) || last.After(time.Now()) {
		t.Errorf("the newest backup is recorded as of %v, want from %s on", last, begun)
	}
}

func TestAKilledBackupLeavesNothingThatLooksWhole(t *testing.T) {
	t.Parallel()
	url, state, db := small(t)
	for n := range 300 {
		answer(t, db, state, fmt.Sprintf("answer %d", n))
	}
	all := t.TempDir()
	for n := range 6 {
		p := program.Start(t, program.Options{Dir: t.TempDir(), Env: []string{"DATABASE_URL=" + url, "STATE_DIR=" + state, "WORLD=sandbox"}},
			"backup", "--keep=2", all)
		select {
		case <-p.Done:
		case <-time.After(time.Duration(n*n) * 20 * time.Millisecond):
			p.Kill()
		}
	}
	check := func(whole, rest int) {
		t.Helper()
		list, err := os.ReadDir(all)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			status, out := tidemark(t, url, state, "backup", "verify", filepath.Join(all, e.Name()))
			if named := !strings.Contains(e.Name(), ".partial-"); named != (status == 0) {
				t.Errorf("%s: exit %d: %s", e.Name(), status, out)
			} else if named {
				whole--
			} else {
				rest--
			}
		}
		if whole > 0 || rest < 0 {
			t.Errorf("%d whole backups are missing, %d half ones too many: %v", whole, -rest, list)
		}
	}
	check(0, 6)
	// Their leftovers are deleted after a day, and old backups when there are enough newer ones.
	list, err := os.ReadDir(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if err := os.Chtimes(filepath.Join(all, e.Name()), time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	last := ""
	for range 3 {
		good(t, url, state, "backup", "--keep=2", all)
		program.Until(t, program.Timeout, "the next second", func() (bool, string) {
			now := time.Now().UTC().Format(time.TimeOnly)
			was := last
			last = now
			return was != "" && was != now, now
		})
	}
	check(2, 0)
}
