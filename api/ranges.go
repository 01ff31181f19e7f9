package api

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"tidemark/api/view"
)

// serveBytes serves a body of a size whole or in ranges, under the conditions of the request. The header of the response has its type and its
// ETag.
func serveBytes(w http.ResponseWriter, r *http.Request, body io.ReadSeeker, size int) error {
	if asked := r.Header["Range"]; asked != nil {
		r = r.Clone(r.Context())
		r.Header.Del("Range")
		// HEAD is answered as GET is. RFC 9110, 14.2, gives it no ranges, but DuckDB asks by it whether a server has any. No range lies in an
		// empty body.
		if meant := readRanges(asked, size); meant != "" && size > 0 {
			r.Header.Set("Range", meant)
		}
	}
	held := &refusalHolder{ResponseWriter: w}
	http.ServeContent(held, r, "", time.Time{}, body)
	if held.status == 0 {
		return nil
	}
	h := w.Header()
	h.Del("Content-Disposition")
	h.Del("ETag")
	if held.status == http.StatusPreconditionFailed {
		return &problemError{code: view.CodePreconditionFailed, detail: "The bytes have none of the ETags that If-Match names."}
	}
	h.Set("Content-Range", fmt.Sprintf("bytes */%d", size))
	return &problemError{code: view.CodeRangeNotSatisfiable, detail: fmt.Sprintf("No range begins within the %d bytes.", size)}
}

// maxPiece is the largest number of bytes that a pieceReader reads at once.
const maxPiece = 512 << 10

// pieceReader reads a body of a size in pieces, so that a range costs little more than its own bytes. Pieces double while it reads on without
// a gap. It is for one response and not safe for concurrent use.
type pieceReader struct {
	// read returns n bytes of the body from a position on.
	read func(from, n int64) ([]byte, error)
	size int64

	// at is the position of the next byte. piece are the bytes from it on that are there already, last is the size of the piece before.
	at    int64
	piece []byte
	last  int64
	// err is the last error of read. Net/http reads several ranges in a goroutine that may outlive the response.
	err atomic.Pointer[error]
}

func (p *pieceReader) Read(into []byte) (int, error) {
	if p.at >= p.size {
		return 0, io.EOF
	}
	if len(p.piece) == 0 {
		n := min(max(int64(len(into)), 2*p.last), maxPiece, p.size-p.at)
		piece, err := p.read(p.at, n)
		if err == nil && int64(len(piece)) != n {
			err = fmt.Errorf("%d of %d bytes from %d: %w", len(piece), n, p.at, io.ErrUnexpectedEOF)
		}
		if err != nil {
			p.err.Store(&err)
			return 0, err
		}
		p.piece, p.last = piece, n
	}
	n := copy(into, p.piece)
	p.at, p.piece = p.at+int64(n), p.piece[n:]
	return n, nil
}

// Seek moves to another position. It reads nothing.
func (p *pieceReader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += p.at
	case io.SeekEnd:
		offset += p.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the begin of a body")
	}
	if offset != p.at {
		p.at, p.piece, p.last = offset, nil, 0
	}
	return offset, nil
}

// refusalHolder passes a response on, but holds back one with status 412 or 416. Its problem is served instead.
type refusalHolder struct {
	http.ResponseWriter

	// status is the status of the response held back, or 0.
	status int
}

func (h *refusalHolder) WriteHeader(status int) {
	if status == http.StatusPreconditionFailed || status == http.StatusRequestedRangeNotSatisfiable {
		h.status = status
		return
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *refusalHolder) Write(p []byte) (int, error) {
	if h.status != 0 {
		return len(p), nil
	}
	return h.ResponseWriter.Write(p)
}

// maxRanges is how many ranges of a body a request can have, and maxOverlaps how many of them can overlap one before it. Each range is a read
// of the database. Readers of Parquet join ranges that are near each other, and ask for a few.
const (
	maxRanges   = 16
	maxOverlaps = 2
)

// readRanges returns the header field Range of a request for net/http. It is empty if RFC 9110 lets the field be ignored: it has another
// unit, is not well formed, or names many ranges, or more than two that overlap (section 14.2). Net/http would refuse such a field. It would also refuse positions of more than 63 bits, and serve no bytes
// for a suffix of length 0.
func readRanges(fields []string, size int) string {
	unit, set, _ := strings.Cut(fields[0], "=")
	if len(fields) > 1 || !strings.EqualFold(unit, "bytes") {
		return ""
	}
	var ranges []string
	var spans [][2]int64
	overlaps := 0
	for spec := range strings.SplitSeq(set, ",") {
		spec = strings.Trim(spec, " \t")
		if spec == "" { // lists may have empty elements
			continue
		}
		first, last, ok := strings.Cut(spec, "-")
		from, okFirst := position(first)
		to, okLast := position(last)
		begin, end := from, min(to, int64(size)-1)
		switch {
		case !ok || !okFirst || !okLast || first == "" && last == "" || first != "" && last != "" && to < from:
			return ""
		case first == "" && to == 0:
			spec = strconv.Itoa(size) + "-" // it begins at the end: no byte is meant
			begin, end = int64(size), int64(size)-1
		case first == "":
			spec = fmt.Sprintf("-%d", to)
			begin, end = max(int64(size)-to, 0), int64(size)-1
		case last == "":
			spec = fmt.Sprintf("%d-", from)
			end = int64(size) - 1
		default:
			spec = fmt.Sprintf("%d-%d", from, to)
		}
		if slices.ContainsFunc(spans, func(s [2]int64) bool { return begin <= s[1] && s[0] <= end }) {
			overlaps++
		}
		if ranges, spans = append(ranges, spec), append(spans, [2]int64{begin, end}); len(ranges) > maxRanges || overlaps > maxOverlaps {
			return ""
		}
	}
	if ranges == nil {
		return ""
	}
	return "bytes=" + strings.Join(ranges, ",")
}

// position reads digits, or nothing. What does not fit in 63 bits is the largest position: no body is so long.
func position(digits string) (int64, bool) {
	if strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.ParseInt(digits, 10, 64) // it is the largest for too many digits, and 0 for none
	return n, true
}
