package backup

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
)

// newLedger makes a ledger of one pick.
func newLedger(t *testing.T) (dir string, pick gitledger.Commit) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "ledger.git")
	l, err := gitledger.Open(t.Context(), gitledger.Options{
		Dir: dir, Environment: "demo", Author: gitledger.Identity{Name: "Ledger", Email: "ledger@example.org"}, Environ: os.Environ(),
	})
	if err != nil {
		t.Fatal(err)
	}
	link, err := chain.Next(chain.Checkpoint{}, "NVDA", "180.46", "2026-03-02")
	if err != nil {
		t.Fatal(err)
	}
	commits, err := l.Append(t.Context(), gitledger.Entry{At: time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC), Pick: &link})
	if err != nil {
		t.Fatal(err)
	}
	return dir, commits[0]
}

func TestALedgerIsPackedWhileNobodyWritesToIt(t *testing.T) {
	t.Parallel()
	dir, _ := newLedger(t)
	temp := t.TempDir()
	err := gitledger.Hold(t.Context(), dir, func() error {
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return pack(short, dir, filepath.Join(temp, "early"))
	})
	if err == nil || !strings.Contains(err.Error(), "wait for the lock") {
		t.Errorf("while it is written: %v, want the wait for it to end", err)
	}
	if err := pack(t.Context(), dir, filepath.Join(temp, "later")); err != nil {
		t.Fatal(err)
	}
	if branches, err := checkLedger(t.Context(), filepath.Join(temp, "later"), os.Environ()); branches != 1 || err != nil {
		t.Errorf("afterwards: %d branches, %v", branches, err)
	}
}

func TestABackupWhoseLedgerLacksAnObjectIsDamaged(t *testing.T) {
	t.Parallel()
	dir, pick := newLedger(t)
	folder := t.TempDir()
	verify := func() error {
		t.Helper()
		m := Manifest{Format: format, Files: map[string]File{}}
		for _, name := range []string{dumpFile, ledgerFile} {
			f, err := sum(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			m.Files[name] = f
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, manifestFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Verify(t.Context(), folder, os.Environ())
		return err
	}
	file := filepath.Join(folder, ledgerFile)
	if err := errors.Join(write(filepath.Join(folder, dumpFile), nil), pack(t.Context(), dir, file)); err != nil {
		t.Fatal(err)
	}
	if err := verify(); err != nil {
		t.Errorf("a whole one: %v", err)
	}
	if err := errors.Join(os.Remove(file), os.Remove(filepath.Join(dir, "objects", pick.ID[:2], pick.ID[2:])), pack(t.Context(), dir, file)); err != nil {
		t.Fatal(err)
	}
	if err := verify(); !errors.Is(err, gitledger.ErrDamaged) {
		t.Errorf("without a commit: %v", err)
	}
}
