package picks

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/locale"
)

const (
	// peerCount is the number of peers that a card names.
	peerCount = 5
	// minPeersPriced is the number of peers with earnings that a median is told of.
	minPeersPriced = 3
)

// peersOf returns the companies of a sector that are nearest to one of them: first by the digits that their industry codes begin with, then by
// size.
func peersOf(scores []Score, s Score) []Score {
	var peers []Score
	for _, o := range scores {
		if o.CIK != s.CIK && o.Sector == s.Sector && o.MarketValue.Known() && o.MarketValue.Value > 0 {
			peers = append(peers, o)
		}
	}
	size := func(o Score) float64 { return math.Abs(math.Log(o.MarketValue.Value / s.MarketValue.Value)) }
	slices.SortFunc(peers, func(x, y Score) int {
		return cmp.Or(cmp.Compare(sharedDigits(y.SIC, s.SIC), sharedDigits(x.SIC, s.SIC)), cmp.Compare(size(x), size(y)), strings.Compare(x.Ticker, y.Ticker))
	})
	return peers[:min(len(peers), peerCount)]
}

// sharedDigits is the number of digits, up to four, that two industry codes begin with alike.
func sharedDigits(a, b int) int {
	n := 4
	for ; n > 0 && a != b; n-- {
		a, b = a/10, b/10
	}
	return n
}

// peers adds the tickers of the peers, and the median of their prices to earnings, if earnings are a measure in the company's line of
// business too.
func (w *briefWriter) peers(scores []Score) {
	if !w.score.MarketValue.Known() || w.score.MarketValue.Value <= 0 {
		return
	}
	var names []string
	var multiples []float64
	for _, p := range peersOf(scores, w.score) {
		names = append(names, p.Ticker)
		if m := p.metric(EarningsYield); m.Known() && m.Value > 0 {
			multiples = append(multiples, 1/m.Value)
		}
	}
	w.facts().word("peers", strings.Join(names, ", "), locale.Name)
	if len(multiples) >= minPeersPriced && w.score.metric(EarningsYield).Applies {
		slices.Sort(multiples)
		n := len(multiples)
		w.facts().add("peers_pe", (multiples[(n-1)/2]+multiples[n/2])/2, 1, locale.Times, w.day, -1)
	}
}

// A company's next balance is from minQuarter to maxQuarter days after the newest; a year is 52 weeks, which keeps the day of the week.
const (
	minQuarter, maxQuarter = 70, 115
	yearOfWeeks            = 364
)

// nextReport returns the day on which the next report is expected, and the day on which the report on the same quarter of the year before
// was filed. The first is a year after the second. It reports false if no such report is known, or if the expected day is not after the
// given day.
func (b *Financials) nextReport(day time.Time) (expected, before time.Time, ok bool) {
	newest := b.newest(assets).Over.End
	first := map[time.Time]time.Time{} // the first report on each balance
	for _, k := range keysOf(assets) {
		for _, f := range b.stated[k] {
			if at, known := first[f.End]; !known || f.Filed.Before(at) {
				first[f.End] = f.Filed
			}
		}
	}
	for end, filed := range first {
		after := int(end.Sub(newest.AddDate(0, 0, -yearOfWeeks)).Hours() / 24)
		if after >= minQuarter && after <= maxQuarter && (before.IsZero() || filed.Before(before)) {
			before = filed
		}
	}
	expected = before.AddDate(0, 0, yearOfWeeks)
	return expected, before, !before.IsZero() && expected.After(day)
}

// next adds when the next report is expected.
func (w *briefWriter) next() {
	if expected, before, ok := w.score.Book.nextReport(w.day); ok {
		w.facts().date("next_report", expected)
		w.facts().date("next_report_before", before)
	}
}
