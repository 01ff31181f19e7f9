package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tidemark/api/view"
)

const (
	// chunk is how many bytes of a long response are collected before they are sent. A shorter response has a Content-Length.
	chunk = 32 << 10
	// minCompressSize is the minimum size that is worth compressing.
	minCompressSize = 1 << 10
	// bufferedRows is more rows than a chunk holds in any format. After this many rows, the header fields of a response are known.
	bufferedRows = 1000
)

// streamed is a response that is written in pieces.
type streamed struct {
	mediaType string
	// etag is the strong tag of the uncompressed form, without its quotes.
	etag string
	// modified is when the content last changed. It may be zero.
	modified time.Time
	// columnar reports that the content is a file with typed columns. Its rows and its bytes are in memory until the client has read it.
	columnar bool
	// write writes the content. With a limit above 0 it writes only the beginning and at most that many rows. If it cannot write less than
	// all, the error is view.ErrCut.
	write func(ctx context.Context, w io.Writer, limit int) error
}

// fileLimits bound the files with typed columns that are being written, and listingLimits the other responses of more than a chunk. A file of
// 10,000 picks takes 15 MB while it is written, and a listing up to 4 MB: its page of points, and the tables of its compressor.
var (
	fileLimits    = view.QueueLimits{Slots: 32, SlotsOfClient: 4, Waiting: 32}
	listingLimits = view.QueueLimits{Slots: 128, SlotsOfClient: 8, Waiting: 32}
)

// stream serves a listing of any length with bounded memory. An error before the first chunk becomes an error response. After the first
// chunk, stream cuts the connection, so that the client does not take a part for the whole.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, l streamed) error {
	h := w.Header()
	h.Set("Cache-Control", view.CachePublic)
	h.Add("Vary", "Accept-Encoding")
	if !l.modified.IsZero() {
		h.Set("Last-Modified", l.modified.UTC().Format(http.TimeFormat))
	}
	plain, zipped := `"`+l.etag+`"`, `"`+l.etag+`-gzip"`
	zip := l.mediaType != view.TypeParquet && acceptsGzip(r.Header["Accept-Encoding"]) // Parquet compresses its own pages
	if known := r.Header["If-None-Match"]; len(known) > 0 {
		for _, tag := range []string{plain, zipped} {
			if hasTag(known, tag) && (zip || tag == plain) {
				h.Set("ETag", tag)
				h.Del("Content-Disposition")
				w.WriteHeader(http.StatusNotModified)
				return nil
			}
		}
	}
	out := &sender{w: w, etag: plain, zip: zip, silent: r.Method == http.MethodHead, buf: bufferPool.Get().(*[]byte)}
	defer out.release()
	h.Set("Content-Type", l.mediaType)
	if zip {
		out.zipped = zipped
	}
	err := s.writeTo(out, r, l)
	switch {
	case err == nil:
		return nil
	case out.begun:
		panic(http.ErrAbortHandler)
	}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Last-Modified", "Vary", "Link"} {
		h.Del(name)
	}
	return err
}

// writeTo writes a listing to a sender, or its header alone for HEAD.
func (s *Server) writeTo(out *sender, r *http.Request, l streamed) error {
	rows := 0
	enter := func(q *view.Queue) (err error) {
		out.leave, err = q.Enter(r.Context(), view.ClientOf(r.Context()))
		return err
	}
	switch {
	case out.silent:
		rows = bufferedRows
	case l.columnar:
		if err := enter(s.files); err != nil {
			return err
		}
	default:
		out.admit = func() error { return enter(s.listings) }
	}
	err := l.write(r.Context(), out, rows)
	if errors.Is(err, view.ErrCut) {
		out.begin(true, -1)
		return nil
	}
	if err != nil {
		return err
	}
	return out.end()
}

var (
	bufferPool = sync.Pool{New: func() any { return new(make([]byte, 0, 2*chunk)) }}
	gzipPool   = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
		return w
	}}
)

// sender collects the output and sends it in chunks. It compresses them if the client accepts that and the size is worth it.
type sender struct {
	w http.ResponseWriter
	// etag and zipped are the tags of the two forms.
	etag, zipped string
	zip, silent  bool
	// admit waits until a response of more than a chunk may begin. It may be nil. leave gives back what it took, nil before.
	admit func() error
	leave func()
	// begun reports whether the header was sent.
	begun bool
	gz    *gzip.Writer
	buf   *[]byte
}

func (s *sender) Write(p []byte) (int, error) {
	*s.buf = append(*s.buf, p...)
	if len(*s.buf) < chunk {
		return len(p), nil
	}
	if !s.begun {
		if s.admit != nil {
			if err := s.admit(); err != nil {
				return 0, err
			}
		}
		s.begin(true, -1)
	}
	return len(p), s.flush()
}

// begin sends the header. A negative length means that the length is not known yet.
func (s *sender) begin(zip bool, length int) {
	s.begun = true
	h := s.w.Header()
	h.Set("ETag", s.etag)
	if s.zip && zip {
		h.Set("ETag", s.zipped)
		h.Set("Content-Encoding", "gzip")
	}
	if length >= 0 {
		h.Set("Content-Length", strconv.Itoa(length))
	}
	s.w.WriteHeader(http.StatusOK)
	if s.zip && zip && length < 0 && !s.silent {
		s.gz = gzipPool.Get().(*gzip.Writer)
		s.gz.Reset(s.w)
	}
}

func (s *sender) flush() error {
	var err error
	switch {
	case s.silent:
	case s.gz != nil:
		_, err = s.gz.Write(*s.buf)
	default:
		_, err = s.w.Write(*s.buf)
	}
	*s.buf = (*s.buf)[:0]
	return err
}

// end sends the rest. A response that fits into one chunk is sent as a whole.
func (s *sender) end() error {
	if s.begun {
		if err := s.flush(); err != nil || s.gz == nil {
			return err
		}
		return s.gz.Close()
	}
	body := *s.buf
	zip := s.zip && len(body) >= minCompressSize
	if zip {
		body = compress(body)
	}
	s.begin(zip, len(body))
	if s.silent {
		return nil
	}
	_, err := s.w.Write(body)
	return err
}

// compress cannot fail: it writes to memory.
func compress(body []byte) []byte {
	var out bytes.Buffer
	gz := gzipPool.Get().(*gzip.Writer)
	defer gzipPool.Put(gz)
	gz.Reset(&out)
	_, _ = gz.Write(body)
	_ = gz.Close()
	return out.Bytes()
}

func (s *sender) release() {
	if s.leave != nil {
		s.leave()
	}
	if s.gz != nil {
		s.gz.Reset(io.Discard)
		gzipPool.Put(s.gz)
	}
	*s.buf = (*s.buf)[:0]
	bufferPool.Put(s.buf)
}
