package stats

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"tidemark/internal/series"
)

// upstream is the folder of all recorded data.
const upstream = "../../../shared/upstream"

// open opens a recorded file, or skips the test when it is not there.
func open(tb testing.TB, name string) *os.File {
	tb.Helper()
	f, err := os.Open(filepath.Join(upstream, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("the recorded file %s is not at ../shared/upstream, beside the repository", name)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = f.Close() })
	return f
}

// records reads a recorded file of delimited text and yields its rows by column name.
func records(tb testing.TB, name string, comma rune) []map[string]string {
	tb.Helper()
	r := csv.NewReader(open(tb, name))
	r.Comma = comma
	rows, err := r.ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	out := make([]map[string]string, 0, len(rows))
	for _, row := range rows[1:] {
		named := map[string]string{}
		for i, cell := range row {
			named[rows[0][i]] = cell
		}
		out = append(out, named)
	}
	return out
}

func number(tb testing.TB, s string) float64 {
	tb.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// pinkSheet are the three gas prices of the workbook of a date, each known on the 4th of the month after its own.
func pinkSheet(tb testing.TB, made string) series.Set {
	tb.Helper()
	book, err := excelize.OpenReader(open(tb, "worldbank/CMO-Historical-Data-Monthly_"+made+".xlsx"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	rows, err := book.GetRows("Monthly Prices", excelize.Options{RawCellValue: true})
	if err != nil {
		tb.Fatal(err)
	}
	set := series.Set{}
	columns := map[int]series.ID{}
	month := regexp.MustCompile(`^(\d{4})M(\d\d)$`)
	for _, row := range rows {
		if len(row) == 0 {
			continue
		}
		for i, cell := range row {
			switch strings.TrimRight(cell, " *") {
			case "Natural gas, US":
				columns[i] = "worldbank.NGAS_US"
			case "Natural gas, Europe":
				columns[i] = "worldbank.NGAS_EUR"
			case "Liquefied natural gas, Japan":
				columns[i] = "worldbank.LNG_JP"
			}
		}
		m := month.FindStringSubmatch(row[0])
		if m == nil {
			continue
		}
		day := date(m[1] + "-" + m[2] + "-01")
		for i, id := range columns {
			if i < len(row) && row[i] != "…" {
				set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 1, 3)), Value: number(tb, row[i])})
			}
		}
	}
	if len(set) != 3 {
		tb.Fatalf("the workbook holds %d of the three series", len(set))
	}
	return set
}

// portWatch are the daily transits of Hormuz and the tankers' cargo in the vintage of July 2026, each taken for known on the Tuesday after its Sunday.
func portWatch(tb testing.TB) series.Set {
	tb.Helper()
	set := series.Set{}
	for _, row := range records(tb, "portwatch/hormuz_daily_chokepoint_2026-07-06.csv", ',') {
		day := date(row["date"][:10])
		known := day.AddDate(0, 0, (7-int(day.Weekday()))%7+2).Add(13*time.Hour + 35*time.Minute)
		for _, column := range []string{"n_total", "n_tanker", "capacity_tanker"} {
			id := series.ID("portwatch.chokepoint6." + column)
			set[id] = append(set[id], series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(known), Value: number(tb, row[column])})
		}
	}
	return set
}

// portWatchPoll is an earlier vintage of the total, the 365 newest days of an April.
func portWatchPoll(tb testing.TB, name string) []series.Point {
	tb.Helper()
	var poll struct {
		FetchedAt time.Time
		Days      []struct {
			Date  string
			Total float64
		}
	}
	if err := json.NewDecoder(open(tb, "portwatch/polls/"+name+".json")).Decode(&poll); err != nil {
		tb.Fatal(err)
	}
	points := make([]series.Point, len(poll.Days))
	for i, d := range poll.Days { // newest first
		points[len(points)-1-i] = series.Point{ObservedAt: series.InstantOf(date(d.Date)), VintageAt: series.InstantOf(poll.FetchedAt), Value: d.Total}
	}
	return points
}

const (
	cornFinal    series.ID = "nass.IA.CORN.YIELD.FINAL"
	cornForecast series.ID = "nass.IA.CORN.YIELD.FORECAST"
)

// finalKnown and forecastKnown are when NASS publishes: the annual summary about 12 January, the monthly report about the 11th.
func finalKnown(year int) time.Time {
	return time.Date(year+1, time.January, 12, 17, 0, 0, 0, time.UTC)
}
func forecastKnown(month time.Time) time.Time { return month.AddDate(0, 0, 10).Add(16 * time.Hour) }

func crop(year int, yield float64) series.Point {
	return series.Point{ObservedAt: series.InstantOf(date(fmt.Sprintf("%d-01-01", year))), VintageAt: series.InstantOf(finalKnown(year)), Value: yield}
}

// iowaCorn are the final yields of Iowa from 1866 to 2011. No history of its forecasts is recorded.
func iowaCorn(tb testing.TB) series.Set {
	tb.Helper()
	set := series.Set{}
	for _, row := range records(tb, "nass/agridat_nass_corn_by_state_1866-2011.txt", '\t') {
		if row["state"] == "Iowa" {
			set[cornFinal] = append(set[cornFinal], crop(int(number(tb, row["year"])), number(tb, row["yield"])))
		}
	}
	return set
}

// illinoisCorn returns the finals from 1902 to 2024 and the forecasts from 1980 to 2025 of Illinois, under the names of Iowa's series. No
// other state's forecasts are recorded. Its row for 2025 repeats a forecast; it is not a final.
func illinoisCorn(tb testing.TB) series.Set {
	tb.Helper()
	finals, forecasts := map[int]float64{}, map[string]float64{}
	for _, row := range records(tb, "nass/quickstats_corn_illinois_1902-2025.csv", ',') {
		if row["Program"] != "SURVEY" || row["Data Item"] != "CORN, GRAIN - YIELD, MEASURED IN BU / ACRE" || row["Geo Level"] != "STATE" {
			continue
		}
		year := int(number(tb, row["Year"]))
		month, isForecast := map[string]string{
			"YEAR - AUG FORECAST": "08", "YEAR - SEP FORECAST": "09", "YEAR - OCT FORECAST": "10", "YEAR - NOV FORECAST": "11",
		}[row["Period"]]
		switch {
		case isForecast:
			forecasts[fmt.Sprintf("%d-%s-01", year, month)] = number(tb, row["Value"])
		case row["Period"] == "YEAR" && year < 2025:
			finals[year] = number(tb, row["Value"])
		}
	}
	set := series.Set{}
	for year := 1902; year <= 2025; year++ {
		if v, ok := finals[year]; ok {
			set[cornFinal] = append(set[cornFinal], crop(year, v))
		}
		for month := 8; month <= 11; month++ {
			day := fmt.Sprintf("%d-%02d-01", year, month)
			if v, ok := forecasts[day]; ok {
				set[cornForecast] = append(set[cornForecast], series.Point{ObservedAt: series.InstantOf(date(day)), VintageAt: series.InstantOf(forecastKnown(date(day))), Value: v})
			}
		}
	}
	return set
}

// dailyPrices is a recorded history of one EIA price, each taken for known on the Wednesday after its Monday.
func dailyPrices(tb testing.TB, name string) []series.Point {
	tb.Helper()
	var points []series.Point
	for _, row := range records(tb, "eia/csv/"+name+".csv", ',') {
		day := date(row["Date"])
		monday := day.AddDate(0, 0, (int(time.Monday-day.Weekday())+7)%7)
		points = append(points, series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(monday.AddDate(0, 0, 2).Add(23 * time.Hour)), Value: number(tb, row["Price"])})
	}
	return points
}
