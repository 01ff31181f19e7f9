package quality

import (
	"fmt"
	"slices"
	"time"

	"tidemark/internal/series"
)

const oneDay = 24 * time.Hour

// cadence is the meaning of a frequency for dates.
type cadence struct {
	// together is how close two observations of one period are.
	together time.Duration
	// minHistory is the least number of distances between neighbours that say what is usual: of days, half a year with its holidays.
	enough int
	// usual is the max distance if there is too little history to learn it from. slack is how much longer a distance may be than the
	// learned ones.
	usual, slack time.Duration
	// gracePeriod is how long after its time an observation may come: the holidays and delays that no calendar here knows.
	gracePeriod time.Duration
}

var rhythms = map[string]cadence{
	"daily":     {together: oneDay, enough: 130, usual: 5 * oneDay, gracePeriod: 7 * oneDay},
	"weekly":    {together: 4 * oneDay, enough: 52, usual: 9 * oneDay, slack: 2 * oneDay, gracePeriod: 7 * oneDay},
	"monthly":   {together: 20 * oneDay, enough: 12, usual: 34 * oneDay, slack: 3 * oneDay, gracePeriod: 10 * oneDay},
	"quarterly": {together: 60 * oneDay, enough: 8, usual: 95 * oneDay, slack: 5 * oneDay, gracePeriod: 30 * oneDay},
	"annual":    {together: 300 * oneDay, enough: 5, usual: 371 * oneDay, slack: 5 * oneDay, gracePeriod: 60 * oneDay},
}

// max is the max distance between two neighbours without a missing value. It is learned from ascending readings, since no declaration
// contains weekends, holidays and the months without reports of a crop. It is a quarter longer than their third longest distance, so that
// a single past gap does not hide a future one.
func (r cadence) max(list []series.Reading) time.Duration {
	if len(list) <= r.enough {
		return r.usual
	}
	distances := make([]time.Duration, 0, len(list)-1)
	for i := 1; i < len(list); i++ {
		distances = append(distances, list[i].ObservedAt.Sub(list[i-1].ObservedAt))
	}
	slices.Sort(distances)
	third := distances[len(distances)-3]
	return third + third/4 + r.slack
}

// checkDuplicates finds two observations of one period if at least one is new. If a publisher moves its dates, perhaps from a month's first
// day to its last, the new dates would otherwise join the old dates in the history.
func checkDuplicates(c *comparison) []series.Finding {
	r, ok := rhythms[c.Info.Frequency]
	if !ok {
		return nil
	}
	var from, to time.Time
	n := 0
	for _, i := range c.added {
		at := c.said[i].ObservedAt
		before := i > 0 && at.Sub(c.said[i-1].ObservedAt) < r.together
		after := i+1 < len(c.said) && c.said[i+1].ObservedAt.Sub(at) < r.together
		if !before && !after {
			continue
		}
		if n++; n == 1 {
			from = at
		}
		to = at
	}
	if n == 0 {
		return nil
	}
	return c.finding(Duplicates, series.SeverityError, from, to,
		fmt.Sprintf("%d new observations with another one in the same period, the first on %s", n, from.UTC().Format(time.RFC3339)),
		"one observation in each period of a series that is "+c.Info.Frequency)
}

// checkOlder finds a copy of an earlier state: it ends before what is known.
func checkOlder(c *comparison) []series.Finding {
	if c.Newest.IsZero() || len(c.known) == 0 {
		return nil
	}
	last := c.known[len(c.known)-1].ObservedAt
	if !c.Newest.Before(last) {
		return nil
	}
	return c.finding(Freshness, series.SeverityError, c.Newest, last, "the newest observation is of "+day(c.Newest),
		fmt.Sprintf("one of %s, which is known already, or a newer one", day(last)))
}

// checkGaps finds expected dates that are missing among the observations that are new. Nothing is expected of a first answer.
func checkGaps(c *comparison) []series.Finding {
	r, ok := rhythms[c.Info.Frequency]
	if !ok || len(c.known) == 0 {
		return nil
	}
	longest := r.max(c.known)
	last := c.known[len(c.known)-1].ObservedAt
	var from, to time.Time
	n := 0
	for _, i := range c.added {
		at := c.said[i].ObservedAt
		if at.Before(last) {
			continue // it fills a gap
		}
		before := last
		if i > 0 {
			before = c.said[i-1].ObservedAt
		}
		if before.Before(last) {
			before = last
		}
		if at.Sub(before) <= longest {
			continue
		}
		if n++; n == 1 {
			from = before
		}
		to = at
	}
	if n == 0 {
		return nil
	}
	return c.finding(Gaps, series.SeverityWarn, from, to, fmt.Sprintf("nothing between two observations in %d places, the first after %s", n, day(from)),
		fmt.Sprintf("an observation at least every %s, as before", days(longest)))
}

// Late returns a finding if a newer observation of a series should have arrived by an instant. Readings are the series' readings in the
// newest responses, in any order: the usual distance between two of them determines when the next one is due.
func Late(info series.Info, readings []series.Reading, at time.Time) []series.Finding {
	r, ok := rhythms[info.Frequency]
	if !ok || info.Published == nil || len(readings) == 0 {
		return nil
	}
	list := ascending(readings)
	newest := list[len(list)-1].ObservedAt
	due := info.Published(newest.Add(r.max(list[max(0, len(list)-HistoryDepth):])))
	if !at.After(due.Add(r.gracePeriod)) {
		return nil
	}
	return []series.Finding{{
		Check: Freshness, Severity: series.SeverityWarn, Series: info.ID, From: newest.UTC(), To: newest.UTC(),
		Observed: "the newest observation is of " + day(newest), Expected: "a newer one by " + day(due),
	}}
}

// HistoryDepth is how many of the newest observations of a series the checks want to see: they say what is usual.
const HistoryDepth = 1000

// days writes a duration of days.
func days(d time.Duration) string {
	n := float64(d) / float64(oneDay)
	return rounded(n) + " days"
}
