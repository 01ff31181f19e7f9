package evaluation

import (
	"slices"
	"time"

	"tidemark/internal/equity"
	"tidemark/picks"
)

// Entry is an investment in a pick: at the close of a bar.
type Entry struct {
	CIK equity.CIK
	Bar equity.Bar
	// Assumed is the return that is assumed after the last close of shares that stopped trading without a known worth, zero for none. It counts on
	// Exit, the day on which the portfolio closed the position.
	Assumed float64
	Exit    time.Time
}

// path returns the worth of one dollar of the investment at each close up to a day.
func (e Entry) path(prices picks.Prices, to time.Time) []picks.Level {
	path := prices.Path(e.CIK, e.Bar.Close, e.Bar.Date, to)
	if e.Assumed != 0 && !e.Exit.After(to) {
		last := 1.0
		if n := len(path); n > 0 {
			last = path[n-1].Level
		}
		path = append(path, picks.Level{Date: e.Exit, Level: last * (1 + e.Assumed)})
	}
	return path
}

// Excess returns the daily excess return of a portfolio that holds every pick at equal weight, from its entry for a number of sessions, as
// a fraction, oldest first. It is the portfolio in calendar time (Jaffe 1974; Mandelker 1974): overlapping holding periods of picks count
// once a day and not once a pick. It holds no cash. A return of a share is compared with the benchmark's between the same two closes, so a
// session without a price of one of them delays both. Days without a held share are left out.
//
// If every share moves like the benchmark, all returns are zero.
func Excess(entries []Entry, prices picks.Prices, sessions int, to time.Time) []float64 {
	levels := map[time.Time]float64{}
	for _, l := range prices[equity.Benchmark].Levels(to, true) {
		levels[l.Date] = l.Level
	}
	type day struct {
		sum float64
		n   int
	}
	days := map[time.Time]day{}
	for _, e := range entries {
		before := picks.Level{Date: e.Bar.Date, Level: 1}
		for i, l := range e.path(prices, to) {
			if i >= sessions {
				break
			}
			from, known := levels[before.Date]
			until, ok := levels[l.Date]
			if !ok {
				continue // both wait for the benchmark's next close
			}
			if known && before.Level > 0 {
				d := days[l.Date]
				days[l.Date] = day{d.sum + l.Level/before.Level - until/from, d.n + 1}
			}
			before = l
		}
	}
	dates := make([]time.Time, 0, len(days))
	for d := range days {
		dates = append(dates, d)
	}
	slices.SortFunc(dates, time.Time.Compare)
	list := make([]float64, len(dates))
	for i, d := range dates {
		list[i] = days[d].sum / float64(days[d].n)
	}
	return list
}
