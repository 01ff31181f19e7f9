package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tidemark/api/view"
	"tidemark/ingest/archive"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// shelf is where a data set is published to: its location, and how others read and damage what is there.
type shelf struct {
	location string
	get      func(name string) (content []byte, header http.Header)
	put      func(name string, content []byte)
}

func folderShelf(t *testing.T) shelf {
	t.Helper()
	folder := t.TempDir()
	return shelf{folder, func(name string) ([]byte, http.Header) {
		content, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		if err != nil {
			t.Error(err)
		}
		return content, nil
	}, func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}}
}

// bucketShelf is a server for S3's protocol, which keeps no Cache-Control. Others read it over HTTP, without credentials.
func bucketShelf(t *testing.T) shelf {
	t.Helper()
	objects := s3mem.New()
	if err := objects.CreateBucket("public"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(objects, gofakes3.WithLogger(gofakes3.DiscardLog())).Server())
	t.Cleanup(server.Close)
	location := "s3://public?region=eu-central-1&anonymous=true&use_path_style=true&prefix=data/&endpoint=" + server.URL
	return shelf{location, func(name string) ([]byte, http.Header) {
		resp, err := http.Get(server.URL + "/public/data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		content, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s, %v", name, resp.Status, err)
		}
		return content, resp.Header
	}, func(name string, content []byte) {
		if _, err := objects.DeleteObject("public", "data/"+name); err != nil { // its checksum goes with it
			t.Fatal(err)
		}
		if _, err := objects.PutObject("public", "data/"+name, map[string]string{}, bytes.NewReader(content), int64(len(content)), nil); err != nil {
			t.Fatal(err)
		}
	}}
}

func TestADataSetIsPublishedOnceAndTheNewestManifestLeadsToIt(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) shelf{"a folder": folderShelf, "a bucket of S3": bucketShelf} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			publishesOnce(t, open(t))
		})
	}
}

func publishesOnce(t *testing.T, to shelf) {
	t.Helper()
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
		bucket, err := archive.OpenBucket(t.Context(), to.location)
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
	if n := publish(""); n != 6 {
		t.Errorf("the newest set is %d files, want 6", n)
	}
	if n := publish(""); n != 0 {
		t.Errorf("%d files of a set that is there are written again", n)
	}
	if n := publish("2026-03-02"); n != 5 {
		t.Errorf("an older set is %d files, want 5: it does not replace the newest manifest", n)
	}
	var manifest view.DatasetManifest
	text, header := to.get("manifest.json")
	if err := json.Unmarshal(text, &manifest); err != nil || manifest.Date != "2026-03-03" || !manifest.Synthetic {
		t.Fatalf("%s: %v", text, err)
	}
	if header != nil && header.Get("Content-Type") != view.TypeJSON {
		t.Errorf("the newest manifest is %v", header)
	}
	for _, f := range manifest.Files {
		content, header := to.get(manifest.Date + "/" + f.Path)
		sum := sha256.Sum256(content)
		if hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%s is not the file of the manifest", f.Path)
		}
		if header != nil && header.Get("Content-Type") != view.TypeParquet {
			t.Errorf("%s is %v", f.Path, header)
		}
	}
	// What a set says of itself is there byte by byte, so that its proof in the log holds for the copy, too.
	set, err := db.DatasetOf(t.Context(), "2026-03-03")
	if err != nil {
		t.Fatal(err)
	}
	if contents, _ := to.get("2026-03-03/contents.json"); set.Contents == nil || string(contents) != *set.Contents {
		t.Errorf("contents.json is %s", contents)
	}
	// A file that was damaged in the bucket is written again.
	to.put("2026-03-03/chain.parquet", []byte("PAR1 of 2026-03-0x"))
	if n := publish(""); n != 1 {
		t.Errorf("%d files are written after one was damaged, want 1", n)
	}
}
