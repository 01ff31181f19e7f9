package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var unknown = math.NaN()

func day(year int, month time.Month, d int) time.Time {
	return time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
}

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		lo, hi float64
		about  int
		want   []string
	}{
		"prices":                  {11.2, 24.9, 4, []string{"15", "20"}},
		"around zero":             {-2.2, 2.2, 4, []string{"−2", "0", "2"}},
		"steps of a quarter":      {0, 1.05, 4, []string{"0.0", "0.5", "1.0"}},
		"thousands":               {379918, 421140, 4, []string{"380,000", "400,000", "420,000"}},
		"halves of a percent":     {-0.12, 0.48, 5, []string{"0.0", "0.2", "0.4"}},
		"two and a half":          {0, 10, 4, []string{"0.0", "2.5", "5.0", "7.5", "10.0"}},
		"both ends are included":  {10, 50, 4, []string{"10", "20", "30", "40", "50"}},
		"small concentrations":    {0.00001, 0.00005, 4, []string{"0.00001", "0.00002", "0.00003", "0.00004", "0.00005"}},
		"no room, no tick":        {3, 3, 4, nil},
		"nothing known, no ticks": {math.NaN(), math.NaN(), 4, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			values, step := Ticks(tt.lo, tt.hi, tt.about)
			var got []string
			for _, v := range values {
				got = append(got, Label(v, step))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ticks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDatesAreFirstDays(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to time.Time
		months   bool
		want     []string
	}{
		"days":     {day(2026, 3, 2), day(2026, 3, 5), false, []string{"Mar 2", "Mar 3", "Mar 4", "Mar 5"}},
		"Mondays":  {day(2026, 2, 20), day(2026, 3, 20), false, []string{"Feb 23", "Mar 2", "Mar 9", "Mar 16"}},
		"quarters": {day(2025, 11, 20), day(2026, 11, 16), false, []string{"2026", "Apr", "Jul", "Oct"}},
		"years":    {day(2021, 11, 20), day(2026, 11, 16), false, []string{"2022", "2023", "2024", "2025", "2026"}},
		"decades":  {day(1990, 1, 5), day(2026, 11, 13), true, []string{"2000", "2010", "2020"}},
		"a day":    {day(2026, 3, 2), day(2026, 3, 2), false, []string{"Mar 2"}},

		"three months":             {day(2026, 3, 1), day(2026, 5, 1), true, []string{"Mar 2026", "Apr", "May"}},
		"a month":                  {day(2026, 3, 1), day(2026, 3, 1), true, []string{"Mar 2026"}},
		"days without a new month": {day(2026, 3, 2), day(2026, 3, 4), true, []string{"Mar 2", "Mar 3", "Mar 4"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range Dates(tt.from, tt.to, 5, tt.months) {
				got = append(got, d.Label)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("dates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReduceKeepsWhatCanBeSeen(t *testing.T) {
	t.Parallel()
	x, y := make([]float64, 5000), make([]float64, 5000)
	for i := range x {
		x[i], y[i] = float64(i), math.Sin(float64(i)/50)
	}
	y[1234], y[4321] = 99, -99
	kept := Reduce(x, y, 100)
	if len(kept) > 500 {
		t.Errorf("%d points are left of 5000 in 100 stretches, want at most 500", len(kept))
	}
	has := map[int]bool{}
	for n, i := range kept {
		has[i] = true
		if n > 0 && kept[n-1] >= i {
			t.Fatalf("index %d follows %d", i, kept[n-1])
		}
	}
	for _, i := range []int{0, 1234, 4321, 4999} {
		if !has[i] {
			t.Errorf("point %d is gone", i)
		}
	}
	if got := Reduce(x[:7], y[:7], 100); len(got) != 7 {
		t.Errorf("%d of 7 points are left", len(got))
	}
	for i := 2000; i < 3000; i++ {
		y[i] = unknown
	}
	gaps := 0
	for _, i := range Reduce(x, y, 100) {
		if y[i] != y[i] {
			gaps++
		}
	}
	if gaps == 0 {
		t.Error("the gap is gone")
	}
}

// wellFormed fails the test if an image is not valid XML.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v: %s", err, svg)
		}
	}
}

func TestFigure(t *testing.T) {
	t.Parallel()
	at := func(d int) float64 { return float64(day(2026, 3, d).Unix()) }
	x := []float64{at(1), at(2), at(3), at(4), at(5)}
	f := Figure{
		ID: "p", Title: `Oil & "gas"`, Description: "a < b", Height: 142, From: day(2026, 3, 1), To: day(2026, 3, 5),
		Marks: []Mark{Line{X: x, Y: []float64{0, 100, unknown, 50, 25}}},
	}
	svg := f.SVG()
	wellFormed(t, svg)
	// The height of 100 pixels is between 18 and 118. The margin is 4 % of the values' range at both ends: 0 is at 118-100*4/108.
	for _, want := range []string{
		`d="M0 114.3L250 21.7M750 68L1000 91.1"`, `data-from="1772323200" data-to="1772668800"`, "<title id=\"p-title\">Oil &amp; &#34;gas&#34;</title>",
		"a &lt; b", `>Mar 1</text>`, `x="50%"`, `>100</text>`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("the figure lacks %s:\n%s", want, svg)
		}
	}
	if found := regexp.MustCompile(`\sstyle=|NaN|Inf`).FindString(svg); found != "" {
		t.Errorf("the figure has %q", found)
	}
	for _, label := range regexp.MustCompile(`<text[^>]*>(?:0|50|100)</text>`).FindAllString(svg, -1) {
		if !strings.HasPrefix(label, `<text x="0" dx="-.5em"`) || !strings.Contains(label, `text-anchor="end"`) {
			t.Errorf("the label %s is not left of the shapes", label)
		}
	}
	f.Marks = []Mark{Line{X: x, Y: []float64{1, unknown, 3, unknown, 5}}}
	if svg := f.SVG(); !strings.Contains(svg, `<path class="line lone" d="M0 114.3h0M500 68h0M1000 21.7h0"/>`) || strings.Contains(svg, `class="line"`) {
		t.Errorf("three points that stand alone are not three dots:\n%s", svg)
	}
	f.Marks = []Mark{Line{Class: "second", X: x, Y: []float64{1, unknown, 3, 4, unknown}}}
	if svg := f.SVG(); strings.Count(svg, `<path class="line second`) != 2 || strings.Count(svg, "h0") != 1 {
		t.Errorf("a point that stands alone and a line are not both drawn:\n%s", svg)
	}
	f.Marks = []Mark{Band{X: x, Lo: []float64{1, unknown, unknown, unknown, unknown}, Hi: []float64{2, unknown, unknown, unknown, unknown}}}
	if svg := f.SVG(); !strings.Contains(svg, "h8V") || !strings.Contains(svg, `d="M0 `) {
		t.Errorf("the interval of an isolated point has no width, or is outside of the figure:\n%s", svg)
	}
	f.Marks = []Mark{Band{X: x, Lo: []float64{1, unknown, 1, 1, 1}, Hi: []float64{2, 2, 2, 2, 2}}, Area{X: x, Y: x}, Bars{X: x, Y: []float64{1, -1, unknown, 1, 1}, Width: 3600}}
	wellFormed(t, f.SVG())
	f.Marks = []Mark{Line{X: x, Y: []float64{unknown, unknown, unknown, unknown, unknown}}}
	if got := f.SVG(); !strings.Contains(got, "nothing to plot") {
		t.Errorf("a figure without values: %s", got)
	}
}

// shownLabel is the label of a line in a figure. Places are shares of the width of the shapes, and heights are in pixels.
type shownLabel struct {
	class, text  string
	at, moved    float64
	leads        bool
	x, y         float64 // the end of its line
	width, wants float64 // the gutter and the width of the text in em
}

var (
	endLabelOf = regexp.MustCompile(`<text class="label ?([^"]*)" x="100%" dx="([0-9.]+)em" y="([0-9.]+)" dy="([-0-9.]+)em">([^<]*)</text>`)
	gutterOfIt = regexp.MustCompile(`class="room[0-9]+ gutter([0-9]+)"`)
)

// labelsOf reads the labels of lines of a figure.
func labelsOf(t *testing.T, f Figure) (out []shownLabel) {
	t.Helper()
	svg := f.SVG()
	wellFormed(t, svg)
	parse := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	lo, hi, _ := f.extent()
	s := scale{from: float64(f.From.Unix()), to: float64(f.To.Unix()), lo: lo, hi: hi, top: above, end: f.Height - below}
	for _, m := range endLabelOf.FindAllStringSubmatch(svg, -1) {
		l := shownLabel{class: m[1], text: m[5], at: parse(m[3]), moved: parse(m[4]) - .35, wants: parse(m[2]) + .7*digits(m[5])}
		l.width = gutterOf(int(parse(gutterOfIt.FindStringSubmatch(svg)[1])))
		for _, mark := range f.Marks {
			if line, ok := mark.(Line); ok && line.Class == l.class && line.Label == l.text {
				x, y, _ := line.end()
				l.x, l.y = s.x(x)/inner, s.y(y)
				l.leads = strings.Contains(svg, fmt.Sprintf(`<line class="leader" x1="%s%%" x2="100%%" y1="%s"`, number(l.x*100), number(l.y)))
			}
		}
		out = append(out, l)
	}
	return out
}

// The reader takes the height of a label for its value. No line passes right of the shapes, so each label is there.
// place returns the height of the first text of a figure that matches, with letters of a size: y and dy together.
func place(t *testing.T, svg, pattern string, size float64) float64 {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(svg)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, svg)
	}
	y, yErr := strconv.ParseFloat(m[1], 64)
	dy, dyErr := strconv.ParseFloat(m[2], 64)
	if err := errors.Join(yErr, dyErr); err != nil {
		t.Fatal(err)
	}
	return y + dy*size
}

func TestADateIsClearOfTheLowestValue(t *testing.T) {
	t.Parallel()
	x := []float64{float64(day(2022, 1, 1).Unix()), float64(day(2026, 1, 1).Unix())}
	svg := Figure{ID: "z", Height: 140, From: day(2022, 1, 1), To: day(2026, 1, 1), Marks: []Mark{Line{X: x, Y: []float64{5, -5}}}}.SVG()
	for _, size := range []float64{12, 20} {
		lowest := place(t, svg, `y="([0-9.]+)" dy="([0-9.]+)em" text-anchor="end">−5<`, size)
		date := place(t, svg, `y="([0-9.]+)" dy="([0-9.]+)em" text-anchor="middle">2022<`, size) - .73*size // the height of a digit
		if date-lowest < 4 {
			t.Errorf("with letters of %g pixels the date begins %.1f pixels below the value", size, date-lowest)
		}
	}
}

func TestALabelStandsAtTheEndOfItsOwnLine(t *testing.T) {
	t.Parallel()
	const n = 60
	shapes := map[string]func(i float64) float64{
		"rising": func(i float64) float64 { return i }, "falling": func(i float64) float64 { return n - i }, "flat": func(float64) float64 { return 30 },
		"swinging": func(i float64) float64 { return 30 + 30*math.Sin(i) }, "ending with a peak": func(i float64) float64 { return 60 * max(0, i-n+5) / 4 },
		"of two levels": func(i float64) float64 { return 60 * math.Floor(i/n*2) }, "around the level": func(i float64) float64 { return 30 + math.Cos(i) },
	}
	ends := map[string]int{"up to its end": 0, "before a forecast": 8, "far before its end": 40}
	from := day(2026, 1, 1)
	for name, shape := range shapes {
		for other, second := range shapes {
			for length, ahead := range ends {
				for _, height := range []float64{142, 170, 280, 300} {
					value, baseline := Line{Label: "$1,016.21"}, Line{Class: "second", Label: "−3.5%"}
					for i := range n {
						x := float64(from.AddDate(0, 0, i).Unix())
						value.X, value.Y = append(value.X, x), append(value.Y, shape(float64(i)))
						baseline.X, baseline.Y = append(baseline.X, x), append(baseline.Y, second(float64(i)))
					}
					to := from.AddDate(0, 0, n-1+ahead)
					f := Figure{ID: "p", Height: height, From: from, To: to, Marks: []Mark{baseline, value, Line{Class: "ghost", X: value.X, Y: value.Y}}}
					labels := labelsOf(t, f)
					if len(labels) != 2 {
						t.Fatalf("%s over %s has %d labels", name, other, len(labels))
					}
					for _, letters := range []float64{12, 16, largestLetters} { // at 390, 768 and 1280 pixels, and with letters twice as large
						center := func(l shownLabel) float64 { return l.at + l.moved*letters }
						for i, l := range labels {
							far, neighbour := math.Abs(center(l)-l.y), math.Abs(center(l)-labels[1-i].y)
							switch {
							case far > 12.1:
								t.Errorf("%s over %s, %s, %g pixels, letters of %g: %s stands %.1f pixels from its end", name, other, length, height, letters, l.text, far)
							case far > neighbour+.2:
								t.Errorf("%s over %s, %s, %g pixels: %s is nearer to the other line's end", name, other, length, height, l.text)
							case l.wants > l.width+.01:
								t.Errorf("%s needs %.1f em of a gutter of %.1f", l.text, l.wants, l.width)
							case l.leads != (ahead > 0):
								t.Errorf("%s over %s, %s: a line leads to %s: %t", name, other, length, l.text, l.leads)
							}
						}
						if gap := math.Abs(center(labels[0]) - center(labels[1])); gap < letters*1.15 {
							t.Errorf("%s over %s, %s, %g pixels, letters of %g: the labels are %.1f pixels apart", name, other, length, height, letters, gap)
						}
					}
				}
			}
		}
	}
}

func TestOnlyKnownLinesHaveALabelAndOnlyTheValueADot(t *testing.T) {
	t.Parallel()
	x := []float64{float64(day(2026, 3, 1).Unix()), float64(day(2026, 3, 5).Unix())}
	svg := Figure{ID: "p", Height: 142, From: day(2026, 3, 1), To: day(2026, 3, 5), Marks: []Mark{
		Line{Class: "second", X: x, Y: []float64{100, 51}, Label: "a < b"},
		Line{X: x, Y: []float64{1, unknown}, Label: "early"},
		Line{X: x, Y: []float64{unknown, unknown}, Label: "nowhere"},
	}}.SVG()
	if strings.Count(svg, `class="end"`) != 1 || !strings.Contains(svg, `<circle class="end" cx="0%"`) || !strings.Contains(svg, "a &lt; b") || strings.Contains(svg, "nowhere") {
		t.Errorf("the labels are %s", svg)
	}
}

func TestAFigureHasTheSignsOfItsLanguage(t *testing.T) {
	t.Parallel()
	months := [12]string{time.March - 1: "marzo"}
	f := Figure{
		ID: "p", Title: "t", Description: "d", Height: 142, From: day(2026, 3, 1), To: day(2026, 3, 5), Words: Words{Decimal: ",", Months: months},
		Marks: []Mark{Line{X: []float64{float64(day(2026, 3, 1).Unix()), float64(day(2026, 3, 5).Unix())}, Y: []float64{0, .8}}},
	}
	if svg := f.SVG(); !strings.Contains(svg, ">0,25<") || !strings.Contains(svg, ">2 marzo<") {
		t.Errorf("Spanish labels: %s", svg)
	}
}

func TestCountsHaveWholeLabels(t *testing.T) {
	t.Parallel()
	f := Figure{From: day(2026, 3, 1), To: day(2026, 3, 2), Ticks: 3, Whole: true, Include: []float64{0, 1}, Marks: []Mark{Line{X: []float64{float64(day(2026, 3, 1).Unix())}, Y: []float64{0}}}}
	if svg := f.SVG(); strings.Contains(svg, ">0.5<") || !strings.Contains(svg, ">0<") || !strings.Contains(svg, ">1<") {
		t.Errorf("no request or one: %s", svg)
	}
	f.Include = []float64{0, 1000}
	if svg := f.SVG(); !strings.Contains(svg, ">500<") {
		t.Errorf("a thousand requests: %s", svg)
	}
}

func TestAFewMonthsHaveTheirYear(t *testing.T) {
	t.Parallel()
	x := []float64{float64(day(2025, 8, 1).Unix()), float64(day(2025, 9, 1).Unix()), float64(day(2025, 10, 1).Unix())}
	f := Figure{Height: 100, From: day(2025, 8, 1), To: day(2025, 10, 1), Months: true, Marks: []Mark{Line{X: x, Y: []float64{1, 2, 3}}}, Words: Words{Months: [12]string{7: "ago", 8: "sep", 9: "oct"}}}
	if svg := f.SVG(); !strings.Contains(svg, ">sep 2025<") {
		t.Errorf("the year is not below the plot: %s", svg)
	}
}

func TestFiguresBelowEachOtherHaveOneRoomForTheirLabels(t *testing.T) {
	t.Parallel()
	figure := func(suffix string, values ...float64) Figure {
		return Figure{From: day(2026, 3, 1), To: day(2026, 3, 2), Suffix: suffix, Marks: []Mark{Line{X: []float64{float64(day(2026, 3, 1).Unix()), float64(day(2026, 3, 2).Unix())}, Y: values}}}
	}
	wide, narrow := figure("%", -1000, 0), figure("", 0, 4)
	if !strings.Contains(narrow.SVG(), `class="room2"`) { // 0 to 4
		t.Errorf("a figure alone: %s", narrow.SVG())
	}
	if got, _ := Align(&wide, &narrow); got != 8 { // −1,000%: seven letters, some of them wide or narrow
		t.Errorf("the room has %d letters", got)
	}
	for _, f := range []Figure{wide, narrow} {
		if !strings.Contains(f.SVG(), `class="room8"`) {
			t.Errorf("an aligned figure: %s", f.SVG())
		}
	}
	if empty := (Figure{Words: Words{Empty: "No hay nada."}}).SVG(); !strings.Contains(empty, "No hay nada.") {
		t.Errorf("a figure without values in Spanish: %s", empty)
	}
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	e := Estimates{ID: "e", Title: "t", Description: "d", Rows: []Estimate{
		{Label: "a < b", Value: .5, Lo: 0, Hi: 1}, {Label: "unknown", Value: unknown, Lo: unknown, Hi: unknown},
	}}
	svg := e.SVG()
	wellFormed(t, svg)
	for _, want := range []string{`cx="50%"`, `x1="0%"`, `x2="100%"`, "a &lt; b"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the estimates lack %s: %s", want, svg)
		}
	}
	below := Estimates{Rows: []Estimate{{Value: .48, Lo: .2, Hi: .55}, {Value: -.12, Lo: unknown, Hi: unknown}}}.SVG()
	for _, want := range []string{`<text class="other" x="0%" y="112" dy=".75em" text-anchor="middle">−0.2<`, `<text x="25%" y="112" dy=".75em" text-anchor="middle">0.0<`, `<circle class="end" cx="10%"`, `x="100%" y="112" dy=".75em" text-anchor="middle">0.6<`} {
		if !strings.Contains(below, want) {
			t.Errorf("the axis does not reach from a value below all to one above, or a narrow figure has no label at zero: no %s in %s", want, below)
		}
	}
	if zero := (Estimates{Rows: []Estimate{{Value: 0}}}).SVG(); strings.Contains(zero, "NaN") {
		t.Errorf("an estimate of zero: %s", zero)
	}
	if got := (Estimates{Rows: []Estimate{{Value: unknown}}}).SVG(); !strings.Contains(got, "nothing to plot") {
		t.Errorf("estimates without values: %s", got)
	}
}

func TestSmallOnes(t *testing.T) {
	t.Parallel()
	wellFormed(t, Spark([]float64{1, 2, unknown, 4}))
	if got := Spark([]float64{unknown, unknown}); got != "" {
		t.Errorf("the course of nothing is %s", got)
	}
	if got := Meter(31.25); !strings.Contains(got, `width="31.2%"`) {
		t.Errorf("31.25 %% is %s", got)
	}
	for _, share := range []float64{-5, 250} {
		wellFormed(t, Meter(share))
	}
}

func TestAFigureStandsAlone(t *testing.T) {
	t.Parallel()
	f := Figure{ID: "p", Title: "a < b", Height: 142, From: day(2026, 3, 1), To: day(2026, 3, 5), Marks: []Mark{
		Line{X: []float64{float64(day(2026, 3, 1).Unix()), float64(day(2026, 3, 5).Unix())}, Y: []float64{0, 100}, Label: "100"},
	}}
	svg := f.Alone(1000, []Key{{"", "value"}, {"second", "e < f"}, {"fan", strings.Repeat("a long name ", 11)}, {"held", "held"}}, "c & d")
	wellFormed(t, svg)
	for _, want := range []string{`width="1000" height="258"`, `<path class="line second" d="M`, `<path class="band fan" d="M`, `<path class="range held" d="M`, "e &lt; f", "a &lt; b", "c &amp; d", `xmlns="http://www.w3.org/2000/svg"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %s: %s", want, svg)
		}
	}
	if got := (Figure{}).Alone(1000, nil, ""); got != "" {
		t.Errorf("a picture of nothing: %s", got)
	}
}
