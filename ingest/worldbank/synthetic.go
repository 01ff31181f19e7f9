package worldbank

import (
	"math"
	"time"

	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

// draw draws the synthetic prices, each with its release history. Levels and spreads are set by eye to the real series since 2000. Gas is
// near 3.4 dollars in the United States and between 3 and 20 in Europe. Japan's imports move slower and are higher, since most of their
// contracts follow oil. Before 2000 all of them rise from cents. None of it is a forecast or a fit.
func draw(w synth.World) map[series.ID]*synth.ReleaseHistory {
	months := synth.Months(time.Date(1960, 1, 1, 0, 0, 0, 0, time.UTC))
	// What both importing regions share.
	world := w.Series(synth.Process{
		Name: "worldbank gas world", Calendar: months, Decimals: -1,
		Reversion: 0.045, Volatility: 0.075,
	})
	us := w.Series(synth.Process{
		Name: "worldbank NGAS_US", Calendar: months, Decimals: 4,
		Mean: 3.4, Reversion: 0.09, Volatility: 0.11, Log: true, Floor: 0.05, Ceiling: 20,
		Season: climb(synth.Yearly(0.10, time.January, 15), 0.14/3.4),
	})
	europe := w.Series(synth.Process{
		Name: "worldbank NGAS_EUR", Calendar: months, Decimals: -1,
		Mean: 8.6, Reversion: 0.07, Volatility: 0.07, Log: true,
		Season: climb(synth.Yearly(0.07, time.January, 25), 0.4/8.6),
	})
	japan := w.Series(synth.Process{
		Name: "worldbank LNG_JP", Calendar: synth.Months(time.Date(1977, 1, 1, 0, 0, 0, 0, time.UTC)), Decimals: -1,
		Mean: 11, Reversion: 0.05, Volatility: 0.025, Log: true,
		Season: climb(func(time.Time) float64 { return 0 }, 2.7/11),
	})
	return map[series.ID]*synth.ReleaseHistory{
		"worldbank.NGAS_US": synth.NewBoard(us, once),
		"worldbank.NGAS_EUR": synth.NewBoard(synth.Combine(func(_ time.Time, v []float64) float64 {
			return synth.Round(v[0]*math.Exp(v[1]), decimals)
		}, europe, world), once),
		"worldbank.LNG_JP": synth.NewBoard(synth.Combine(func(_ time.Time, v []float64) float64 {
			return synth.Round(v[0]*math.Exp(0.5*v[1]), decimals)
		}, japan, world), estimatedFirst(w)),
	}
}

// climb adds to a season the way from a share of the level in 1960 to the level in 2000.
func climb(season func(time.Time) float64, from float64) func(time.Time) float64 {
	return func(day time.Time) float64 {
		left := min(max(float64(2000-day.Year())/40, 0), 1)
		return season(day) + left*math.Log(from)
	}
}

// once prints each value permanently: the prices of the United States and Europe were not revised in six pairs of vintages.
func once(points []synth.Point) []synth.Print {
	last := points[len(points)-1]
	return []synth.Print{{KnownAt: published(last.At), Value: last.Value}}
}

// estimatedFirst prints an estimate of each month and a release later the value. In each of six pairs of vintages only the newest month
// of Japan's imports changed afterwards, by 0.12 to 1.97 dollars.
func estimatedFirst(w synth.World) synth.Publisher {
	size, sign := w.Noise("worldbank LNG_JP estimate"), w.Noise("worldbank LNG_JP estimate sign")
	return func(points []synth.Point) []synth.Print {
		last := points[len(points)-1]
		apart := min(0.1+0.3*math.Abs(size.Normal(last.At)), 2)
		if sign.Chance(last.At, 0.5) {
			apart = -apart
		}
		return []synth.Print{
			{KnownAt: published(last.At), Value: synth.Round(max(last.Value+apart, 0.1), 4)},
			{KnownAt: published(last.At.AddDate(0, 1, 0)), Value: last.Value},
		}
	}
}
