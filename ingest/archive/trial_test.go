package archive

import (
	"os"
	"path/filepath"
	"testing"
)

func TestATrialNoticesAnArchiveThatCannotBeWrittenAnyMore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for range 2 {
		if write, read := s.Try(t.Context()); write != nil || read != nil {
			t.Fatalf("a healthy archive: %v, %v", write, read)
		}
	}
	folder := filepath.Join(dir, "blobs", "00")
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Errorf("%d files are left (%v), want the one of the last trial", len(left), err)
	}
	// No user can write below a file, not even root.
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(folder, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if write, read := s.Try(t.Context()); write == nil || read != nil {
		t.Errorf("an archive that cannot be written: %v, %v", write, read)
	}
}

func TestTheFolderOfALocation(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"/d": "/d", "d": "d", "file:///d": "/d", "file://localhost/d": "/d", "file://./d": "d", "file:///d?create_dir=true": "/d",
		"file:///a%20b?no_tmp_dir=true": "/a b", "s3://bucket?region=x": "", "mem://": "",
	} {
		if dir, err := LocalFolder(location); err != nil || dir != want {
			t.Errorf("%s: %q (%v), want %q", location, dir, err, want)
		}
	}
	if dir, err := LocalFolder("file://d/e"); err == nil {
		t.Errorf("a host: %q", dir)
	}
}
