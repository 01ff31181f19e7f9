package signals

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tidemark/internal/series"
)

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// point is a value that became known two days after the day it is about.
func point(day string, value float64) series.Point {
	return series.Point{ObservedAt: series.InstantOf(date(day)), VintageAt: series.InstantOf(date(day).AddDate(0, 0, 2)), Value: value}
}

// walk draws a random walk on the days from one to another that keep admits. As with publishers, a tenth of the days are missing, and now
// and then there is a gap of up to two months.
func walk(rng *rand.Rand, from, to time.Time, start, step float64, keep func(time.Time) bool) []series.Point {
	var out []series.Point
	hole := 0
	for t := from; !t.After(to); t = t.AddDate(0, 0, 1) {
		if !keep(t) {
			continue
		}
		start += step * rng.NormFloat64()
		if rng.IntN(400) == 0 {
			hole = rng.IntN(40)
		}
		if hole--; hole >= 0 || rng.IntN(10) == 0 {
			continue
		}
		out = append(out, series.Point{ObservedAt: series.InstantOf(t), VintageAt: series.InstantOf(t.AddDate(0, 0, 2+rng.IntN(7))), Value: start})
	}
	return out
}

func weekday(t time.Time) bool { return t.Weekday() != time.Saturday && t.Weekday() != time.Sunday }
func friday(t time.Time) bool  { return t.Weekday() == time.Friday }

// near reports whether two numbers agree to 1e-9 of the larger or of scale, or are both unknown.
func near(got, want, scale float64) bool {
	if math.IsNaN(got) || math.IsNaN(want) {
		return math.IsNaN(got) && math.IsNaN(want)
	}
	return math.Abs(got-want) <= 1e-9*max(math.Abs(want), scale)
}

func wantNear(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !near(got, want, 0) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}
