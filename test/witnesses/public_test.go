// Package witnesses has tests with the witness of transparency-dev, which public networks run. It is a module of its own: the program needs
// none of it.
package witnesses

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	formats "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	public "github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"

	"tidemark/chain/tlog"
	"tidemark/chain/witness"
)

const origin = "log.example/tidemark"

// grown is a log in memory.
type grown struct {
	signer *tlog.Signer
	tiles  map[tlog.Tile][]byte
	size   int64
	root   tlog.Hash
}

func (g *grown) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		t.Width = 0
		out[i] = slices.Clone(g.tiles[t])
	}
	return out, nil
}

// grow adds leaves of a history and returns the signed checkpoint, with its proof from an earlier size.
func (g *grown) grow(t *testing.T, n int, history string, old int64) (checkpoint []byte, proof []tlog.Hash) {
	t.Helper()
	var leaves []tlog.Hash
	for i := range n {
		leaves = append(leaves, tlog.LeafHash(fmt.Appendf(nil, "%s %d", history, g.size+int64(i))))
	}
	more, err := tlog.Grow(g.size, g.root, g, leaves)
	if err != nil {
		t.Fatal(err)
	}
	for _, tile := range more.Tiles {
		at := tile.Tile
		at.Width = 0
		g.tiles[at] = tile.Hashes
	}
	g.size, g.root = more.Size, more.Root
	if checkpoint, err = g.signer.Sign(g.size, g.root); err != nil {
		t.Fatal(err)
	}
	if proof, err = tlog.ProveConsistency(g.size, g.root, g, old); err != nil {
		t.Fatal(err)
	}
	return checkpoint, proof
}

func newLog(t *testing.T, private string) *grown {
	t.Helper()
	signer, err := tlog.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	return &grown{signer: signer, tiles: map[tlog.Tile][]byte{}, root: tlog.EmptyRoot()}
}

// serve starts a handler and returns the prefix of its add-checkpoint.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/"
}

// The witness of transparency-dev cosigns our log, by our client, and refuses a fork of it.
func TestThePublicWitnessCosignsOurLog(t *testing.T) {
	t.Parallel()
	keys, err := tlog.NewLogKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(keys.Public)
	if err != nil {
		t.Fatal(err)
	}
	private, _, err := note.GenerateKey(rand.Reader, "witness.example/public")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := formats.NewSignerForCosignatureV1(private)
	if err != nil {
		t.Fatal(err)
	}
	w, err := public.New(t.Context(), public.Opts{
		Persistence: inmemory.New(), Signers: []note.Signer{signer},
		VerifierForLog: func(_ context.Context, name string) (note.Verifier, bool, error) {
			return verifier, name == origin, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", public.NewHTTPHandler(w).AddCheckpoint)
	url, client := serve(t, mux), witness.NewClient(http.DefaultTransport)

	g := newLog(t, keys.Private)
	cosigned := func(n int, old int64) []byte {
		t.Helper()
		checkpoint, proof := g.grow(t, n, "ours", old)
		lines, err := client.Add(t.Context(), url, old, proof, checkpoint)
		if err != nil || len(lines) != 1 {
			t.Fatalf("from %d to %d: %q, %v", old, g.size, lines, err)
		}
		whole := append(slices.Clone(checkpoint), lines[0]...)
		if _, err := note.Open(whole, note.VerifierList(signer.Verifier())); err != nil {
			t.Errorf("its line is not that of its key: %v\n%s", err, whole)
		}
		return checkpoint
	}
	cosigned(5, 0)
	cosigned(300, 5)

	checkpoint, proof := g.grow(t, 1, "ours", 305)
	fork := newLog(t, keys.Private)
	fork.grow(t, 304, "ours", 0)
	forked, forkedProof := fork.grow(t, 2, "theirs", 305)
	if _, err := client.Add(t.Context(), url, 305, forkedProof, forked); !errors.Is(err, witness.ErrRefused) {
		t.Errorf("a fork: %v", err)
	}
	if _, err := client.Add(t.Context(), url, 305, proof, checkpoint); err != nil {
		t.Errorf("the honest size after the fork: %v", err)
	}
	_, err = client.Add(t.Context(), url, 5, proof, checkpoint)
	if conflict := (*witness.ConflictError)(nil); !errors.As(err, &conflict) || conflict.Size != 306 {
		t.Errorf("from a size that it left behind: %v, want its size", err)
	}
}

// Our witness cosigns, and the library of transparency-dev takes its line.
func TestOurWitnessCosignsForOtherClients(t *testing.T) {
	t.Parallel()
	keys, err := tlog.NewLogKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() + "/witness"
	vkey, err := witness.Init(dir, "witness.example/ours")
	if err != nil {
		t.Fatal(err)
	}
	if err := witness.Add(dir, keys.Public, witness.Terms{}); err != nil {
		t.Fatal(err)
	}
	s, err := witness.Open(dir, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	url := serve(t, s)
	verifier, err := formats.NewVerifierForCosignatureV1(vkey)
	if err != nil {
		t.Fatal(err)
	}
	g := newLog(t, keys.Private)
	old := int64(0)
	for _, n := range []int{3, 256, 1} {
		checkpoint, proof := g.grow(t, n, "ours", old)
		body := fmt.Sprintf("old %d\n", old)
		for _, h := range proof {
			body += h.String() + "\n"
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"add-checkpoint", strings.NewReader(body+"\n"+string(checkpoint)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		line, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("size %d: %d %s %v", g.size, resp.StatusCode, line, err)
		}
		opened, err := note.Open(append(slices.Clone(checkpoint), line...), note.VerifierList(verifier))
		if err != nil {
			t.Fatalf("size %d: %v\n%s", g.size, err, line)
		}
		if at, err := formats.CoSigV1Timestamp(opened.Sigs[0]); err != nil || time.Since(at).Abs() > time.Hour {
			t.Errorf("size %d: it says %v, %v", g.size, at, err)
		}
		old = g.size
	}
}
