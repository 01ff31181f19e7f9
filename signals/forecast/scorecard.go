package forecast

import (
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// Graded is one forecast with its outcome, as recorded.
type Graded struct {
	// Period is the period of the figure.
	Period                    time.Time
	Quantiles, Naive1, Naive2 Quantiles
	Outcome                   float64
	// Score is the score of the forecast, Score1 and Score2 are the scores of the two naive ones.
	Score, Score1, Score2 float64
}

// Scorecard judges a sequence of graded forecasts, oldest first.
type Scorecard struct {
	N int
	// CRPS is the mean score.
	CRPS float64
	// Against are the comparisons with the two naive forecasts.
	Against [2]Comparison
	// Coverage are the central intervals of 50, 80 and 90 percent.
	Coverage [3]Coverage
	// PIT counts the outcomes in each tenth of the distributions. PITP is the probability of counts at least as uneven if all tenths are
	// equally likely (chi-square, 9 degrees of freedom). It assumes independent outcomes.
	PIT  [10]int
	PITP float64
}

// Comparison is how the scores compare with a naive forecast's.
type Comparison struct {
	// CRPS is the naive forecast's mean score.
	CRPS float64
	// Skill is 1 - CRPS/naive CRPS; Lo and Hi are its 90 % interval. NaN means unknown.
	Skill, Lo, Hi float64
	// DM is the statistic of Diebold and Mariano with the correction of Harvey, Leybourne and Newbold, P its two-sided probability.
	DM, P float64
}

// Coverage counts how often the outcome was in a central interval. Lo and Hi bound the hits expected by chance: the 2.5 % and the 97.5 %
// quantile of the binomial distribution.
type Coverage struct {
	Percent, Hits int
	Lo, Hi        int
	// Width is the interval's mean width. NaN means unknown.
	Width float64
}

// NewScorecard judges the forecasts.
func NewScorecard(all []Graded) Scorecard {
	s := Scorecard{N: len(all), CRPS: math.NaN(), Against: against(all), PITP: math.NaN()}
	for i, percent := range []int{50, 80, 90} {
		c := Coverage{Percent: percent}
		if len(all) == 0 {
			c.Width = math.NaN()
		}
		c.Lo, c.Hi = band(len(all), float64(percent)/100)
		tail := (1 - float64(percent)/100) / 2
		for _, g := range all {
			if g.Quantiles.Holds(percent, g.Outcome) {
				c.Hits++
			}
			c.Width += (g.Quantiles.At(1-tail) - g.Quantiles.At(tail)) / float64(len(all))
		}
		s.Coverage[i] = c
	}
	for _, g := range all {
		s.PIT[min(max(int(g.Quantiles.PIT(g.Outcome)*10), 0), len(s.PIT)-1)]++
	}
	if len(all) > 0 {
		s.CRPS = mean(scoresOf(all, func(g Graded) float64 { return g.Score }))
		s.PITP = evenness(s.PIT[:])
	}
	return s
}

// against compares the scores with the scores of the two naive forecasts.
func against(all []Graded) [2]Comparison {
	scores := scoresOf(all, func(g Graded) float64 { return g.Score })
	return [2]Comparison{
		compare(scores, scoresOf(all, func(g Graded) float64 { return g.Score1 })),
		compare(scores, scoresOf(all, func(g Graded) float64 { return g.Score2 })),
	}
}

func scoresOf(all []Graded, of func(Graded) float64) []float64 {
	out := make([]float64, len(all))
	for i, g := range all {
		out[i] = of(g)
	}
	return out
}

// compare holds scores against a naive forecast's of the same outcomes.
func compare(scores, naive []float64) Comparison {
	n := len(scores)
	return compareAt(scores, naive, int(1.3*math.Sqrt(float64(n))))
}

// compareAt is compare with a given number of lags in the long-run variance.
func compareAt(scores, naive []float64, lags int) Comparison {
	unknown := math.NaN()
	c := Comparison{CRPS: unknown, Skill: unknown, Lo: unknown, Hi: unknown, DM: unknown, P: unknown}
	n := len(scores)
	if n == 0 {
		return c
	}
	c.CRPS = mean(naive)
	ratio := mean(scores) / c.CRPS
	c.Skill = 1 - ratio
	if n < 3 {
		return c
	}
	lags = min(lags, n-1)
	residuals, gains := make([]float64, n), make([]float64, n)
	for i := range scores {
		residuals[i] = scores[i] - float64(ratio*naive[i])
		gains[i] = naive[i] - scores[i]
	}
	if sum := longRun(residuals, lags); sum > 0 {
		se := math.Sqrt(sum) / float64(n) / c.CRPS
		t := distuv.StudentsT{Sigma: 1, Nu: float64(n) / float64(lags+1)}
		reach := t.Quantile(0.95) * se
		c.Lo, c.Hi = c.Skill-reach, c.Skill+reach
	}
	if sum := longRun(gains, lags); sum > 0 {
		// One step ahead: n+1-2h+h(h-1)/n is n-1.
		c.DM = mean(gains) / (math.Sqrt(sum) / float64(n)) * math.Sqrt(float64(n-1)/float64(n))
		c.P = 2 * distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.CDF(-math.Abs(c.DM))
	}
	return c
}

// longRun is the sum of the squares of the centred numbers and, by Bartlett's weights, of twice their products some lags apart.
func longRun(x []float64, lags int) float64 {
	m := mean(x)
	var total float64
	for lag := 0; lag <= lags; lag++ {
		var sum float64
		for i := lag; i < len(x); i++ {
			sum += float64((x[i] - m) * (x[i-lag] - m))
		}
		if lag > 0 {
			sum *= 2 * (1 - float64(lag)/float64(lags+1))
		}
		total += sum
	}
	return total
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// band are the 2.5 % and the 97.5 % quantile of the hits among n independent tries with a probability.
func band(n int, p float64) (lo, hi int) {
	if n == 0 {
		return 0, 0
	}
	b := distuv.Binomial{N: float64(n), P: p}
	var sum float64
	lo = -1
	for k := 0; k <= n; k++ {
		sum += b.Prob(float64(k))
		if lo < 0 && sum >= 0.025 {
			lo = k
		}
		if sum >= 0.975 {
			return lo, k
		}
	}
	return lo, n
}

// evenness is the probability of counts at least as uneven as these where each is equally likely, by the chi-square test.
func evenness(counts []int) float64 {
	var n, sum float64
	for _, c := range counts {
		n += float64(c)
	}
	each := n / float64(len(counts))
	for _, c := range counts {
		sum += (float64(c) - each) * (float64(c) - each) / each
	}
	return distuv.ChiSquared{K: float64(len(counts) - 1)}.Survival(sum)
}

// The labels of a figure's forecasts.
const (
	// LabelSkill: the live record beats both naive forecasts.
	LabelSkill = "skill"
	// LabelProvisional: so far only forecasts made again of the past do.
	LabelProvisional = "provisional"
	// LabelNoSkill: neither does. The published forecast is a calibrated naive one.
	LabelNoSkill = "no_skill"
)

// Label returns the label of the forecasts. It follows from the live record, oldest first and with at least minGrades grades, or from the
// forecasts made again for the time before.
func Label(live, again []Graded, minGrades int) string {
	switch {
	case len(live) >= minGrades && NewScorecard(live).beatsBoth():
		return LabelSkill
	case len(again) >= minGrades && NewScorecard(again).beatsBoth():
		return LabelProvisional
	}
	return LabelNoSkill
}

// beatsBoth reports whether the lower bounds of both skills are above zero.
func (s Scorecard) beatsBoth() bool {
	return !slices.ContainsFunc(s.Against[:], func(c Comparison) bool { return !(c.Lo > 0) })
}

// Decayed reports whether the live record of a figure, oldest first, shows that its forecasts have become worse than a naive one. That is
// so if the upper bound of a skill over the last minGrades grades was below zero at several consecutive checks. Weekly figures are checked
// at every fourth grade, six times; monthly ones at every grade, three times. It reads only the scores.
func Decayed(live []Graded, minGrades int, monthly bool) bool {
	checks, every := 6, 4
	if monthly {
		checks, every = 3, 1
	}
	for c := range checks {
		end := len(live) - len(live)%every - c*every
		if end < minGrades {
			return false
		}
		// It loses to a naive forecast if the upper bound of the skill is below zero.
		both := against(live[end-minGrades : end])
		if !slices.ContainsFunc(both[:], func(c Comparison) bool { return c.Hi < 0 }) {
			return false
		}
	}
	return true
}
