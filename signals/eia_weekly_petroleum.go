package signals

import (
	"math"
	"time"

	"tidemark/internal/series"
)

// The four weekly series, as EIA names them. WCSSTUS1, often taken for the first, is the Strategic Petroleum Reserve.
const (
	crudeStocks      series.ID = "eia.WCESTUS1"
	gasolineStocks   series.ID = "eia.WGTSTUS1"
	distillateStocks series.ID = "eia.WDISTUS1"
	utilisation      series.ID = "eia.WPULEUS3"
)

const (
	thousandBarrels = "thousand barrels"
	// petroleumSurprises is the number of surprises for the interval's quantiles: two years of weeks. They leave five in each tail of 5
	// %, and every season occurs twice.
	petroleumSurprises = 104
	// petroleumStaleness: the report of a week that ends on Friday comes on the Wednesday after at 10:30 New York time and stays the
	// newest for a week. So it is up to 12.6 days old, or 13.7 days when a holiday moves the next one to Thursday. Sixteen days leave two
	// for a late report; a missed one shows.
	petroleumStaleness = 16 * 24 * time.Hour
)

func eiaWeeklyPetroleum() Definition {
	return Definition{
		ID:        "eia-weekly-petroleum",
		Domain:    "energy",
		Name:      "US commercial crude oil stocks, weekly",
		Unit:      thousandBarrels,
		Frequency: "weekly",
		Description: "Commercial crude oil stocks of the United States at the end of the week, without the Strategic Petroleum Reserve, " +
			"from the Weekly Petroleum Status Report of the Energy Information Administration, compared with the same week of " +
			"the five previous years. The components are the stocks of gasoline and distillate, the utilization of refineries, the " +
			"five-year range, and the seasonal surprise: the week's change less the mean change of the same week in the five " +
			"previous years. The surprise is measured against the season, not against the expectations of analysts. The " +
			"figures are estimates from a sample of companies.",
		Keywords: []string{
			"crude oil stocks", "inventories", "gasoline stocks", "distillate stocks", "refinery utilization",
			"Weekly Petroleum Status Report", "five-year range",
		},
		Place:      "United States",
		License:    eiaLicense,
		LicenseURL: eiaLicenseURL,
		SourceURL:  "https://www.eia.gov/petroleum/supply/weekly/",
		Inputs:     []series.ID{crudeStocks, gasolineStocks, distillateStocks, utilisation},
		Revised:    []series.ID{wtiCushing}, // the target: rows of holidays come and go
		// After the day's report, even if a holiday moved it to noon, and before the day's pick is made, at 17:30.
		Cadence:         series.Cadence{Cron: "5 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest},
		Staleness:       petroleumStaleness,
		BaselineMethod:  "same_week_5y_mean",
		IntervalMethod:  "seasonal_surprise_quantiles_5y",
		BaselineCaption: "mean of the same week in the five years before",
		IntervalCaption: "weekly surprises of the five years before",
		Interval: Interval{
			Bounds: BoundsNextPrint,
			Truth:  "the stocks of the week after, as EIA will first print them",
			Trials: petroleumTrials,
		},
		Phrasing: Phrasing{Short: "US crude oil stocks", Figure: "%s million barrels", PerUnit: 1000, Decimals: 1, Normal: "normal", Seasonal: true},
		Phrase: map[string]string{
			"en": "crude oil in US storage",
			"es": "el crudo almacenado en Estados Unidos",
			"pt": "o nível dos estoques de petróleo dos Estados Unidos",
			"hi": "अमेरिका में कच्चे तेल का भंडार",
		},
		Exposures: []Exposure{
			{Sign: -1, First: 1311, Last: 1311, Reason: "High crude oil stocks weigh on the price that a producer gets."},
			{Sign: -1, First: 1381, Last: 1389, Reason: "Producers that earn less drill less."},
		},
		Technique: "Stocks as reported; baseline: mean of the same week (the Friday within three days of the same month and day) in the five " +
			"previous years; surprise: the week's change less the mean change of those five weeks",
		Compute:    computePetroleum,
		read:       readPetroleum,
		growth:     &growth{tail: petroleumTail},
		Components: petroleumComponents,
		Cells:      petroleumCells,
		Backtest: Backtest{
			Symbol:      string(wtiCushing),
			Description: "change of the WTI spot price at Cushing over 20 trading days, from the first price after the signal is known, in dollars a barrel",
			Predictor:   "minus the z-score: full stocks are expected to make oil cheaper",
			Naive:       "the last known change of the WTI spot price over 20 trading days",
			Inputs:      []series.ID{wtiCushing},
			HorizonDays: 28,
			Cases:       forwardChanges(pointsOf(wtiCushing), 20, -1),
		},
		Brief: petroleumBrief,
	}
}

// computePetroleum yields one estimate for every week of crude oil stocks, from 1982-08-20. The interval is the value plus the 5 %
// and 95 % quantiles of the surprises of the last five years.
func computePetroleum(in series.Set, _ time.Time) Track {
	crude := in[crudeStocks]
	track, surprises := petroleumLevels(crude, true)
	lower, upper := trailingQuantiles(crude, surprises, seasonYears, petroleumSurprises, (1-Level)/2, (1+Level)/2)
	for i := range track {
		track[i].Lo, track[i].Hi = known(track[i].Value+lower[i]), known(track[i].Value+upper[i])
	}
	return track
}

// petroleumTail computes from the weeks that enter an estimate: the surprises of five years, and the five years before each of them.
func petroleumTail(settled Track, in series.Set, at time.Time) (Track, bool) {
	from := settled[len(settled)-1].ObservedAt.AddDate(-2*seasonYears-1, 0, 0)
	return after(settled, computePetroleum(series.Set{crudeStocks: since(in[crudeStocks], from)}, at)), true
}

func readPetroleum(in series.Set, at time.Time, intervals bool) Track {
	if intervals {
		return asKnown(computePetroleum(in, at))
	}
	track, _ := petroleumLevels(in[crudeStocks], false)
	return asKnown(track)
}

// petroleumLevels are the estimates without bounds, and the surprise of each week where they are asked for.
func petroleumLevels(crude []series.Point, surprised bool) (track Track, surprises []float64) {
	track = make(Track, len(crude))
	var changes []float64
	if surprised {
		changes, surprises = make([]float64, len(crude)), make([]float64, len(crude))
	}
	same := sameWeeksOf(crude)
	for i := range track {
		matches := same.of(i)
		level, e := matches.values(crude), &track[i]
		e.at(crude[i])
		e.setNumbers(math.NaN(), math.NaN(), level)
		if surprised {
			changes[i] = weekChange(crude, i)
			surprises[i] = changes[i] - matches.changes(changes).mean()
		}
	}
	return track, surprises
}

// petroleumTrials holds each interval against the stocks of seven days later.
func petroleumTrials(h IntervalHistory) []Trial {
	return nextPrints(h.Read, func(e Estimate) (series.Point, bool) {
		next := e.ObservedAt.AddDate(0, 0, 7)
		p, ok := series.At(h.First[crudeStocks], next)
		return p, ok && p.ObservedAt == next
	})
}

// petroleumComponents shows the other three series, each at its own newest week and against its own same weeks. For the crude oil stocks
// it shows the change, the surprise and the range of the same weeks. A series without known data is left out.
func petroleumComponents(in series.Set, _ time.Time) []Component {
	var out []Component
	add := func(p series.Point, name, label, unit string, value, baseline, scale float64) {
		out = append(out, Component{
			Name: name, Label: label, Unit: unit, ObservedAt: p.ObservedAt, Value: value, Baseline: baseline, Scale: scale,
		}.known())
	}
	if p, w, ok := newestWeek(in[crudeStocks]); ok {
		add(p, "week_change", "Change of crude oil stocks over the week", thousandBarrels, w.change, w.season.mean(), w.season.sd())
		// The baseline of a surprise is zero; its spread is the spread of the changes with which it is compared.
		add(p, "seasonal_surprise", "Change less the mean change of the same week in the five previous years", thousandBarrels,
			w.surprise(), 0, w.season.sd())
		unknown := moments{}.mean()
		add(p, "five_year_low", "Lowest crude oil stocks of the same week in the five previous years", thousandBarrels, w.low, unknown, unknown)
		add(p, "five_year_high", "Highest crude oil stocks of the same week in the five previous years", thousandBarrels, w.high, unknown, unknown)
	}
	for _, part := range []struct {
		id                series.ID
		name, label, unit string
	}{
		{gasolineStocks, "gasoline_stocks", "Total motor gasoline stocks", thousandBarrels},
		{distillateStocks, "distillate_stocks", "Distillate fuel oil stocks", thousandBarrels},
		{utilisation, "refinery_utilisation", "Utilization of operable refinery capacity", "percent"},
	} {
		if p, w, ok := newestWeek(in[part.id]); ok {
			add(p, part.name, part.label, part.unit, p.Value, w.level.mean(), w.level.sd())
		}
	}
	return out
}

// newestWeek returns the newest point of a weekly series and its state, and whether there is one.
func newestWeek(points []series.Point) (series.Point, week, bool) {
	if len(points) == 0 {
		return series.Point{}, week{}, false
	}
	newest := points[len(points)-1]
	// The matched weeks of five years ago have changes that look one week further back.
	recent := points[len(until(points, newest.ObservedAt.AddDate(-seasonYears-1, 0, 0))):]
	return newest, weekOf(recent), true
}

const petroleumBrief = `## What it says

How much crude oil was in commercial tanks in the United States at the end of the week, and whether that is a lot for the time of
the year. Stocks above their seasonal level mean that supply ran ahead of the refineries, stocks below it that oil is being drawn down. The
market watches the week's change more than the level, and of the change the part that the season does not explain.

## How it is made

The value is EIA's weekly estimate of crude oil stocks without the Strategic Petroleum Reserve, in thousand barrels (WCESTUS1), as
reported. The components are gasoline stocks (WGTSTUS1), distillate stocks (WDISTUS1) and the utilization of operable refinery capacity in
percent (WPULEUS3). Nothing is adjusted, smoothed or filled: a missing week has no value.

## Baseline and z-score

The same week of an earlier year is the Friday within three days of the same month and day (February 29 counts as the 28th where a
year has none); there is exactly one. The baseline is the mean of the same week in the five previous years, the scale their sample
standard deviation. With fewer than three matched years there is no baseline.

    z = (stocks - baseline) / scale
    difference in percent = 100 * (stocks / baseline - 1)

The lowest and the highest of the five are the "five-year range" of EIA's charts. Five values give a rough scale: read a z-score below 2
as "within the season's usual range".

## The seasonal surprise

    surprise = week's change - mean change of the same week in the five previous years
    z of the surprise = surprise / sample standard deviation of those five changes

In the week to May 16, 2025, stocks rose by 1,328 thousand barrels where the five years before had seen a mean fall of 3,537: a surprise of
+4,865, a z-score of 0.84.

## The interval

The stocks plus the 5% and the 95% quantiles of the surprises of the last five years, the newest included. The quantiles are surprises
that occurred, so the interval may be longer on one side; it needs 104 of them. Built for 90%, it bounds the stocks of the week after as EIA
first prints them. From 1987 to May 2026 it held them in 1,805 of 2,010 weeks (89.8%).

It is not the sampling error of the survey, which EIA does not publish with the series.

## Backtest

The z-score of the stocks, with its sign reversed, is tested against the change of the WTI spot price over the 20 trading days after the report: full tanks
should make oil cheaper. That is what is tested; the seasonal surprise is not.

EIA has published rows of holidays for the price of oil, and withdrawn them. Cases with values that were there before the first
request may therefore know too much. The backtest then says so, says why, and counts these cases apart.

## What it cannot tell

- The surprise is one against the season, not against what analysts expected. Their consensus is not free; a figure that surprises the
  season may be just what the market had priced.
- The weekly figures are estimates from a sample of companies. They are replaced by monthly figures in other series and not revised
  in place: of 2,058 weeks none changed in four years.
- Commercial stocks answer to releases from and purchases for the Strategic Petroleum Reserve, which is not part of them.
- National totals hide the place: oil at Cushing, where the futures contract is delivered, may run short while the total is ample.
- Fog on the Gulf Coast, hurricanes and the date of a holiday shift barrels from one week to another.
- Five years that include 2020 give a high baseline and a wide scale.

## Sources

- [EIA, Weekly Petroleum Status Report](https://www.eia.gov/petroleum/supply/weekly/), for the week to Friday, on Wednesday at 10:30 New York
  time, after a holiday mostly on Thursday

EIA's data are in the public domain as a work of the U.S. government; EIA asks to be named with the date of publication.
`
