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
	// Label is a number at the end of the line, right of the shapes. Empty means none.
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

// letterWidth is about the width of a letter in pixels.
const letterWidth = 7.5

// lineOfText is the distance of two labels of lines in em, and largestLetters the largest size of letters in pixels.
const lineOfText, largestLetters = 1.2, 20

// endLabel is the label of a line, right of the shapes. No line passes there.
type endLabel struct {
	class, text string
	// x and y are the end of the line.
	x, y float64
	// at is the height of the label, and moved its distance from there in em.
	at, moved float64
}

// endLabels returns the labels of lines from top to bottom. Each is at the height of the end of its line. Labels that would overlap with the
// largest letters stand around the middle of their ends, as near to each other as the letters allow.
func endLabels(s scale, marks []Mark) []endLabel {
	var list []endLabel
	for _, m := range marks {
		l, ok := m.(Line)
		if x, y, known := l.end(); ok && known && l.Label != "" {
			list = append(list, endLabel{class: l.Class, text: l.Label, x: s.x(x) / inner * 100, y: s.y(y)})
		}
	}
	slices.SortStableFunc(list, func(a, b endLabel) int { return cmp.Compare(a.y, b.y) })
	var groups [][]endLabel
	middle := func(group []endLabel) (sum float64) {
		for _, l := range group {
			sum += l.y / float64(len(group))
		}
		return sum
	}
	for i := range list {
		groups = append(groups, list[i:i+1])
		for n := len(groups); n > 1; n-- {
			upper, lower := groups[n-2], groups[n-1]
			if middle(lower)-middle(upper) >= lineOfText*largestLetters*float64(len(upper)+len(lower))/2 {
				break
			}
			groups = append(groups[:n-2], list[i+1-len(upper)-len(lower):i+1])
		}
	}
	for _, group := range groups {
		at := middle(group)
		for i := range group {
			group[i].at, group[i].moved = at, lineOfText*(float64(i)-float64(len(group)-1)/2)
		}
	}
	return list
}

// labels writes the labels of lines right of the shapes. A thin line leads there from an end that is further left. The first line, which has no
// class, also gets a dot at its last value.
func labels(b *strings.Builder, s scale, marks []Mark) {
	for _, l := range endLabels(s, marks) {
		x, y := number(l.x), number(l.y)
		if x != "100" {
			fmt.Fprintf(b, `<line class="leader" x1="%s%%" x2="100%%" y1="%s" y2="%s"/>`, x, y, y)
		}
		if l.class == "" {
			fmt.Fprintf(b, `<circle class="end" cx="%s%%" cy="%s" r="3.5"/>`, x, y)
		}
		fmt.Fprintf(b, `<text class="%s" x="100%%" dx=".6em" y="%s" dy="%s">%s</text>`, strings.TrimSpace("label "+l.class), number(l.at), em(.35+l.moved), html.EscapeString(l.text))
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
