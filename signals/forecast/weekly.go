package forecast

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// weeks is a weekly series on an even grid, NaN where a week is missing: values[i] is about first and i weeks.
type weeks struct {
	first  time.Time
	values []float64
}

const week = 7 * 24 * time.Hour

// weekly puts points on the grid that begins at first and has n weeks. Points between two of its days are left out.
func weekly(points []series.Point, first time.Time, n int) weeks {
	w := weeks{first: first, values: unknowns(n)}
	for _, p := range points {
		if d := p.ObservedAt.Time().Sub(first); d >= 0 && d%week == 0 && int(d/week) < n {
			w.values[d/week] = p.Value
		}
	}
	return w
}

// unknowns returns n unknown numbers (NaN).
func unknowns(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.NaN()
	}
	return out
}

// day is the date of the i-th week.
func (w weeks) day(i int) time.Time { return w.first.Add(time.Duration(i) * week) }

// yearsBefore is the index of the week nearest to the i-th one's date, years earlier; it may lie before the grid.
func (w weeks) yearsBefore(i, years int) int {
	distance := w.day(i).AddDate(-years, 0, 0).Sub(w.first)
	return int(math.Floor(float64(distance)/float64(week) + 0.5))
}

// at is the i-th value, NaN outside of the grid.
func (w weeks) at(i int) float64 {
	if i < 0 || i >= len(w.values) {
		return math.NaN()
	}
	return w.values[i]
}

// changes are the differences from the week before, NaN after a gap.
func (w weeks) changes() weeks {
	out := weeks{first: w.first, values: unknowns(len(w.values))}
	for i := 1; i < len(w.values); i++ {
		out.values[i] = w.values[i] - w.values[i-1]
	}
	return out
}

// sameWeeks is for each week the mean of the values within reach weeks of the same date in each of the years before. It needs at least
// minKnown known values.
func (w weeks) sameWeeks(years, reach, minKnown int) []float64 {
	out := unknowns(len(w.values))
	for i := range out {
		var sum float64
		n := 0
		for k := 1; k <= years; k++ {
			centre := w.yearsBefore(i, k)
			for j := centre - reach; j <= centre+reach; j++ {
				if v := w.at(j); !math.IsNaN(v) {
					sum += v
					n++
				}
			}
		}
		if n >= minKnown {
			out[i] = sum / float64(n)
		}
	}
	return out
}

const (
	// The season uses ten years, each with a tenth less weight than the next one, and the three weeks on both sides.
	seasonYears = 10
	seasonFade  = 0.9
	seasonReach = 3
)

// season is for each week the weighted mean of the values about the same date in the years before.
func (w weeks) season() []float64 {
	out := unknowns(len(w.values))
	for i := range out {
		var sum, weight float64
		fade := 1.0
		for k := 1; k <= seasonYears; k++ {
			fade *= seasonFade
			centre := w.yearsBefore(i, k)
			for o := -seasonReach; o <= seasonReach; o++ {
				if v := w.at(centre + o); !math.IsNaN(v) {
					share := float64(fade * (1 - math.Abs(float64(o))/(seasonReach+1)))
					sum += float64(share * v)
					weight += share
				}
			}
		}
		if weight > 0 {
			out[i] = sum / weight
		}
	}
	return out
}

// less is a - b, member by member.
func less(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

const (
	// A regression looks at ten years of weeks, and needs three.
	regressionWeeks   = 520
	regressionMinRows = 156
)

// regress says each value from its row by a ridge regression on those before it. A row with an unknown number says nothing and teaches
// nothing.
func regress(rows [][]float64, values []float64, penalty float64) []float64 {
	out := unknowns(len(values))
	fit := regression{penalty: penalty, minRows: regressionMinRows, capacity: regressionWeeks}
	for i, row := range rows {
		if !complete(row) {
			continue
		}
		out[i] = fit.predict(row)
		if !math.IsNaN(values[i]) {
			fit.learn(row, values[i])
		}
	}
	return out
}

func complete(row []float64) bool { return !slices.ContainsFunc(row, math.IsNaN) }
