package nass

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// Row is a row of Quick Stats, as far as it is read or written.
type Row struct {
	// Program is SURVEY or CENSUS.
	Program string
	Year    string
	// Period is the row's period: "YEAR", "YEAR - AUG FORECAST", "WEEK #22".
	Period string
	// WeekEnding is the week's last day, 2026-05-31, and empty for other periods.
	WeekEnding string
	// Level is "STATE" for a row about the whole of State, for example "IOWA".
	Level, State string
	// Item says what was measured, in which unit.
	Item string
	// Domain is "TOTAL" where all farms count.
	Domain string
	// Value is a number with commas, or a sign in parentheses for a missing number.
	Value string
	// CV is the coefficient of variation. It is not read.
	CV string
	// Loaded is when the row came into the database, in New York's time. The web form does not say.
	Loaded string
}

const (
	allFarms  = "TOTAL"
	yieldItem = "CORN, GRAIN - YIELD, MEASURED IN BU / ACRE"
)

// ratings are the items that divide the crop among five conditions, with the value of each. Averages of other years have their own items.
var ratings = map[string]int{
	"CORN - CONDITION, MEASURED IN PCT VERY POOR": 1,
	"CORN - CONDITION, MEASURED IN PCT POOR":      2,
	"CORN - CONDITION, MEASURED IN PCT FAIR":      3,
	"CORN - CONDITION, MEASURED IN PCT GOOD":      4,
	"CORN - CONDITION, MEASURED IN PCT EXCELLENT": 5,
}

// markerIncomplete is the marker of a week whose ratings do not add up to the whole crop.
const markerIncomplete = "incomplete"

// amount is a value as it was read.
type amount struct {
	value  float64
	marker string
}

// yieldRow is the row of a crop year and when it was loaded, zero if unknown.
type yieldRow struct {
	amount
	loaded time.Time
}

// found is the content of the rows, by year, month and week.
type found struct {
	at        time.Time // of the answer
	annual    map[int]yieldRow
	forecasts map[time.Time]amount
	weeks     map[time.Time]map[int]amount
	// years are the years of the rows that count, in their order.
	years []int
}

// read reads the rows of Iowa's corn from surveys about all farms. It skips other states, the census, and separate items of the same
// commodity (irrigated land, silage, averages). It returns an error if no row counts.
func read(rows []Row, at time.Time) (found, error) {
	f := found{
		at: at, annual: map[int]yieldRow{}, forecasts: map[time.Time]amount{}, weeks: map[time.Time]map[int]amount{},
	}
	for i, r := range rows {
		rating := ratings[r.Item]
		if r.Program != "SURVEY" || r.Level != "STATE" || r.State != "IOWA" || r.Domain != allFarms || rating == 0 && r.Item != yieldItem {
			continue
		}
		year, err := strconv.Atoi(r.Year)
		if err != nil || year < 1800 || year > at.Year()+1 {
			return found{}, fmt.Errorf("row %d: the year is %.20q", i+1, r.Year)
		}
		v, err := readAmount(r.Value)
		switch {
		case err != nil:
		case rating > 0:
			err = f.addRating(rating, year, r.WeekEnding, v)
		case r.Period == "YEAR":
			err = f.addAnnual(year, r.Loaded, v)
		default:
			err = f.addForecast(year, r.Period, v)
		}
		if err != nil {
			return found{}, fmt.Errorf("row %d, %s of %d: %w", i+1, r.Period, year, err)
		}
		f.years = append(f.years, year)
	}
	if len(f.years) == 0 {
		return found{}, fmt.Errorf("none of %d rows is of a survey in Iowa and of %q or of the corn's condition", len(rows), yieldItem)
	}
	return f, nil
}

var (
	plainNumber = regexp.MustCompile(`^(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$`)
	sign        = regexp.MustCompile(`^\([A-Z]{1,3}\)$`)
)

// readAmount reads a number with or without commas, or a sign. The signs are (D) withheld, (NA) not available, (S) too few reports, (X) not
// applicable, (Z) less than half a unit. Blanks may surround either.
func readAmount(s string) (amount, error) {
	s = strings.TrimSpace(s)
	if sign.MatchString(s) {
		return amount{marker: s}, nil
	}
	if !plainNumber.MatchString(s) {
		return amount{}, fmt.Errorf("the value is %.40q, want a number or a sign such as (D)", s)
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil {
		return amount{}, fmt.Errorf("the value is %.40q: out of range", s)
	}
	return amount{value: v}, nil
}

// add puts an amount in its place. A row may be there twice; two that differ are an error.
func add[K comparable](m map[K]amount, k K, v amount) error {
	if old, there := m[k]; there && old != v {
		return fmt.Errorf("the value is %v%s and %v%s", old.value, old.marker, v.value, v.marker)
	}
	m[k] = v
	return nil
}

// addAnnual adds the row of a crop year. In its season the row is not yet final: see settled.
func (f found) addAnnual(year int, loaded string, v amount) error {
	y := yieldRow{amount: v}
	if loaded != "" {
		var err error
		if y.loaded, err = time.ParseInLocation(time.DateTime, loaded, ingest.NewYork()); err != nil {
			return fmt.Errorf("the load time is %.40q, want one such as 2026-01-12 12:00:00", loaded)
		}
	}
	if old, there := f.annual[year]; there && old != y {
		return fmt.Errorf("two rows, of %v%s and of %v%s", old.value, old.marker, v.value, v.marker)
	}
	f.annual[year] = y
	return nil
}

var forecastPeriod = regexp.MustCompile(`^YEAR - ([A-Z]{3}) FORECAST$`)

func (f found) addForecast(year int, period string, v amount) error {
	m := forecastPeriod.FindStringSubmatch(period)
	if m == nil {
		return errors.New(`want the period "YEAR" or one such as "YEAR - AUG FORECAST"`)
	}
	month, err := time.Parse("2006 Jan", strconv.Itoa(year)+" "+m[1])
	if err != nil {
		return fmt.Errorf("%q is not a month", m[1])
	}
	if month.After(f.at) {
		return fmt.Errorf("a forecast of a month after the answer, which came on %s", f.at.Format(time.DateOnly))
	}
	return add(f.forecasts, month, v)
}

func (f found) addRating(rating, year int, weekEnding string, v amount) error {
	week, err := time.Parse(time.DateOnly, weekEnding)
	if err != nil || week.Year() != year {
		return fmt.Errorf("the week ends on %.20q, want a day of the year", weekEnding)
	}
	if week.After(f.at) {
		return fmt.Errorf("the week ends on %s, after the answer of %s", weekEnding, f.at.Format(time.DateOnly))
	}
	if f.weeks[week] == nil {
		f.weeks[week] = map[int]amount{}
	}
	return add(f.weeks[week], rating, v)
}

// settled reports whether the row of a crop year is its final estimate. In the season the row repeats the newest forecast. The annual
// summary replaces it in January (on the 10th in one year, on the 12th in another), and once in February. So a row loaded in the new year
// is a final. If the loading time is not stated, a row counts as final from the new year on, unless it still equals the newest forecast.
// Such a row may or may not be the final. Waiting loses nothing, and from 15 March on it counts as final.
func (y yieldRow) settled(year int, newestForecast amount, at time.Time) bool {
	newYear := time.Date(year+1, time.January, 1, 0, 0, 0, 0, ingest.NewYork())
	switch {
	case !at.Before(newYear.AddDate(0, 2, 14)):
		return true
	case !y.loaded.IsZero():
		return !y.loaded.Before(newYear)
	}
	return !at.Before(newYear) && y.amount != newestForecast
}

// index is the mean rating of a week's crop, from 1, all very poor, to 5, all excellent. The shares are rounded, so they may add up
// to 99 or 101; a rating without a row is a share of nothing if the others make up the whole.
func index(week map[int]amount) amount {
	var sum, weighted float64
	for rating := 1; rating <= 5; rating++ {
		share := week[rating]
		if share.marker != "" {
			return amount{marker: share.marker}
		}
		sum += share.value
		weighted += float64(rating) * share.value
	}
	if sum < 99 || sum > 101 {
		return amount{marker: markerIncomplete}
	}
	return amount{value: weighted / sum}
}

// list returns the readings, each series in ascending order.
func (f found) list() []ingest.Reading {
	var list []ingest.Reading
	put := func(id series.ID, at time.Time, v amount) {
		list = append(list, ingest.Reading{Series: id, ObservedAt: at, Value: v.value, Marker: v.marker})
	}
	for year, y := range f.annual {
		var newest amount
		for month := time.December; month >= time.January && newest == (amount{}); month-- {
			newest = f.forecasts[time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)]
		}
		if y.settled(year, newest, f.at) {
			put(finalYield, time.Date(year, time.January, 1, 0, 0, 0, 0, time.UTC), y.amount)
		}
	}
	for month, v := range f.forecasts {
		put(forecast, month, v)
	}
	for week, shares := range f.weeks {
		put(condition, week, index(shares))
	}
	slices.SortFunc(list, func(a, b ingest.Reading) int {
		if c := strings.Compare(string(a.Series), string(b.Series)); c != 0 {
			return c
		}
		return a.ObservedAt.Compare(b.ObservedAt)
	})
	return list
}

// covers claims each series from the second year on to its newest reading. Of the first year nothing is claimed, because an answer
// may have been cut there.
func (f found) covers() []series.Coverage {
	from := time.Date(slices.Min(f.years)+1, time.January, 1, 0, 0, 0, 0, time.UTC)
	var covers []series.Coverage
	list := f.list()
	for i, r := range list {
		if (i+1 == len(list) || list[i+1].Series != r.Series) && !r.ObservedAt.Before(from) {
			covers = append(covers, series.Coverage{Series: r.Series, Window: series.Window{From: from, To: r.ObservedAt}})
		}
	}
	return covers
}
