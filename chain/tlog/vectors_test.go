package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// vectors are the lines of testdata/vectors.txt, which were made by another program.
func vectors(t testing.TB) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n")
}

// vector is the text after some words.
func vector(t testing.TB, words string) string {
	t.Helper()
	for _, l := range vectors(t) {
		if v, ok := strings.CutPrefix(l, words+" "); ok {
			return v
		}
	}
	t.Fatalf("no vector %q", words)
	return ""
}

// indented are the lines below one, as hashes.
func indented(t testing.TB, words string) (out []Hash) {
	t.Helper()
	lines := vectors(t)
	for _, l := range lines[slices.Index(lines, words)+1:] {
		v, ok := strings.CutPrefix(l, "  ")
		if !ok {
			return out
		}
		h, err := ParseHash(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, h)
	}
	return out
}

// checkpointVector returns the lines after the line that starts with begins, up to the empty line after a note's signatures.
func checkpointVector(t testing.TB, begins string) []byte {
	t.Helper()
	lines := vectors(t)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, begins) }) + 1
	var b strings.Builder
	for i, l := range lines[at:] {
		if i > 3 && !strings.HasPrefix(l, "— ") {
			break
		}
		b.WriteString(l + "\n")
	}
	return []byte(b.String())
}

func testLeaf(i int) []byte { return fmt.Appendf(nil, "tidemark/test/v1\nn %d\n", i) }

// memory is a store of tiles in memory that takes what a log grows by.
type memory map[Tile][]byte

func (m memory) Tiles(tiles []Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		t.Width = 0
		out[i] = slices.Clone(m[t])
	}
	return out, nil
}

func (m memory) grow(t testing.TB, size int64, root Hash, leaves ...Hash) (int64, Hash) {
	t.Helper()
	g, err := Grow(size, root, m, leaves)
	if err != nil {
		t.Fatal(err)
	}
	for _, tile := range g.Tiles {
		at := tile.Tile
		at.Width = 0
		if !bytes.HasPrefix(tile.Hashes, m[at]) {
			t.Fatalf("%s changed what it had", tile.Path())
		}
		m[at] = tile.Hashes
	}
	return g.Size, g.Root
}

func logOf(t testing.TB, n int, batch func(have int) int) (memory, int64, Hash) {
	t.Helper()
	m, size, root := memory{}, int64(0), EmptyRoot()
	for int(size) < n {
		var leaves []Hash
		for i := range min(batch(int(size)), n-int(size)) {
			leaves = append(leaves, LeafHash(testLeaf(int(size)+i)))
		}
		size, root = m.grow(t, size, root, leaves...)
	}
	return m, size, root
}

func TestRootsAndProofsAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	for _, i := range []int{0, 999} {
		h := LeafHash(testLeaf(i))
		if got, want := hex.EncodeToString(h[:]), vector(t, fmt.Sprintf("leaf_hash %d", i)); got != want {
			t.Errorf("leaf hash %d is %s, want %s", i, got, want)
		}
	}
	for name, batch := range map[string]func(int) int{
		"all at once": func(int) int { return 1 << 20 },
		"in sevens":   func(int) int { return 7 },
		"growing":     func(have int) int { return have + 1 },
	} {
		for _, n := range []int{0, 1, 2, 3, 7, 8, 255, 256, 257, 1000} {
			_, _, root := logOf(t, n, batch)
			if got, want := base64.StdEncoding.EncodeToString(root[:]), vector(t, fmt.Sprintf("root %d", n)); got != want {
				t.Errorf("%s: root of %d is %s, want %s", name, n, got, want)
			}
		}
	}
	var edge Edge
	for n := range 1001 {
		if n%37 == 0 || n > 990 {
			if _, _, root := logOf(t, n, func(int) int { return 1000 }); edge.Root() != root {
				t.Errorf("the edge of %d leaves has another root", n)
			}
		}
		edge.Add(LeafHash(testLeaf(n)))
	}
	m, size, root := logOf(t, 1000, func(int) int { return 64 })
	got, err := ProveInclusion(size, root, m, 300)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(indented(t, "inclusion index 300 size 1000"), got); diff != "" {
		t.Errorf("inclusion (-want +got):\n%s", diff)
	}
	got, err = ProveConsistency(size, root, m, 257)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(indented(t, "consistency 257 1000"), got); diff != "" {
		t.Errorf("consistency (-want +got):\n%s", diff)
	}
	_, _, older := logOf(t, 257, func(int) int { return 300 })
	if err := CheckConsistency(got, size, root, 257, older); err != nil {
		t.Error(err)
	}
}

func TestKeysNotesAndProofsAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	seed := func(words string) []byte {
		b, err := hex.DecodeString(vector(t, words))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	log, err := keysOf("log.example/tidemark", algEd25519, seed("log_seed"))
	if err != nil {
		t.Fatal(err)
	}
	one, err := keysOf("witness1.example/w", algCosigner, seed("witness1_seed"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := keysOf("witness2.example/w", algCosigner, seed("witness2_seed"))
	if err != nil {
		t.Fatal(err)
	}
	for words, got := range map[string]string{"log_vkey": log.Public, "witness1_vkey": one.Public, "witness2_vkey": two.Public} {
		if want := vector(t, words); got != want {
			t.Errorf("%s is %s, want %s", words, got, want)
		}
	}
	signer, err := NewSigner(log.Private)
	if err != nil {
		t.Fatal(err)
	}
	m, size, root := logOf(t, 1000, func(int) int { return 500 })
	signed, err := signer.Sign(size, root)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		keys SignerKeys
		at   int64
	}{{one, 1767225600}, {two, 1767225607}} {
		c, err := NewCosigner(w.keys.Private)
		if err != nil {
			t.Fatal(err)
		}
		line, err := c.Cosign(SignedBody(signed), time.Unix(w.at, 0))
		if err != nil {
			t.Fatal(err)
		}
		if at, err := c.CheckLine(SignedBody(signed), line); err != nil || at.Unix() != w.at {
			t.Errorf("its own line: %v, %v", at, err)
		}
		signed = append(signed, line...)
	}
	if diff := cmp.Diff(string(checkpointVector(t, "checkpoint 1000 ")), string(signed)); diff != "" {
		t.Errorf("checkpoint (-want +got):\n%s", diff)
	}

	policy, err := ParsePolicy([]byte("log " + log.Public + "\nwitness a " + one.Public + "\nwitness b " + two.Public + "\ngroup both all a b\nquorum both\n"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := policy.Open(signed)
	if err != nil {
		t.Fatal(err)
	}
	if !policy.Met(opened.Cosigned) || opened.Size != 1000 || opened.Root != root {
		t.Errorf("opened: %+v", opened)
	}
	part, err := policy.Open(checkpointVector(t, "checkpoint 257 "))
	if err != nil {
		t.Fatal(err)
	}
	if policy.Met(part.Cosigned) || len(part.Cosigned) != 1 {
		t.Error("one of two is a quorum of both")
	}

	hashes, err := ProveInclusion(size, root, m, 300)
	if err != nil {
		t.Fatal(err)
	}
	file := Proof{Index: 300, Hashes: hashes, Note: signed}.Format()
	sum := sha256.Sum256(file)
	if want := "930 bytes, sha256 " + hex.EncodeToString(sum[:]); !strings.Contains(strings.Join(vectors(t), "\n"), want) {
		t.Errorf("a proof of %d bytes, sha256 %x, is none of the vectors", len(file), sum)
	}
	proof, err := ParseProof(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := proof.Check(opened.Checkpoint, LeafHash(testLeaf(300))); err != nil {
		t.Error(err)
	}
	if err := proof.Check(opened.Checkpoint, LeafHash(testLeaf(301))); err == nil {
		t.Error("the proof holds for another leaf")
	}
}

func TestEveryBitOfAProofCounts(t *testing.T) {
	t.Parallel()
	policy, err := ParsePolicy([]byte("log " + vector(t, "log_vkey") + "\nwitness a " + vector(t, "witness1_vkey") + "\nwitness b " + vector(t, "witness2_vkey") + "\ngroup both all a b\nquorum both\n"))
	if err != nil {
		t.Fatal(err)
	}
	file := Proof{Index: 300, Hashes: indented(t, "inclusion index 300 size 1000"), Note: checkpointVector(t, "checkpoint 1000 ")}.Format()
	holds := func(file []byte) bool {
		p, err := ParseProof(file)
		if err != nil {
			return false
		}
		o, err := policy.Open(p.Note)
		return err == nil && policy.Met(o.Cosigned) && p.Check(o.Checkpoint, LeafHash(testLeaf(300))) == nil
	}
	if !holds(file) {
		t.Fatal("the proof itself does not hold")
	}
	for i := range len(file) * 8 {
		changed := slices.Clone(file)
		changed[i/8] ^= 1 << (i % 8)
		if holds(changed) {
			t.Errorf("bit %d of byte %d may be anything", i%8, i/8)
		}
	}
	for cut := range file {
		if holds(file[:cut]) {
			t.Errorf("%d bytes are enough", cut)
		}
	}
}

func TestLeavesAreThoseOfTheVectors(t *testing.T) {
	t.Parallel()
	lines := vectors(t)
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "# One leaf of each kind") }) + 1
	texts := strings.Split(strings.TrimRight(strings.Join(lines[at:], "\n"), "\n"), "\n\n")
	seen := map[string]bool{}
	for _, text := range texts {
		text += "\n"
		leaf, err := ParseLeaf([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		seen[leaf.Kind] = true
		h := LeafHash([]byte(text))
		if got, want := fmt.Sprintf("%d bytes, leaf hash %x", len(text), h[:]), vector(t, "tidemark/"+leaf.Kind+"/v1:"); got != want {
			t.Errorf("%s: %s, want %s", leaf.Kind, got, want)
		}
		if leaf.At().IsZero() {
			t.Errorf("%s has no time", leaf.Kind)
		}
		var values []string
		for _, f := range kinds[leaf.Kind] {
			values = append(values, leaf.Get(f.key))
		}
		again, err := FormatLeaf(leaf.Kind, values...)
		if err != nil || string(again) != text {
			t.Errorf("%s: written again it is %q (%v)", leaf.Kind, again, err)
		}
		for name, bad := range map[string]string{
			"a line more":   text + "more 1\n",
			"without an LF": text[:len(text)-1],
			"an empty line": text + "\n",
			"one line less": text[:strings.LastIndex(text[:len(text)-1], "\n")+1],
			"a CR":          strings.Replace(text, "\n", "\r\n", 2),
		} {
			if _, err := ParseLeaf([]byte(bad)); err == nil {
				t.Errorf("%s with %s is taken", leaf.Kind, name)
			}
		}
	}
	if len(seen) != len(kinds) {
		t.Errorf("the vectors have %d kinds, the program %d", len(seen), len(kinds))
	}
}

func TestTilePathsHaveOneForm(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"tile/0/000", "tile/0/000.p/1", "tile/63/999.p/255", "tile/1/x001/x234/067", "tile/entries/x001/000.p/7", "tile/0/x123/456",
	} {
		tile, err := ParseTilePath(path)
		if err != nil || tile.Path() != path {
			t.Errorf("%s: %v, %v", path, tile.Path(), err)
		}
	}
	for _, path := range []string{
		"", "tile", "tile/0", "tile/0/", "tile/64/000", "tile/-1/000", "tile/00/000", "tile/0/0", "tile/0/x000/001", "tile/0/001/002",
		"tile/0/x001", "tile/0/000.p/0", "tile/0/000.p/256", "tile/0/000.p/01", "tile/0/000.p", "tile/0/000.p/", "tile/+0/000", "tile/0/+00",
		"tile/entries/000/", "tile/8/0/000", "tile/0/x999/x999/x999/x999/x999/x999/x999/999", "tile/0/000.p/1/2", "tile/data/000",
	} {
		if tile, err := ParseTilePath(path); err == nil {
			t.Errorf("%q is taken as %+v", path, tile)
		}
	}
	for _, test := range []struct {
		path string
		size int64
		want bool
	}{
		{"tile/0/000", 255, false},
		{"tile/0/000", 256, true},
		{"tile/0/000.p/5", 5, true},
		{"tile/0/000.p/5", 4, false},
		{"tile/1/000.p/1", 256, true},
		{"tile/1/000.p/1", 255, false},
		{"tile/entries/001.p/1", 257, true},
		{"tile/63/000", 1 << 62, false},
		{"tile/0/x999/x999/x999/x999/999", 1, false},
	} {
		tile, err := ParseTilePath(test.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := tile.In(test.size); got != test.want {
			t.Errorf("%s in a tree of %d: %t", test.path, test.size, got)
		}
	}
}

func TestBundlesComeBack(t *testing.T) {
	t.Parallel()
	var bundle []byte
	want := [][]byte{testLeaf(1), bytes.Repeat([]byte("x"), MaxLeaf), testLeaf(3)}
	for _, l := range want {
		bundle = AppendEntry(bundle, l)
	}
	got, err := SplitBundle(bundle)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := SplitBundle(bundle[:len(bundle)-1]); err == nil {
		t.Error("a bundle that was cut is taken")
	}
}

func TestPoliciesWithAFaultAreRefused(t *testing.T) {
	t.Parallel()
	log, a, b := "log "+vector(t, "log_vkey")+"\n", "witness a "+vector(t, "witness1_vkey")+"\n", "witness b "+vector(t, "witness2_vkey")+" https://b.example/\n"
	for name, text := range map[string]string{
		"one of two":       log + a + b + "group g any a b\nquorum g\n",
		"without a quorum": log + "quorum none\n",
		"nested":           log + a + b + "group g 1 a\ngroup h 2 g b\nquorum h\n",
		"with comments":    "# mine\n\n" + log + "\t" + a + "quorum a\n",
	} {
		if _, err := ParsePolicy([]byte(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, text := range map[string]string{
		"no quorum":          log + a,
		"threshold 0":        log + a + "group g 0 a\nquorum g\n",
		"threshold too high": log + a + "group g 2 a\nquorum g\n",
		"a key twice":        log + a + strings.Replace(a, "witness a", "witness c", 1) + "quorum a\n",
		"two quorums":        log + a + "quorum a\nquorum a\n",
		"a member twice":     log + a + "group g 1 a a\nquorum g\n",
		"in two groups":      log + a + "group g 1 a\ngroup h 2 g a\nquorum h\n",
		"an unknown member":  log + a + "group g 1 z\nquorum g\n",
		"a wrong key id":     strings.Replace(log, "474f2135", "474f2136", 1) + "quorum none\n",
		"a log as witness":   strings.Replace(log, "log ", "witness l ", 1) + "quorum l\n",
		"a witness as log":   strings.Replace(a, "witness a ", "log ", 1) + "quorum none\n",
		"an unknown word":    log + "wittness a\nquorum none\n",
		"a name of none":     strings.Replace(a, "witness a", "witness none", 1) + "quorum none\n",
		"a quorum too early": log + "quorum a\n" + a,
		"a threshold of 01":  log + a + "group g 01 a\nquorum g\n",
		"a control sign":     log + a + "quorum a\x01\n",
	} {
		if _, err := ParsePolicy([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestCheckpointsHaveOneForm(t *testing.T) {
	t.Parallel()
	log, err := NewVerifier(vector(t, "log_vkey"))
	if err != nil {
		t.Fatal(err)
	}
	one, err := ParseCosigner(vector(t, "witness1_vkey"))
	if err != nil {
		t.Fatal(err)
	}
	good := string(checkpointVector(t, "checkpoint 1000 "))
	lines := strings.SplitAfter(good, "\n")
	for name, text := range map[string]string{
		"a line of a witness twice":      good + lines[5],
		"a signature that is not one":    good + "— x !!!\n",
		"without the log's line":         strings.Replace(good, lines[4], "", 1),
		"without signatures":             strings.Join(lines[:4], ""),
		"a leading zero":                 strings.Replace(good, "\n1000\n", "\n01000\n", 1),
		"the time of a witness changed":  strings.Replace(good, "ux08dwAAAABpVbkA", "ux08dwAAAABpVbkB", 1),
		"the name of the origin changed": strings.Replace(good, "log.example/tidemark\n1000", "log.example/tidemarl\n1000", 1),
	} {
		if _, err := Open([]byte(text), log, one); err == nil {
			t.Errorf("a checkpoint with %s is taken", name)
		}
	}
	if _, err := ParseBody("o\n1\n" + strings.Repeat("A", 43) + "=\nmore\n"); err == nil {
		t.Error("an extension line is taken")
	}
	if _, err := ParseBody("o\n0\n" + strings.Repeat("A", 43) + "=\n"); err == nil {
		t.Error("an empty log with another root is taken")
	}
	o, err := Open([]byte(good), log, one)
	if err != nil || len(o.Cosigned) != 1 || o.Cosigned[0].At.Unix() != 1767225600 {
		t.Errorf("opened: %+v, %v", o, err)
	}
	if strconv.Itoa(int(o.Size)) != "1000" {
		t.Error(o.Size)
	}
}

func TestATileThatWasChangedGrowsNoLog(t *testing.T) {
	t.Parallel()
	m, size, root := logOf(t, 700, func(int) int { return 100 })
	for tile := range m {
		if tile.Level == 0 && tile.N < 2 {
			continue // a log reads the text at its end
		}
		last := len(m[tile]) - 1
		m[tile][last] ^= 1
		if _, err := Grow(size, root, m, []Hash{LeafHash([]byte("next"))}); err == nil {
			t.Errorf("%+v was changed and the log grows", tile)
		}
		m[tile][last] ^= 1
	}
}
