package signals

import (
	"fmt"
	"math"
	"slices"

	"tidemark/internal/series"
)

// crackCells are the three prices of a day, and those of all days of its baseline.
func crackCells(in series.Set, e Estimate) Working {
	legs := func(p series.Point) (out []Cell) {
		for _, id := range []series.ID{wtiCushing, gasolineHarbor, ulsdHarbor} {
			out = append(out, cellAt(in, id, p.ObservedAt)...)
		}
		return out
	}
	w := Working{Value: legs(series.Point{ObservedAt: e.ObservedAt})}
	if len(w.Value) == 3 {
		crude, gasoline, diesel := w.Value[0].Value, w.Value[1].Value, w.Value[2].Value
		w.Steps = append(w.Steps, Step{
			Name: "value", Formula: fmt.Sprintf("(2 * 42 * %s + 42 * %s - 3 * %s) / 3", term(gasoline), term(diesel), term(crude)),
			Note: "(2 * 42 * gasoline + 42 * diesel - 3 * crude) / 3", Result: e.Value,
		})
	}
	spread := crackPoints(in)
	season := matchedDays(datedPoints(spread).days, dayIn(e.ObservedAt), []int{1, 2, 3, 4, 5}, crackSeason.days, crackSeason.minPerYear)
	for _, i := range season {
		w.Baseline = append(w.Baseline, legs(spread[i])...)
	}
	w.Baseline = unique(w.Baseline)
	w.Steps = append(w.Steps, sampleSteps(e, pick(spread, season), fmt.Sprintf("the spreads of %d days", len(season)))...)
	return w
}

// petroleumCells are the stocks of a week and of the same weeks before.
func petroleumCells(in series.Set, e Estimate) Working {
	crude := until(in[crudeStocks], e.ObservedAt)
	w := Working{Value: cellAt(in, crudeStocks, e.ObservedAt)}
	w.Steps = append(w.Steps, Step{Name: "value", Formula: figure(e.Value), Note: "the stocks as EIA states them", Result: e.Value})
	if math.IsNaN(e.Baseline) || len(crude) == 0 {
		return w
	}
	var values []float64
	for _, j := range sameWeeks(crude)[len(crude)-1] {
		if j >= 0 {
			w.Baseline = append(w.Baseline, cellsOf(crudeStocks, crude[j])...)
			values = append(values, crude[j].Value)
		}
	}
	w.Baseline = unique(w.Baseline)
	w.Steps = append(w.Steps, sampleSteps(e, values, "the stocks of the same weeks")...)
	return w
}

// lngCells are the two prices of a month and of the months before.
func lngCells(in series.Set, e Estimate) Working {
	w := Working{Value: append(cellAt(in, europeGas, e.ObservedAt), cellAt(in, henryHub, e.ObservedAt)...)}
	r := lngEurope
	if len(w.Value) == 2 {
		w.Steps = append(w.Steps, Step{
			Name: "value", Formula: fmt.Sprintf("%s - (%s * %s + %s) - %s - %s", figure(w.Value[0].Value), figure(lngHubShare), term(w.Value[1].Value),
				figure(r.tolling), figure(r.shipping), figure(r.regas)),
			Note: "TTF - (1.15 * Henry Hub + fee) - shipping - regasification", Result: e.Value,
		})
	}
	if math.IsNaN(e.Baseline) {
		return w
	}
	var window sorted
	for _, p := range r.margins(in) {
		if back := monthOf(e.ObservedAt) - monthOf(p.ObservedAt); back < 1 || back > lngMonths {
			continue
		}
		w.Baseline = append(w.Baseline, cellAt(in, europeGas, p.ObservedAt)...)
		w.Baseline = append(w.Baseline, cellAt(in, henryHub, p.ObservedAt)...)
		window.insert(p.Value)
	}
	w.Baseline = unique(w.Baseline)
	w.Steps = append(w.Steps, Step{
		Name: "baseline", Formula: fmt.Sprintf("median of %d margins", len(window)), Note: middle(window), Result: e.Baseline,
	})
	if !math.IsNaN(e.Scale) {
		w.Steps = append(w.Steps, Step{
			Name: "scale", Formula: fmt.Sprintf("%s * %s", figure(madToSD), figure(window.mad())), Note: "1.4826 * the median distance from the median", Result: e.Scale,
		})
	}
	return w
}

// middle names the member or the two members in the middle.
func middle(s sorted) string {
	lower, upper := s[(len(s)-1)/2], s[len(s)/2]
	if len(s)%2 == 1 {
		return "in the middle is " + figure(upper)
	}
	return fmt.Sprintf("the mean of the two in the middle, %s and %s", figure(lower), figure(upper))
}

// hormuzCells are the counts of seven days, and those of all weeks of the baseline.
func hormuzCells(in series.Set, e Estimate) Working {
	week := func(p series.Point) (out []Cell) {
		for back := hormuzWeek - 1; back >= 0; back-- {
			out = append(out, cellAt(in, hormuzShips, p.ObservedAt.AddDate(0, 0, -back))...)
		}
		return out
	}
	w := Working{Value: week(series.Point{ObservedAt: e.ObservedAt})}
	var counts []float64
	for _, c := range w.Value {
		counts = append(counts, c.Value)
	}
	w.Steps = append(w.Steps, Step{
		Name: "value", Formula: fmt.Sprintf("(%s) / %d", plus(counts), hormuzWeek), Note: "the counts of seven days, divided by seven", Result: e.Value,
	})
	means, today := slices.Collect(weekMeans(in[hormuzShips])), dayIn(e.ObservedAt)
	var years []int
	for year := hormuzFirst; year <= min(hormuzLast, int(today.year)-1); year++ {
		years = append(years, int(today.year)-year)
	}
	season := matchedDays(datedPoints(means).days, today, years, hormuzReach, hormuzMinPerYear)
	for _, i := range season {
		w.Baseline = append(w.Baseline, week(means[i])...)
	}
	w.Baseline = unique(w.Baseline)
	w.Steps = append(w.Steps, sampleSteps(e, pick(means, season), fmt.Sprintf("%d seven-day means", len(season)))...)
	return w
}
