package evaluation

import (
	"math"
	"time"

	"tidemark/internal/equity"
	"tidemark/picks"
)

// EqualWeight returns the mean total return, as a fraction, of companies from the close of one session to that of a later one, and of how many of
// them. A company without a close on the first day is left out. One without a close since, such as a halted share, has not moved.
func EqualWeight(ciks []equity.CIK, prices picks.Prices, from, to time.Time) (mean float64, measured int) {
	sum := 0.0
	for _, cik := range ciks {
		if bar, ok := prices[cik].BarOn(from); ok {
			sum += prices.ReturnSince(cik, bar.Close, from, to).Pct / 100
			measured++
		}
	}
	if measured == 0 {
		return math.NaN(), 0
	}
	return sum / float64(measured), measured
}

// Daily returns the returns of a share, as fractions, by the day of the close that ends them: each since the close before.
func Daily(h picks.History, to time.Time, dividends bool) map[time.Time]float64 {
	daily := map[time.Time]float64{}
	levels := h.Levels(to, dividends)
	for i := 1; i < len(levels); i++ {
		daily[levels[i].Date] = levels[i].Level/levels[i-1].Level - 1
	}
	return daily
}

// Against returns the snapshots with another benchmark: the returns of its days, each since the day before that has one. They begin at the close
// from which the benchmark is known, so the first of them is the start of the comparison. A session without a return counts as zero, since the
// next one has both. It returns nil if none is known.
func Against(snapshots []picks.Snapshot, daily map[time.Time]float64) []picks.Snapshot {
	var list []picks.Snapshot
	for i, s := range snapshots {
		r, known := daily[s.Date]
		if i == 0 || len(list) == 0 && !known {
			continue
		}
		if len(list) == 0 {
			list = append(list, snapshots[i-1])
		}
		s.BenchmarkDailyReturnPct = 100 * r
		list = append(list, s)
	}
	return list
}
