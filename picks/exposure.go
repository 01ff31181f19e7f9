package picks

import "math"

// SignalState is one of our own signals as it stood when a pick was made.
type SignalState struct {
	// ID is the signal's id, for example "crack-spread-321".
	ID string
	// Z is its z-score against its baseline; NaN when unknown.
	Z float64
	// Live tells that the signal was neither decayed nor deprecated. Others have no effect.
	Live bool
}

// Exposure states that companies with certain SIC codes gain (Sign +1) or lose (Sign -1) when a signal is above its baseline. The
// table is a judgement, stated in full so that it can be disputed; its effect is small and capped.
type Exposure struct {
	Signal      string
	Sign        int
	First, Last int
	// Reason is why, in one sentence.
	Reason string
}

// The effect of a signal on a score: a z-score counts up to maxSignalZ on either side, and moves a score by tiltPerZ for each unit. All
// signals together move it by no more than maxTilt.
const (
	maxSignalZ = 2.0
	tiltPerZ   = 0.05
	maxTilt    = 0.10
)

// exposures is the table, ordered by signal.
var exposures = []Exposure{
	{"crack-spread-321", +1, 2911, 2911, "A refiner earns the difference between products and crude oil."},
	{"crack-spread-321", -1, 4510, 4522, "A wide margin makes jet fuel dear, an airline's largest cost after wages."},
	{"eia-weekly-petroleum", -1, 1311, 1311, "High crude oil stocks weigh on the price that a producer gets."},
	{"eia-weekly-petroleum", -1, 1381, 1389, "Producers that earn less drill less."},
	{"hormuz-transit", -1, 1311, 1311, "Fewer ships through the strait make oil from elsewhere dearer."},
	{"hormuz-transit", +1, 4510, 4522, "Free passage keeps fuel affordable."},
	{"iowa-corn-yield", +1, 2010, 2015, "A good harvest makes feed cheap, the largest cost of meat."},
	{"iowa-corn-yield", +1, 2040, 2048, "A good harvest makes the grain that mills and starch makers buy cheap."},
	{"iowa-corn-yield", +1, 2860, 2869, "A good harvest makes the corn that ethanol is made of cheap."},
	{"iowa-corn-yield", -1, 3523, 3523, "Cheap grain leaves farmers less to spend on machines."},
	{"lng-arbitrage", +1, 4922, 4924, "A wide gap between European and American gas prices pays those who liquefy and ship gas."},
	{"lng-arbitrage", +1, 2870, 2879, "A wide gap leaves American makers of nitrogen fertilizer with the cheaper gas."},
	{"tropomi-no2-economic", +1, 1000, 1099, "More nitrogen dioxide over industrial regions goes with more demand for metal."},
	{"tropomi-no2-economic", +1, 3310, 3399, "More nitrogen dioxide over industrial regions goes with more demand for metal."},
	{"tropomi-no2-economic", +1, 4400, 4412, "More nitrogen dioxide over industrial regions goes with more freight."},
}

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

// Tilt is what our own signals add to a company's score, and the parts it is made of.
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

// tiltOf adds up the live signals that a company is exposed to.
func tiltOf(sic int, states []SignalState) Tilt {
	var t Tilt
	for _, e := range ExposuresOf(sic) {
		for _, s := range states {
			if s.ID != e.Signal || !s.Live || math.IsNaN(s.Z) {
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
