package signals

import (
	"math"
	"slices"
	"strings"
	"time"

	"tidemark/internal/series"
)

// A final yield is dated 1 January of its crop year and becomes known in January of the next. A forecast is dated the first of the month
// of its report. The source ensures that neither is a row that repeats the other.
const (
	cornFinal    series.ID = "nass.IA.CORN.YIELD.FINAL"
	cornForecast series.ID = "nass.IA.CORN.YIELD.FORECAST"
)

const (
	bushelsPerAcre = "bu/acre"
	// cornTrendYears is how many finals make the trend, and how far back errors are remembered.
	cornTrendYears = 25
	// cornMinErrors is the min number of past errors for quantiles or the scale. With fewer, a t distribution replaces the quantiles.
	cornMinErrors = 20
	// cornMinWeights is how many past errors of a month's forecast make a weight. With fewer the forecast and the trend count the same.
	cornMinWeights = 5
	// cornSeason is the month in which a season's estimate begins, with the trend.
	cornSeason = time.May
	// cornStaleness: the longest pause between two estimates is from the final, dated 1 January, to the season's start on 1 May.
	// Five days more let that be late; a forecast that is missed shows in September, a final in March.
	cornStaleness = 125 * 24 * time.Hour
)

func iowaCornYield() Definition {
	return Definition{
		ID:        "iowa-corn-yield",
		Domain:    "agriculture",
		Name:      "Iowa corn yield forecast",
		Unit:      bushelsPerAcre,
		Frequency: "monthly",
		Description: "The yield of corn for grain in Iowa, in bushels per acre, as it can be forecast at each stage of the season: from May on " +
			"the linear trend of the last 25 final yields, from August on a blend of that trend and the forecast of USDA's National " +
			"Agricultural Statistics Service, each weighted by its own past error, and from January on the final yield. It is compared " +
			"with the trend. Weather, vegetation indices and crop condition ratings are left out: where they could be tested " +
			"they did not improve the forecast of years they had not seen.",
		Keywords: []string{"corn", "maize", "crop yield", "yield forecast", "Iowa", "USDA NASS", "Crop Production", "trend yield"},
		Place:    "Iowa, United States",
		License: "USDA National Agricultural Statistics Service (NASS). Public domain as a work of the U.S. government; acknowledgement " +
			"of USDA NASS requested.",
		LicenseURL: "https://www.nass.usda.gov/Data_and_Statistics/Citation_Request/index.php",
		SourceURL:  "https://quickstats.nass.usda.gov/",
		Inputs:     []series.ID{cornFinal, cornForecast},
		Revised:    []series.ID{cornFinal},
		// After the report of noon, and before the day's pick is made, at 17:30.
		Cadence:         series.Cadence{Cron: "20 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest},
		Staleness:       cornStaleness,
		BaselineMethod:  "ols_trend_25y",
		IntervalMethod:  "walk_forward_errors_of_the_stage",
		BaselineCaption: "linear trend of 25 years",
		IntervalCaption: "past errors at this stage of the season",
		SeasonStart:     cornSeason,
		Interval: Interval{
			Bounds: BoundsNextPrint,
			Truth:  "the final yield of the crop year, as NASS will first print it in January; a final has no interval",
			Trials: cornTrials,
		},
		Phrasing: Phrasing{Short: "Iowa corn", Figure: "%s bushels an acre", Decimals: 1, Normal: "its trend"},
		Phrase: map[string]string{
			"en": "the expected corn yield in Iowa",
			"es": "el rendimiento previsto del maíz en Iowa",
			"pt": "a produtividade prevista do milho em Iowa",
			"hi": "आयोवा में मक्के की अनुमानित उपज",
		},
		Exposures: []Exposure{
			{Sign: 1, First: 2010, Last: 2015, Reason: "A good harvest makes feed cheap, the largest cost of meat."},
			{Sign: 1, First: 2040, Last: 2048, Reason: "A good harvest makes the grain that mills and starch makers buy cheap."},
			{Sign: 1, First: 2860, Last: 2869, Reason: "A good harvest makes the corn that ethanol is made of cheap."},
			{Sign: -1, First: 3523, Last: 3523, Reason: "Cheap grain leaves farmers less to spend on machines."},
		},
		Technique: "Trend: least squares line through the last 25 final yields; blend: mean of the NASS forecast and the trend, weighted by " +
			"one over the mean square of each one's past errors; scale: root mean square of the trend's past errors",
		Compute:    computeCorn,
		Components: cornComponents,
		Cells:      cornCells,
		Backtest: Backtest{
			Symbol:      string(cornFinal),
			Description: "final yield less the trend as it stood at the first forecast of the season, in bushels an acre",
			Predictor:   "the z-score at the first forecast of the season: a blend above the trend foretells a final above it",
			Naive:       "the final of the year before less its trend",
			HorizonDays: 153,
			Cases:       cornCases,
			Skill:       cornSkill,
		},
		Brief: cornBrief,
	}
}

// byCropYear groups points by the year that they are about, which for either series is the crop year.
func byCropYear(points []series.Point) map[int][]series.Point {
	out := make(map[int][]series.Point, len(points))
	for _, p := range points {
		if year := p.ObservedAt.Time().Year(); !math.IsNaN(known(p.Value)) {
			out[year] = append(out[year], p)
		}
	}
	return out
}

// computeCorn returns up to six estimates for every crop year, one per state of knowledge. The trend is dated 1 May, and used from
// that day on once the final of the year before is known. The blend with each forecast is dated the first of its month. The final is
// dated 1 January of the next year. Each uses only finals of earlier years, and errors against them.
func computeCorn(in series.Set, at time.Time) Track {
	track, _ := walkCorn(in, at)
	return track
}

// cornStage is the basis of the newest estimate. A nil forecast means none.
type cornStage struct {
	fit      trend
	forecast *series.Point
	// weight is the forecast's share of the blend.
	weight float64
}

func walkCorn(in series.Set, at time.Time) (track Track, newest cornStage) {
	finals, forecasts := byCropYear(in[cornFinal]), byCropYear(in[cornForecast])
	first, last := math.MaxInt-1, 0
	for _, years := range []map[int][]series.Point{finals, forecasts} {
		for year := range years {
			first, last = min(first, year), max(last, year)
		}
	}
	var past cornHistory
	for year := first; year <= last+1; year++ {
		fit := past.fit(year)
		start := series.DateOf(year, cornSeason, 1)
		if before := finals[year-1]; len(before) > 0 && fit.n > 0 && start <= series.InstantOf(at) {
			below, above := past.trendBand(fit)
			track = append(track, past.estimate(fit, start, before[0].VintageAt, fit.value, below, above))
			newest = cornStage{fit: fit}
		}
		for _, p := range forecasts[year] {
			month := p.ObservedAt.Time().Month()
			weight := past.weight(fit, month)
			below, above := past.blendBand(fit, month)
			track = append(track, past.estimate(fit, p.ObservedAt, p.VintageAt, fit.blend(p.Value, weight), below, above))
			newest = cornStage{fit: fit, forecast: &p, weight: weight}
		}
		for _, p := range finals[year] {
			day := series.DateOf(year+1, time.January, 1)
			track = append(track, past.estimate(fit, day, p.VintageAt, p.Value, math.NaN(), math.NaN())) // the outcome of the forecasts is known
			newest = cornStage{fit: fit}
			past.learn(fit, p.Value, forecasts[year])
		}
	}
	return track, newest
}

// cornHistory is the history of the crop years so far, the last cornTrendYears of each kind, oldest first. An error is the final minus
// the forecast.
type cornHistory struct {
	years, yields []float64
	// trendErrors are in bushels, trendShares the same as shares of the trend.
	trendErrors, trendShares []float64
	// forecastErrors and blendErrors are the errors of NASS and of the blend, by the month of the forecast.
	forecastErrors, blendErrors [13][]float64
}

// learn takes in the final of the crop year that fit was made for, and the errors of all that had been foretold.
func (c *cornHistory) learn(fit trend, final float64, forecasts []series.Point) {
	for _, p := range forecasts {
		month := p.ObservedAt.Time().Month()
		blend := fit.blend(p.Value, c.weight(fit, month))
		c.forecastErrors[month] = remember(c.forecastErrors[month], final-p.Value)
		c.blendErrors[month] = remember(c.blendErrors[month], final-blend)
	}
	if fit.n > 0 {
		c.trendErrors = remember(c.trendErrors, final-fit.value)
		c.trendShares = remember(c.trendShares, (final-fit.value)/math.Abs(fit.value))
	}
	c.years, c.yields = remember(c.years, float64(fit.year)), remember(c.yields, final)
}

// remember adds a number that is one, and forgets the oldest of more than cornTrendYears.
func remember(numbers []float64, x float64) []float64 {
	if math.IsNaN(known(x)) {
		return numbers
	}
	if len(numbers) == cornTrendYears {
		numbers = numbers[1:]
	}
	return append(numbers, x)
}

// fit is the line through the last cornTrendYears finals.
func (c *cornHistory) fit(year int) trend {
	if len(c.years) < cornTrendYears {
		unknown := math.NaN()
		return trend{year: year, value: unknown, slope: unknown, se: unknown, leverage: unknown}
	}
	return fitTrend(c.years, c.yields, year)
}

// weight is the share of a forecast in the blend. It is the mean square of the trend's past errors, divided by the sum of that and the
// mean square of the same month's forecast errors. So each has a weight inverse to its own mean square (Bates and Granger, Operational
// Research Quarterly 20, 1969). The weight is a half if either has too short a past, and one if there is no trend.
func (c *cornHistory) weight(fit trend, month time.Month) float64 {
	if fit.n == 0 {
		return 1
	}
	if len(c.trendErrors) < cornMinWeights || len(c.forecastErrors[month]) < cornMinWeights {
		return 0.5
	}
	ofTrend, ofForecast := meanSquare(c.trendErrors), meanSquare(c.forecastErrors[month])
	if !(ofTrend+ofForecast > 0) {
		return 0.5
	}
	return ofTrend / (ofTrend + ofForecast)
}

// blend is the forecast where there is no trend.
func (t trend) blend(forecast, weight float64) float64 {
	if t.n == 0 {
		return forecast
	}
	return t.value + float64(weight*(forecast-t.value))
}

// trendBand bounds, at 90 %, the next error of the trend. It uses quantiles of the past errors as shares of the trend, because in Iowa
// and Illinois they grew with it. If too few are known, it uses the line's own band.
func (c *cornHistory) trendBand(fit trend) (below, above float64) {
	if len(c.trendShares) < cornMinErrors {
		return -fit.half(), fit.half()
	}
	below, above = cornQuantiles(c.trendShares)
	return float64(math.Abs(fit.value) * below), float64(math.Abs(fit.value) * above)
}

// blendBand bounds, at 90 %, the error to come of a blend: by quantiles of the past ones of the same month, in bushels, for they did
// not grow. Where those are too few, Student's t times their root mean square is the half width; where even fewer, the
// trend's own, which is wider.
func (c *cornHistory) blendBand(fit trend, month time.Month) (below, above float64) {
	errors := c.blendErrors[month]
	if len(errors) >= cornMinErrors {
		return cornQuantiles(errors)
	}
	half := fit.half()
	if len(errors) >= cornMinWeights {
		half = float64(studentT95(len(errors)) * math.Sqrt(meanSquare(errors)))
	}
	return -half, half
}

func cornQuantiles(errors []float64) (lower, upper float64) {
	s := sorted(slices.Sorted(slices.Values(errors)))
	return s.between((1 - Level) / 2), s.between((1 + Level) / 2)
}

func meanSquare(errors []float64) float64 {
	var sum float64
	for _, e := range errors {
		sum += float64(e * e)
	}
	return sum / float64(len(errors))
}

// estimate stands against the trend, in the root mean square of its past errors.
func (c *cornHistory) estimate(fit trend, day, knownAt series.Instant, value, below, above float64) Estimate {
	scale := math.NaN()
	if len(c.trendErrors) >= cornMinErrors {
		scale = math.Sqrt(meanSquare(c.trendErrors))
	}
	return Estimate{
		ObservedAt: day, KnownAt: max(day, knownAt), Value: value, Lo: value + below, Hi: value + above,
		Baseline: fit.value, Scale: scale, N: fit.n,
	}.known()
}

// cornComponents returns the parts of the newest estimate: the trend of its crop year, the forecast and its share, and the newest final.
func cornComponents(in series.Set, at time.Time) []Component {
	track, newest := walkCorn(in, at)
	if len(track) == 0 {
		return nil
	}
	e, unknown := track[len(track)-1], math.NaN()
	var out []Component
	add := func(c Component) {
		if c = c.known(); !math.IsNaN(c.Value) {
			out = append(out, c)
		}
	}
	add(Component{
		Name: "trend_25_years", Label: "Trend of the 25 final yields before", Unit: bushelsPerAcre,
		ObservedAt: e.ObservedAt, Value: newest.fit.value, Baseline: unknown, Scale: unknown,
	})
	add(Component{
		Name: "trend_slope", Label: "Slope of the trend", Unit: "bu/acre per year",
		ObservedAt: e.ObservedAt, Value: newest.fit.slope, Baseline: unknown, Scale: unknown,
	})
	if f := newest.forecast; f != nil {
		add(Component{
			Name: "nass_forecast", Label: "Forecast of USDA NASS", Unit: bushelsPerAcre,
			ObservedAt: f.ObservedAt, Value: f.Value, Baseline: e.Baseline, Scale: e.Scale,
		})
		add(Component{
			Name: "forecast_share", Label: "Share of the forecast in the blend", Unit: "percent",
			ObservedAt: f.ObservedAt, Value: 100 * newest.weight, Baseline: unknown, Scale: unknown,
		})
	}
	if finals := in[cornFinal]; len(finals) > 0 {
		last := finals[len(finals)-1]
		add(Component{
			Name: "newest_final", Label: "Newest final yield", Unit: bushelsPerAcre,
			ObservedAt: last.ObservedAt, Value: last.Value, Baseline: unknown, Scale: unknown,
		})
	}
	return out
}

// cornFinals are the finals by crop year.
func cornFinals(in series.Set) map[int]float64 {
	out := map[int]float64{}
	for year, points := range byCropYear(in[cornFinal]) {
		out[year] = points[0].Value
	}
	return out
}

// cornCases pairs the first blend of every season with the final, both against the season's trend.
func cornCases(read Track, in series.Set) []Case {
	finals := cornFinals(in)
	var out []Case
	before := map[int]float64{} // the final of the crop year before, less its trend
	done := 0                   // the newest crop year that has its case
	for _, e := range read {
		year, month, _ := e.ObservedAt.Time().Date()
		switch {
		case month == time.January:
			before[year] = e.Value - e.Baseline
		case month > cornSeason && year > done:
			done = year
			if final, ok := finals[year]; ok {
				naive, ok := before[year]
				if !ok {
					naive = math.NaN()
				}
				out = append(out, Case{
					Known: e.KnownAt, Start: e.KnownAt, End: series.DateOf(year+1, time.January, 1),
					Predicted: e.Z(), Happened: final - e.Baseline, Naive: naive,
				})
			}
		}
	}
	return out
}

// cornTrials holds the intervals of the stage that was reached last against the finals: one case a crop year.
func cornTrials(h IntervalHistory) []Trial {
	finals := map[int]series.Point{}
	for year, points := range byCropYear(h.First[cornFinal]) {
		finals[year] = points[0]
	}
	stage := time.Month(0)
	for _, e := range h.Read {
		if _, ok := e.holds(e.Value); ok {
			stage = e.ObservedAt.Time().Month()
		}
	}
	trials := nextPrints(h.Read, func(e Estimate) (series.Point, bool) {
		year, month, _ := e.ObservedAt.Time().Date()
		final, ok := finals[year]
		return final, ok && month == stage
	})
	for i := range trials {
		trials[i].Stage = cornStageName(stage)
	}
	return trials
}

// cornStageName names a stage by its month: the trend, or the forecast of that month.
func cornStageName(m time.Month) string {
	if m == cornSeason {
		return "trend"
	}
	return strings.ToLower(m.String())
}

// cornSkill compares the estimates of every stage with the finals.
func cornSkill(read Track, in series.Set) []ForecastSkill {
	finals := cornFinals(in)
	var out []ForecastSkill
	for _, stage := range []time.Month{cornSeason, time.August, time.September, time.October, time.November} {
		var skill skillSum
		for _, e := range read {
			year, month, _ := e.ObservedAt.Time().Date()
			if final, ok := finals[year]; ok && month == stage {
				n := skill.n
				skill.add(year, e, final)
				if p, ok := series.At(in[cornForecast], e.ObservedAt); ok && p.ObservedAt == e.ObservedAt && skill.n > n {
					skill.source += float64((final - p.Value) * (final - p.Value))
					skill.sourced++
				}
			}
		}
		if s := skill.result(cornStageName(stage)); s.N > 0 {
			out = append(out, s)
		}
	}
	return out
}

const cornBrief = `## What it says

How much corn an acre of Iowa will yield this year, as well as it can be forecast today, and whether that is more than the trend of plant
breeding and fertilizer suggests. Iowa grows more corn than any other state.

## How it is made

The value passes through three stages in a crop year:

- from May 1: the trend, a straight line by least squares through the last 25 final yields. It needs the final of the year before
- from August to November: a blend of that trend and the month's forecast of USDA's National Agricultural Statistics Service (NASS),
  which rests on surveys of farmers and, later, on counts in the fields

      blend = w * forecast + (1 - w) * trend,   w = T / (T + F)

  T and F are the mean squares of the past errors of the trend and of the forecasts of the same month, of the last 25 years at most: each
  counts by one over its own. With fewer than five errors of either the two count the same
- from January: the final yield

A value carries the date May 1, the first of the forecast's month, or January 1 after the harvest. Errors are final less forecast, and at every
point only those of earlier crop years are used. A report that is cancelled (October 2013, October 2025) leaves its month out.

Weather and vegetation indices are left out: rain and heat of July and August explain much of the past, but in predicting 1996 to 2011 from
earlier years alone they did worse (error 13.3) than the trend (11.7). Crop condition ratings are left out because no history of them
was there to test.

## Baseline and z-score

The baseline is the trend. The scale is the root mean square of the trend's own errors in the last 25 years, each against the 25 years
before it; it needs 20.

    z = (value - trend) / scale
    difference in percent = 100 * (value / trend - 1)

In Iowa the trend missed the finals of 1986 to 2011 by 17.7 bushels (root mean square), 12.9 on average, and lay 2.9 too low.

## The interval

Built for 90%, it bounds the final yield: by the quantiles of the errors of the same stage in the last 25 crop years, at least 20 of them, placed so
that a new error is as likely to fall into any gap between the old ones. Errors of the trend are taken in percent, because they grew with the yields; those of a
blend in bushels, because they did not. Before there are 20, a t distribution is used instead: the line's own band for the trend, and t times
the root mean square error for a blend. A final has no interval.

The trend's interval held 107 of Iowa's 121 finals from 1891 to 2011 (88%). For the blends, the history of Illinois is the one at hand: there
the intervals of 1980 to 2024 held 91% (August), 89% (September), 93% (October) and 96% (November).
The record beside a value covers one stage, the latest one reached; the backtest counts every stage.

## Backtest

The blend of the first forecast of each season is tested against the final, both as distances from the trend. The backtest also gives, for every stage,
the error, the bias, the coverage of the interval and the skill against the trend. In Illinois from 1980 to 2024 the blend's error was 12.3
bushels in August, 9.4 in September, 6.2 in October and 4.7 in November, where the trend alone had 20.8. NASS alone was nearer
to the final in each of the four months: 10.7, 8.1, 4.9 and 2.8. Whatever edge the blend has is that of its source. From 1986 on, when the weights
rest on five years or more, the blend had 11.3, 9.0, 5.0 and 2.7, NASS alone 10.4, 8.6, 5.2 and 2.8.

NASS revises finals. Cases with values that were there before the first
request may therefore know too much. The backtest then says so, says why, and counts these cases apart.

## What it cannot tell

- Between May and the first forecast it knows nothing of the season: a drought in July shows in August.
- The trend is a line. Where yields rise faster or slower than in the last 25 years, it lags.
- The blend treats the two errors as independent. They are not: in a year of drought both are too high.
- Finals may be revised years later, mostly after a census of agriculture.
- It is the yield of one state, not the crop, and not the price.

## Sources

- [USDA NASS, Quick Stats](https://quickstats.nass.usda.gov/): Crop Production, about the 12th of August to November, and the annual summary
  about January 12. The row of a running season that merely repeats the newest forecast is not taken for a final

NASS data are in the public domain; NASS asks to be named.
`
