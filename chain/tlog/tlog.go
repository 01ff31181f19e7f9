// Package tlog has the formats of the transparency log, as C2SP states them: leaves, entry bundles, tiles, checkpoints, notes signed with
// Ed25519, cosignatures of witnesses, policies and proofs. It only computes and checks: it has no network, no files and no database. The
// Merkle tree is RFC 6962's, from golang.org/x/mod/sumdb/tlog. Start at Checkpoint, then read leaf.go and tree.go.
package tlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// Hash is a SHA-256 of the Merkle tree.
type Hash = merkle.Hash

// TileHeight is how many levels of the tree a tile spans, TileWidth how many hashes a full one has.
const (
	TileHeight = 8
	TileWidth  = 1 << TileHeight
)

// MaxLeaf is the greatest length of a leaf, in bytes.
const MaxLeaf = 8192

// LeafHash is the hash of a leaf: SHA-256(0x00 || leaf).
func LeafHash(leaf []byte) Hash {
	var short [512]byte // most leaves need no separate allocation
	b := append(short[:1], leaf...)
	return sha256.Sum256(b)
}

// EmptyRoot is the root of a log without leaves.
func EmptyRoot() Hash {
	root, err := merkle.TreeHash(0, nil)
	if err != nil {
		panic(err) // a tree without leaves reads nothing
	}
	return root
}

// Tile names a tile, or a bundle of entries.
type Tile struct {
	// Level is 0 for the hashes of leaves.
	Level int
	// N counts the tiles of a level from 0.
	N int64
	// Width is the number of hashes, 1 to TileWidth.
	Width int
	// Entries reports whether this is the bundle of the entries below the tile of level 0.
	Entries bool
}

// Path is the address of a tile below the log's prefix.
func (t Tile) Path() string {
	var b strings.Builder
	b.WriteString("tile/")
	if t.Entries {
		b.WriteString("entries/")
	} else {
		fmt.Fprintf(&b, "%d/", t.Level)
	}
	b.WriteString(tileNumber(t.N))
	if t.Width < TileWidth {
		fmt.Fprintf(&b, ".p/%d", t.Width)
	}
	return b.String()
}

// tileNumber writes 1234067 as x001/x234/067.
func tileNumber(n int64) string {
	s := fmt.Sprintf("%03d", n%1000)
	for n >= 1000 {
		n /= 1000
		s = fmt.Sprintf("x%03d/%s", n%1000, s)
	}
	return s
}

// ParseTilePath reads the path of a tile. It takes only the one way to write each.
func ParseTilePath(path string) (Tile, error) {
	bad := fmt.Errorf("%q is not the path of a tile", path)
	rest, ok := strings.CutPrefix(path, "tile/")
	if !ok {
		return Tile{}, bad
	}
	level, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return Tile{}, bad
	}
	t := Tile{Width: TileWidth}
	if level == "entries" {
		t.Entries = true
	} else {
		n, err := strconv.Atoi(level)
		if err != nil || n < 0 || n > 63 {
			return Tile{}, bad
		}
		t.Level = n
	}
	number, width, partial := strings.Cut(rest, ".p/")
	if partial {
		n, err := strconv.Atoi(width)
		if err != nil || n < 1 || n >= TileWidth {
			return Tile{}, bad
		}
		t.Width = n
	}
	for part := range strings.SplitSeq(number, "/") {
		digits := strings.TrimPrefix(part, "x")
		n, err := strconv.Atoi(digits)
		if len(digits) != 3 || err != nil || n < 0 || t.N > 1<<50 {
			return Tile{}, bad
		}
		t.N = t.N*1000 + int64(n)
	}
	if t.Path() != path {
		return Tile{}, bad
	}
	return t, nil
}

// In reports whether a tree of a size has the tile.
func (t Tile) In(size int64) bool {
	level := t.Level
	if t.Entries {
		level = 0
	}
	if level*TileHeight >= 63 {
		return false
	}
	have := size >> (level * TileHeight)
	return t.Width > 0 && t.N <= have/TileWidth && t.N*TileWidth+int64(t.Width) <= have
}

// AppendEntry adds a leaf to a bundle: its length as a big-endian uint16, then the leaf.
func AppendEntry(bundle, leaf []byte) []byte {
	return append(binary.BigEndian.AppendUint16(bundle, uint16(len(leaf))), leaf...) //nolint:gosec // a leaf has at most MaxLeaf bytes
}

// ErrBundle says that a bundle of entries is not whole.
var ErrBundle = errors.New("the bundle of entries is not whole")

// SplitBundle returns the leaves of a bundle.
func SplitBundle(bundle []byte) (leaves [][]byte, err error) {
	for len(bundle) > 0 {
		if len(bundle) < 2 {
			return nil, ErrBundle
		}
		n := int(binary.BigEndian.Uint16(bundle))
		if bundle = bundle[2:]; n > len(bundle) {
			return nil, ErrBundle
		}
		leaves, bundle = append(leaves, bundle[:n:n]), bundle[n:]
	}
	return leaves, nil
}

// decode64 reads canonical base64: of all texts that decode to some bytes it takes one.
func decode64(s string) ([]byte, error) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || base64.StdEncoding.EncodeToString(b) != s {
		return nil, errors.New("is not canonical base64")
	}
	return b, nil
}

// ParseHash reads a hash in canonical base64.
func ParseHash(s string) (h Hash, err error) {
	b, err := decode64(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("%q is not a hash in base64", s)
	}
	return Hash(b), nil
}

// parseSize reads a decimal without a sign or leading zeros.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, fmt.Errorf("%q is not a size", s)
	}
	return n, nil
}

// cutLine returns the first line of a text without its LF, and the rest.
func cutLine(b []byte) (line string, rest []byte, ok bool) {
	l, rest, ok := bytes.Cut(b, []byte("\n"))
	return string(l), rest, ok
}
