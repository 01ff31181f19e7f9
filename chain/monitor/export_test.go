package monitor

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/chain/tlog"
)

// policyOf is a reader's policy of the log, whose files are at an address.
func (l *testLog) policyOf(address string) *tlog.Policy {
	l.t.Helper()
	text := "log " + l.vkey + " " + address + "\n"
	for i, w := range l.witnesses {
		text += "witness w" + string(rune('0'+i)) + " " + w.VKey() + "\n"
	}
	policy, err := tlog.ParsePolicy([]byte(text + "group two 2 w0 w1 w2\nquorum two\n"))
	if err != nil {
		l.t.Fatal(err)
	}
	return policy
}

func (l *testLog) export(dir string) (*Exported, error) {
	p := l.policyOf(l.url + "/log")
	return Export(l.t.Context(), p, p.Logs[0], nil, dir)
}

// A copy that any web server serves is the log: a copy can be made of it, a monitor can follow it, and each file is the server's.
func TestACopyOfALogIsServedAsTheLog(t *testing.T) {
	t.Parallel()
	l, dir := newTestLog(t), t.TempDir()
	for range 3 { // the copy goes on with the log
		got, err := l.export(filepath.Join(dir, "log"))
		if err != nil {
			t.Fatal(err)
		}
		if got.Size != l.tree.size || got.Origin != "log.example/log" {
			t.Fatalf("the copy is %+v, and the log has %d leaves", got, l.tree.size)
		}
		l.grow(gaps(t, "more", 200)...)
	}
	if _, err := l.export(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, "log", "tile"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		body, err := os.ReadFile(path)
		name, _ := filepath.Rel(filepath.Join(dir, "log"), path)
		if err == nil && string(body) != string(l.tree.file(filepath.ToSlash(name))) {
			t.Errorf("%s is not the log's", name)
		}
		return err
	})
	if err != nil || files < 12 {
		t.Errorf("%d files, %v", files, err)
	}
	mirror := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(mirror.Close)
	p := l.policyOf(mirror.URL + "/log")
	if got, err := Export(t.Context(), p, p.Logs[0], nil, filepath.Join(dir, "again")); err != nil || got.Size != l.tree.size {
		t.Errorf("the copy of the copy is %+v, %v", got, err)
	}
	m, err := New(Options{Log: p.Logs[0], Policy: p, Dir: t.TempDir(), Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	kinds, all := found(t, m)
	kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == KindUnavailable }) // the policy names no address of a witness
	if len(kinds) > 0 {
		t.Errorf("the monitor of the copy found %+v", all)
	}
}

// A log changes its key. The reader's policy has the new one alone; the copy goes on, and the old checkpoint can be verified with what the copy has.
func TestACopyOutlivesAChangeOfTheLogsKey(t *testing.T) {
	t.Parallel()
	l, dir := newTestLog(t), t.TempDir()
	if _, err := l.export(dir); err != nil {
		t.Fatal(err)
	}
	oldKey, old := l.vkey, l.note
	keys, err := tlog.NewLogKey(rand.Reader, l.signer.Origin())
	if err != nil {
		t.Fatal(err)
	}
	if l.signer, err = tlog.NewSigner(keys.Private); err != nil {
		t.Fatal(err)
	}
	l.vkey = keys.Public
	l.grow(leafOf(t, tlog.KindKey, oldKey, keys.Public, "2026-06-01T00:00:00.000000Z", "2026-03-02T00:00:00.000000Z"))
	l.grow(gaps(t, "more", 300)...)
	for range 2 {
		if got, err := l.export(dir); err != nil || got.Size != l.tree.size {
			t.Fatalf("after the change of the key the copy is %+v, %v", got, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(dir, "checkpoint.[0-9]*+*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("checkpoints of the old key: %v, %v", found, err)
	}
	kept, err := os.ReadFile(found[0])
	if err != nil || string(kept) != string(old) {
		t.Fatalf("%s is not what the old key signed: %v", found[0], err)
	}
	key, err := tlog.NewVerifier(oldKey)
	if err != nil {
		t.Fatal(err)
	}
	o, err := tlog.Open(kept, key)
	if err != nil {
		t.Fatal(err)
	}
	var edge tlog.Edge
	for n := int64(0); edge.Size < o.Size; n++ {
		tile := tlog.Tile{N: n, Entries: true, Width: int(min(tlog.TileWidth, o.Size-n*tlog.TileWidth))}
		bundle, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(tile.Path())))
		if err != nil {
			t.Fatal(err)
		}
		leaves, err := tlog.SplitBundle(bundle)
		if err != nil {
			t.Fatal(err)
		}
		for _, leaf := range leaves {
			edge.Add(tlog.LeafHash(leaf))
		}
	}
	if edge.Root() != o.Root {
		t.Error("the leaves of the copy have another root at the size that the old key signed")
	}
}

// What does not belong to the signed tree is not kept, so that the next copy is good.
func TestACopyOfWhatWasNotSignedIsRefused(t *testing.T) {
	t.Parallel()
	lies := map[string]func(l *testLog) func(path string, body []byte) (int, []byte){
		"a leaf is changed": func(*testLog) func(string, []byte) (int, []byte) {
			return func(path string, body []byte) (int, []byte) {
				if path == "/log/tile/entries/001" {
					body[5] ^= 1
				}
				return 0, body
			}
		},
		"a bundle is short": func(*testLog) func(string, []byte) (int, []byte) {
			return func(path string, body []byte) (int, []byte) {
				if path == "/log/tile/entries/001" {
					return 0, body[:len(body)-10]
				}
				return 0, body
			}
		},
		"a file is away": func(*testLog) func(string, []byte) (int, []byte) {
			return func(path string, body []byte) (int, []byte) {
				if path == "/log/tile/entries/001" {
					return http.StatusNotFound, []byte("no")
				}
				return 0, body
			}
		},
		"another key signed": func(l *testLog) func(string, []byte) (int, []byte) {
			other := newTestLog(l.t)
			return func(path string, body []byte) (int, []byte) {
				if path == "/log/checkpoint" {
					return 0, other.note
				}
				return 0, body
			}
		},
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, dir := newTestLog(t), t.TempDir()
			l.lie = lie(l)
			if got, err := l.export(dir); err == nil {
				t.Fatalf("the copy is %+v", got)
			}
			_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					t.Errorf("%s was kept", path)
				}
				return err
			})
			l.lie = nil
			if _, err := l.export(dir); err != nil {
				t.Errorf("after the lie: %v", err)
			}
		})
	}
	t.Run("the log has another history than the copy", func(t *testing.T) {
		t.Parallel()
		l, dir := newTestLog(t), t.TempDir()
		if _, err := l.export(dir); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(filepath.Join(dir, "checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		genesis := l.tree.leaves[0]
		l.tree = (&testTree{root: tlog.EmptyRoot(), tiles: map[tlog.Tile][]byte{}}).grow(t, append([][]byte{genesis}, gaps(t, "other", 900)...)...)
		l.publish()
		if _, err := l.export(dir); err == nil || !strings.Contains(err.Error(), "another root") {
			t.Errorf("a fork: %v", err)
		}
		if now, err := os.ReadFile(filepath.Join(dir, "checkpoint")); err != nil || string(now) != string(kept) {
			t.Errorf("the checkpoint of the copy was replaced: %v", err)
		}
	})
}
