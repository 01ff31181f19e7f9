package monitor

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/chain/tlog"
)

// Exported is a copy of a log in a folder.
type Exported struct {
	Origin string
	// Size is the number of leaves, and Witnessed the size that the server calls witnessed, by the quorum of its operator.
	Size, Witnessed int64
}

// exportStep is how many leaves are added to the copy's tree at once.
const exportStep = 64 * tlog.TileWidth

// The names of the files of checkpoints.
const (
	newestFile    = "checkpoint"
	witnessedFile = "checkpoint.witnessed"
)

// Export copies a log into a folder, as the static files that its server has: any web server can serve them, and any client can verify
// them. It computes every hash from the leaves, and writes the checkpoints only if their roots are the computed ones. A copy that is there already is
// continued: its full bundles are not read again, and the log must continue the checkpoint of the copy. If a key that signed the copy's checkpoint
// signs no more, that checkpoint stays in the copy, under its size and the key's id: it is verified by that key, and the newer one by its own.
func Export(ctx context.Context, policy *tlog.Policy, log tlog.PolicyLog, transport http.RoundTripper, dir string) (*Exported, error) {
	m := &Monitor{o: Options{AnswerTimeout: 30 * time.Second}, client: newClient(transport)}
	e := &export{ctx: ctx, m: m, prefix: trimmed(log.URL), dir: dir, tiles: map[tlog.Tile][]byte{}, roots: map[int64]tlog.Hash{}}
	kept, err := os.ReadFile(filepath.Join(dir, newestFile)) //nolint:gosec // the folder is the operator's
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the copy that is there: %w", err)
	}
	witnessed, err := m.get(ctx, e.prefix+"/"+witnessedFile, maxNote) // before the newest, so that it is never larger
	if err != nil && !errors.Is(err, errMissing) {
		return nil, err
	}
	newest, err := m.get(ctx, e.prefix+"/"+newestFile, maxNote)
	if err != nil {
		return nil, err
	}
	notes, opened := [][]byte{kept, witnessed, newest}, make([]*tlog.Opened, 3)
	for i, note := range notes {
		if len(note) == 0 {
			continue
		}
		if opened[i], err = policy.Open(note); err != nil && i == 0 {
			opened[i], err = ownCheckpoint(note) // by an older key than those of the policy; its signature was checked when it was copied
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", []string{"the checkpoint of the copy", witnessedFile, newestFile}[i], err)
		}
		if opened[i].Origin != log.Name() {
			return nil, fmt.Errorf("%s serves the log %s, and the policy has %s there", e.prefix, opened[i].Origin, log.Name())
		}
		e.sizes = append(e.sizes, opened[i].Size)
	}
	last := opened[2]
	for i, what := range []string{"the copy in " + dir, "the witnessed checkpoint"} {
		if o := opened[i]; o != nil && o.Size > last.Size {
			return nil, fmt.Errorf("%s has %d leaves, and the newest checkpoint %d", what, o.Size, last.Size)
		}
	}
	if err := e.copy(last.Size, opened); err != nil {
		for _, path := range e.written { // what is not the log's must not be taken for it the next time
			err = errors.Join(err, os.Remove(path))
		}
		return nil, err
	}
	for _, file := range []string{newestFile, witnessedFile} {
		if err := e.keepOld(file, last.Origin, newest); err != nil {
			return nil, err
		}
	}
	out := &Exported{Origin: last.Origin, Size: last.Size}
	if opened[1] != nil {
		out.Witnessed = opened[1].Size
		if err := e.write(witnessedFile, witnessed); err != nil {
			return nil, err
		}
	}
	return out, e.write(newestFile, newest)
}

// ownCheckpoint reads a checkpoint of the copy without its signatures.
func ownCheckpoint(note []byte) (*tlog.Opened, error) {
	c, err := tlog.ParseBody(tlog.SignedBody(note))
	return &tlog.Opened{Checkpoint: c, Note: note}, err
}

// keepOld keeps a checkpoint of the copy that is about to be replaced, if a key signed it that does not sign the newest one.
func (e *export) keepOld(file, origin string, newest []byte) error {
	old, err := os.ReadFile(filepath.Join(e.dir, file)) //nolint:gosec // the folder is the operator's
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the copy that is there: %w", err)
	}
	c, err := ownCheckpoint(old)
	if err != nil {
		return fmt.Errorf("%s of the copy: %w", file, err)
	}
	for _, id := range keysOf(old, origin) {
		if slices.Contains(keysOf(newest, origin), id) {
			continue
		}
		if err := e.write(fmt.Sprintf("%s.%d+%s", file, c.Size, id), old); err != nil {
			return err
		}
	}
	return nil
}

// keysOf are the ids of the keys that signed a checkpoint under the name of the log.
func keysOf(note []byte, origin string) (ids []string) {
	for line := range strings.Lines(string(note)) {
		encoded, ok := strings.CutPrefix(line, "— "+origin+" ")
		if raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "\n")); ok && err == nil && len(raw) > 4 {
			ids = append(ids, hex.EncodeToString(raw[:4]))
		}
	}
	return ids
}

// copy writes the leaves and tiles up to a size, and compares the roots with the checkpoints: of the copy, witnessed, newest.
func (e *export) copy(size int64, opened []*tlog.Opened) error {
	if err := e.grow(size); err != nil {
		return err
	}
	for i, what := range []string{"the checkpoint of the copy in " + e.dir, witnessedFile, newestFile} {
		if o := opened[i]; o != nil && e.roots[o.Size] != o.Root {
			return fmt.Errorf("the first %d leaves have another root than %s: the log has another history, or a file was changed", o.Size, what)
		}
	}
	return nil
}

// export is the state of a copy.
type export struct {
	ctx         context.Context //nolint:containedctx // a reader of tiles takes none, and this one lives for a copy
	m           *Monitor
	prefix, dir string
	// sizes are those whose roots are wanted, and whose partial tiles are written.
	sizes []int64
	roots map[int64]tlog.Hash
	// tiles are those at the right edge of the tree.
	tiles map[tlog.Tile][]byte
	// written are the files that are new.
	written []string
}

// Tiles implements tlog.TileStore.
func (e *export) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		out[i] = e.tiles[tlog.Tile{Level: t.Level, N: t.N}]
	}
	return out, nil
}

// grow reads the leaves up to a size, and writes them with their tiles.
func (e *export) grow(size int64) error {
	edge, root := int64(0), tlog.EmptyRoot()
	e.roots[0] = root
	for edge < size {
		next := min(size, edge-edge%exportStep+exportStep)
		for _, s := range e.sizes {
			if s > edge {
				next = min(next, s)
			}
		}
		leaves, err := e.leaves(edge, next, size)
		if err != nil {
			return err
		}
		g, err := tlog.Grow(edge, root, e, hashesOf(leaves))
		if err != nil {
			return err
		}
		for _, t := range g.Tiles {
			e.tiles[tlog.Tile{Level: t.Level, N: t.N}] = t.Hashes
		}
		edge, root = g.Size, g.Root
		e.roots[edge] = root
		if err := e.writeTiles(edge); err != nil {
			return err
		}
	}
	return nil
}

// writeTiles writes the tiles that are full, and at a wanted size those at the edge. It forgets the full ones to the left of the edge.
func (e *export) writeTiles(size int64) error {
	wanted := false
	for _, s := range e.sizes {
		wanted = wanted || s == size
	}
	for key, hashes := range e.tiles {
		t := tlog.Tile{Level: key.Level, N: key.N, Width: len(hashes) / len(tlog.Hash{})}
		if t.Width < tlog.TileWidth && !wanted {
			continue
		}
		if err := e.write(t.Path(), hashes); err != nil {
			return err
		}
		if full := size >> (t.Level * tlog.TileHeight) / tlog.TileWidth; t.N < full-1 {
			delete(e.tiles, key)
		}
	}
	return nil
}

// leaves returns leaves of the log, and writes the bundles that hold them.
func (e *export) leaves(from, to, size int64) (list [][]byte, err error) {
	for from < to {
		n := from / tlog.TileWidth
		begin, end := n*tlog.TileWidth, min(to, (n+1)*tlog.TileWidth)
		t := tlog.Tile{N: n, Entries: true, Width: int(min(tlog.TileWidth, size-begin))}
		path := filepath.Join(e.dir, filepath.FromSlash(t.Path()))
		bundle, err := os.ReadFile(path) //nolint:gosec // the folder is the operator's
		if err != nil {
			if bundle, err = e.m.get(e.ctx, e.prefix+"/"+t.Path(), maxBundle); err != nil {
				return nil, err
			}
		}
		all, err := tlog.SplitBundle(bundle)
		if err != nil || len(all) != t.Width {
			return nil, fmt.Errorf("%s is not whole", t.Path())
		}
		if err := e.write(t.Path(), bundle); err != nil {
			return nil, err
		}
		if part := (tlog.Tile{N: n, Entries: true, Width: int(end - begin)}); part.Width < t.Width { // a checkpoint ends within it
			if err := e.write(part.Path(), bundle[:lengthOf(all[:part.Width])]); err != nil {
				return nil, err
			}
		}
		list = append(list, all[from-begin:end-begin]...)
		from = end
	}
	return list, nil
}

// lengthOf is the length of leaves in a bundle.
func lengthOf(leaves [][]byte) (n int) {
	for _, l := range leaves {
		n += 2 + len(l)
	}
	return n
}

// write writes a file of the copy, whole or not at all.
func (e *export) write(name string, body []byte) error {
	path := filepath.Join(e.dir, filepath.FromSlash(name))
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, body) { //nolint:gosec // the folder is the operator's
		return nil
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // a web server reads it
	if err == nil {
		err = os.WriteFile(path+".new", body, 0o644) //nolint:gosec // a web server reads it
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("write the copy: %w", err)
	}
	e.written = append(e.written, path)
	return nil
}
