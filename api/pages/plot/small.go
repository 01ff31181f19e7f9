package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Spark draws a small line without axes. It has no text alternative, because the text next to it contains the information.
func Spark(y []float64) string {
	lo, hi := extent(y)
	if lo != lo || len(y) < 2 {
		return ""
	}
	const height = 48
	lo, hi = room(lo, hi)
	x := make([]float64, len(y))
	for i := range x {
		x[i] = float64(i)
	}
	s := scale{from: 0, to: float64(len(y) - 1), lo: lo, hi: hi, top: 2, end: height - 2}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="spark" viewBox="0 0 %d %d" preserveAspectRatio="none" aria-hidden="true" focusable="false">`, inner, height)
	Area{X: x, Y: y, Base: lo}.draw(&b, s)
	Line{X: x, Y: y}.draw(&b, s)
	b.WriteString(`</svg>`)
	return b.String()
}

// Meter draws a bar that is filled to a share of 100. It has no text alternative, because the number is next to it.
func Meter(share float64) string {
	if share != share {
		return ""
	}
	return `<svg class="meter" aria-hidden="true" focusable="false"><rect class="rail" width="100%" height="100%" rx="3"/>` +
		`<rect class="fill" width="` + number(min(max(share, 0), 100)) + `%" height="100%" rx="3"/></svg>`
}

// Estimate is a value with its interval. NaN means unknown.
type Estimate struct {
	Label         string
	Value, Lo, Hi float64
	Class         string
}

// Estimates draws values with their intervals, one below the other, with a line at zero. Values to the left of the line mean no
// improvement. For the script the number of a row, counted from zero, is its y.
type Estimates struct {
	ID, Title, Description string
	Rows                   []Estimate
	// Words are the decimal sign of the reader's language. The zero value is English.
	Words Words
}

// SVG draws the figure, or says that it is empty.
func (e Estimates) SVG() string {
	lo, hi := widen(math.NaN(), math.NaN(), 0)
	some := false
	for _, r := range e.Rows {
		some = some || r.Value == r.Value
		for _, v := range []float64{r.Value, r.Lo, r.Hi} {
			lo, hi = widen(lo, hi, v)
		}
	}
	if !some {
		return nothing(e.Words.Empty)
	}
	const rowHeight, nameHeight, nameBase, valueAt = 52, 27, 18, 38 // also the largest letters are above the lines
	if lo == hi {
		hi = lo + 1
	}
	_, step := Ticks(lo, hi, 5)
	lo, hi = math.Floor(lo/step+1e-9)*step, math.Ceil(hi/step-1e-9)*step // the axis begins and ends with a labelled value
	var values []float64
	for i := math.Round(lo / step); i*step <= hi+step/2; i++ {
		values = append(values, i*step)
	}
	height := float64(len(e.Rows)*rowHeight + below)
	at := func(v float64) string { return number((v-lo)/(hi-lo)*100) + "%" }

	var b strings.Builder
	end := height - below - 2
	fmt.Fprintf(&b, `<svg role="img" id="%s" class="estimates" aria-labelledby="%s-title %s-desc" width="100%%" height="%s" data-from="%g" data-to="%g" data-lo="%g" data-hi="%g" data-top="0" data-end="%s"><title id="%s-title">%s</title><desc id="%s-desc">%s</desc>`,
		e.ID, e.ID, e.ID, number(height), lo, hi, (end-valueAt)/rowHeight, -float64(valueAt)/rowHeight, number(end), e.ID, html.EscapeString(e.Title), e.ID, html.EscapeString(e.Description))
	for _, v := range values {
		class := "grid-line"
		if v == 0 {
			class = "axis"
		}
		for row := range e.Rows { // not behind the names
			fmt.Fprintf(&b, `<line class="%s" x1="%s" x2="%s" y1="%d" y2="%d"/>`, class, at(v), at(v), row*rowHeight+nameHeight, (row+1)*rowHeight-2)
		}
		b.WriteString(columnLabel(everyOther(int(math.Round(v/step))), at(v), "middle", height-below, e.Words.label(v, step)))
	}
	for i, r := range e.Rows {
		if r.Value != r.Value {
			continue
		}
		top := float64(i * rowHeight)
		y := number(top + valueAt)
		fmt.Fprintf(&b, `<text class="row-name" x="0" dx="-2em" y="%s">%s</text>`, number(top+nameBase), html.EscapeString(r.Label))
		if r.Lo == r.Lo && r.Hi == r.Hi {
			fmt.Fprintf(&b, `<line class="line %s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, r.Class, at(r.Lo), at(r.Hi), y, y)
		}
		fmt.Fprintf(&b, `<circle class="end" cx="%s" cy="%s" r="5"/>`, at(r.Value), y)
	}
	b.WriteString(`</svg>`)
	return b.String()
}
