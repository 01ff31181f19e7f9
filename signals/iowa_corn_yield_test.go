package signals

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
)

// finals yields final yields of crop years from one on, each known on 12 January of the next year.
func finals(first int, yields ...float64) []series.Point {
	out := make([]series.Point, len(yields))
	for i, v := range yields {
		day := time.Date(first+i, 1, 1, 0, 0, 0, 0, time.UTC)
		out[i] = series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(1, 0, 11)), Value: v}
	}
	return out
}

// forecast is one of NASS's, known on the 12th.
func forecast(year int, month time.Month, yield float64) series.Point {
	day := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	return series.Point{ObservedAt: series.InstantOf(day), VintageAt: series.InstantOf(day.AddDate(0, 0, 11)), Value: yield}
}

// line is a yield that rises by two bushels a year, with an error that alternates between +d and -d.
func line(n int, d float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 100 + 2*float64(i) + d*float64(1-2*(i%2))
	}
	return out
}

func on(t *testing.T, track Track, day string) Estimate {
	t.Helper()
	for _, e := range track {
		if e.ObservedAt.Time().Equal(date(day)) {
			return e
		}
	}
	t.Fatalf("no estimate on %s", day)
	return Estimate{}
}

func TestCornHasOnePointForEachStateOfKnowledge(t *testing.T) {
	t.Parallel()
	set := series.Set{
		cornFinal: finals(1990, line(30, 3)...), // to 2019
		cornForecast: {
			forecast(2019, time.August, 150), forecast(2019, time.September, 152), forecast(2019, time.November, 155), // October was cancelled
			forecast(2020, time.August, 160),
		},
	}
	track := computeCorn(set, date("2020-08-20"))
	var days, known []string
	for _, e := range track {
		if e.ObservedAt.Time().Year() >= 2019 {
			days, known = append(days, e.ObservedAt.Time().Format(time.DateOnly)), append(known, e.KnownAt.Time().Format(time.DateOnly))
		}
	}
	if want := []string{
		"2019-01-01", "2019-05-01", "2019-08-01", "2019-09-01", "2019-11-01", "2020-01-01", "2020-05-01", "2020-08-01",
	}; !slices.Equal(days, want) {
		t.Errorf("points %v, want %v", days, want)
	}
	if want := []string{
		"2019-01-12", "2019-05-01", "2019-08-12", "2019-09-12", "2019-11-12", "2020-01-12", "2020-05-01", "2020-08-12",
	}; !slices.Equal(known, want) {
		t.Errorf("known %v, want %v", known, want)
	}
	if early := computeCorn(set, date("2020-04-30")); early[len(early)-2].ObservedAt.Time().After(date("2020-04-30")) {
		t.Error("the season of 2020 began before 1 May")
	}
	final := on(t, track, "2020-01-01")
	if final.Value != set[cornFinal][29].Value || !math.IsNaN(final.Lo) || !math.IsNaN(final.Hi) || final.N != 25 {
		t.Errorf("the final is %+v, want itself without an interval", final)
	}
	season := on(t, track, "2020-05-01")
	if season.Value != season.Baseline || season.DeltaPct() != 0 {
		t.Errorf("the season begins at %+v, want the trend", season)
	}
	// Without the final of the year before no season begins: a source that fell silent does not look fresh.
	set[cornFinal] = set[cornFinal][:29]
	set[cornForecast] = nil
	if track := computeCorn(set, date("2020-08-20")); !track[len(track)-1].ObservedAt.Time().Equal(date("2019-05-01")) {
		t.Errorf("the newest point is of %v, want May 2019", track[len(track)-1].ObservedAt)
	}
}

func TestCornTrendIsTheLineThroughTheLast25Finals(t *testing.T) {
	t.Parallel()
	yields := line(60, 0)
	for i := range 35 {
		yields[i] = 500 // what lies further back does not matter
	}
	track := computeCorn(series.Set{cornFinal: finals(1960, yields...)}, date("2020-06-01"))
	e := on(t, track, "2020-05-01")
	wantNear(t, "trend of a straight line", e.Baseline, 100+2*60)
	if e.N != 25 {
		t.Errorf("the trend rests on %d finals, want 25", e.N)
	}
	for _, e := range track {
		if year := e.ObservedAt.Time().Year(); math.IsNaN(e.Baseline) != (year < 1985 || year == 1985 && e.ObservedAt.Time().Month() == time.January) {
			t.Errorf("%v has the baseline %v: the first crop year with 25 finals before it is 1985", e.ObservedAt, e.Baseline)
		}
	}
}

func TestFitTrendEqualsGonum(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 50))
	for range 50 {
		n := 3 + rng.IntN(60)
		var years, values []float64
		for i := range n {
			years, values = append(years, float64(1900+i+rng.IntN(2)*100)), append(values, 150+20*rng.NormFloat64())
		}
		got := fitTrend(years, values, 2026)
		alpha, beta := stat.LinearRegression(years, values, nil, false)
		var squares, sxx float64
		for i := range n {
			r := values[i] - alpha - beta*years[i]
			squares += r * r
			sxx += (years[i] - stat.Mean(years, nil)) * (years[i] - stat.Mean(years, nil))
		}
		ahead := 2026 - stat.Mean(years, nil)
		if !near(got.value, alpha+beta*2026, 1) || !near(got.slope, beta, 1e-3) || !near(got.se, math.Sqrt(squares/float64(n-2)), 1e-3) ||
			!near(got.leverage, 1/float64(n)+ahead*ahead/sxx, 0) {
			t.Fatalf("%d values: %+v, want %v, slope %v", n, got, alpha+beta*2026, beta)
		}
	}
	if flat := fitTrend([]float64{1, 2, 3, 4}, []float64{0.1, 0.1, 0.1, 0.1}, 9); flat.value != 0.1 || flat.slope != 0 || flat.se != 0 {
		t.Errorf("a constant has the trend %+v, want itself without any error", flat)
	}
	// The quantiles as tables print them.
	for degrees, want := range map[int]float64{5: 2.015, 23: 1.714, 25: 1.708} {
		if got := studentT95(degrees); math.Abs(got-want) > 5e-4 {
			t.Errorf("t of %d degrees %v, want %v", degrees, got, want)
		}
	}
}

func TestCornBlendWeighsEachByItsOwnPastError(t *testing.T) {
	t.Parallel()
	// Finals swing by 6 about a line. The forecasts of seven Augusts were off by 3, either way; August 2025 says 200.
	set := series.Set{cornFinal: finals(1960, line(65, 6)...)} // to 2024
	var misses []float64
	for year := 2018; year <= 2024; year++ {
		miss := 3 * float64(1-2*(year/2%2))
		misses = append(misses, miss)
		set[cornForecast] = append(set[cornForecast], forecast(year, time.August, set[cornFinal][year-1960].Value-miss))
	}
	set[cornForecast] = append(set[cornForecast], forecast(2025, time.August, 200))
	track := computeCorn(set, date("2025-08-20"))

	// The trend's errors, from its own points: the finals less the baselines, 25 of them before 2025.
	var trendSquares float64
	for year := 2000; year <= 2024; year++ {
		e := on(t, track, fmt.Sprintf("%d-01-01", year+1))
		trendSquares += (e.Value - e.Baseline) * (e.Value - e.Baseline)
	}
	last := track[len(track)-1]
	wantNear(t, "scale", last.Scale, math.Sqrt(trendSquares/25))
	var squares float64
	for _, m := range misses {
		squares += m * m
	}
	ofTrend, ofForecast := trendSquares/25, squares/7
	w := ofTrend / (ofTrend + ofForecast)
	wantNear(t, "blend", last.Value, w*200+(1-w)*last.Baseline)
	if w < 0.7 {
		t.Fatalf("the forecast weighs %v: the data do not test what they should", w)
	}
	for _, c := range cornComponents(set, date("2025-08-20")) {
		if c.Name == "forecast_share" {
			wantNear(t, "share shown", c.Value, 100*w)
		}
	}
	// Before five misses are known both count the same: 2022 has the four of 2018 to 2021, 2023 has five.
	e := on(t, track, "2022-08-01")
	wantNear(t, "blend of 2022", e.Value, (set[cornForecast][4].Value+e.Baseline)/2)
	if e := on(t, track, "2023-08-01"); math.Abs(e.Value-(set[cornForecast][5].Value+e.Baseline)/2) < 0.1 {
		t.Errorf("the blend of 2023 still counts both the same: %+v", e)
	}
	// The interval of 2025: Student's t of seven errors of the blend times their root mean square.
	squares = 0
	for year := 2018; year <= 2024; year++ {
		miss := set[cornFinal][year-1960].Value - on(t, track, fmt.Sprintf("%d-08-01", year)).Value
		squares += miss * miss
	}
	half := 1.894578605090007 * math.Sqrt(squares/7) // t(0.95, 7)
	wantNear(t, "lower bound", last.Lo, last.Value-half)
	wantNear(t, "upper bound", last.Hi, last.Value+half)
}

func TestCornWithoutATrendIsTheForecast(t *testing.T) {
	t.Parallel()
	set := series.Set{
		cornFinal:    finals(2015, 180, 190, 200),
		cornForecast: {forecast(2016, time.August, 185), forecast(2018, time.August, 205)},
	}
	track := computeCorn(set, date("2018-09-01"))
	last := track[len(track)-1]
	if last.Value != 205 || !math.IsNaN(last.Baseline) || !math.IsNaN(last.Lo) || last.N != 0 || !math.IsNaN(last.Z()) {
		t.Errorf("three finals make %+v, want the forecast alone", last)
	}
	if len(track) != 5 { // three finals, two forecasts, no season without a trend
		t.Errorf("%d points, want 5", len(track))
	}
}

func TestCornIntervalIsTheQuantilesOfTheStagesErrors(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 50))
	var yields []float64
	set := series.Set{}
	for i := range 75 {
		yields = append(yields, 60+2*float64(i)+12*rng.NormFloat64())
		if year := 1950 + i; year >= 1990 {
			set[cornForecast] = append(set[cornForecast], forecast(year, time.October, yields[i]+5*rng.NormFloat64()))
		}
	}
	set[cornFinal] = finals(1950, yields...) // to 2024
	set[cornForecast] = append(set[cornForecast], forecast(2025, time.October, 200))
	track := computeCorn(set, date("2025-10-20"))

	// type6 is the quantile p at rank p*(n+1), by the definition.
	type6 := func(errors []float64, p float64) float64 {
		slices.Sort(errors)
		rank := p * float64(len(errors)+1)
		j := int(rank)
		return errors[j-1] + (rank-float64(j))*(errors[j]-errors[j-1])
	}
	var shares, misses []float64
	for year := 2000; year <= 2024; year++ {
		final := yields[year-1950]
		start := on(t, track, fmt.Sprintf("%d-05-01", year))
		shares = append(shares, (final-start.Value)/start.Value)
		misses = append(misses, final-on(t, track, fmt.Sprintf("%d-10-01", year)).Value)
	}
	season, last := on(t, track, "2025-05-01"), track[len(track)-1]
	wantNear(t, "lower bound of the trend", season.Lo, season.Value*(1+type6(shares, 0.05)))
	wantNear(t, "upper bound of the trend", season.Hi, season.Value*(1+type6(shares, 0.95)))
	wantNear(t, "lower bound of the blend", last.Lo, last.Value+type6(misses, 0.05))
	wantNear(t, "upper bound of the blend", last.Hi, last.Value+type6(misses, 0.95))

	// The first trends have no errors behind them: the line's own band, with 23 degrees of freedom.
	first := on(t, track, "1975-05-01")
	var years []float64
	for year := 1950; year < 1975; year++ {
		years = append(years, float64(year))
	}
	fit := fitTrend(years, yields[:25], 1975)
	half := 1.7138715277470473 * fit.se * math.Sqrt(1+1.0/25+13*13/1300.0) // the years lie 12 on either side of 1962
	wantNear(t, "upper bound of the first trend", first.Hi, first.Value+half)
	wantNear(t, "lower bound of the first trend", first.Lo, first.Value-half)
}

func TestCornBacktestFindsASkilledForecasterAndNotAnother(t *testing.T) {
	t.Parallel()
	d, _ := ByID("iowa-corn-yield")
	for _, c := range []struct {
		name    string
		error   float64 // of the forecasts; the yields stray by 12 from their line
		skilled bool
	}{{"a good forecaster", 4, true}, {"one who knows nothing of the season", -1, false}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(3, 50))
			var yields []float64
			set := series.Set{}
			for i := range 100 {
				trend := 60 + 2*float64(i)
				yields = append(yields, trend+12*rng.NormFloat64())
				about := yields[i] + c.error*rng.NormFloat64()
				if c.error < 0 {
					about = trend + 12*rng.NormFloat64()
				}
				set[cornForecast] = append(set[cornForecast], forecast(1925+i, time.August, about), forecast(1925+i, time.November, yields[i]))
			}
			set[cornFinal] = finals(1925, yields...)
			r := d.RunBacktest(set, date("2025-02-01"), Arrivals{})
			if r.N != 55 || r.From.Year() != 1970 || !r.LookAheadSafe() { // 25 finals for the trend, 20 errors of it for the scale
				t.Errorf("%d cases from %v", r.N, r.From)
			}
			if (r.Lo > 0.3) != c.skilled {
				t.Errorf("rank correlation %v between %v and %v", r.RankIC, r.Lo, r.Hi)
			}
			stages := map[string]ForecastSkill{}
			for _, s := range r.Skill {
				stages[s.Stage] = s
			}
			if len(stages) != 3 || stages["trend"].Skill != 0 || stages["trend"].RMSE != stages["trend"].BaselineRMSE {
				t.Errorf("stages %+v", stages)
			}
			if (stages["august"].Skill > 0.5) != c.skilled || !(stages["november"].Skill > 0.5) {
				t.Errorf("skill in August %v, in November %v", stages["august"].Skill, stages["november"].Skill)
			}
			if cover := stages["august"].Coverage90Pct; cover < 80 || cover > 98 {
				t.Errorf("the interval of August held %v %%", cover)
			}
		})
	}
}

// The figures were measured by others on the yields of Iowa as published, with a script that shares nothing with this program.
func TestIowasTrendHasItsMeasuredErrors(t *testing.T) {
	t.Parallel()
	const file = "../../shared/upstream/nass/agridat_nass_corn_by_state_1866-2011.txt"
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded yields at ../shared/upstream/nass, beside the repository: nothing to check against")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var years, yields []float64
	for lines := bufio.NewScanner(f); lines.Scan(); {
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != 4 || cells[1] != `"Iowa"` {
			continue
		}
		year, err1 := strconv.ParseFloat(cells[0], 64)
		yield, err2 := strconv.ParseFloat(cells[3], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		years, yields = append(years, year), append(yields, yield)
	}
	if len(years) != 146 {
		t.Fatalf("%d years of Iowa, want 146", len(years))
	}
	from := func(year int) int { return year - 1866 }
	for _, c := range []struct {
		first     int
		slope, se string
	}{{1980, "2.40", "16.2"}, {1955, "2.02", "14.1"}} {
		fit := fitTrend(years[from(c.first):], yields[from(c.first):], 2012)
		if slope, se := fmt.Sprintf("%.2f", fit.slope), fmt.Sprintf("%.1f", fit.se); slope != c.slope || se != c.se {
			t.Errorf("from %d: slope %s, residual error %s, want %s and %s", c.first, slope, se, c.slope, c.se)
		}
	}
	for _, c := range []struct {
		window                 int
		rmse, mae, bias, cover string
	}{
		{20, "18.0", "", "", "92"}, {25, "17.7", "12.9", "2.9", "85"}, {30, "17.6", "", "", "88"}, // 17.649, which was printed as 17.7
	} {
		var squares, distance, bias, held float64
		for i := from(1986); i <= from(2011); i++ {
			fit := fitTrend(years[i-c.window:i], yields[i-c.window:i], int(years[i]))
			miss := yields[i] - fit.value
			squares, distance, bias = squares+miss*miss, distance+math.Abs(miss), bias+miss
			if math.Abs(miss) <= 1.645*fit.se { // the band that the measurement used
				held++
			}
		}
		for what, pair := range map[string][2]string{
			"rmse":     {fmt.Sprintf("%.1f", math.Sqrt(squares/26)), c.rmse},
			"mae":      {fmt.Sprintf("%.1f", distance/26), c.mae},
			"bias":     {fmt.Sprintf("%.1f", bias/26), c.bias},
			"coverage": {fmt.Sprintf("%.0f", 100*held/26), c.cover},
		} {
			if pair[1] != "" && pair[0] != pair[1] {
				t.Errorf("window of %d years: %s %s, want %s", c.window, what, pair[0], pair[1])
			}
		}
	}
}
