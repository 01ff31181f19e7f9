package fred

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tidemark/ingest/world/synth"
)

// script defines how a figure of the sandbox moves and is printed. Levels, trends and the sizes of revisions are set by eye to the real
// figures since 2005; none of it is a forecast or a fit.
type script struct {
	process synth.Process
	// first is the standard deviation of the change from the first print to the second, second from the second to the third. Zero: the
	// next releases do not revise it.
	first, second float64
	// yearly is the standard deviation of the change in each of the next five releases of January's figure.
	yearly float64
	// to is the rounding step of the values.
	to float64
}

// trend grows by a step with every month since begin.
func trend(step float64) func(time.Time) float64 {
	return func(day time.Time) float64 {
		return step * float64(12*(day.Year()-begin.Year())+int(day.Month()-begin.Month()))
	}
}

var quarters = synth.Calendar{First: begin, Next: func(t time.Time) time.Time { return t.AddDate(0, 3, 0) }}

var scripts = map[string]script{
	"PAYEMS": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 133_000, Season: trend(115), Reversion: 0.04, Volatility: 80},
		first:   35, second: 20, yearly: 15, to: 1,
	},
	"UNRATE": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 5, Reversion: 0.03, Volatility: 0.14, Floor: 3, Ceiling: 10},
		yearly:  0.03, to: 0.1,
	},
	"CPIAUCSL": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 191, Log: true, Season: trend(0.0021), Reversion: 0.08, Volatility: 0.0017},
		yearly:  0.08, to: 0.001,
	},
	"A191RL1Q225SBEA": {
		process: synth.Process{Calendar: quarters, Mean: 2.2, Reversion: 0.7, Volatility: 1.8},
		first:   0.35, second: 0.2, to: 0.1,
	},
	"INDPRO": {
		process: synth.Process{Calendar: synth.Months(begin), Mean: 100, Reversion: 0.03, Volatility: 0.55, Floor: 60, Ceiling: 140},
		first:   0.2, second: 0.1, yearly: 0.05, to: 0.0001,
	},
	"ICSA": {
		process: synth.Process{Calendar: synth.Weeks(begin), Mean: 240_000, Log: true, Reversion: 0.06, Volatility: 0.035, Floor: 150_000, Ceiling: 700_000},
		first:   1_500, to: 1_000,
	},
}

// draw draws the figures of all releases, by FRED's id, each on the board of its release's rhythm.
func draw(w synth.World) map[string]*synth.ReleaseHistory {
	boards := map[string]*synth.ReleaseHistory{}
	for _, r := range releases {
		for _, f := range r.figures {
			s := scripts[f.id]
			s.process.Name, s.process.Decimals = "fred "+f.id, -1
			boards[f.id] = synth.NewBoard(w.Series(s.process), r.prints(w, f, s))
		}
	}
	return boards
}

// prints defines how a figure is printed.
func (r release) prints(w synth.World, f figure, s script) synth.Publisher {
	const years = 5
	first, second := w.Noise("fred first print of "+f.id), w.Noise("fred second print of "+f.id)
	var yearly [years]synth.Noise
	for i := range yearly {
		yearly[i] = w.Noise(fmt.Sprintf("fred revision %d of %s", i+1, f.id))
	}
	// The divisions and products keep what is a round number in decimals one.
	rounded := func(v float64) float64 {
		if s.to < 1 {
			per := math.Round(1 / s.to)
			v = math.Round(v*per) / per
		} else {
			v = math.Round(v/s.to) * s.to
		}
		if v == 0 {
			return 0 // and not -0
		}
		return v
	}
	return func(points []synth.Point) []synth.Print {
		last := points[len(points)-1]
		value := last.Value
		var prints []synth.Print
		print := func(at time.Time, v float64) { prints = append(prints, synth.Print{KnownAt: at, Value: rounded(v)}) }
		third := value
		late := third + s.second*second.Normal(last.At)
		print(r.day(last.At), late+s.first*first.Normal(last.At))
		if s.first > 0 {
			print(r.day(f.later(last.At, 1)), late)
		}
		if s.second > 0 {
			print(r.day(f.later(last.At, 2)), third)
		}
		for i := range yearly {
			if s.yearly > 0 {
				third += s.yearly * yearly[i].Normal(last.At)
				print(r.day(time.Date(last.At.Year()+1+i, time.January, 1, 0, 0, 0, 0, time.UTC)), third)
			}
		}
		slices.SortStableFunc(prints, func(a, b synth.Print) int { return a.KnownAt.Compare(b.KnownAt) })
		return prints
	}
}

// later is the date whose release comes n releases after the release of a period. The estimates of a quarter are a month apart.
func (f figure) later(period time.Time, n int) time.Time {
	if f.frequency == "weekly" {
		return period.AddDate(0, 0, 7*n)
	}
	return period.AddDate(0, n, 0)
}

// day is the time at which the sandbox releases the figure of a period. Such figures are not released on weekends and Mondays: then it is
// the Friday before.
func (r release) day(period time.Time) time.Time {
	at := r.published(period)
	switch at.Weekday() {
	case time.Saturday:
		at = at.AddDate(0, 0, -1)
	case time.Sunday:
		at = at.AddDate(0, 0, -2)
	case time.Monday:
		at = at.AddDate(0, 0, -3)
	}
	return r.clock.on(at)
}
