package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"tidemark/api/view"
)

const (
	// chunk is how much of a long answer is gathered before it is sent. An answer that is shorter has a Content-Length.
	chunk = 32 << 10
	// minCompressSize is the size from which compressing pays.
	minCompressSize = 1 << 10
	// bufferedRows are more rows than a chunk holds, of any form: with so many, the fields of an answer are known.
	bufferedRows = 1000
)

// streamed is an answer that is written piece by piece.
type streamed struct {
	mediaType string
	// etag is the strong tag of the uncompressed form, without its quotes.
	etag string
	// modified may be zero.
	modified time.Time
	// write writes it, or with a limit above 0 only its beginning and so many rows.
	write func(ctx context.Context, w io.Writer, limit int) error
}

// stream answers with a listing, in bounded memory however long it is. An error before the first chunk is an answer of its own; after
// that the connection is cut, so that nobody takes a part for the whole.
func stream(w http.ResponseWriter, r *http.Request, l streamed) error {
	h := w.Header()
	h.Set("Cache-Control", view.CachePublic)
	h.Add("Vary", "Accept-Encoding")
	if !l.modified.IsZero() {
		h.Set("Last-Modified", l.modified.UTC().Format(http.TimeFormat))
	}
	plain, zipped := `"`+l.etag+`"`, `"`+l.etag+`-gzip"`
	zip := acceptsGzip(r.Header["Accept-Encoding"])
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
	s := &sender{w: w, etag: plain, zip: zip, silent: r.Method == http.MethodHead, buf: bufferPool.Get().(*[]byte)}
	defer s.release()
	h.Set("Content-Type", l.mediaType)
	if zip {
		s.zipped = zipped
	}
	rows := 0
	if s.silent {
		rows = bufferedRows
	}
	err := l.write(r.Context(), s, rows)
	if err == nil {
		err = s.end()
	}
	switch {
	case err == nil:
		return nil
	case s.begun:
		panic(http.ErrAbortHandler)
	}
	for _, name := range []string{"Content-Type", "Content-Disposition", "Last-Modified", "Vary", "Link"} {
		h.Del(name)
	}
	return err
}

var (
	bufferPool = sync.Pool{New: func() any { return new(make([]byte, 0, 2*chunk)) }}
	gzipPool   = sync.Pool{New: func() any {
		w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level exists
		return w
	}}
)

// sender gathers what is written and sends it in chunks, compressed where the client takes that and it pays.
type sender struct {
	w http.ResponseWriter
	// etag and zipped are the tags of the two forms.
	etag, zipped string
	zip, silent  bool
	// begun tells that the header went out.
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
		s.begin(true, -1)
	}
	return len(p), s.flush()
}

// begin sends the header. A length below 0 is not known yet.
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

// end sends what is left. An answer that fits into a chunk goes out whole.
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
	if s.gz != nil {
		s.gz.Reset(io.Discard)
		gzipPool.Put(s.gz)
	}
	*s.buf = (*s.buf)[:0]
	bufferPool.Put(s.buf)
}
