package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tidemark/ingest"
	"tidemark/ingest/archive"
)

// The SHA-256 of "abc", from FIPS 180-2.
const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

func open(t *testing.T, location string) *archive.Store {
	t.Helper()
	s, err := archive.Open(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// files lists the files under dir with their contents.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, path))
		found[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestABodyIsFoundAgainByItsDigest(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 4096)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write(bytes.Repeat([]byte("a,b\n"), 4000))
	_ = z.Close()
	bodies := map[string][]byte{
		"short":              []byte("abc"),
		"empty":              {},
		"repetitive":         bytes.Repeat([]byte("2026-03-02,1.25\r\n"), 1000),
		"incompressible":     noise,
		"compressed already": zipped.Bytes(),
	}
	for _, kind := range []string{"folder", "file URL", "memory"} {
		location := map[string]string{"folder": t.TempDir(), "file URL": "file://" + filepath.ToSlash(t.TempDir()) + "/new", "memory": "mem://"}[kind]
		s := open(t, location)
		for name, body := range bodies {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				digest, err := s.Put(t.Context(), body)
				if err != nil {
					t.Fatal(err)
				}
				if sum := sha256.Sum256(body); digest != hex.EncodeToString(sum[:]) {
					t.Errorf("named %s, want the SHA-256 %x", digest, sum)
				}
				got, err := s.Get(t.Context(), digest)
				if err != nil || !bytes.Equal(got, body) {
					t.Errorf("got %d bytes and error %v, want the %d that were put", len(got), err, len(body))
				}
			})
		}
	}
}

func TestABodyHasOneFileWithAPlainName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for range 2 {
		if _, err := s.Put(t.Context(), []byte("abc")); err != nil {
			t.Fatal(err)
		}
	}
	got := files(t, dir)
	if len(got) != 1 || got["blobs/ba/"+abc] != "abc" {
		t.Errorf("the folder holds %v, want blobs/ba/%s alone", got, abc)
	}
}

func TestALongBodyIsStoredCompressed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := strings.Repeat("2026-03-02,1.25\r\n", 1000)
	digest, err := open(t, dir).Put(t.Context(), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	got := files(t, dir)
	stored, ok := got["blobs/"+digest[:2]+"/"+digest+".gz"]
	if !ok || len(stored) > len(body)/10 {
		t.Errorf("the folder holds %d bytes under .gz, want less than a tenth of %d", len(stored), len(body))
	}
}

func TestABrokenBodyIsNamedAndReplaced(t *testing.T) {
	t.Parallel()
	long := bytes.Repeat([]byte("2026-03-02,1.25\r\n"), 1000)
	tests := []struct {
		fact  string
		body  []byte
		spoil func([]byte) []byte
	}{
		{"a changed byte", []byte("abc"), func(b []byte) []byte { return append([]byte("x"), b[1:]...) }},
		{"a cut file", []byte("abc"), func(b []byte) []byte { return b[:1] }},
		{"an empty file, as a power cut leaves", []byte("abc"), func([]byte) []byte { return nil }},
		{"a cut compressed file", long, func(b []byte) []byte { return b[:len(b)/2] }},
		{"an empty compressed file", long, func([]byte) []byte { return nil }},
		{"another body's compressed bytes", long, func([]byte) []byte {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			_, _ = w.Write([]byte("other"))
			_ = w.Close()
			return z.Bytes()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir)
			digest, err := s.Put(t.Context(), tt.body)
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range files(t, dir) {
				if err := os.WriteFile(filepath.Join(dir, name), tt.spoil([]byte(content)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err = s.Get(t.Context(), digest)
			if !errors.Is(err, ingest.ErrNotArchived) || !strings.Contains(err.Error(), digest) || !strings.Contains(err.Error(), "corrupt") {
				t.Errorf("got error %v, want ErrNotArchived that names the corrupt %s", err, digest)
			}
			if _, err := s.Put(t.Context(), tt.body); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), digest); err != nil || !bytes.Equal(got, tt.body) {
				t.Errorf("put again, got %d bytes and error %v, want the body", len(got), err)
			}
		})
	}
}

func TestWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	for _, digest := range []string{abc, strings.ToUpper(abc), "", "../../etc/passwd", abc[:63]} {
		if _, err := s.Get(t.Context(), digest); !errors.Is(err, ingest.ErrNotArchived) {
			t.Errorf("Get(%q) = %v, want ErrNotArchived", digest, err)
		}
	}
}

func TestAnAbandonedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Put(ctx, []byte("abc")); err == nil || errors.Is(err, ingest.ErrNotArchived) {
		t.Errorf("got %v, want the context's error", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("the folder holds %v, want nothing", got)
	}
}

// A writer that is killed leaves its temporary file, whole or not, under another name.
func TestALeftoverOfAKilledWriterIsNotABody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	folder := filepath.Join(dir, "blobs", "ba")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, abc+".18b4f.tmp"), []byte("ab"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), abc); !errors.Is(err, ingest.ErrNotArchived) {
		t.Errorf("got %v, want ErrNotArchived", err)
	}
	if _, err := s.Put(t.Context(), []byte("abc")); err != nil {
		t.Error(err)
	}
}

func TestManyWritersOfOneBody(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	body := bytes.Repeat([]byte("2026-03-02,1.25\r\n"), 5000)
	stores := []*archive.Store{open(t, dir), open(t, dir)} // as two processes
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			digest, err := stores[i%2].Put(t.Context(), body)
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := stores[(i+1)%2].Get(t.Context(), digest); err != nil || !bytes.Equal(got, body) {
				t.Errorf("read %d bytes and error %v, want the body", len(got), err)
			}
		})
	}
	wg.Wait()
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("the folder holds %d files, want 1", len(got))
	}
}

func TestLocationsThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for location, says := range map[string]string{
		"":                  "no folder or bucket",
		file:                "not a directory",
		"file://relative/x": "expected file:///absolute/path",
		"gs://bucket":       "without the driver for gs://; it has file, mem, s3",
		"s3://bucket?x=1":   "unknown query parameter",
	} {
		if _, err := archive.Open(t.Context(), location); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Open(%q) = %v, want an error that says %q", location, err, says)
		}
	}
}

// A folder that vanishes, for example when a disk is unmounted, is not created again: writes wait for it.
func TestAFolderThatVanishesIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "archive")
	s := open(t, dir)
	if _, err := s.Put(t.Context(), []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	refused := func(what string) {
		t.Helper()
		if _, err := s.Put(t.Context(), []byte("meanwhile")); err == nil || !strings.Contains(err.Error(), "is its disk mounted?") {
			t.Errorf("%s: a body is stored: %v", what, err)
		}
		if err := s.Reach(t.Context()); err == nil {
			t.Errorf("%s: the archive is said to be there", what)
		}
	}
	refused("gone")
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder was made anew")
	}
	if err := os.Mkdir(dir, 0o700); err != nil { // the mount point without its disk
		t.Fatal(err)
	}
	refused("another one")
	if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), []byte("meanwhile")); err != nil {
		t.Errorf("the folder is back: %v", err)
	}
}
