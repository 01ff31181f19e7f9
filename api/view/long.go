package view

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// gzipMember is a part of a long body that stays unchanged while other parts change.
type gzipMember struct {
	body   []byte
	digest [sha256.Size]byte
	// zipped is body as deflate blocks (RFC 1951), nil until deflate is called. The blocks do not refer to earlier data and end at a byte boundary, so pieces
	// can be joined in any order.
	zipped atomic.Pointer[[]byte]
}

func newPiece(body []byte) *gzipMember { return &gzipMember{body: body, digest: sha256.Sum256(body)} }

// deflate returns the compressed piece. It compresses it only once.
func (p *gzipMember) deflate() []byte {
	if zipped := p.zipped.Load(); zipped != nil {
		return *zipped
	}
	var out bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	// neither can fail: they write to memory
	_, _ = w.Write(p.body)
	_ = w.Flush()
	zipped := out.Bytes()
	p.zipped.Store(&zipped)
	return zipped
}

// notDeflated returns how many bytes of the pieces are not compressed yet.
func notDeflated(pieces []*gzipMember) (size int) {
	for _, p := range pieces {
		if p.zipped.Load() == nil {
			size += len(p.body)
		}
	}
	return size
}

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.DefaultCompression) // the level is valid
	return w
}}

// The frame of the deflate blocks in a gzip file (RFC 1952): a header without a name or a time, and an empty last block.
var (
	gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	lastBlock  = []byte{3, 0}
)

// joinPieces builds a document from pieces, with its compressed form only if compressed is set. For compressed pieces its cost does not depend on their
// length, apart from the gzip checksum.
func joinPieces(mediaType, cacheControl string, pieces []*gzipMember, modified time.Time, compressed bool) *Document {
	all := sha256.New()
	plain := make([][]byte, 0, len(pieces))
	for _, p := range pieces {
		_, _ = all.Write(p.digest[:])
		plain = append(plain, p.body)
	}
	represent := func(parts [][]byte, suffix string) Representation {
		r := Representation{Body: parts[0], Tail: parts[1:], ETag: `"` + hex.EncodeToString(all.Sum(nil)[:16]) + suffix + `"`, Header: http.Header{}}
		length := 0
		for _, p := range parts {
			length += len(p)
		}
		r.Header.Set("Content-Type", mediaType)
		r.Header.Set("Content-Length", strconv.Itoa(length))
		r.Header.Set("Cache-Control", cacheControl)
		r.Header.Set("ETag", r.ETag)
		r.Header.Set("Vary", "Accept, Accept-Encoding")
		if !modified.IsZero() {
			r.Header.Set("Last-Modified", modified.UTC().Format(http.TimeFormat))
		}
		return r
	}
	d := &Document{Identity: represent(plain, "")}
	if compressed {
		d.Gzip = represent(gzipOf(pieces), gzipSuffix)
		d.Gzip.Header.Set("Content-Encoding", "gzip")
	}
	return d
}

// gzipOf returns the parts of a gzip file of the pieces.
func gzipOf(pieces []*gzipMember) [][]byte {
	parts, crc := append(make([][]byte, 0, len(pieces)+2), gzipHeader), crc32.NewIEEE()
	var size uint64
	for _, p := range pieces {
		_, _ = crc.Write(p.body)
		size += uint64(len(p.body))
		parts = append(parts, p.deflate())
	}
	end := binary.LittleEndian.AppendUint32(append([]byte(nil), lastBlock...), crc.Sum32())
	return append(parts, binary.LittleEndian.AppendUint32(end, uint32(size)))
}
