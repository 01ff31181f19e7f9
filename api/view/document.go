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

// The media types of the responses.
const (
	TypeJSON     = "application/json"
	TypeProblem  = "application/problem+json"
	TypeMarkdown = "text/markdown; charset=utf-8"
	TypeHTML     = "text/html; charset=utf-8"
)

// How long caches may use a copy of a response.
const (
	// CachePublic is for responses that change with the data.
	CachePublic = "public, max-age=60, stale-while-revalidate=300"
	// CacheImmutable is for responses whose URL changes with their content.
	CacheImmutable = "public, max-age=31536000, immutable"
	// CacheNever is for responses to a single request.
	CacheNever = "no-store"
)

// PagePolicy is the content security policy of a page: it loads nothing from other sites. The directives after the first do not inherit
// from it.
const PagePolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// FramePrefix begins the paths of the pages that other sites can show in a frame.
const FramePrefix = "/embed/"

// FramePolicy allows other sites to show the page in a frame. The page loads nothing from other sites, and has no form and no cookie.
const FramePolicy = "default-src 'self'; base-uri 'none'; form-action 'none'"

// gzipSuffix ends the tag of a compressed form.
const gzipSuffix = "-gzip"

// minCompressSize is the minimum size in bytes of a body that is worth compressing.
const minCompressSize = 1 << 10

// Document is a finished response: its bytes and its header fields. It is immutable.
type Document struct {
	Identity Representation
	// Gzip is the compressed form. Its Body is nil if compression is not worth it.
	Gzip Representation
}

// Representation is one form of a document.
type Representation struct {
	Body []byte
	// Tail follows Body if the document is too long for one slice.
	Tail [][]byte
	// ETag is a strong tag. It is derived from the uncompressed body's SHA-256, and from the name of the content coding, if any.
	ETag string
	// Header contains the fields that depend on the document alone. All requests share its slices: do not modify them.
	Header http.Header
}

// NewDocument builds a document from a body. A zero modified means that the time is unknown.
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
		d.Gzip = represent(compressed, tag+gzipSuffix)
		d.Gzip.Header.Set("Content-Encoding", "gzip")
		d.Gzip.Header.Set("Vary", "Accept-Encoding")
		d.Identity.Header.Set("Vary", "Accept-Encoding")
	}
	return d
}

// WithTag returns the same document with other tags. tag is the new tag's text, without quotation marks.
func (d *Document) WithTag(tag string) *Document {
	tagged := *d
	tagged.Identity.retag(tag)
	if tagged.Gzip.Body != nil {
		tagged.Gzip.retag(tag + gzipSuffix)
	}
	return &tagged
}

// retag replaces the tag. The header is cloned, because the original document shares it.
func (r *Representation) retag(tag string) {
	r.ETag = `"` + tag + `"`
	r.Header = r.Header.Clone()
	r.Header.Set("ETag", r.ETag)
}

// compressors pools the writers, because each has almost a megabyte of tables.
var compressors = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestCompression) // the level is valid
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

// Encode returns v as one line of JSON. It does not escape "<" and "&", so the result is not safe inside HTML.
func Encode(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode a %T: %w", v, err)
	}
	return out.Bytes(), nil
}
