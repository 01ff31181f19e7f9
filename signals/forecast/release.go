package forecast

import (
	"slices"
	"time"

	"tidemark/internal/series"
)

// schedule says which periods have a printed figure, and when at the earliest. The database has the same rules (forecast_figures), and
// every auditor works out the time of a release from them.
type schedule struct {
	// form is the layout of a period. It denotes the time of the figure's newest value.
	form   string
	series series.ID
	// weekday and months restrict the periods: a day must be that weekday, a month one of these. No months means all.
	weekday time.Weekday
	months  []time.Month
	due     func(observed time.Time) time.Time
}

// The forms of periods.
const (
	formMonth = "2006-01"
	formFinal = "2006-final"
)

// release is the one about an instant.
func (s schedule) release(observed time.Time) Release {
	return Release{Period: observed.Format(s.form), ObservedAt: observed, Series: s.series, ScheduledAt: s.due(observed)}
}

// has reports whether a figure is printed about an instant.
func (s schedule) has(observed time.Time) bool {
	switch s.form {
	case time.DateOnly:
		return observed.Weekday() == s.weekday
	case formMonth:
		return len(s.months) == 0 || slices.Contains(s.months, observed.Month())
	}
	return true
}

// ReleaseOf returns the release of a period by the published schedule, and whether the figure has that period. It depends on nothing else,
// so any reader of a recorded forecast can compute when its print was due.
func (t Target) ReleaseOf(period string) (Release, bool) {
	for _, s := range t.schedules {
		if observed, err := time.Parse(s.form, period); err == nil && observed.Format(s.form) == period && s.has(observed) {
			return s.release(observed), true
		}
	}
	return Release{}, false
}

// prints reports whether the figure has a period.
func (t Target) prints(period string) bool {
	_, ok := t.ReleaseOf(period)
	return ok
}
