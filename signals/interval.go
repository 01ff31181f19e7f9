package signals

import (
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"tidemark/internal/series"
)

// What an interval bounds.
const (
	// BoundsNextPrint is a figure that its publisher has yet to print for the first time.
	BoundsNextPrint = "next_first_print"
	// BoundsRevised is the same figure after its publisher's next estimate of it.
	BoundsRevised = "revised_value"
	// BoundsTrue is a quantity that is never published.
	BoundsTrue = "true_value"
)

// What an interval rests on.
const (
	// BasisMeasured intervals have a record: the bounded values were seen later, in at least measuredCases cases.
	BasisMeasured = "measured"
	// BasisAssumed intervals have none. No probability is claimed for them.
	BasisAssumed = "assumed"
)

// IntervalBounds and IntervalBases list the values that an interval may bound and the grounds that it may rest on.
func IntervalBounds() []string { return []string{BoundsNextPrint, BoundsRevised, BoundsTrue} }

func IntervalBases() []string { return []string{BasisMeasured, BasisAssumed} }

// measuredCases is how many outcomes make a record: of fewer, 90 % and 100 % are hardly told apart.
const measuredCases = 20

// Interval says what the interval of a signal bounds.
type Interval struct {
	// Bounds is one of BoundsNextPrint, BoundsRevised and BoundsTrue. Truth says in words what that is here.
	Bounds, Truth string
	// Trials pairs intervals, as readers had them, with their outcomes. Nil if the outcome is never seen.
	Trials func(h IntervalHistory) []Trial
}

// IntervalHistory is the data of a signal's publisher up to an instant.
type IntervalHistory struct {
	// Read holds, for each instant at which something new became known, the newest estimate of that instant. First are the first values
	// of each observation, which it was made of.
	Read  Track
	First series.Set
	// Vintages are all values of the Reestimated series, by observation time and vintage.
	Vintages map[series.ID][]series.Observation
}

// Trial is an interval whose truth became known.
type Trial struct {
	// At is when the truth became known.
	At  time.Time
	Hit bool
	// Stage names the state of knowledge that the interval is of, where a signal has several. All trials have the same.
	Stage string
}

// Coverage is how often intervals held their truth.
type Coverage struct {
	Cases, Hits int
	// Share is Hits of Cases. Lo and Hi bound it at 95 %, as the exact bounds of a binomial share. Unknown without cases.
	Share, Lo, Hi float64
}

// IntervalRecord is how often the intervals of a signal held their truth, in all and in the last two years.
type IntervalRecord struct {
	Coverage
	Last2Years Coverage
	// Stage is that of the counted intervals, empty if the signal has only one.
	Stage string
}

// MeasureInterval compares the signal's intervals with their outcomes by an instant. It takes the first vintages of the inputs, as
// RunBacktest does, and all vintages of the Reestimated series. It is pure. If there are too few outcomes to measure, the basis is
// BasisAssumed and the record nil.
func (d Definition) MeasureInterval(first series.Set, vintages map[series.ID][]series.Observation, at time.Time) (basis string, record *IntervalRecord) {
	if d.Interval.Trials == nil {
		return BasisAssumed, nil
	}
	arrived := series.Set{}
	for _, id := range d.Inputs {
		arrived[id] = inOrder(first[id])
	}
	trials := d.Interval.Trials(IntervalHistory{Read: d.asRead(arrived, at), First: arrived, Vintages: vintages})
	recent := at.AddDate(-2, 0, 0)
	var all, newest [2]int
	for _, t := range trials {
		hit := 0
		if t.Hit {
			hit = 1
		}
		all[0], all[1] = all[0]+1, all[1]+hit
		if t.At.After(recent) {
			newest[0], newest[1] = newest[0]+1, newest[1]+hit
		}
	}
	if all[0] < measuredCases {
		return BasisAssumed, nil
	}
	return BasisMeasured, &IntervalRecord{Coverage: coverage(all[0], all[1]), Last2Years: coverage(newest[0], newest[1]), Stage: trials[0].Stage}
}

// coverage is a share with its exact bounds at 95 % (Clopper and Pearson, Biometrika 26, 1934).
func coverage(cases, hits int) Coverage {
	c := Coverage{Cases: cases, Hits: hits, Share: moments{}.mean(), Lo: moments{}.mean(), Hi: moments{}.mean()}
	if cases == 0 {
		return c
	}
	k, n := float64(hits), float64(cases)
	c.Share, c.Lo, c.Hi = k/n, 0, 1
	if hits > 0 {
		c.Lo = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(0.025)
	}
	if hits < cases {
		c.Hi = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(0.975)
	}
	return c
}

// holds reports whether a truth lies within an estimate's interval, its ends included, and whether there is an interval.
func (e Estimate) holds(truth float64) (hit, ok bool) {
	return e.Lo <= truth && truth <= e.Hi, e.Lo <= e.Hi
}

// nextPrints are the trials of intervals that bound a figure to come. truth returns the figure's first print, and whether it is known.
func nextPrints(read Track, truth func(e Estimate) (series.Point, bool)) []Trial {
	var out []Trial
	for _, e := range read {
		p, known := truth(e)
		if !known || p.VintageAt <= e.KnownAt {
			continue
		}
		if hit, ok := e.holds(p.Value); ok {
			out = append(out, Trial{At: p.VintageAt.Time(), Hit: hit})
		}
	}
	return out
}
