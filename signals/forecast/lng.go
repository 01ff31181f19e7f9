package forecast

import (
	"math"
	"time"

	"tidemark/internal/series"
)

const (
	hub    series.ID = "worldbank.NGAS_US"
	europe series.ID = "worldbank.NGAS_EUR"

	// The margin's costs: the gas at 115 % of the hub's price, and fee, freight and terminal together, in USD per million Btu.
	hubShare = 1.15
	lngCosts = 4.30
)

// lngMargin forecasts the margin of a cargo from the US Gulf Coast to Europe in a month, as the World Bank's Pink Sheet first prints its two
// prices.
func lngMargin() Target {
	// The second day of the month after.
	second := schedule{form: formMonth, series: europe, due: func(month time.Time) time.Time { return month.AddDate(0, 1, 1) }}
	return Target{
		Signal: "lng-arbitrage", Figure: "margin_europe", Name: "Margin of US LNG in Europe, monthly mean prices", Unit: "USD/MMBtu",
		Decimals: 4, Version: "margin_europe-1", Monthly: true, GradesNeeded: monthlyGrades, GivenUpAfter: gradeTimeout,
		Inputs: []series.ID{europe, hub}, schedules: []schedule{second},
		next: func(in series.Set, _ time.Time) (Release, bool) {
			p, ok := newest(gasMonths(in).points())
			if !ok {
				return Release{}, false
			}
			return second.release(p.ObservedAt.Time().AddDate(0, 1, 0)), true
		},
		outcome: func(in series.Set, r Release) (series.Point, bool) {
			return pointOn(gasMonths(in).points(), r.ObservedAt)
		},
		walk: func(in series.Set, r Release) []step { return lngWalk(gasMonths(in), r.ObservedAt).run() },
	}
}

// gas are the months with both prices on an even grid; NaN for a missing month.
type gas struct {
	first       time.Time
	europe, hub []float64
	vintage     []series.Instant
}

func gasMonths(in series.Set) gas {
	// The Pink Sheet's European price is the TTF from April 2015; before, it is another market.
	ttf := series.DateOf(2015, time.April, 1)
	var g gas
	for _, p := range in[europe] {
		month := p.ObservedAt.Time()
		us, ok := pointOn(in[hub], month)
		if p.ObservedAt < ttf || !ok {
			continue
		}
		if g.first.IsZero() {
			g.first = month
		}
		for len(g.europe) < monthsBetween(g.first, month) {
			g.europe, g.hub, g.vintage = append(g.europe, math.NaN()), append(g.hub, math.NaN()), append(g.vintage, 0)
		}
		g.europe, g.hub, g.vintage = append(g.europe, p.Value), append(g.hub, us.Value), append(g.vintage, max(p.VintageAt, us.VintageAt))
	}
	return g
}

func monthsBetween(a, b time.Time) int {
	return 12*(b.Year()-a.Year()) + int(b.Month()) - int(a.Month())
}

func (g gas) margin(i int) float64 { return g.europe[i] - float64(hubShare*g.hub[i]) - lngCosts }

// points are the margins of the months that have one.
func (g gas) points() []series.Point {
	var out []series.Point
	for i := range g.europe {
		if m := g.margin(i); !math.IsNaN(m) {
			out = append(out, series.Point{ObservedAt: series.InstantOf(g.first.AddDate(0, i, 0)), VintageAt: g.vintage[i], Value: m})
		}
	}
	return out
}

const (
	// momentum is the share of the last relative change of the European price that continues. Changes beyond momentumMaxChange count as
	// that one.
	momentum          = 0.25
	momentumMaxChange = 0.4
)

// lngWalk has the margin of each month up to one: by the last one, and by a European price that continues its change a little. The errors
// of the experts are in units of the last price, or of the recent moves of prices.
func lngWalk(g gas, last time.Time) walk {
	if len(g.europe) == 0 {
		return walk{}
	}
	n := monthsBetween(g.first, last) + 1
	prints := make([]firstPrint, n)
	values, before, season := unknowns(n), unknowns(n), unknowns(n)
	price, moved, goesOn, goesOnMoved := unknowns(n), unknowns(n), unknowns(n), unknowns(n)
	change, miss := ewma{lambda: 0.85, clip: 16, minSquares: 12}, ewma{lambda: 0.85, clip: 16, minSquares: 12}
	expected := math.NaN() // the European price, by the part of its change that continues
	for i := range n {
		if i < len(g.europe) {
			values[i] = g.margin(i)
		}
		prints[i] = firstPrint{period: g.first.AddDate(0, i, 0), value: values[i]}
		if i > 0 && i-1 < len(g.europe) {
			ttf := g.europe[i-1]
			before[i], price[i] = values[i-1], ttf
			if i > 1 {
				change.add(ttf/g.europe[i-2] - 1)
				miss.add(ttf/expected - 1)
				step := math.Log(ttf / g.europe[i-2])
				expected = ttf * math.Exp(momentum*min(max(step, -momentumMaxChange), momentumMaxChange))
			} else {
				expected = ttf
			}
			moved[i], goesOnMoved[i] = float64(ttf*change.sd()), float64(ttf*miss.sd())
			goesOn[i] = expected - float64(hubShare*g.hub[i-1]) - lngCosts
		}
		var sum float64
		years := 0
		for k := 1; k <= 5; k++ {
			if j := i - 12*k; j >= 0 && !math.IsNaN(values[j]) {
				sum += values[j]
				years++
			}
		}
		if years > 0 {
			season[i] = sum / float64(years)
		}
	}
	naive1 := plain(before)
	return walk{
		prints: prints,
		experts: []expert{
			naive1, {at: before, scale: price}, {at: before, scale: moved}, {at: goesOn, scale: price}, {at: goesOn, scale: goesOnMoved},
		},
		naive1: naive1, naive2: plain(season), window: 60, minErrors: 24,
	}
}
