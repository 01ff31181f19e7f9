package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"tidemark/api/view"
	"tidemark/chain/tlog"
	"tidemark/internal/postgres"
)

// TransparencyLog reads the logs. *postgres.DB implements it.
type TransparencyLog interface {
	LogHeads(ctx context.Context) ([]postgres.LogHead, error)
	NewestLogCheckpoint(ctx context.Context, log string, witnessed bool) (postgres.LogCheckpoint, error)
	LogCheckpointOf(ctx context.Context, log string, index int64) (postgres.LogCheckpoint, error)
	LogProof(ctx context.Context, log string, index int64, newest bool) (file []byte, witnessed bool, err error)
	LogTimestampReply(ctx context.Context, log string, size int64) ([]byte, error)
	LogTile(ctx context.Context, log string, t tlog.Tile) ([]byte, error)
	LogTileStore(ctx context.Context, log string) tlog.TileStore
	LogLeaves(ctx context.Context, log string, from, to int64) ([][]byte, error)
	Methods(ctx context.Context) ([]postgres.Method, error)
	KnownBodies(ctx context.Context, source string, day, asOf time.Time, most int) ([]postgres.KnownBody, error)
}

const (
	logPrefix     = "/log/"
	sourcesPrefix = "sources/"
	entriesPrefix = "tile/entries/"
	logList       = "log-list.1"
	// timestampReply is the media type of RFC 3161.
	timestampReply = "application/timestamp-reply"
	// requestsPerDay is how often a witness is asked at most: once a minute.
	requestsPerDay = 24 * 60
	// logHeadsFor is how long the sizes of the logs are cached.
	logHeadsFor = 2 * time.Second
	// logHeadsTimeout bounds a read of the heads: a connection that hangs must not stop the log.
	logHeadsTimeout = 5 * time.Second
	// The Cache-Control of files that never change and of files that do.
	cacheForever = "public, max-age=31536000, immutable"
	cacheShortly = "public, max-age=2"
)

// logServer serves the logs as the static files of C2SP's tlog-tiles.
type logServer struct {
	store TransparencyLog
	// guard calls a function and turns its panic into an error.
	guard func(context.Context, func() error) error
	reads singleflight.Group

	mu    sync.Mutex
	heads []postgres.LogHead
	read  time.Time
}

// head returns the current size and root of a log. If they cannot be read, it returns an error and not the last ones: with a smaller size,
// files that were served before would be missing.
func (l *logServer) head(ctx context.Context, log string) (postgres.LogHead, error) {
	heads, err := l.current(ctx)
	if err != nil {
		return postgres.LogHead{}, err
	}
	if h := headOf(heads, log); h.Size > 0 {
		return h, nil
	}
	return postgres.LogHead{}, errNoLog
}

// headOf returns the head of a log, the zero value if the log has no leaf.
func headOf(heads []postgres.LogHead, log string) postgres.LogHead {
	for _, h := range heads {
		if h.Log == log && h.Size > 0 {
			return h
		}
	}
	return postgres.LogHead{}
}

// current returns the heads of the logs. A head is at most logHeadsFor older than the request. Requests that come during a read wait for
// it, each until its own context ends. With an error current returns the last heads that were read, nil if none were.
func (l *logServer) current(ctx context.Context) ([]postgres.LogHead, error) {
	asked := time.Now() //nolint:forbidigo // how old an answer may be is a matter of the wall clock
	for {
		l.mu.Lock()
		heads, read := l.heads, l.read
		l.mu.Unlock()
		if asked.Sub(read) <= logHeadsFor {
			return heads, nil
		}
		done := l.reads.DoChan("", func() (any, error) { return nil, l.refresh(context.WithoutCancel(ctx)) })
		select {
		case <-ctx.Done():
			return heads, ctx.Err()
		case r := <-done:
			if r.Err != nil {
				return heads, r.Err
			}
		}
	}
}

// refresh reads the heads, for at most logHeadsTimeout.
func (l *logServer) refresh(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, logHeadsTimeout)
	defer stop()
	now := time.Now() //nolint:forbidigo // how old an answer may be is a matter of the wall clock
	return l.guard(ctx, func() error {
		heads, err := l.store.LogHeads(ctx)
		if err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.heads, l.read = heads, now
		return nil
	})
}

var (
	errNoLog     = &problemError{code: view.CodeNotFound, detail: "This server has no log, or not yet."}
	errNoLogFile = &problemError{
		code:   view.CodeNotFound,
		detail: "The log has no file at this address. The second line of its checkpoint is its size: leaves count from 0, and the last file of a row, with fewer than 256, ends in .p/WIDTH.",
	}
	errNoLogStamp = &problemError{code: view.CodeNotFound, detail: "No time stamp is there for the size in this proof."}
)

// list returns the logs as networks of witnesses read them (logs/v0). The name of a key is the log's origin.
func (l *logServer) list(ctx context.Context) ([]byte, error) {
	heads, err := l.store.LogHeads(ctx)
	if err != nil {
		return nil, err
	}
	if len(heads) == 0 {
		return nil, errNoLog
	}
	out := []byte("logs/v0\n")
	for _, h := range heads {
		out = fmt.Appendf(out, "vkey %s\nqpd %d\n", h.VKey, requestsPerDay)
	}
	return out, nil
}

// serveLog serves the paths below /log/.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) error {
	path, log := strings.TrimPrefix(r.URL.EscapedPath(), logPrefix), postgres.LogRecord
	if rest, ok := strings.CutPrefix(path, sourcesPrefix); ok {
		path, log = rest, postgres.LogSources
	}
	if err := s.limitLog(w, r); err != nil {
		return err
	}
	body, mediaType, cache, err := s.logFile(r.Context(), log, path)
	switch {
	case errors.Is(err, postgres.ErrNotFound) && mediaType == timestampReply:
		return errNoLogStamp
	case errors.Is(err, postgres.ErrNotFound):
		return errNoLog
	case err != nil:
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", cache)
	if strings.HasPrefix(path, entriesPrefix) { // hashes do not become smaller, leaves do
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header["Accept-Encoding"]) {
			h.Set("Content-Encoding", "gzip")
			body = zipped(body)
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
	return nil
}

// zipped compresses a body of at most a few hundred leaves.
func zipped(body []byte) []byte {
	var out bytes.Buffer
	gz := gzipPool.Get().(*gzip.Writer) //nolint:forcetypeassert // the pool has nothing else
	defer gzipPool.Put(gz)
	gz.Reset(&out)
	_, _ = gz.Write(body) // to memory
	_ = gz.Close()
	return out.Bytes()
}

// logFile returns a file of a log, with its media type and its Cache-Control.
func (s *Server) logFile(ctx context.Context, log, path string) (body []byte, mediaType, cache string, err error) {
	const text, binary = "text/plain; charset=utf-8", "application/octet-stream"
	number, isProof := strings.CutPrefix(path, "proof/")
	leaf, isLeaf := strings.CutPrefix(path, "leaf/")
	switch {
	case path == logList && log == postgres.LogRecord:
		body, err := s.logs.list(ctx)
		return body, text, cacheShortly, err
	case path == "checkpoint", path == "checkpoint.witnessed":
		c, err := s.logs.store.NewestLogCheckpoint(ctx, log, path != "checkpoint")
		return c.Note, text, cacheShortly, err
	case strings.HasPrefix(path, "tile/"):
		body, err := s.logTile(ctx, log, path)
		return body, binary, cacheForever, err
	case isProof && strings.HasSuffix(number, ".tlog-proof"):
		number, newest := strings.CutPrefix(strings.TrimSuffix(number, ".tlog-proof"), "newest/")
		body, witnessed, err := s.logProof(ctx, log, number, newest)
		if !witnessed || newest {
			return body, text, cacheShortly, err // a better proof will replace it
		}
		return body, text, cacheForever, err
	case isProof && strings.HasSuffix(number, ".tsr"):
		body, witnessed, err := s.logTimestamp(ctx, log, strings.TrimSuffix(number, ".tsr"))
		if !witnessed {
			return body, timestampReply, cacheShortly, err // the proof will be against another size
		}
		return body, timestampReply, cacheForever, err
	case isLeaf:
		index, err := s.logIndex(ctx, log, leaf)
		if err != nil {
			return nil, "", "", err
		}
		list, err := s.logs.store.LogLeaves(ctx, log, index, index+1)
		if err != nil {
			return nil, "", "", err
		}
		if len(list) == 0 {
			return nil, "", "", errNoLogFile
		}
		return list[0], text, cacheForever, nil
	}
	return nil, "", "", errNoLogFile
}

// logIndex parses the index of a leaf. It returns errNoLogFile if the log has no such leaf.
func (s *Server) logIndex(ctx context.Context, log, number string) (int64, error) {
	h, err := s.logs.head(ctx, log)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n >= h.Size || strconv.FormatInt(n, 10) != number {
		return 0, errNoLogFile
	}
	return n, nil
}

func (s *Server) logTile(ctx context.Context, log, path string) ([]byte, error) {
	h, err := s.logs.head(ctx, log)
	if err != nil {
		return nil, err
	}
	t, err := tlog.ParseTilePath(path)
	if err != nil || !t.In(h.Size) {
		return nil, errNoLogFile
	}
	if !t.Entries {
		hashes, err := s.logs.store.LogTile(ctx, log, t)
		if err != nil {
			return nil, err
		}
		if want := t.Width * len(tlog.Hash{}); len(hashes) >= want {
			return hashes[:want], nil
		}
		return nil, errNoLogFile
	}
	from := t.N * tlog.TileWidth
	leaves, err := s.logs.store.LogLeaves(ctx, log, from, from+int64(t.Width))
	if err != nil {
		return nil, err
	}
	if len(leaves) != t.Width {
		return nil, errNoLogFile
	}
	var bundle []byte
	for _, l := range leaves {
		bundle = tlog.AppendEntry(bundle, l)
	}
	return bundle, nil
}

// logProof returns the proof of a leaf (see LogProof).
func (s *Server) logProof(ctx context.Context, log, number string, newest bool) (file []byte, witnessed bool, err error) {
	index, err := s.logIndex(ctx, log, number)
	if err != nil {
		return nil, false, err
	}
	return s.logs.store.LogProof(ctx, log, index, newest)
}

// logTimestamp returns the time stamp of the checkpoint in the proof of a leaf.
func (s *Server) logTimestamp(ctx context.Context, log, number string) (reply []byte, witnessed bool, err error) {
	index, err := s.logIndex(ctx, log, number)
	if err != nil {
		return nil, false, err
	}
	c, err := s.logs.store.LogCheckpointOf(ctx, log, index)
	if err != nil {
		return nil, false, err
	}
	reply, err = s.logs.store.LogTimestampReply(ctx, log, c.Size)
	return reply, c.Witnessed, err
}

// describeLog returns the description of the log in /api/v1/info, nil if there is no log. If the database is unavailable, it describes the
// log as it was last read: nil would say that the service has none.
func (s *Server) describeLog(ctx context.Context) (*view.InfoLog, error) {
	if s.logs == nil {
		return nil, nil
	}
	heads, err := s.logs.current(ctx)
	if heads == nil {
		return nil, err
	}
	h := headOf(heads, postgres.LogRecord)
	if h.Size == 0 {
		return nil, nil
	}
	out := &view.InfoLog{Origin: h.Origin, VKey: h.VKey, Size: h.Size, Root: base64.StdEncoding.EncodeToString(h.Root[:]), Witnesses: []view.InfoWitness{}, PicksEarly: h.PicksEarly}
	for _, w := range h.Witnesses {
		out.Witnesses = append(out.Witnesses, view.InfoWitness{Name: w.Name, VKey: w.VKey})
	}
	return out, nil
}
