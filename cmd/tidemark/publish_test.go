package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tidemark/api/view"
	"tidemark/chain/tlog"
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

// markedSigner is a signer that keeps its mark in memory.
type markedSigner struct {
	*tlog.Signer

	size int64
	root tlog.Hash
}

func (s *markedSigner) Mark() (int64, tlog.Hash, error) { return s.size, s.root, nil }

func (s *markedSigner) SetMark(size int64, root tlog.Hash) error {
	s.size, s.root = size, root
	return nil
}

func TestTheCopyOfTheDataSetsStandsAlone(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) shelf{"a folder": folderShelf, "a bucket of S3": bucketShelf} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copiesSets(t, open(t))
		})
	}
}

func copiesSets(t *testing.T, to shelf) {
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
	keys, err := tlog.NewLogKey(rand.Reader, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := tlog.NewSigner(keys.Private)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.BeginLog(t.Context(), postgres.LogStart{Log: postgres.LogRecord, Origin: signer.Origin(), VKey: signer.VKey(), Environment: "demo"}); err != nil {
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
	if _, err := db.NumberLeaves(t.Context(), postgres.LogRecord); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.IntegrateLeaves(t.Context(), postgres.LogRecord, &markedSigner{Signer: signer}); err != nil {
		t.Fatal(err)
	}
	publish := func(day string) int {
		t.Helper()
		bucket, err := archive.OpenBucket(t.Context(), to.location)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = bucket.Close() }()
		c := &setCopy{db: db, view: v, to: bucket}
		days := []string{day}
		if day == "" {
			if days, err = db.DatasetDays(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		err = c.days(t.Context(), days)
		if err == nil && day == "" {
			err = c.newest(t.Context(), days)
		}
		if err != nil {
			t.Fatal(err)
		}
		return c.written
	}
	if n := publish("2026-03-02"); n != 6 {
		t.Errorf("one set is %d files, want 6", n)
	}
	if n := publish(""); n != 12 {
		t.Errorf("the other set and the newest are %d files, want 12", n)
	}
	if n := publish(""); n != 0 {
		t.Errorf("%d files of sets that are there are written again", n)
	}
	var newest view.DatasetManifest
	follow := func(folder string) view.DatasetManifest {
		t.Helper()
		var m view.DatasetManifest
		text, header := to.get(folder + "manifest.json")
		if err := json.Unmarshal(text, &m); err != nil || len(m.Files) != 1 || !m.Synthetic {
			t.Fatalf("%s: %v", text, err)
		}
		if header != nil && header.Get("Content-Type") != view.TypeJSON {
			t.Errorf("the manifest in %q is %v", folder, header)
		}
		// Every address leads to a file of the copy.
		at := []string{*m.ContentsURL, *m.ProofURL}
		for _, f := range m.Files {
			content, header := to.get(folder + f.URL)
			sum := sha256.Sum256(content)
			if hex.EncodeToString(sum[:]) != f.SHA256 {
				t.Errorf("%s is not the file of the manifest in %q", f.URL, folder)
			}
			if header != nil && header.Get("Content-Type") != view.TypeParquet {
				t.Errorf("%s is %v", f.URL, header)
			}
			if beside, _ := to.get(folder + f.Path); !bytes.Equal(beside, content) {
				t.Errorf("%s%s is another file", folder, f.Path)
			}
		}
		var frictionless struct{ Resources []struct{ Path string } }
		var croissant struct {
			Distribution []struct{ ContentURL string }
		}
		for name, into := range map[string]any{"datapackage.json": &frictionless, "croissant.json": &croissant} {
			text, _ := to.get(folder + name)
			if err := json.Unmarshal(text, into); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range frictionless.Resources {
			at = append(at, f.Path)
		}
		for _, f := range croissant.Distribution {
			at = append(at, f.ContentURL)
		}
		if len(at) != 4 {
			t.Errorf("the descriptions in %q lead to %v", folder, at)
		}
		for _, path := range at {
			if content, _ := to.get(folder + path); len(content) == 0 {
				t.Errorf("%s of %q is empty", path, folder)
			}
		}
		return m
	}
	newest = follow("")
	if newest.Date != "2026-03-03" || !slices.Equal(newest.Days, []string{"2026-03-03", "2026-03-02"}) {
		t.Errorf("the newest manifest is of %s and names %v", newest.Date, newest.Days)
	}
	for _, day := range newest.Days {
		if m := follow(day + "/"); m.Date != day {
			t.Errorf("the manifest of %s is of %s", day, m.Date)
		}
		// The description of a set is there byte by byte, so that its proof in the log holds for the copy, too.
		set, err := db.DatasetOf(t.Context(), day)
		if err != nil {
			t.Fatal(err)
		}
		contents, _ := to.get(day + "/contents.json")
		if set.Contents == nil || string(contents) != *set.Contents {
			t.Errorf("contents.json of %s is %s", day, contents)
		}
		text, _ := to.get(day + "/contents.tlog-proof")
		proof, err := tlog.ParseProof(text)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := tlog.ParseLeaf(proof.Extra)
		if err != nil || leaf.Kind != tlog.KindDataset || leaf.Get("sha256") != fmt.Sprintf("%x", sha256.Sum256(contents)) {
			t.Errorf("the proof of %s is of %q (%v)", day, proof.Extra, err)
		}
	}
	// A file that was damaged in the bucket is written again.
	to.put("2026-03-02/chain.parquet", []byte("PAR1 of 2026-03-0x"))
	if n := publish(""); n != 1 {
		t.Errorf("%d files are written after one was damaged, want 1", n)
	}
}
