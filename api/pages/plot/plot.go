// Package plot draws figures as SVG on the server. A figure has the width of its container and a fixed height, so that its letters have the
// same size on every screen. Positions along x are percentages and positions along y are pixels. Shapes are in an inner picture that is
// stretched. Shapes have classes, and a style sheet sets their colours, so a figure follows the reader's colour scheme. Everything is a
// pure function. The package imports no other package of the module. Start at Figure.
package plot

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Figure is a plot over time.
type Figure struct {
	// ID is unique in the page.
	ID string
	// Title and Description are for screen readers.
	Title, Description string
	// Height is in pixels, including labels.
	Height float64
	// From and To bound the visible range of x.
	From, To time.Time
	// Marks are drawn in order. X values are Unix times in seconds.
	Marks []Mark
	// Include are values that the y axis always contains, for example 0.
	Include []float64
	// Rules are the y values of horizontal lines across the figure.
	Rules []float64
	// Months reports that the points are of months. The dates are then months or years.
	Months bool
	// Ticks is the approximate number of labelled y values. Zero means 4.
	Ticks int
	// Whole reports that the values are counts, which have no labels between whole numbers.
	Whole bool
	// Suffix follows each labelled value, for example "%".
	Suffix string
	// Letters is the room left of the shapes for labels of y, in letters. Zero means as many as the labels have. Align sets it.
	Letters int
	// Gutter is the room right of the shapes for labels of lines, in letters. Zero means as many as the labels have. Align sets it.
	Gutter int
	// Words are the decimal sign and the months of the reader's language. The zero value is English.
	Words Words
}

// Words are the parts of a figure that depend on the language: the sign before decimals, the short names of months, and the sentence in place of a
// figure without values.
type Words struct {
	Decimal string
	Months  [12]string
	Empty   string
}

// label is Label with the language's separators.
func (w Words) label(v, step float64) string {
	text := Label(v, step)
	if w.Decimal != "," {
		return text
	}
	return strings.NewReplacer(",", ".", ".", ",").Replace(text)
}

// date is the label of a date in the language.
func (w Words) date(d Date) string {
	month := d.At.Month()
	switch name := w.Months[month-1]; {
	case name == "":
		return d.Label
	case d.day:
		return strconv.Itoa(d.At.Day()) + " " + name
	default:
		return strings.Replace(d.Label, month.String()[:3], name, 1)
	}
}

// Mark is a shape in a figure.
type Mark interface {
	// bounds returns the minimum and the maximum y, or NaN without points.
	bounds() (lo, hi float64)
	// draw writes the shape.
	draw(b *strings.Builder, s scale)
}

// inner is the width of the stretched picture.
const inner = 1000

// The space above and below the shapes, in pixels. The label of the highest value is above its line; the dates are below the shapes.
const above, below = 18, 24

// scale converts values to positions: x to 0 through inner, y to pixels from the top.
type scale struct {
	from, to float64
	lo, hi   float64
	top, end float64
}

func (s scale) x(v float64) float64 { return (v - s.from) / (s.to - s.from) * inner }
func (s scale) y(v float64) float64 { return s.end - (v-s.lo)/(s.hi-s.lo)*(s.end-s.top) }

// Key is an entry of a legend. Class is the class of its mark: empty for a line, second, ghost, band, fan, held or missed.
type Key struct{ Class, Text string }

// sample draws the mark of a key left of a place.
func (k Key) sample(x, y float64) string {
	class, shape := "line", "h18"
	switch k.Class {
	case "band":
		class, y, shape = "band", y-5, "h18v10h-18Z"
	case "fan":
		class, y, shape = "band fan", y-5, "h18v10h-18Z"
	case "held", "missed":
		class, x, y, shape = "range "+k.Class, x+9, y-6, "v12"
	case "second", "ghost":
		class = "line " + k.Class
	}
	return `<path class="` + class + `" d="M` + number(x) + " " + number(y) + shape + `"/>`
}

// legend draws keys in rows below a height, and returns the height of the rows.
func legend(b *strings.Builder, keys []Key, width int, top float64) (height float64) {
	const row, sample, gap = 20.0, 24.0, 22.0
	x := 12.0
	for i, k := range keys {
		length := sample + letterWidth*float64(utf8.RuneCountInString(k.Text))
		switch {
		case i == 0:
			height = row
		case x+length > float64(width-12):
			x, height = 12, height+row
		}
		y := top + height - row/2
		b.WriteString(k.sample(x, y))
		fmt.Fprintf(b, `<text x="%s" y="%s">%s</text>`, number(x+sample), number(y+4), html.EscapeString(k.Text))
		x += length + gap
	}
	return height
}

// Alone draws the figure as a standalone image with a width in pixels and light colours. The title is above it, and the legend and lines about
// its source are below. It is empty if the figure has no values.
func (f Figure) Alone(width int, keys []Key, source ...string) string {
	const head, line, margin = 34.0, 17, 12
	left := margin + int(math.Ceil(12*roomOf(f.letters()))) // with letters of 12 pixels
	right := margin + int(math.Ceil(12*gutterOf(f.gutter())))
	shapes := width - left - right
	drawn := f.svg([]breadth{{shapes: float64(shapes) / 12, left: float64(left) / 12, right: float64(right) / 12}})
	_, inside, found := strings.Cut(drawn, ">")
	if !found || !strings.HasPrefix(drawn, "<svg ") {
		return ""
	}
	var b, below strings.Builder
	end := f.Height + head + legend(&below, keys, width, f.Height+head+4)
	foot := end - f.Height - head + float64(5+line*len(source))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="%d" height="%s" viewBox="0 0 %d %s" font-family="system-ui, sans-serif"><style>%s</style><rect class="paper" width="100%%" height="100%%"/>`,
		width, number(f.Height+head+foot), width, number(f.Height+head+foot), aloneStyle)
	small := "" // a long title has smaller letters
	if size := float64(width-2*margin) / (0.56 * float64(utf8.RuneCountInString(f.Title))); size < 16 {
		small = ` style="font-size:` + number(size) + `px"`
	}
	fmt.Fprintf(&b, `<text class="title" x="12" y="22"%s>%s</text><svg x="%d" y="%s" width="%d" height="%s" overflow="visible">%s`, small, html.EscapeString(f.Title), left, number(head), shapes, number(f.Height), inside)
	b.WriteString(below.String())
	for i, text := range source {
		fmt.Fprintf(&b, `<text x="12" y="%s">%s</text>`, number(end+float64(line*(i+1))-2), html.EscapeString(text))
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// aloneStyle sets the classes of a figure to the light colours of the pages.
const aloneStyle = `.paper{fill:#fff}text{fill:#4d606a;font-size:12px}.title{fill:#12232b;font-size:16px;font-weight:600}` +
	`.leader{stroke:#4d606a;stroke-width:.75}.label{fill:#0a6072;font-weight:600}.label.second{fill:#9a5b12}.label.ghost{fill:#4d606a}.grid-line{stroke:#d9e2e5}.axis{stroke:#4d606a}path,line{vector-effect:non-scaling-stroke}` +
	`.line{fill:none;stroke:#0a6072;stroke-width:2;stroke-linejoin:round}.line.second{stroke:#9a5b12;stroke-width:1.5;stroke-dasharray:5 4}` +
	`.line.ghost{stroke:#4d606a;stroke-width:1.5;stroke-dasharray:1 3}.band{fill:#0a6072;opacity:.16}.band.fan{fill:#9a5b12;opacity:.2}` +
	`.line.lone{stroke-width:6;stroke-linecap:round;stroke-dasharray:none}.end{fill:#0a6072}.line.fan{stroke:#9a5b12;stroke-width:1.5}.range{fill:none;stroke-width:3;opacity:.8}.range.held{stroke:#17673a}.range.missed{stroke:#a1311a;stroke-dasharray:3 2}`

// SVG draws the figure. If it has no values, it says so.
func (f Figure) SVG() string { return f.svg(onPages(f.letters(), f.gutter())) }

// svg draws the figure for some widths, in ascending order.
func (f Figure) svg(widths []breadth) string {
	lo, hi, ok := f.extent()
	if !ok {
		return nothing(f.Words.Empty)
	}
	values, step := f.values(lo, hi)
	s := scale{
		from: float64(f.From.Unix()), to: max(float64(f.To.Unix()), float64(f.From.Unix())+1), lo: lo, hi: hi, top: above, end: f.Height - below,
	}

	var b strings.Builder
	fmt.Fprintf(&b, `<svg role="img" id="%s" class="%s" aria-labelledby="%s-title %s-desc" width="100%%" height="%s"`, f.ID, roomClass(f.letters())+gutterClass(f.gutter()), f.ID, f.ID, number(f.Height))
	fmt.Fprintf(&b, ` data-from="%.0f" data-to="%.0f" data-lo="%g" data-hi="%g" data-top="%s" data-end="%s">`, s.from, s.to, s.lo, s.hi,
		number(s.top), number(s.end))
	fmt.Fprintf(&b, `<title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`, f.ID, html.EscapeString(f.Title), f.ID,
		html.EscapeString(f.Description))
	for _, v := range values {
		y := number(s.y(v))
		fmt.Fprintf(&b, `<line class="grid-line" x1="0" x2="100%%" y1="%s" y2="%s"/>`, y, y)
	}
	fmt.Fprintf(&b, `<svg x="0" y="0" width="100%%" height="%s" viewBox="0 0 %d %s" preserveAspectRatio="none">`, number(f.Height), inner, number(f.Height))
	for _, m := range f.Marks {
		m.draw(&b, s)
	}
	b.WriteString(`</svg>`)
	for _, v := range f.Rules {
		y := number(s.y(v))
		fmt.Fprintf(&b, `<line class="axis" x1="0" x2="100%%" y1="%s" y2="%s"/>`, y, y)
	}
	for _, v := range values {
		b.WriteString(s.rowLabel(v, f.Words.label(v, step)+f.Suffix))
	}
	labels(&b, s, f.Marks)
	dates(&b, s, f, widths)
	b.WriteString(`</svg>`)
	return b.String()
}

// extent returns the range of y with its margin. ok is false if no mark has a value.
func (f Figure) extent() (lo, hi float64, ok bool) {
	lo, hi = math.NaN(), math.NaN()
	for _, v := range append(append([]float64{}, f.Include...), f.Rules...) {
		lo, hi = widen(lo, hi, v)
	}
	for _, m := range f.Marks {
		a, b := m.bounds()
		ok = ok || a == a
		lo, hi = widen(lo, hi, a)
		lo, hi = widen(lo, hi, b)
	}
	lo, hi = room(lo, hi)
	return lo, hi, ok
}

// values returns the labelled values of y and their distance.
func (f Figure) values(lo, hi float64) (values []float64, step float64) {
	values, step = Ticks(lo, hi, cmp.Or(f.Ticks, 4))
	if f.Whole && step < 1 {
		values, step = slices.DeleteFunc(values, func(v float64) bool { return math.Abs(v-math.Round(v)) > step/10 }), 1
	}
	return values, step
}

// letters returns the room left of the shapes, in letters: what Align has set, or what the longest label needs.
func (f Figure) letters() int {
	lo, hi, ok := f.extent()
	if f.Letters > 0 || !ok {
		return f.Letters
	}
	values, step := f.values(lo, hi)
	return maxLabel(f.Words, values, step, f.Suffix)
}

// gutter returns the room right of the shapes, in letters: what Align has set, or what the longest label of a line needs.
func (f Figure) gutter() int {
	widest := float64(f.Gutter)
	for _, m := range f.Marks {
		l, ok := m.(Line)
		if _, _, known := l.end(); ok && known && f.Gutter == 0 {
			widest = max(widest, digits(l.Label))
		}
	}
	return min(int(math.Ceil(widest)), maxGutter)
}

// Align gives figures, of which one stands below the other, the same rooms for their labels, so that an instant has the same x in each. It
// returns the rooms in letters.
func Align(figures ...*Figure) (letters, gutter int) {
	for _, f := range figures {
		letters, gutter = max(letters, f.letters()), max(gutter, f.gutter())
	}
	for _, f := range figures {
		f.Letters, f.Gutter = letters, gutter
	}
	return letters, gutter
}

// maxLabel is the room of the longest label, in letters as wide as a digit.
func maxLabel(w Words, values []float64, step float64, suffix string) int {
	widest := 0.0
	for _, v := range values {
		widest = max(widest, digits(w.label(v, step)+suffix))
	}
	return int(math.Ceil(widest))
}

// digits is the width of a number with its signs, in digits.
func digits(text string) (n float64) {
	for _, r := range text {
		switch r {
		case '%':
			n += 1.5
		case '−', '+':
			n += 1.3
		case '.', ',', '\u00a0':
			n += .5
		default:
			n++
		}
	}
	return n
}

// The style sheet has a class for each room from minRoom to maxRoom letters.
const minRoom, maxRoom = 2, 9

// roomClass is the class of a figure with room for labels of a number of letters left of its shapes.
func roomClass(letters int) string { return fmt.Sprintf("room%d", min(max(letters, minRoom), maxRoom)) }

// maxGutter is the largest gutter of the style sheet. It has a class for each from one letter.
const maxGutter = 12

// gutterClass is the class of a figure with room for labels of a number of letters right of its shapes. It follows another class.
func gutterClass(letters int) string {
	if letters == 0 {
		return ""
	}
	return fmt.Sprintf(" gutter%d", letters)
}

// gutterOf is the room right of the shapes in em, as the style sheet has it. The letters are bold.
func gutterOf(letters int) float64 {
	if letters == 0 {
		return 0
	}
	return .7*float64(letters) + .6
}

// rowLabel writes the label of a value of y left of the shapes, where no line passes through it. The label of a value at the end of the shapes
// is higher than its line, so that large letters stay clear of a column's label at the left edge.
func (s scale) rowLabel(v float64, text string) string {
	y, shift := s.y(v), ".35em"
	if s.end-y < 2*tickLength {
		shift = ".1em"
	}
	return fmt.Sprintf(`<text x="0" dx="-.5em" y="%s" dy="%s" text-anchor="end">%s</text>`, number(y), shift, html.EscapeString(text))
}

// nothing returns the sentence for a figure without values.
func nothing(text string) string {
	return `<p class="quiet">` + html.EscapeString(cmp.Or(text, "There is nothing to plot in this range.")) + `</p>`
}

// everyOther marks every second label of an axis, counted from zero, whose label always shows. The style sheet hides those if the letters are
// large and the figure is narrow.
func everyOther(i int) string {
	if i%2 == 0 {
		return ""
	}
	return ` class="other"`
}

// widen extends an interval so that it contains a value. It ignores NaN and infinities. An interval of NaN is empty.
func widen(lo, hi, v float64) (newLo, newHi float64) {
	if v != v || math.IsInf(v, 0) {
		return lo, hi
	}
	if lo != lo {
		return v, v
	}
	return min(lo, v), max(hi, v)
}

// room extends an interval by a margin.
func room(lo, hi float64) (newLo, newHi float64) {
	d := hi - lo
	if d == 0 {
		d = max(math.Abs(hi), 1)
	}
	return lo - d*.04, hi + d*.04
}

// number formats a position with one decimal, because finer differences are invisible.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}
