package signals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
)

// earlier is the same month and day k years earlier by way of dates as text: the oracle for yearsBefore.
func earlier(t time.Time, k int) time.Time {
	shifted, err := time.Parse(time.DateOnly, fmt.Sprintf("%04d-%s", t.Year()-k, t.Format("01-02")))
	if err != nil { // there is no 29 February
		return date(fmt.Sprintf("%04d-02-28", t.Year()-k))
	}
	return shifted
}

func TestYearsBefore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from string
		k    int
		want string
	}{
		{"2025-05-16", 1, "2024-05-16"},
		{"2024-02-29", 1, "2023-02-28"},
		{"2024-02-29", 4, "2020-02-29"},
		{"2104-02-29", 4, "2100-02-28"}, // 2100 has no leap day
		{"2004-02-29", 4, "2000-02-29"}, // 2000 is one
		{"2023-02-28", 3, "2020-02-28"},
		{"2023-03-01", 3, "2020-03-01"},
		{"2025-01-01", 5, "2020-01-01"},
		{"2020-12-31", 1, "2019-12-31"},
		{"1972-02-29", 5, "1967-02-28"}, // across the start of the Unix count
	} {
		got := time.Unix(int64(dayIn(series.InstantOf(date(c.from))).yearsBefore(c.k))*secondsPerDay, 0).UTC().Format(time.DateOnly)
		if got != c.want {
			t.Errorf("%s, %d years before: %s, want %s", c.from, c.k, got, c.want)
		}
	}
	for day := date("1996-01-01"); day.Year() < 2006; day = day.AddDate(0, 0, 1) {
		for k := 1; k <= seasonYears; k++ {
			if got, want := dayIn(series.InstantOf(day)).yearsBefore(k), dayOf(earlier(day, k)); got != want {
				t.Fatalf("%v, %d years before: day %d, want %d", day, k, got, want)
			}
		}
	}
}

func TestADayIsTheDateInUTC(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("Tokyo", 9*60*60)
	// The morning of 1 March in Tokyo is still 29 February in UTC.
	at := time.Date(2024, 3, 1, 8, 0, 0, 0, tokyo)
	if got, want := dayOf(at), dayOf(date("2024-02-29")); got != want {
		t.Errorf("dayOf = %d, want %d", got, want)
	}
	if got, want := dayIn(series.InstantOf(at)).yearsBefore(1), dayOf(date("2023-02-28")); got != want {
		t.Errorf("yearsBefore = %d, want %d", got, want)
	}
	if got := dayOf(date("1969-12-31").Add(23 * time.Hour)); got != -1 {
		t.Errorf("the last evening of 1969 is day %d, want -1", got)
	}
}

func TestBusinessDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from, to string
		want           int
	}{
		{"the same day", "2025-12-08", "2025-12-08", 0},
		{"Monday to Wednesday", "2025-12-08", "2025-12-10", 2},
		{"Friday to Monday", "2025-12-05", "2025-12-08", 1},
		{"Friday to Sunday", "2025-12-05", "2025-12-07", 0},
		{"Saturday to Monday", "2025-12-06", "2025-12-08", 1},
		{"a week", "2025-12-08", "2025-12-15", 5},
		{"over New Year, holidays counted", "2024-12-30", "2025-01-03", 4},
		{"a whole year of 261 weekdays", "2024-12-31", "2025-12-31", 261},
		{"backwards", "2025-12-10", "2025-12-08", 0},
		{"before 1970", "1969-12-26", "1970-01-02", 5},
	} {
		if got := businessDays(dayOf(date(c.from)), dayOf(date(c.to))); got != c.want {
			t.Errorf("%s: %d business days, want %d", c.name, got, c.want)
		}
	}
	start := date("1969-12-20")
	for offset := range 21 {
		from, count := start.AddDate(0, 0, offset), 0
		for day := from.AddDate(0, 0, 1); day.Before(from.AddDate(0, 3, 0)); day = day.AddDate(0, 0, 1) {
			if weekday(day) {
				count++
			}
			if got := businessDays(dayOf(from), dayOf(day)); got != count {
				t.Fatalf("%v to %v: %d business days, want %d", from, day, got, count)
			}
		}
	}
}

func TestMonthDayWindowByHand(t *testing.T) {
	t.Parallel()
	points := []series.Point{
		point("2018-03-01", 100), // the sixth year before: outside
		point("2020-02-27", 1),   // within one day of 28 February
		point("2020-02-29", 2),
		point("2020-03-01", 50), // two days from it
		point("2021-02-28", 4),
		point("2022-02-26", 60), // two days from it
		point("2022-03-01", 5),  // the day after 28 February
		point("2023-02-27", 8),
		point("2024-02-28", 70), // in the window of 2025 alone
		point("2024-02-29", 9),
		point("2025-02-28", 10),
	}
	got := monthDayWindow{days: 1, minPerYear: 1}.over(datedPoints(points), new(scratch))

	// 29 February 2024 looks at the 28th of 2023, 2022, 2021 and at 29 February 2020; 2019 has nothing.
	leap := got.of(9)
	if leap.n != 5 { // 2, 50, 4, 5, 8
		t.Fatalf("the leap day has %d values, want 5", leap.n)
	}
	wantNear(t, "mean of the leap day", leap.mean(), 69.0/5)
	wantNear(t, "sd of the leap day", leap.sd(), math.Sqrt((11.8*11.8+36.2*36.2+9.8*9.8+8.8*8.8+5.8*5.8)/4))

	// 28 February 2025 looks at the 28th of each year, which in 2020 and 2024 is followed by the 29th.
	next := got.of(10)
	if next.n != 7 { // 70, 9 | 8 | 5 | 4 | 1, 2
		t.Fatalf("28 February 2025 has %d values, want 7", next.n)
	}
	wantNear(t, "mean of 28 February 2025", next.mean(), 99.0/7)

	// 28 February 2021 finds 2020 and 2018: two years make no baseline.
	if two := got.of(4); two.n != 0 || !math.IsNaN(two.mean()) || !math.IsNaN(two.sd()) {
		t.Errorf("two matched years make the baseline %+v, want none", two)
	}
}

func TestAYearWithAScantWindowDoesNotEnter(t *testing.T) {
	t.Parallel()
	var points []series.Point
	for year := 2019; year <= 2024; year++ {
		for day := 1; day <= 9; day++ {
			if year == 2020 && day != 5 {
				continue // a hole: one value of nine is left
			}
			points = append(points, point(fmt.Sprintf("%d-06-%02d", year, day), float64(year)))
		}
	}
	got := monthDayWindow{days: 4, minPerYear: 5}.over(datedPoints(points), new(scratch))
	at := func(day string) moments {
		for i, p := range points {
			if p.ObservedAt.Time().Equal(date(day)) {
				return got.of(i)
			}
		}
		t.Fatalf("no point on %s", day)
		return moments{}
	}
	if m := at("2022-06-05"); m.n != 0 {
		t.Errorf("2021, 2019 and a hole make the baseline %+v, want none", m)
	}
	if m := at("2023-06-05"); m.n != 9+9+9 {
		t.Errorf("three full years and a scant one have %d values, want 27", m.n)
	}
}

func TestMonthDayWindowEqualsADirectComputation(t *testing.T) {
	t.Parallel()
	for seed, c := range []struct {
		name       string
		keep       func(time.Time) bool
		days, each int
	}{
		{"one day, trading days", weekday, 0, 1},
		{"a week, trading days", weekday, 3, 3},
		{"a month, trading days", weekday, 15, 10},
		{"a quarter, trading days", weekday, 45, 40},
		{"a month, weeks", friday, 15, 2},
		{"ten days, every day", func(time.Time) bool { return true }, 5, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			points := walk(rand.New(rand.NewPCG(uint64(seed), 10)), date("1995-12-01"), date("2009-02-10"), 50, 0.5, c.keep)
			at := map[int]float64{}
			for _, p := range points {
				at[p.ObservedAt.Days()] = p.Value
			}
			some, none := 0, 0
			over := monthDayWindow{days: c.days, minPerYear: c.each}.over(datedPoints(points), new(scratch))
			for i := range points {
				got := over.of(i)
				var window []float64
				matched := 0
				for k := 1; k <= seasonYears; k++ {
					var year []float64
					centre := dayOf(earlier(points[i].ObservedAt.Time(), k))
					for day := centre - c.days; day <= centre+c.days; day++ {
						if v, ok := at[day]; ok {
							year = append(year, v)
						}
					}
					if len(year) >= c.each {
						matched++
						window = append(window, year...)
					}
				}
				if matched < minSeasonYears {
					none++
					if got.n != 0 {
						t.Fatalf("%v: a baseline from %d years", points[i].ObservedAt, matched)
					}
					continue
				}
				some++
				mean, sd := stat.MeanStdDev(window, nil)
				if got.n != len(window) || !near(got.mean(), mean, 0) || !near(got.sd(), sd, 0) {
					t.Fatalf("%v: %d, %v, %v, want %d, %v, %v",
						points[i].ObservedAt, got.n, got.mean(), got.sd(), len(window), mean, sd)
				}
			}
			if some < 100 || none < 100 {
				t.Fatalf("%d baselines and %d without one: the series does not test what it should", some, none)
			}
		})
	}
}

func TestABaselineHasTheSameBitsHoweverFarBackTheHistoryGoes(t *testing.T) {
	t.Parallel()
	points := walk(rand.New(rand.NewPCG(11, 12)), date("1990-01-01"), date("2010-12-31"), 50, 0.5, weekday)
	short := points[len(until(points, series.InstantOf(date("2000-06-30")))):]
	long, got := crackSeason.over(datedPoints(points), new(scratch)), crackSeason.over(datedPoints(short), new(scratch))
	compared := 0
	for i, p := range short {
		if p.ObservedAt.Time().Before(date("2005-08-01")) {
			continue // its windows reach before the short history
		}
		compared++
		if want := long.of(len(points) - len(short) + i); got.of(i) != want {
			t.Fatalf("%v: %+v, want %+v", p.ObservedAt, got.of(i), want)
		}
	}
	if compared < 1000 {
		t.Fatalf("compared %d days only", compared)
	}
}

func TestSamplesAroundAnyDayWithAnyHoles(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		var points datedSeries
		for day := rng.IntN(200) - 100; len(points.days) < 80; day += 1 + rng.IntN(3) {
			if rng.IntN(30) == 0 {
				day += rng.IntN(60)
			}
			points.days, points.values = append(points.days, int32(day)), append(points.values, 100+10*rng.NormFloat64())
		}
		reach, first := rng.IntN(16), int(points.days[0])-30+rng.IntN(60)
		around := points.around(reach, first, int(points.days[79])+rng.IntN(30), new(scratch))
		for i, got := range around.samples {
			var window []float64
			for j, day := range points.days {
				if d := int(day) - first - i; max(d, -d) <= reach {
					window = append(window, points.values[j])
				}
			}
			if got.n != len(window) {
				t.Fatalf("%d days around day %d are %d values, want %d", reach, first+i, got.n, len(window))
			}
			if got.n == 0 {
				continue
			}
			mean, sd := stat.MeanStdDev(window, nil)
			if !near(got.mean(), mean, 0) || !near(got.sd(), sd, 1e-3) {
				t.Fatalf("%d days around day %d: %v, %v, want %v, %v", reach, first+i, got.mean(), got.sd(), mean, sd)
			}
		}
	}
}

func TestSameWeekOfThePreviousYears(t *testing.T) {
	t.Parallel()
	var fridays []series.Point
	for day := date("1982-08-20"); day.Year() < 2030; day = day.AddDate(0, 0, 7) {
		fridays = append(fridays, series.Point{ObservedAt: series.InstantOf(day)})
	}
	same, matches := sameWeeksOf(fridays), make([]matchedWeeks, len(fridays))
	for i, p := range fridays {
		matches[i] = same.of(i)
		for k, j := range matches[i] {
			centre := earlier(p.ObservedAt.Time(), k+1)
			if centre.Before(date("1982-08-17")) {
				if j != -1 {
					t.Fatalf("%v found a week %d years before the history", p.ObservedAt, k+1)
				}
				continue
			}
			if j < 0 || math.Abs(fridays[j].ObservedAt.Time().Sub(centre).Hours()) > 72 {
				t.Fatalf("%v, %d years before: no Friday within three days", p.ObservedAt, k+1)
			}
		}
	}
	for from, want := range map[string][]string{
		"2025-05-16": {"2024-05-17", "2023-05-19", "2022-05-13", "2021-05-14", "2020-05-15"},
		"2008-02-29": {"2007-03-02", "2006-03-03", "2005-02-25", "2004-02-27", "2003-02-28"}, // the leap day shifts to the 28th
		"2027-01-01": {"2026-01-02", "2025-01-03", "2023-12-29", "2022-12-30", "2021-12-31"},
	} {
		i := len(until(fridays, series.InstantOf(date(from)))) - 1
		for k, j := range matches[i] {
			if got := fridays[j].ObservedAt.Time().Format(time.DateOnly); got != want[k] {
				t.Errorf("%s, %d years before: %s, want %s", from, k+1, got, want[k])
			}
		}
	}
}

func TestSameWeekKeepsToTheNearestAndLeavesGapsOpen(t *testing.T) {
	t.Parallel()
	points := []series.Point{
		point("2021-06-01", 1),
		point("2022-06-05", 2), // four days away: too far
		point("2023-05-30", 3), // two days before
		point("2023-06-03", 4), // two days after: equally near, later
		point("2024-06-02", 5), // one day after
		point("2025-06-01", 6),
	}
	got := sameWeeksOfNewest(points)
	if want := (matchedWeeks{4, 2, -1, 0, -1}); got != want {
		t.Errorf("matches %v, want %v", got, want)
	}
}

func TestWeeksByHand(t *testing.T) {
	t.Parallel()
	// Two Fridays in each year, eleven months of gap between the pairs: only the second of a pair has a change.
	points := []series.Point{
		point("2020-05-08", 100), point("2020-05-15", 110), // +10
		point("2021-05-07", 120), point("2021-05-14", 118), // -2
		point("2022-05-06", 90), point("2022-05-13", 94), // +4
		point("2023-05-19", 200),                         // a fortnight's gap before: no change
		point("2024-05-10", 50), point("2024-05-17", 50), // 0
		point("2025-05-09", 80), point("2025-05-16", 95), // +15
	}
	w := weekOf(points)
	wantNear(t, "mean of the matched weeks", w.level.mean(), (110+118+94+200+50)/5.0)
	if w.level.n != 5 || w.low != 50 || w.high != 200 {
		t.Errorf("n %d, range %v to %v, want 5, 50 to 200", w.level.n, w.low, w.high)
	}
	wantNear(t, "change", w.change, 15)
	if w.season.n != 4 { // 2023 is matched but has no change
		t.Errorf("%d matched changes, want 4", w.season.n)
	}
	wantNear(t, "mean change", w.season.mean(), 3)
	wantNear(t, "sd of the changes", w.season.sd(), math.Sqrt((49+25+1+9)/3.0))
	wantNear(t, "surprise", w.surprise(), 12)

	// The week of 13 May 2022 has two years behind it.
	if early := weekOf(points[:6]); early.level.n != 0 || !math.IsNaN(early.low) || !math.IsNaN(early.high) || !math.IsNaN(early.surprise()) {
		t.Errorf("two matched years make %+v, want nothing known", early)
	}
	if first := weekOf(points[:1]); !math.IsNaN(first.change) {
		t.Errorf("the first week changed by %v", first.change)
	}
}

func TestWeeksEqualADirectComputation(t *testing.T) {
	t.Parallel()
	points := walk(rand.New(rand.NewPCG(13, 14)), date("1996-01-01"), date("2016-12-31"), 300_000, 4_000, friday)
	at := map[time.Time]float64{}
	for _, p := range points {
		at[p.ObservedAt.Time()] = p.Value
	}
	change := func(day time.Time) (float64, bool) {
		v, ok := at[day]
		before, okBefore := at[day.AddDate(0, 0, -7)]
		return v - before, ok && okBefore
	}
	surprises := 0
	for i := range points {
		got := weekOf(points[:i+1])
		var levels, seasonal []float64
		for k := 1; k <= seasonYears; k++ {
			for offset := -3; offset <= 3; offset++ {
				day := earlier(points[i].ObservedAt.Time(), k).AddDate(0, 0, offset)
				if v, ok := at[day]; ok {
					levels = append(levels, v)
				}
				if c, ok := change(day); ok {
					seasonal = append(seasonal, c)
				}
			}
		}
		mean, sd, surprise := math.NaN(), math.NaN(), math.NaN()
		if len(levels) >= 3 {
			mean, sd = stat.MeanStdDev(levels, nil)
		}
		if c, ok := change(points[i].ObservedAt.Time()); ok && len(seasonal) >= 3 {
			surprise = c - stat.Mean(seasonal, nil)
			surprises++
		}
		if !near(got.level.mean(), mean, 0) || !near(got.level.sd(), sd, 0) || !near(got.surprise(), surprise, 1) {
			t.Fatalf("%v: %v, %v, %v, want %v, %v, %v", points[i].ObservedAt,
				got.level.mean(), got.level.sd(), got.surprise(), mean, sd, surprise)
		}
	}
	if surprises < 300 {
		t.Fatalf("only %d surprises compared", surprises)
	}
}

func TestWeekdayOfADay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		day  string
		want int
	}{{"0001-01-01", 0}, {"1969-12-28", 6}, {"1969-12-29", 0}, {"1970-01-01", 3}, {"2024-02-29", 3}, {"2026-11-29", 6}} {
		if got := weekdayOf(dayOf(date(c.day))); got != c.want {
			t.Errorf("%s is day %d of its week, want %d", c.day, got, c.want)
		}
	}
}
