package view

import (
	"math"
	"strconv"
	"time"

	"tidemark/internal/columns"
	"tidemark/internal/postgres"
)

// The formats of a listing.
const (
	FormatJSON   = "json"
	FormatCSV    = "csv"
	FormatNDJSON = "ndjson"
	// FormatParquet and FormatArrow have the rows of CSV, in typed columns.
	FormatParquet = columns.Parquet
	FormatArrow   = columns.Arrow
)

// The media types that only listings have. CSV is UTF-8 by default (RFC 7111).
const (
	TypeCSV    = "text/csv"
	TypeNDJSON = "application/x-ndjson"
	// TypeParquet and TypeArrow are the registered types of Apache Parquet and of Arrow's streaming format.
	TypeParquet = "application/vnd.apache.parquet"
	TypeArrow   = "application/vnd.apache.arrow.stream"
)

// Formats are the formats of a listing, the default first.
func Formats() []string {
	return []string{FormatJSON, FormatCSV, FormatNDJSON, FormatParquet, FormatArrow}
}

// FormatType returns the media type of a format, without parameters, or an empty string if the format is unknown.
func FormatType(format string) string { return formatTypes[format] }

// Columnar reports whether a format has typed columns. Its bytes are written in groups of rows.
func Columnar(format string) bool { return format == FormatParquet || format == FormatArrow }

var formatTypes = map[string]string{
	FormatJSON: TypeJSON, FormatCSV: TypeCSV, FormatNDJSON: TypeNDJSON, FormatParquet: TypeParquet, FormatArrow: TypeArrow,
}

// The rows are encoded by hand: a million rows a second, several times as fast as the database sends them. Reflection is slower than the
// database.

// ingested returns when we received the bytes published at an instant. It is never earlier than the first load of the signal's inputs.
func ingested(published, first time.Time) time.Time {
	if published.Before(first) {
		return first
	}
	return published
}

func appendPointJSON(b []byte, p postgres.Point, q postgres.HistoryQuery) []byte {
	first := q.FirstIngested
	b = append(b, `{"observed_at":`...)
	b = appendTime(b, p.ObservedAt)
	b = append(b, `,"ingested_at":`...)
	b = appendTime(b, ingested(p.PublishedAt, first))
	b = append(b, `,"value":`...)
	b = appendNumber(b, p.Value, "null")
	b = append(b, `,"uncertainty_lo":`...)
	b = appendNumber(b, p.Lo, "null")
	b = append(b, `,"uncertainty_hi":`...)
	b = appendNumber(b, p.Hi, "null")
	b = append(b, `,"baseline_value":`...)
	b = appendNumber(b, p.Baseline, "null")
	b = append(b, `,"delta_vs_baseline_pct":`...)
	b = appendNumber(b, p.DeltaPct, "null")
	b = append(b, `,"z_score":`...)
	b = appendNumber(b, p.Z, "null")
	b = append(b, `,"vintage":`...)
	b = strconv.AppendInt(b, int64(p.Vintage), 10)
	b = append(b, `,"revised":`...)
	b = strconv.AppendBool(b, p.Vintage > 1)
	if q.Versions {
		b = append(b, `,"known_from":`...)
		b = appendTime(b, p.KnownFrom)
		b = append(b, `,"known_to":`...)
		b = appendTime(b, p.KnownTo)
	}
	b = append(b, `,"published_at":`...)
	b = appendTime(b, p.PublishedAt)
	b = append(b, `,"published_at_assumed":`...)
	b = strconv.AppendBool(b, !p.PublishedAt.After(first))
	interval := q.Interval.Of(p)
	b = append(b, `,"bounds":`...)
	b = appendName(b, interval.Bounds)
	b = append(b, `,"basis":`...)
	b = appendName(b, interval.Basis)
	return append(b, '}')
}

// appendTime appends a JSON string, or null for the zero time.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, "null"...)
	}
	b = append(b, '"')
	b = t.AppendFormat(b, time.RFC3339Nano)
	return append(b, '"')
}

// appendName appends one of the API's own names as a JSON string, or null if it is empty.
func appendName(b []byte, name string) []byte {
	if name == "" {
		return append(b, "null"...)
	}
	return strconv.AppendQuote(b, name)
}

// csvHeader returns the column names of CSV.
func csvHeader(versions bool) string {
	out := "observed_at,ingested_at,value,uncertainty_lo,uncertainty_hi,baseline_value,delta_vs_baseline_pct,z_score,vintage,revised"
	if versions {
		out += ",known_from,known_to"
	}
	return out + ",published_at,published_at_assumed,bounds,basis\r\n"
}

// appendPointCSV appends a line without its line ending. None of its cells needs quotes.
func appendPointCSV(b []byte, p postgres.Point, q postgres.HistoryQuery) []byte {
	first := q.FirstIngested
	b = p.ObservedAt.AppendFormat(b, time.RFC3339Nano)
	b = append(b, ',')
	b = ingested(p.PublishedAt, first).AppendFormat(b, time.RFC3339Nano)
	for _, v := range [...]float64{p.Value, p.Lo, p.Hi, p.Baseline, p.DeltaPct, p.Z} {
		b = append(b, ',')
		b = appendNumber(b, v, "")
	}
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(p.Vintage), 10)
	b = append(b, ',')
	b = strconv.AppendBool(b, p.Vintage > 1)
	if q.Versions {
		b = append(b, ',')
		b = p.KnownFrom.AppendFormat(b, time.RFC3339Nano)
		b = append(b, ',')
		if !p.KnownTo.IsZero() {
			b = p.KnownTo.AppendFormat(b, time.RFC3339Nano)
		}
	}
	b = append(b, ',')
	b = p.PublishedAt.AppendFormat(b, time.RFC3339Nano)
	b = append(b, ',')
	b = strconv.AppendBool(b, !p.PublishedAt.After(first))
	interval := q.Interval.Of(p)
	return append(append(append(append(b, ','), interval.Bounds...), ','), interval.Basis...)
}

// digits is the maximum number of significant digits of a served number.
const digits = postgres.ServedDigits

// appendNumber appends a number, or the text for an unknown one.
func appendNumber(b []byte, v float64, unknown string) []byte {
	if math.IsNaN(v) {
		return append(b, unknown...)
	}
	return strconv.AppendFloat(b, v, 'g', digits, 64)
}

// served returns a number as it is served, or nil if JSON cannot represent it.
func served(f *float64) *float64 {
	if f = finite(f); f == nil {
		return nil
	}
	return new(postgres.Rounded(*f))
}
