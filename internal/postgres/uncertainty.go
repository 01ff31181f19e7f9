package postgres

import (
	"math"

	"tidemark/signals"
)

// Uncertainty is the basis of a signal's intervals, as it is stored and published.
type Uncertainty struct {
	// Basis is signals.BasisMeasured or signals.BasisAssumed.
	Basis string `json:"basis"`
	// Record is nil if the basis is assumed.
	Record *IntervalRecord `json:"record"`
}

// Interval says what the intervals of a signal bound and on what they rest. Both texts come from the snapshot's uncertainty.
type Interval struct{ Bounds, Basis string }

// IntervalOf describes the intervals of a signal, by the measurement of a snapshot. An interval without a record is assumed, also if an
// older program kept none. u may be nil.
func IntervalOf(d signals.Definition, u *Uncertainty) Interval {
	if u == nil || u.Record == nil {
		return Interval{d.Interval.Bounds, signals.BasisAssumed}
	}
	return Interval{d.Interval.Bounds, signals.BasisMeasured}
}

// Of returns the texts for a point: empty ones if it has no interval.
func (i Interval) Of(p Point) Interval {
	if math.IsNaN(p.Lo) {
		return Interval{}
	}
	return i
}

// IntervalRecord counts how often the true value, known later, was within the interval.
type IntervalRecord struct {
	Cases int `json:"cases"`
	Hits  int `json:"hits"`
	// Share is Hits divided by Cases. CI95 is its exact binomial interval at 95%, as if the cases were independent.
	Share *float64    `json:"coverage"`
	CI95  *[2]float64 `json:"coverage_ci95"`
	// Last2Years counts only the outcomes of the last two years.
	Last2Years Coverage `json:"last_2y"`
	// Stage names the state of knowledge whose intervals are counted, where a signal has several: trend, august, september, october or
	// november. The backtest has the coverage of each (forecast_skill). It is absent where all intervals are counted.
	Stage string `json:"stage,omitempty"`
}

// All returns the record of all years.
func (r IntervalRecord) All() Coverage { return Coverage{r.Cases, r.Hits, r.Share, r.CI95} }

// Coverage is a share of cases with its exact binomial bounds. Without cases the shares are nil.
type Coverage struct {
	Cases int         `json:"cases"`
	Hits  int         `json:"hits"`
	Share *float64    `json:"coverage"`
	CI95  *[2]float64 `json:"coverage_ci95"`
}

// NewUncertainty returns the stored form of the result of signals.Definition.MeasureInterval.
func NewUncertainty(basis string, record *signals.IntervalRecord) *Uncertainty {
	out := &Uncertainty{Basis: basis}
	if record != nil {
		all := newCoverage(record.Coverage)
		out.Record = &IntervalRecord{all.Cases, all.Hits, all.Share, all.CI95, newCoverage(record.Last2Years), record.Stage}
	}
	return out
}

func newCoverage(c signals.Coverage) Coverage {
	out := Coverage{Cases: c.Cases, Hits: c.Hits, Share: Known(c.Share)}
	if c.Cases > 0 {
		out.CI95 = &[2]float64{c.Lo, c.Hi}
	}
	return out.rounded()
}

// Rounded returns the record with its numbers as they are served. A record that an older program stored has more digits.
func (r IntervalRecord) Rounded() *IntervalRecord {
	all := r.All().rounded()
	r.Share, r.CI95, r.Last2Years = all.Share, all.CI95, r.Last2Years.rounded()
	return &r
}

func (c Coverage) rounded() Coverage {
	return Coverage{c.Cases, c.Hits, statistic(c.Share), statistics(c.CI95)}
}
