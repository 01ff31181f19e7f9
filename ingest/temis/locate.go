package temis

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// locate finds the southernmost row of a region in the grid of a month. A mean is of many cells: the place is that of the first of them.
// The version stands in the first line.
func locate(r ingest.Response, id series.ID, observedAt time.Time) (ingest.Place, bool) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Place{}, false
	}
	if month, ok := monthOf(u.Path); !ok || !month.Equal(observedAt) {
		return ingest.Place{}, false
	}
	var p ingest.Place
	text := r.Body
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		p.Part = ingest.PartGzip
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return ingest.Place{}, false
		}
		if text, err = io.ReadAll(io.LimitReader(unpacked, maxText)); err != nil {
			return ingest.Place{}, false
		}
	}
	if id == versionSeries {
		p.Length, p.Where = bytes.IndexByte(text, '\n'), "the first line"
		return p, p.Length > 0
	}
	n := slices.IndexFunc(regions, func(r region) bool { return r.id == id })
	if n < 0 {
		return ingest.Place{}, false
	}
	from, to := regions[n].rows()
	first, end := regions[n].columns()
	at := 0
	for i := range from + 1 { // to the line that names the row's latitude
		next := bytes.Index(text[at:], []byte("lat="))
		if next < 0 {
			return ingest.Place{}, false
		}
		if at += next; i < from {
			at += len("lat=")
		}
	}
	skip := first * cellWidth // characters of the row's cells
	for {
		line := bytes.IndexByte(text[at:], '\n')
		if line < 0 {
			return ingest.Place{}, false
		}
		at += line + 1
		length := bytes.IndexAny(text[at:], "\r\n")
		if length < 0 {
			return ingest.Place{}, false
		}
		if skip < length {
			p.Offset, p.Length = at+skip, min((end-first)*cellWidth, length-skip)
			break
		}
		skip -= length
	}
	p.Where = fmt.Sprintf("the mean of the cells in %d rows of %d, from latitude %g and longitude %g on; here the first cells", to-from, end-first,
		latitude(from), firstLon+gridStep*float64(first))
	return p, true
}
