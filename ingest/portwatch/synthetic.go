package portwatch

import (
	"math"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// firstDay is the first day of the layer.
var firstDay = time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)

// classes are the kinds of ships: the number that pass on a day and the tons that each carries. They are set by eye to the real figures
// from 2019 to 2024. None of it is a forecast or a fit.
var classes = []struct {
	name       string
	mean, tons float64
}{
	{"container", 9, 24_000},
	{"dry bulk", 12, 31_000},
	{"general cargo", 5, 6_000},
	{"ro-ro", 2.5, 1_000},
	{"tanker", 60, 58_000},
}

const (
	// revisedShare is the share of quarters whose first release estimates the whole history again. factorSD is the standard deviation of
	// the factor for all counts, as a logarithm. The real factor was once 0.83.
	revisedShare = 0.5
	factorSD     = 0.05
	// provisional is the share of ships that the newest week is counted with.
	provisional = 0.97
)

// strait is the synthetic traffic.
type strait struct {
	ships []*synth.Series // by class, not rounded
	load  []synth.Noise   // by class: how full the ships of a day are

	revised, factors synth.Noise
}

// draw draws the traffic. What passes on a day is each class's own number times the traffic of the season, which all share and
// which now and then falls for weeks.
func draw(w synth.World) *strait {
	traffic := w.Series(synth.Process{
		Name: "portwatch traffic", Calendar: synth.Days(firstDay), Decimals: -1,
		Mean: 1, Reversion: 0.02, Volatility: 0.012, Log: true, Floor: 0.1, Ceiling: 1.6,
		Season: slumps(w.Noise("portwatch slumps")),
	})
	s := &strait{revised: w.Noise("portwatch revised"), factors: w.Noise("portwatch factors")}
	for _, c := range classes {
		own := w.Series(synth.Process{
			Name: "portwatch " + c.name, Calendar: synth.Days(firstDay), Decimals: -1,
			Mean: c.mean, Reversion: 0.6, Volatility: 0.9 * math.Sqrt(c.mean), Floor: 0, Ceiling: 4 * c.mean,
		})
		s.ships = append(s.ships, synth.Combine(func(_ time.Time, v []float64) float64 { return v[0] * v[1] }, own, traffic))
		s.load = append(s.load, w.Noise("portwatch load "+c.name))
	}
	return s
}

// slumps begins on about one day in 700 a fall of traffic by a third to two thirds, which fades over two months.
func slumps(noise synth.Noise) func(time.Time) float64 {
	const share, days, memory = 1.0 / 700, 60, 18.0
	return func(day time.Time) float64 {
		depth := 0.0
		for back := range days {
			begun := day.AddDate(0, 0, -back)
			if noise.Chance(begun, share) {
				size := 0.4 + 0.7*noise.Uniform(begun)/share // the draw is below share: scaled up, it is a separate draw
				depth = max(depth, size*math.Exp(-float64(back)/memory))
			}
		}
		return -depth
	}
}

// at returns what the layer holds after a release: every day up to its last, as it then counts them.
func (s *strait) at(release time.Time) []Row {
	last := lastDay(release)
	weekBefore := last.AddDate(0, 0, -7)
	factor := s.factor(release)
	drawn := make([][]synth.Point, len(classes))
	for i, ships := range s.ships {
		drawn[i] = ships.Until(last)
	}
	rows := make([]Row, len(drawn[0]))
	for n, p := range drawn[0] {
		share := factor
		if p.At.After(weekBefore) {
			share *= provisional
		}
		r := NewRow(p.At)
		r.ObjectID = n + 1
		for i, into := range []struct{ ships, tons *float64 }{
			{&r.Container, &r.CapacityContainer},
			{&r.DryBulk, &r.CapacityDryBulk},
			{&r.GeneralCargo, &r.CapacityGeneral},
			{&r.RoRo, &r.CapacityRoRo},
			{&r.Tanker, &r.CapacityTanker},
		} {
			*into.ships = math.Round(drawn[i][n].Value * share)
			*into.tons = math.Round(*into.ships * classes[i].tons * math.Exp(0.12*s.load[i].Normal(p.At)))
		}
		r.Cargo = r.Container + r.DryBulk + r.GeneralCargo + r.RoRo
		r.Total = r.Cargo + r.Tanker
		r.CapacityCargo = r.CapacityContainer + r.CapacityDryBulk + r.CapacityGeneral + r.CapacityRoRo
		r.Capacity = r.CapacityCargo + r.CapacityTanker
		rows[n] = r
	}
	return rows
}

// factor is a release's factor for all counts: it changes with the first release of some quarters. Before the first such quarter it is 1.
func (s *strait) factor(release time.Time) float64 {
	year, month, _ := release.In(ingest.NewYork()).Date()
	quarter := time.Date(year, month-(month-1)%3, 1, 0, 0, 0, 0, time.UTC)
	for ; !quarter.Before(firstDay); quarter = quarter.AddDate(0, -3, 0) {
		if s.revised.Chance(quarter, revisedShare) {
			return math.Exp(factorSD * s.factors.Normal(quarter))
		}
	}
	return 1
}
