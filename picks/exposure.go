package picks

import (
	"math"
	"slices"
	"strings"

	"tidemark/signals"
)

// SignalState is the state of one of our own signals when a pick was made.
type SignalState struct {
	// ID is the signal's id, for example "crack-spread-321".
	ID string
	// Z is its z-score against its baseline; NaN when unknown.
	Z float64
	// Live reports whether the signal was neither decayed nor deprecated. Others have no effect.
	Live bool
}

// Exposure is a row of the table of the expected effects of our signals on companies. The rows are defined with their signals. A row that no
// test supports changes no score: it only says which companies an unusual signal is news for. The effect of the others is small and capped.
type Exposure struct {
	// Signal is the signal's id.
	Signal string
	signals.Exposure
}

// The effect of a signal on a score: a z-score counts up to maxSignalZ on either side, and moves a score by tiltPerZ for each unit. All
// signals together move it by no more than maxTilt.
const (
	maxSignalZ = 2.0
	tiltPerZ   = 0.05
	maxTilt    = 0.10
)

// exposures is the table, ordered by signal.
var exposures = func() []Exposure {
	var all []Exposure
	for _, d := range signals.All() {
		for _, e := range d.Exposures {
			all = append(all, Exposure{Signal: d.ID, Exposure: e})
		}
	}
	slices.SortStableFunc(all, func(a, b Exposure) int { return strings.Compare(a.Signal, b.Signal) })
	return all
}()

// Exposures lists the table.
func Exposures() []Exposure { return append([]Exposure(nil), exposures...) }

// ExposuresOf lists the rows that hold for an SIC code.
func ExposuresOf(sic int) []Exposure {
	var rows []Exposure
	for _, e := range exposures {
		if sic >= e.First && sic <= e.Last {
			rows = append(rows, e)
		}
	}
	return rows
}

// Tilt is the contribution of our own signals to a company's score, and its parts.
type Tilt struct {
	// Total is within maxTilt of zero.
	Total float64
	Parts []TiltPart
}

// TiltPart is one signal's part.
type TiltPart struct {
	Exposure Exposure
	// Z is the signal's z-score, not capped.
	Z float64
	// Effect is the part before all parts together are capped.
	Effect float64
}

// tiltOf adds up the live signals that a company is exposed to by rows that a test supports.
func tiltOf(rows []Exposure, states []SignalState) Tilt {
	var t Tilt
	for _, e := range rows {
		for _, s := range states {
			if s.ID != e.Signal || !s.Live || math.IsNaN(s.Z) || !e.Shown() {
				continue
			}
			effect := float64(float64(e.Sign) * tiltPerZ * min(max(s.Z, -maxSignalZ), maxSignalZ))
			t.Parts = append(t.Parts, TiltPart{Exposure: e, Z: s.Z, Effect: effect})
			t.Total += effect
		}
	}
	t.Total = min(max(t.Total, -maxTilt), maxTilt)
	return t
}
