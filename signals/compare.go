package signals

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
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

// minCompared is how many pairs a correlation needs. minIndependent is how many of them must be independent for an interval.
const minCompared, minIndependent = 10, 4

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

// associate correlates two series. Both are NaN at the same places.
//
// Neighbours of a persistent signal repeat each other, so n pairs say less than n independent ones. How many of those they equal follows
// from the autocorrelations of both series (Bartlett, Journal of the Royal Statistical Society 98, 1935):
//
//	effective = n² / (n + 2 · sum over k of pairs(k) · a(k) · b(k))
//
// pairs(k) is how many pairs are k periods apart, and a(k) and b(k) are the autocorrelations at that distance. The sum ends before the first
// distance at which one of the two is not positive. The interval is Fisher's: tanh(atanh(r) ± t / sqrt(effective - 3)), where t is the
// quantile of Student's distribution with effective - 2 degrees of freedom.
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
	e.Effective = effective(a, b, x, e.N)
	if e.Effective <= minIndependent || 1-math.Abs(e.R) < 1e-12 {
		return e
	}
	student := distuv.StudentsT{Sigma: 1, Nu: e.Effective - 2}
	reach := student.Quantile((1+Level)/2) / math.Sqrt(e.Effective-3)
	e.Lo, e.Hi = math.Tanh(math.Atanh(e.R)-reach), math.Tanh(math.Atanh(e.R)+reach)
	return e
}

// centred scales a series to a mean of 0 and a mean square of 1, with 0 where a value is unknown. It returns nil without any variation.
func centred(x []float64, n int) []float64 {
	var sum, square float64
	for _, v := range x {
		if !math.IsNaN(v) {
			sum += v
		}
	}
	mean := sum / float64(n)
	out := make([]float64, len(x))
	for i, v := range x {
		if !math.IsNaN(v) {
			out[i] = v - mean
			square += float64(out[i] * out[i])
		}
	}
	if square == 0 {
		return nil
	}
	unit := math.Sqrt(square / float64(n))
	for i := range out {
		out[i] /= unit
	}
	return out
}

// effective returns the number of independent pairs: see associate. It is at most n. a and b are centred, and x is unknown where they have
// no pair.
func effective(a, b, x []float64, n int) float64 {
	span, sum := len(a), 0.0
	for k := 1; k < span/2; k++ {
		var ra, rb float64
		pairs := 0
		for i := range span - k {
			if math.IsNaN(x[i]) || math.IsNaN(x[i+k]) {
				continue
			}
			pairs++
			ra += float64(a[i] * a[i+k])
			rb += float64(b[i] * b[i+k])
		}
		if pairs == 0 {
			continue // a season has ended before
		}
		if ra <= 0 || rb <= 0 {
			break
		}
		shrink := (1 - float64(k)/float64(span)) / float64(pairs)
		sum += float64(pairs) * float64(ra*shrink) * float64(rb*shrink)
	}
	return min(float64(n), float64(n)*float64(n)/(float64(n)+2*sum))
}
