package signals

import (
	"math"
	"slices"
	"time"
)

// Reading is the z-score of a signal at an instant. NaN means unknown.
type Reading struct {
	At time.Time
	Z  float64
}

// Pair holds the z-scores of two signals in two periods. At is the first day of the first signal's period.
type Pair struct {
	At   time.Time
	A, B float64
}

// Association is the correlation of two signals at one lag, with its interval. NaN means unknown.
type Association struct {
	// Lag is how many periods later the second signal is read.
	Lag int
	// N is the number of pairs. Effective is the number of independent pairs that say as much.
	N         int
	Effective float64
	// R is Pearson's correlation of the z-scores. Lo and Hi bound the correlation with probability Level.
	R, Lo, Hi float64
}

// Comparison relates the z-scores of two signals.
type Comparison struct {
	// Monthly reports that the periods are months. Otherwise they are weeks that begin on Monday.
	Monthly bool
	// Pairs are in ascending time, at the lag of Chosen.
	Pairs  []Pair
	Chosen Association
	// ByLag are the associations from -MaxLag to MaxLag.
	ByLag []Association
}

// MaxLag is the largest lag of a comparison, in periods, in both directions.
const MaxLag = 12

// minCompared is how many pairs a correlation needs.
const minCompared = 10

// Compare relates the z-scores of two signals, which are in ascending time. The periods are months if one of the signals is monthly, and
// weeks otherwise. Each period has its newest reading. It costs O(n²) in the number of periods at worst.
func Compare(a, b []Reading, monthly bool, lag int) Comparison {
	first, second := byPeriod(a, monthly), byPeriod(b, monthly)
	out := Comparison{Monthly: monthly}
	for l := -MaxLag; l <= MaxLag; l++ {
		x, y, from := paired(first, second, l)
		e := associate(x, y, l)
		out.ByLag = append(out.ByLag, e)
		if l != lag {
			continue
		}
		out.Chosen = e
		for i := range x {
			if !math.IsNaN(x[i]) {
				out.Pairs = append(out.Pairs, Pair{periodStart(from+i, monthly), x[i], y[i]})
			}
		}
	}
	return out
}

// periodOf numbers the months, or the weeks, which begin on Monday.
func periodOf(at time.Time, monthly bool) int {
	at = at.UTC()
	if monthly {
		return at.Year()*12 + int(at.Month()) - 1
	}
	const day = 24 * 60 * 60
	return int(math.Floor(float64(at.Unix()/day+3) / 7)) // 1 January 1970 was a Thursday
}

// periodStart returns the first day of a period.
func periodStart(period int, monthly bool) time.Time {
	if monthly {
		return time.Date(period/12, time.Month(period%12+1), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Unix(0, 0).UTC().AddDate(0, 0, 7*period-3)
}

// byPeriod returns the newest known reading of each period.
func byPeriod(readings []Reading, monthly bool) map[int]float64 {
	out := map[int]float64{}
	for _, r := range readings {
		if !math.IsNaN(r.Z) {
			out[periodOf(r.At, monthly)] = r.Z
		}
	}
	return out
}

// paired returns both sides of all periods from the first to the last pair, NaN in periods without a pair, and the number of the first
// period. The second side is read lag periods later.
func paired(a, b map[int]float64, lag int) (x, y []float64, from int) {
	var periods []int
	for p := range a {
		if _, ok := b[p+lag]; ok {
			periods = append(periods, p)
		}
	}
	if len(periods) == 0 {
		return nil, nil, 0
	}
	from = slices.Min(periods)
	n := slices.Max(periods) - from + 1
	x, y = make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], y[i] = math.NaN(), math.NaN()
	}
	for _, p := range periods {
		x[p-from], y[p-from] = a[p], b[p+lag]
	}
	return x, y, from
}

// associate correlates two series. Both are NaN at the same places. The interval comes from bounds, with the number of pairs from independent.
func associate(x, y []float64, lag int) Association {
	e := Association{Lag: lag, Effective: math.NaN(), R: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	for _, v := range x {
		if !math.IsNaN(v) {
			e.N++
		}
	}
	a, b := centred(x, e.N), centred(y, e.N)
	if e.N < minCompared || a == nil || b == nil {
		return e
	}
	var sum float64
	for i := range a {
		sum += float64(a[i] * b[i])
	}
	e.R = max(-1, min(1, sum/float64(e.N)))
	e.Effective = independent(a, b, x, e.N)
	e.Lo, e.Hi = bounds(e.R, e.Effective, Level)
	return e
}
