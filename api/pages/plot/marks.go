package plot

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Line joins points in ascending x. A NaN in Y interrupts it. A point between two interruptions is a dot.
type Line struct {
	Class string
	X, Y  []float64
	// Label is at the end of the line. Empty means none.
	Label string
}

// end returns the last known point.
func (l Line) end() (x, y float64, ok bool) {
	for i, v := range slices.Backward(l.Y) {
		if v == v {
			return l.X[i], v, true
		}
	}
	return 0, 0, false
}

func (l Line) bounds() (lo, hi float64) { return extent(l.Y) }

func (l Line) draw(b *strings.Builder, s scale) {
	joined := pieces(l.Y)
	var dots strings.Builder
	joined = slices.DeleteFunc(joined, func(p [2]int) bool {
		if p[1]-p[0] > 1 {
			return false
		}
		dots.WriteString("M" + number(s.x(l.X[p[0]])) + " " + number(s.y(l.Y[p[0]])) + "h0") // no length, and round ends
		return true
	})
	class := strings.TrimSpace("line " + l.Class)
	if len(joined) > 0 {
		path(b, class, s, joined, func(i int) (x, y float64) { return l.X[i], l.Y[i] }, nil)
	}
	if dots.Len() > 0 {
		b.WriteString(`<path class="` + class + ` lone" d="` + dots.String() + `"/>`)
	}
}

// labelHeight is the minimum distance of two line labels in pixels. A letter is about letterWidth wide, on a figure that is at least
// narrowFigure wide.
const labelHeight, letterWidth, narrowFigure = 15, 7.5, 280

// labelAt returns the baseline of the text of a line's label. It stands right above or below the line's end, or one line of text further: a
// label far from its point would state another value on the axis. It chooses the place with the fewest points of lines and ranges behind
// it, clear of the labels that are placed already. Of equal places it takes the nearest.
func labelAt(s scale, l Line, lines []Line, ranges []Ranges, placed []float64) float64 {
	_, end, _ := l.end()
	left := s.to - (s.to-s.from)*min(letterWidth*float64(len([]rune(l.Label)))/narrowFigure, .5)
	var behind []float64
	for _, other := range lines {
		behind = append(behind, other.heights(s, left)...)
	}
	for _, r := range ranges {
		behind = append(behind, r.heights(s, left)...)
	}
	var places []float64
	for n := range 2 {
		further := float64(n * labelHeight)
		places = append(places, s.y(end)-8-further, s.y(end)+18+further)
	}
	best, hidden, distance := s.y(end)-8, math.MaxInt, 0.0
	for _, at := range places {
		n := 0
		for _, y := range behind {
			if y > at-labelHeight && y < at+4 {
				n++
			}
		}
		for _, y := range placed {
			if math.Abs(y-at) < labelHeight {
				n += len(behind)
			}
		}
		far := math.Abs(at - 5 - s.y(end)) // a letter is about ten pixels high
		if inside := at >= s.top-4 && at <= s.end-2; inside && (n < hidden || n == hidden && far < distance) {
			best, hidden, distance = at, n, far
		}
	}
	return best
}

// steps is how many positions of a stretch between two points count as hidden by a label.
const steps = 8

// heights returns the positions of the line from a time on, also between its known points, and of the last known one.
func (l Line) heights(s scale, since float64) []float64 {
	_, end, _ := l.end()
	out := []float64{s.y(end)}
	for i := 1; i < len(l.Y); i++ {
		for n := range steps {
			part := float64(n+1) / steps
			x, y := l.X[i-1]+part*(l.X[i]-l.X[i-1]), l.Y[i-1]+part*(l.Y[i]-l.Y[i-1])
			if x >= since && y == y {
				out = append(out, s.y(y))
			}
		}
	}
	return out
}

// labels writes the labels of lines at their ends, where they hide the least of the labelled lines. It moves overlapping labels apart. The
// first line, which has no class, also gets a dot at its last value.
func labels(b *strings.Builder, s scale, marks []Mark) {
	type label struct {
		y           float64
		class, text string
	}
	var lines []Line
	var ranges []Ranges
	for _, m := range marks {
		switch m := m.(type) {
		case Line:
			if m.Label != "" {
				lines = append(lines, m)
			}
		case Ranges:
			ranges = append(ranges, m)
		case Band:
			if m.Class == "fan" {
				ranges = append(ranges, Ranges{X: m.X, Lo: m.Lo, Hi: m.Hi})
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.Class, b.Class) }) // the values choose first
	var list []label
	var placed []float64
	for _, l := range lines {
		x, y, known := l.end()
		if !known {
			continue
		}
		at := labelAt(s, l, lines, ranges, placed)
		placed = append(placed, at)
		list = append(list, label{at, l.Class, l.Label})
		if l.Class == "" {
			fmt.Fprintf(b, `<circle class="end" cx="%s%%" cy="%s" r="3.5"/>`, number(s.x(x)/inner*100), number(s.y(y)))
		}
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	for i := range list {
		if i > 0 {
			list[i].y = max(list[i].y, list[i-1].y+labelHeight)
		}
	}
	for i := len(list) - 1; i >= 0; i-- { // and back up from the bottom edge
		lowest := s.end - 2
		if i+1 < len(list) {
			lowest = list[i+1].y - labelHeight
		}
		list[i].y = min(list[i].y, lowest)
	}
	for _, l := range list {
		fmt.Fprintf(b, `<text class="%s" x="100%%" y="%s" text-anchor="end">%s</text>`, strings.TrimSpace("halo label "+l.class), number(l.y), html.EscapeString(l.text))
	}
}

// Band fills the area between two lines.
type Band struct {
	Class     string
	X, Lo, Hi []float64
}

func (m Band) bounds() (lo, hi float64) {
	lo, _ = extent(m.Lo)
	_, hi = extent(m.Hi)
	return lo, hi
}

func (m Band) draw(b *strings.Builder, s scale) {
	path(b, "band "+m.Class, s, pieces(m.Lo, m.Hi),
		func(i int) (x, y float64) { return m.X[i], m.Hi[i] }, func(i int) (x, y float64) { return m.X[i], m.Lo[i] })
}

// Area fills the area between a line and a value.
type Area struct {
	Class string
	X, Y  []float64
	Base  float64
}

func (m Area) bounds() (lo, hi float64) {
	lo, hi = extent(m.Y)
	return widen(lo, hi, m.Base)
}

func (m Area) draw(b *strings.Builder, s scale) {
	path(b, "area "+m.Class, s, pieces(m.Y),
		func(i int) (x, y float64) { return m.X[i], m.Y[i] }, func(i int) (x, y float64) { return m.X[i], m.Base })
}

// Bars start at a base value. Each is Width seconds wide, centred on its x.
type Bars struct {
	Class string
	X, Y  []float64
	Base  float64
	Width float64
}

func (m Bars) bounds() (lo, hi float64) {
	lo, hi = extent(m.Y)
	return widen(lo, hi, m.Base)
}

func (m Bars) draw(b *strings.Builder, s scale) {
	b.WriteString(`<path class="bars ` + m.Class + `" d="`)
	for i, v := range m.Y {
		if v != v {
			continue
		}
		left, right := number(max(s.x(m.X[i]-m.Width/2), 0)), number(min(s.x(m.X[i]+m.Width/2), inner))
		b.WriteString("M" + left + " " + number(s.y(m.Base)) + "V" + number(s.y(v)) + "H" + right + "V" + number(s.y(m.Base)) + "Z")
	}
	b.WriteString(`"/>`)
}

// extent returns the minimum and the maximum of some values, or NaN for an empty list.
func extent(list []float64) (lo, hi float64) {
	lo, hi = math.NaN(), math.NaN()
	for _, v := range list {
		lo, hi = widen(lo, hi, v)
	}
	return lo, hi
}

// pieces returns the index ranges of consecutive known points, with exclusive ends.
func pieces(columns ...[]float64) [][2]int {
	var out [][2]int
	from := -1
	for i := range columns[0] {
		known := true
		for _, c := range columns {
			known = known && c[i] == c[i]
		}
		if from >= 0 && !known {
			out = append(out, [2]int{from, i})
			from = -1
		}
		if known && from < 0 {
			from = i
		}
	}
	if from >= 0 {
		out = append(out, [2]int{from, len(columns[0])})
	}
	return out
}

// loneWidth is how wide the area at an isolated point is, of inner.
const loneWidth = 8

// path draws ranges of points along one line and, if back is not nil, back along another. The area at an isolated point is loneWidth wide.
func path(b *strings.Builder, class string, s scale, list [][2]int, there, back func(i int) (x, y float64)) {
	b.WriteString(`<path class="` + strings.TrimSpace(class) + `" d="`)
	point := func(command string, x, y float64) { b.WriteString(command + number(s.x(x)) + " " + number(s.y(y))) }
	for _, p := range list {
		if p[1]-p[0] == 1 && back != nil {
			x, y := there(p[0])
			_, low := back(p[0])
			left := min(max(s.x(x)-loneWidth/2, 0), inner-loneWidth) // also at an edge of the figure
			b.WriteString("M" + number(left) + " " + number(s.y(y)) + "h" + number(loneWidth) + "V" + number(s.y(low)) + "h" + number(-loneWidth) + "Z")
			continue
		}
		for i := p[0]; i < p[1]; i++ {
			command := "L"
			if i == p[0] {
				command = "M"
			}
			x, y := there(i)
			point(command, x, y)
		}
		if back == nil {
			continue
		}
		for i := p[1] - 1; i >= p[0]; i-- {
			x, y := back(i)
			point("L", x, y)
		}
		b.WriteString("Z")
	}
	b.WriteString(`"/>`)
}

// Reduce returns the indices, in ascending order, of the points that are visible (M4 aggregation, Jugel and others, 2014). It divides x
// into stretches intervals, and keeps the first, last, minimum and maximum of each. It ignores unknown points, except that it keeps the
// first of each run of them, so that the line is still interrupted there.
func Reduce(x, y []float64, stretches int) []int {
	if len(x) <= 4*stretches {
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		return all
	}
	width := (x[len(x)-1] - x[0]) / float64(stretches)
	var out []int
	add := func(i int) {
		if i >= 0 && (len(out) == 0 || out[len(out)-1] < i) {
			out = append(out, i)
		}
	}
	for from := 0; from < len(x); {
		bucket := math.Floor((x[from] - x[0]) / width)
		first, least, greatest, last, unknown := -1, -1, -1, -1, -1
		to := from
		for ; to < len(x) && math.Floor((x[to]-x[0])/width) == bucket; to++ {
			switch v := y[to]; {
			case v != v:
				if unknown < 0 {
					unknown = to
				}
				continue
			case first < 0:
				first, least, greatest = to, to, to
			case v < y[least]:
				least = to
			case v > y[greatest]:
				greatest = to
			}
			last = to
		}
		kept := []int{first, least, greatest, last, unknown}
		for i := range kept { // five indices: sort them by hand
			for j := i; j > 0 && kept[j] < kept[j-1]; j-- {
				kept[j], kept[j-1] = kept[j-1], kept[j]
			}
		}
		for _, i := range kept {
			add(i)
		}
		from = to
	}
	return out
}
