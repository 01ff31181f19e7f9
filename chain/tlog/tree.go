package tlog

import (
	"encoding/base64"
	"errors"
	"fmt"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// TileStore reads tiles: for each the hashes that it has, TileWidth at most. It may return more hashes of a partial tile than were asked for.
type TileStore interface {
	Tiles(tiles []Tile) ([][]byte, error)
}

// Tree reads the hashes of a tree of a size and root. The store's data are checked against the root.
func Tree(size int64, root Hash, store TileStore) merkle.HashReader {
	return merkle.TileHashReader(merkle.Tree{N: size, Hash: root}, tileReader{store})
}

// tileReader is a TileStore for x/mod.
type tileReader struct{ store TileStore }

func (tileReader) Height() int { return TileHeight }

func (tileReader) SaveTiles([]merkle.Tile, [][]byte) {}

func (r tileReader) ReadTiles(tiles []merkle.Tile) ([][]byte, error) {
	names := make([]Tile, len(tiles))
	for i, t := range tiles {
		names[i] = Tile{Level: t.L, N: t.N, Width: t.W}
	}
	data, err := r.store.Tiles(names)
	if err != nil {
		return nil, err
	}
	for i, t := range tiles {
		want := t.W * merkle.HashSize
		if i >= len(data) || len(data[i]) < want {
			return nil, fmt.Errorf("%s is not whole", names[i].Path())
		}
		data[i] = data[i][:want]
	}
	return data, nil
}

// Growth is the change of a log by new leaves.
type Growth struct {
	Size int64
	Root Hash
	// Tiles are the tiles that are new or have more hashes, each with all its hashes.
	Tiles []GrownTile
}

// GrownTile is a tile with its hashes.
type GrownTile struct {
	Tile

	Hashes []byte
}

// Grow computes the tree of a size and root with more leaves. Its cost depends on the leaves and on the tiles at the end of the old tree.
// It returns the new tree only after proving it a continuation of the old one.
func Grow(size int64, root Hash, store TileStore, leaves []Hash) (*Growth, error) {
	old := Tree(size, root, store)
	fresh := map[int64]Hash{}
	both := merkle.HashReaderFunc(func(indexes []int64) ([]Hash, error) {
		out := make([]Hash, len(indexes))
		var missing []int64
		for i, index := range indexes {
			h, ok := fresh[index]
			if out[i] = h; !ok {
				missing = append(missing, index)
			}
		}
		if len(missing) == 0 {
			return out, nil
		}
		read, err := old.ReadHashes(missing)
		if err != nil {
			return nil, err
		}
		for i, index := range indexes {
			if _, ok := fresh[index]; !ok {
				out[i], read = read[0], read[1:]
			}
		}
		return out, nil
	})
	for i, leaf := range leaves {
		n := size + int64(i)
		stored, err := merkle.StoredHashesForRecordHash(n, leaf, both)
		if err != nil {
			return nil, fmt.Errorf("add leaf %d: %w", n, err)
		}
		at := merkle.StoredHashIndex(0, n)
		for j, h := range stored {
			fresh[at+int64(j)] = h
		}
	}
	g := &Growth{Size: size + int64(len(leaves))}
	var err error
	if g.Root, err = merkle.TreeHash(g.Size, both); err != nil {
		return nil, fmt.Errorf("compute the root of size %d: %w", g.Size, err)
	}
	for _, t := range merkle.NewTiles(TileHeight, size, g.Size) {
		hashes, err := merkle.ReadTileData(t, both)
		if err != nil {
			return nil, fmt.Errorf("compute the tiles of size %d: %w", g.Size, err)
		}
		g.Tiles = append(g.Tiles, GrownTile{Tile{Level: t.L, N: t.N, Width: t.W}, hashes})
	}
	if size > 0 && len(leaves) > 0 {
		proof, err := merkle.ProveTree(g.Size, size, both)
		if err == nil {
			err = merkle.CheckTree(proof, g.Size, g.Root, size, root)
		}
		if err != nil {
			return nil, fmt.Errorf("the tree of size %d does not continue the tree of size %d: %w", g.Size, size, err)
		}
	}
	return g, nil
}

// ProveInclusion returns the proof that a leaf is in a tree.
func ProveInclusion(size int64, root Hash, store TileStore, index int64) ([]Hash, error) {
	if index < 0 || index >= size {
		return nil, fmt.Errorf("a log of %d leaves has no leaf %d", size, index)
	}
	p, err := merkle.ProveRecord(size, index, Tree(size, root, store))
	if err != nil {
		return nil, fmt.Errorf("prove leaf %d in size %d: %w", index, size, err)
	}
	return p, nil
}

// ProveConsistency returns the proof that a tree continues an older one. For an empty older tree the proof is empty.
func ProveConsistency(size int64, root Hash, store TileStore, old int64) ([]Hash, error) {
	if old < 0 || old > size {
		return nil, fmt.Errorf("a log of %d leaves had never %d", size, old)
	}
	if old == 0 || old == size {
		return nil, nil
	}
	p, err := merkle.ProveTree(size, old, Tree(size, root, store))
	if err != nil {
		return nil, fmt.Errorf("prove size %d from size %d: %w", size, old, err)
	}
	return p, nil
}

// CheckLeaves checks that hashes are the leaves of a tree from a number on, and that the tiles above them match.
func CheckLeaves(size int64, root Hash, store TileStore, from int64, hashes []Hash) error {
	indexes := make([]int64, len(hashes))
	for i := range indexes {
		indexes[i] = merkle.StoredHashIndex(0, from+int64(i))
	}
	want, err := Tree(size, root, store).ReadHashes(indexes)
	if err != nil {
		return fmt.Errorf("read the leaves from %d of size %d: %w", from, size, err)
	}
	for i, h := range hashes {
		if h != want[i] {
			return fmt.Errorf("leaf %d is another one", from+int64(i))
		}
	}
	return nil
}

// ErrInconsistent says that two trees are not of one history.
var ErrInconsistent = errors.New("the two are not of one history")

// CheckConsistency checks that a tree continues an older one.
func CheckConsistency(proof []Hash, size int64, root Hash, old int64, oldRoot Hash) error {
	switch {
	case old > size || len(proof) > 63:
		return ErrInconsistent
	case old == 0:
		if len(proof) != 0 || oldRoot != EmptyRoot() {
			return ErrInconsistent
		}
		return nil
	case old == size:
		if len(proof) != 0 || oldRoot != root {
			return ErrInconsistent
		}
		return nil
	}
	if err := merkle.CheckTree(proof, size, root, old, oldRoot); err != nil {
		return fmt.Errorf("%w: sizes %d and %d", ErrInconsistent, old, size)
	}
	return nil
}

// Proof is a proof that a leaf is in a log, with the checkpoint that holds it.
type Proof struct {
	Index int64
	// Extra may be the leaf itself. Only a leaf whose hash was checked means anything.
	Extra  []byte
	Hashes []Hash
	// Note is a signed checkpoint.
	Note []byte
}

const proofHeader = "c2sp.org/tlog-proof@v1"

// Format writes a .tlog-proof file.
func (p Proof) Format() []byte {
	b := []byte(proofHeader + "\n")
	if len(p.Extra) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, "extra "...), p.Extra), '\n')
	}
	b = fmt.Appendf(b, "index %d\n", p.Index)
	for _, h := range p.Hashes {
		b = append(base64.StdEncoding.AppendEncode(b, h[:]), '\n')
	}
	b = append(b, '\n')
	return append(b, p.Note...)
}

// ParseProof reads a .tlog-proof file.
func ParseProof(text []byte) (p Proof, err error) {
	bad := func(why string) (Proof, error) { return Proof{}, errors.New("the proof is not whole: " + why) }
	if len(text) > maxNote {
		return bad("it is too long")
	}
	head, rest, _ := cutLine(text)
	if head != proofHeader {
		return bad("it does not begin with " + proofHeader)
	}
	next, rest, ok := cutLine(rest)
	if len(next) >= 6 && next[:6] == "extra " {
		if p.Extra, err = decode64(next[6:]); err != nil || len(p.Extra) == 0 {
			return bad("the extra data are not base64, or empty")
		}
		next, rest, ok = cutLine(rest)
	}
	if !ok || len(next) < 7 || next[:6] != "index " {
		return bad("it has no index")
	}
	if p.Index, err = parseSize(next[6:]); err != nil {
		return bad("its index is not a number")
	}
	for {
		if next, rest, ok = cutLine(rest); !ok {
			return bad("it has no checkpoint")
		}
		if next == "" {
			break
		}
		h, err := ParseHash(next)
		if err != nil || len(p.Hashes) == 63 {
			return bad("its hashes are not hashes")
		}
		p.Hashes = append(p.Hashes, h)
	}
	p.Note = rest
	return p, nil
}

// Check checks that the leaf is the one of the index in a tree that was opened.
func (p Proof) Check(c Checkpoint, leaf Hash) error {
	if p.Index >= c.Size {
		return fmt.Errorf("a log of %d leaves has no leaf %d", c.Size, p.Index)
	}
	if err := merkle.CheckRecord(p.Hashes, c.Size, c.Root, p.Index, leaf); err != nil {
		return fmt.Errorf("the leaf is not number %d of the log", p.Index)
	}
	return nil
}
