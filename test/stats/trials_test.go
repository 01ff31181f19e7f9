package stats

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/signals"
	"tidemark/signals/forecast"
)

var updateTrials = flag.Bool("update-trials", false, "write docs/trials.md anew")

// TestTheReportOfTrials makes docs/trials.md from recorded data and compares. With -update-trials it writes the page:
//
//	go test ./test/stats -run TestTheReportOfTrials -update-trials
func TestTheReportOfTrials(t *testing.T) {
	t.Parallel()
	got := trialsHead + stockTrials(t) + cornTrialsTable(t) + crackTrials(t) + trialsWithoutData + registeredTrials()
	const page = "../../docs/trials.md"
	if *updateTrials {
		if err := os.WriteFile(page, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("docs/trials.md is not what recorded data say; write it with -update-trials. It should be:\n%s", got)
	}
}

const trialsHead = `# What was tried, and what it gained

A change of a method is taken only if it gains in years that were held back: years that no choice was made on. Each table is measured on recorded
files of the publishers by ` + "`go test ./test/stats -run TestTheReportOfTrials -update-trials`" + `, and held by the same test.

`

// registered fails unless the registry has a trial: what runs on history is in it before its results are shown.
func registered(t *testing.T, figure, rule string) {
	t.Helper()
	if !slices.ContainsFunc(signals.EarlierTrials(), func(e signals.EarlierTrial) bool { return e.Figure == figure && e.Rule == rule }) {
		t.Fatalf("the registry has no trial %q of %q: add it to signals.EarlierTrials before a result of it is shown", rule, figure)
	}
}

// registeredTrials lists what each installation writes into its registry.
func registeredTrials() string {
	var b strings.Builder
	b.WriteString("\n## In the registry\n\n" +
		"All of these ran before there was a registry of methods. Each installation records them before the first version of the method that it runs, so that\n" +
		"`/api/methods` and the transparency log count them. Their SHA-256 is of their description. A row of a table above that is not in the list fails the\n" +
		"test.\n\n" +
		"| method | version | tried on | rule | status |\n| --- | --- | --- | --- | --- |\n")
	for _, e := range signals.EarlierTrials() {
		status := map[bool]string{true: "tried (taken)", false: "dropped"}[e.Taken]
		_, _ = fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s | %s |\n", e.Method, e.ID, e.Figure, e.Rule, status)
	}
	return b.String()
}

// span is a stretch of time with a name.
type span struct{ name, from, to string }

// stockTrials judges the forecasts of the weekly changes of stocks. Their models were made for crude oil, on its years to May 2025. Nothing was
// chosen on gasoline and distillate.
func stockTrials(t *testing.T) string {
	t.Helper()
	in := weeklyPetroleum(t)
	var b strings.Builder
	b.WriteString("## Taken: the weekly changes of gasoline and distillate stocks\n\n" +
		"The model is that of crude oil without its third regression. It was made on crude oil's weeks to May 2025, and nothing was chosen on the two others; the\n" +
		"weeks from 2016 on are held back beside that. A gain is clear where both 90% intervals lie above 0. Distillate's is not, against the season. Nor is\n" +
		"crude oil's in its own weeks held back, where its third regression is missing: the recorded files of the other stocks end in May 2025.\n\n" +
		"| figure | weeks | number | CRPS | skill against no change | against the season | held of 50, 80, 90% | gain |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range []struct {
		figure, name string
		spans        []span
	}{
		{"gasoline_stocks_change", "gasoline", []span{{"1998 to 2015", "1998-05-01", "2015-12-31"}, {"2016 to May 2025", "2016-01-01", "2025-05-16"}}},
		{"distillate_stocks_change", "distillate", []span{{"1998 to 2015", "1998-05-01", "2015-12-31"}, {"2016 to May 2025", "2016-01-01", "2025-05-16"}}},
		{"crude_stocks_change", "crude oil", []span{{"1998 to May 2025", "1998-05-01", "2025-05-16"}, {"from then to May 2026", "2025-05-17", "2026-05-31"}}},
	} {
		if c.name != "crude oil" { // its own model, as the registry's versions of the forecasts have it
			registered(t, "weekly change of "+c.name+" stocks", "the model of crude oil without its third regression")
		}
		all := again(t, figure(t, c.figure), in)
		for _, part := range c.spans {
			s := forecast.NewScorecard(slices.DeleteFunc(slices.Clone(all), func(g forecast.Graded) bool {
				return g.Period.Before(date(part.from)) || g.Period.After(date(part.to))
			}))
			gain := "no"
			switch a, b := s.Against[0], s.Against[1]; {
			case a.Lo > 0 && b.Lo > 0:
				gain = "clear"
			case a.Skill > 0 && b.Skill > 0:
				gain = "not clear"
			}
			_, _ = fmt.Fprintf(&b, "| %s | %s | %d | %.0f | %s | %s | %.0f, %.0f, %.0f | %s |\n", c.name, part.name, s.N, s.CRPS, skillOf(s.Against[0]), skillOf(s.Against[1]),
				percent(s, 0), percent(s, 1), percent(s, 2), gain)
			if c.name != "crude oil" && gain == "no" {
				t.Errorf("%s, %s: no gain, and yet it is taken", c.name, part.name)
			}
		}
	}
	return b.String()
}

func skillOf(c forecast.Comparison) string {
	return fmt.Sprintf("%.1f%% [%.1f, %.1f]", 100*c.Skill, 100*c.Lo, 100*c.Hi)
}

// cornRules are ways to foretell a final from the forecast of a month and the trend. Each gets the errors of both in earlier years, at most 25.
var cornRules = []struct {
	name string
	rule func(forecast, trend float64, ofForecast, ofTrend []float64) float64
}{
	{"NASS alone", func(f, _ float64, _, _ []float64) float64 { return f }},
	{"shipped: each by its mean square", func(f, t float64, ef, et []float64) float64 {
		return mixed(f, t, square(et, et)/(square(et, et)+square(ef, ef)))
	}},
	{"with covariance", func(f, t float64, ef, et []float64) float64 { return mixed(f, t, covaryingWeight(ef, et)) }},
	{"with covariance, 0 to 1", func(f, t float64, ef, et []float64) float64 {
		return mixed(f, t, min(max(covaryingWeight(ef, et), 0), 1))
	}},
	{"with covariance and bias, 0 to 1", func(f, t float64, ef, et []float64) float64 {
		bf, bt := average(ef), average(et)
		return mixed(f+bf, t+bt, min(max(covaryingWeight(shifted(ef, bf), shifted(et, bt)), 0), 1))
	}},
	{"NASS with its bias", func(f, _ float64, ef, _ []float64) float64 { return f + average(ef) }},
	{"NASS with half its bias", func(f, _ float64, ef, _ []float64) float64 { return f + average(ef)/2 }},
}

func mixed(f, t, weight float64) float64 { return t + weight*(f-t) }

// covaryingWeight is the forecast's weight with the least mean square of the mixture's errors.
func covaryingWeight(ofForecast, ofTrend []float64) float64 {
	both := square(ofForecast, ofTrend)
	return (square(ofTrend, ofTrend) - both) / (square(ofTrend, ofTrend) + square(ofForecast, ofForecast) - 2*both)
}

// square is the mean product of errors.
func square(a, b []float64) float64 {
	var sum float64
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum / float64(len(a))
}

func average(list []float64) float64 {
	var sum float64
	for _, x := range list {
		sum += x
	}
	return sum / float64(len(list))
}

func shifted(list []float64, by float64) []float64 {
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = x - by
	}
	return out
}

// lineTo is the least squares line through the last 25 finals before a year, at that year.
func lineTo(finals map[int]float64, year int) (float64, bool) {
	var x, y []float64
	for k := year - 1; k > year-200 && len(x) < 25; k-- {
		if v, ok := finals[k]; ok {
			x, y = append(x, float64(k)), append(y, v)
		}
	}
	if len(x) < 25 {
		return 0, false
	}
	mx, my := average(x), average(y)
	return my + square(shifted(x, mx), shifted(y, my))/square(shifted(x, mx), shifted(x, mx))*(float64(year)-mx), true
}

// cornTrialsTable foretells Illinois' finals by each rule, with the years before each alone.
func cornTrialsTable(t *testing.T) string {
	t.Helper()
	set := illinoisCorn(t)
	finals, forecasts := map[int]float64{}, map[int]map[time.Month]float64{}
	for _, p := range set[cornFinal] {
		finals[p.ObservedAt.Time().Year()] = p.Value
	}
	for _, p := range set[cornForecast] {
		year := p.ObservedAt.Time().Year()
		if forecasts[year] == nil {
			forecasts[year] = map[time.Month]float64{}
		}
		forecasts[year][p.ObservedAt.Time().Month()] = p.Value
	}
	months := []time.Month{time.August, time.September, time.October, time.November}
	spans := []struct {
		name     string
		from, to int
	}{{"1986 to 2004", 1986, 2004}, {"2005 to 2024, held back", 2005, 2024}}
	// errors[rule][span][month]
	errors := make([][2][4][]float64, len(cornRules))
	for m, month := range months {
		var ofForecast, ofTrend []float64
		for year := 1980; year <= 2024; year++ {
			final, ok := finals[year]
			f, there := forecasts[year][month]
			trend, known := lineTo(finals, year)
			if !ok || !there || !known {
				continue
			}
			for s, part := range spans {
				if year < part.from || year > part.to || len(ofForecast) < 5 {
					continue
				}
				for r, rule := range cornRules {
					errors[r][s][m] = append(errors[r][s][m], final-rule.rule(f, trend, ofForecast, ofTrend))
				}
			}
			ofForecast, ofTrend = last25(append(ofForecast, final-f)), last25(append(ofTrend, final-trend))
		}
	}
	var b strings.Builder
	b.WriteString("\n## Not taken: other weights for corn\n\n" +
		"Root mean square error of the final, in bushels an acre, of Illinois (no history of Iowa's own forecasts is recorded). Each year is foretold from at most 25\n" +
		"years before it. The gate: never worse than NASS alone in any month, in the years held back.\n\n" +
		"| rule | years | August | September | October | November | never worse than NASS |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for s, part := range spans {
		for r, rule := range cornRules {
			registered(t, "corn yield", rule.name)
			never := "yes"
			var cells []string
			for m := range months {
				own, nass := math.Sqrt(square(errors[r][s][m], errors[r][s][m])), math.Sqrt(square(errors[0][s][m], errors[0][s][m]))
				cells = append(cells, fmt.Sprintf("%.2f", own))
				if own > nass+1e-9 {
					never = "no"
				}
			}
			_, _ = fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", rule.name, part.name, strings.Join(cells, " | "), never)
		}
	}
	return b.String()
}

func last25(list []float64) []float64 { return list[max(0, len(list)-25):] }

// crackTrials compares what is said of the spread on a Monday five and three business days before. Two fresher days could be read from EIA's page
// of daily prices, if its licence and its form were known.
func crackTrials(t *testing.T) string {
	t.Helper()
	for _, rule := range []string{"from Monday", "from Wednesday"} {
		registered(t, "crack spread of the next Monday", rule)
	}
	days := crackDays(spotPrices(t))
	on := map[time.Time]int{}
	for i, d := range days {
		on[d.day] = i
	}
	newest := func(day time.Time) (int, bool) { // the last priced day up to one, at most four days before
		for back := range 5 {
			if i, ok := on[day.AddDate(0, 0, -back)]; ok {
				return i, true
			}
		}
		return 0, false
	}
	type origin struct {
		day    time.Time
		errors [2]float64 // of the random walk from Monday and from Wednesday, in units of scale
		scale  [2]float64
		score  [2]float64
	}
	var list []origin
	variance := ewmaOf(days)
	for monday := date("2006-06-19"); monday.Before(date("2025-12-08")); monday = monday.AddDate(0, 0, 7) {
		y, ok := newest(monday.AddDate(0, 0, 7))
		a, okA := newest(monday)
		b, okB := newest(monday.AddDate(0, 0, 2))
		if !ok || !okA || !okB || a < 60 {
			continue
		}
		o := origin{day: monday}
		for k, from := range []int{a, b} {
			o.scale[k] = math.Sqrt(variance[from] * []float64{5, 3}[k])
			o.errors[k] = (days[y].value - days[from].value) / o.scale[k]
			var past []float64
			for _, p := range list[max(0, len(list)-260):] {
				past = append(past, p.errors[k])
			}
			if o.score[k] = math.NaN(); len(past) >= 52 {
				slices.Sort(past)
				var q forecast.Quantiles
				for i, level := range forecast.Levels {
					h := min(max(float64(len(past)+1)*level, 1), float64(len(past)))
					j := min(int(h), len(past)-1)
					q[i] = days[from].value + o.scale[k]*(past[j-1]+(h-float64(j))*(past[j]-past[j-1]))
				}
				o.score[k] = q.CRPS(days[y].value)
			}
		}
		list = append(list, o)
	}
	var b strings.Builder
	b.WriteString("\n## Not taken yet: two fresher days for the crack spread\n\n" +
		"EIA's spot prices come on Wednesdays for the days up to Monday. Its page of daily prices would show Tuesday and Wednesday too. This is the CRPS, in dollars a barrel,\n" +
		"of a random walk to the next Monday from each, with spreads of its own errors before. It gains, and is not taken: no copy of that page is recorded, so\n" +
		"neither its form nor that its prices are those of the spot price series can be tested. Its prices are a third party's, too.\n\n" +
		"| weeks | number | from Monday | from Wednesday | less by |\n| --- | --- | --- | --- | --- |\n")
	for _, part := range []span{{"2007 to 2015", "2007-06-01", "2015-12-31"}, {"2016 to 2025, held back", "2016-01-01", "2025-12-31"}} {
		var sums [2]float64
		n := 0.0
		for _, o := range list {
			if !o.day.Before(date(part.from)) && !o.day.After(date(part.to)) && !math.IsNaN(o.score[0]+o.score[1]) {
				sums[0], sums[1], n = sums[0]+o.score[0], sums[1]+o.score[1], n+1
			}
		}
		_, _ = fmt.Fprintf(&b, "| %s | %.0f | %.3f | %.3f | %.1f%% |\n", part.name, n, sums[0]/n, sums[1]/n, 100*(1-sums[1]/sums[0]))
	}
	return b.String()
}

// ewmaOf is for each day the running variance of the daily changes up to it.
func ewmaOf(days []crackDay) []float64 {
	out := make([]float64, len(days))
	v := 1.0
	for i := range days {
		if i > 0 {
			e := days[i].value - days[i-1].value
			v = 0.94*v + 0.06*min(e*e, 25*v)
		}
		out[i] = v
	}
	return out
}

const trialsWithoutData = `
## Not measurable on recorded data

- **Corn by crop condition, from June on.** The weekly ratings are read and stored (` + "`nass.IA.CORN.CONDITION`" + `), but no recorded file holds
  them, so no test could hold a year back.
- **NO2 with its number of clear days as its error.** The monthly grids do not state how many days a cell is the mean of. One recorded file has days of
  one place with their cells: 51 valid days of ten weeks, less than a graded month.
- **Stocks of the other fuels and the refineries' use for the weekly change**, **the month's known days for the LNG margin**, **a direction for LNG**: tried before on recorded
  data, without gain (0.3% at most; slightly worse; none). They are not repeated.
`
