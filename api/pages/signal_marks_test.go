package pages

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/picks"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

func TestAPlotShowsForecastsWithTheirGradesAndWhatWasFirstPublished(t *testing.T) {
	t.Parallel()
	points := tradingDays(60, nil)
	last := points[len(points)-1].ObservedAt
	first := append([]view.HistoryPoint(nil), points[50:]...)
	first[2].Value += 3
	first[4].Value += 4
	over := overlay{
		first: first,
		fans: []fan{
			{At: points[30].ObservedAt, Low80: 40, High80: 60, Graded: true, Held: true},
			{At: points[35].ObservedAt, Low80: 41, High80: 42, Graded: true},
			{At: last.AddDate(0, 0, 7), Median: 50, Low50: 48, High50: 52, Low80: 45, High80: 55},
		},
	}
	crack, _ := signals.ByID("crack-spread-321")
	plots := localizer{Lang: "en"}.plotHistory(crack, view.SignalSnapshot{Name: "Made up"}, points, nil, over, "all")
	svg := string(plots.Value)
	for class, want := range map[string]int{"range held": 1, "range missed": 1, "band fan": 1, "line fan": 1, "line ghost": 1} {
		if got := drawn(t, svg, class); got != want {
			t.Errorf("%s is drawn %d times, want %d", class, got, want)
		}
	}
	if plots.Reprinted != 2 {
		t.Errorf("%d points differ from their first print, want 2", plots.Reprinted)
	}
	f := plots.Forecasts
	if f.Graded != 2 || f.Held != 1 || f.Missed() != 1 || !f.Next.Equal(last.AddDate(0, 0, 7)) || f.Interval != "$45.00 to $55.00 a barrel" {
		t.Errorf("the forecasts are described as %+v", f)
	}
	to := regexp.MustCompile(`data-to="(\d+)"`)
	if end := to.FindStringSubmatch(svg); end == nil || end[1] != to.FindStringSubmatch(string(plots.Z))[1] {
		t.Error("the plots of value and z-score do not end together")
	}
	// A view of unknown values has no fan to begin.
	for i := range points {
		points[i].Value = math.NaN()
	}
	if svg := string(localizer{Lang: "en"}.plotHistory(signals.Definition{}, view.SignalSnapshot{}, points, nil, over, "all").Value); strings.Contains(svg, "band fan") {
		t.Error("a fan begins at an unknown value")
	}
}

// markOf matches a mark: the widths in rem from and below which it is shown, and its label.
var markOf = regexp.MustCompile(`<a class="mark(?: over([0-9]+))?(?: under([0-9]+))?".*?<text[^>]*>([^<]+)<`)

// marksAt returns the labels that a strip shows in a figure of a width in rem.
func marksAt(svg string, rem int) (labels []string) {
	for _, m := range markOf.FindAllStringSubmatch(svg, -1) {
		over, _ := strconv.Atoi(m[1])
		under, err := strconv.Atoi(m[2])
		if rem > over && (err != nil || rem <= under) {
			labels = append(labels, m[3])
		}
	}
	return labels
}

// On a wide screen each event of fifteen years has room, except those of one spring.
func TestEachEventHasItsNumberWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	var events []plot.Event
	for i, day := range []string{"2014-11-27", "2016-11-30", "2017-08-25", "2020-03-11", "2020-04-12", "2020-04-20", "2021-08-29", "2022-10-05", "2026-02-28", "2026-03-11"} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, plot.Event{At: at, Number: i + 1, Target: "event-" + day})
	}
	svg := plot.Strip{
		Several: "%s–%s", From: time.Date(2010, time.January, 4, 0, 0, 0, 0, time.UTC), To: time.Date(2026, time.November, 26, 0, 0, 0, 0, time.UTC), Letters: 3, Gutter: 6, Events: events,
	}.SVG()
	for rem, want := range map[int]string{20: "1–3 4–8 9–10", 40: "1 2–3 4–6 7 8 9–10", 66: "1 2 3 4–6 7 8 9–10"} {
		if got := strings.Join(marksAt(svg, rem), " "); got != want {
			t.Errorf("a figure of %d rem has the marks %s, want %s", rem, got, want)
		}
	}
}

func TestEventsThatAreCloseShareANumber(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2020, 1, 1+n, 0, 0, 0, 0, time.UTC) }
	svg := plot.Strip{
		Label: "Eventos", One: "Evento %s", Several: "Eventos %s–%s", From: day(0), To: day(100),
		Events: []plot.Event{{At: day(0), Number: 1, Target: "event-a"}, {At: day(9), Number: 2, Target: "event-b"}, {At: day(30), Number: 3, Target: "event-c"}, {At: day(100), Number: 4, Target: "event-d"}},
	}.SVG()
	for _, want := range []string{`href="#event-a" data-events="event-a event-b" aria-label="Eventos 1–2"`, `data-events="event-c" aria-label="Evento 3"`, `<svg x="100%"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the strip has no %s: %s", want, svg)
		}
	}
	var many []plot.Event
	for i := range 12 { // evenly, over the whole strip
		many = append(many, plot.Event{At: day(i * 8), Number: i + 1, Target: fmt.Sprint("event-", i)})
	}
	split := plot.Strip{Several: "%s–%s", From: day(0), To: day(100), Events: many}.SVG()
	if n := len(marksAt(split, 20)); n < 4 || n > 6 {
		t.Errorf("twelve events over the whole strip have %d marks on a telephone: %s", n, split)
	}
	if got := strings.Join(marksAt(split, 60), " "); got != "1 2 3 4 5 6 7 8 9 10 11 12" {
		t.Errorf("twelve events with room for each have the marks %s: %s", got, split)
	}
	if got := (plot.Strip{From: day(0), To: day(1)}).SVG(); got != "" {
		t.Errorf("a strip without events is %s", got)
	}
}

func TestTheImageOfAPlotHasNoNumbersWithoutTexts(t *testing.T) {
	t.Parallel()
	points := tradingDays(60, nil)
	over := overlay{Events: []eventMark{{Number: 1, ID: "storm", Day: points[20].ObservedAt}}}
	plots := localizer{Lang: "en"}.plotHistory(signals.Definition{}, view.SignalSnapshot{Name: "Made up"}, points, nil, over, "all")
	if !strings.Contains(string(plots.Value), `class="moment"`) || !strings.Contains(string(plots.Strip), "event-storm") {
		t.Error("the page does not mark the event")
	}
	if strings.Contains(plots.figure.Alone(1000, nil), `class="moment"`) {
		t.Error("the image marks an event that it does not name")
	}
}

func TestAForecastWhoseFigureIsShownIsNotTheNextOne(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	from, to := day(2), day(23)
	for _, c := range []struct {
		name         string
		at           time.Time
		open, graded bool
		want         bool
	}{
		{"the next figure", day(30), true, false, true},
		{"the next figure, in a view that ends before the newest value", day(30), false, false, false},
		{"a figure that is shown, before its forecast is graded", to, true, false, false},
		{"a figure that is shown, with its grade", to, true, true, true},
		{"a graded figure after the view", day(30), false, true, false},
		{"a graded figure before the view", day(1), true, true, false},
	} {
		if got := inView(c.at, from, to, c.open, c.graded); got != c.want {
			t.Errorf("%s: in view is %t, want %t", c.name, got, c.want)
		}
	}
}

// A graded forecast stands at the observation that it was graded against, and counts wherever that is in view.
func TestAGradedForecastStandsAtItsObservation(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 10, n, 0, 0, 0, 0, time.UTC) }
	points := func(days ...int) (list []view.HistoryPoint) {
		for _, n := range days {
			list = append(list, view.HistoryPoint{ObservedAt: day(n), Value: float64(n)})
		}
		return list
	}
	of := func(period string) view.Forecast {
		f := view.Forecast{Target: view.ForecastTarget{Period: period, ReleaseAt: time.Date(2026, 1, 12, 17, 0, 0, 0, time.UTC)}, Quantiles: []view.Quantile{{P: .1, Value: 1}}}
		f.Grade = &view.ForecastGrade{Outcome: new(1.5), Hits: &view.ForecastHits{P80: true}}
		return f
	}
	holiday, withdrawn := points(5, 6, 7, 8, 9, 13, 14), points(8, 9, 12, 13)
	withdrawn[2].Value = math.NaN()
	january := []view.HistoryPoint{{ObservedAt: day(1).AddDate(0, -9, 0), Value: 200}}
	for _, c := range []struct {
		name, period     string
		points, around   []view.HistoryPoint
		signal, mark, lo string // mark is empty if the view does not show the forecast
	}{
		{"a day with a value", "2026-10-05", holiday, holiday, "crack-spread-321", "2026-10-05", "1"},
		{"a holiday", "2026-10-12", holiday, holiday, "crack-spread-321", "2026-10-09", "1"},
		{"a holiday, in a view that ends before it", "2026-10-12", holiday[:5], holiday, "crack-spread-321", "2026-10-09", "1"},
		{"a holiday, in a view that begins after its observation", "2026-10-12", holiday[5:], holiday, "crack-spread-321", "", ""},
		{"a day after the view that has a value", "2026-10-12", points(8, 9), points(8, 9, 12), "crack-spread-321", "", ""},
		{"a day whose value was withdrawn", "2026-10-12", withdrawn, withdrawn, "crack-spread-321", "2026-10-09", "1"},
		{"a change at the left edge", "2026-10-09", points(9, 16), points(2, 9, 16), "eia-weekly-petroleum", "2026-10-09", "3"},
		{"a month", "2026-10", points(1), points(1), "lng-arbitrage", "2026-10-01", "1"},
		{"a final yield", "2025-final", january, january, "iowa-corn-yield", "2026-01-01", "1"},
	} {
		var mark, lo string
		for _, f := range (viewed{points: c.points, around: c.around, open: true}).fans(forecast.Of(c.signal)[0], []view.Forecast{of(c.period)}, 1) {
			mark, lo = f.At.Format(time.DateOnly), strconv.FormatFloat(f.Low80, 'f', -1, 64)
		}
		if mark != c.mark || lo != c.lo {
			t.Errorf("%s: the mark is on %q from %q, want %q from %q", c.name, mark, lo, c.mark, c.lo)
		}
	}
}

func TestAChoiceIsWrittenAsAList(t *testing.T) {
	t.Parallel()
	for lang, want := range map[picks.Lang]string{"en": "1y, 5y or all", "es": "1y, 5y o all", "pt": "1y, 5y ou all", "hi": "1y, 5y या all"} {
		if got := (localizer{Lang: lang}).oneOf([]string{"1y", "5y", "all"}); got != want {
			t.Errorf("in %s: %q, want %q", lang, got, want)
		}
	}
	if got := (localizer{Lang: "en"}).oneOf([]string{"all"}); got != "all" {
		t.Errorf("a single choice is %q", got)
	}
}
