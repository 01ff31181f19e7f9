package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/chain/tlog"
)

// The greatest answers that are read, in bytes.
const (
	maxNote   = 64 << 10
	maxTile   = tlog.TileWidth * len(tlog.Hash{})
	maxBundle = tlog.TileWidth * (2 + tlog.MaxLeaf)
	maxAnswer = 8 << 20
)

// unavailableError reports that a server was unavailable. It proves nothing.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() error { return e.error }

func isUnavailable(err error) bool {
	_, ok := errors.AsType[unavailableError](err)
	return ok
}

// errMissing is a 404.
var errMissing = errors.New("it is not there (404)")

// newClient returns a client that follows no redirect: who is asked must answer.
func newClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// laterError reports that a server wants to be asked again after a pause.
type laterError struct {
	error

	pause time.Duration
}

// maxPause is the longest pause of a server that is waited for, and maxPauses how often. A longer one ends the round, and the next begins there.
const (
	maxPause  = time.Minute
	maxPauses = 5
)

// get reads a small response. A server that wants a pause gets it, within the time of the round's part.
func (m *Monitor) get(ctx context.Context, url string, maxBytes int) ([]byte, error) {
	for pauses := 0; ; pauses++ {
		body, err := m.once(ctx, url, maxBytes)
		later, ok := errors.AsType[laterError](err)
		if !ok {
			return body, err
		}
		if later.pause > maxPause || pauses == maxPauses {
			return nil, unavailableError{later.error}
		}
		timer := time.NewTimer(later.pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, unavailableError{context.Cause(ctx)}
		case <-timer.C:
		}
	}
}

// once asks once. The response must be complete in time, so that a hanging server delays no others. An intermediary must not answer for the
// server.
func (m *Monitor) once(ctx context.Context, url string, maxBytes int) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.o.AnswerTimeout, fmt.Errorf("%s has not answered after %s", url, m.o.AnswerTimeout))
	defer cancel()
	body, err := m.read(ctx, url, maxBytes)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, unavailableError{cause}
	}
	return body, err
}

func (m *Monitor) read(ctx context.Context, url string, maxBytes int) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, unavailableError{err}
	}
	req.Header.Set("Cache-Control", "no-cache")
	resp, err := m.client.Do(req)
	if err != nil {
		return nil, unavailableError{err}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%s: %w", url, errMissing)
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds >= 0 {
			return nil, laterError{fmt.Errorf("%s answers %s, and wants a pause of %d s", url, resp.Status, seconds), time.Duration(min(seconds, 1<<20)) * time.Second}
		}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, unavailableError{fmt.Errorf("%s answers %s", url, resp.Status)}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(maxBytes)+1))
	if err != nil {
		return nil, unavailableError{err}
	}
	if len(body) > maxBytes {
		return nil, fmt.Errorf("%s: the answer is longer than %d bytes", url, maxBytes)
	}
	return body, nil
}

// files reads a log's files for one round, each once.
type files struct {
	ctx    context.Context //nolint:containedctx // a reader of tiles takes none, and this one lives for a round
	get    func(ctx context.Context, url string, maxBytes int) ([]byte, error)
	prefix string
	// size is the tree's: a tile is as wide in it as it can be.
	size int64

	mu   sync.Mutex
	kept map[tlog.Tile][]byte
	// unavailable is the first failure that proves nothing.
	unavailable error
}

// Tiles implements tlog.TileStore.
func (f *files) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, len(tiles))
	for i, t := range tiles {
		var err error
		if out[i], err = f.read(t, maxTile); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// read reads a tile or a bundle. A log need not have each width of a partial tile: then the wider one has its beginning.
func (f *files) read(t tlog.Tile, maxBytes int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if body, ok := f.kept[t]; ok {
		return body, nil
	}
	body, err := f.get(f.ctx, f.prefix+"/"+t.Path(), maxBytes)
	if wider := f.widest(t); errors.Is(err, errMissing) && !t.Entries && wider.Width > t.Width {
		body, err = f.get(f.ctx, f.prefix+"/"+wider.Path(), maxBytes)
	}
	if err != nil {
		if isUnavailable(err) && f.unavailable == nil {
			f.unavailable = err
		}
		return nil, err
	}
	if !t.Entries { // the leaves of a long log are many, and read once
		f.kept[t] = body
	}
	return body, nil
}

// widest is a tile as wide as the tree has it.
func (f *files) widest(t tlog.Tile) tlog.Tile {
	level := t.Level
	if t.Entries {
		level = 0
	}
	t.Width = int(min(tlog.TileWidth, f.size>>(level*tlog.TileHeight)-t.N*tlog.TileWidth))
	return t
}

// leaves returns the leaves from a number on, before another.
func (f *files) leaves(from, to int64) (list [][]byte, err error) {
	for from < to {
		n := from / tlog.TileWidth
		body, err := f.read(f.widest(tlog.Tile{N: n, Entries: true}), maxBundle)
		if err != nil {
			return nil, err
		}
		all, err := tlog.SplitBundle(body)
		if err != nil {
			return nil, fmt.Errorf("bundle %d: %w", n, err)
		}
		end := min(to, (n+1)*tlog.TileWidth)
		if int64(len(all)) < end-n*tlog.TileWidth {
			return nil, fmt.Errorf("bundle %d has %d leaves, not %d", n, len(all), end-n*tlog.TileWidth)
		}
		list = append(list, all[from-n*tlog.TileWidth:end-n*tlog.TileWidth]...)
		from = end
	}
	return list, nil
}

func hashesOf(leaves [][]byte) []tlog.Hash {
	out := make([]tlog.Hash, len(leaves))
	for i, l := range leaves {
		out[i] = tlog.LeafHash(l)
	}
	return out
}

// trimmed is an address without its last slash.
func trimmed(url string) string { return strings.TrimRight(url, "/") }
