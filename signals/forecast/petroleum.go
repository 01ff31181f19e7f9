package forecast

import (
	"math"
	"time"

	"tidemark/internal/series"
)

const (
	crude       series.ID = "eia.WCESTUS1"
	gasoline    series.ID = "eia.WGTSTUS1"
	distillate  series.ID = "eia.WDISTUS1"
	utilisation series.ID = "eia.WPULEUS3"
)

// crudeStocks forecasts the change of US commercial crude oil stocks over the week, as the Weekly Petroleum Status Report first prints it.
func crudeStocks() Target {
	return stocks(crude, "crude_stocks_change", "Change of US commercial crude oil stocks over the week",
		[]series.ID{crude, gasoline, distillate, utilisation}, true)
}

func gasolineStocks() Target {
	return stocks(gasoline, "gasoline_stocks_change", "Change of US total motor gasoline stocks over the week", []series.ID{gasoline}, false)
}

func distillateStocks() Target {
	return stocks(distillate, "distillate_stocks_change", "Change of US distillate fuel oil stocks over the week", []series.ID{distillate}, false)
}

// stocks forecasts the weekly change of one series. Only crude oil is said from the other products and the refineries as well.
func stocks(id series.ID, figure, name string, inputs []series.ID, others bool) Target {
	// Wednesday. A holiday moves it to Thursday; stopping on Wednesday is early, and never late.
	wednesday := schedule{form: time.DateOnly, series: id, weekday: time.Friday, due: func(friday time.Time) time.Time {
		return onClock(friday.Add(days(5)), 10, 30)
	}}
	return Target{
		Signal: "eia-weekly-petroleum", Figure: figure, Name: name, Unit: "thousand barrels", Decimals: 1, Version: figure + "-1",
		Change: true, GradesNeeded: weeklyGrades, GivenUpAfter: gradeTimeout, Inputs: inputs,
		schedules: []schedule{wednesday},
		next: func(in series.Set, _ time.Time) (Release, bool) {
			p, ok := newest(in[id])
			if !ok {
				return Release{}, false
			}
			return wednesday.release(p.ObservedAt.Time().Add(week)), true
		},
		outcome: func(in series.Set, r Release) (series.Point, bool) {
			p, ok := pointOn(in[id], r.ObservedAt)
			before, had := pointOn(in[id], r.ObservedAt.Add(-week))
			p.Value -= before.Value
			return p, ok && had
		},
		walk: func(in series.Set, r Release) []step { return stockWalk(in, id, r.ObservedAt, others).run() },
	}
}

// stockWalk has the change of stocks in each week up to one. Its experts are the random walk, the season, and regressions. The
// regressions use the season, the seasonal surprises of the last four weeks and, with others, the levels of stocks and refineries.
func stockWalk(in series.Set, id series.ID, last time.Time, others bool) walk {
	points := in[id]
	if len(points) == 0 {
		return walk{}
	}
	first := points[0].ObservedAt.Time()
	n := int(last.Sub(first)/week) + 1
	stock := weekly(points, first, n)
	change := stock.changes()
	season := change.season()
	rest := less(change.values, season)
	naive2 := plain(change.sameWeeks(5, 0, 3))
	zero := plain(make([]float64, n))
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = []float64{season[i], back(rest, i, 1), back(rest, i, 2), back(rest, i, 3), back(rest, i, 4)}
	}
	experts := []expert{zero, naive2, running(season, change.values, 0.97, 26), plain(regress(rows, change.values, 0.02))}
	if others {
		experts = append(experts, plain(regress(stockRows(in, stock, rows), change.values, 0.2)))
	}
	prints := make([]firstPrint, n)
	for i := range prints {
		prints[i] = firstPrint{period: change.day(i), value: change.values[i]}
	}
	return walk{prints: prints, experts: experts, naive1: zero, naive2: naive2, window: 260, minErrors: 52}
}

// stockRows adds to each row the known levels: stocks against the same weeks of five years, last week's seasonal surprises of gasoline and
// distillate, and the time of the year. It also adds the refineries' utilisation with its last two changes.
func stockRows(in series.Set, stock weeks, rows [][]float64) [][]float64 {
	n := len(rows)
	unsaid := func(id series.ID) []float64 {
		w := weekly(in[id], stock.first, n).changes()
		return less(w.values, w.season())
	}
	use := weekly(in[utilisation], stock.first, n)
	useChange := use.changes().values
	overStock, overUse := less(stock.values, stock.sameWeeks(5, 0, 3)), less(use.values, use.sameWeeks(5, 0, 3))
	ofGasoline, ofDistillate := unsaid(gasoline), unsaid(distillate)
	out := make([][]float64, n)
	for i := range out {
		out[i] = append(append([]float64(nil), rows[i]...),
			back(overStock, i, 1), back(ofGasoline, i, 1), back(ofDistillate, i, 1), back(useChange, i, 1), back(useChange, i, 2), back(overUse, i, 1))
		angle := 2 * math.Pi * float64(stock.day(i).YearDay()-1) / 365.25
		for k := 1.0; k <= 4; k++ {
			out[i] = append(out[i], math.Sin(k*angle), math.Cos(k*angle))
		}
	}
	return out
}

// back returns the value some places before; NaN if none exists.
func back(values []float64, i, places int) float64 {
	if i < places {
		return math.NaN()
	}
	return values[i-places]
}
