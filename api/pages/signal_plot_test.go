package pages

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
	"tidemark/picks"
	"tidemark/signals"
)

// tradingDays returns n points on business days. Before each point with an entry in gaps, that many days are missing.
func tradingDays(n int, gaps map[int]int) []view.HistoryPoint {
	day := time.Date(1990, 1, 2, 0, 0, 0, 0, time.UTC)
	points := make([]view.HistoryPoint, 0, n)
	for i := range n {
		v := 50 + 20*math.Sin(float64(i)/40) + float64(i%7)
		day = day.AddDate(0, 0, gaps[i])
		points = append(points, view.HistoryPoint{ObservedAt: day, Value: v, Lo: v - 2, Hi: v + 2, Baseline: 50, Z: (v - 50) / 10})
		for day = day.AddDate(0, 0, 1); day.Weekday() == time.Saturday || day.Weekday() == time.Sunday; {
			day = day.AddDate(0, 0, 1)
		}
	}
	return points
}

// drawn counts the separate pieces of a class in an image, lone points too.
func drawn(t *testing.T, svg, class string) int {
	t.Helper()
	n, found := 0, false
	for _, class := range []string{class, class + " lone"} {
		if path := regexp.MustCompile(`<path class="` + class + `" d="([^"]*)"`).FindStringSubmatch(svg); path != nil {
			n, found = n+strings.Count(path[1], "M"), true
		}
	}
	if !found {
		t.Fatalf("the picture has no %s: %.300s", class, svg)
	}
	return n
}

func TestALineIsBrokenOnlyWhereTheSourceHasAGap(t *testing.T) {
	t.Parallel()
	for _, n := range []int{500, 5000, 50000} {
		for name, gaps := range map[string]map[int]int{
			"no gap":                     {},
			"a holiday after a weekend":  {n / 5: 1},
			"three gaps of two quarters": {n / 10: 180, n / 2: 180, n - 1: 180},
		} {
			t.Run(fmt.Sprintf("%d points, %s", n, name), func(t *testing.T) {
				t.Parallel()
				want := 1
				for _, days := range gaps {
					if days > 1 {
						want++
					}
				}
				plots := localizer{Lang: "en"}.plotHistory(signals.Definition{}, view.SignalSnapshot{Name: "Made up"}, tradingDays(n, gaps), nil, overlay{}, "all")
				for class, svg := range map[string]string{
					"line": string(plots.Value), "band": string(plots.Value), "line second": string(plots.Value),
					"line thin": string(plots.Z), "area": string(plots.Z),
				} {
					if got := drawn(t, svg, class); got != want {
						t.Errorf("%s: %d pieces are drawn, want %d", class, got, want)
					}
				}
			})
		}
	}
}

func TestASeasonIsOneLine(t *testing.T) {
	t.Parallel()
	var points []view.HistoryPoint
	for year := 2018; year < 2026; year++ {
		for _, month := range []time.Month{8, 9, 10, 11} {
			points = append(points, view.HistoryPoint{
				ObservedAt: time.Date(year, month, 12, 16, 0, 0, 0, time.UTC), Value: 190 + float64(month),
				Lo: math.NaN(), Hi: math.NaN(), Baseline: 195, Z: 1,
			})
		}
	}
	plots := localizer{Lang: "en"}.plotHistory(signals.Definition{}, view.SignalSnapshot{Name: "Corn"}, points, nil, overlay{}, "all")
	if got := drawn(t, string(plots.Value), "line"); got != 8 {
		t.Errorf("eight seasons are drawn in %d pieces", got)
	}
}

func TestSeasonsAreApartAlsoWhereNoPointIsMissing(t *testing.T) {
	t.Parallel()
	var points []view.HistoryPoint
	for at := time.Date(2018, time.May, 1, 0, 0, 0, 0, time.UTC); at.Before(time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)); at = at.AddDate(0, 1, 0) {
		points = append(points, view.HistoryPoint{ObservedAt: at, Value: 190, Lo: math.NaN(), Hi: math.NaN(), Baseline: math.NaN(), Z: math.NaN()})
	}
	for start, want := range map[time.Month]int{time.May: 8, 0: 1} {
		plots := localizer{Lang: "en"}.plotHistory(signals.Definition{SeasonStart: start}, view.SignalSnapshot{Name: "Corn"}, points, nil, overlay{}, "all")
		if got := drawn(t, string(plots.Value), "line"); got != want {
			t.Errorf("eight seasons from month %d are drawn in %d pieces, want %d", start, got, want)
		}
	}
}

func TestFinalsOfSuccessiveYearsAreOneLine(t *testing.T) {
	t.Parallel()
	var points []view.HistoryPoint
	add := func(year int, month time.Month) {
		points = append(points, view.HistoryPoint{
			ObservedAt: time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), Value: 40, Lo: math.NaN(), Hi: math.NaN(), Baseline: math.NaN(), Z: math.NaN(),
		})
	}
	for year := 1901; year < 1924; year++ {
		if year != 1910 { // a gap of the source
			add(year, time.January)
		}
	}
	for year := 1924; year < 1934; year++ {
		for month := time.May; month <= time.November; month++ {
			add(year, month)
		}
	}
	plots := localizer{Lang: "en"}.plotHistory(signals.Definition{SeasonStart: time.May}, view.SignalSnapshot{Name: "Corn"}, points, nil, overlay{}, "all")
	if got := drawn(t, string(plots.Value), "line"); got != 12 {
		t.Errorf("two runs of finals and ten seasons are drawn in %d pieces", got)
	}
}

// A range from a final to the next season has one point of each season.
func TestAShortRangeJoinsNoFinalToTheNextSeason(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("iowa-corn-yield")
	final, trend := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, time.May, 1, 0, 0, 0, 0, time.UTC)
	points := []view.HistoryPoint{{ObservedAt: final, Value: 180, Baseline: 212}, {ObservedAt: trend, Value: 215, Baseline: 215}}
	plots := localizer{Lang: "en"}.plotHistory(d, view.SignalSnapshot{}, points, nil, overlay{}, "four months")
	for _, class := range []string{"line", "line second"} {
		if got := drawn(t, string(plots.Value), class); got != 2 {
			t.Errorf("two seasons have %d pieces of %s, want 2", got, class)
		}
	}
}

func TestOnePointStandsBesideItsLabel(t *testing.T) {
	t.Parallel()
	d, _ := signals.ByID("hormuz-transit")
	points := []view.HistoryPoint{{ObservedAt: time.Date(2026, time.May, 5, 0, 0, 0, 0, time.UTC), Value: 41, Lo: 38, Hi: 44, Baseline: 90, Z: -3}}
	svg := string(localizer{Lang: "en"}.plotHistory(d, view.SignalSnapshot{}, points, nil, overlay{}, "one day").Value)
	if strings.Contains(svg, "leader") {
		t.Errorf("a line across the plot looks like values: %s", svg)
	}
	for _, want := range []string{`<circle class="end" cx="100%"`, `>May 5</text>`, `d="M1000 `, `h8V`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the plot has no %s: %s", want, svg)
		}
	}
}

func TestAPageOfAnEarlierDayShowsWhatWasRevised(t *testing.T) {
	t.Parallel()
	then, now := tradingDays(50, nil), tradingDays(50, nil)
	same := localizer{Lang: "en"}.plotHistory(signals.Definition{}, view.SignalSnapshot{}, then, now, overlay{}, "all")
	now[7].Value++
	now = append(now[:20], now[21:]...)
	other := localizer{Lang: "en"}.plotHistory(signals.Definition{}, view.SignalSnapshot{}, then, now, overlay{}, "all")
	if same.Revised != 0 || strings.Contains(string(same.Value), "ghost") {
		t.Errorf("%d points are revised, want none", same.Revised)
	}
	if other.Revised != 2 || !strings.Contains(string(other.Value), "line ghost") {
		t.Errorf("%d points are revised, want one that changed and one that is gone", other.Revised)
	}
}

func TestAPlotNamesItsSignalAndTheWholeUnit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lang picks.Lang
		id   string
		want string
	}{
		{"en", "crack-spread-321", "<desc>3:2:1 crack spread, New York Harbor, $ a barrel. 10 points. Lowest $"},
		{"en", "hormuz-transit", ", ships a day. 10 points. Lowest "},
		{"es", "crack-spread-321", ", dólares por barril. Puntos: 10. Mínimo "},
		{"pt", "crack-spread-321", ", US$ por barril. Pontos: 10. Mínimo US$"},
		{"hi", "crack-spread-321", ", डॉलर प्रति बैरल। बिंदु: 10। सबसे कम "},
	} {
		l := localizer{Lang: c.lang}
		english, _ := signals.ByID(c.id)
		d := l.Own(english)
		plots := l.plotHistory(d, view.SignalSnapshot{}, tradingDays(10, nil), nil, overlay{}, "all")
		desc := regexp.MustCompile(`<desc[^>]*>`).ReplaceAllString(string(plots.Value), "<desc>")
		if desc = strings.ReplaceAll(desc, "\u00a0", " "); !strings.Contains(desc, c.want) || !strings.Contains(desc, "<desc>"+d.Name) {
			t.Errorf("%s, %s: it lacks %q: %.700s", c.id, c.lang, c.want, desc)
		}
	}
}

func TestAPictureHasTheWholeLicenceAndSaysThatItsDataAreMadeUp(t *testing.T) {
	t.Parallel()
	licence := strings.TrimSpace(strings.Repeat("Contains modified data of a publisher with a long name, ", 12)) + " free for any use. The U.S. office is named."
	b := signalBody{
		localizer: localizer{Lang: "en"}, Def: signals.Definition{Name: "Made up", Unit: "index", License: licence}, Span: span{Name: "1y"}, Titled: span{Name: "1y"}, AsOf: "2026-11-05",
		Snapshot: view.SignalSnapshot{Synthetic: true, PageURL: "https://tidemark.example/signals/made-up"},
	}
	lines := b.pictureText()
	if want := "https://tidemark.example/signals/made-up?range=1y&as_of=2026-11-05"; lines[1] != want {
		t.Errorf("the address of the view is %q, want %q", lines[1], want)
	}
	if want := "Made up, index, one year. As it was known at the end of November 5, 2026, UTC. Synthetic data."; lines[0] != want {
		t.Errorf("the first line is %q, want %q", lines[0], want)
	}
	if got := strings.Join(lines[2:], " "); got != licence || len(lines) < 5 {
		t.Errorf("the licence is %q", got)
	}
	for _, line := range lines {
		if len([]rune(line)) > pictureLetters {
			t.Errorf("%q does not fit", line)
		}
	}
	b.Snapshot.Synthetic, b.AsOf = false, ""
	if got := b.pictureText()[0]; got != "Made up, index, one year." {
		t.Errorf("real data are called %q", got)
	}
	b.Lang, b.Span = "es", span{From: time.Date(2026, time.March, 4, 0, 0, 0, 0, time.UTC)}
	if got, want := b.pictureText()[1], "https://tidemark.example/signals/made-up?from=2026-03-04&lang=es"; got != want {
		t.Errorf("the address of the view is %q, want %q", got, want)
	}
}

func TestASmallLineIsInterruptedWhereThePlotIs(t *testing.T) {
	t.Parallel()
	var points []view.HistoryPoint
	for year := 2021; year < 2026; year++ {
		for month := time.May; month <= time.November; month++ {
			points = append(points, view.HistoryPoint{ObservedAt: time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), Value: 180 + float64(month)})
		}
	}
	d := signals.Definition{SeasonStart: time.May}
	unknown := func(list []float64) (n int) {
		for _, v := range list {
			if v != v {
				n++
			}
		}
		return n
	}
	if got := drawn(t, plot.Spark(course(d, points)), "line"); got != 5 {
		t.Errorf("five crop years are drawn in %d pieces", got)
	}
	if got := unknown(localizer{Lang: "en"}.cardOfSignal(d, view.SignalSnapshot{}, points).Course); got != 4 {
		t.Errorf("the line of the card is interrupted %d times between five crop years", got)
	}
	if got := unknown(course(signals.Definition{}, tradingDays(250, nil))); got != 0 {
		t.Errorf("a line without a gap is interrupted %d times", got)
	}
}

// dateOf is the label of a date in a figure.
type dateOf struct {
	text, anchor string
	at           float64
	// over is the width of the figure in rem up to which the label is hidden.
	over float64
}

var (
	dateLabel = regexp.MustCompile(`<text(?: class="over([0-9]+)")? x="([0-9.]+)%" y="[0-9.]+" dy="[0-9.]+em" text-anchor="([a-z]+)">([^<]+)<`)
	dateTick  = regexp.MustCompile(`<line class="axis(?: over[0-9]+)?" x1="([0-9.]+)%" x2="([0-9.]+)%"`)
)

func datesOf(t *testing.T, svg string) (labels []dateOf, ticks []string) {
	t.Helper()
	for _, m := range dateTick.FindAllStringSubmatch(svg, -1) {
		ticks = append(ticks, m[1])
	}
	for _, m := range dateLabel.FindAllStringSubmatch(svg, -1) {
		if !slices.Contains(ticks, m[2]) {
			t.Errorf("%s has no tick at %s%%", m[4], m[2])
		}
		d := dateOf{text: m[4], anchor: m[3]}
		for place, text := range map[*float64]string{&d.at: m[2], &d.over: cmp.Or(m[1], "0")} {
			var err error
			if *place, err = strconv.ParseFloat(text, 64); err != nil {
				t.Fatal(err)
			}
		}
		labels = append(labels, d)
	}
	return labels, ticks
}

// ends returns where a label begins and ends in a figure whose shapes have a width in em.
func (d dateOf) ends(shapes float64) (from, to float64) {
	n := 0.0
	for _, r := range d.text {
		if !unicode.Is(unicode.Mn, r) {
			n += .6
		}
	}
	at := d.at / 100 * shapes
	switch d.anchor {
	case "middle":
		return at - n/2, at + n/2
	case "end":
		return at - n, at
	}
	return at, at + n
}

func TestTheLabelsOfDatesNeverOverlap(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, time.November, 26, 0, 0, 0, 0, time.UTC)
	for _, lang := range languages.All() {
		words := localizer{Lang: lang.Code}.figureWords()
		for _, days := range []int{3, 9, 30, 61, 92, 200, 365, 550, 5 * 365, 20 * 365, 37 * 365, 160 * 365} {
			for back := 0; back < 366; back += 5 {
				to := end.AddDate(0, 0, -back)
				from := to.AddDate(0, 0, -days)
				f := plot.Figure{Height: 300, From: from, To: to, Words: words, Marks: []plot.Mark{
					plot.Line{X: []float64{float64(from.Unix()), float64(to.Unix())}, Y: []float64{9e5, 1e6 * float64(1+back%2)}},
				}}
				labels, ticks := datesOf(t, f.SVG())
				if len(labels) != len(ticks) {
					t.Fatalf("%d dates have %d ticks", len(labels), len(ticks))
				}
				letters, _ := plot.Align(&f)
				room := .65*float64(letters) + .5 // as the style sheet has it
				for rem := 8.5; rem < 60; rem++ {
					shapes, last := rem/.75-room, -room-.01
					for _, d := range labels {
						if d.over >= rem {
							continue
						}
						begin, finish := d.ends(shapes)
						if begin < last || finish > shapes+.01 {
							t.Fatalf("%s, %s to %s, %g rem: %s begins at %.1f and ends at %.1f, but the one before ends at %.1f, and the figure at %.1f", lang.Code, from, to, rem, d.text, begin, finish, last, shapes)
						}
						last = finish
					}
					if last < 0 && len(ticks) > 0 && rem > 11 {
						t.Fatalf("%s, %s to %s, %g rem: no date is named", lang.Code, from, to, rem)
					}
				}
			}
		}
	}
}

func TestTheYearsOfAPictureStandAtTheirTicks(t *testing.T) {
	t.Parallel()
	from, to := time.Date(2021, time.November, 20, 0, 0, 0, 0, time.UTC), time.Date(2026, time.November, 16, 0, 0, 0, 0, time.UTC)
	f := plot.Figure{Height: 300, From: from, To: to, Marks: []plot.Mark{plot.Line{X: []float64{float64(from.Unix()), float64(to.Unix())}, Y: []float64{60, 90}}}}
	labels, _ := datesOf(t, f.Alone(1000, nil))
	if len(labels) != 5 {
		t.Fatalf("the picture names %v", labels)
	}
	for _, d := range labels {
		if d.anchor != "middle" {
			t.Errorf("the %s of %s stands at its year", d.anchor, d.text)
		}
	}
}

// The last value and the baseline of each signal have their numbers in the gutter, which is as wide in the plots above and below.
func TestTheLastValuesOfEachSignalFitRightOfItsPlots(t *testing.T) {
	t.Parallel()
	label := regexp.MustCompile(`<text class="label(?: second)?" x="100%" dx="[.]6em"[^>]*>([^<]+)<`)
	rooms := regexp.MustCompile(`class="(?:marks )?(room[0-9]+ gutter([0-9]+))"`)
	for _, lang := range languages.All() {
		for _, own := range signals.All() {
			l := localizer{Lang: lang.Code}
			d := l.Own(own)
			for _, times := range []float64{.01, -1, 30} {
				points := tradingDays(60, nil)
				for i := range points {
					p := &points[i]
					p.Value, p.Lo, p.Hi, p.Baseline = p.Value*times*d.Scale(), p.Lo*times*d.Scale(), p.Hi*times*d.Scale(), p.Baseline*times*d.Scale()
				}
				last := points[59]
				plots := l.plotHistory(d, view.SignalSnapshot{}, points, nil, overlay{Events: []eventMark{{Number: 1, ID: "storm", Day: points[20].ObservedAt}}}, "all")
				var got []string
				for _, m := range label.FindAllStringSubmatch(string(plots.Value), -1) {
					got = append(got, m[1])
				}
				slices.Sort(got)
				want := []string{l.Figure(d, last.Value), l.Figure(d, last.Baseline)}
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s of %s: the labels are %q, want %q", lang.Code, d.ID, got, want)
				}
				if legend := []string{plots.LastValue, plots.LastBaseline}; legend[0] != l.Figure(d, last.Value) || legend[1] != l.Figure(d, last.Baseline) {
					t.Errorf("%s of %s: a narrow plot has %q in its legend", lang.Code, d.ID, legend)
				}
				room := rooms.FindStringSubmatch(string(plots.Value))
				for _, other := range []template.HTML{plots.Strip, plots.Z} {
					if got := rooms.FindStringSubmatch(string(other)); len(got) == 0 || got[1] != room[1] {
						t.Errorf("%s of %s: the rooms are %q, and %q of the plot of the value", lang.Code, d.ID, got, room)
					}
				}
				letters, err := strconv.Atoi(room[2])
				for _, text := range got {
					if n := len([]rune(strings.NewReplacer(".", "", ",", "").Replace(text))); err != nil || n > letters {
						t.Errorf("%s of %s: %q has no room in %d letters", lang.Code, d.ID, text, letters)
					}
				}
			}
		}
	}
}

func TestTheLegendSaysSinceWhenThereAreIntervals(t *testing.T) {
	t.Parallel()
	l := localizer{Lang: "es"}
	for first, want := range map[int]string{0: "Intervalo supuesto", 20: "Intervalo supuesto", 400: "Intervalo supuesto, desde 1991"} {
		points := tradingDays(1000, nil)
		for i := range first {
			points[i].Lo, points[i].Hi = math.NaN(), math.NaN()
		}
		plots := l.plotHistory(signals.Definition{}, view.SignalSnapshot{}, points, nil, overlay{}, "all")
		if got := l.IntervalKey(view.Uncertainty{}, plots); got != want {
			t.Errorf("%d points have no interval: the legend says %q, want %q", first, got, want)
		}
	}
}
