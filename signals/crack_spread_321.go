package signals

import (
	"math"
	"slices"
	"sort"
	"time"

	"tidemark/internal/series"
)

// The three legs, as EIA names its daily spot price series.
const (
	wtiCushing     series.ID = "eia.RWTC"
	gasolineHarbor series.ID = "eia.EER_EPMRU_PF4_Y35NY_DPG"
	ulsdHarbor     series.ID = "eia.EER_EPD2DXL0_PF4_Y35NY_DPG"
)

const (
	gallonsPerBarrel = 42
	// crackMoves is how many daily changes the interval's spread is made of: about one quarter.
	crackMoves = 60
	// crackYear is how many trading days make the second reference, the spread's own last year.
	crackYear = 252
	// crackStaleness: the newest price is a Monday's and is published on the Wednesday after, so just before the next publication it is
	// ten days old. Fourteen days let a publication be four days late, as around holidays; a missed one shows.
	crackStaleDays = 14
	crackStaleness = crackStaleDays * 24 * time.Hour
	// normal95 is the 95 % quantile of the normal distribution: 90 % lie within that many standard deviations.
	normal95 = 1.645
)

// crackSeason has about 21 trading days a year. A year with fewer than half of them is cut off by the start of the history or by a
// hole, and does not count as matched.
var crackSeason = monthDayWindow{days: 15, minPerYear: 10}

func crackSpread321() Definition {
	return Definition{
		ID:        "crack-spread-321",
		Domain:    "energy",
		Name:      "3:2:1 crack spread, New York Harbor",
		Unit:      "USD/bbl",
		Frequency: "daily",
		Description: "The gross margin of a model refinery that turns three barrels of crude oil into two barrels of gasoline and one " +
			"barrel of diesel, in US dollars per barrel of crude, from daily spot prices: WTI at Cushing, Oklahoma, and " +
			"conventional regular gasoline and ultra-low-sulfur diesel at New York Harbor. It is compared with the same time of the " +
			"year in the five previous years. The gasoline is conventional gasoline, not RBOB, and the prices are spot " +
			"assessments, not futures: the figure differs from quotes of the exchange-traded crack spread. It is a price " +
			"spread, not the profit of any refiner.",
		Keywords:   []string{"crack spread", "refining margin", "gasoline", "diesel", "ULSD", "WTI", "crude oil", "spot prices"},
		Place:      "United States",
		License:    eiaSpotLicense,
		LicenseURL: eiaLicenseURL,
		SourceURL:  "https://www.eia.gov/dnav/pet/pet_pri_spt_s1_d.htm",
		Inputs:     []series.ID{wtiCushing, gasolineHarbor, ulsdHarbor},
		Revised:    []series.ID{wtiCushing, gasolineHarbor, ulsdHarbor}, // rows of holidays come and go
		// After the close of the cash markets and before the day's pick is made, at 17:30.
		Cadence:         series.Cadence{Cron: "0 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest},
		Staleness:       crackStaleness,
		BaselineMethod:  "same_month_day_5y_mean",
		IntervalMethod:  "staleness_60d_random_walk",
		BaselineCaption: "mean of the same time of year in the five years before",
		IntervalCaption: "random walk since the last price",
		Interval: Interval{
			Bounds: BoundsNextPrint,
			Truth:  "the spread on the day of the reading, or the last day before it with all three prices, as EIA will first print it",
			Trials: crackTrials,
		},
		Phrasing: Phrasing{Short: "Crack spread", Figure: "$%s a barrel", Decimals: 2, Normal: "normal", Seasonal: true},
		Phrase: map[string]string{
			"en": "the refining margin (crack spread)",
			"es": "el margen de refino (crack spread)",
			"pt": "a margem de refino (crack spread)",
			"hi": "रिफ़ाइनिंग मार्जिन (क्रैक स्प्रेड)",
		},
		Exposures: []Exposure{
			{Sign: 1, First: 2911, Last: 2911, Reason: "A refiner earns the difference between products and crude oil."},
			{Sign: -1, First: 4510, Last: 4522, Reason: "A wide margin makes jet fuel expensive, an airline's largest cost after wages."},
		},
		Margin: true,
		Technique: "(2 * 42 * gasoline + 42 * diesel - 3 * crude) / 3, gasoline and diesel in USD/gal, crude in USD/bbl, on days with all " +
			"three prices; baseline: mean of all values within 15 calendar days of the same month and day in the five previous years",
		Compute:    computeCrackSpread,
		read:       readCrackSpread,
		growth:     &growth{open: 1, tail: crackTail},
		Components: crackComponents,
		Cells:      crackCells,
		Backtest: Backtest{
			Symbol:      "crack-spread-321",
			Description: "change of the crack spread itself over 20 trading days, from the first prices after the signal is known, in dollars a barrel",
			Predictor:   "minus the z-score: a wide spread is expected to narrow",
			Naive:       "the last known change of the crack spread over 20 trading days",
			HorizonDays: 28,
			Cases:       forwardChanges(crackPoints, 20, -1),
		},
		Brief: crackBrief,
	}
}

// computeCrackSpread yields one estimate for every day with all three prices, from 2006-06-14, when the diesel series begins. The
// heating oil that was the distillate before is another product and is not spliced on.
func computeCrackSpread(in series.Set, at time.Time) Track { return crackTrack(in, at, 0) }

// crackTrack returns the estimates from the n-th on.
func crackTrack(in series.Set, at time.Time, n int) Track {
	memory := borrow()
	defer memory.giveBack()
	memory.points = crackSpread(in, memory.points)
	numbers := crackNumbersOf(memory.points, at, true, memory)
	return trackFrom(memory.points, n, numbers.set)
}

// crackTail computes from the prices of the years before that enter a baseline. An estimate reads what lies before it: its own interval
// alone depends on whether it is the newest. The blocks of daily changes lie on the count of all changes, so it begins with a block.
func crackTail(settled Track, in series.Set, at time.Time) (Track, bool) {
	oldest := settled[len(settled)-1].ObservedAt.AddDate(-seasonYears-1, 0, 0) // nothing older can enter the baseline
	from := sort.Search(len(settled), func(i int) bool { return settled[i].ObservedAt > oldest })
	from = max(0, min(from, len(settled)-1-crackMoves))
	from -= from % crackMoves
	some := series.Set{}
	for _, id := range []series.ID{wtiCushing, gasolineHarbor, ulsdHarbor} {
		some[id] = since(in[id], settled[from].ObservedAt)
	}
	return crackTrack(some, at, len(settled)-from), true
}

func readCrackSpread(in series.Set, at time.Time, intervals bool) Track {
	memory := borrow()
	defer memory.giveBack()
	memory.points = crackSpread(in, memory.points)
	numbers := crackNumbersOf(memory.points, at, intervals, memory)
	return readTrack(memory.points, memory, numbers.set)
}

// crackNumbers make the numbers of estimates.
type crackNumbers struct {
	season season
	days   []int32 // of the values
	// spread is the spread of the daily changes up to each day. It is nil if no intervals are wanted.
	spread []float64
	// read is the day on which the newest estimate is read.
	read int
}

func crackNumbersOf(points []series.Point, at time.Time, intervals bool, memory *scratch) crackNumbers {
	memory.dated = memory.dated.holding(points)
	c := crackNumbers{season: crackSeason.over(memory.dated, memory), days: memory.dated.days, read: dayOf(at)}
	if intervals {
		memory.steps = changes(memory.dated.values, memory.steps)
		memory.spread = sized(memory.spread, len(points))
		c.spread = memory.spread
		for i := range min(crackMoves, len(points)) {
			c.spread[i] = math.NaN()
		}
		for i, m := range trailing(memory.steps, crackMoves) {
			c.spread[i+1] = m.sd()
		}
	}
	return c
}

// set sets the numbers of the i-th estimate. The newest one is read today. An older one was read when it became known, or when it went stale if
// a correction came later than that.
func (c *crackNumbers) set(i int, e *Estimate) {
	half := math.NaN()
	switch day := int(c.days[i]); {
	case c.spread == nil || i == 0:
	case i == len(c.days)-1:
		half = crackHalfWidth(c.spread[i], math.Sqrt(float64(businessDays(day, c.read))))
	default:
		half = crackHalfWidth(c.spread[i], crackRoots[weekdayOf(day)][min(max(e.KnownAt.Days()-day, 0), crackStaleDays)])
	}
	e.setNumbers(e.Value-half, e.Value+half, c.season.of(i))
}

// crackHalfWidth is the possible move of the spread, at 90 %, between the day of its prices and the day when it is read. It is a random walk with
// the spread's own daily steps. root is the square root of the number of business days between the two days.
func crackHalfWidth(step, root float64) float64 { return float64(normal95 * step * root) }

// crackRoots are the square roots of the business days in so many days after a Monday, a Tuesday and so on.
var crackRoots = func() (roots [7][crackStaleDays + 1]float64) {
	const monday = -3 // 1969-12-29
	for weekday := range roots {
		for days := range roots[weekday] {
			roots[weekday][days] = math.Sqrt(float64(businessDays(monday+weekday, monday+weekday+days)))
		}
	}
	return roots
}()

// crackTrials holds the interval of each release, as it was read when that came, against the spread of that day once it was printed.
func crackTrials(h IntervalHistory) []Trial {
	points := crackPoints(h.First)
	if len(h.Read) == 0 {
		return nil
	}
	// The newest is read now, and not when it became known.
	return nextPrints(h.Read[:len(h.Read)-1], func(e Estimate) (series.Point, bool) {
		p, ok := series.At(points, e.KnownAt)
		return p, ok && p.ObservedAt > e.ObservedAt
	})
}

// crackSpread joins the three legs on the days that have all of them. A missing leg is never carried forward. A day became known
// with the last of its legs. The points are in memory, if that is large enough.
func crackSpread(in series.Set, memory []series.Point) []series.Point {
	crude, gasoline, diesel := in[wtiCushing], in[gasolineHarbor], in[ulsdHarbor]
	out := slices.Grow(memory[:0], min(len(crude), len(gasoline), len(diesel)))
	g, d := 0, 0
	for i := range crude {
		c := &crude[i]
		for g < len(gasoline) && gasoline[g].ObservedAt < c.ObservedAt {
			g++
		}
		for d < len(diesel) && diesel[d].ObservedAt < c.ObservedAt {
			d++
		}
		if g == len(gasoline) || d == len(diesel) {
			break
		}
		if g, d := &gasoline[g], &diesel[d]; g.ObservedAt == c.ObservedAt && d.ObservedAt == c.ObservedAt {
			out = append(out, series.Point{
				ObservedAt: c.ObservedAt, VintageAt: max(c.VintageAt, g.VintageAt, d.VintageAt), Value: crack321(c.Value, g.Value, d.Value),
			})
		}
	}
	return out
}

func crackPoints(in series.Set) []series.Point { return crackSpread(in, nil) }

// crack321 is the 3:2:1 spread in USD/bbl of crude in USD/bbl and products in USD/gal: the ratio of CME's calculator and of EIA.
func crack321(crude, gasoline, diesel float64) float64 {
	products := float64(2*gallonsPerBarrel*gasoline) + float64(gallonsPerBarrel*diesel)
	return (products - float64(3*crude)) / 3
}

// crackComponents shows the three prices of the newest day, each against its own season, and the spread against the 252 values
// before it.
func crackComponents(in series.Set, _ time.Time) []Component {
	spread := crackPoints(in)
	if len(spread) == 0 {
		return nil
	}
	newest := spread[len(spread)-1]
	out := []Component{
		crackLeg(in[wtiCushing], newest.ObservedAt, "wti_cushing", "WTI crude oil, Cushing, Oklahoma, spot", "USD/bbl"),
		crackLeg(in[gasolineHarbor], newest.ObservedAt, "gasoline_ny_harbor", "Conventional regular gasoline, New York Harbor, spot", "USD/gal"),
		crackLeg(in[ulsdHarbor], newest.ObservedAt, "ulsd_ny_harbor", "Ultra-low-sulfur diesel, New York Harbor, spot", "USD/gal"),
	}
	var year moments
	if before := spread[:len(spread)-1]; len(before) >= crackYear {
		for _, p := range before[len(before)-crackYear:] {
			year = year.add(p.Value)
		}
	}
	return append(out, Component{
		Name: "previous_252_days", Label: "Crack spread against the 252 trading days before", Unit: "USD/bbl",
		ObservedAt: newest.ObservedAt, Value: newest.Value, Baseline: year.mean(), Scale: year.sd(),
	}.known())
}

// crackLeg is the price of one leg on a day that it has, with the same baseline as the spread's.
func crackLeg(points []series.Point, day series.Instant, name, label, unit string) Component {
	points = until(points, day)
	points = points[len(until(points, day.AddDate(-seasonYears-1, 0, 0))):] // nothing older can enter the baseline
	season := crackSeason.over(datedPoints(points), new(scratch))
	sample := season.of(len(points) - 1)
	return Component{
		Name: name, Label: label, Unit: unit,
		ObservedAt: day, Value: points[len(points)-1].Value, Baseline: sample.mean(), Scale: sample.sd(),
	}.known()
}

const crackBrief = `## What it says

A refinery buys crude oil and sells what it makes from it. The 3:2:1 crack spread is the gross margin of a model refinery that turns
three barrels of crude into two barrels of gasoline and one of diesel, per barrel of crude. A wide spread means that products
are scarce relative to crude: refineries are paid to run hard. A narrow or negative one means that crude is expensive or that products pile
up. The z-score shows how unusual the spread is for the time of the year: margins tend to widen before the driving season and
with the first cold.

## How it is made

On every day with all three prices:

    spread = (2 * 42 * gasoline + 42 * diesel - 3 * crude) / 3

- crude: WTI spot at Cushing, Oklahoma, in USD per barrel (EIA RWTC)
- gasoline: conventional regular, spot at New York Harbor, in USD per gallon (EIA EER_EPMRU_PF4_Y35NY_DPG)
- diesel: ultra-low-sulfur No. 2, spot at New York Harbor, in USD per gallon (EIA EER_EPD2DXL0_PF4_Y35NY_DPG)
- 42: gallons in a barrel

A day on which one price is missing has no value; a price is never carried forward. The history begins on June 14, 2006, with the
diesel series. The heating oil that was the distillate before is another product and is not spliced on. Prices of 84.54, 2.57 and 2.79
give 26.48 USD per barrel.

## Baseline and z-score

The baseline is the mean of all values within 15 calendar days of the same month and day in each of the five previous years (February
29 counts as the 28th where a year has none), about 105 to 111 values. The scale is their sample standard deviation. Only years
with at least 10 values in their window count; with fewer than three such years there is no baseline.

    z = (spread - baseline) / scale
    difference in percent = 100 * (spread / baseline - 1), unknown when the baseline is not positive

The snapshot also has the z-score of the spread against its own 252 previous values, which allows for no season, and each price against its own
five-year season.

## The interval

The prices are known exactly, but they are days old when they are read: EIA publishes the daily prices of a week on Wednesday. The
interval, built for 90%, bounds where the spread may have moved in the meantime if it kept moving in steps of its usual size:

    spread ± 1.645 * s * sqrt(d)

- s: sample standard deviation of the last 60 daily changes
- d: days from Monday to Friday between the day of the prices and the day of reading (UTC; holidays count). For the newest value
  that is the instant of the snapshot, so the interval widens until new prices come; for older ones the day they became known, 14 days
  at most.

It is held against the spread of the day of reading as EIA printed it later, or of the last day before it with all three prices. From
September 2006 to December 2025 it held that in 916 of 1,004 releases (91.2%), each read on its Wednesday. Of the days that had a price
exactly two, five or nine days later it held that price in 90.4, 91.7 and 92.7%.
Jumps are wider than a random walk allows: in a week like that of April 20, 2020, the interval is too narrow before and too wide after.

## Backtest

The z-score, with its sign reversed, is tested against the change of the spread itself over the 20 trading days after the value became known: a wide spread
should narrow. Values count from the Wednesday on which they were published, and the change begins after it. Up to December 2025 the rank
correlation was 0.108. The opposite of the spread's own last change over 20 days had 0.189: that simple rule wins.

EIA has published rows of holidays and withdrawn them. Cases with values that were there before the first
request may therefore know too much. The backtest then says so, says why, and counts these cases apart.

## What it cannot tell

- The gasoline is conventional gasoline, not RBOB, the blendstock behind the exchange's contract. No free daily spot price of RBOB at
  New York exists.
- These are spot assessments, not futures: the figure differs from the crack spread quoted on an exchange, and cannot be traded.
- The crude is priced at Cushing and the products at New York: the cost of moving either is inside the spread. The refineries of
  the East Coast mostly run other crudes.
- It is not a profit: energy, labor, blending credits (RINs) and a real refinery's own yields are left out.
- Extreme values are kept. On April 20, 2020, crude cost -36.98 USD and the spread was 65.62, a z-score of 15.9: right by the arithmetic,
  and not a sign that refiners grew rich. Read a z-score beyond 8 as a sign that one of the prices is out of order. The highest spread of the record is 75.89
  (May 13, 2022), the lowest -1.62 (September 22, 2008).
- Five years that include 2022 give a wide scale: the z-scores of those years are modest.

## Sources

- [EIA, spot prices](https://www.eia.gov/dnav/pet/pet_pri_spt_s1_d.htm), published on Wednesdays for the days up to Monday or Tuesday; values
  are rarely revised, but holiday rows have been published and withdrawn
- The ratio is the one of CME's crack spread calculator and of EIA

EIA's data are in the public domain. EIA's own metadata mark the daily spot prices as supplied by a third party.
`
