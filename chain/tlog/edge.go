package tlog

import (
	"crypto/sha256"
	"slices"
)

// Edge is the right edge of a tree: enough to add leaves and to know its root, in 64 hashes at most. The zero Edge is the empty tree's.
type Edge struct {
	Size int64 `json:"size"`
	// Hashes are the roots of the full subtrees, the largest first: one per bit of the size.
	Hashes []Hash `json:"hashes"`
}

// Add adds the hash of the next leaf.
func (e *Edge) Add(leaf Hash) {
	for n := e.Size; n&1 == 1; n >>= 1 {
		last := len(e.Hashes) - 1
		leaf = nodeHash(e.Hashes[last], leaf)
		e.Hashes = e.Hashes[:last]
	}
	e.Hashes = append(e.Hashes, leaf)
	e.Size++
}

// Root is the root of the tree.
func (e *Edge) Root() Hash {
	if len(e.Hashes) == 0 {
		return EmptyRoot()
	}
	root := e.Hashes[len(e.Hashes)-1]
	for _, h := range slices.Backward(e.Hashes[:len(e.Hashes)-1]) {
		root = nodeHash(h, root)
	}
	return root
}

// Clone returns an edge that grows independently.
func (e *Edge) Clone() Edge { return Edge{e.Size, slices.Clone(e.Hashes)} }

// nodeHash is the hash of an inner node: SHA-256(0x01 || left || right).
func nodeHash(left, right Hash) Hash {
	var b [1 + 2*sha256.Size]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+sha256.Size:], right[:])
	return sha256.Sum256(b[:])
}
