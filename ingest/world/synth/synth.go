// Package synth draws the figures of the sandbox world: series that look like market data but are synthetic. A drawn value depends only on
// the seed, the name of its process and its date. It does not depend on the clock or on earlier requests. A sandbox that is stopped and
// started again, or read in another order, therefore shows the same history.
//
// A source's sandbox uses it in three steps. A Process, or several combined, draws a Series. A ReleaseHistory turns the series into the
// publisher's state at an instant. The source writes that state in its own wire form. Start at World.
//
// The package is a leaf: it knows no publisher and no wire form.
package synth

import (
	"hash/fnv"
	"math"
	"slices"
	"sort"
	"time"
)

// World is the description of the world that a sandbox handler gets.
type World struct {
	// Seed chooses one of many possible histories. Zero is a seed as good as any.
	Seed uint64
	// Now is the world's clock. Values that are not yet published at Now must not be shown.
	Now func() time.Time
	// Companies is the number of companies in the market. If it is less than the number of predefined companies (some 65), as zero is,
	// the market has exactly the predefined ones. Further ones are made after their example.
	Companies int
	// Prices names the rule that the prices of shares follow. Empty is Drawn.
	Prices Prices
	// Revised is an instant. Of what is two weeks older, the newest figures are others than they were drawn, a little lower. Zero: none are.
	Revised time.Time
	// Shrunk is an instant before which there are no figures. Zero: there are all.
	Shrunk time.Time
}

// revisedFigures is the number of figures that a revision changes: too few to look like a mistake.
const revisedFigures = 6

// applyFaults applies the world's faults to drawn points.
func (w World) applyFaults(points []Point, decimals int) []Point {
	if w.Shrunk.IsZero() && w.Revised.IsZero() {
		return points
	}
	n := sort.Search(len(points), func(i int) bool { return !points[i].At.Before(w.Shrunk) })
	points = slices.Clone(points[n:])
	// Every publisher has published data that are two weeks old.
	last := sort.Search(len(points), func(i int) bool { return !points[i].At.Before(w.Revised.AddDate(0, 0, -14)) })
	for i := max(0, last-revisedFigures); i < last && !w.Revised.IsZero(); i++ {
		points[i].Value *= 0.99
		if decimals >= 0 {
			points[i].Value = Round(points[i].Value, decimals)
		}
	}
	return points
}

// Noise is a table of independent random draws, one per date; a lookup changes nothing. The zero Noise is valid.
type Noise struct{ seed uint64 }

// Noise returns the table of that name. Tables of different names, or of worlds with different seeds, are independent.
func (w World) Noise(name string) Noise {
	h := fnv.New64a()
	h.Write([]byte(name)) // a hash never returns an error
	return Noise{mix(w.Seed ^ mix(h.Sum64()))}
}

// Uniform returns the draw of a date, in [0, 1). Two instants of one UTC day share their draw.
func (n Noise) Uniform(day time.Time) float64 {
	return unit(mix(n.seed ^ mix(uint64(dayNumber(day)))))
}

// Normal returns the draw of a date from the standard normal distribution, by the transform of Box and Muller. It is not
// independent of Uniform's draw of the same date.
func (n Noise) Normal(day time.Time) float64 {
	u := mix(n.seed ^ mix(uint64(dayNumber(day))))
	radius := math.Sqrt(-2 * math.Log(1-unit(u))) // 1-u is in (0, 1]
	return radius * math.Cos(2*math.Pi*unit(mix(u)))
}

// Chance reports whether an event happens on a date. It happens on the share p of all dates.
func (n Noise) Chance(day time.Time, p float64) bool { return n.Uniform(day) < p }

// Round rounds half away from zero to a number of decimals, as publishers do before they print.
func Round(v float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(v*scale) / scale
}

// Yearly returns a wave with a period of one year that is amplitude on the given day and -amplitude half a year later.
func Yearly(amplitude float64, month time.Month, day int) func(time.Time) float64 {
	peak := time.Date(2001, month, day, 0, 0, 0, 0, time.UTC).YearDay() // a year without 29 February
	return func(t time.Time) float64 {
		return amplitude * math.Cos(2*math.Pi*float64(t.YearDay()-peak)/365.25)
	}
}

// dayNumber counts days since 1970-01-01 UTC, downward before it.
func dayNumber(t time.Time) int64 {
	const day = 24 * 60 * 60
	s := t.Unix()
	if s < 0 {
		s -= day - 1
	}
	return s / day
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014) after one step.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit maps the upper 53 bits to [0, 1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }
