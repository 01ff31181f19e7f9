package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
