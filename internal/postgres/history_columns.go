package postgres

import (
	"math"
	"strconv"

	"tidemark/internal/columns"
)

// ServedDigits is the maximum number of significant digits of a served number. No publisher states as many, and further digits are arithmetic
// noise: 16.207999999999988 is 16.208. Stored values keep every bit.
const ServedDigits = 12

// Rounded returns a number as it is served.
func Rounded(f float64) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', ServedDigits, 64), 64)
	if err != nil { // the largest numbers round up to infinity
		return f
	}
	return v
}

// PointColumns are the typed columns of a history. versions adds the columns of all versions.
func PointColumns(versions bool) []columns.Column {
	list := []columns.Column{{Name: "observed_at", Kind: columns.Instant}, {Name: "ingested_at", Kind: columns.Instant}}
	for _, name := range []string{"value", "uncertainty_lo", "uncertainty_hi", "baseline_value", "delta_vs_baseline_pct", "z_score"} {
		list = append(list, columns.Column{Name: name, Kind: columns.Number, Nullable: true})
	}
	list = append(list, columns.Column{Name: "vintage", Kind: columns.Integer}, columns.Column{Name: "revised", Kind: columns.Bool})
	if versions {
		list = append(list, columns.Column{Name: "known_from", Kind: columns.Instant, Nullable: true},
			columns.Column{Name: "known_to", Kind: columns.Instant, Nullable: true})
	}
	return append(list, columns.Column{Name: "published_at", Kind: columns.Instant}, columns.Column{Name: "published_at_assumed", Kind: columns.Bool},
		columns.Column{Name: "bounds", Kind: columns.Text, Nullable: true}, columns.Column{Name: "basis", Kind: columns.Text, Nullable: true})
}

// PutPoint adds a point that q selected. Its numbers are rounded as in CSV and JSON.
func PutPoint(w *columns.Writer, p Point, q HistoryQuery) {
	ingested, first := p.PublishedAt, q.FirstIngested
	if ingested.Before(first) {
		ingested = first
	}
	w.Instant(p.ObservedAt)
	w.Instant(ingested)
	for _, v := range [...]float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z} {
		w.Number(Rounded(v))
	}
	w.Integer(int64(p.Vintage))
	w.Bool(p.Vintage > 1)
	if q.Versions {
		w.Instant(p.KnownFrom)
		w.Instant(p.KnownTo)
	}
	w.Instant(p.PublishedAt)
	w.Bool(!p.PublishedAt.After(first))
	interval := q.Interval.Of(p)
	for _, text := range [...]string{interval.Bounds, interval.Basis} {
		if text == "" {
			w.Null()
			continue
		}
		w.Text(text)
	}
}
