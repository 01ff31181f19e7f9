package workers_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/workers"
)

// If a used body is missing, its content is part of the past, and nothing is imported. If the body was never used, the past is the same
// without it.
func TestAnImportWithDamagedBodiesNamesEachAndMakesNoOtherPast(t *testing.T) {
	t.Parallel()
	first, src := lived(t)
	want, whole := first.sums(), first.export()
	bodies, err := filepath.Glob(filepath.Join(whole, "blobs", "*", "*"))
	if err != nil || len(bodies) < 4 {
		t.Fatalf("%d bodies: %v", len(bodies), err)
	}
	none := newInstallation(t).sums()
	used, unused := 0, 0
	for _, body := range bodies {
		dir := filepath.Join(t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(whole, body)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, relative)); err != nil {
			t.Fatal(err)
		}
		digest, _, _ := strings.Cut(filepath.Base(body), ".")
		second := newInstallation(t)
		done, err := second.take(t.Context(), dir)
		broken := (*archive.DamagedError)(nil)
		if !errors.As(err, &broken) || !errors.Is(err, ingest.ErrNotArchived) || len(broken.Bodies) != 1 || !strings.Contains(err.Error(), digest) {
			t.Fatalf("without %s: %v", digest, err)
		}
		if broken.Used {
			used++
			if d := cmp.Diff(none, second.sums()); d != "" || done.Exchanges != 0 {
				t.Errorf("without %s, which was used, something is imported:\n%s", digest, d)
			}
			continue
		}
		unused++
		if _, err := second.history(workers.Signals{}, src).Rebuild(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		got := second.sums()
		delete(got, "fetches")
		of := map[string]string{}
		for name, sum := range want {
			if name != "fetches" {
				of[name] = sum
			}
		}
		if d := cmp.Diff(of, got); d != "" {
			t.Errorf("without %s, which nobody used (-lived +rebuilt):\n%s", digest, d)
		}
		// The folder is copied again: the rest follows.
		if again, err := second.take(t.Context(), whole); err != nil || again.Exchanges < 1 {
			t.Errorf("once it is whole %d exchanges are added: %v", again.Exchanges, err)
		}
	}
	if used < 2 || unused < 1 {
		t.Errorf("%d bodies were used and %d were not, want some of each", used, unused)
	}

	// All at once: each is named.
	dir := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
		t.Fatal(err)
	}
	for _, body := range bodies {
		relative, err := filepath.Rel(whole, body)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, relative), []byte("other bytes"), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err = newInstallation(t).take(t.Context(), dir)
	for _, body := range bodies {
		if digest, _, _ := strings.Cut(filepath.Base(body), "."); err == nil || !strings.Contains(err.Error(), digest) {
			t.Errorf("%s is not named: %v", digest, err)
		}
	}
}
