package view

import (
	"context"
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

// pointColumns are the columns of csvHeader with their types.
func pointColumns(versions bool) []columns.Column {
	list := []columns.Column{{Name: "observed_at", Kind: columns.Instant}, {Name: "ingested_at", Kind: columns.Instant}}
	for _, name := range []string{"value", "uncertainty_lo", "uncertainty_hi", "baseline_value", "delta_vs_baseline_pct", "z_score"} {
		list = append(list, columns.Column{Name: name, Kind: columns.Number, Nullable: true})
	}
	list = append(list, columns.Column{Name: "vintage", Kind: columns.Integer}, columns.Column{Name: "revised", Kind: columns.Bool})
	if versions {
		list = append(list, columns.Column{Name: "known_from", Kind: columns.Instant, Nullable: true},
			columns.Column{Name: "known_to", Kind: columns.Instant, Nullable: true})
	}
	return append(list, columns.Column{Name: "published_at", Kind: columns.Instant}, columns.Column{Name: "published_at_assumed", Kind: columns.Bool})
}

// putPoint adds a point. Its numbers are those of CSV and JSON, rounded in the same way.
func putPoint(w *columns.Writer, p postgres.Point, first time.Time, versions bool) {
	w.Instant(p.ObservedAt)
	w.Instant(ingested(p.PublishedAt, first))
	for _, v := range [...]float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z} {
		if shown := served(&v); shown != nil {
			w.Number(*shown)
		} else {
			w.Null()
		}
	}
	w.Integer(int64(p.Vintage))
	w.Bool(p.Vintage > 1)
	if versions {
		w.Instant(p.KnownFrom)
		w.Instant(p.KnownTo)
	}
	w.Instant(p.PublishedAt)
	w.Bool(p.PublishedAt.Before(first))
}

// writeColumns writes the whole listing in a format with types. It writes nothing before it has read the first group of rows.
func (l *Listing) writeColumns(ctx context.Context, w io.Writer) error {
	out := columns.New(l.request.Format, w, pointColumns(l.request.Versions), l.about...)
	for p, err := range l.rows(ctx) {
		if err != nil {
			return err
		}
		if putPoint(out, p, l.request.first, l.request.Versions); out.Err() != nil {
			return out.Err()
		}
	}
	return out.Close()
}

// linkColumns are the columns of linkHeader with their types. The price and the preimage stay texts: they are hashed as they stand.
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
