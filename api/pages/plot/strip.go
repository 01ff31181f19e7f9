package plot

import (
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is an instant that a figure marks with a number.
type Event struct {
	At     time.Time
	Number int
	// Target is the id of the element that describes it.
	Target string
}

// Strip draws the numbers of events above a figure with the same range of x. Each number is a link to its description. Events that are
// too close for two marks share a link; how many are depends on the width. It is empty without events.
type Strip struct {
	// Label names the strip for screen readers. One and Several name a link to an event, and to the events between two numbers.
	Label, One, Several string
	// Letters and Gutter are the rooms of the figure for its labels.
	Letters, Gutter int
	From, To        time.Time
	// Events are in ascending time.
	Events []Event
}

// The sizes of a strip are in em, so that they grow with the letters: its height, half of a mark, how much wider a letter makes one, and the
// narrowest that a finger can press.
const stripHeight, halfMark, markLetter, reach = 7. / 3, .75, 2. / 3, 2.

// narrowStrip is the width in em of a strip on a small telephone. There each mark has room for a finger. widerStrips are the least widths in
// rem of figures whose events are grouped anew. The style sheet has the classes overN and underN for each.
const narrowStrip = 17.

var widerStrips = []int{36, 56}

// mark is a group of events. It is shown from the width with one number to before the one with another: 0 is the narrowest, and the others are
// those of widerStrips.
type mark struct {
	events      []Event
	from, until int
}

// class names the widths of the mark for the style sheet.
func (m mark) class() (class string) {
	if m.from > 0 {
		class += fmt.Sprintf(" over%d", widerStrips[m.from-1])
	}
	if m.until <= len(widerStrips) {
		class += fmt.Sprintf(" under%d", widerStrips[m.until-1])
	}
	return class
}

// marks returns the marks of all widths by their first event. A mark that widths next to each other have in common is one.
func (s Strip) marks() (out []mark) {
	for i := range len(widerStrips) + 1 {
		width := narrowStrip
		if i > 0 {
			width = float64(widerStrips[i-1])/.75 - roomOf(s.Letters) - gutterOf(s.Gutter)
		}
		for _, group := range s.groups(width) {
			same := slices.IndexFunc(out, func(m mark) bool { return m.until == i && groupLabel(m.events) == groupLabel(group) })
			if same < 0 {
				out = append(out, mark{group, i, i + 1})
			} else {
				out[same].until++
			}
		}
	}
	slices.SortStableFunc(out, func(a, b mark) int { return a.events[0].Number - b.events[0].Number })
	return out
}

// SVG draws the strip.
func (s Strip) SVG() string {
	if len(s.Events) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="marks %s" role="group" aria-label="%s" width="100%%" height="%s">`, roomClass(s.Letters)+gutterClass(s.Gutter), html.EscapeString(s.Label), em(stripHeight))
	for _, m := range s.marks() {
		group := m.events
		first, last, label := group[0], group[len(group)-1], groupLabel(group)
		name := fmt.Sprintf(s.One, label)
		if len(group) > 1 {
			name = fmt.Sprintf(s.Several, strconv.Itoa(first.Number), strconv.Itoa(last.Number))
		}
		targets := make([]string, len(group))
		for i, e := range group {
			targets[i] = html.EscapeString(e.Target)
		}
		width := markWidth(label)
		wide := max(width, reach)
		fmt.Fprintf(&b, `<a class="mark%s" href="#%s" data-events="%s" aria-label="%s"><svg x="%s%%" y="50%%" overflow="visible"><rect class="reach" x="%s" y="%s" width="%s" height="%s"/><rect x="%s" y="%s" width="%s" height="%s" rx="%s"/><text y=".33em" text-anchor="middle">%s</text></svg></a>`,
			m.class(), targets[0], strings.Join(targets, " "), html.EscapeString(name), number(s.at(group)*100),
			em(-wide/2), em(-stripHeight/2), em(wide), em(stripHeight),
			em(-width/2), em(-halfMark), em(width), em(2*halfMark), em(halfMark), label)
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// groups returns the events of each mark of a strip with a width in em. Events share a mark only if their marks would overlap there.
func (s Strip) groups(strip float64) [][]Event {
	var out [][]Event
	for i := range s.Events {
		out = append(out, s.Events[i:i+1])
	}
	room := func(group []Event) float64 { return max(markWidth(groupLabel(group)), reach) / 2 / strip }
	for len(out) > 1 {
		best, least := 0, 0.
		for i := 1; i < len(out); i++ {
			if free := s.at(out[i]) - s.at(out[i-1]) - room(out[i-1]) - room(out[i]); free < least {
				best, least = i, free
			}
		}
		if best == 0 {
			break
		}
		out[best-1] = out[best-1][:len(out[best-1])+len(out[best])] // the events are next to each other
		out = slices.Delete(out, best, best+1)
	}
	return out
}

// at is the place of a mark as a part of the width: the middle of its first and its last event.
func (s Strip) at(group []Event) float64 {
	middle := group[0].At.Sub(s.From) + group[len(group)-1].At.Sub(group[0].At)/2
	return middle.Seconds() / max(s.To.Sub(s.From).Seconds(), 1)
}

// groupLabel is the text of a mark.
func groupLabel(group []Event) string {
	first, last := group[0].Number, group[len(group)-1].Number
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d–%d", first, last)
}

// markWidth is the width of a mark in em.
func markWidth(label string) float64 { return 2*halfMark + markLetter*float64(len([]rune(label))-1) }

// em is a length in the size of the letters.
func em(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) + "em" }

// Moments are vertical lines through a figure.
type Moments []time.Time

func (m Moments) bounds() (lo, hi float64) { return extent(nil) }

func (m Moments) draw(b *strings.Builder, s scale) {
	b.WriteString(`<path class="moment" d="`)
	for _, t := range m {
		b.WriteString("M" + number(s.x(float64(t.Unix()))) + " 0V" + number(s.end))
	}
	b.WriteString(`"/>`)
}

// Ranges are vertical lines from a low to a high value.
type Ranges struct {
	Class     string
	X, Lo, Hi []float64
}

func (m Ranges) bounds() (lo, hi float64) { return Band{Lo: m.Lo, Hi: m.Hi}.bounds() }

func (m Ranges) draw(b *strings.Builder, s scale) {
	b.WriteString(`<path class="range ` + m.Class + `" d="`)
	for i, x := range m.X {
		if m.Lo[i] == m.Lo[i] && m.Hi[i] == m.Hi[i] {
			b.WriteString("M" + number(s.x(x)) + " " + number(s.y(m.Lo[i])) + "V" + number(s.y(m.Hi[i])))
		}
	}
	b.WriteString(`"/>`)
}
