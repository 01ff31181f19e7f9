package signals

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/series"
)

// Ships through the Strait of Hormuz a day, as PortWatch counts them: all of the five classes and tankers alone. Also the estimated tons
// carried by the tankers.
const (
	hormuzShips   series.ID = "portwatch.chokepoint6.n_total"
	hormuzTankers series.ID = "portwatch.chokepoint6.n_tanker"
	hormuzCargo   series.ID = "portwatch.chokepoint6.capacity_tanker"
)

const (
	transitsPerDay = "transits/day"
	// hormuzWeek is how many days, all of them known, make a mean: traffic has a weekly rhythm.
	hormuzWeek = 7
	// hormuzFirst and hormuzLast are the years of the baseline: from the start of the data to the last year before the tension of 2025
	// and the closure of March 2026. A later year never enters, so that a closure does not become what is usual.
	hormuzFirst, hormuzLast = 2019, 2024
	// hormuzReach is the number of calendar days on either side of the same month and day in the baseline. A year counts as matched if it
	// has at least hormuzMinPerYear of the 31 means.
	hormuzReach, hormuzMinPerYear = 15, 16
	// hormuzYearAgo is a year in whole weeks.
	hormuzYearAgo = 364
	// hormuzStaleness: the days up to Sunday come on Tuesday at about 13:35 UTC, so just before the next update the newest day is 9.6
	// days old. Thirteen days let an update be three days late; a missed one shows.
	hormuzStaleness = 13 * 24 * time.Hour
)

func hormuzTransit() Definition {
	return Definition{
		ID:        "hormuz-transit",
		Domain:    "shipping",
		Name:      "Ship transits through the Strait of Hormuz",
		Unit:      transitsPerDay,
		Frequency: "daily",
		Description: "Ships that pass the Strait of Hormuz a day, as a mean of seven days, estimated by IMF PortWatch from the radio signals " +
			"of ships (AIS), compared with the same time of the year in 2019 to 2024. The components are the tankers alone and the same " +
			"week of the year before. Ships that switch their transmitter off or are jammed are not counted, so in times of conflict a " +
			"low count is an upper bound on the disruption. The publisher re-estimates the whole history from time to time; value and " +
			"baseline always come from the same state of it.",
		Keywords: []string{
			"Strait of Hormuz", "chokepoint", "ship transits", "tankers", "AIS", "PortWatch", "oil supply", "shipping disruption",
		},
		Place: "Strait of Hormuz",
		License: "IMF PortWatch (portwatch.imf.org), IMF terms of use: free for non-commercial and research use with attribution; a paid " +
			"service needs the publisher's consent.",
		LicenseURL:  "https://www.imf.org/external/terms.htm",
		SourceURL:   "https://portwatch.imf.org/pages/cb5856222a5b4105adc6ee7e880a1730",
		Inputs:      []series.ID{hormuzShips, hormuzTankers, hormuzCargo},
		Revised:     []series.ID{hormuzShips, hormuzTankers, hormuzCargo},
		Reestimated: []series.ID{hormuzShips},
		Averaged:    hormuzShips,
		// Before the day's pick is made, at 17:30.
		Cadence:         series.Cadence{Cron: "15 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest},
		Staleness:       hormuzStaleness,
		BaselineMethod:  "same_month_day_2019_2024_mean",
		IntervalMethod:  "past_reestimates_of_the_week",
		BaselineCaption: "mean of the same time of year, 2019 to 2024",
		IntervalCaption: "re-estimates of past weeks; below 20, of April to July 2026",
		Interval: Interval{
			Bounds: BoundsRevised,
			Truth:  "the mean of the same seven days as PortWatch next estimates it anew, and not the true number of ships",
			Trials: hormuzTrials,
		},
		Phrasing: Phrasing{Short: "Hormuz", Figure: "%s ships a day", One: "%s ship a day", Normal: "normal", Seasonal: true},
		Phrase: map[string]string{
			"en": "ship traffic through the Strait of Hormuz",
			"es": "el paso de buques por el estrecho de Ormuz",
			"pt": "o tráfego de navios pelo estreito de Ormuz",
			"hi": "होर्मुज़ जलडमरूमध्य से जहाज़ों की आवाजाही",
		},
		Exposures: []Exposure{
			{Sign: -1, First: 1311, Last: 1311, Reason: "Fewer ships through the strait make oil from elsewhere more expensive."},
			{Sign: 1, First: 4510, Last: 4522, Reason: "Free passage keeps fuel affordable."},
		},
		Technique: "Mean of the daily transits of the seven newest days; baseline: mean of all such means within 15 calendar days of the same " +
			"month and day in the years 2019 to 2024 that lie before, from the same state of the data",
		Compute:    computeHormuz,
		read:       readHormuz,
		growth:     &growth{tail: hormuzTail},
		Components: hormuzComponents,
		Cells:      hormuzCells,
		Backtest: Backtest{
			Symbol:      string(wtiCushing),
			Description: "change of the WTI spot price at Cushing over 20 trading days, from the first price after the signal is known, in dollars a barrel",
			Predictor:   "minus the z-score: fewer ships than usual are expected to make oil more expensive",
			Naive:       "the last known change of the WTI spot price over 20 trading days",
			Inputs:      []series.ID{wtiCushing},
			HorizonDays: 28,
			Cases:       forwardChanges(pointsOf(wtiCushing), 20, -1),
		},
		Brief: hormuzBrief,
	}
}

// computeHormuz yields one estimate for every day that ends seven known days, from 2019-01-07.
func computeHormuz(in series.Set, _ time.Time) Track { return hormuzTrack(in, in[hormuzShips], 0) }

// hormuzTrack returns the estimates of some of the ships after a time.
func hormuzTrack(in series.Set, ships []series.Point, after series.Instant) Track {
	memory := borrow()
	defer memory.giveBack()
	memory.points = weekMeans(ships, memory.points)
	numbers := hormuzNumbersOf(memory.points, in, true, memory)
	return trackFrom(memory.points, len(until(memory.points, after)), numbers.set)
}

// hormuzTail computes from the ships of the years of the baseline on. All intervals depend on the re-estimates, and a week that is not
// complete yet may have one.
func hormuzTail(settled Track, in series.Set, _ time.Time) (Track, bool) {
	last := settled[len(settled)-1].ObservedAt
	if before := in[series.Before(hormuzShips)]; len(before) > 0 && sundayOf(before[len(before)-1].ObservedAt.Days()) > last.Days() {
		return nil, false
	}
	from := min(last, series.DateOf(hormuzFirst, time.January, 1)).AddDate(0, 0, -hormuzReach-2*hormuzWeek)
	return hormuzTrack(in, since(in[hormuzShips], from), last), true
}

func readHormuz(in series.Set, _ time.Time, intervals bool) Track {
	memory := borrow()
	defer memory.giveBack()
	memory.points = weekMeans(in[hormuzShips], memory.points)
	numbers := hormuzNumbersOf(memory.points, in, intervals, memory)
	return readTrack(memory.points, memory, numbers.set)
}

// hormuzNumbers make the numbers of estimates.
type hormuzNumbers struct {
	season    season
	intervals bool
	shift     hormuzShift
}

func hormuzNumbersOf(means []series.Point, in series.Set, intervals bool, memory *scratch) hormuzNumbers {
	memory.dated = memory.dated.holding(means)
	h := hormuzNumbers{season: hormuzSeason(memory.dated, memory), intervals: intervals}
	if intervals {
		h.shift = learnShift(in[hormuzShips], in[series.Before(hormuzShips)])
	}
	return h
}

// set sets the numbers of the i-th estimate.
func (h *hormuzNumbers) set(i int, e *Estimate) {
	lo, hi := math.NaN(), math.NaN()
	if h.intervals {
		lo, hi = h.shift.band(e.Value)
	}
	e.setNumbers(lo, hi, h.season.of(i))
}

// weekMeans are the means of every seven days in a row that are all known. A mean became known with the last of them. The points are in
// memory, if that is large enough.
func weekMeans(points, memory []series.Point) []series.Point {
	out := slices.Grow(memory[:0], len(points))
	inRow, before := 0, 0                // how many days follow one another, the last of them
	newest, came := 0, series.Instant(0) // the point of seven that became known last, and when
	for i := range points {
		p := &points[i]
		day, known := p.ObservedAt.Days(), p.VintageAt
		if inRow++; day != before+1 {
			inRow = 1
		}
		before = day
		switch {
		case i == 0 || known >= came:
			newest, came = i, known
		case newest <= i-hormuzWeek:
			newest = i + 1 - hormuzWeek + newestOf(points[i+1-hormuzWeek:i+1])
			came = points[newest].VintageAt
		}
		if inRow < hormuzWeek {
			continue
		}
		week := (*[hormuzWeek]series.Point)(points[i+1-hormuzWeek:])
		var sum float64
		for j := range week { // whole numbers: the sum has no rounding
			sum += week[j].Value
		}
		out = append(out, series.Point{ObservedAt: p.ObservedAt, VintageAt: came, Value: sum / hormuzWeek})
	}
	return out
}

func weekPoints(points []series.Point) []series.Point { return weekMeans(points, nil) }

// newestOf is the index of the point that became known last, the later of two.
func newestOf(points []series.Point) int {
	newest := 0
	for i := range points {
		if points[i].VintageAt >= points[newest].VintageAt {
			newest = i
		}
	}
	return newest
}

// hormuzSeason has the sample of any mean. The sample has the values within hormuzReach days of its month and day in each
// of the reference years before its own. 29 February counts as the 28th in other years. The sample is empty if fewer than minSeasonYears of them are
// matched. Only the values of matched years enter.
func hormuzSeason(means datedSeries, memory *scratch) season {
	first := dayOf(time.Date(hormuzFirst, time.January, 1, 0, 0, 0, 0, time.UTC))
	last := dayOf(time.Date(hormuzLast, time.December, 31, 0, 0, 0, 0, time.UTC))
	return monthDayWindow{hormuzReach, hormuzMinPerYear}.ofYears(means, hormuzYears, first, last, memory)
}

// hormuzComponents shows the tankers, at their own newest day and against their own season, and all ships against the mean 364 days before.
// It also counts the marks of bad coverage on the seven newest days.
func hormuzComponents(in series.Set, _ time.Time) []Component {
	var out []Component
	if tankers := weekPoints(in[hormuzTankers]); len(tankers) > 0 {
		newest, season := tankers[len(tankers)-1], hormuzSeason(datedPoints(tankers), new(scratch))
		sample := season.of(len(tankers) - 1)
		out = append(out, Component{
			Name: "tankers", Label: "Tankers, mean of seven days", Unit: transitsPerDay,
			ObservedAt: newest.ObservedAt, Value: newest.Value, Baseline: sample.mean(), Scale: sample.sd(),
		}.known())
	}
	ships := weekPoints(in[hormuzShips])
	if len(ships) == 0 {
		return out
	}
	newest := ships[len(ships)-1]
	yearAgo := newest.ObservedAt.AddDate(0, 0, -hormuzYearAgo)
	if before, ok := series.At(ships, yearAgo); ok && before.ObservedAt == yearAgo {
		out = append(out, Component{
			Name: "previous_364_days", Label: "All ships, mean of seven days, against the mean 364 days before", Unit: transitsPerDay,
			ObservedAt: newest.ObservedAt, Value: newest.Value, Baseline: before.Value, Scale: moments{}.sd(),
		}.known())
	}
	if days, ok := hormuzBlindDays(in, newest.ObservedAt); ok {
		unknown := moments{}.mean()
		out = append(out, Component{
			Name: "days_of_bad_coverage", Label: "Days of the seven on which tankers passed and none carried anything", Unit: "days",
			ObservedAt: newest.ObservedAt, Value: float64(days), Baseline: unknown, Scale: unknown,
		})
	}
	return out
}

// hormuzBlindDays counts, among the seven days up to one, those on which tankers passed and their cargo is zero: the transmitters'
// signals were too few to tell. It needs both numbers of every day.
func hormuzBlindDays(in series.Set, newest series.Instant) (n int, ok bool) {
	for back := range hormuzWeek {
		day := newest.AddDate(0, 0, -back)
		tankers, okTankers := series.At(in[hormuzTankers], day)
		cargo, okCargo := series.At(in[hormuzCargo], day)
		if !okTankers || !okCargo || tankers.ObservedAt != day || cargo.ObservedAt != day {
			return 0, false
		}
		if tankers.Value > 0 && cargo.Value == 0 {
			n++
		}
	}
	return n, true
}

const hormuzBrief = `## What it says

How many ships pass through the Strait of Hormuz a day, and whether that is a lot for the time of the year. Much of the world's oil and
liquefied gas leaves the Persian Gulf there, and there is no way around by sea. A fall far below the seasonal level is a disruption that the
oil market has to price.

## How it is made

IMF PortWatch counts ships from the signals of their transmitters (AIS), once per ship within 48 hours: container ships, dry bulk, general
cargo, roll-on/roll-off and tankers. The value is the mean of the daily counts of all five over seven days:

    value = (count of the day + counts of the six days before) / 7

All seven days must be known; a count of zero is a count. The components are the tankers alone, compared with their own season, all ships
against their mean 364 days (52 weeks) before, and the number of days with bad coverage.

## Baseline and z-score

The baseline is the mean of all such seven-day means within 15 calendar days of the same month and day (February 29 counts as the 28th
where a year has none) in those years from 2019 to 2024 that lie before the value's own: 186 means once all six years count. The
scale is their sample standard deviation. Only years with at least 16 of the 31 means count. With fewer than three such years
there is no baseline, so the first is of January 2022. Nothing after January 2025 counts: the closure of March 2026 must not become the
norm.

    z = (value - baseline) / scale
    difference in percent = 100 * (value / baseline - 1)

PortWatch re-estimates the whole history from time to time: between April and July 2026 nearly every day changed, and in the summer of 2026
all of them by a median factor of 0.83. Value and baseline therefore always come from one and the same state of the data, and an old
snapshot must not be compared with a new baseline.

## The interval

It bounds, built for 90%, the mean of the same seven days as PortWatch next estimates it anew. It does not bound the true number of ships, which
is never seen, nor the next week. Re-estimates are compared on a scale on which weeks of few and of many ships can be put together:

    x = 2 * sqrt(7 * mean + 0.375)
    lower = ((max(0, x(value) + down) / 2)^2 - 0.375) / 7, never below 0
    upper = ((max(0, x(value) + up) / 2)^2 - 0.375) / 7

- down, up: the 5% and the 95% quantile of x(after) - x(before), each week from Monday to Sunday by the last re-estimate of it that is known:
  of n sorted differences the one at place p * (n + 1), between two of them in proportion;
  down is 0 at most and up 0 at least. So the interval is longer on the side to which PortWatch moves its counts
- With fewer than 20 such weeks, -6.9 and 3.4 are assumed: what 52 weeks went through between April 21 and July 6, 2026

The record of the snapshot counts only intervals that were learned, each held against a later re-estimate. With fewer than 20 of those the
interval is assumed, and no probability is claimed. All weeks of one re-estimate move together, so a record of few re-estimates says less
than its number of weeks. The interval before this one was symmetric: of the 52 weeks of April it held 88%, and 93% of 359 overlapping means.
Traffic varies more than counting errors do: the difference between two consecutive weeks is 2.4 times as large as chance alone
would make it.

## Backtest

The z-score, with its sign reversed, is tested against the change of the WTI spot price over the 20 trading days after it became known: fewer ships should
make oil more expensive. The years since 2022 include one closure, and a market that knows of it within minutes.

PortWatch estimates most days again. Cases with values that were there before the first
request may therefore know too much. The backtest then says so, says why, and counts these cases apart.

## What it cannot tell

- Ships that switch their transmitter off, or are jammed, are not counted. In a conflict a low count is an upper bound on the
  disruption: some of the ships that seem to be missing may have passed unseen. The mark of such days in PortWatch's data is tankers
  without any cargo: 12 days by July 2026, none before March 5, 2026. How many of the seven days bear it is shown beside the value.
- Every ship counts once: a supertanker counts as much as a coaster.
- The newest days are provisional, and the data are two to nine days old.
- It does not show direction, cargo or owner.
- PortWatch has changed what it counts: its classes of ships and the line across the strait have been redrawn more than once.

## Sources

- [IMF PortWatch, Strait of Hormuz](https://portwatch.imf.org/pages/cb5856222a5b4105adc6ee7e880a1730), updated on Tuesdays for the days up
  to Sunday. Attribution: IMF PortWatch (portwatch.imf.org). Its terms allow non-commercial and research use
- The comparison with the previous year is PortWatch's own practice
`
