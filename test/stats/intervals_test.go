package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat"

	"tidemark/internal/series"
	"tidemark/signals"
)

// wednesdays makes each daily price known with the report of the Wednesday after its Monday, at 15:00.
func wednesdays(set series.Set) series.Set {
	for _, points := range set {
		for i := range points {
			day := points[i].ObservedAt
			monday := day.AddDate(0, 0, (int(time.Monday-day.Time().Weekday())+7)%7)
			points[i].VintageAt = series.InstantOf(monday.AddDate(0, 0, 2).Time().Add(15 * time.Hour))
		}
	}
	return set
}

type recordedInterval struct {
	id   string
	read func(testing.TB) series.Set
	at   string
	// stated is a text of the brief.
	stated      string
	hits, cases int
	again       func(*testing.T, series.Set) (hits, cases int)
}

// intervals are the signals whose intervals recorded data can measure, with the figures that their briefs state. The last column is a
// count by other code, below.
var intervals = []recordedInterval{
	{"crack-spread-321", func(tb testing.TB) series.Set { return wednesdays(spotPrices(tb)) }, "2025-12-30", "916 of 1,004 releases (91.2%)", 916, 1004, crackAgain},
	{"eia-weekly-petroleum", weeklyPetroleum, "2026-05-14", "1,805 of 2,010 weeks (89.8%)", 1805, 2010, petroleumAgain},
	{"iowa-corn-yield", iowaCorn, "2012-03-01", "107 of Iowa's 121 finals", 107, 121, nil},
}

// An interval that is built for 90 % has a record, and the brief states the figures of it.
func TestIntervalsHaveTheRecordsThatTheirBriefsState(t *testing.T) {
	t.Parallel()
	for _, c := range intervals {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			set, d := c.read(t), definition(t, c.id)
			basis, r := d.MeasureInterval(set, nil, date(c.at))
			if basis != signals.BasisMeasured || r.Hits != c.hits || r.Cases != c.cases {
				t.Fatalf("%s: %+v, want %d of %d", basis, r, c.hits, c.cases)
			}
			if !strings.Contains(strings.Join(strings.Fields(d.Brief), " "), c.stated) {
				t.Errorf("the brief does not state %q", c.stated)
			}
			if c.again != nil {
				if hits, cases := c.again(t, set); hits != c.hits || cases != c.cases {
					t.Errorf("counted again: %d of %d, the record has %d of %d", hits, cases, c.hits, c.cases)
				}
			}
		})
	}
	for _, d := range signals.All() {
		if d.Interval.Trials == nil && !strings.Contains(d.Brief, "assumed") {
			t.Errorf("%s: the interval is assumed, and the brief does not say so", d.ID)
		}
	}
}

// crackAgain counts by days: it compares each Monday's interval, from the sixty changes before it, with the last price up to Wednesday.
func crackAgain(_ *testing.T, set series.Set) (hits, cases int) {
	legs := make([]map[int]float64, 3)
	for i, id := range []series.ID{"eia.RWTC", "eia.EER_EPMRU_PF4_Y35NY_DPG", "eia.EER_EPD2DXL0_PF4_Y35NY_DPG"} {
		legs[i] = map[int]float64{}
		for _, p := range set[id] {
			legs[i][int(p.ObservedAt.Time().Unix()/86400)] = p.Value
		}
	}
	var days []int
	var values []float64
	for day := int(date("2006-06-14").Unix() / 86400); day <= int(date("2025-12-08").Unix()/86400); day++ {
		c, okC := legs[0][day]
		g, okG := legs[1][day]
		d, okD := legs[2][day]
		if okC && okG && okD {
			days, values = append(days, day), append(values, 28*g+14*d-c)
		}
	}
	release := func(day int) int { // the Wednesday on which a day's price comes: 1970-01-07 was one
		monday := day + ((4-day)%7+7)%7
		return monday + 2
	}
	for i, day := range days {
		if i < 60 || i+1 < len(days) && release(days[i+1]) == release(day) {
			continue // not the newest of its release
		}
		var changes []float64
		for j := i - 59; j <= i; j++ {
			changes = append(changes, values[j]-values[j-1])
		}
		business := 0
		for d := day + 1; d <= release(day); d++ {
			if weekday := (d + 4) % 7; weekday != 0 && weekday != 6 {
				business++
			}
		}
		half := 1.645 * stat.StdDev(changes, nil) * math.Sqrt(float64(business))
		later := i
		for later+1 < len(days) && days[later+1] <= release(day) {
			later++
		}
		if later == i {
			continue
		}
		cases++
		if values[i]-half <= values[later] && values[later] <= values[i]+half {
			hits++
		}
	}
	return hits, cases
}

// petroleumAgain takes each week's surprise from the same weeks by date, and quantiles by counting.
func petroleumAgain(_ *testing.T, set series.Set) (hits, cases int) {
	stocks := map[time.Time]float64{}
	for _, p := range set["eia.WCESTUS1"] {
		stocks[p.ObservedAt.Time()] = p.Value
	}
	change := func(week time.Time) (float64, bool) {
		now, ok := stocks[week]
		before, okBefore := stocks[week.AddDate(0, 0, -7)]
		return now - before, ok && okBefore
	}
	surprise := func(week time.Time) (float64, bool) {
		own, ok := change(week)
		var sum, n float64
		for k := 1; k <= 5; k++ {
			same := earlierBy(week, k)
			for same.Weekday() != time.Friday { // three days either way
				same = same.AddDate(0, 0, map[time.Weekday]int{
					time.Saturday: -1, time.Sunday: -2, time.Monday: -3, time.Tuesday: 3, time.Wednesday: 2, time.Thursday: 1,
				}[same.Weekday()])
			}
			if c, ok := change(same); ok {
				sum, n = sum+c, n+1
			}
		}
		return own - sum/n, ok && n >= 3
	}
	known := map[time.Time]float64{}
	for week := range stocks {
		if s, ok := surprise(week); ok {
			known[week] = s
		}
	}
	for week, value := range stocks {
		next, ok := stocks[week.AddDate(0, 0, 7)]
		if !ok {
			continue
		}
		var window []float64
		for w := week; w.After(earlierBy(week, 5)); w = w.AddDate(0, 0, -7) {
			if s, ok := known[w]; ok {
				window = append(window, s)
			}
		}
		if len(window) < 104 {
			continue
		}
		cases++
		lo, hi := nth(window, 0.05), nth(window, 0.95)
		if value+lo <= next && next <= value+hi {
			hits++
		}
	}
	return hits, cases
}

// earlierBy is the same month and day some years earlier, the 28th for a 29 February that a year does not have.
func earlierBy(t time.Time, years int) time.Time {
	out := time.Date(t.Year()-years, t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	if out.Month() != t.Month() {
		out = out.AddDate(0, 0, -1)
	}
	return out
}

func TestThePrintedTextOfACountIsThatOfTheBrief(t *testing.T) {
	t.Parallel()
	for _, c := range intervals {
		if share := fmt.Sprintf("%.1f", 100*float64(c.hits)/float64(c.cases)); strings.Contains(c.stated, "(") && !strings.Contains(c.stated, share) {
			t.Errorf("%s states %q, the share is %s", c.id, c.stated, share)
		}
	}
}

// nth is the smallest value that at least the share p does not exceed.
func nth(values []float64, p float64) float64 {
	best := math.Inf(1)
	for _, v := range values {
		n := 0
		for _, w := range values {
			if w <= v {
				n++
			}
		}
		if float64(n) >= p*float64(len(values)) {
			best = min(best, v)
		}
	}
	return best
}
