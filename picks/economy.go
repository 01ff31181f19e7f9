package picks

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"
)

// EconomicEvent is one publication with its surprise.
type EconomicEvent struct {
	// ID names region, figure and period, for example "us-cpi-2026-10".
	ID        string
	Indicator Indicator
	Print     Print
	// Expected is the expectation of the rule, Surprise the figure minus it, Z the surprise in deviations of past ones; each is NaN if
	// unknown.
	Expected, Surprise, Z float64
	// SeasonYears is how many years the expectation was made of, if it comes from the same weeks of earlier years; zero otherwise.
	SeasonYears int
	Severity    Severity
	// Lower, For and Against belong to a rate decision: the lower end of the target range, and the votes; zero elsewhere.
	Lower        float64
	For, Against int
}

const (
	expectedWindow  = 12 // number of first prints for the median that is a change's expectation
	surpriseWindow  = 60 // past surprises that the scale is made of
	minSurprises    = 12 // fewer give no scale
	normalMAD       = 1.4826
	dissentSeverity = 1
)

// The months of 2020 and 2021 in which every figure was extreme are left out of the scale.
var (
	pandemicFrom = time.Date(2020, time.March, 1, 0, 0, 0, 0, time.UTC)
	pandemicTo   = time.Date(2021, time.June, 30, 0, 0, 0, 0, time.UTC)
)

// Surprises turns the first prints of an indicator into events, in ascending period. Each uses only what was printed before it. No
// consensus of forecasters is used anywhere.
func Surprises(def Indicator, prints []Print) []EconomicEvent {
	var events []EconomicEvent
	var figures, surprises []float64
	for i, p := range prints {
		e := EconomicEvent{ID: def.eventID(p.Period), Indicator: def, Print: p, Expected: def.expected(p, figures), Z: math.NaN()}
		if def.Seasonal {
			if season, years := def.seasonal(p, prints[:i]); years >= minSeasonYears {
				e.Expected, e.SeasonYears = season, years
			}
		}
		e.Surprise = def.round(e.Print.Value - e.Expected)
		if len(surprises) >= minSurprises && !math.IsNaN(e.Surprise) {
			e.Z = e.Surprise / scaleOf(surprises[max(0, len(surprises)-surpriseWindow):], max(def.Step, def.Floor))
		}
		e.Severity = e.severity()
		events = append(events, e)
		if !math.IsNaN(p.Value) {
			figures = append(figures, p.Value)
		}
		if pandemic := !p.Period.Before(pandemicFrom) && !p.Period.After(pandemicTo); !math.IsNaN(e.Surprise) && !pandemic {
			surprises = append(surprises, e.Surprise)
		}
	}
	return events
}

// expected is the expectation of the rule; NaN if too little is known.
func (def Indicator) expected(p Print, figures []float64) float64 {
	if def.Reading == ReadLevel {
		return p.Previous
	}
	if len(figures) < expectedWindow {
		return math.NaN()
	}
	// Counted in steps, so that the middle of two neighbours is a tie and not a matter of the last bit.
	steps := make([]float64, expectedWindow)
	for i, f := range figures[len(figures)-expectedWindow:] {
		steps[i] = def.steps(f)
	}
	return math.Round(median(steps)) / math.Round(1/def.Step)
}

// The same season is the weeks within seasonDays of the same day of the year, in as many years before as seasonYears.
const (
	seasonDays     = 17
	seasonYears    = 5
	minSeasonYears = 3
)

// seasonal is the median of the figures of the same season in earlier years, and how many years those are. before is in ascending period.
func (def Indicator) seasonal(p Print, before []Print) (expected float64, years int) {
	var steps []float64
	for back := 1; back <= seasonYears; back++ {
		middle, found := p.Period.AddDate(-back, 0, 0), false
		first, last := middle.Add(-seasonDays*24*time.Hour), middle.Add(seasonDays*24*time.Hour)
		from, _ := slices.BinarySearchFunc(before, first, func(q Print, t time.Time) int { return q.Period.Compare(t) })
		for _, q := range before[from:] {
			if q.Period.After(last) {
				break
			}
			if q.At.Before(p.At) && !math.IsNaN(q.Value) {
				steps, found = append(steps, def.steps(q.Value)), true
			}
		}
		if found {
			years++
		}
	}
	if len(steps) == 0 {
		return math.NaN(), 0
	}
	return math.Round(median(steps)) / math.Round(1/def.Step), years
}

// scaleOf is the spread of past surprises: 1.4826 times the median distance from their median, which for a normal distribution is the
// standard deviation. It is never below a floor: the smallest published step or more.
func scaleOf(surprises []float64, floor float64) float64 {
	middle := median(surprises)
	distances := make([]float64, len(surprises))
	for i, s := range surprises {
		distances[i] = math.Abs(s - middle)
	}
	return max(normalMAD*median(distances), floor)
}

// median is the mean of the two middle values of an even number.
func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return stat.Mean(sorted[n/2-1:n/2+1], nil)
}

// severity is by the size of the surprise, one more for the figures that move markets most and one less for the second tier. An
// unknown surprise counts as none. A rate decision that members voted against is worth more than a unanimous one.
func (e EconomicEvent) severity() Severity {
	s := 1
	for _, border := range []float64{0.5, 1, 1.5, 2.5} {
		if math.Abs(e.Z) >= border {
			s++
		}
	}
	s += e.Indicator.Bonus
	if e.Against > 0 {
		s += dissentSeverity
	}
	return Severity(min(max(s, 1), 5))
}

// WithVote adds the lower end of the target range and the votes to a rate decision.
func (e EconomicEvent) WithVote(lower float64, votesFor, votesAgainst int) EconomicEvent {
	e.Lower, e.For, e.Against = lower, votesFor, votesAgainst
	e.Severity = e.severity()
	return e
}

// eventID names region, figure and period.
func (def Indicator) eventID(period time.Time) string {
	name := strings.ToLower(def.Region) + "-" + def.ID + "-"
	switch def.Frequency {
	case "monthly":
		return name + period.Format("2006-01")
	case "quarterly":
		return fmt.Sprintf("%s%d-q%d", name, period.Year(), (int(period.Month())+2)/3)
	default:
		return name + period.Format(time.DateOnly)
	}
}

// SortEconomic orders the events of one day: the most severe first, then by the importance of the figure, then the decision with more
// dissent, then the earliest. The first is the event of the day.
func SortEconomic(events []EconomicEvent) []EconomicEvent {
	order := func(e EconomicEvent) int {
		return slices.IndexFunc(indicators, func(d Indicator) bool { return d.ID == e.Indicator.ID })
	}
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b EconomicEvent) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(order(a), order(b)), cmp.Compare(b.Against, a.Against),
			a.Print.At.Compare(b.Print.At), cmp.Compare(a.ID, b.ID))
	})
	return sorted
}
