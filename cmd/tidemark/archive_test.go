package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest/archive"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// A folder without the history of its exchanges would produce another past: an import of it needs an explicit flag.
func TestAFolderWithoutItsHistoryIsImportedOnlyOnPurpose(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	dir := filepath.Join(t.TempDir(), "export")
	if code, out, complaint := l.run("archive", "export", dir); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, complaint)
	}
	if err := os.Remove(filepath.Join(dir, "history.ndjson")); err != nil {
		t.Fatal(err)
	}
	code, out, complaint := l.run("archive", "import", dir)
	if code == 0 || !strings.Contains(complaint, "history.ndjson") || !strings.Contains(complaint, "--without-history") {
		t.Errorf("exit %d\n%s%s", code, out, complaint)
	}
	if code, out, complaint := l.run("archive", "import", dir, "--without-history"); code != 0 || !strings.Contains(out, "goes by their times alone") {
		t.Errorf("on purpose: exit %d\n%s%s", code, out, complaint)
	}
}

// A refused import left a database that belonged to its world, so the right one was refused, too.
func TestARefusedImportChangesNothing(t *testing.T) {
	t.Parallel()
	from := newLedger(t)
	dir := filepath.Join(t.TempDir(), "export")
	if code, out, complaint := from.run("archive", "export", dir); code != 0 {
		t.Fatalf("exit %d\n%s%s", code, out, complaint)
	}
	to := &ledger{t: t, url: pgtest.New(t), folder: t.TempDir()}
	db, err := postgres.Open(t.Context(), to.url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	empty := func(why string) {
		t.Helper()
		if _, err := db.World(t.Context()); !errors.Is(err, postgres.ErrNotFound) {
			t.Errorf("%s: the database has a world: %v", why, err)
		}
		for f, err := range db.Fetches(t.Context(), "") {
			t.Errorf("%s: %s is there: %v", why, f.URL, err)
		}
	}
	empty("at first")
	body := filepath.Join(dir, "blobs", from.digest[:2], from.digest+".gz")
	whole, err := os.ReadFile(body)
	if err != nil {
		t.Fatal(err)
	}
	history, err := os.ReadFile(filepath.Join(dir, archive.HistoryName))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, path string
		bytes     []byte
	}{
		{"a body that was used is broken", body, whole[:len(whole)/2]},
		{"the history is cut", filepath.Join(dir, archive.HistoryName), history[:len(history)/2]},
	} {
		good, err := os.ReadFile(c.path)
		if err == nil {
			err = os.WriteFile(c.path, c.bytes, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if code, out, complaint := to.run("archive", "import", dir); code == 0 {
			t.Errorf("%s: exit 0\n%s%s", c.why, out, complaint)
		}
		empty(c.why)
		if err := os.WriteFile(c.path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, complaint := to.run("archive", "import", dir); code != 0 {
		t.Errorf("exit %d\n%s%s", code, out, complaint)
	}
	if w, err := db.World(t.Context()); err != nil || w.Name != "sandbox" {
		t.Errorf("the world is %+v: %v", w, err)
	}
}
