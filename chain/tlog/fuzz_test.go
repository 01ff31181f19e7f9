package tlog

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every text has one form: writing the parsed value gives the same text.

func FuzzLeaf(f *testing.F) {
	text := strings.Join(vectors(f), "\n")
	for l := range strings.SplitSeq(text[strings.Index(text, "tidemark/genesis/v1\n"):], "\n\n") {
		f.Add([]byte(strings.TrimRight(l, "\n") + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		leaf, err := ParseLeaf(text)
		if err != nil {
			return
		}
		var values []string
		for _, field := range kinds[leaf.Kind] {
			values = append(values, leaf.Get(field.key))
		}
		again, err := FormatLeaf(leaf.Kind, values...)
		if err != nil || !bytes.Equal(again, text) {
			t.Errorf("%q is written as %q (%v)", text, again, err)
		}
		at := leaf.Get("at")
		if leaf.Kind == KindBody {
			at = leaf.Get("fetched_at")
		}
		if FormatTime(leaf.At()) != at {
			t.Errorf("%q is of %v", text, leaf.At())
		}
	})
}

func FuzzProof(f *testing.F) {
	note := checkpointVector(f, "checkpoint 1000 ")
	hashes := indented(f, "inclusion index 300 size 1000")
	f.Add(Proof{Index: 300, Hashes: hashes, Note: note}.Format())
	f.Add(Proof{Index: 0, Extra: []byte("leaf"), Note: note}.Format())
	f.Add([]byte("c2sp.org/tlog-proof@v1\nextra \nindex 0\n\nx"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParseProof(text)
		if err != nil {
			return
		}
		if again := p.Format(); !bytes.Equal(again, text) {
			t.Errorf("%q is written as %q", text, again)
		}
		_ = p.Check(Checkpoint{Size: 1000}, Hash{})
	})
}

// The bytes of a checkpoint that opens are exactly the signed bytes.
func FuzzCheckpoint(f *testing.F) {
	for _, begins := range []string{"checkpoint 1000 ", "checkpoint 257 "} {
		f.Add(checkpointVector(f, begins))
	}
	log, err := NewVerifier(vector(f, "log_vkey"))
	if err != nil {
		f.Fatal(err)
	}
	witness, err := ParseCosigner(vector(f, "witness1_vkey"))
	if err != nil {
		f.Fatal(err)
	}
	signed := []string{SignedBody(checkpointVector(f, "checkpoint 1000 ")), SignedBody(checkpointVector(f, "checkpoint 257 "))}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Open(text, log, witness)
		if err != nil {
			return
		}
		if !slices.Contains(signed, o.Body()) || SignedBody(text) != o.Body() || len(o.Cosigned) > 1 {
			t.Errorf("%q is opened as %+v", text, o)
		}
	})
}

func FuzzTilePath(f *testing.F) {
	for _, path := range []string{"tile/0/000", "tile/1/x001/x234/067", "tile/entries/000.p/7", "tile/63/999.p/255"} {
		f.Add(path, int64(1<<20))
	}
	f.Fuzz(func(t *testing.T, path string, size int64) {
		tile, err := ParseTilePath(path)
		if err != nil {
			return
		}
		if tile.Path() != path {
			t.Errorf("%q is written as %q", path, tile.Path())
		}
		if size >= 0 && tile.In(size) && tile.N*TileWidth >= size {
			t.Errorf("%q lies in a tree of %d", path, size)
		}
	})
}

func FuzzBundle(f *testing.F) {
	f.Add(AppendEntry(AppendEntry(nil, []byte("one")), nil))
	f.Fuzz(func(t *testing.T, text []byte) {
		leaves, err := SplitBundle(text)
		if err != nil {
			return
		}
		var again []byte
		for _, l := range leaves {
			again = AppendEntry(again, l)
		}
		if diff := cmp.Diff(text, again); diff != "" && len(text) > 0 {
			t.Error(diff)
		}
	})
}

// A policy that asks for witnesses is met by none of them never, and by all of them always.
func FuzzPolicy(f *testing.F) {
	log, a, b := "log "+vector(f, "log_vkey")+"\n", "witness a "+vector(f, "witness1_vkey")+"\n", "witness b "+vector(f, "witness2_vkey")+" https://b.example/\n"
	f.Add([]byte(log + a + b + "group g all a b\nquorum g\n"))
	f.Add([]byte(log + a + b + "group g any a\ngroup h 2 g b\nquorum h\n"))
	f.Add([]byte(log + "quorum none\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePolicy(text)
		if err != nil {
			return
		}
		var all []Cosigned
		for _, w := range p.Witnesses {
			all = append(all, Cosigned{VKey: w.VKey()})
		}
		if p.AsksWitnesses() && p.Met(nil) || !p.Met(all) {
			t.Errorf("%q: met by nobody %t, by all %t", text, p.Met(nil), p.Met(all))
		}
	})
}
