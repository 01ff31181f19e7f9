package archive_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/archive"
)

// aged makes the files of an archive folder that hold a body as old as a time says, and returns how many there are.
func aged(t *testing.T, dir, digest string, at time.Time) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "blobs", digest[:2], digest+"*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
	return len(files)
}

func TestOldBodiesAreMovedToTheColderArchiveAndStillFound(t *testing.T) {
	t.Parallel()
	limit := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	server := newS3(t)
	s := open(t, dir)
	s.SetColdStore(open(t, server.location))
	long := bytes.Repeat([]byte("2025-03-02,1.25\r\n"), 1000)
	bodies := map[string][]byte{}
	put := func(body []byte, at time.Time) string {
		t.Helper()
		digest, err := s.Put(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		bodies[digest] = body
		aged(t, dir, digest, at)
		return digest
	}
	old := []string{put([]byte("abc"), limit.Add(-time.Second)), put(long, limit.AddDate(-1, 0, 0))}
	put([]byte("of the day"), limit)
	left := filepath.Join(dir, "blobs", old[0][:2], "half.tmp")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(left, limit.AddDate(-1, 0, 0), limit.AddDate(-1, 0, 0)); err != nil {
		t.Fatal(err)
	}

	// What cannot be put there is not taken away here.
	server.broken.Store(http.StatusForbidden)
	if done, err := s.MoveCold(t.Context(), limit); err == nil || done.Bodies != 0 {
		t.Errorf("into a bucket that refuses: %+v, %v", done, err)
	}
	server.broken.Store(0)
	var workers sync.WaitGroup
	moved := make(chan int, 3)
	for range cap(moved) { // each body is moved by one of them
		workers.Go(func() {
			done, err := s.MoveCold(t.Context(), limit)
			if err != nil {
				t.Error(err)
			}
			moved <- done.Bodies
		})
	}
	workers.Wait()
	if first, second, third := <-moved, <-moved, <-moved; first+second+third < 2 {
		t.Errorf("%d bodies were moved, want 2", first+second+third)
	}
	for _, digest := range old {
		if n := aged(t, dir, digest, limit); n != 0 {
			t.Errorf("%s is still here, %d times", digest, n)
		}
	}
	if held := server.held(); len(held) != 2 || held["live/blobs/ba/"+abc] != "abc" {
		t.Errorf("the colder archive has %d bodies", len(held))
	}
	for digest, want := range bodies {
		if got, err := s.Get(t.Context(), digest); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes and error %v, want the %d that were put", digest, len(got), err, len(want))
		}
	}
	if done, err := s.MoveCold(t.Context(), limit); err != nil || done.Bodies != 0 {
		t.Errorf("once more: %+v, %v", done, err)
	}
	// Archived again it is here again, and goes again.
	put(long, limit.AddDate(0, 0, -1))
	if done, err := s.MoveCold(t.Context(), limit); err != nil || done.Bodies != 1 || done.Bytes == 0 || len(server.held()) != 2 {
		t.Errorf("archived again: %+v, %v", done, err)
	}
	if _, err := s.Get(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, ingest.ErrNotArchived) {
		t.Errorf("what is in neither: %v", err)
	}
	server.broken.Store(http.StatusForbidden)
	if _, err := s.Get(t.Context(), old[0]); err == nil || errors.Is(err, ingest.ErrNotArchived) {
		t.Errorf("from a bucket that refuses: %v, want an error that does not say that the body is not there", err)
	}
}

// TestTheListGoesOnWhereAnotherWorkerMovedABody holds a worker between the names of a folder and its files. Another one moves a body then.
func TestTheListGoesOnWhereAnotherWorkerMovedABody(t *testing.T) {
	t.Parallel()
	limit := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	dir, colder := t.TempDir(), t.TempDir()
	worker := func() *archive.Store {
		s := open(t, dir)
		s.SetColdStore(open(t, colder))
		return s
	}
	slow, fast := worker(), worker()
	put := func(body []byte, at time.Time) string {
		t.Helper()
		digest, err := slow.Put(t.Context(), body)
		if err != nil {
			t.Fatal(err)
		}
		aged(t, dir, digest, at)
		return digest
	}
	first := put([]byte("abc"), limit.Add(-2*time.Hour))
	behind := []byte(nil) // is listed after it, in the same folder
	for i := 0; ; i++ {
		behind = []byte(strconv.Itoa(i))
		if digest := fmt.Sprintf("%x", sha256.Sum256(behind)); digest[:2] == first[:2] && digest > first {
			break
		}
	}
	put(behind, limit.Add(-time.Hour))
	// The driver of folders reads this file of each body while it lists. Here it is a pipe, and reading waits for its writer.
	gate := filepath.Join(dir, "blobs", first[:2], first+".attrs")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	type result struct {
		archive.ColdResult
		err error
	}
	held := make(chan result, 1)
	go func() {
		done, err := slow.MoveCold(t.Context(), limit)
		held <- result{done, err}
	}()
	listing, err := os.OpenFile(gate, os.O_WRONLY, 0) // waits for its reader
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gate); err != nil {
		t.Fatal(err)
	}
	if done, err := fast.MoveCold(t.Context(), limit.Add(-time.Hour)); err != nil || done.Bodies != 1 {
		t.Errorf("the other worker: %+v, %v", done, err)
	}
	if err := listing.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-held; got.err != nil || got.Bodies != 1 {
		t.Errorf("the worker that was listing: %+v, %v, want the second body moved", got.ColdResult, got.err)
	}
}

func TestABrokenBodyStaysAndTheOthersAreMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	colder := t.TempDir()
	s.SetColdStore(open(t, colder))
	broken := filepath.Join(dir, "blobs", abc[:2], abc)
	if err := os.MkdirAll(filepath.Dir(broken), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(broken, []byte("abX"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"one", "two"} {
		if _, err := s.Put(t.Context(), []byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	done, err := s.MoveCold(t.Context(), time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC))
	if err == nil || !strings.Contains(err.Error(), abc) || done.Bodies != 2 {
		t.Errorf("%+v, %v, want two moved and the name of the broken one", done, err)
	}
	if _, err := os.Stat(broken); err != nil {
		t.Errorf("the broken body is gone: %v", err)
	}
	if _, err := open(t, dir).MoveCold(t.Context(), time.Time{}); !errors.Is(err, archive.ErrNoColdStore) {
		t.Errorf("without a colder archive: %v", err)
	}
}
