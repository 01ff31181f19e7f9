package postgres

import "tidemark/signals"

// Uncertainty is what a signal's intervals rest on, as it is stored and published.
type Uncertainty struct {
	// Basis is signals.BasisMeasured or signals.BasisAssumed.
	Basis string `json:"basis"`
	// Record is nil where the basis is assumed.
	Record *IntervalRecord `json:"record"`
}

// IntervalRecord is how often intervals held what they bound, as it turned out later.
type IntervalRecord struct {
	Cases int `json:"cases"`
	Hits  int `json:"hits"`
	// Share is hits of cases, CI95 its exact binomial bounds at 95 %, as if no case had to do with another.
	Share *float64    `json:"coverage"`
	CI95  *[2]float64 `json:"coverage_ci95"`
	// Last2Years is of the outcomes of the last two years alone.
	Last2Years Coverage `json:"last_2y"`
}

// All is the record without the part that is of the last two years.
func (r IntervalRecord) All() Coverage { return Coverage{r.Cases, r.Hits, r.Share, r.CI95} }

// Coverage is a share of cases with its exact binomial bounds. Without cases the shares are nil.
type Coverage struct {
	Cases int         `json:"cases"`
	Hits  int         `json:"hits"`
	Share *float64    `json:"coverage"`
	CI95  *[2]float64 `json:"coverage_ci95"`
}

// NewUncertainty is the stored form of what signals.Definition's MeasureInterval found.
func NewUncertainty(basis string, record *signals.IntervalRecord) *Uncertainty {
	out := &Uncertainty{Basis: basis}
	if record != nil {
		all := newCoverage(record.Coverage)
		out.Record = &IntervalRecord{all.Cases, all.Hits, all.Share, all.CI95, newCoverage(record.Last2Years)}
	}
	return out
}

func newCoverage(c signals.Coverage) Coverage {
	out := Coverage{Cases: c.Cases, Hits: c.Hits, Share: Known(c.Share)}
	if c.Cases > 0 {
		out.CI95 = &[2]float64{c.Lo, c.Hi}
	}
	return out
}
