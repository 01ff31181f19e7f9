package signals

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// trend is the least squares line through n yearly values, at the forecast year. If it cannot be computed, n is zero and the numbers are
// unknown.
type trend struct {
	year, n int
	value   float64
	// slope is per year, se the residual standard error.
	slope, se, leverage float64
}

// fitTrend fits the line and looks along it to a year. It is written out, and not gonum's, for the reasons that stats.go states: a
// constant has a slope and a residual of exactly zero.
func fitTrend(years, values []float64, year int) trend {
	n := len(years)
	var x, y moments
	for i := range n {
		x, y = x.add(years[i]), y.add(values[i])
	}
	var cross, squares float64
	for i := range n {
		cross += float64((years[i] - x.mean()) * (values[i] - y.mean()))
	}
	slope, ahead := cross/x.deviations(), float64(year)-x.mean()
	for i := range n {
		residual := values[i] - y.mean() - float64(slope*(years[i]-x.mean()))
		squares += float64(residual * residual)
	}
	return trend{
		year: year, n: n, slope: slope,
		value:    y.mean() + float64(slope*ahead),
		se:       math.Sqrt(squares / float64(n-2)),
		leverage: 1/float64(n) + float64(ahead*ahead/x.deviations()),
	}
}

// half is the half width of the line's own 90 % band for a new year.
func (t trend) half() float64 {
	if t.n == 0 {
		return math.NaN()
	}
	return float64(studentT95(t.n-2) * t.se * math.Sqrt(1+t.leverage))
}

// studentT95 is the 95 % quantile of Student's t distribution.
func studentT95(degrees int) float64 {
	return distuv.StudentsT{Sigma: 1, Nu: float64(degrees)}.Quantile((1 + Level) / 2)
}
