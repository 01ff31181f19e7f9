package signals

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/series"
)

// Cell is one observation that a number rests on.
type Cell struct {
	Series series.ID
	series.Point
}

// Working shows how an estimate is made.
type Working struct {
	// Value holds the cells that the value rests on, Baseline the cells behind the baseline and its scale. Each list has a cell once; a
	// cell may be in both. Compute over these cells alone gives the same value, baseline, scale and number of values.
	Value, Baseline []Cell
	// Interval holds the cells that the bounds rest on besides the instant. Components holds the cells of the signal's components, which
	// are of the newest data. Compute and Components give the same numbers over these cells. The value of a re-estimated observation before
	// its newest change is a cell of series.Before.
	Interval, Components []Cell
	// Steps are the formulas with the numbers put in, in the order in which they build on one another.
	Steps []Step
}

// Step is a number and the formula that makes it, with the numbers put in. Note describes the numbers; it may be empty.
type Step struct {
	// Name is value, baseline, scale, z_score or delta_vs_baseline_pct.
	Name          string
	Formula, Note string
	Result        float64
}

// Working returns the estimate about observedAt as computed from in at an instant, and how it is made. If the track has several estimates
// about that time, it is the last one. ok reports whether the track has one. It costs as much as Compute.
func (d Definition) Working(in series.Set, at time.Time, observedAt series.Instant) (e Estimate, w Working, ok bool) {
	track := d.Compute(in, at)
	for _, point := range slices.Backward(track) {
		if point.ObservedAt == observedAt {
			e, ok = point, true
			break
		}
	}
	if !ok {
		return Estimate{}, Working{}, false
	}
	if d.Cells == nil {
		w = allCells(d, in, e)
	} else {
		w = d.Cells(in, e)
	}
	if z := e.Z(); !math.IsNaN(z) {
		w.Steps = append(w.Steps, Step{
			Name: "z_score", Formula: fmt.Sprintf("(%s - %s) / %s", figure(e.Value), term(e.Baseline), figure(e.Scale)), Note: "(value - baseline) / scale", Result: z,
		})
	}
	if p := e.DeltaPct(); !math.IsNaN(p) {
		w.Steps = append(w.Steps, Step{
			Name: "delta_vs_baseline_pct", Formula: fmt.Sprintf("100 * (%s / %s - 1)", figure(e.Value), figure(e.Baseline)), Note: "100 * (value / baseline - 1)", Result: p,
		})
	}
	return e, w, true
}

// allCells is the working of a signal that does not say which cells it uses: any observation up to the estimate's time may be one.
func allCells(d Definition, in series.Set, e Estimate) Working {
	var w Working
	for _, id := range d.Inputs {
		points := until(in[id], e.ObservedAt)
		w.Baseline = append(w.Baseline, cellsOf(id, points...)...)
		w.Value = append(w.Value, cellsOf(id, points...)...)
		w.Interval = append(w.Interval, cellsOf(id, points...)...)
		w.Components = append(w.Components, cellsOf(id, in[id]...)...)
	}
	for _, id := range d.Reestimated {
		w.Interval = append(w.Interval, cellsOf(series.Before(id), in[series.Before(id)]...)...)
	}
	w.Steps = append(w.Steps, Step{Name: "value", Formula: figure(e.Value), Note: d.Technique, Result: e.Value})
	return w
}

// cellsOf are points of one series as cells.
func cellsOf(id series.ID, points ...series.Point) []Cell {
	out := make([]Cell, len(points))
	for i, p := range points {
		out[i] = Cell{id, p}
	}
	return out
}

// cellAt returns the cell of a series about a time, and none if the series has none.
func cellAt(in series.Set, id series.ID, t series.Instant) []Cell {
	if p, ok := series.At(in[id], t); ok && p.ObservedAt == t {
		return cellsOf(id, p)
	}
	return nil
}

// unique leaves out the cells of an earlier list, in the order of series and time.
func unique(cells []Cell) []Cell {
	cells = slices.Clone(cells)
	slices.SortStableFunc(cells, func(a, b Cell) int {
		if c := strings.Compare(string(a.Series), string(b.Series)); c != 0 {
			return c
		}
		return cmp.Compare(a.ObservedAt, b.ObservedAt)
	})
	return slices.CompactFunc(cells, func(a, b Cell) bool { return a.Series == b.Series && a.ObservedAt == b.ObservedAt })
}

// figure writes a number with as many digits as it is served with.
func figure(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	text := strconv.FormatFloat(v, 'g', figureDigits, 64)
	if short, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(short, 'f', -1, 64)
	}
	return text
}

const figureDigits = 12

// term is figure, in parentheses if the number is negative.
func term(v float64) string {
	if text := figure(v); v < 0 {
		return "(" + text + ")"
	}
	return figure(v)
}

// plus joins numbers to a sum.
func plus(values []float64) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = term(v)
	}
	return strings.Join(out, " + ")
}

// maxTerms is how many numbers a sum shows one by one.
const maxTerms = 10

// sampleSteps are the steps of a baseline that is the mean of some values, and of its scale, their sample standard deviation.
func sampleSteps(e Estimate, values []float64, of string) []Step {
	if math.IsNaN(e.Baseline) || len(values) == 0 {
		return nil
	}
	n := len(values)
	var sum, squares float64
	for _, v := range values {
		sum += v
	}
	for _, v := range values {
		squares += float64((v - sum/float64(n)) * (v - sum/float64(n)))
	}
	added := figure(sum)
	if n <= maxTerms {
		added = "(" + plus(values) + ")"
	}
	steps := []Step{{Name: "baseline", Formula: fmt.Sprintf("%s / %d", added, n), Note: "sum of " + of + ", divided by their number", Result: e.Baseline}}
	if !math.IsNaN(e.Scale) {
		steps = append(steps, Step{
			Name: "scale", Formula: fmt.Sprintf("sqrt(%s / %d)", figure(squares), n-1),
			Note: "sum of the squared distances from the baseline, divided by the number less one", Result: e.Scale,
		})
	}
	return steps
}

// matchedDays returns the indexes of the points within reach days of the same month and day in earlier years, of the years that have at
// least minPerYear of them. It returns none if fewer than minSeasonYears have. days are of the points, in ascending order.
func matchedDays(days []int32, today calendarDay, yearsBefore []int, reach, minPerYear int) []int {
	var out []int
	matched := 0
	for _, k := range yearsBefore {
		centre := today.yearsBefore(k)
		from, _ := slices.BinarySearch(days, int32(centre-reach))
		to, _ := slices.BinarySearch(days, int32(centre+reach+1))
		if to-from < minPerYear {
			continue
		}
		matched++
		for i := from; i < to; i++ {
			out = append(out, i)
		}
	}
	if matched < minSeasonYears {
		return nil
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// pick returns the values of points with some indexes.
func pick(points []series.Point, indexes []int) []float64 {
	out := make([]float64, len(indexes))
	for i, at := range indexes {
		out[i] = points[at].Value
	}
	return out
}
