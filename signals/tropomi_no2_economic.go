package signals

import (
	"math"
	"time"

	"tidemark/internal/series"
)

// no2Regions are the boxes whose monthly mean columns make the index. Each has the same fixed weight: another weighting would be a claim
// about economies that the columns cannot support.
var no2Regions = []struct {
	id     series.ID
	name   string
	label  string
	weight float64
}{
	{"temis.NO2.yangtze", "yangtze", "Yangtze delta, 30-33 N 118-122 E", 1},
	{"temis.NO2.pearl", "pearl", "Pearl River delta, 22-23.5 N 112.5-114.5 E", 1},
	{"temis.NO2.benelux_ruhr", "benelux_ruhr", "Benelux and Ruhr, 50.5-52.5 N 3.5-8 E", 1},
	{"temis.NO2.po", "po", "Po valley, 44.5-46 N 8-12 E", 1},
	{"temis.NO2.delhi", "delhi", "Delhi, 28-29.2 N 76.5-78 E", 1},
	{"temis.NO2.tokyo", "tokyo", "Tokyo bay, 35-36.2 N 139-140.5 E", 1},
	{"temis.NO2.houston", "houston", "Houston, 29-30.5 N 96-94.5 W", 1},
	{"temis.NO2.new_york", "new_york", "New York, 40-41.5 N 75-73 W", 1},
}

// no2Version is the version of KNMI's product for a month. Levels may only be compared if they have the same number before the point.
const no2Version series.ID = "temis.NO2.version"

const (
	no2Unit = "index (same-month mean = 100)"
	// no2MinRegions is how many of the eight must have a value and a past, or the month has no index.
	no2MinRegions = 5
	// no2MinYears is how many reference years make a baseline that a z-score and an interval may rest on. With fewer the index is shown
	// alone.
	no2MinYears = 3
	// no2MinPast is the number of past anomalies for the scale: a year, so that every season occurs.
	no2MinPast = 12
	// no2Lockdown is the year that is not a reference for any other.
	no2Lockdown = 2020
	// no2Staleness: a month is dated its first day and appears some weeks after its end, so it may be 100 days old when the next comes.
	// Twenty more days let that be late; a missed one shows.
	no2Staleness = 120 * 24 * time.Hour
)

func tropomiNO2Economic() Definition {
	return Definition{
		ID:        "tropomi-no2-economic",
		Domain:    "atmosphere",
		Name:      "Nitrogen dioxide over industrial regions (TROPOMI)",
		Unit:      no2Unit,
		Frequency: "monthly",
		Description: "An index of tropospheric nitrogen dioxide over eight industrial regions of Asia, Europe and North America, from monthly " +
			"means of the TROPOMI instrument on Sentinel-5P. Each region is compared with the same calendar month of the years before, " +
			"without 2020, in logarithms, and the regions are averaged with equal weights: 100 is a usual month. Nitrogen dioxide comes " +
			"from traffic, power plants and industry, and lives for hours only. It also depends on wind, rain and sunlight, and it falls " +
			"where filters and electric cars come: a single month below a tenth is no evidence of anything.",
		Keywords: []string{
			"nitrogen dioxide", "NO2", "TROPOMI", "Sentinel-5P", "economic activity", "industrial activity", "air pollution", "nowcast",
		},
		Place: "Yangtze delta, Pearl River delta, Benelux and Ruhr, Po valley, Delhi, Tokyo bay, Houston, New York",
		License: "Contains modified Copernicus Sentinel data (2018 to now), processed by KNMI (TEMIS): free to use with this notice and " +
			"acknowledgement of KNMI, ESA and Copernicus.",
		LicenseURL: "https://sentinels.copernicus.eu/documents/247904/690755/Sentinel_Data_Legal_Notice",
		SourceURL:  "https://www.temis.nl/airpollution/no2col/no2month_tropomi.php",
		Inputs:     no2Inputs(),
		Revised:    no2Inputs(),
		// Before the day's pick is made, at 17:30.
		Cadence:         series.Cadence{Cron: "25 17 * * 1-5", Zone: "America/New_York", CatchUp: series.CatchUpLatest},
		Staleness:       no2Staleness,
		BaselineMethod:  "same_month_log_mean",
		IntervalMethod:  "past_anomalies_and_spread_of_regions",
		BaselineCaption: "mean of the same month in earlier years",
		IntervalCaption: "past anomalies and the spread of the regions",
		Interval: Interval{
			Bounds: BoundsTrue,
			Truth:  "the part of the index that is neither weather nor the choice of regions, which no instrument shows",
		},
		Phrasing: Phrasing{Short: "NO2 over industry", Figure: "index %s", Decimals: 1, Normal: "normal", Seasonal: true},
		Phrase: map[string]string{
			"en": "nitrogen dioxide over industrial regions",
			"es": "el dióxido de nitrógeno sobre las regiones industriales",
			"pt": "o dióxido de nitrogênio sobre as regiões industriais",
			"hi": "औद्योगिक क्षेत्रों के ऊपर नाइट्रोजन डाइऑक्साइड",
		},
		Exposures: []Exposure{
			{Sign: 1, First: 1000, Last: 1039, Reason: "More nitrogen dioxide over industrial regions goes with more demand for metal."}, // not gold and silver
			{Sign: 1, First: 1050, Last: 1099, Reason: "More nitrogen dioxide over industrial regions goes with more demand for metal."},
			{Sign: 1, First: 3310, Last: 3399, Reason: "More nitrogen dioxide over industrial regions goes with more demand for metal."},
			{Sign: 1, First: 4400, Last: 4412, Reason: "More nitrogen dioxide over industrial regions goes with more freight."},
		},
		Technique: "100 * exp(mean over eight regions of (ln NO2 - mean of ln NO2 in the same calendar month of the years before, without " +
			"2020)); scale: standard deviation of the index's own past log anomalies, without 2020",
		Compute:    computeNO2,
		Components: no2Components,
		Cells:      no2Cells,
		Backtest: Backtest{
			Symbol: "tropomi-no2-economic",
			Description: "the index itself in the first month that begins after the signal is known, less 100: persistence only, for no free " +
				"monthly series of industrial production is among the sources",
			Predictor:   "the z-score: a month above its season is expected to be followed by such months",
			Naive:       "the index of the same calendar month one year earlier, less 100",
			HorizonDays: 31,
			Cases:       no2Cases,
		},
		Brief: no2Brief,
	}
}

func no2Inputs() []series.ID {
	var ids []series.ID
	for _, r := range no2Regions {
		ids = append(ids, r.id)
	}
	return append(ids, no2Version)
}

// no2Versions are the versions by month (monthOf). A month without one is of version 0.
func no2Versions(in series.Set) map[int]series.Point {
	out := make(map[int]series.Point, len(in[no2Version]))
	for _, p := range in[no2Version] {
		if !math.IsNaN(known(p.Value)) {
			p.Value = math.Floor(p.Value)
			out[monthOf(p.ObservedAt)] = p
		}
	}
	return out
}

// regional is one month of one region against the same calendar month of its reference years.
type regional struct {
	point series.Point
	// anomaly is the logarithm of the mean less the mean logarithm of the reference years, years how many of those there are.
	anomaly float64
	years   int
	weight  float64
}

// againstItsYears yields the months of a region that have a positive mean and at least one reference year. The reference of a month is
// the same calendar month of the earlier years without 2020, of the same version of the product, so no month sees its own future. A
// month is known once its version is.
func againstItsYears(points []series.Point, versions map[int]series.Point, weight float64) []regional {
	type kind struct {
		version float64
		month   int // of the year
	}
	reference := map[kind]moments{}
	out := make([]regional, 0, len(points))
	for _, p := range points {
		if !(p.Value > 0) { // noise around nothing has no logarithm
			continue
		}
		month := monthOf(p.ObservedAt)
		version := versions[month]
		p.VintageAt = max(p.VintageAt, version.VintageAt)
		log, alike := math.Log(p.Value), kind{version.Value, month % 12}
		if same := reference[alike]; same.n > 0 {
			out = append(out, regional{point: p, anomaly: log - same.mean(), years: same.n, weight: weight})
		}
		if p.ObservedAt.Time().Year() != no2Lockdown {
			reference[alike] = reference[alike].add(log)
		}
	}
	return out
}

// no2Month is the weighted mean of a month's anomalies, its squared standard error as the spread of the regions tells it, and what it
// rests on.
type no2Month struct {
	mean, variance float64
	// years is the smallest number of reference years among the regions.
	years        int
	day, knownAt series.Instant
}

// no2Mean averages the regions that have no2MinYears reference years, or all regions if too few have them; ok reports whether there are
// enough of either.
func no2Mean(regions []regional) (m no2Month, ok bool) {
	settled := make([]regional, 0, len(regions))
	for _, r := range regions {
		if r.years >= no2MinYears {
			settled = append(settled, r)
		}
	}
	if len(settled) >= no2MinRegions {
		regions = settled
	}
	if len(regions) < no2MinRegions {
		return no2Month{}, false
	}
	m = no2Month{years: regions[0].years, day: regions[0].point.ObservedAt}
	var sum, weights float64
	for _, r := range regions {
		sum += float64(r.weight * r.anomaly)
		weights += r.weight
		m.years = min(m.years, r.years)
		m.knownAt = max(m.knownAt, r.point.VintageAt)
	}
	m.mean = sum / weights
	for _, r := range regions {
		d := r.weight / weights * (r.anomaly - m.mean)
		m.variance += float64(d * d)
	}
	n := float64(len(regions))
	m.variance *= n / (n - 1)
	return m, true
}

// computeNO2 yields one estimate for every month in which at least five regions have a value and a reference. The interval adds up
// what the index varied by in other years, weather for the most part, and what the regions disagree by. Logarithms and
// exponentials may differ in their last bit between kinds of processors, and this index with them.
func computeNO2(in series.Set, _ time.Time) Track {
	versions := no2Versions(in)
	months, first, last := map[int][]regional{}, math.MaxInt, 0
	for _, r := range no2Regions {
		for _, a := range againstItsYears(in[r.id], versions, r.weight) {
			month := monthOf(a.point.ObservedAt)
			months[month] = append(months[month], a)
			first, last = min(first, month), max(last, month)
		}
	}
	var track Track
	var past moments // of the anomalies before, as far as they rest on enough years
	for month := first; month <= last; month++ {
		m, ok := no2Mean(months[month])
		if !ok {
			continue
		}
		e := Estimate{
			ObservedAt: m.day,
			KnownAt:    m.knownAt,
			Value:      100 * math.Exp(m.mean),
			Lo:         math.NaN(),
			Hi:         math.NaN(),
			Baseline:   100,
			Scale:      math.NaN(),
			N:          m.years,
		}
		if m.years >= no2MinYears {
			if past.n >= no2MinPast {
				half := float64(normal95 * math.Sqrt(float64(past.sd()*past.sd())+m.variance))
				e.Lo, e.Hi = 100*math.Exp(m.mean-half), 100*math.Exp(m.mean+half)
				e.Scale = no2Scale(m.mean, past.sd())
			}
			if m.day.Time().Year() != no2Lockdown {
				past = past.add(m.mean)
			}
		}
		track = append(track, e.known())
	}
	return track
}

// no2Scale turns a spread of log anomalies into index points, at the anomaly's own level. So the z-score in index points is the log anomaly
// divided by the log spread:
//
//	(100*exp(a) - 100) / scale = a / sd
func no2Scale(a, sd float64) float64 {
	if a == 0 {
		return 100 * sd
	}
	return 100 * math.Expm1(a) / a * sd
}

// no2Components shows each region's own index in its newest month.
func no2Components(in series.Set, _ time.Time) []Component {
	versions := no2Versions(in)
	var out []Component
	for _, r := range no2Regions {
		months := againstItsYears(in[r.id], versions, r.weight)
		if len(months) == 0 {
			continue
		}
		newest := months[len(months)-1]
		out = append(out, Component{
			Name: r.name, Label: r.label, Unit: no2Unit,
			ObservedAt: newest.point.ObservedAt, Value: 100 * math.Exp(newest.anomaly), Baseline: 100, Scale: math.NaN(),
		}.known())
	}
	return out
}

// no2Cases pairs an index as it was known with the index of the first month that begins afterwards.
func no2Cases(read Track, in series.Set) []Case {
	track := computeNO2(in, time.Time{})
	byMonth := make(map[int]Estimate, len(track))
	for _, e := range track {
		byMonth[monthOf(e.ObservedAt)] = e
	}
	var out []Case
	start := 0
	for _, e := range read {
		for start < len(track) && track[start].ObservedAt < e.KnownAt {
			start++
		}
		if start == len(track) {
			break
		}
		target := track[start]
		c := Case{
			Known: e.KnownAt, Start: target.ObservedAt, End: target.ObservedAt.AddDate(0, 1, 0),
			Predicted: e.Z(), Happened: target.Value - target.Baseline, Naive: math.NaN(),
		}
		if before, ok := byMonth[monthOf(target.ObservedAt)-12]; ok && before.KnownAt <= e.KnownAt {
			c.Naive = before.Value - before.Baseline
		}
		if n := len(out); n > 0 && out[n-1].Start == c.Start {
			out[n-1] = c
			continue
		}
		out = append(out, c)
	}
	return out
}

const no2Brief = `## What it says

Nitrogen dioxide comes from engines, power plants and furnaces and is gone within hours, so the air above an industrial region shows
what runs in it now. The index is the mean of eight such regions, each against its own past: 100 is a normal month, 90 one with a tenth
less nitrogen dioxide than the same month had in the years before.

## How it is made

The TROPOMI instrument on Sentinel-5P sees the whole earth once a day. KNMI publishes monthly means of the column of nitrogen dioxide in
the lower atmosphere on a grid of an eighth of a degree. From it come the means of eight boxes: Yangtze delta, Pearl River delta, Benelux and
Ruhr, Po valley, Delhi, Tokyo bay, Houston, New York. A region's month needs a value in at least 60% of its cells; negative cells are
noise around zero and count. Then

    anomaly of a region = ln(mean of the month) - mean over the reference years of ln(mean of the same month)
    index = 100 * exp(mean of the anomalies of the regions that count)

A region has an anomaly if its mean is above zero and it has at least one reference year; at least five of the eight must have one. Where
at least five have three reference years or more, only those count; otherwise all with an anomaly count. Those that count have equal
weights. The reference years of a month are all years before its own
but 2020, so an index once computed from given data never changes with later months. As years go by there are more of them. A new
version of KNMI's product shifts the level: a month is only compared with months of the same version (the number before the point).

## Baseline and z-score

The baseline is 100. The scale is the sample standard deviation of the index's own earlier log anomalies, without those of 2020; it needs
twelve of them that rest on three reference years.

    z = log anomaly of the month / scale
    difference in percent = index - 100

In a month in which a region that counts has fewer than three reference years (before May 2022; the data begin in May 2018) the index is shown without
z-score and interval.

## The interval

    100 * exp(log anomaly ± 1.645 * sqrt(s^2 + r^2))

- s: the scale, which is how far the index strays from its season between years, mostly because of weather
- r: the standard error of the mean as the spread of the regions tells it

It is meant to bound the part of the index that is not weather and not the choice of regions. No instrument shows that part, so the interval is
assumed: 1.645 is what 90% of normal errors would need, and no probability is claimed. It is wide, and rightly so: the means of
two successive fortnights differ by a factor of 1.15 over Italy, 1.41 over the Netherlands and 1.47 over the United Kingdom (root mean square).

## Backtest

No free monthly series of industrial production is among the sources, so the index is not tested against one. It is tested against itself: whether a month
above its season is followed by others like it. That shows persistence and nothing else. The known event is the spring of 2020: over Beijing
the column from February to May was 30% below the year before, over London 34%, over New Delhi 38%.

TEMIS reprocesses old months. Cases with values that were there before the first
request may therefore know too much. The backtest then says so, says why, and counts these cases apart.

## What it cannot tell

- Weather comes first: wind and rain thin the columns, and winter makes the gas last longer. A single month below 90 or 85 proves nothing.
- Trends in the air are not trends in output: filters, scrap schemes and electric cars lower the index while the economy grows.
- Clouds hide cities; monsoon months over Delhi and southern China rest on few clear days.
- Eight boxes are not the world economy, and equal weights match no one's trade shares.
- Three to seven reference years are few.

## Sources

- [TEMIS, KNMI: monthly TROPOMI NO2](https://www.temis.nl/airpollution/no2col/no2month_tropomi.php), some weeks after the end of a month.
  Contains modified Copernicus Sentinel data (2018 to now), processed by KNMI
`
