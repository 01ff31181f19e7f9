package workers_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/ingest/archive"
	"tidemark/internal/task"
	"tidemark/workers"
)

func TestWholeDaysOfOldRawBytesGoToTheColderArchive(t *testing.T) {
	t.Parallel()
	dir, colder := t.TempDir(), t.TempDir()
	open := func(dir string) *archive.Store {
		s, err := archive.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	store := open(dir)
	// 400 days before the slot is 2025-10-17, at an hour of no meaning.
	for body, at := range map[string]time.Time{
		"the day before": time.Date(2025, 10, 16, 23, 59, 59, 0, time.UTC),
		"that day":       time.Date(2025, 10, 17, 0, 0, 0, 0, time.UTC),
	} {
		digest, err := store.Put(t.Context(), []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(dir, "blobs", digest[:2], digest), at, at); err != nil {
			t.Fatal(err)
		}
	}
	a := workers.Archive{Store: store, After: 400 * 24 * time.Hour, Log: slog.New(slog.DiscardHandler)}
	slot := task.Task{Slot: time.Date(2026, 11, 21, 4, 55, 0, 0, time.UTC)}
	if err := a.Run(t.Context(), slot); err == nil {
		t.Error("without a colder archive nothing is moved, and the run says that it went well")
	}
	store.SetColdStore(open(colder))
	for range 2 {
		if err := a.Run(t.Context(), slot); err != nil {
			t.Fatal(err)
		}
		for dir, want := range map[string]string{dir: "that day", colder: "the day before"} {
			files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%q, %v, want one body", files, err)
			}
			if body, err := os.ReadFile(files[0]); err != nil || string(body) != want {
				t.Errorf("%q, %v, want %q", body, err, want)
			}
		}
	}
}
