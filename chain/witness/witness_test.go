package witness

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// memory is a log in memory.
type memory struct {
	signer *tlog.Signer
	tiles  map[tlog.Tile][]byte
	roots  []tlog.Hash
}

func (m *memory) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		t.Width = 0
		out[i] = slices.Clone(m.tiles[t])
	}
	return out, nil
}

// grow adds leaves that are of a history, and keeps the root of the last size.
func (m *memory) grow(t testing.TB, n int, history string) {
	t.Helper()
	size := m.size()
	var leaves []tlog.Hash
	for i := range n {
		leaves = append(leaves, tlog.LeafHash(fmt.Appendf(nil, "%s %d", history, size+int64(i))))
	}
	g, err := tlog.Grow(size, m.roots[size], m, leaves)
	if err != nil {
		t.Fatal(err)
	}
	for _, tile := range g.Tiles {
		at := tile.Tile
		at.Width = 0
		m.tiles[at] = tile.Hashes
	}
	m.roots = append(m.roots, make([]tlog.Hash, n)...)
	m.roots[g.Size] = g.Root
}

// fork is another log that had the same leaves up to a size of this one.
func (m *memory) fork(size int64) *memory {
	return &memory{signer: m.signer, tiles: maps.Clone(m.tiles), roots: slices.Clone(m.roots[:size+1])}
}

func (m *memory) size() int64 { return int64(len(m.roots)) - 1 }

// at signs the checkpoint of a size, and proves it from an older one.
func (m *memory) at(t testing.TB, size, old int64) (proof []tlog.Hash, signed []byte) {
	t.Helper()
	signed, err := m.signer.Sign(size, m.roots[size])
	if err != nil {
		t.Fatal(err)
	}
	if old <= size {
		if proof, err = tlog.ProveConsistency(size, m.roots[size], m, old); err != nil {
			t.Fatal(err)
		}
	}
	return proof, signed
}

func newMemory(t testing.TB, origin string) *memory {
	t.Helper()
	keys, err := tlog.NewLogKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tlog.NewSigner(keys.Private)
	if err != nil {
		t.Fatal(err)
	}
	return &memory{s, map[tlog.Tile][]byte{}, []tlog.Hash{tlog.EmptyRoot()}}
}

func begin(t testing.TB, logs ...*memory) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if _, err := Init(dir, "witness.example/w"); err != nil {
		t.Fatal(err)
	}
	for _, m := range logs {
		if err := Add(dir, m.signer.VKey(), Terms{}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serve runs the witness of a folder until the test ends or stop is called.
func serve(t testing.TB, dir string) (s *Server, url string, stop func()) {
	t.Helper()
	s, err := Open(dir, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.DisableSync()
	web := httptest.NewServer(s)
	stop = sync.OnceFunc(func() { web.Close(); _ = s.Close() })
	t.Cleanup(stop)
	return s, web.URL, stop
}

func add(t testing.TB, url string, m *memory, size, old int64) (lines []string, err error) {
	t.Helper()
	proof, signed := m.at(t, size, old)
	return NewClient(http.DefaultTransport).Add(t.Context(), url, old, proof, signed)
}

func TestEveryForkIsRefusedAndEveryHonestUpdateTaken(t *testing.T) {
	t.Parallel()
	const trials = 1000
	dice := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // it is to be the same again
	m := newMemory(t, "log.example/l")
	dir := begin(t, m)
	s, url, _ := serve(t, dir)
	m.grow(t, 3, "true")
	if _, err := add(t, url, m, 3, 0); err != nil {
		t.Fatal(err)
	}
	key, err := tlog.ParseCosigner(s.VKey())
	if err != nil {
		t.Fatal(err)
	}
	refused, taken := 0, 0
	for n := range trials {
		have := m.size()
		// A fork leaves the true history somewhere before the witness's size.
		from := dice.Int64N(have)
		for m.roots[from] == (tlog.Hash{}) {
			from-- // the true log has a checkpoint there
		}
		f := m.fork(from)
		f.grow(t, int(have-from)+dice.IntN(3), fmt.Sprint("fork ", n))
		old := have
		if dice.IntN(4) == 0 {
			old = dice.Int64N(have + 1) // the log lies about the witness's size
		}
		proof, signed := f.at(t, f.size(), old)
		if dice.IntN(3) == 0 && old < have {
			proof, _ = m.at(t, have, old)
		}
		_, err := NewClient(http.DefaultTransport).Add(t.Context(), url, old, proof, signed)
		if conflict := (*ConflictError)(nil); errors.Is(err, ErrRefused) || errors.As(err, &conflict) && conflict.Size == have && old != have {
			refused++
		} else {
			t.Errorf("trial %d: a fork from %d at %d, old %d: %v", n, from, f.size(), old, err)
		}
		m.grow(t, 1+dice.IntN(2)*(n%3), "true")
		lines, err := add(t, url, m, m.size(), have)
		if err != nil || len(lines) != 1 {
			t.Fatalf("trial %d: an honest update: %v", n, err)
		}
		_, signed = m.at(t, m.size(), m.size())
		if _, err := key.CheckLine(tlog.SignedBody(signed), lines[0]); err != nil {
			t.Fatal(err)
		}
		taken++
	}
	if refused != trials || taken != trials {
		t.Errorf("%d of %d forks refused, %d of %d updates taken", refused, trials, taken, trials)
	}
	if list, err := os.ReadDir(filepath.Join(dir, refusedDir)); err != nil || len(list) == 0 {
		t.Errorf("no fork was kept: %v", err)
	}
}

func TestAWitnessAnswersAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	m, other := newMemory(t, "log.example/l"), newMemory(t, "other.example/l")
	thief := newMemory(t, "log.example/l")
	_, url, _ := serve(t, begin(t, m))
	for range 20 {
		m.grow(t, 1, "true")
	}
	other.grow(t, 3, "true")
	thief.grow(t, 3, "true")
	post := func(body string) (int, string, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/add-checkpoint", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text := make([]byte, 1000)
		n, _ := resp.Body.Read(text)
		return resp.StatusCode, resp.Header.Get("Content-Type"), string(text[:n])
	}
	body := func(m *memory, size, old int64) string {
		proof, signed := m.at(t, size, old)
		out := fmt.Sprintf("old %d\n", old)
		for _, h := range proof {
			out += h.String() + "\n"
		}
		return out + "\n" + string(signed)
	}
	if status, _, _ := post(body(m, 5, 0)); status != http.StatusOK {
		t.Fatalf("the first: %d", status)
	}
	for name, test := range map[string]struct {
		body string
		want int
	}{
		"another log":            {body(other, 3, 0), 404},
		"a stolen name":          {body(thief, 3, 0), 403},
		"an old size too large":  {"old 9\n\n" + strings.SplitN(body(m, 5, 0), "\n\n", 2)[1], 400},
		"a stale old size":       {body(m, 9, 3), 409},
		"no old line":            {strings.SplitN(body(m, 9, 5), "\n", 2)[1], 400},
		"an old size of 05":      {strings.Replace(body(m, 9, 5), "old 5", "old 05", 1), 400},
		"a proof that is not it": {body(m, 9, 5)[:6] + strings.Repeat("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", 3) + "\n" + strings.SplitN(body(m, 9, 5), "\n\n", 2)[1], 422},
		"64 hashes":              {"old 5\n" + strings.Repeat("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", 64) + "\n" + strings.SplitN(body(m, 9, 5), "\n\n", 2)[1], 400},
		"a long request":         {strings.Repeat("x", maxRequest+1), 400},
		"nothing":                {"", 400},
		"a smaller size":         {body(m, 4, 4), 409},
		"a bit of the signature": {strings.TrimSuffix(body(m, 9, 5), "=\n") + "A\n", 403},
		"the same size again":    {body(m, 5, 5), 200},
	} {
		status, kind, text := post(test.body)
		if status != test.want {
			t.Errorf("%s: %d %s, want %d", name, status, text, test.want)
		}
		if status == 409 && (kind != typeSize || text != "5\n") {
			t.Errorf("%s: %q as %s", name, text, kind)
		}
	}
}

// fiveOfNine serves a witness that cosigned the first five of a log's nine leaves. It returns the log, the witness's folder and URL, and what
// stops it.
func fiveOfNine(t *testing.T) (m *memory, dir, url string, stop func()) {
	t.Helper()
	m = newMemory(t, "log.example/l")
	for range 9 {
		m.grow(t, 1, "true")
	}
	dir = begin(t, m)
	_, url, stop = serve(t, dir)
	if _, err := add(t, url, m, 5, 0); err != nil {
		t.Fatal(err)
	}
	return m, dir, url, stop
}

func TestAWitnessWithoutItsStateRefuses(t *testing.T) {
	t.Parallel()
	m, dir, url, stop := fiveOfNine(t)
	path := filepath.Join(dir, logFile("log.example/l"))
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := add(t, url, m, 9, 5)
	if err != nil {
		t.Fatal(err)
	}
	newest, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, time.Now, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("two processes run one witness")
	}
	stop()

	for name, break_ := range map[string]func() error{
		"lost":    func() error { return os.Remove(path) },
		"emptied": func() error { return os.WriteFile(path, nil, 0o600) },
		"cut":     func() error { return os.WriteFile(path, newest[:len(newest)-9], 0o600) },
		"cut to its first line": func() error {
			header, _, _ := bytes.Cut(newest, []byte("\nlog.example/l\n"))
			return os.WriteFile(path, append(slices.Clone(header), '\n'), 0o600)
		},
		"a bit": func() error { return os.WriteFile(path, append(slices.Clone(newest[:200]), 'x'), 0o600) },
		"two lines": func() error {
			return os.WriteFile(path, append(slices.Clone(newest), newest[len(newest)-9:]...), 0o600)
		},
	} {
		if err := break_(); err != nil {
			t.Fatal(err)
		}
		if s, err := Open(dir, time.Now, slog.New(slog.DiscardHandler)); !errors.Is(err, ErrState) {
			t.Errorf("%s: it starts (%v)", name, err)
			_ = s.Close()
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // the last of the five may have been the loss
		t.Fatal(err)
	}
	if err := Add(dir, m.signer.VKey(), Terms{}); !errors.Is(err, ErrState) {
		t.Errorf("a log whose file is lost is begun again: %v", err)
	}

	// An older copy starts, and stops for good when it is shown its own line.
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	s, url, _ := serve(t, dir)
	_, signed := m.at(t, 9, 9)
	if err := s.Recall("log.example/l", append(signed, lines[0]...)); !errors.Is(err, ErrState) {
		t.Errorf("its own line over a larger size: %v", err)
	}
	if _, err := add(t, url, m, 9, 5); err == nil {
		t.Error("it cosigns after it has stopped")
	}
	if s.Stopped("log.example/l") == nil {
		t.Error("it has not stopped")
	}
}

func TestTimesOfAWitnessDoNotFall(t *testing.T) {
	t.Parallel()
	m := newMemory(t, "log.example/l")
	for range 9 {
		m.grow(t, 1, "true")
	}
	dir := begin(t, m)
	clock := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var last time.Time
	for i, step := range []time.Duration{0, time.Hour, -48 * time.Hour, 30 * time.Minute} {
		clock = clock.Add(step)
		s, err := Open(dir, func() time.Time { return clock }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		proof, signed := m.at(t, int64(i+1), int64(i))
		w := httptest.NewRecorder()
		body := fmt.Sprintf("old %d\n", i)
		for _, h := range proof {
			body += h.String() + "\n"
		}
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/add-checkpoint", strings.NewReader(body+"\n"+string(signed))))
		key, err := tlog.ParseCosigner(s.VKey())
		if err != nil {
			t.Fatal(err)
		}
		at, err := key.CheckLine(tlog.SignedBody(signed), w.Body.String())
		if err != nil || at.Before(last) {
			t.Errorf("step %d: %s after %s, %v", i, at, last, err)
		}
		last = at
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
