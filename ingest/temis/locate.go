package temis

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// locate finds the southernmost row of a region in the grid of a month. A mean is of many cells; the place is the first of them. The first
// line states the version.
func locate(r ingest.Response, id series.ID, observedAt time.Time) (ingest.Place, bool) {
	u, err := url.Parse(r.Request.URL)
	if err != nil {
		return ingest.Place{}, false
	}
	if month, ok := monthOf(u.Path); !ok || !month.Equal(observedAt) {
		return ingest.Place{}, false
	}
	text, members, err := unpack(r.Body)
	if err != nil {
		return ingest.Place{}, false
	}
	var p ingest.Place
	if id == versionSeries {
		p.Length, p.Where = bytes.IndexByte(text, '\n'), "the first line"
		return within(p, members), p.Length > 0
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
	return within(p, members), true
}

// member is a packed file of a body, with the position of its text in the whole.
type member struct{ from, to, text, end int }

// unpack returns the text of a grid, and the packed files that it came in. A grid that is not packed has none.
func unpack(body []byte) (text []byte, members []member, err error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil, nil
	}
	packed := bytes.NewReader(body) // it reads byte by byte, so its position is the end of a file
	unpacked, err := gzip.NewReader(packed)
	for err == nil {
		unpacked.Multistream(false)
		m := member{text: len(text)}
		if n := len(members); n > 0 {
			m.from = members[n-1].to
		}
		more, err := io.ReadAll(io.LimitReader(unpacked, maxText+1-int64(len(text))))
		if err != nil {
			return nil, nil, err
		}
		text = append(text, more...)
		m.to, m.end = len(body)-packed.Len(), len(text)
		members = append(members, m)
		if len(text) > maxText {
			return nil, nil, fmt.Errorf("the text continues after %d bytes", maxText)
		}
		if err := unpacked.Reset(packed); err != nil {
			if errors.Is(err, io.EOF) {
				return text, members, nil
			}
			return nil, nil, err
		}
	}
	return nil, nil, err
}

// within is a place in the packed file that holds it.
func within(p ingest.Place, members []member) ingest.Place {
	for _, m := range members {
		if m.text <= p.Offset && p.Offset < m.end {
			p.Part, p.From, p.To = ingest.PartGzip, m.from, m.to
			p.Length = min(p.Length, m.end-p.Offset)
			p.Offset -= m.text
			return p
		}
	}
	return p
}
