package signals

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/series"
)

// cornCells are the finals of the trend, the cells that the weights are learned from, and the forecast.
func cornCells(in series.Set, e Estimate) Working {
	day := e.ObservedAt.Time()
	year, month := day.Year(), day.Month()
	if month == time.January { // a final, dated a year after its crop year
		year--
	}
	finals, forecasts := byCropYear(in[cornFinal]), byCropYear(in[cornForecast])
	before := slices.DeleteFunc(slices.Clone(in[cornFinal]), func(p series.Point) bool { return p.ObservedAt.Time().Year() >= year || math.IsNaN(known(p.Value)) })
	newest := func(n int) []series.Point { return before[max(0, len(before)-n):] }
	// The past is walked through again up to the crop year, to learn the weights of that time.
	var past cornHistory
	for _, p := range before {
		y := p.ObservedAt.Time().Year()
		past.learn(past.fit(y), p.Value, forecasts[y])
	}
	fit := past.fit(year)
	var w Working
	// Each of the last cornTrendYears errors is of a trend through as many finals.
	w.Baseline = cellsOf(cornFinal, newest(2*cornTrendYears)...)
	if fit.n == 0 {
		w.Baseline = nil
	}
	switch month {
	case time.January:
		w.Value = cellsOf(cornFinal, finals[year]...)
		w.Steps = append(w.Steps, Step{Name: "value", Formula: figure(e.Value), Note: "the final yield as NASS states it", Result: e.Value})
	case cornSeason:
		w.Value = cellsOf(cornFinal, newest(cornTrendYears)...)
		w.Steps = append(w.Steps, Step{Name: "value", Formula: past.line(fit), Note: cornLineNote, Result: e.Value})
	default:
		w.Value = cellAt(in, cornForecast, e.ObservedAt)
		if len(w.Value) == 0 {
			return w
		}
		forecast := w.Value[0].Value
		step := Step{Name: "value", Formula: figure(forecast), Note: "the forecast of NASS alone: there is no trend", Result: e.Value}
		if fit.n > 0 {
			weight := past.weight(fit, month)
			step.Formula = fmt.Sprintf("%s + %s * (%s - %s)", figure(fit.value), figure(weight), figure(forecast), term(fit.value))
			step.Note = "trend + share of the forecast * (forecast - trend)"
			w.Value = append(w.Value, cornWeightCells(in, before, month, cornTrendYears)...)
			w.Value = append(w.Value, cellsOf(cornFinal, newest(2*cornTrendYears)...)...)
		}
		w.Steps = append(w.Steps, step)
	}
	w.Value = unique(w.Value)
	switch month {
	case time.January:
	case cornSeason:
		w.Interval = cellsOf(cornFinal, newest(2*cornTrendYears)...)
	default:
		// Each of the last errors is of a blend whose weight rests on as many errors of the trend and of the forecast.
		w.Interval = append(cornWeightCells(in, before, month, 2*cornTrendYears), cellsOf(cornFinal, before...)...)
	}
	w.Interval = unique(append(w.Interval, w.Value...))
	if math.IsNaN(e.Lo) {
		w.Interval = nil
	}
	w.Components = unique(slices.Concat(w.Value, w.Baseline, cellsOf(cornFinal, in[cornFinal][max(0, len(in[cornFinal])-1):]...)))
	if math.IsNaN(e.Baseline) {
		return w
	}
	w.Steps = append(w.Steps, Step{Name: "baseline", Formula: past.line(fit), Note: cornLineNote, Result: e.Baseline})
	if n := len(past.trendErrors); !math.IsNaN(e.Scale) {
		w.Steps = append(w.Steps, Step{
			Name: "scale", Formula: fmt.Sprintf("sqrt(%s / %d)", figure(float64(n)*meanSquare(past.trendErrors)), n),
			Note: "sum of the squares of the trend's past errors, divided by their number", Result: e.Scale,
		})
	}
	return w
}

const cornLineNote = "mean of the finals + slope * (crop year - mean of their years): the least squares line"

// line is the trend with its numbers.
func (c *cornHistory) line(fit trend) string {
	var x, y moments
	for i := range c.years {
		x, y = x.add(c.years[i]), y.add(c.yields[i])
	}
	return fmt.Sprintf("%s + %s * (%d - %s)", figure(y.mean()), term(fit.slope), fit.year, figure(x.mean()))
}

// cornWeightCells are the last forecasts of a month whose errors make its weights, with the finals that they are held against.
func cornWeightCells(in series.Set, finals []series.Point, month time.Month, limit int) []Cell {
	var out []Cell
	n := 0
	for _, final := range slices.Backward(finals) {
		at := series.DateOf(final.ObservedAt.Time().Year(), month, 1)
		cells := cellAt(in, cornForecast, at)
		if len(cells) == 0 {
			continue
		}
		out = append(append(out, cells...), cellsOf(cornFinal, final)...)
		if n++; n == limit {
			break
		}
	}
	return out
}

// no2Cells are a month's means, the means that they are compared with, and the whole past that makes the scale.
func no2Cells(in series.Set, e Estimate) Working {
	versions, month := no2Versions(in), monthOf(e.ObservedAt)
	var w Working
	var all []regional
	var of []int // the region of each of them
	for i, r := range no2Regions {
		months := againstItsYears(until(in[r.id], e.ObservedAt), versions, r.weight)
		if n := len(months); n > 0 && monthOf(months[n-1].point.ObservedAt) == month {
			all, of = append(all, months[n-1]), append(of, i)
		}
	}
	w.Components = no2ComponentCells(in, versions)
	m, ok := no2Mean(all)
	if !ok {
		return w
	}
	var anomalies []float64
	var counted []string
	for i, a := range all {
		if a.years < m.years { // enough others have a longer past
			continue
		}
		r := no2Regions[of[i]]
		anomalies, counted = append(anomalies, a.anomaly), append(counted, r.name)
		w.Value = append(w.Value, no2Past(in, r.id, e.ObservedAt, func(t series.Instant) bool {
			own := monthOf(t)
			return own == month || own%12 == month%12 && versions[own].Value == versions[month].Value
		})...)
	}
	if !math.IsNaN(e.Scale) {
		for _, r := range no2Regions {
			w.Baseline = append(w.Baseline, no2Past(in, r.id, e.ObservedAt, func(series.Instant) bool { return true })...)
		}
	}
	w.Value, w.Baseline = unique(w.Value), unique(w.Baseline)
	if !math.IsNaN(e.Lo) {
		w.Interval = unique(slices.Concat(w.Value, w.Baseline))
	}
	w.Steps = append(w.Steps, Step{
		Name: "value", Formula: fmt.Sprintf("100 * exp((%s) / %d)", plus(anomalies), len(anomalies)),
		Note: "the mean of the log anomalies of " + strings.Join(counted, ", "), Result: e.Value,
	}, Step{Name: "baseline", Formula: "100", Note: "a usual month", Result: e.Baseline})
	if !math.IsNaN(e.Scale) {
		// The spread that the scale was made of is the scale of an anomaly without its level.
		w.Steps = append(w.Steps, Step{
			Name: "scale", Formula: fmt.Sprintf("%s * %s", figure(no2Scale(m.mean, 1)), figure(e.Scale/no2Scale(m.mean, 1))),
			Note: "index points for a unit of the log anomaly, times the standard deviation of the earlier anomalies", Result: e.Scale,
		})
	}
	return w
}

// no2ComponentCells are the newest month of each region and the months that it is compared with.
func no2ComponentCells(in series.Set, versions map[int]series.Point) (out []Cell) {
	for _, r := range no2Regions {
		months := againstItsYears(in[r.id], versions, r.weight)
		if len(months) == 0 {
			continue
		}
		newest := months[len(months)-1].point.ObservedAt
		out = append(out, no2Past(in, r.id, newest, func(t series.Instant) bool {
			own, month := monthOf(t), monthOf(newest)
			return own%12 == month%12 && versions[own].Value == versions[month].Value
		})...)
	}
	return unique(out)
}

// no2Past are the positive means of a region up to a month, with the versions, of the months that are asked for. Of 2020 only the month itself
// is one.
func no2Past(in series.Set, id series.ID, newest series.Instant, wanted func(series.Instant) bool) (out []Cell) {
	for _, p := range until(in[id], newest) {
		if own := p.ObservedAt == newest; p.Value > 0 && wanted(p.ObservedAt) && (own || p.ObservedAt.Time().Year() != no2Lockdown) {
			out = append(append(out, cellsOf(id, p)...), cellAt(in, no2Version, p.ObservedAt)...)
		}
	}
	return out
}
