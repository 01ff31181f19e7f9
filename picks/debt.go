package picks

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// longTermDebt is the debt at a date that is due after a year. It is stated as one line, as the lines of convertible debt, notes and loans,
// or as all debt without the part due within a year. It is unknown if none of these is stated. Zero counts only as a line of the balance
// sheet and not as a total. Oracle's report of 2022 states a LongTermDebt of zero in a note, under 72 billion of notes with their own tag.
func (b *Financials) longTermDebt(p Period) Figure {
	at := Period{End: p.End}
	if whole := b.over(concepts.LongDebt, at); whole.Known() {
		return whole
	}
	if parts := b.sumOf(concepts.LongDebtParts, at); parts.Known() {
		return parts.because(concepts.Sum)
	}
	total := b.over(concepts.LongDebtTotal, at)
	rest := total.minus(b.over(concepts.LongDebtCurrent, at))
	if rest.Value < 0 || total.Value == 0 {
		return Figure{}
	}
	return rest.because(concepts.Remainder)
}

// debtAt is longTermDebt, or all debt where its current part is not stated, or none where the other liabilities add up to all.
func (b *Financials) debtAt(p Period) Figure {
	at := Period{End: p.End}
	if d := b.longTermDebt(at); d.Known() {
		return d
	}
	if d := b.over(concepts.LongDebtTotal, at); d.Value > 0 {
		return d.because(concepts.Total)
	}
	if d := b.sumOf(concepts.AnyDebt, at); d.Value > 0 {
		return d.because(concepts.Total)
	}
	return b.noDebt(at)
}

// maxDebtAge is how long before the newest balance the balance may be that states the debt: many state it once a year.
const maxDebtAge = 380 * 24 * time.Hour

// newestDebt is the debt at the newest balance that tells it, among those up to a date.
func (b *Financials) newestDebt(end time.Time) Figure {
	dates := []time.Time{end}
	for _, f := range slices.Concat([]concept{concepts.LongDebt, concepts.LongDebtTotal, assets}, concepts.LongDebtParts, concepts.AnyDebt) {
		for _, k := range keysOf(f) {
			for _, x := range b.stated[k] {
				if x.Start.IsZero() && x.End.Before(end) && end.Sub(x.End) <= maxDebtAge {
					dates = append(dates, x.End)
				}
			}
		}
	}
	slices.SortFunc(dates, func(x, y time.Time) int { return y.Compare(x) })
	for _, day := range slices.Compact(dates) {
		if d := b.debtAt(Period{End: day}); d.Known() {
			return d
		}
	}
	return Figure{}
}

// sumOf adds what is stated of several families at a date, each amount once: a line that a filing tags twice is one line.
func (b *Financials) sumOf(list []concept, at Period) Figure {
	var sum Figure
	for _, c := range list {
		f := b.over(c, at)
		if !f.Known() || slices.ContainsFunc(sum.From, func(x equity.Fact) bool { return x.Value == f.Value && f.Value != 0 }) {
			continue
		}
		if sum = sum.plusKnown(f); !sum.Known() {
			sum = f
		}
	}
	return sum
}

// plusKnown is f + g, or g where f is unknown.
func (f Figure) plusKnown(g Figure) Figure {
	if !f.Known() {
		return g
	}
	return f.plus(g)
}

// because sets why a figure counts.
func (f Figure) because(why concepts.Reason) Figure {
	if f.Known() {
		f.Why = why
	}
	return f
}

// reconciles is the part of all liabilities that may be left when the lines are added up: rounding.
const reconciles = 0.001

// noDebt is a debt of zero if lines that are not debt account for all liabilities except those due within a year. Otherwise it is unknown:
// a company that states no debt may state it only under its own tag. Up to two lines may be left out, since a note states lines, such as
// leases, that the balance sheet has within others.
func (b *Financials) noDebt(at Period) Figure {
	all := b.over(concepts.Liabilities, at)
	if !all.Known() {
		all = b.over(assets, at).minus(b.over(concepts.AllEquity, at).or(b.over(bookEquity, at)))
	}
	long := all.minus(b.over(currentLiabilities, at))
	if !long.Known() || !(all.Value > 0) {
		return Figure{}
	}
	zero := long
	var lines []Figure
	for _, c := range concepts.OtherLongLiabilities {
		if f := b.over(c, at); f.Known() {
			lines = append(lines, f)
			zero = zero.minus(f)
		}
	}
	rest := zero.Value
	if zero.Value = 0; addsUp(rest, lines, 2, float64(reconciles*all.Value)) {
		return zero.because(concepts.Reconciled)
	}
	return Figure{}
}

// addsUp reports whether nothing is left, give or take a tolerance, when at most so many of the lines that were taken off are put back.
func addsUp(rest float64, lines []Figure, back int, tolerance float64) bool {
	if math.Abs(rest) <= tolerance {
		return true
	}
	for i := range lines {
		if back > 0 && addsUp(rest+lines[i].Value, lines[i+1:], back-1, tolerance) {
			return true
		}
	}
	return false
}

// shortTermDebt is the part of the debt at a date that is due within a year, apart from the long-term debt as read; unknown if nothing is
// stated.
func (b *Financials) shortTermDebt(long Figure) Figure {
	at := Period{End: long.Over.End}
	if long.Why == concepts.Total {
		return b.over(concepts.ShortDebt, at) // the current part of long-term debt is in it
	}
	return b.over(concepts.DebtCurrent, at).or(b.sumOf([]concept{concepts.LongDebtCurrent, concepts.ShortDebt}, at))
}

// sameTags reports whether two figures are made of facts under the same tags.
func sameTags(f, g Figure) bool {
	tags := func(f Figure) []string {
		var all []string
		for _, x := range f.From {
			all = append(all, x.Tag)
		}
		slices.SortFunc(all, cmp.Compare[string])
		return slices.Compact(all)
	}
	return slices.Equal(tags(f), tags(g))
}
