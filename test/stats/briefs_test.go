package stats

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// method are figures of a brief that state how a signal is made; the tests of its code and the SQL beside this file hold them.
const method = "the method"

// figures are the figures of each brief, in the order of the text, with the test that finds them on recorded data.
var figures = map[string][]struct{ texts, shownBy string }{
	"iowa-corn-yield": {
		{"13.3 11.7 17.7 12.9 2.9", "TestTheMeasuredFiguresOfTheCornBrief"},
		{"90%", method},
		{"88% 91% 89% 93% 96%", "TestTheMeasuredFiguresOfTheCornBrief"},
		{"12.3 9.4 6.2 4.7 20.8", "TestTheMeasuredFiguresOfTheCornBrief"},
		{"10.7 8.1 4.9 2.8", "TestTheForecastsOfNASSAloneAreCompared"},
		{"11.3 9.0 5.0 2.7 10.4 8.6 5.2 2.8", "TestTheMeasuredFiguresOfTheCornBrief"},
	},
	"tropomi-no2-economic": {
		{"60% 1.645 90%", method},
		{"1.15 1.41 1.47", "TestTheFactorsBetweenFortnightsOfTheNO2Brief"},
		{"30% 34% 38%", "TestTheLockdownIsSeenInRecordedColumns"},
	},
	"crack-spread-321": {
		{"84.54 2.57 2.79 26.48 90%", method},
		{"1,004 91.2%", "TestIntervalsHaveTheRecordsThatTheirBriefsState"},
		{"90.4 91.7 92.7%", "TestTheCrackIntervalHeldWhatItsBriefSaysOfEachHorizon"},
		{"0.108 0.189", "TestTheOppositeOfMomentumBeatsTheCrackSpread"},
		{"-36.98 65.62 15.9 75.89 -1.62", "TestTheRecordedCrackSpreadHasItsKnownExtremes"},
	},
	"eia-weekly-petroleum": {
		{"1,328 3,537 +4,865 0.84", "TestRecordedDataGiveTheFiguresOfAnIndependentScript"},
		{"5% 95% 90%", method},
		{"1,805 2,010 89.8%", "TestIntervalsHaveTheRecordsThatTheirBriefsState"},
		{"2,058", "TestWeeklyStocksWereNotRevisedInFourYears"},
	},
	"lng-arbitrage": {
		{"115% 3.00 2.25 2.00 0.30 3.00 1.4826", method},
		{"9.93 11.96 4.74 3.53", "TestTheMeasuredFiguresOfTheLNGBrief"},
		{"3.00 2.25 90% 0.75", method},
		{"0.12 1.97", "TestJapansNewestMonthIsTheOnlyPriceThatWasRevised"},
		{"4.0", method}, // the name of the licence
		{"-4.74 55.64", "TestTheMeasuredFiguresOfTheLNGBrief"},
	},
	"hormuz-transit": {
		{"0.83", "TestTheMeasuredFiguresOfTheHormuzBrief"},
		{"90% 5% 95%", method},
		{"-6.9 3.4 88% 93% 2.4", "TestTheMeasuredFiguresOfTheHormuzBrief"},
	},
}

// A figure that a brief states is found by a test of this package, on recorded data. A new one has none, and fails here.
func TestEveryFigureOfABriefIsFoundByATest(t *testing.T) {
	t.Parallel()
	figure := regexp.MustCompile(`[+-]?\d[\d,]*\.\d+%?|[+-]?\d{1,3}(?:,\d{3})+|\d+%`)
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = code.Write(text)
	}
	for _, d := range signals.All() {
		var stated, listed []string
		for line := range strings.Lines(d.Brief) {
			if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "      ") { // no formulas
				stated = append(stated, figure.FindAllString(line, -1)...)
			}
		}
		for _, f := range figures[d.ID] {
			listed = append(listed, figure.FindAllString(f.texts, -1)...)
			for _, text := range figure.FindAllString(f.texts, -1) {
				if f.shownBy != method && !strings.Contains(code.String(), "\nfunc "+f.shownBy+"(") {
					t.Errorf("%s: %s is to be shown by %s, which is no test here", d.ID, text, f.shownBy)
				}
			}
		}
		if !slices.Equal(stated, listed) {
			t.Errorf("%s: the brief states\n%s\nand the list here has\n%s", d.ID, strings.Join(stated, " | "), strings.Join(listed, " | "))
		}
	}
}

func TestTheFactorsBetweenFortnightsOfTheNO2Brief(t *testing.T) {
	t.Parallel()
	means := map[string]map[string]float64{}
	for _, row := range records(t, "tropomi-no2/fortnight_country_means_it_nl_uk_2019-2021.csv", ',') {
		country := row["shapefile"]
		if means[country] == nil {
			means[country] = map[string]float64{}
		}
		means[country][row["startdate"][:10]] = number(t, row["NO2(umolm-2)"])
	}
	for country, want := range map[string]string{`shp\it_clean.shp`: "1.15", `shp\nl_clean.shp`: "1.41", `shp\uk_clean.shp`: "1.47"} {
		var days []string
		for day := range means[country] {
			days = append(days, day)
		}
		slices.Sort(days)
		var squares, n float64
		for i := 1; i < len(days); i++ {
			if date(days[i]).Sub(date(days[i-1])) > 15*24*time.Hour {
				continue
			}
			change := math.Log(means[country][days[i]] / means[country][days[i-1]])
			squares, n = squares+change*change, n+1
		}
		printed(t, country, math.Exp(math.Sqrt(squares/n)), want)
		if brief := definition(t, "tropomi-no2-economic").Brief; n < 50 || !strings.Contains(brief, want) {
			t.Errorf("%s: %v pairs, and the brief has to say %s", country, n, want)
		}
	}
}

// Two workbooks of the weekly stocks were saved four years apart.
func TestWeeklyStocksWereNotRevisedInFourYears(t *testing.T) {
	t.Parallel()
	const crude series.ID = "eia.WCESTUS1"
	newer := weeklyPetroleum(t)[crude]
	older := recordedWorkbook("workbooks/PET_STOC_WSTK_DCU_NUS_W.xls", "WCESTUS1").read(t)[crude]
	common, changed := 0, 0
	for _, p := range older {
		q, ok := series.At(newer, p.ObservedAt)
		if !ok || !q.ObservedAt.Time().Equal(p.ObservedAt.Time()) {
			continue
		}
		if common++; q.Value != p.Value {
			changed++
		}
	}
	if got := fmt.Sprintf("%d,%03d", common/1000, common%1000); changed != 0 || got != "2,058" {
		t.Errorf("%d of %s weeks changed", changed, got)
	}
}
