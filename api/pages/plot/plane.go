package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Plane draws points by two numbers, with lines at zero. Like a Figure it has the width of its container.
type Plane struct {
	ID, Title, Description string
	// Height is in pixels, including labels.
	Height float64
	X, Y   []float64
	// Lo and Hi are the ends of a vertical interval through each point. They are nil without intervals.
	Lo, Hi []float64
	// Points reports that the points are many and small.
	Points bool
	// Chosen is the number of the emphasized point, counted from one. Zero means none.
	Chosen int
	// Words are the decimal sign of the reader's language. The zero value is English.
	Words Words
}

// SVG draws the figure. It is empty without points.
func (p Plane) SVG() string {
	left, right := widen(math.NaN(), math.NaN(), 0)
	lo, hi := widen(math.NaN(), math.NaN(), 0)
	for i := range p.X {
		left, right = widen(left, right, p.X[i])
		lo, hi = widen(lo, hi, p.Y[i])
		if p.Lo != nil {
			lo, hi = widen(lo, hi, p.Lo[i])
			lo, hi = widen(lo, hi, p.Hi[i])
		}
	}
	if len(p.X) == 0 {
		return ""
	}
	left, right = room(left, right)
	lo, hi = room(lo, hi)
	s := scale{from: left, to: right, lo: lo, hi: hi, top: above, end: p.Height - below}
	share := func(v float64) string { return number(s.x(v)/inner*100) + "%" }

	var b strings.Builder
	rows, step := Ticks(lo, hi, 4)
	columns, width := Ticks(left, right, 5)
	if p.Points && decimals(width) < decimals(step) { // both axes have one unit
		width = step
	} else if p.Points {
		step = width
	}
	fmt.Fprintf(&b, `<svg role="img" id="%s" class="%s" aria-labelledby="%s-title %s-desc" width="100%%" height="%s" data-from="%g" data-to="%g" data-lo="%g" data-hi="%g" data-top="%s" data-end="%s"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
		p.ID, roomClass(maxLabel(p.Words, rows, step, "")), p.ID, p.ID, number(p.Height), s.from, s.to, s.lo, s.hi, number(s.top), number(s.end), p.ID, html.EscapeString(p.Title), p.ID, html.EscapeString(p.Description))
	for _, v := range rows {
		fmt.Fprintf(&b, `<line class="%s" x1="0" x2="100%%" y1="%s" y2="%s"/>`, gridClass(v), number(s.y(v)), number(s.y(v)))
	}
	for _, v := range columns {
		fmt.Fprintf(&b, `<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, gridClass(v), share(v), share(v), number(s.top), number(s.end))
	}
	p.shapes(&b, s, share)
	for _, v := range rows {
		b.WriteString(s.rowLabel(v, p.Words.label(v, step)))
	}
	for _, v := range columns {
		anchor := "middle"
		if s.x(v)/inner > .96 {
			anchor = "end"
		}
		b.WriteString(columnLabel("", share(v), anchor, s.end, p.Words.label(v, width)))
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// shapes draws the points. Many points are one path in a stretched picture: its lines of no length have round ends.
func (p Plane) shapes(b *strings.Builder, s scale, share func(float64) string) {
	if p.Points {
		fmt.Fprintf(b, `<svg x="0" y="0" width="100%%" height="%s" viewBox="0 0 %d %s" preserveAspectRatio="none"><path class="points" d="`, number(p.Height), inner, number(p.Height))
		for i := range p.X {
			b.WriteString("M" + number(math.Round(s.x(p.X[i]))) + " " + number(math.Round(s.y(p.Y[i]))) + "h0")
		}
		b.WriteString(`"/></svg>`)
		return
	}
	for i := range p.X {
		class := ""
		if i+1 == p.Chosen {
			class = " chosen-point"
		}
		if p.Lo != nil {
			fmt.Fprintf(b, `<line class="reach-line%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, share(p.X[i]), share(p.X[i]), number(s.y(p.Lo[i])), number(s.y(p.Hi[i])))
		}
		fmt.Fprintf(b, `<circle class="end%s" cx="%s" cy="%s" r="%d"/>`, class, share(p.X[i]), number(s.y(p.Y[i])), 3+2*min(len(class), 1))
	}
}

// gridClass is the class of a line at a value.
func gridClass(v float64) string {
	if v == 0 {
		return "axis"
	}
	return "grid-line"
}
