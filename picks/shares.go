package picks

import (
	"slices"
	"time"

	"tidemark/internal/concepts"
	"tidemark/internal/equity"
)

// maxCountAge is how old a share count may be, as old as the newest fiscal year: Rules.MaxReportAge.
const maxCountAge = 520 * 24 * time.Hour

// A count on the cover that is further from the average of the income statement than this, as a ratio, needs another witness.
const (
	nearAverage = 1.25
	nearBalance = 1.10
)

const (
	// minCount is the smallest count that is read. Less is a count in thousands or millions by mistake: McDonald's states 713.5 shares.
	minCount = 100_000
	// heldApart is how far the covers of a year are above the averages if they count shares that the company's own trust holds.
	heldApart = 1.05
	// coversOfYear is how many covers must show it.
	coversOfYear = 3
)

// depositary are companies whose listed share represents several of the shares counted in their reports. The ratio is printed in their
// reports and prospectuses, but the facts of a filing do not contain it as a number.
var depositary = map[equity.CIK]struct {
	ratio float64
	// since is the first date of the counts that the ratio holds for; zero if it has always held.
	since time.Time
}{
	1651308: {ratio: 13}, // BeOne Medicines, formerly BeiGene
	// Zai Lab: one until its shares were divided in ten (prospectus 333-255340 of April 2021), ten since (333-278843 of November 2024).
	1704292: {ratio: 10, since: time.Date(2022, time.March, 30, 0, 0, 0, 0, time.UTC)},
	1648257: {ratio: 5}, // HUTCHMED: 5.80 dollars a share are 29.00 a listed share (prospectus 333-237574 of June 2021)
}

// sharesOutstanding is the number of listed shares on a date. It is the count on the cover of the newest report, if the average of the
// income statement or the balance sheet confirms it. Otherwise it is the count of the balance sheet, which has all classes, and otherwise
// the average. A count older than maxCountAge is ignored. Counts from before a split are multiplied by it. A spin-off
// changes no count.
func sharesOutstanding(b *Financials, cik equity.CIK, h History, day time.Time) Figure {
	since := func(f Figure, counted time.Time) Figure {
		ratio, known := h.splitsBetween(counted, day)
		if !f.Known() || !known || f.Value < minCount || day.Sub(f.Over.End) > maxCountAge {
			return Figure{}
		}
		f.Value *= ratio
		return f
	}
	filed := func(f Figure) time.Time {
		if !f.Known() {
			return day
		}
		return f.From[0].Filed
	}
	cover, balance, average := b.newest(coverShares), b.balanceShares(), b.newestAverage()
	cover, balance, average = since(cover, cover.Over.End), since(balance, filed(balance)), since(average, filed(average))
	count := average
	switch {
	case near(cover, average, nearAverage) && b.coversCountHeldShares(day):
	case cover.Known() && (!average.Known() || near(cover, average, nearAverage)), near(cover, balance, nearBalance):
		count = cover
	case balance.Known() && (!average.Known() || near(balance, average, nearAverage)):
		count = balance
	}
	if d := depositary[cik]; d.ratio > 0 && !count.Over.End.Before(d.since) {
		count.Value /= d.ratio
	}
	return count
}

// coversCountHeldShares reports whether the covers of the last year count shares that are not outstanding. An employee trust of Eli Lilly holds 50 of the
// 942 million on its cover; they have no part in the result per share. Then each cover counts more than the average of the very period in which it counts.
// After new shares only some do.
func (b *Financials) coversCountHeldShares(day time.Time) bool {
	var covers int
	for _, k := range keysOf(coverShares) {
		for i, f := range b.stated[k] {
			average := b.averageOn(f.End)
			if repeats(b.stated[k], i) || day.Sub(f.End) > 400*24*time.Hour || !average.Known() {
				continue
			}
			if f.Value < float64(average.Value*heldApart) {
				return false
			}
			covers++
		}
	}
	return covers >= coversOfYear
}

// averageOn is the average share count of the shortest period around a date.
func (b *Financials) averageOn(date time.Time) (best Figure) {
	for _, k := range keysOf(concepts.BasicShares) {
		for i, f := range b.stated[k] {
			p := Period{f.Start, f.End}
			if repeats(b.stated[k], i) || f.Start.After(date) || f.End.Before(date) || p.Days() == 0 || p.Days() > 380 || best.Known() && p.Days() >= best.Over.Days() {
				continue
			}
			best = Figure{Value: f.Value, Over: p, From: []equity.Fact{f}}
		}
	}
	return best
}

// near reports whether two figures are known and at most a ratio apart.
func near(f, g Figure, ratio float64) bool {
	return f.Known() && g.Known() && f.Value > 0 && g.Value > 0 && f.Value <= float64(g.Value*ratio) && g.Value <= float64(f.Value*ratio)
}

// balanceShares is the number of shares of all classes at the newest balance: as stated, else those issued less those held by the company.
func (b *Financials) balanceShares() Figure {
	stated := b.newest(concepts.BalanceShares)
	issued := b.newest(concepts.IssuedShares)
	if stated.Known() && !issued.Over.End.After(stated.Over.End) {
		return stated
	}
	held := b.over(concepts.TreasuryShares, Period{End: issued.Over.End})
	if !held.Known() {
		return stated // the shares issued alone would include repurchased shares
	}
	return issued.minus(held)
}

// newestAverage is the average share count of the newest period of at most a year; of periods with the same end, the shortest. It is the
// basic count, else the diluted one, which includes options.
func (b *Financials) newestAverage() Figure {
	basic, diluted := b.newestPeriod(concepts.BasicShares), b.newestPeriod(dilutedShares)
	if !basic.Known() || diluted.Over.End.After(basic.Over.End) {
		return diluted
	}
	return basic
}

func (b *Financials) newestPeriod(c concept) Figure {
	var best Figure
	for _, k := range keysOf(c) {
		for i, f := range b.stated[k] {
			p := Period{f.Start, f.End}
			if repeats(b.stated[k], i) || b.misscaled(k, f) || f.Value < minCount || p.Days() == 0 || p.Days() > 380 || best.Known() && !f.End.After(best.Over.End) && p.Days() >= best.Over.Days() {
				continue
			}
			if !best.Known() || !f.End.Before(best.Over.End) {
				best = Figure{Value: f.Value, Over: p, From: []equity.Fact{f}}
			}
		}
	}
	return best
}

// misscaled reports whether a count in a quarterly report is 500 times the count of an annual report of about the same time, or the reverse. Such a
// count is in thousands or millions by mistake: Coca-Cola's quarterly reports of 2018 state 4,297 shares.
func (b *Financials) misscaled(k tagUnit, f equity.Fact) bool {
	const apart = 500
	return !annualForms[f.Form] && slices.ContainsFunc(b.stated[k], func(g equity.Fact) bool {
		return annualForms[g.Form] && g.End.Sub(f.End).Abs() <= maxCountAge && (g.Value >= float64(apart*f.Value) || f.Value >= float64(apart*g.Value)) && f.Value > 0 && g.Value > 0
	})
}
