package plot

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"
)

// breadth is a width at which a figure may be drawn. Lengths are in em of the labels.
type breadth struct {
	// class is the class of labels that only fit at this width or above. The style sheet hides them where the figure is narrower.
	class string
	// shapes is the width of the shapes. left and right are the room at its sides.
	shapes, left, right float64
}

// roomOf is the room left of the shapes for labels of a number of letters, as the style sheet has it.
func roomOf(letters int) float64 { return .65*float64(min(max(letters, minRoom), maxRoom)) + .5 }

// onPages returns the least widths at which a figure on a page gets more labels. The narrowest is 8 rem. A label is 3/4 rem high. Below
// 14 rem the figure has no gutter. A date that fits there also fits beside the gutter.
func onPages(letters, gutter int) (out []breadth) {
	const least = 14
	left, right := roomOf(letters), gutterOf(gutter)
	for _, rem := range []int{8, 11, least, 16, 18, 19, 22, 26, 36} {
		w := breadth{class: fmt.Sprintf("over%d", rem), shapes: float64(rem)/.75 - left - right, left: left, right: right}
		if rem < least {
			w.shapes, w.right = min(float64(rem)/.75, least/.75-right)-left, 0
		}
		out = append(out, w)
	}
	out[0].class = "" // at every width
	return out
}

// dateLabel is a label below the shapes.
type dateLabel struct {
	text string
	// at is its place as a part of the width of the shapes. length is in em.
	at, length float64
	// placed says that the label fits, and class from which width on.
	placed bool
	class  string
	// rank is 0 for the most important labels, and 2 for the least important.
	rank int
}

// gap is the distance of two labels in em.
const gap = .4

// ends returns where the label begins and ends, in em from the left edge of the shapes.
func (d dateLabel) ends(w breadth) (from, to float64) {
	return d.at*w.shapes - d.length/2, d.at*w.shapes + d.length/2
}

// place puts the middle of a label at its date. It reports whether it fits at a width with the labels that are placed.
func (d *dateLabel) place(w breadth, all []dateLabel) bool {
	from, to := d.ends(w)
	if from < -w.left || to > w.shapes+w.right {
		return false
	}
	for _, other := range all {
		if !other.placed {
			continue
		}
		if otherFrom, otherTo := other.ends(w); from < otherTo+gap && to > otherFrom-gap {
			return false
		}
	}
	d.placed, d.class = true, w.class
	return true
}

// dates writes the dates of x that fit at each of some widths: a tick and a label for each. A label that fits at one
// width also fits at a larger one. The lowest label of y is above them, also where letters are large.
func dates(b *strings.Builder, s scale, f Figure, widths []breadth) {
	list := dateLabels(s, f)
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return list[i].rank - list[j].rank })
	for _, w := range widths {
		for _, i := range order {
			if !list[i].placed {
				list[i].place(w, list)
			}
		}
	}
	for _, d := range list {
		if !d.placed {
			continue
		}
		x := number(d.at * 100)
		fmt.Fprintf(b, `<line class="%s" x1="%s%%" x2="%s%%" y1="%s" y2="%s"/>`, strings.TrimSpace("axis "+d.class), x, x, number(s.end), number(s.end+tickLength))
		class := ""
		if d.class != "" {
			class = ` class="` + d.class + `"`
		}
		b.WriteString(columnLabel(class, x+"%", "middle", s.end, d.text))
	}
}

// tickLength is the length of a tick in pixels.
const tickLength = 4

// columnLabel writes a label below the shapes, which end at a height. Its top is a fixed distance below them, so that large letters stay
// clear of the lowest label of y.
func columnLabel(class, x, anchor string, end float64, text string) string {
	return fmt.Sprintf(`<text%s x="%s" y="%s" dy=".75em" text-anchor="%s">%s</text>`, class, x, number(end+2*tickLength), anchor, html.EscapeString(text))
}

// fewDates is the number of months up to which each has its year. The label of the first one rarely fits at the edge.
const fewDates = 3

// dateLabels returns the labels of the dates of a figure. The first of several months has its year, but a year alone says more.
func dateLabels(s scale, f Figure) []dateLabel {
	list := Dates(f.From, f.To, 5, f.Months)
	isYear := func(d Date) bool { return d.Label == d.At.Format("2006") }
	someYear := slices.ContainsFunc(list, isYear)
	out := make([]dateLabel, len(list))
	for i, t := range list {
		if f.Months && !t.day && !someYear && len(list) <= fewDates {
			t.Label = t.At.Format("Jan 2006")
		}
		text := f.Words.date(t)
		out[i] = dateLabel{text: text, at: s.x(float64(t.At.Unix())) / inner, length: lengthOf(text), rank: 1}
		switch {
		case isYear(t), i == 0 && !someYear:
			out[i].rank = 0
		case i == 0:
			out[i].rank = 2
		}
	}
	return out
}

// lengthOf estimates the length of a text in em. Signs above and below letters take no room.
func lengthOf(text string) float64 {
	n := 0
	for _, r := range text {
		if !unicode.Is(unicode.Mn, r) {
			n++
		}
	}
	return letterWidth / 12 * float64(n)
}
