package picks

import (
	"math"
	"slices"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/series"
)

// Indicator declares one macro figure: its source, how the market reads it, and its weight.
type Indicator struct {
	// ID is stable, for example "cpi".
	ID string
	// Region is the ISO 3166-1 code of the figure's region: "US", or "EZ" for the euro area.
	Region string
	// Series is the published series.
	Series series.ID
	// Frequency is "monthly", "weekly", "quarterly" or "meeting".
	Frequency string
	// Reading turns levels into the figure that is watched.
	Reading Reading
	// Unit is the unit of the figure; Step the smallest amount in which it is published.
	Unit Unit
	Step float64
	// Floor is the least spread of past surprises that one is measured by; zero: the step.
	Floor float64
	// Seasonal reports whether the usual change differs through the year: the expectation then comes from the same weeks of earlier years.
	Seasonal bool
	// Scale divides the published level where the figure is told in larger units.
	Scale float64
	// Bonus is added to the severity: +1 for the figures that move markets most, -1 for the second tier.
	Bonus int
	// Importance is from 5, the most important, to 1.
	Importance int
	// Sectors react most.
	Sectors []Sector
	// Publisher and URL name the source.
	Publisher, URL string
}

// Reading is how a figure is read from published levels.
type Reading string

// The readings. The expectation for a change is the median of the twelve first prints before, or of the same season's; for a level, the
// level before.
const (
	ReadChange     Reading = "change"     // of the level against the period before, in percent
	ReadDifference Reading = "difference" // of the level against the period before
	ReadGrowth     Reading = "growth"     // the published number is a growth rate already
	ReadLevel      Reading = "level"      // the level itself
)

// indicators are listed in the order of importance.
var indicators = []Indicator{
	{
		ID: "fomc", Region: "US", Series: "fed.FOMC.UPPER", Frequency: "meeting", Reading: ReadLevel, Unit: locale.Percent, Step: 0.25, Scale: 1, Bonus: 1, Importance: 5,
		Sectors: []Sector{Finance, RealEstate, Technology}, Publisher: "Federal Reserve", URL: "https://www.federalreserve.gov/monetarypolicy.htm",
	},
	{
		ID: "cpi", Region: "US", Series: "fred.CPIAUCSL", Frequency: "monthly", Reading: ReadChange, Unit: locale.Percent, Step: 0.1, Scale: 1, Bonus: 1, Importance: 5,
		Sectors: []Sector{RealEstate, Technology, EverydayGoods}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/cpi/",
	},
	{
		ID: "payrolls", Region: "US", Series: "fred.PAYEMS", Frequency: "monthly", Reading: ReadDifference, Unit: locale.Thousands, Step: 1, Scale: 1, Bonus: 1, Importance: 5,
		Sectors: []Sector{Trade, Services, Finance}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/ces/",
	},
	{
		ID: "gdp", Region: "US", Series: "fred.A191RL1Q225SBEA", Frequency: "quarterly", Reading: ReadGrowth, Unit: locale.Percent, Step: 0.1, Scale: 1, Importance: 4,
		Sectors: []Sector{Industry, Materials, Transport}, Publisher: "Bureau of Economic Analysis", URL: "https://www.bea.gov/data/gdp/gross-domestic-product",
	},
	{
		ID: "unemployment", Region: "US", Series: "fred.UNRATE", Frequency: "monthly", Reading: ReadLevel, Unit: locale.Percent, Step: 0.1, Scale: 1, Importance: 4,
		Sectors: []Sector{Trade, DurableGoods, Services}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/cps/",
	},
	{
		ID: "core-cpi", Region: "US", Series: "bls.CUSR0000SA0L1E", Frequency: "monthly", Reading: ReadChange, Unit: locale.Percent, Step: 0.1, Scale: 1, Importance: 4,
		Sectors: []Sector{RealEstate, Technology, EverydayGoods}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/cpi/",
	},
	{
		ID: "ecb", Region: "EZ", Series: "ecb.DECISION", Frequency: "meeting", Reading: ReadLevel, Unit: locale.Percent, Step: 0.05, Floor: 0.25, Scale: 1, Importance: 4,
		Sectors: []Sector{Finance, Industry, RealEstate}, Publisher: "European Central Bank", URL: "https://www.ecb.europa.eu/press/govcdec/mopo/html/index.en.html",
	},
	{
		ID: "industrial-production", Region: "US", Series: "fred.INDPRO", Frequency: "monthly", Reading: ReadChange, Unit: locale.Percent, Step: 0.1, Scale: 1, Bonus: -1, Importance: 3,
		Sectors: []Sector{Industry, Materials, Chemicals}, Publisher: "Federal Reserve", URL: "https://www.federalreserve.gov/releases/g17/",
	},
	{
		ID: "hourly-earnings", Region: "US", Series: "bls.CES0500000003", Frequency: "monthly", Reading: ReadChange, Unit: locale.Percent, Step: 0.1, Scale: 1, Importance: 3,
		Sectors: []Sector{Services, Trade, EverydayGoods}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/ces/",
	},
	{
		ID: "producer-prices", Region: "US", Series: "bls.WPSFD4", Frequency: "monthly", Reading: ReadChange, Unit: locale.Percent, Step: 0.1, Scale: 1, Bonus: -1, Importance: 3,
		Sectors: []Sector{Industry, Chemicals, EverydayGoods}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/ppi/",
	},
	{
		ID: "job-openings", Region: "US", Series: "bls.JTS000000000000000JOL", Frequency: "monthly", Reading: ReadLevel, Unit: locale.Thousands, Step: 1, Scale: 1, Bonus: -1, Importance: 3,
		Sectors: []Sector{Services, Trade}, Publisher: "Bureau of Labor Statistics", URL: "https://www.bls.gov/jlt/",
	},
	{
		ID: "jobless-claims", Region: "US", Series: "fred.ICSA", Frequency: "weekly", Reading: ReadLevel, Unit: locale.Thousands, Step: 1, Scale: 1000, Bonus: -1, Importance: 2,
		Sectors: []Sector{Trade, Services}, Publisher: "Department of Labor", URL: "https://www.dol.gov/ui/data.pdf",
	},
	{
		ID: "crude-stocks", Region: "US", Series: "eia.WCESTUS1", Frequency: "weekly", Reading: ReadDifference, Unit: locale.Barrels, Step: 0.1, Seasonal: true, Scale: 1000, Bonus: -1, Importance: 2,
		Sectors: []Sector{Energy, Transport, Chemicals}, Publisher: "Energy Information Administration", URL: "https://www.eia.gov/petroleum/supply/weekly/",
	},
}

// Indicators lists the indicators in the order of importance.
func Indicators() []Indicator { return slices.Clone(indicators) }

// Print is one publication of a figure, as it was first printed.
type Print struct {
	// Period is the figure's period: the first day of the month or quarter, the last of the week, the day of the meeting.
	Period time.Time
	// At is when it was published, in UTC.
	At time.Time
	// Value is the figure, rounded to the indicator's step. NaN where the period before is missing, so that there is no change.
	Value float64
	// Previous is the first print of the period before, Revised its value on At; NaN if missing.
	Previous, Revised float64
	// Assumed reports whether At is an assumption, because the figure's arrival was not observed.
	Assumed bool
}

// FirstPrints finds the first print of each period of an indicator among all observations of its series, in ascending period. A change
// is taken between two levels of one vintage, as the publisher reports it, and never across a missing period.
func FirstPrints(def Indicator, observations []series.Observation) []Print {
	byPeriod := map[time.Time][]series.Observation{}
	for _, o := range observations {
		if o.Series == def.Series {
			byPeriod[o.ObservedAt] = append(byPeriod[o.ObservedAt], o)
		}
	}
	var periods []time.Time
	for p, vintages := range byPeriod {
		slices.SortStableFunc(vintages, func(a, b series.Observation) int { return a.VintageAt.Compare(b.VintageAt) })
		first := slices.IndexFunc(vintages, func(o series.Observation) bool { return o.Marker == "" })
		if first < 0 {
			continue // published as missing
		}
		byPeriod[p] = vintages[first:]
		periods = append(periods, p)
	}
	slices.SortFunc(periods, time.Time.Compare)
	prints := make([]Print, 0, len(periods))
	firstOf := map[time.Time]float64{}
	for i, p := range periods {
		first := byPeriod[p][0]
		asOf := func(period time.Time) float64 { return levelKnown(byPeriod[period], first.VintageAt) }
		one := Print{Period: p, At: first.VintageAt, Previous: math.NaN(), Revised: math.NaN(), Assumed: first.Assumed}
		before, older := math.NaN(), math.NaN()
		if i > 0 && def.adjacent(periods[i-1], p) {
			before = asOf(periods[i-1])
			one.Previous = firstOf[periods[i-1]]
			if i > 1 && def.adjacent(periods[i-2], periods[i-1]) {
				older = asOf(periods[i-2])
			}
			one.Revised = def.figure(before, older)
		}
		one.Value = def.figure(first.Value, before)
		firstOf[p] = one.Value
		prints = append(prints, one)
	}
	return prints
}

// levelKnown returns the newest value at an instant; NaN if none was known, or it had been withdrawn.
func levelKnown(vintages []series.Observation, at time.Time) float64 {
	level := math.NaN()
	for _, o := range vintages {
		if o.VintageAt.After(at) {
			break
		}
		if level = o.Value; o.Marker != "" {
			level = math.NaN()
		}
	}
	return level
}

// figure reads a figure from a level and the one before, rounded to the step.
func (def Indicator) figure(level, before float64) float64 {
	var v float64
	switch def.Reading {
	case ReadChange:
		v = 100 * (level/before - 1)
	case ReadDifference:
		v = (level - before) / def.Scale
	default:
		v = level / def.Scale
	}
	return def.round(v)
}

// steps counts how many steps a number is, rounded; round is the number rounded to whole steps. Steps divide one evenly.
func (def Indicator) steps(v float64) float64 { return math.Round(v * math.Round(1/def.Step)) }
func (def Indicator) round(v float64) float64 { return def.steps(v) / math.Round(1/def.Step) }

// adjacent reports whether one period follows another without a gap.
func (def Indicator) adjacent(before, period time.Time) bool {
	switch def.Frequency {
	case "weekly":
		return before.AddDate(0, 0, 7).Equal(period)
	case "monthly":
		return before.AddDate(0, 1, 0).Equal(period)
	case "quarterly":
		return before.AddDate(0, 3, 0).Equal(period)
	default:
		return true // meetings have no rhythm
	}
}
