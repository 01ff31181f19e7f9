package monitor

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// testLog is a log with three witnesses, and the server of its files and of theirs. A test changes what is served: nothing else lies.
type testLog struct {
	t         *testing.T
	signer    *tlog.Signer
	vkey      string
	witnesses []*tlog.Cosigner

	mu   sync.Mutex
	now  time.Time
	tree *testTree
	// note is the served checkpoint, and copies the notes that each witness serves.
	note   []byte
	copies [][]byte
	// lie changes an answer; nil: none is changed.
	lie    func(path string, body []byte) (int, []byte)
	picks  string
	signal string

	url string
	// followed is the monitor of a test that looks in between.
	followed *Monitor
}

// testTree is the leaves of a history, and its tiles.
type testTree struct {
	leaves [][]byte
	tiles  map[tlog.Tile][]byte
	size   int64
	root   tlog.Hash
}

func (m *testTree) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		t.Width = 0
		out[i] = bytes.Clone(m.tiles[t])
	}
	return out, nil
}

func (m *testTree) grow(t *testing.T, leaves ...[]byte) *testTree {
	t.Helper()
	g, err := tlog.Grow(m.size, m.root, m, hashesOf(leaves))
	if err != nil {
		t.Fatal(err)
	}
	next := &testTree{leaves: slices.Concat(m.leaves, leaves), tiles: maps.Clone(m.tiles), size: g.Size, root: g.Root}
	for _, tile := range g.Tiles {
		at := tile.Tile
		at.Width = 0
		next.tiles[at] = tile.Hashes
	}
	return next
}

func leafOf(t *testing.T, kind string, values ...string) []byte {
	t.Helper()
	l, err := tlog.FormatLeaf(kind, values...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func gaps(t *testing.T, word string, n int) (list [][]byte) {
	t.Helper()
	for i := range n {
		list = append(list, leafOf(t, tlog.KindMethod, "m", fmt.Sprintf("%s-%d", strings.ReplaceAll(word, " ", "-"), i), "tried", strings.Repeat("ab", 32), "n", "2026-03-02T22:00:00.000000Z"))
	}
	return list
}

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// newTestLog has a genesis and some 700 leaves, cosigned by all.
func newTestLog(t *testing.T) *testLog {
	t.Helper()
	return newTestLogOf(t, "live", "none")
}

// newTestLogOf is newTestLog in an environment, and with the day since which picks are sealed.
func newTestLogOf(t *testing.T, environment, sealingFrom string) *testLog {
	t.Helper()
	l := &testLog{t: t, now: noon, tree: &testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}, picks: `{"picks":[]}`, signal: `{"data":[]}`}
	keys, err := tlog.NewLogKey(rand.Reader, "log.example/log")
	if err != nil {
		t.Fatal(err)
	}
	if l.signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	l.vkey = keys.Public
	for i := range 3 {
		keys, err := tlog.NewWitnessKey(rand.Reader, fmt.Sprintf("w%d.example/w", i))
		if err != nil {
			t.Fatal(err)
		}
		w, err := tlog.NewCosigner(keys.Private)
		if err != nil {
			t.Fatal(err)
		}
		l.witnesses = append(l.witnesses, w)
	}
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	l.url = s.URL
	genesis := leafOf(t, tlog.KindGenesis, l.signer.Origin(), environment, "0", chain.Genesis, "none", sealingFrom, "2026-03-01T00:00:00.000000Z")
	l.tree = l.tree.grow(t, append([][]byte{genesis}, gaps(t, "first", 700)...)...)
	l.publish()
	return l
}

func (l *testLog) sign(tree *testTree) []byte {
	l.t.Helper()
	note, err := l.signer.Sign(tree.size, tree.root)
	if err != nil {
		l.t.Fatal(err)
	}
	return note
}

// cosigned is a checkpoint with the lines of witnesses.
func (l *testLog) cosigned(tree *testTree, at time.Time, witnesses ...*tlog.Cosigner) []byte {
	l.t.Helper()
	note := l.sign(tree)
	body := tlog.SignedBody(note)
	for _, w := range witnesses {
		line, err := w.Cosign(body, at)
		if err != nil {
			l.t.Fatal(err)
		}
		note = append(note, line...)
	}
	return note
}

// publish serves the tree, cosigned by all witnesses now.
func (l *testLog) publish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = l.cosigned(l.tree, l.now, l.witnesses...)
	l.copies = nil
	for _, w := range l.witnesses {
		l.copies = append(l.copies, l.cosigned(l.tree, l.now, w))
	}
}

func (l *testLog) grow(leaves ...[]byte) {
	l.t.Helper()
	l.tree = l.tree.grow(l.t, leaves...)
	l.publish()
}

// ServeHTTP serves the log below /log, the witnesses below /w0 to /w2, and a server's answers.
func (l *testLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256([]byte(l.signer.Origin()))
	id := hex.EncodeToString(sum[:])
	path, status := r.URL.Path, http.StatusOK
	var body []byte
	switch rest, isLog := strings.CutPrefix(path, "/log/"); {
	case path == "/log/checkpoint":
		body = l.note
	case path == "/api/v1/verify/picks":
		body = []byte(l.picks)
	case path == "/api/signals":
		body = []byte(`{"data":[{"id":"a-signal"}]}`)
	case path == "/api/signals/a-signal/forecasts":
		body = []byte(l.signal)
	case isLog:
		body = l.tree.file(rest)
	default:
		for i := range l.copies {
			if path == fmt.Sprintf("/w%d/%s/checkpoint", i, id) {
				body = l.copies[i]
			}
		}
	}
	if body == nil {
		status = http.StatusNotFound
	}
	if l.lie != nil {
		if s, b := l.lie(path, bytes.Clone(body)); b != nil || s != 0 {
			body = b
			if s != 0 {
				status = s
			}
		}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func (m *testTree) file(path string) []byte {
	t, err := tlog.ParseTilePath(path)
	if err != nil || !t.In(m.size) {
		return nil
	}
	if t.Entries {
		var body []byte
		for _, leaf := range m.leaves[t.N*tlog.TileWidth : t.N*tlog.TileWidth+int64(t.Width)] {
			body = tlog.AppendEntry(body, leaf)
		}
		return body
	}
	width := t.Width
	t.Width = 0
	return m.tiles[t][:width*32]
}

// monitor opens a monitor of the log; quorum is "two" of the witnesses, or "none".
func (l *testLog) monitor(dir, quorum string) *Monitor {
	l.t.Helper()
	text := "log " + l.vkey + " " + l.url + "/log\n"
	for i, w := range l.witnesses {
		text += fmt.Sprintf("witness w%d %s %s/w%d/\n", i, w.VKey(), l.url, i)
	}
	policy, err := tlog.ParsePolicy([]byte(text + "group two 2 w0 w1 w2\nquorum " + quorum + "\n"))
	if err != nil {
		l.t.Fatal(err)
	}
	m, err := New(Options{
		Log: policy.Logs[0], Policy: policy, Dir: dir, Server: l.url,
		Now: func() time.Time { l.mu.Lock(); defer l.mu.Unlock(); return l.now },
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

func (l *testLog) pass(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

// found are the kinds of the findings of one round, without the finding that the memory is young.
func found(t *testing.T, m *Monitor) (kinds []string, all []Finding) {
	t.Helper()
	all, err := m.Round(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(f Finding) bool { return f.Kind == KindState })
	for _, f := range all {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), all
}
