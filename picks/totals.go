package picks

import (
	"slices"
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// Figures of concepts whose tags state totals and parts. The total of each period is found separately. Figures of several periods are
// combined only if they state the same thing.

// sameThing reports whether two tags of a concept state the same thing at this company. They do if they are one tag. They also do if the
// newest periods that ended on one day at most three years before a date, and that both tags state, have the same amounts. What one filing
// states under both counts. Where no filing states a period under both, as in the first year of a new tag, two filings may state it.
func (b *Financials) sameThing(c concept, x, y string, before time.Time) bool {
	if x == y {
		return true
	}
	var newest time.Time
	same := false
	list, other := b.stated[tagUnit{c.Taxonomy, x, c.Unit}], tagUnit{c.Taxonomy, y, c.Unit}
	for i, f := range list {
		if repeats(list, i) || f.End.Before(before.AddDate(-3, 0, 0)) {
			continue
		}
		p := Period{f.Start, f.End}
		if equal, both := sameAmounts(b.statements(tagUnit{c.Taxonomy, x, c.Unit}, p), b.statements(other, p)); both {
			same = equal && (same || !f.End.Equal(newest))
			newest = f.End
		}
	}
	return same
}

// sameAmounts reports whether statements about one period under two tags have the same amount in each filing that has both, or in two filings
// where none has both.
func sameAmounts(x, y []equity.Fact) (equal, both bool) {
	equal = true
	anywhere, one := false, false
	for _, f := range x {
		for _, g := range y {
			anywhere = anywhere || f.Value == g.Value
			if f.Accession == g.Accession {
				one = true
				equal = equal && f.Value == g.Value
			}
		}
	}
	if !one {
		equal = anywhere
	}
	return equal, len(x) > 0 && len(y) > 0
}

// comparable reports whether two figures of a concept, each of one fact, state the same thing.
func (b *Financials) comparable(c concept, f, g Figure) bool {
	if !f.Known() || !g.Known() {
		return false
	}
	for _, x := range f.From {
		for _, y := range g.From {
			if !b.sameThing(c, x.Tag, y.Tag, later(f.Over.End, g.Over.End)) {
				return false
			}
		}
	}
	return true
}

func later(x, y time.Time) time.Time {
	if x.After(y) {
		return x
	}
	return y
}

// trailingTotal is trailing for a concept of totals and parts. The year's total counts; the months of the new year that are nearest to the
// present and state the same thing are worked in. Where the year's tag is that of a total, its own months count too, if contract revenue is
// above them: at Vistra, losses on hedges are subtracted from it.
func (b *Financials) trailingTotal(c concept) Figure {
	if len(b.years) == 0 {
		return Figure{}
	}
	year := b.years[0]
	whole := b.over(c, year)
	if !whole.Known() {
		return Figure{}
	}
	best := whole
	for _, p := range b.monthsAfter(c, year) {
		now := b.comparableOver(c, whole, p)
		if !now.Over.End.After(best.Over.End) {
			continue
		}
		for _, q := range b.monthsOf(c, year, p) {
			before := b.comparableOver(c, whole, q)
			if !before.Known() {
				continue
			}
			best = Figure{
				Value: whole.Value + now.Value - before.Value, Over: Period{before.Over.End.AddDate(0, 0, 1), p.End},
				From: slices.Concat(whole.From, now.From, before.From), Why: now.Why,
			}
			if best.Why == concepts.Only && now.From[0].Tag != whole.From[0].Tag {
				best.Why = concepts.Equal // a filing states the same amount under both
			}
			break
		}
	}
	return best
}

// comparableOver is the total of a period if it states the same thing as that of a year, else what the year's tag states of the period, unless
// that is a tag of parts.
func (b *Financials) comparableOver(c concept, year Figure, p Period) Figure {
	if f := b.over(c, p); b.comparable(c, year, f) {
		return f
	}
	tag := year.From[0].Tag
	f, ok := b.statement(tagUnit{c.Taxonomy, tag, c.Unit}, p)
	if !ok || slices.Contains(c.Parts, tag) {
		return Figure{}
	}
	return Figure{Value: f.Value, Over: p, From: []equity.Fact{f}, Why: year.Why}
}

// monthsAfter are the periods of at most three quarters that begin with the year after a year, as any of the tags states them.
func (b *Financials) monthsAfter(c concept, year Period) []Period {
	return b.periods(c, func(f equity.Fact) bool {
		p := Period{f.Start, f.End}
		return f.End.After(year.End) && p.Days() <= 290 && follows(year, p)
	})
}

// monthsOf are the periods that begin with a year and are as long as another, give or take a week.
func (b *Financials) monthsOf(c concept, year, p Period) []Period {
	return b.periods(c, func(f equity.Fact) bool { return f.Start.Equal(year.Start) && abs(f.Days()-p.Days()) <= 8 })
}

// periods lists the periods over which any tag of a concept states facts of a kind.
func (b *Financials) periods(c concept, kind func(equity.Fact) bool) []Period {
	var all []Period
	for _, k := range keysOf(c) {
		for _, f := range b.stated[k] {
			if p := (Period{f.Start, f.End}); !f.Start.IsZero() && kind(f) && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// quarterTotal is quarter for a concept of totals and parts: the total of the quarter if it is stated, else the difference of two totals
// that state the same thing.
func (b *Financials) quarterTotal(c concept, end time.Time) Figure {
	for _, p := range b.periods(c, func(f equity.Fact) bool { return f.End.Equal(end) && (Period{f.Start, f.End}).IsQuarter() }) {
		return b.over(c, p)
	}
	for _, p := range b.periods(c, func(f equity.Fact) bool { return f.End.Equal(end) && f.Days() <= 380 }) {
		long := b.over(c, p)
		for _, q := range b.periods(c, func(f equity.Fact) bool { return f.Start.Equal(p.Start) && f.End.Before(end) }) {
			rest := Period{q.End.AddDate(0, 0, 1), end}
			if short := b.over(c, q); rest.IsQuarter() && b.comparable(c, long, short) {
				return Figure{Value: long.Value - short.Value, Over: rest, From: slices.Concat(long.From, short.From), Why: long.Why}
			}
		}
	}
	return Figure{}
}
