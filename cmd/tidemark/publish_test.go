package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/ingest/archive"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestADataSetIsPublishedToAFolderOnceAndTheNewestManifestLeadsToIt(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	if _, err := db.EnsureWorld(t.Context(), "sandbox", nil); err != nil {
		t.Fatal(err)
	}
	v, err := view.New(view.Options{
		Store: db, PublicURL: "https://tidemark.example", World: "sandbox", Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"2026-03-02", "2026-03-03"} {
		content := []byte("PAR1 of " + day)
		sum := sha256.Sum256(content)
		digest := hex.EncodeToString(sum[:])
		set := postgres.Dataset{Day: day, AsOf: time.Date(2026, 3, 3, 5, 30, 0, 0, time.UTC), Tables: []postgres.DatasetTable{
			{Name: "chain", Title: "the chain", SHA256: digest, Bytes: int64(len(content)), Rows: 1, Columns: []postgres.DatasetColumn{}},
		}}
		if _, err := db.SaveDataset(t.Context(), task.Fence{}, set, map[string][]byte{digest: content}); err != nil {
			t.Fatal(err)
		}
	}
	folder := t.TempDir()
	publish := func(day string) int {
		t.Helper()
		set, err := db.DatasetOf(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		days, err := db.DatasetDays(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		bucket, err := archive.OpenBucket(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = bucket.Close() }()
		written, err := publishSet(t.Context(), db, v, bucket, set, days)
		if err != nil {
			t.Fatal(err)
		}
		return written
	}
	if n := publish(""); n != 5 {
		t.Errorf("the newest set is %d files, want 5", n)
	}
	if n := publish(""); n != 0 {
		t.Errorf("%d files of a set that is there are written again", n)
	}
	if n := publish("2026-03-02"); n != 4 {
		t.Errorf("an older set is %d files, want 4: it does not replace the newest manifest", n)
	}
	var manifest view.DatasetManifest
	text, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.Date != "2026-03-03" || !manifest.Synthetic {
		t.Fatalf("%s: %v", text, err)
	}
	for _, f := range manifest.Files {
		content, err := os.ReadFile(filepath.Join(folder, manifest.Date, f.Path))
		sum := sha256.Sum256(content)
		if err != nil || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s is not the file of the manifest: %v", f.Path, err)
		}
	}
	// A file that was damaged in the bucket is written again.
	if err := os.WriteFile(filepath.Join(folder, "2026-03-03", "chain.parquet"), []byte("PAR1 of 2026-03-0x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := publish(""); n != 1 {
		t.Errorf("%d files are written after one was damaged, want 1", n)
	}
}
