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

// Due returns the releases that the published schedule has due after an instant, the earliest first: those of the weeks, months or years
// about it. There is always at least one.
func (t Target) Due(after time.Time) (list []Release) {
	for _, s := range t.schedules {
		y, m, d := after.UTC().Date()
		for i := -15; i <= 15; i++ {
			observed := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC)
			switch s.form {
			case formMonth:
				observed = time.Date(y, m+time.Month(i), 1, 0, 0, 0, 0, time.UTC)
			case formFinal:
				observed = time.Date(y+i, time.January, 1, 0, 0, 0, 0, time.UTC)
			}
			if r := s.release(observed); s.has(observed) && r.ScheduledAt.After(after) {
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b Release) int { return a.ScheduledAt.Compare(b.ScheduledAt) })
	return list
}

// prints reports whether the figure has a period.
func (t Target) prints(period string) bool {
	_, ok := t.ReleaseOf(period)
	return ok
}
