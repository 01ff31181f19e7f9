package forecast

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	_ "time/tzdata" // releases have New York's clock, also where the machine has no zones

	"tidemark/internal/series"
)

// Target is a public figure whose next release is forecast.
type Target struct {
	// Signal is the signal that the figure belongs to, Figure its stable machine name within it, Name what a reader calls it.
	Signal, Figure, Name string
	Unit                 string
	// Decimals is how many the recorded quantiles and the outcome have.
	Decimals int
	// Version names the model: any change of its code or constants is a new one.
	Version string
	// Change reports that the figure is the difference to the week before. Other figures are levels.
	Change bool
	// Monthly tells a figure of every month from one of every week.
	Monthly bool
	// GradesNeeded is how many live grades a label rests on.
	GradesNeeded int
	// GivenUpAfter is how long after the scheduled release a print may still come.
	GivenUpAfter time.Duration
	// Inputs are the series that the model reads. AllVintages means that it reads every vintage of each value, by observation time and
	// vintage, with NaN for a withdrawn value. Otherwise it reads only the first number of each.
	Inputs      []series.ID
	AllVintages bool

	// schedules say when it is released. Each form of its periods has its schedule.
	schedules []schedule
	// printed are series. Any value of theirs about a period shows that the figure is printed. None means the series of the release.
	printed []series.ID
	// next returns the release that may be forecast at an instant, from the vintages known then; false if none exists.
	next func(in series.Set, at time.Time) (Release, bool)
	// outcome is the figure of a period as it was first printed, with the time of that; false while it is not complete.
	outcome func(in series.Set, r Release) (series.Point, bool)
	// walk makes a step for each past print, and a last step for the release.
	walk func(in series.Set, r Release) []step
}

// Release is one publication of a figure that is due.
type Release struct {
	// Period names the period of the figure: "2026-11-20" is a week or day, "2026-11" a month, "2026-final" the last figure of a crop
	// year.
	Period string
	// ObservedAt is the time of the figure's newest value, ScheduledAt the earliest time of its publication. A forecast is refused from
	// then on, and also once a value of Series about ObservedAt is known.
	ObservedAt, ScheduledAt time.Time
	Series                  series.ID
}

// All lists the figures in the order in which they are shown: a signal's first one is its own.
func All() []Target {
	return []Target{
		cornYield(), no2Index(), crackSpread(),
		crudeStocks(), gasolineStocks(), distillateStocks(),
		lngMargin(), hormuzTransits(),
	}
}

// Of lists the figures of a signal.
func Of(signal string) []Target {
	return slices.DeleteFunc(All(), func(t Target) bool { return t.Signal != signal })
}

// Named returns the figure of a signal with a name; the zero value if it does not exist.
func Named(signal, figure string) Target {
	for _, t := range Of(signal) {
		if t.Figure == figure {
			return t
		}
	}
	return Target{}
}

// Next returns the release that may be forecast at an instant from the data known then, and whether one exists. The print before it is
// known, and its own is neither known nor due. In holds the vintages that the target reads.
func (t Target) Next(in series.Set, at time.Time) (Release, bool) {
	r, ok := t.next(in, at)
	if !ok || !at.Before(r.ScheduledAt) {
		return Release{}, false
	}
	for _, id := range t.PrintedIn(r) {
		if _, printed := pointOn(in[id], r.ObservedAt); printed {
			return Release{}, false
		}
	}
	return r, true
}

// PrintedIn lists the series that show whether a release was published: any value of theirs about its period does.
func (t Target) PrintedIn(r Release) []series.ID { return append([]series.ID{r.Series}, t.printed...) }

// ID is the name of the forecast of a release.
func (t Target) ID(r Release) string { return t.Signal + "/" + t.Figure + "/" + r.Period }

// ErrTooFew reports that too few prints are known for a distribution.
var ErrTooFew = errors.New("too few prints are known for a distribution")

// Forecast makes the forecast of a release from the vintages known at an instant. It also returns the model's graded forecasts of the
// past, each made from the prints before its own. They are the basis of a label before a live record exists. They are made with today's
// code, and so flatter it. It returns ErrTooFew if the history is too short.
func (t Target) Forecast(in series.Set, r Release, at time.Time) (Record, []Graded, error) {
	steps := t.walk(in, r)
	if len(steps) == 0 || !steps[len(steps)-1].ok {
		return Record{}, nil, fmt.Errorf("%s: %w", t.ID(r), ErrTooFew)
	}
	last := steps[len(steps)-1]
	out := Record{
		ID: t.ID(r), Signal: t.Signal, Figure: t.Figure, Period: r.Period, IssuedAt: at.UTC(),
		ModelVersion: t.Version, InputsHash: inputsHash(in, t.Inputs),
	}
	for _, list := range []struct {
		to *[]Decimal
		q  Quantiles
	}{{&out.Quantiles, last.quantiles}, {&out.Naive1, last.naive1}, {&out.Naive2, last.naive2}} {
		for _, x := range list.q.sorted() {
			d, err := NewDecimal(x, t.Decimals)
			if err != nil {
				return Record{}, nil, fmt.Errorf("%s: %w", t.ID(r), err)
			}
			*list.to = append(*list.to, d)
		}
	}
	return out, graded(steps), nil
}

// Outcome is a release's first print as the record writes it, and when it became known; false while it is not known.
func (t Target) Outcome(in series.Set, r Release) (Decimal, time.Time, bool) {
	p, ok := t.outcome(in, r)
	if !ok {
		return "", time.Time{}, false
	}
	d, err := NewDecimal(p.Value, t.Decimals)
	return d, p.VintageAt.Time(), err == nil
}

// VoidAt is when a forecast of a release becomes void: a print that comes then or later does not count.
func (t Target) VoidAt(r Release) time.Time { return r.ScheduledAt.Add(t.GivenUpAfter) }

// graded are the steps whose figure is known.
func graded(steps []step) []Graded {
	var out []Graded
	for _, s := range steps {
		if !s.ok || math.IsNaN(s.value) {
			continue
		}
		out = append(out, Graded{
			Period: s.period, Quantiles: s.quantiles, Naive1: s.naive1, Naive2: s.naive2, Outcome: s.value,
			Score: s.quantiles.CRPS(s.value), Score1: s.naive1.CRPS(s.value), Score2: s.naive2.CRPS(s.value),
		})
	}
	return out
}

// breakShare is by how much a release must change earlier values to be flagged, breakPoints how many of the newest it may look at.
const (
	breakShare  = 0.05
	breakPoints = 56
)

// Breaks reports whether a release moved the mean of the newest values before its period by over 5 percent. All data known just before the
// release are in before; after includes the release.
func (t Target) Breaks(before, after series.Set, r Release) bool {
	for _, id := range t.Inputs {
		var was, is float64
		for _, p := range before[id][max(0, len(before[id])-breakPoints):] {
			if now, ok := pointOn(after[id], p.ObservedAt.Time()); ok && p.ObservedAt.Time().Before(r.ObservedAt) {
				was, is = was+p.Value, is+now.Value
			}
		}
		if math.Abs(is-was) > breakShare*math.Abs(was) {
			return true
		}
	}
	return false
}

// newYork is the zone of all releases' clocks.
var newYork = func() *time.Location {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err) // the zones are linked in
	}
	return zone
}()

// onClock is an instant of a UTC date by New York's clock.
func onClock(day time.Time, hour, minute int) time.Time {
	y, m, d := day.UTC().Date()
	return time.Date(y, m, d, hour, minute, 0, 0, newYork).UTC()
}

// pointOn is the point about an instant, and whether there is one.
func pointOn(points []series.Point, at time.Time) (series.Point, bool) {
	i, ok := slices.BinarySearchFunc(points, series.InstantOf(at), func(p series.Point, at series.Instant) int { return cmp.Compare(p.ObservedAt, at) })
	if !ok {
		return series.Point{}, false
	}
	return points[i], true
}

// newest is the last point, and whether there is one.
func newest(points []series.Point) (series.Point, bool) {
	if len(points) == 0 {
		return series.Point{}, false
	}
	return points[len(points)-1], true
}

// days turns a number of days into a duration.
func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

const (
	weeklyGrades  = 104
	monthlyGrades = 36
	gradeTimeout  = 30 * 24 * time.Hour
)
