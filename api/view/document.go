package view

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// The media types of the answers.
const (
	TypeJSON     = "application/json"
	TypeProblem  = "application/problem+json"
	TypeMarkdown = "text/markdown; charset=utf-8"
	TypeHTML     = "text/html; charset=utf-8"
)

// How long a copy of an answer may be used.
const (
	// CachePublic is for answers that follow the data.
	CachePublic = "public, max-age=60, stale-while-revalidate=300"
	// CacheImmutable is for answers whose address changes with their content.
	CacheImmutable = "public, max-age=31536000, immutable"
	// CacheNever is for answers about one request.
	CacheNever = "no-store"
)

// PagePolicy is the content security policy of a page: it loads nothing from elsewhere. The directives after the first do not fall back
// to it.
const PagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// minCompressSize is the size in bytes from which a body is worth compressing.
const minCompressSize = 1 << 10

// Document is one finished answer: the bytes that are sent, and the header fields that go with them. It is immutable.
type Document struct {
	Identity Representation
	// Gzip is the same compressed; its Body is nil where that is not worth it.
	Gzip Representation
}

// Representation is one form of a document.
type Representation struct {
	Body []byte
	// Tail is what follows Body where the document is too long to be in one place.
	Tail [][]byte
	// ETag is strong: of the uncompressed body's SHA-256, with the coding's name where there is one.
	ETag string
	// Header holds the fields that depend on the document alone. Its slices are shared by all requests: read only.
	Header http.Header
}

// NewDocument finishes a body. A zero modified means that it is unknown.
func NewDocument(mediaType, cacheControl string, body []byte, modified time.Time) *Document {
	sum := sha256.Sum256(body)
	tag := hex.EncodeToString(sum[:16])
	represent := func(body []byte, tag string) Representation {
		r := Representation{Body: body, ETag: `"` + tag + `"`, Header: http.Header{}}
		r.Header.Set("Content-Type", mediaType)
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
		r.Header.Set("Cache-Control", cacheControl)
		r.Header.Set("ETag", r.ETag)
		if !modified.IsZero() {
			r.Header.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
		}
		return r
	}
	d := &Document{Identity: represent(body, tag)}
	if len(body) < minCompressSize {
		return d
	}
	if compressed := compress(body); len(compressed) < len(body) {
		d.Gzip = represent(compressed, tag+"-gzip")
		d.Gzip.Header.Set("Content-Encoding", "gzip")
		d.Gzip.Header.Set("Vary", "Accept-Encoding")
		d.Identity.Header.Set("Vary", "Accept-Encoding")
	}
	return d
}

// compressors are kept because each has most of a megabyte of tables.
var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // the level exists
	return w
}}

// compress cannot fail: it writes to memory.
func compress(body []byte) []byte {
	w := compressors.Get().(*gzip.Writer)
	defer compressors.Put(w)
	var out bytes.Buffer
	w.Reset(&out)
	_, _ = w.Write(body)
	_ = w.Close()
	return out.Bytes()
}

// Encode returns v as one line of JSON, with "<" and "&" as they are: the bytes of a body, not fit to stand inside HTML.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a %T: %w", v, err)
	}
	return out.Bytes(), nil
}
