package view

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"tidemark/internal/columns"
	"tidemark/internal/postgres"
)

// aboutTable returns the texts that every file with typed columns contains about itself.
func aboutTable(environment, disclaimer string) []columns.Pair {
	return []columns.Pair{{Key: "service", Value: Product}, {Key: "environment", Value: environment}, {Key: "disclaimer", Value: disclaimer}}
}

// newFile returns a document in a format of a listing. Parquet is not compressed a second time.
func newFile(format string, body []byte, modified time.Time) *Document {
	d := NewDocument(formatTypes[format], CachePublic, body, modified)
	if format == FormatParquet {
		d.Gzip = Representation{}
		d.Identity.Header.Del("Vary")
	}
	return d
}

// ErrCut means that a file with typed columns has more rows than the caller wants. Nothing was written.
var ErrCut = errors.New("the file has more rows")

// writeColumns writes the whole listing in a format with types. It writes nothing before it has read the first group of rows. If limit is
// above 0 and there are more rows, it writes nothing at all and returns ErrCut.
func (l *Listing) writeColumns(ctx context.Context, w io.Writer, limit int) error {
	out := columns.New(l.request.Format, w, postgres.PointColumns(l.request.Versions), l.about...)
	n := 0
	for p, err := range l.rows(ctx) {
		if err != nil {
			return err
		}
		if n++; n > limit && limit > 0 {
			return ErrCut
		}
		if postgres.PutPoint(out, p, l.query); out.Err() != nil {
			return out.Err()
		}
	}
	return out.Close()
}

// linkColumns are the columns of linkHeader with their types. The price and the preimage stay texts, because the hash covers their exact
// characters.
var linkColumns = []columns.Column{
	{Name: "seq", Kind: columns.Integer},
	{Name: "ticker", Kind: columns.Text},
	{Name: "price", Kind: columns.Text},
	{Name: "date", Kind: columns.Date, Nullable: true},
	{Name: "previous_hash", Kind: columns.Text},
	{Name: "hash", Kind: columns.Text},
	{Name: "preimage", Kind: columns.Text},
	{Name: "attestation_status", Kind: columns.Text},
}

// writeColumns writes the page in a format with types.
func (p *RecordPage) writeColumns(w io.Writer) error {
	out := columns.New(p.format, w, linkColumns, aboutTable(p.st.o.environment(), p.st.o.disclaimer())...)
	for i := range p.links {
		l := &p.links[i]
		out.Integer(l.Seq)
		out.Text(l.Ticker)
		out.Text(l.Price)
		out.Date(l.Date)
		for _, text := range [...]string{l.PreviousHash, l.Hash, l.preimage, p.st.states.of(l.Seq)} {
			out.Text(text)
		}
		if out.Err() != nil {
			return out.Err()
		}
	}
	return out.Close()
}

// newFile builds the whole chain in a format with types.
func (st *RecordState) newFile(format string) (*Document, error) {
	var out bytes.Buffer
	if err := st.Page(1, 0, format).writeColumns(&out); err != nil {
		return nil, err
	}
	return newFile(format, out.Bytes(), time.Time{}), nil
}
