package archive_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest/archive"
)

func held(t *testing.T, location string, newest ...string) *archive.Store {
	t.Helper()
	s, err := archive.OpenHeld(t.Context(), location, newest)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func lost(err error) bool {
	_, is := errors.AsType[*archive.LostError](err)
	return is
}

// If the database names bodies, an empty place is not taken for the archive: a missing folder, an empty one, a bucket.
func TestAnEmptyPlaceIsNotTakenForTheArchive(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "mount", "archive")
	if s, err := archive.OpenHeld(t.Context(), gone, []string{abc}); !lost(err) {
		t.Errorf("a folder that is gone: %v, %v", s, err)
	}
	if _, err := os.Stat(filepath.Dir(gone)); err == nil {
		t.Error("the folder was made")
	}
	for name, location := range map[string]string{"folder": t.TempDir(), "bucket": newS3(t).location} {
		s := held(t, location, abc)
		if err := s.Prove(t.Context()); !lost(err) {
			t.Errorf("an empty %s is taken for the archive: %v", name, err)
		}
		if _, err := s.Put(t.Context(), []byte("abd")); !lost(err) {
			t.Errorf("an empty %s is written to: %v", name, err)
		}
		if err := s.Reach(t.Context()); !lost(err) {
			t.Errorf("an empty %s is said to be there: %v", name, err)
		}
		if err := s.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), []byte("abd")); err != nil {
			t.Errorf("an empty %s that was begun on purpose: %v", name, err)
		}
	}
}

// An archive is recognised by its marker, even if none of the newest bodies is in it. An archive of a version without markers is
// recognised by its bodies.
func TestAnArchiveIsKnownByItsMarkerOrItsBodies(t *testing.T) {
	t.Parallel()
	for name, location := range map[string]string{"folder": filepath.Join(t.TempDir(), "archive"), "bucket": newS3(t).location} {
		if err := held(t, location).Prove(t.Context()); err != nil { // new
			t.Fatal(err)
		}
		if err := held(t, location, abc).Prove(t.Context()); err != nil {
			t.Errorf("a marked %s: %v", name, err)
		}
	}
	old := t.TempDir()
	if _, err := open(t, old).Put(t.Context(), []byte("abc")); err != nil {
		t.Fatal(err)
	}
	missing := strings.Repeat("0", 64)
	if err := held(t, old, missing).Prove(t.Context()); !lost(err) {
		t.Errorf("the archive of another database: %v", err)
	}
	if err := held(t, old, missing, abc).Prove(t.Context()); err != nil {
		t.Errorf("an archive without a marker: %v", err)
	}
	if err := held(t, old, missing).Prove(t.Context()); err != nil {
		t.Errorf("it is not marked since: %v", err)
	}
}

func TestAnArchiveThatCannotBeMarkedIsReadAllTheSame(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	if _, err := open(t, dir).Put(t.Context(), []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := held(t, dir, abc).Prove(t.Context()); err != nil {
		t.Error(err)
	}
}

// A colder archive that was there before and is not now is not made again.
func TestAColderArchiveIsKnownByItsMarker(t *testing.T) {
	t.Parallel()
	hot, cold := filepath.Join(t.TempDir(), "hot"), filepath.Join(t.TempDir(), "cold")
	prove := func() error {
		s := held(t, hot)
		return errors.Join(s.OpenCold(t.Context(), cold), s.Prove(t.Context()))
	}
	if err := errors.Join(prove(), prove()); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(cold, cold+".away"); err != nil {
		t.Fatal(err)
	}
	if err := prove(); !lost(err) || !strings.Contains(err.Error(), "colder") {
		t.Errorf("without the colder archive: %v", err)
	}
	if err := os.Mkdir(cold, 0o700); err != nil {
		t.Fatalf("the folder was made: %v", err)
	}
	if err := prove(); !lost(err) || !strings.Contains(err.Error(), "colder") {
		t.Errorf("with an empty folder in its place: %v", err)
	}
	if err := errors.Join(os.RemoveAll(cold), os.Rename(cold+".away", cold)); err != nil {
		t.Fatal(err)
	}
	if err := prove(); err != nil {
		t.Errorf("it is back: %v", err)
	}
}
