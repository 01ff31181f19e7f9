package picks

import (
	"math"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
)

// Lang is the code of a language that texts are written in.
type Lang = locale.Lang

// English is the language of a reader who asks for none.
const English = locale.English

// Langs lists the languages, in the order in which they are named.
func Langs() []Lang { return languages.Codes() }

// ParseLang finds the language of a code, and whether there is one.
func ParseLang(code string) (Lang, bool) {
	l := Lang(code)
	return l, languages.Find(l) != nil
}

// Unit says how a datum is written and what it may be compared with.
type Unit = locale.Unit

// Datum is one fact that a text may name.
type Datum struct {
	// ID is unique within a text's facts, for example "net_margin".
	ID string
	// Value is the number as it is written, rounded, with a point for the decimals and no separators; or a date, a name, a key.
	Value string
	Unit  Unit
	// AsOf is the date that the value is about; zero when it has none.
	AsOf time.Time
	// Source is the index of the source that states it; -1 for our own computations.
	Source int
	// Signed reports that a positive number has a plus: it is a change, whose minus a reader also sees.
	Signed bool
}

// Number is the value as a number; NaN for a datum without one.
func (d Datum) Number() float64 {
	switch d.Unit {
	case locale.Date, locale.Month, locale.Name, locale.Term:
		return math.NaN()
	}
	v, err := strconv.ParseFloat(d.Value, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// Data are the facts of one text.
type Data []Datum

// Find is the datum of an id, and whether there is one.
func (d Data) Find(id string) (Datum, bool) {
	i := slices.IndexFunc(d, func(x Datum) bool { return x.ID == id })
	if i < 0 {
		return Datum{}, false
	}
	return d[i], true
}

// Has reports whether all ids are present.
func (d Data) Has(ids ...string) bool {
	for _, id := range ids {
		if _, ok := d.Find(id); !ok {
			return false
		}
	}
	return true
}

// add appends a datum, unless the value is not a number.
func (d *Data) add(id string, value float64, decimals int, unit Unit, asOf time.Time, source int) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	*d = append(*d, Datum{ID: id, Value: decimal(value, decimals), Unit: unit, AsOf: asOf, Source: source})
}

// percent appends a fraction as a percentage with one decimal.
func (d *Data) percent(id string, fraction float64, asOf time.Time, source int) {
	d.add(id, 100*fraction, 1, locale.Percent, asOf, source)
}

// dollars appends an amount of US dollars in millions, or in billions from one billion on, with one decimal.
func (d *Data) dollars(id string, amount float64, asOf time.Time, source int) {
	if math.Abs(amount) >= 1e9 {
		d.add(id, amount/1e9, 1, locale.Billions, asOf, source)
	} else {
		d.add(id, amount/1e6, 1, locale.Millions, asOf, source)
	}
}

// date appends a date.
func (d *Data) date(id string, day time.Time) {
	*d = append(*d, Datum{ID: id, Value: day.Format(time.DateOnly), Unit: locale.Date, AsOf: day, Source: -1})
}

// word appends a name or a term; an empty one is left out.
func (d *Data) word(id, value string, unit Unit) {
	if value != "" {
		*d = append(*d, Datum{ID: id, Value: value, Unit: unit, Source: -1})
	}
}

// decimal is a number as plain text, halves rounded away from zero, without a minus zero.
func decimal(v float64, decimals int) string {
	scale := math.Pow10(decimals)
	if r := math.Round(v*scale) / scale; math.Abs(v*scale) < 1e15 {
		v = r
	}
	if v == 0 {
		v = 0 // never minus zero
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Source is a document that facts were taken from.
type Source struct {
	// Title names it, for example "Form 10-K, 2026-02-20".
	Title string
	URL   string
	// RetrievedAt is when its content was known to us, in UTC; zero when unknown.
	RetrievedAt time.Time
}
