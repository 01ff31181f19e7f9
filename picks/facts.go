package picks

import (
	"cmp"
	"slices"
	"time"

	"tidemark/internal/equity"
)

// The rules for reading facts in this file, each measured on real filings:
//
//   - A period is its start and end. FY and FP describe the filing and are never read.
//   - A year has 350 to 380 days, a quarter 80 to 100; year-to-date figures of two and three quarters are neither. A fourth quarter
//     that no filing states is the year minus its first nine months.
//   - The last statement about a period counts, as of the day in question: a later filing restates an earlier one.
//   - Only annual, quarterly and foreign interim reports are read. Proxy statements and current reports feed facts too, at times
//     wrong by a factor of a thousand.
//   - A concept has several tags, which companies change over the years. The tag with the newest figure counts, then the order. Of
//     several totals of one filing the largest counts where the concept says so: package concepts.
//   - A figure that is not stated is unknown, and unknown is not zero.

// acceptedForms are the reports that are read. The value reports whether the form is periodic: its figures take precedence over those in
// a foreign company's interim report.
var acceptedForms = map[string]bool{
	"10-K": true, "10-K/A": true, "10-KT": true, "10-KT/A": true, "10-Q": true, "10-Q/A": true,
	"20-F": true, "20-F/A": true, "40-F": true, "40-F/A": true, "6-K": false,
}

// annualForms are the reports that state whole fiscal years.
var annualForms = map[string]bool{
	"10-K": true, "10-K/A": true, "20-F": true, "20-F/A": true, "40-F": true, "40-F/A": true,
}

// Period is a span of dates, both included. A zero Start is the instant at the end of End.
type Period struct{ Start, End time.Time }

// Days is the length in days, zero for an instant.
func (p Period) Days() int { return equity.Fact{Start: p.Start, End: p.End}.Days() }

// IsYear reports whether the period is as long as a fiscal year of 52 or 53 weeks or of twelve months.
func (p Period) IsYear() bool { return p.Days() >= 350 && p.Days() <= 380 }

// IsQuarter reports whether the period is as long as a fiscal quarter of 12 to 14 weeks.
func (p Period) IsQuarter() bool { return p.Days() >= 80 && p.Days() <= 100 }

// overlaps reports whether two periods share more than a week: the end of a fiscal year of 52 or 53 weeks moves by days.
func (p Period) overlaps(q Period) bool {
	const week = 7 * 24 * time.Hour
	return p.Start.Before(q.End.Add(-week)) && q.Start.Before(p.End.Add(-week))
}

// Financials holds one company's filings as of a date, read by the rules above. It is read-only and safe for concurrent use.
type Financials struct {
	asOf time.Time
	// stated holds the accepted facts of each tag and unit, in ascending (end, start). For one period, the fact that counts comes first.
	stated map[tagUnit][]equity.Fact
	// years are the fiscal years, newest first.
	years []Period
}

type tagUnit struct{ taxonomy, tag, unit string }

// NewBook reads the facts of one company that were filed on or before asOf. Facts filed later change nothing. The order of the
// facts has no meaning.
func NewBook(facts []equity.Fact, asOf time.Time) *Financials {
	b := &Financials{asOf: asOf, stated: map[tagUnit][]equity.Fact{}}
	// Sorting moves pointers, and looks up no form.
	type ranked struct {
		*equity.Fact

		rank int
	}
	read := map[tagUnit][]ranked{}
	for i := range facts {
		if f := &facts[i]; Reads(*f) && !f.Filed.After(asOf) {
			k := tagUnit{f.Taxonomy, f.Tag, f.Unit}
			read[k] = append(read[k], ranked{f, rank(f.Form)})
		}
	}
	for k, list := range read {
		slices.SortFunc(list, func(x, y ranked) int {
			if c := cmp.Or(x.End.Compare(y.End), x.Start.Compare(y.Start), cmp.Compare(y.rank, x.rank)); c != 0 {
				return c
			}
			return cmp.Or(byFiling(y.Fact, x.Fact), cmp.Compare(x.Value, y.Value))
		})
		sorted := make([]equity.Fact, len(list))
		for i, f := range list {
			sorted[i] = *f.Fact
		}
		b.stated[k] = sorted
	}
	b.years = b.fiscalYears()
	return b
}

// precedence compares two statements about one period: what counts is greater. Annual and quarterly reports count before interim
// reports of foreign companies, then the later filing.
func precedence(x, y equity.Fact) int {
	return cmp.Or(cmp.Compare(rank(x.Form), rank(y.Form)), byFiling(&x, &y))
}

// rank is 1 for a periodic form, otherwise 0.
func rank(form string) int {
	if acceptedForms[form] {
		return 1
	}
	return 0
}

// byFiling compares two statements by their filings.
func byFiling(x, y *equity.Fact) int {
	return cmp.Or(x.Filed.Compare(y.Filed), cmp.Compare(x.Accession, y.Accession))
}

// AsOf is the date that the book was read for.
func (b *Financials) AsOf() time.Time { return b.asOf }

// Years lists the company's fiscal years, newest first, each ending the day before the next begins (give or take a week). The list
// ends where a year is missing.
func (b *Financials) Years() []Period { return slices.Clone(b.years) }

// fiscalYears finds the years by net income. If no stated net income covers any day of a year, it finds the year by operating cash flow.
// Mastercard's annual reports from 2015 on need this: some copies of its facts lack the tag of their net income. Twelve-month figures in
// quarterly reports (utilities state them) are not fiscal years.
func (b *Financials) fiscalYears() []Period {
	var all []Period
	for _, c := range []concept{netIncome, operatingCash} {
		known := len(all)
		for _, k := range keysOf(c) {
			for _, f := range b.stated[k] {
				p := Period{f.Start, f.End}
				if annualForms[f.Form] && p.IsYear() && !slices.Contains(all, p) && !slices.ContainsFunc(all[:known], p.overlaps) {
					all = append(all, p)
				}
			}
		}
	}
	slices.SortFunc(all, func(x, y Period) int { return cmp.Or(y.End.Compare(x.End), y.Start.Compare(x.Start)) })
	var years []Period
	for _, p := range all {
		if len(years) == 0 || follows(p, years[len(years)-1]) {
			years = append(years, p)
		}
	}
	return years
}

// follows reports whether next begins where p ends, with a tolerance of a week: a fiscal year that ends on a weekday moves.
func follows(p, next Period) bool {
	gap := next.Start.Sub(p.End) - 24*time.Hour
	return gap.Abs() <= 7*24*time.Hour
}

// over returns a concept's figure for exactly one period (an instant if it has no start), from the tag that counts.
func (b *Financials) over(c concept, p Period) Figure {
	if !c.Largest {
		for _, k := range keysOf(c) {
			if f, ok := b.statement(k, p); ok {
				return Figure{Value: f.Value, Over: p, From: []equity.Fact{f}}
			}
		}
		return Figure{}
	}
	var all []equity.Fact
	for _, k := range keysOf(c) {
		all = append(all, b.statements(k, p)...)
	}
	f, why, ok := c.Choose(all, precedence)
	if !ok {
		return Figure{}
	}
	return Figure{Value: f.Value, Over: p, From: []equity.Fact{f}, Why: why}
}

// at is a concept's figure at the end of a date.
func (b *Financials) at(c concept, day time.Time) Figure { return b.over(c, Period{End: day}) }

// statement is the fact that counts of one tag for one period.
func (b *Financials) statement(k tagUnit, p Period) (equity.Fact, bool) {
	list := b.statements(k, p)
	if len(list) == 0 {
		return equity.Fact{}, false
	}
	return list[0], true
}

// statements returns the facts of one tag about one period by all filings. The fact that counts comes first.
func (b *Financials) statements(k tagUnit, p Period) []equity.Fact {
	list := b.stated[k]
	order := func(f equity.Fact, p Period) int { return cmp.Or(f.End.Compare(p.End), f.Start.Compare(p.Start)) }
	first, ok := slices.BinarySearchFunc(list, p, order)
	if !ok {
		return nil
	}
	end := first + 1
	for end < len(list) && order(list[end], p) == 0 {
		end++
	}
	return list[first:end]
}

// newest is a concept's figure at the newest instant that any of its tags states; at one instant the first tag counts.
func (b *Financials) newest(c concept) Figure {
	var best Figure
	for _, k := range keysOf(c) {
		for _, f := range slices.Backward(b.stated[k]) {
			if !f.Start.IsZero() {
				continue
			}
			if p := (Period{End: f.End}); !best.Known() || p.End.After(best.Over.End) {
				f, _ = b.statement(k, p) // of several statements about the instant, the fact that counts
				best = Figure{Value: f.Value, Over: p, From: []equity.Fact{f}}
			}
			break
		}
	}
	return best
}

// trailing returns a concept's figure over the newest twelve months: the newest fiscal year, plus the following year to date, minus the
// same months of the fiscal year. All three come from one tag. If no interim report is newer, it is the year itself.
func (b *Financials) trailing(c concept) Figure {
	if c.Largest {
		return b.trailingTotal(c)
	}
	var best Figure
	for _, k := range keysOf(c) {
		if f := b.trailingOf(k); f.Known() && (!best.Known() || f.Over.End.After(best.Over.End)) {
			best = f
		}
	}
	return best
}

func (b *Financials) trailingOf(k tagUnit) Figure {
	if len(b.years) == 0 {
		return Figure{}
	}
	year := b.years[0]
	whole, ok := b.statement(k, year)
	if !ok {
		return Figure{}
	}
	best := Figure{Value: whole.Value, Over: year, From: []equity.Fact{whole}}
	list := b.stated[k]
	for i, f := range list {
		p := Period{f.Start, f.End}
		if repeats(list, i) || f.Start.IsZero() || !f.End.After(best.Over.End) || p.Days() > 290 || !follows(year, p) {
			continue
		}
		if before, ok := b.sameMonths(k, p, year); ok {
			best = Figure{
				Value: whole.Value + f.Value - before.Value,
				Over:  Period{before.End.AddDate(0, 0, 1), f.End},
				From:  []equity.Fact{whole, f, before},
			}
		}
	}
	return best
}

// sameMonths is the year-to-date fact of a year that is as long as p, which belongs to the year after it: the same number of weeks,
// give or take one.
func (b *Financials) sameMonths(k tagUnit, p, year Period) (equity.Fact, bool) {
	list := b.stated[k]
	for i, f := range list {
		if !repeats(list, i) && f.Start.Equal(year.Start) && abs(f.Days()-p.Days()) <= 8 {
			return f, true
		}
	}
	return equity.Fact{}, false
}

// quarter returns a concept's figure over the fiscal quarter that ends on a date: as stated, else as the difference of two year-to-date
// figures of one tag. A fourth quarter is the year minus its first nine months.
func (b *Financials) quarter(c concept, end time.Time) Figure {
	if c.Largest {
		return b.quarterTotal(c, end)
	}
	for _, k := range keysOf(c) {
		if f := b.quarterOf(k, end); f.Known() {
			return f
		}
	}
	return Figure{}
}

func (b *Financials) quarterOf(k tagUnit, end time.Time) Figure {
	list := b.stated[k]
	for _, f := range list {
		if p := (Period{f.Start, f.End}); f.End.Equal(end) && p.IsQuarter() {
			return Figure{Value: f.Value, Over: p, From: []equity.Fact{f}}
		}
	}
	for i, long := range list {
		if !long.End.Equal(end) || long.Start.IsZero() || long.Days() > 380 || repeats(list, i) {
			continue
		}
		for j, short := range list {
			rest := Period{short.End.AddDate(0, 0, 1), end}
			if short.Start.Equal(long.Start) && rest.IsQuarter() && !repeats(list, j) {
				return Figure{Value: long.Value - short.Value, Over: rest, From: []equity.Fact{long, short}}
			}
		}
	}
	return Figure{}
}

// repeats reports whether the i-th fact is about the same period as the one before it, which counts.
func repeats(list []equity.Fact, i int) bool {
	return i > 0 && list[i-1].Start.Equal(list[i].Start) && list[i-1].End.Equal(list[i].End)
}

// pair is a concept's figures for two periods as one and the same filing states them, of the newest filing that states both. Share
// counts may be compared in no other way: a filing before a split counts other shares.
func (b *Financials) pair(c concept, p, before Period) (now, then Figure) {
	var best equity.Fact
	for _, k := range keysOf(c) {
		for _, f := range b.stated[k] {
			if !f.End.Equal(p.End) || !f.Start.Equal(p.Start) || now.Known() && precedence(f, best) <= 0 {
				continue
			}
			for _, g := range b.stated[k] {
				if g.Accession == f.Accession && g.End.Equal(before.End) && g.Start.Equal(before.Start) {
					best = f
					now = Figure{Value: f.Value, Over: p, From: []equity.Fact{f}}
					then = Figure{Value: g.Value, Over: before, From: []equity.Fact{g}}
					break
				}
			}
		}
	}
	return now, then
}

func abs(n int) int { return max(n, -n) }
