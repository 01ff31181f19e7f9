package nass

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/world/synth"
)

// The years in which the sandbox's figures begin.
const (
	firstYear         = 1900
	firstForecastYear = 1980
	firstRatingYear   = 1986
)

// fields holds the random tables. Each crop year is drawn separately.
type fields struct {
	weather, drought, cancelled, revised, size synth.Noise
	errors                                     map[time.Month]synth.Noise
	condition, rating                          synth.Noise
}

func draw(w synth.World) fields {
	f := fields{
		weather: w.Noise("nass weather"), drought: w.Noise("nass drought"), cancelled: w.Noise("nass cancelled report"),
		revised: w.Noise("nass benchmark"), size: w.Noise("nass benchmark size"),
		condition: w.Noise("nass condition of the year"), rating: w.Noise("nass condition of the week"),
		errors: map[time.Month]synth.Noise{},
	}
	for month := range forecastSteps {
		f.errors[month] = w.Noise("nass forecast error " + month.String())
	}
	return f
}

// forecastSteps is the change from a forecast to the next, as the standard deviation of the difference. They add up to the measured
// errors of the forecasts for Illinois from 1986 to 2024: 10.4 bu/acre in August, 8.6, 5.2, and 2.8 in November.
var forecastSteps = map[time.Month]float64{time.August: 5.8, time.September: 6.9, time.October: 4.4, time.November: 2.8}

// printed is a figure about a crop year and when it came out.
type printed struct {
	period string
	value  float64
	at     time.Time
}

// crop is a drawn crop year.
type crop struct {
	year int
	// anomaly is the year's distance from its trend, 1 is a good year.
	anomaly float64
	// prints are the forecasts, the final, and the final as it was revised, in the order of their release.
	prints []printed
}

// crop draws a year: a trend that is flat until 1935 and then gains 2.05 bushels a year, weather of 7 % and now and then a drought.
// The report of a month is cancelled in about one of forty.
func (f fields) crop(year int) crop {
	day := time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC)
	trend := 38 + 2.05*float64(max(year-1935, 0))
	share := 0.07 * f.weather.Normal(day)
	if f.drought.Chance(day, 0.06) {
		share -= 0.2
	}
	final := printable(year, trend*(1+share))
	c := crop{year: year, anomaly: max(min(share/0.08, 2), -3)}
	if year >= firstForecastYear {
		wrong := 0.0
		for month := time.November; month >= time.August; month-- {
			wrong += forecastSteps[month] * f.errors[month].Normal(day)
			first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
			if month != time.August && f.cancelled.Chance(first, 1.0/40) {
				continue
			}
			period := "YEAR - " + monthCode(month) + " FORECAST"
			c.prints = append(c.prints, printed{period, printable(year, max(final+wrong, 1)), reportAt(year, month)})
		}
		slices.Reverse(c.prints)
	}
	c.prints = append(c.prints, printed{"YEAR", final, reportAt(year+1, time.January)})
	if census := year%5 == 2; census && f.revised.Chance(day, 0.6) { // benchmarks come with a census, a year later
		revised := printable(year, final*(1+0.01*f.size.Normal(day)))
		c.prints = append(c.prints, printed{"YEAR", revised, reportAt(year+2, time.January)})
	}
	return c
}

// printable rounds as NASS prints: to half a bushel before 1964, to a bushel since.
func printable(year int, v float64) float64 {
	if year < 1964 {
		return math.Round(2*v) / 2
	}
	return math.Round(v)
}

func monthCode(m time.Month) string {
	return [...]string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}[m-1]
}

// reportAt is the sandbox's release of a month: noon of the 12th, or of the Friday before.
func reportAt(year int, month time.Month) time.Time {
	day := time.Date(year, month, reportDay, 0, 0, 0, 0, time.UTC)
	for day.Weekday() == time.Saturday || day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, -1)
	}
	return time.Date(year, month, day.Day(), 12, 0, 0, 0, ingest.NewYork()).UTC()
}

// shown lists the yield rows of a year at an instant. In its season the row of the year repeats the newest forecast.
func (c crop) shown(at time.Time) []record {
	var annual *printed
	var rows []record
	for _, p := range c.prints {
		if p.at.After(at) {
			break
		}
		annual = &p
		if p.period != "YEAR" {
			rows = append(rows, yieldRecord(c.year, p))
		}
	}
	if annual == nil {
		return nil
	}
	slices.SortFunc(rows, func(a, b record) int { return strings.Compare(a.row.Period, b.row.Period) })
	whole := *annual
	whole.period = "YEAR"
	return append([]record{yieldRecord(c.year, whole)}, rows...)
}

func yieldRecord(year int, p printed) record {
	return record{
		row: Row{
			Program: "SURVEY", Year: strconv.Itoa(year), Period: p.period, Level: "STATE", State: "IOWA", Item: yieldItem,
			Domain: allFarms, Value: strconv.FormatFloat(p.value, 'f', -1, 64), Loaded: loadTime(p.at),
		},
		statistic: "YIELD", unit: "BU / ACRE", frequency: "ANNUAL", use: "GRAIN", practice: "ALL PRODUCTION PRACTICES",
	}
}

// loadTime is when a figure reached the database, some minutes after its release.
func loadTime(released time.Time) string {
	return released.Add(7 * time.Minute).In(ingest.NewYork()).Format(time.DateTime)
}

// ratingUnits are the units of the shares, from very poor to excellent.
var ratingUnits = []string{"PCT VERY POOR", "PCT POOR", "PCT FAIR", "PCT GOOD", "PCT EXCELLENT"}

// rated lists the ratings of a year's crop at an instant: weeks from the end of May to the end of September, which learn more and
// more about the harvest.
func (f fields) rated(c crop, at time.Time) []record {
	if c.year < firstRatingYear {
		return nil
	}
	first := time.Date(c.year, time.May, 27, 0, 0, 0, 0, time.UTC)
	first = first.AddDate(0, 0, (7-int(first.Weekday()))%7)
	const weeks = 18
	ofYear := f.condition.Normal(first)
	var rows []record
	for n := range weeks {
		week := first.AddDate(0, 0, 7*n)
		released := conditionPublished(week)
		if released.After(at) {
			break
		}
		grown := float64(n) / (weeks - 1)
		level := 0.9 + c.anomaly*(0.2+0.5*grown) + 0.4*ofYear*(1-0.6*grown) + 0.12*f.rating.Normal(week)
		for i, share := range shares(level) {
			rows = append(rows, record{
				row: Row{
					Program: "SURVEY", Year: strconv.Itoa(c.year), Period: "WEEK #" + strconv.Itoa((week.YearDay()+6)/7),
					WeekEnding: week.Format(time.DateOnly), Level: "STATE", State: "IOWA",
					Item: "CORN - CONDITION, MEASURED IN " + ratingUnits[i], Domain: allFarms,
					Value: strconv.Itoa(share), Loaded: loadTime(released),
				},
				statistic: "CONDITION", unit: ratingUnits[i], frequency: "WEEKLY", use: "ALL UTILIZATION PRACTICES",
				practice: "ALL PRODUCTION PRACTICES",
			})
		}
	}
	return rows
}

// shares cuts a crop of a level into whole per cents of very poor to excellent, by a logistic curve over four fixed borders. Rounding
// may leave 99 or 101.
func shares(level float64) [5]int {
	var list [5]int
	below, sum := 0.0, 0
	for i, border := range [...]float64{-3.4, -1.9, 0.1, 2.6, math.Inf(1)} {
		upTo := 1 / (1 + math.Exp(level-border))
		list[i] = int(math.Round(100 * (upTo - below)))
		sum += list[i]
		below = upTo
	}
	list[3] -= sum - max(min(sum, 101), 99)
	return list
}
