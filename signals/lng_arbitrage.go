package signals

import (
	"math"
	"time"

	"tidemark/internal/series"
)

// The three prices of the World Bank's Pink Sheet, monthly, in USD/MMBtu.
const (
	henryHub  series.ID = "worldbank.NGAS_US"
	europeGas series.ID = "worldbank.NGAS_EUR"
	japanLNG  series.ID = "worldbank.LNG_JP"
)

// The costs of bringing gas from Louisiana to a customer, in USD/MMBtu except for the share. The share and the fee are from Cheniere's
// contract with Centrica (form 8-K of 2013); its earlier contracts have a fee of 2.25. The others are assumptions, which the snapshot
// shows: freight and terminal fees have no free source.
const (
	lngHubShare       = 1.15
	lngTolling        = 3.00
	lngShippingEurope = 0.90
	lngShippingAsia   = 2.00
	lngRegasEurope    = 0.40
	lngRegasAsia      = 0.30
	// lngCostBand is the half width of the interval: the 3.00 of the later contracts less the 2.25 of the earlier ones. That 90 % of
	// the true costs lie within it is a judgement.
	lngCostBand = 0.75
)

const usdPerMMBtu = "USD/MMBtu"

const (
	// lngMonths is the memory of the baseline, lngMinMonths how many of them must be known. Five years hold a winter of 2022 without
	// being ruled by it, as long as the median rules.
	lngMonths, lngMinMonths = 60, 36
	// madToSD makes the median absolute deviation of normal values their standard deviation.
	madToSD = 1.4826
	// lngStaleness: a month is dated its first day and published on the 2nd to 4th of the next. So just before the one after it is
	// published, it is 65 days old. Ten more days let a publication be late; a missed one shows.
	lngStaleness = 75 * 24 * time.Hour
)

// ttfSince is the first month in which the Pink Sheet's European price is the TTF price. Before, it was an import border price, and the
// United States shipped no gas: the history begins here.
var ttfSince = series.DateOf(2015, time.April, 1)

// lngRoute is a way to a market. A lngRoute without a fee is the short run's.
type lngRoute struct {
	price                    series.ID
	tolling, shipping, regas float64
}

var (
	lngEurope         = lngRoute{europeGas, lngTolling, lngShippingEurope, lngRegasEurope}
	lngAsia           = lngRoute{japanLNG, lngTolling, lngShippingAsia, lngRegasAsia}
	lngEuropeShortRun = lngRoute{europeGas, 0, lngShippingEurope, lngRegasEurope}
	lngAsiaShortRun   = lngRoute{japanLNG, 0, lngShippingAsia, lngRegasAsia}
)

// margin is the profit of a cargo, in USD/MMBtu.
func (r lngRoute) margin(price, hub float64) float64 {
	return price - (float64(lngHubShare*hub) + r.tolling) - r.shipping - r.regas
}

func lngArbitrage() Definition {
	return Definition{
		ID:        "lng-arbitrage",
		Domain:    "energy",
		Name:      "LNG arbitrage, US Gulf Coast to Europe",
		Unit:      usdPerMMBtu,
		Frequency: "monthly",
		Description: "What a cargo of liquefied natural gas from the US Gulf Coast earns in Europe, in US dollars per million Btu: the European " +
			"gas price (TTF) less 115% of the Henry Hub price, a liquefaction fee, shipping and regasification, from monthly mean " +
			"prices of the World Bank's Pink Sheet. It is compared with the median of the 60 months before. The components give the same for " +
			"Asia, with Japan's import price as a slow stand-in that is not the JKM spot price, and the short-run form without the " +
			"fixed fee, which decides whether cargoes are cancelled. Fee, freight and terminal costs are stated assumptions, not " +
			"market quotes.",
		Keywords: []string{
			"LNG", "liquefied natural gas", "arbitrage", "netback", "Henry Hub", "TTF", "natural gas prices", "Japan LNG import price",
		},
		Place: "United States, Europe, Japan",
		License: "World Bank Commodity Price Data (The Pink Sheet), CC BY 4.0: attribution to the World Bank; the figures were combined with " +
			"cost assumptions.",
		LicenseURL: "https://creativecommons.org/licenses/by/4.0/",
		SourceURL:  "https://www.worldbank.org/en/research/commodity-markets",
		Inputs:     []series.ID{henryHub, europeGas, japanLNG},
		Revised:    []series.ID{japanLNG}, // its newest months are estimates
		// Before the day's pick is made, at 17:30.
		Cadence:         series.Cadence{Cron: "10 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest},
		Staleness:       lngStaleness,
		BaselineMethod:  "trailing_60m_median",
		IntervalMethod:  "judged_cost_assumptions",
		BaselineCaption: "median of the 60 months before",
		IntervalCaption: "judged range of the costs",
		Interval:        Interval{Bounds: BoundsTrue, Truth: "the margin at the true costs of fee, freight and terminal, which have no free source"},
		Phrasing:        Phrasing{Short: "US LNG to Europe", Figure: "$%s per MMBtu", Decimals: 2, Normal: "its median of five years"},
		Phrase: map[string]string{
			"en": "the margin of US LNG in Europe",
			"es": "el margen del GNL de Estados Unidos en Europa",
			"pt": "a margem do GNL dos Estados Unidos na Europa",
			"hi": "यूरोप में अमेरिकी एलएनजी का मार्जिन",
		},
		Exposures: []Exposure{
			{Sign: 1, First: 4922, Last: 4924, Reason: "A wide margin of US LNG in Europe pays those who liquefy and ship gas."},
			{Sign: 1, First: 2870, Last: 2879, Reason: "A wide margin leaves American makers of nitrogen fertilizer with the cheaper gas."},
		},
		Margin: true,
		Technique: "TTF - (1.15 * Henry Hub + 3.00) - 0.90 shipping - 0.40 regasification, monthly means in USD/MMBtu; baseline: median of " +
			"the 60 months before, scale: 1.4826 times their median absolute deviation",
		Compute:    computeLNG,
		Components: lngComponents,
		Cells:      lngCells,
		Backtest: Backtest{
			Symbol:      string(europeGas),
			Description: "change of the European gas price over three months, from the first monthly mean that begins after the signal is known, in USD/MMBtu",
			Predictor:   "minus the z-score: a wide margin is expected to draw cargoes to Europe and the price down",
			Naive:       "the last known change of the European gas price over three months",
			HorizonDays: 91,
			Cases:       forwardChanges(pointsOf(europeGas), 3, -1),
		},
		Brief: lngBrief,
	}
}

// computeLNG yields one estimate for every month from April 2015 on that has both prices.
func computeLNG(in series.Set, _ time.Time) Track {
	margins := lngEurope.margins(in)
	before := monthsBefore(margins)
	track := make(Track, len(margins))
	for i, p := range margins {
		track[i] = Estimate{
			ObservedAt: p.ObservedAt,
			KnownAt:    p.VintageAt,
			Value:      p.Value,
			Lo:         p.Value - lngCostBand,
			Hi:         p.Value + lngCostBand,
			Baseline:   before[i].median,
			Scale:      before[i].scale,
			N:          before[i].n,
		}.known()
	}
	return track
}

// margins joins the destination's price with Henry Hub's on the months that have both. A price is never carried forward.
func (r lngRoute) margins(in series.Set) []series.Point {
	hub := in[henryHub]
	out := make([]series.Point, 0, min(len(hub), len(in[r.price])))
	h := 0
	for _, p := range in[r.price] {
		for h < len(hub) && hub[h].ObservedAt < p.ObservedAt {
			h++
		}
		if h == len(hub) {
			break
		}
		if p.ObservedAt < ttfSince || hub[h].ObservedAt != p.ObservedAt {
			continue
		}
		out = append(out, series.Point{
			ObservedAt: p.ObservedAt, VintageAt: max(p.VintageAt, hub[h].VintageAt), Value: r.margin(p.Value, hub[h].Value),
		})
	}
	return out
}

// robust is a baseline that one wild year does not move: the median of n values and their median absolute deviation in the measure
// of a standard deviation. Without values it is unknown.
type robust struct {
	n             int
	median, scale float64
}

// monthsBefore returns for every point of a monthly series the baseline of the lngMonths calendar months before it, without its own month.
// A baseline is unknown if fewer than lngMinMonths of them are known.
func monthsBefore(points []series.Point) []robust {
	out := make([]robust, len(points))
	var window sorted
	oldest := 0
	for i, p := range points {
		for ; monthOf(p.ObservedAt)-monthOf(points[oldest].ObservedAt) > lngMonths; oldest++ {
			if v := points[oldest].Value; !math.IsNaN(v) {
				window.remove(v)
			}
		}
		out[i] = robust{median: sorted(nil).median(), scale: sorted(nil).mad()}
		if len(window) >= lngMinMonths {
			out[i] = robust{n: len(window), median: window.median(), scale: float64(madToSD * window.mad())}
		}
		if !math.IsNaN(p.Value) {
			window.insert(p.Value)
		}
	}
	return out
}

// monthOf counts the months of the UTC calendar.
func monthOf(t series.Instant) int {
	year, month, _ := t.Time().Date()
	return 12*year + int(month)
}

// lngComponents shows the margin to Asia, both margins of the short run, and the prices. Each is at its own newest month, against its own
// 60 months. It also shows the assumptions, without a baseline.
func lngComponents(in series.Set, _ time.Time) []Component {
	var out []Component
	add := func(points []series.Point, name, label string) {
		if len(points) == 0 {
			return
		}
		newest, before := points[len(points)-1], monthsBefore(points[max(0, len(points)-lngMonths-1):])
		out = append(out, Component{
			Name: name, Label: label, Unit: usdPerMMBtu, ObservedAt: newest.ObservedAt, Value: newest.Value,
			Baseline: before[len(before)-1].median, Scale: before[len(before)-1].scale,
		}.known())
	}
	add(lngAsia.margins(in), "asia_proxy_japan_import", "Margin to Asia with Japan's import price, a slow proxy that is not JKM")
	add(lngEuropeShortRun.margins(in), "europe_short_run", "Margin to Europe without the fixed liquefaction fee")
	add(lngAsiaShortRun.margins(in), "asia_proxy_short_run", "Margin to Asia (Japan's import price, not JKM) without the fixed liquefaction fee")
	add(in[henryHub], "henry_hub", "Natural gas, United States, Henry Hub, monthly mean")
	add(in[europeGas], "europe_gas", "Natural gas, Europe, TTF, monthly mean")
	add(in[japanLNG], "japan_lng", "Liquefied natural gas, Japan, import price cif, monthly mean")
	margins := lngEurope.margins(in)
	if len(margins) == 0 {
		return out
	}
	for _, a := range []struct {
		name, label, unit string
		value             float64
	}{
		{"assumed_hub_share", "Assumption: price of the gas, as a share of Henry Hub", "percent", 100 * lngHubShare},
		{"assumed_tolling_fee", "Assumption: fixed liquefaction fee", usdPerMMBtu, lngTolling},
		{"assumed_shipping_europe", "Assumption: shipping to Europe", usdPerMMBtu, lngShippingEurope},
		{"assumed_shipping_asia", "Assumption: shipping to Asia", usdPerMMBtu, lngShippingAsia},
		{"assumed_regasification_europe", "Assumption: regasification in Europe", usdPerMMBtu, lngRegasEurope},
		{"assumed_regasification_asia", "Assumption: regasification in Asia", usdPerMMBtu, lngRegasAsia},
	} {
		unknown := moments{}.mean()
		out = append(out, Component{
			Name: a.name, Label: a.label, Unit: a.unit, ObservedAt: margins[len(margins)-1].ObservedAt, Value: a.value,
			Baseline: unknown, Scale: unknown,
		})
	}
	return out
}

const lngBrief = `## What it says

Whether it pays to liquefy gas on the US Gulf Coast, ship it to Europe and sell it there. A wide margin draws every cargo that the
terminals can make. A margin below zero means that a buyer under contract loses money on the cargo. With a short-run margin below zero,
the buyer does better to cancel it and pay the fee alone. The z-score shows how unusual the margin is against the five previous years.

## How it is made

For every month with both prices:

    margin = TTF - (1.15 * Henry Hub + 3.00) - 0.90 shipping - 0.40 regasification

- TTF: natural gas in Europe, monthly mean in USD per million Btu, World Bank Pink Sheet
- Henry Hub: natural gas in the United States, likewise
- 115% of Henry Hub plus 3.00: the price in Cheniere's contract with Centrica (form 8-K of 2013); earlier contracts have 2.25
- shipping and regasification: assumptions. Freight rates and terminal tariffs have no free source

The components, each compared with its own 60 months:

- the margin to Asia, with 2.00 for shipping, 0.30 for regasification and Japan's import price of liquefied natural gas as the
  destination's. That price is a mix of long contracts and spot cargoes that follows oil with a delay. It is not JKM, the spot price in
  Asia, which is not free
- both margins in the short run, without the fee of 3.00, which a buyer under contract must pay whether the cargo is loaded or not
- the three prices

The snapshot lists the assumptions. The history begins in April 2015, when the Pink Sheet's European price became that of the TTF; the
import border price before it is another one and is not spliced on. A month in which one price is missing has no value.

## Baseline and z-score

The baseline is the median of the 60 calendar months before, the month itself left out; at least 36 of them must be known. The scale is
1.4826 times the median absolute deviation from that median, which for normal values is their standard deviation.

    z = (margin - baseline) / scale
    difference in percent = 100 * (margin / baseline - 1), unknown when the baseline is not positive

The median and the absolute deviation are used because of 2022: at the start of 2026 the mean of the 60 months was 9.93 with a standard
deviation of 11.96, the median 4.74 with 3.53.

## The interval

    margin ± 0.75

The prices are published means and rarely change; what is uncertain are the costs. The half width is the difference between the fees
of known contracts, 3.00 and 2.25. The interval is assumed: the true margin is never seen, so no probability stands behind it, not even the
90% that intervals of other signals are built for. It says nothing about where the margin will be next month: from 2015 to 2026 it moved by more than 0.75 in 47 of 100 months. The margin to Asia is less certain
still: the newest month of Japan's import price is an estimate that was later changed by 0.12 to 1.97.

## Backtest

The z-score, with its sign reversed, is tested against the change of the European price over the three months after it became known: wide margins
should draw cargoes and lower the price. By 2026 there were 90 cases, one crisis among them: too few to prove much either way.

The World Bank changes the newest months of Japan's price. Cases with values that were there before the first
request may therefore know too much. The backtest then says so, says why, and counts these cases apart.

## What it cannot tell

- It is a mean over a month: what a trader saw on a given day was a different margin.
- One fee, one freight rate and one terminal stand for hundreds of contracts.
- Boil-off, the time at sea (two to four weeks), hedging, and taxes are left out.
- Europe buys elsewhere too, and the terminals of the Gulf Coast run full for years on end: a wider margin cannot always bring more
  gas.
- Asia is shown by a slow proxy: the month in which cargoes turn from one basin to the other cannot be read from it.

## Sources

- [World Bank, Commodity Markets](https://www.worldbank.org/en/research/commodity-markets), "Pink Sheet", monthly prices, published on the
  2nd to 4th of a month for the month before, CC BY 4.0
- The formula follows the contracts' wording; lowest margin of the record -4.74 (May 2020), highest 55.64 (August 2022)
`
