package gitledger_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain/gitledger"
)

func TestWhoHoldsALedgerKeepsItsWritersWaiting(t *testing.T) {
	t.Parallel()
	o := options(t, "")
	l := open(t, o)
	err := gitledger.Hold(t.Context(), o.Dir, func() error {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := l.Append(short, picks(t, 1)...)
		for who, err := range map[string]error{"a writer": err, "a second holder": gitledger.Hold(short, o.Dir, func() error { return nil })} {
			if err == nil || !strings.Contains(err.Error(), "wait for the lock") {
				t.Errorf("%s: %v, want it to wait", who, err)
			}
		}
		return errors.ErrUnsupported
	})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the error is %v, want that of the function", err)
	}
	appendAll(t, l, picks(t, 1)...)
}

func TestALedgerIsCheckedForItsObjects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set      func(t *testing.T, dir string)
		branches int
		damaged  bool
	}{
		"as it was written":     {func(*testing.T, string) {}, 1, false},
		"packed":                {func(t *testing.T, dir string) { git(t, dir, "gc", "--quiet") }, 1, false},
		"with a lock":           {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "refs", "heads", "main.lock"), "") }, 1, false},
		"without its branch":    {func(t *testing.T, dir string) { git(t, dir, "update-ref", "-d", "refs/heads/main") }, 0, false},
		"without a file":        {func(t *testing.T, dir string) { forget(t, dir, "main~1:chain/picks.ndjson") }, 0, true},
		"without a commit":      {func(t *testing.T, dir string) { forget(t, dir, "main~1") }, 0, true},
		"without the newest":    {func(t *testing.T, dir string) { git(t, dir, "pack-refs", "--all"); forget(t, dir, "main") }, 0, true},
		"with half a reference": {func(t *testing.T, dir string) { write(t, filepath.Join(dir, "refs", "ledger", "pushed"), "ab") }, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, "")
			appendAll(t, open(t, o), picks(t, 3)...)
			tt.set(t, o.Dir)
			branches, err := gitledger.Check(t.Context(), o.Dir, os.Environ())
			if branches != tt.branches || tt.damaged != errors.Is(err, gitledger.ErrDamaged) || !tt.damaged && err != nil {
				t.Errorf("%d branches and error %v, want %d, damaged: %t", branches, err, tt.branches, tt.damaged)
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		o := options(t, "")
		open(t, o)
		if branches, err := gitledger.Check(t.Context(), o.Dir, os.Environ()); branches != 0 || err != nil {
			t.Errorf("%d branches and error %v", branches, err)
		}
	})
	t.Run("something else", func(t *testing.T) {
		t.Parallel()
		if _, err := gitledger.Check(t.Context(), t.TempDir(), os.Environ()); err == nil {
			t.Errorf("error %v", err)
		}
	})
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// forget removes a loose object of a bare repository.
func forget(t *testing.T, dir, name string) {
	t.Helper()
	id := git(t, dir, "rev-parse", name)
	if err := os.Remove(filepath.Join(dir, "objects", id[:2], id[2:])); err != nil {
		t.Fatal(err)
	}
}
