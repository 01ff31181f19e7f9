package witness

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// renewed is the same log with another key.
func (m *memory) renewed(t *testing.T) *memory {
	t.Helper()
	next := newMemory(t, m.signer.Origin())
	next.tiles, next.roots = m.tiles, m.roots
	return next
}

// both is a checkpoint with the signatures of two keys.
func both(t *testing.T, a, b *memory, size int64) []byte {
	t.Helper()
	_, one := a.at(t, size, size)
	_, two := b.at(t, size, size)
	return append(one, two[len(tlog.SignedBody(two))+1:]...)
}

func TestAKeyOfAKnownLogNeedsTheOldOnesWord(t *testing.T) {
	t.Parallel()
	m := newMemory(t, "log.example/l")
	for range 9 {
		m.grow(t, 1, "true")
	}
	next, stranger := m.renewed(t), newMemory(t, "log.example/l")
	stranger.tiles, stranger.roots = m.tiles, m.roots
	dir := begin(t, m)
	_, url, stop := serve(t, dir)
	if _, err := add(t, url, m, 5, 0); err != nil {
		t.Fatal(err)
	}
	vouched := both(t, m, next, 5)
	if err := Add(dir, next.signer.VKey(), Terms{Vouched: vouched}); err == nil {
		t.Error("the folder of a running witness is changed")
	}
	stop()
	_, alone := next.at(t, 5, 5)
	for name, terms := range map[string]Terms{
		"nothing": {}, "the new key alone": {Vouched: alone}, "a stranger": {Vouched: both(t, stranger, next, 5)}, "of another key": {Vouched: both(t, m, stranger, 5)},
		"bytes": {Vouched: []byte("x")},
	} {
		if err := Add(dir, next.signer.VKey(), terms); err == nil {
			t.Errorf("%s vouches for a new key", name)
		}
	}
	if err := Add(dir, next.signer.VKey(), Terms{Vouched: vouched}); err != nil {
		t.Fatal(err)
	}
	_, url, stop = serve(t, dir)
	if _, err := add(t, url, next, 6, 5); err != nil {
		t.Errorf("the new key alone, after the change: %v", err)
	}
	if _, err := add(t, url, m, 7, 6); err != nil {
		t.Errorf("the old key, while both sign: %v", err)
	}
	if _, err := add(t, url, stranger, 8, 7); !errors.Is(err, ErrRefused) {
		t.Errorf("another key: %v", err)
	}
	fork := next.fork(6)
	fork.grow(t, 3, "other")
	if _, err := add(t, url, fork, 9, 7); err == nil {
		t.Error("the new key's fork is cosigned")
	}
	stop()
	if err := Add(dir, stranger.signer.VKey(), Terms{Replace: true}); err != nil {
		t.Fatal(err)
	}
	_, url, _ = serve(t, dir) // what the old keys signed is still read
	if _, err := add(t, url, m, 8, 7); !errors.Is(err, ErrRefused) {
		t.Errorf("a key that was replaced: %v", err)
	}
	if _, err := add(t, url, stranger, 8, 7); err != nil {
		t.Errorf("the key that replaced it: %v", err)
	}
}

func TestAWitnessThatWasPutBackFindsItsOwnLineWhereTheLogShowsIt(t *testing.T) {
	t.Parallel()
	m, dir, url, stop := fiveOfNine(t)
	path := filepath.Join(dir, logFile("log.example/l"))
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := add(t, url, m, 7, 5)
	if err != nil {
		t.Fatal(err)
	}
	stop()
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	_, shown := m.at(t, 7, 7)
	shown = append(shown, lines[0]...)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/log/checkpoint.witnessed" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(shown)
	}))
	t.Cleanup(files.Close)
	if err := Add(dir, m.signer.VKey(), Terms{URL: files.URL + "/log/"}); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if wait := s.look(t.Context(), http.DefaultTransport); wait != recallEvery {
		t.Errorf("it looks again after %s", wait)
	}
	if err := s.Stopped("log.example/l"); !errors.Is(err, ErrState) {
		t.Errorf("a witness of an old folder goes on: %v", err)
	}
	files.Close()
	if wait := s.look(t.Context(), http.DefaultTransport); wait != recallAgain {
		t.Errorf("where nobody answers, it looks again after %s", wait)
	}
}
