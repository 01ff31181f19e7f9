package picks

import (
	"slices"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/locale"
)

// Background holds the facts of a card in addition to the score.
type Background struct {
	// Filings, in any order, give the facts their addresses.
	Filings []equity.Filing
	// History has the prices of the years before; the prices of the score go back a year. It may be empty.
	History History
}

const (
	// rangeQuarters is how many ends of quarters a range of valuations looks at: five years. minRangeQuarters must be known.
	rangeQuarters, minRangeQuarters = 20, 12
	// maxQuoteAge is how many days before the end of a quarter its close may be.
	maxQuoteAge = 5
	// maxIncomeAge is how many days before the end of a quarter the twelve months of income may have ended.
	maxIncomeAge = 230
)

// span is the lowest, median and highest price to earnings at the ends of quarters from a day on.
type span struct {
	low, median, high float64
	from              time.Time
	// known is at how many of the ends of quarters since then it is known.
	known, quarters int
}

// valuations returns the span of the company's price to earnings at the ends of the last twenty quarters. Each uses the close and the filed
// facts of its time. It reports false if fewer than twelve are known, or if one had no earnings.
func (s *Score) valuations(h History, day time.Time) (span, bool) {
	var facts []equity.Fact
	for _, list := range s.Book.stated {
		facts = append(facts, list...)
	}
	var multiples []float64
	var out span
	quarters := 0
	for end := quarterEnd(day); len(multiples) < rangeQuarters && end.After(day.AddDate(-5, 0, -1)); end = quarterEnd(end) {
		bar, ok := h.BarAt(end)
		if !ok || end.Sub(bar.Date) > maxQuoteAge*24*time.Hour {
			break // the prices begin here
		}
		quarters++
		b := NewBook(facts, end)
		income := b.commonIncome(b.trailing(netIncome))
		shares := sharesOutstanding(b, s.CIK, h, end)
		if !income.Known() || !shares.Known() || end.Sub(income.Over.End) > maxIncomeAge*24*time.Hour {
			continue
		}
		if income.Value <= 0 {
			return span{}, false
		}
		multiples = append(multiples, shares.Value*bar.Close.Float()/income.Value)
		out.from, out.known, out.quarters = end, len(multiples), quarters
	}
	if len(multiples) < minRangeQuarters {
		return span{}, false
	}
	slices.Sort(multiples)
	n := len(multiples)
	out.low, out.median, out.high = multiples[0], (multiples[(n-1)/2]+multiples[n/2])/2, multiples[n-1]
	return out, true
}

// quarterEnd is the last day of a calendar quarter before a day.
func quarterEnd(day time.Time) time.Time {
	first := time.Date(day.Year(), (day.Month()-1)/3*3+1, 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, -1)
}

// valuation adds the range of the company's own valuations, if earnings are a measure in its line of business.
func (w *briefWriter) valuation(h History) {
	if !w.score.metric(EarningsYield).Applies {
		return
	}
	if r, ok := w.score.valuations(h, w.day); ok {
		w.facts().date("range_from", r.from)
		w.facts().add("range_known", float64(r.known), 0, locale.Count, w.day, -1)
		if r.known < r.quarters {
			w.facts().add("range_quarters", float64(r.quarters), 0, locale.Count, w.day, -1)
		}
		w.facts().add("range_low", r.low, 1, locale.Times, w.day, -1)
		w.facts().add("range_median", r.median, 1, locale.Times, w.day, -1)
		w.facts().add("range_high", r.high, 1, locale.Times, w.day, -1)
	}
}
