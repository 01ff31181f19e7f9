package picks

import (
	"encoding/csv"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/internal/locale/languages"
	"tidemark/internal/series"
)

func indicator(id string) Indicator {
	return indicators[slices.IndexFunc(indicators, func(d Indicator) bool { return d.ID == id })]
}

// vintages reads the recorded copies of a series: each copy's changes are a vintage of its day.
func vintages(t *testing.T, id series.ID, file string, days ...string) []series.Observation {
	t.Helper()
	var all []series.Observation
	last := map[time.Time]float64{}
	for _, d := range days {
		path := "../../shared/upstream/fred-macro/" + strings.ReplaceAll(file, "DAY", d)
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the recorded data is not here: " + path)
		} else if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			v, err := strconv.ParseFloat(row[1], 64)
			if err != nil {
				continue // a month without a figure
			}
			p := day(row[0][:10])
			if old, seen := last[p]; seen && old == v {
				continue
			}
			last[p] = v
			all = append(all, series.Observation{Series: id, ObservedAt: p, VintageAt: day(d).Add(12*time.Hour + 30*time.Minute), Value: v})
		}
	}
	return all
}

func printOf(t *testing.T, prints []Print, period string) Print {
	t.Helper()
	i := slices.IndexFunc(prints, func(p Print) bool { return p.Period.Equal(day(period)) })
	if i < 0 {
		t.Fatalf("no print of %s", period)
	}
	return prints[i]
}

func TestPayrollsAreReadAsFirstPrinted(t *testing.T) {
	t.Parallel()
	prints := FirstPrints(indicator("payrolls"), vintages(t, "fred.PAYEMS", "vintages/DAY/PAYEMS.csv", "2026-03-22", "2026-04-03", "2026-05-08", "2026-06-05"))
	// February was first printed as -92 thousand; the next two releases made it -133 and -156. March was first 178.
	february, march, april := printOf(t, prints, "2026-02-01"), printOf(t, prints, "2026-03-01"), printOf(t, prints, "2026-04-01")
	if february.Value != -92 {
		t.Errorf("February 2026: %v, want -92", february.Value)
	}
	if march.Value != 178 || march.Previous != -92 || march.Revised != -133 {
		t.Errorf("March 2026: %+v, want 178 after -92, revised to -133", march)
	}
	if april.Previous != 178 || april.Revised != 185 {
		t.Errorf("April 2026: %+v, want 178 before, revised to 185", april)
	}
	events := Surprises(indicator("payrolls"), prints)
	e := events[slices.IndexFunc(events, func(e EconomicEvent) bool { return e.ID == "us-payrolls-2026-03" })]
	text, err := e.Text(English)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(text.Title, "\n", text.Analysis)
	for _, want := range []string{"178,000", "the previous figure was -92,000", "not a survey of forecasters"} {
		if !strings.Contains(text.Title+text.Analysis, want) {
			t.Errorf("no %q in\n%s\n%s", want, text.Title, text.Analysis)
		}
	}
}

func TestNoChangeAcrossAMissingMonth(t *testing.T) {
	t.Parallel()
	prints := FirstPrints(indicator("cpi"), vintages(t, "fred.CPIAUCSL", "fredgraph/CPIAUCSL.csv", "2026-01-15"))
	// There was no survey in October 2025.
	if slices.ContainsFunc(prints, func(p Print) bool { return p.Period.Equal(day("2025-10-01")) }) {
		t.Error("October 2025 has a print")
	}
	november, december := printOf(t, prints, "2025-11-01"), printOf(t, prints, "2025-12-01")
	if !math.IsNaN(november.Value) || !math.IsNaN(november.Previous) {
		t.Errorf("November 2025 is told across the gap: %+v", november)
	}
	if math.Abs(december.Value-0.3) > 1e-9 {
		t.Errorf("December 2025: %v, want 0.3", december.Value)
	}
	events := Surprises(indicator("cpi"), prints)
	gap := events[slices.IndexFunc(events, func(e EconomicEvent) bool { return e.ID == "us-cpi-2025-11" })]
	if _, err := gap.Text(English); err == nil {
		t.Error("a figure that is unknown is told")
	}
	unemployment := Surprises(indicator("unemployment"), FirstPrints(indicator("unemployment"), vintages(t, "fred.UNRATE", "fredgraph/UNRATE.csv", "2026-01-15")))
	level := unemployment[slices.IndexFunc(unemployment, func(e EconomicEvent) bool { return e.ID == "us-unemployment-2025-11" })]
	text, err := level.Text(English)
	if err != nil || !strings.Contains(text.Summary, "The previous figure is missing") || !math.IsNaN(level.Z) {
		t.Errorf("a level after a gap: %+v, %v", text, err)
	}
}

// The rule is written out again here, for the recorded unemployment rate and consumer prices.
func TestSurprisesFollowTheRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id   string
		obs  []series.Observation
		rule func(past []float64, previous float64) float64
	}{
		{"unemployment", vintages(t, "fred.UNRATE", "fredgraph/UNRATE.csv", "2026-01-15"), func(_ []float64, previous float64) float64 { return previous }},
		{"cpi", vintages(t, "fred.CPIAUCSL", "fredgraph/CPIAUCSL.csv", "2026-01-15"), func(past []float64, _ float64) float64 {
			if len(past) < 12 {
				return math.NaN()
			}
			tenths := make([]int, 12)
			for i, v := range past[len(past)-12:] {
				tenths[i] = int(math.Round(10 * v))
			}
			slices.Sort(tenths)
			return math.Round(float64(tenths[5]+tenths[6])/2) / 10
		}},
	} {
		def := indicator(c.id)
		prints := FirstPrints(def, c.obs)
		events := Surprises(def, prints)
		var past, surprises []float64
		checked := 0
		for i, p := range prints {
			want := p.Value - c.rule(past, p.Previous)
			if math.Abs(want-events[i].Surprise) > 1e-6 || math.IsNaN(want) != math.IsNaN(events[i].Surprise) {
				t.Fatalf("%s %s: surprise %v, want %v", c.id, p.Period.Format(time.DateOnly), events[i].Surprise, want)
			}
			if len(surprises) >= 12 && !math.IsNaN(want) {
				window := slices.Clone(surprises[max(0, len(surprises)-60):])
				z := want / math.Max(1.4826*mad(window), def.Step)
				if math.Abs(z-events[i].Z) > 1e-6 {
					t.Fatalf("%s %s: z %v, want %v", c.id, p.Period.Format(time.DateOnly), events[i].Z, z)
				}
				checked++
			}
			if !math.IsNaN(p.Value) {
				past = append(past, p.Value)
			}
			pandemic := p.Period.Format("2006-01") >= "2020-03" && p.Period.Format("2006-01") <= "2021-06"
			if !math.IsNaN(want) && !pandemic {
				surprises = append(surprises, want)
			}
		}
		if checked < 500 {
			t.Errorf("%s: only %d checked", c.id, checked)
		}
		// April 2020 is the largest surprise of the labour market by far, and does not blunt those after it.
		if c.id == "unemployment" {
			april := events[slices.IndexFunc(events, func(e EconomicEvent) bool { return e.ID == "us-unemployment-2020-04" })]
			if april.Z < 30 || april.Severity != Critical {
				t.Errorf("April 2020: z %v, severity %d", april.Z, april.Severity)
			}
		}
	}
}

func mad(v []float64) float64 {
	middle := func(x []float64) float64 {
		s := slices.Clone(x)
		slices.Sort(s)
		return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
	}
	m := middle(v)
	d := make([]float64, len(v))
	for i := range v {
		d[i] = math.Abs(v[i] - m)
	}
	return middle(d)
}

// A median of two neighbours lies between two published digits. It is rounded before the surprise and its z-score are made of it, so that a
// reader can make them again from the figures that are shown. The text and the description of the answer say so.
func TestAnExpectedFigureBetweenTwoDigitsIsRoundedAndTheTextSaysSo(t *testing.T) {
	t.Parallel()
	def := indicator("cpi")
	var prints []Print
	for i := range 27 { // half of the last twelve are 0.2, half 0.3: their median is 0.25
		value := 0.2 + 0.1*float64(i%2)
		if i < 14 {
			value = 0.1 * float64(i%6)
		}
		if i == 26 {
			value = 0.9
		}
		period := day("2023-01-01").AddDate(0, i, 0)
		prints = append(prints, Print{Period: period, At: period.AddDate(0, 1, 12), Value: def.round(value), Previous: 0.2, Revised: 0.2})
	}
	events := Surprises(def, prints)
	e := events[26]
	if def.Format(e.Expected) != "0.3" || e.Expected != def.round(e.Expected) {
		t.Errorf("expected %v, want 0.3", e.Expected)
	}
	var past []float64 // from the figures as they are shown
	for _, p := range events[:26] {
		if !math.IsNaN(p.Expected) {
			past = append(past, shownNumber(t, def.Format(p.Print.Value))-shownNumber(t, def.Format(p.Expected)))
		}
	}
	if want := (0.9 - 0.3) / math.Max(1.4826*mad(past), def.Step); len(past) < 12 || math.Abs(e.Z-want) > 1e-9 {
		t.Errorf("z is %v, and %v from the %d figures before that are shown", e.Z, want, len(past))
	}
	for lang, word := range map[Lang]string{"en": "rounded", "es": "redondeada", "pt": "arredondada", "hi": "पूर्णांकित"} {
		for _, years := range []int{0, 5} {
			e.SeasonYears = years
			if text, err := e.Text(lang); err != nil || !strings.Contains(text.Analysis, word) {
				t.Errorf("%s: the text does not say that the expected figure is rounded (%v): %s", lang, err, text.Analysis)
			}
		}
	}
	for file, words := range map[string]string{
		"../api/openapi/service.json": "Surprise and z-score are calculated from the rounded value",
		"../docs/method-picks.md":     "The expected figure and the surprise are rounded\nto the published step first",
	} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), words) {
			t.Errorf("%s does not say that the expected figure is rounded before its z-score (%v)", file, err)
		}
	}
}

func shownNumber(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSeverityOfEconomicEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id      string
		z       float64
		against int
		want    Severity
	}{
		{"gdp", 0.4, 0, 1},
		{"gdp", -0.5, 0, 2},
		{"gdp", 1, 0, 3},
		{"gdp", -1.5, 0, 4},
		{"gdp", 2.5, 0, 5},
		{"cpi", 0.4, 0, 2},
		{"cpi", 9, 0, 5},
		{"jobless-claims", 0, 0, 1},
		{"jobless-claims", 1.6, 0, 3},
		{"cpi", math.NaN(), 0, 2},
		{"fomc", 0, 0, 2},
		{"fomc", 0, 3, 3},
	} {
		e := EconomicEvent{Indicator: indicator(c.id), Z: c.z, Against: c.against}
		if got := e.severity(); got != c.want {
			t.Errorf("%s with a surprise of %v and %d against: %d, want %d", c.id, c.z, c.against, got, c.want)
		}
	}
}

// The meetings of 2026: holds at 3.50 to 3.75 percent, in July with three votes against.
func TestAHoldWithDissentRanksAboveAUnanimousOne(t *testing.T) {
	t.Parallel()
	def := indicator("fomc")
	var obs []series.Observation
	meetings := []string{"2023-02-01", "2023-03-22", "2023-05-03", "2023-06-14", "2023-07-26", "2023-09-20", "2023-11-01", "2023-12-13", "2024-01-31", "2024-03-20", "2024-05-01", "2024-06-12", "2024-07-31", "2024-09-18", "2024-11-07", "2024-12-18", "2025-01-29", "2025-03-19", "2025-05-07", "2025-06-18", "2025-07-30", "2025-09-17", "2025-10-29", "2025-12-10", "2026-01-28", "2026-03-18", "2026-04-29", "2026-06-17", "2026-07-29"}
	upper := []float64{4.75, 5.00, 5.25, 5.25, 5.50, 5.50, 5.50, 5.50, 5.50, 5.50, 5.50, 5.50, 5.50, 5.00, 4.75, 4.50, 4.50, 4.50, 4.50, 4.50, 4.50, 4.25, 4.00, 3.75, 3.75, 3.75, 3.75, 3.75, 3.75}
	for i, m := range meetings {
		obs = append(obs, series.Observation{Series: def.Series, ObservedAt: day(m), VintageAt: day(m).Add(18 * time.Hour), Value: upper[i]})
	}
	events := Surprises(def, FirstPrints(def, obs))
	n := len(events)
	june, july := events[n-2].WithVote(3.50, 12, 0), events[n-1].WithVote(3.50, 9, 3)
	if june.Severity != 2 || july.Severity != 3 {
		t.Errorf("severities %d and %d, want 2 and 3", june.Severity, july.Severity)
	}
	if first := SortEconomic([]EconomicEvent{june, july})[0]; first.ID != "us-fomc-2026-07-29" {
		t.Errorf("the event of the day is %s", first.ID)
	}
	text, err := july.Text(English)
	if err != nil || text.Title != "The Federal Reserve keeps its rate between 3.50% and 3.75%" || !strings.Contains(text.Summary, "The vote was 9 to 3.") {
		t.Errorf("%+v, %v", text, err)
	}
	cut := events[n-6].WithVote(3.50, 10, 2) // December 2025
	if text, err := cut.Text(English); err != nil || text.Title != "The Federal Reserve cuts its rate by 25 basis points, to between 3.50% and 3.75%" {
		t.Errorf("%+v, %v", text, err)
	}
	lowest := cut.WithVote(0, 10, 2) // as of March 2020
	lowest.Print.Value = 0.25
	if text, err := lowest.Text(English); err != nil || text.Title != "The Federal Reserve cuts its rate by 25 basis points, to between 0.00% and 0.25%" {
		t.Errorf("%+v, %v", text, err)
	}
	if cut.Severity != 5 {
		t.Errorf("a cut by a quarter against two votes has severity %d", cut.Severity)
	}
}

func TestEventOfTheDay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 13, 13, 30, 0, 0, time.UTC)
	make := func(id string, severity Severity, hour int) EconomicEvent {
		return EconomicEvent{ID: id, Indicator: indicator(id), Severity: severity, Print: Print{At: at.Add(time.Duration(hour) * time.Hour)}}
	}
	events := []EconomicEvent{make("jobless-claims", 4, 0), make("unemployment", 4, 0), make("payrolls", 4, 0), make("cpi", 3, 0), make("gdp", 5, 3)}
	var got []string
	for _, e := range SortEconomic(events) {
		got = append(got, e.ID)
	}
	if want := []string{"gdp", "payrolls", "unemployment", "jobless-claims", "cpi"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}

func TestFirstPrintsOfWithdrawnAndLateFigures(t *testing.T) {
	t.Parallel()
	def := indicator("unemployment")
	at := func(d string) time.Time { return day(d).Add(13 * time.Hour) }
	obs := []series.Observation{
		{Series: def.Series, ObservedAt: day("2026-01-01"), VintageAt: at("2026-02-06"), Value: 4.3},
		{Series: def.Series, ObservedAt: day("2026-02-01"), VintageAt: at("2026-03-06"), Marker: "NA"},
		{Series: def.Series, ObservedAt: day("2026-02-01"), VintageAt: at("2026-03-10"), Value: 4.4},
		{Series: def.Series, ObservedAt: day("2026-01-01"), VintageAt: at("2026-03-09"), Value: 4.2},
		{Series: def.Series, ObservedAt: day("2026-03-01"), VintageAt: at("2026-04-03"), Marker: series.MarkerWithdrawn},
		{Series: "fred.OTHER", ObservedAt: day("2026-03-01"), VintageAt: at("2026-04-03"), Value: 99},
	}
	prints := FirstPrints(def, obs)
	if len(prints) != 2 {
		t.Fatalf("%d prints: %+v", len(prints), prints)
	}
	february := prints[1]
	if february.Value != 4.4 || !february.At.Equal(at("2026-03-10")) || february.Previous != 4.3 || math.Abs(february.Revised-4.2) > 1e-9 {
		t.Errorf("February: %+v, want 4.4 on March 10 after 4.3, revised to 4.2", february)
	}
}

func TestEconomicTextsNameTheSameNumbers(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	count := 0
	for _, def := range indicators {
		for _, value := range []float64{2, 0, -1, 0.5} {
			for _, expected := range []float64{0, 2, nan} {
				p := Print{Period: day("2026-07-01"), At: time.Date(2026, 8, 7, 12, 30, 0, 0, time.UTC), Value: value * def.Step * 3, Previous: expected * def.Step * 3, Revised: expected*def.Step*3 + def.Step}
				e := EconomicEvent{ID: "x", Indicator: def, Print: p, Expected: expected * def.Step * 3, Z: value, Surprise: (value - expected) * def.Step * 3, Severity: 3}
				if def.ID == "fomc" {
					e = e.WithVote(4.25, 9, 3)
				}
				texts := map[Lang]string{}
				for _, lang := range Langs() {
					x, err := e.Text(lang)
					if err != nil {
						t.Fatal(err)
					}
					texts[lang] = x.Title + "\n" + x.Summary + "\n" + x.Analysis
				}
				wantSameNumbers(t, def.ID, e.Facts(), texts)
				count++
			}
		}
	}
	if count != 12*len(indicators) {
		t.Errorf("%d texts", count)
	}
}

// A surprise within the usual range says nothing about companies: only one beyond a deviation is given a meaning.
func TestASmallSurpriseIsGivenNoMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		z            float64
		means, small bool
	}{{0.4, false, true}, {-0.99, false, true}, {1, true, false}, {-2.5, true, false}, {math.NaN(), false, false}} {
		e := EconomicEvent{
			ID: "us-cpi-2026-10", Indicator: indicator("cpi"), Z: c.z, Expected: 0.2, Surprise: math.Copysign(0.2, c.z),
			Print: Print{Period: day("2026-10-01"), At: time.Date(2026, 11, 12, 13, 30, 0, 0, time.UTC), Value: 0.4, Previous: 0.2, Revised: 0.2},
		}
		for _, l := range languages.All() {
			text, err := e.Text(l.Code)
			if err != nil {
				t.Fatal(err)
			}
			means := strings.Contains(text.Analysis, l.Phrases["econ.meaning.cpi.above"]) || strings.Contains(text.Analysis, l.Phrases["econ.meaning.cpi.below"])
			if small := strings.Contains(text.Analysis, l.Phrases["econ.meaning.small"]); means != c.means || small != c.small {
				t.Errorf("z %v in %s: a meaning is given: %v, called small: %v", c.z, l.Code, means, small)
			}
		}
	}
}
