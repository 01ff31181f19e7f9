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
	if r, ok := roundedFast(f); ok {
		return r
	}
	return rounded(f, ServedDigits)
}

// tens are the powers of ten that a double has exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// roundedFast returns what rounded does of a number of usual size, without a text between. It reports false where it is not sure.
//
// It scales the number to a whole one of twelve digits. The product differs from the true one by less than 2^-13, so it is rounded the right
// way unless it is as near to a half. The quotient of two doubles is rounded once, as ParseFloat rounds.
func roundedFast(f float64) (float64, bool) {
	size := math.Abs(f)
	if !(size >= 1e-10 && size < 1e12) { // NaN, too
		return f, f == 0
	}
	// 1233/4096 is about the logarithm of two. The number of decimals is right, or one too large.
	decimals := ServedDigits - 1 - (int(math.Float64bits(size)>>52)-1023)*1233>>12
	scaled := size * tens[decimals]
	if scaled >= 1e12 {
		decimals--
		scaled = size * tens[decimals]
	}
	whole := int64(scaled)
	rest := scaled - float64(whole)
	if math.Abs(rest-0.5) < 1.0/4096 {
		return 0, false
	}
	if rest > 0.5 {
		whole++
	}
	return math.Copysign(float64(whole)/tens[decimals], f), true
}

// rounded returns a number with a number of significant digits.
func rounded(f float64, digits int) float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return f
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', digits, 64), 64)
	if err != nil { // the largest numbers round up to infinity
		return f
	}
	return v
}

// StatisticDigits is the number of significant digits of a served statistic, such as a correlation, a share or a mean error. A sample of
// some hundred cases does not determine further ones.
const StatisticDigits = 6

// Statistic returns a statistic as it is stored and served, nil if it is unknown.
func Statistic(f float64) *float64 { return Known(rounded(f, StatisticDigits)) }

// statistic rounds a statistic that may be unknown.
func statistic(f *float64) *float64 {
	if f == nil {
		return nil
	}
	return Statistic(*f)
}

// statistics rounds the bounds of a statistic, which may be unknown.
func statistics(pair *[2]float64) *[2]float64 {
	if pair == nil {
		return nil
	}
	return &[2]float64{rounded(pair[0], StatisticDigits), rounded(pair[1], StatisticDigits)}
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
