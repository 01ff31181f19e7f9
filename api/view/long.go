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
	"time"
)

// gzipMember is a part of a long body that stays unchanged while other parts change. It is immutable.
type gzipMember struct {
	body []byte
	// zipped is body as deflate blocks (RFC 1951). They do not refer to earlier data and end at a byte boundary, so pieces can be joined in
	// any order.
	zipped []byte
	digest [sha256.Size]byte
}

func newPiece(body []byte) *gzipMember {
	var out bytes.Buffer
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	w.Reset(&out)
	// neither can fail: they write to memory
	_, _ = w.Write(body)
	_ = w.Flush()
	return &gzipMember{body: body, zipped: out.Bytes(), digest: sha256.Sum256(body)}
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

// joinPieces builds a document from pieces. Apart from the gzip checksum, its cost does not depend on the length of the pieces.
func joinPieces(mediaType, cacheControl string, pieces []*gzipMember, modified time.Time) *Document {
	all, crc := sha256.New(), crc32.NewIEEE()
	plain, zipped := make([][]byte, 0, len(pieces)), append(make([][]byte, 0, len(pieces)+2), gzipHeader)
	var size uint64
	for _, p := range pieces {
		_, _ = all.Write(p.digest[:])
		_, _ = crc.Write(p.body)
		size += uint64(len(p.body))
		plain, zipped = append(plain, p.body), append(zipped, p.zipped)
	}
	end := binary.LittleEndian.AppendUint32(append([]byte(nil), lastBlock...), crc.Sum32())
	zipped = append(zipped, binary.LittleEndian.AppendUint32(end, uint32(size)))
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
	d := &Document{Identity: represent(plain, ""), Gzip: represent(zipped, "-gzip")}
	d.Gzip.Header.Set("Content-Encoding", "gzip")
	return d
}
