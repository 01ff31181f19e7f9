package signals

import (
	"fmt"
	"math"

	"tidemark/internal/series"
)

// crackCells are the three prices of a day, and the prices of all days of its baseline.
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
	w.Steps = append(w.Steps, sampleSteps(e, pick(spread, season), fmt.Sprintf("the values of %d days", len(season)))...)
	past := until(spread, e.ObservedAt)
	for _, p := range newest(past, crackMoves+1) {
		w.Interval = append(w.Interval, legs(p)...)
	}
	if later := spread[len(past):]; len(later) > 0 { // only the newest value is read at the instant: the next one shows that it is not
		w.Interval = append(w.Interval, legs(later[0])...)
	}
	if len(spread) > 0 {
		w.Components = crackComponentCells(in, spread)
	}
	return w
}

// crackComponentCells are each leg's price on the newest day and on the days of its season, and the prices of the days before the newest.
func crackComponentCells(in series.Set, spread []series.Point) (out []Cell) {
	day := spread[len(spread)-1].ObservedAt
	for _, id := range []series.ID{wtiCushing, gasolineHarbor, ulsdHarbor} {
		leg := until(in[id], day)
		for _, i := range matchedDays(datedPoints(leg).days, dayIn(day), []int{1, 2, 3, 4, 5}, crackSeason.days, crackSeason.minPerYear) {
			out = append(out, cellsOf(id, leg[i])...)
		}
		for _, p := range newest(spread, crackYear+1) {
			out = append(out, cellAt(in, id, p.ObservedAt)...)
		}
	}
	return unique(out)
}

// petroleumCells are the stocks of a week and of the same weeks before.
func petroleumCells(in series.Set, e Estimate) Working {
	crude := until(in[crudeStocks], e.ObservedAt)
	w := Working{Value: cellAt(in, crudeStocks, e.ObservedAt)}
	w.Steps = append(w.Steps, Step{Name: "value", Formula: figure(e.Value), Note: "the stocks as EIA states them", Result: e.Value})
	w.Interval, w.Components = petroleumIntervalCells(crude), petroleumComponentCells(in)
	if math.IsNaN(e.Baseline) || len(crude) == 0 {
		return w
	}
	var values []float64
	for _, j := range sameWeeksOfNewest(crude) {
		if j >= 0 {
			w.Baseline = append(w.Baseline, cellsOf(crudeStocks, crude[j])...)
			values = append(values, crude[j].Value)
		}
	}
	w.Baseline = unique(w.Baseline)
	w.Steps = append(w.Steps, sampleSteps(e, values, "the stocks of the same weeks")...)
	return w
}

// petroleumIntervalCells are the weeks of the last five years with the weeks that their surprises are made of.
func petroleumIntervalCells(crude []series.Point) (out []Cell) {
	if len(crude) == 0 {
		return nil
	}
	start := dayIn(crude[len(crude)-1].ObservedAt).yearsBefore(seasonYears)
	for i, p := range crude {
		if p.ObservedAt.Days() > start {
			out = append(out, weekCells(crudeStocks, crude, i)...)
		}
	}
	return unique(out)
}

// petroleumComponentCells are the newest week of each series with the weeks that it is compared with.
func petroleumComponentCells(in series.Set) (out []Cell) {
	for _, id := range []series.ID{crudeStocks, gasolineStocks, distillateStocks, utilisation} {
		if n := len(in[id]); n > 0 {
			out = append(out, weekCells(id, in[id], n-1)...)
		}
	}
	return unique(out)
}

// weekCells are a week of a series, the same weeks of the five years before, and the week before each of them.
func weekCells(id series.ID, points []series.Point, i int) (out []Cell) {
	reach := points[i].ObservedAt.AddDate(-seasonYears-1, 0, 0)
	recent := points[len(until(points[:i+1], reach)) : i+1]
	matches := sameWeeksOfNewest(recent)
	for _, j := range append(matches[:], len(recent)-1) {
		if j >= 0 {
			out = append(out, cellsOf(id, recent[max(0, j-1):j+1]...)...)
		}
	}
	return out
}

// newest are the last n of some points, or all if there are fewer.
func newest(points []series.Point, n int) []series.Point { return points[max(0, len(points)-n):] }

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
	w.Interval, w.Components = w.Value, lngComponentCells(in)
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

// lngComponentCells are the prices of each component's newest month and of the 60 months before it.
func lngComponentCells(in series.Set) (out []Cell) {
	add := func(months []series.Point, ids ...series.ID) {
		for _, p := range newest(months, lngMonths+1) {
			for _, id := range ids {
				out = append(out, cellAt(in, id, p.ObservedAt)...)
			}
		}
	}
	add(lngEurope.margins(in), europeGas, henryHub)
	add(lngAsia.margins(in), japanLNG, henryHub)
	for _, id := range []series.ID{henryHub, europeGas, japanLNG} {
		add(in[id], id)
	}
	return unique(out)
}

// middle names the member or the two members in the middle.
func middle(s sorted) string {
	lower, upper := s[(len(s)-1)/2], s[len(s)/2]
	if len(s)%2 == 1 {
		return "in the middle is " + figure(upper)
	}
	return fmt.Sprintf("the mean of the two in the middle, %s and %s", figure(lower), figure(upper))
}

// hormuzCells are the counts of seven days, and the counts of all weeks of the baseline.
func hormuzCells(in series.Set, e Estimate) Working {
	week := func(p series.Point) (out []Cell) {
		for back := hormuzWeek - 1; back >= 0; back-- {
			out = append(out, cellAt(in, hormuzShips, p.ObservedAt.AddDate(0, 0, -back))...)
		}
		return out
	}
	w := Working{Value: week(series.Point{ObservedAt: e.ObservedAt}), Components: hormuzComponentCells(in)}
	w.Interval = unique(append(hormuzIntervalCells(in), w.Value...))
	var counts []float64
	for _, c := range w.Value {
		counts = append(counts, c.Value)
	}
	w.Steps = append(w.Steps, Step{
		Name: "value", Formula: fmt.Sprintf("(%s) / %d", plus(counts), hormuzWeek), Note: "the counts of seven days, divided by seven", Result: e.Value,
	})
	means, today := weekPoints(in[hormuzShips]), dayIn(e.ObservedAt)
	season := matchedDays(datedPoints(means).days, today, hormuzYears(today), hormuzReach, hormuzMinPerYear)
	for _, i := range season {
		w.Baseline = append(w.Baseline, week(means[i])...)
	}
	w.Baseline = unique(w.Baseline)
	w.Steps = append(w.Steps, sampleSteps(e, pick(means, season), fmt.Sprintf("%d seven-day means", len(season)))...)
	return w
}

// hormuzIntervalCells are the weeks that were estimated again, with the earlier values of their days. They count once there are enough of
// them.
func hormuzIntervalCells(in series.Set) (out []Cell) {
	moves := reestimates(in[hormuzShips], in[series.Before(hormuzShips)])
	if len(moves) < hormuzMinWeeks {
		return nil
	}
	for _, m := range moves {
		out = append(out, cellsOf(hormuzShips, m.week...)...)
		out = append(out, cellsOf(series.Before(hormuzShips), m.before...)...)
	}
	return out
}

// hormuzComponentCells are the tankers of the newest week and of its season, their cargo, and the ships of the newest week and of the week
// 364 days before.
func hormuzComponentCells(in series.Set) (out []Cell) {
	week := func(id series.ID, last series.Instant) {
		for back := range hormuzWeek {
			out = append(out, cellAt(in, id, last.AddDate(0, 0, -back))...)
		}
	}
	if tankers := weekPoints(in[hormuzTankers]); len(tankers) > 0 {
		last := tankers[len(tankers)-1].ObservedAt
		week(hormuzTankers, last)
		days := datedPoints(tankers).days
		for _, i := range matchedDays(days, dayIn(last), hormuzYears(dayIn(last)), hormuzReach, hormuzMinPerYear) {
			week(hormuzTankers, tankers[i].ObservedAt)
		}
	}
	if ships := weekPoints(in[hormuzShips]); len(ships) > 0 {
		last := ships[len(ships)-1].ObservedAt
		week(hormuzShips, last)
		week(hormuzShips, last.AddDate(0, 0, -hormuzYearAgo))
		week(hormuzTankers, last)
		week(hormuzCargo, last)
	}
	return unique(out)
}

// hormuzYears returns how many years before a day the years of the baseline are.
func hormuzYears(today calendarDay) (out []int) {
	for year := hormuzFirst; year <= min(hormuzLast, int(today.year)-1); year++ {
		out = append(out, int(today.year)-year)
	}
	return out
}
