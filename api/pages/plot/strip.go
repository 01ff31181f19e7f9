package plot

import (
	"fmt"
	"html"
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
// close to each other share a link. It is empty without events.
type Strip struct {
	// Label names the strip for screen readers. One and Several name a link to an event, and to the events between two numbers.
	Label, One, Several string
	// Letters is the room of the figure for its labels.
	Letters  int
	From, To time.Time
	// Events are in ascending time.
	Events []Event
}

// Two numbers are at least this share of the width apart, so that a finger can press each on a small telephone.
const apart = .1

// The sizes of a strip are in em, so that they grow with the letters: its height, half of a mark, how much wider a letter makes one, and the
// narrowest that a finger can press.
const stripHeight, halfMark, markLetter, reach = 7. / 3, .75, 2. / 3, 2.

// SVG draws the strip.
func (s Strip) SVG() string {
	if len(s.Events) == 0 {
		return ""
	}
	length := max(s.To.Sub(s.From).Seconds(), 1)
	at := func(e Event) float64 { return e.At.Sub(s.From).Seconds() / length }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="marks %s" role="group" aria-label="%s" width="100%%" height="%s">`, roomClass(s.Letters), html.EscapeString(s.Label), em(stripHeight))
	for from := 0; from < len(s.Events); {
		to := from + 1
		for to < len(s.Events) && at(s.Events[to])-at(s.Events[to-1]) < apart {
			to++
		}
		group := s.Events[from:to]
		first, last := group[0], group[len(group)-1]
		label := strconv.Itoa(first.Number)
		name := fmt.Sprintf(s.One, label)
		if len(group) > 1 {
			label, name = fmt.Sprintf("%d–%d", first.Number, last.Number), fmt.Sprintf(s.Several, strconv.Itoa(first.Number), strconv.Itoa(last.Number))
		}
		targets := make([]string, len(group))
		for i, e := range group {
			targets[i] = html.EscapeString(e.Target)
		}
		width := 2*halfMark + markLetter*float64(len([]rune(label))-1)
		wide := max(width, reach)
		fmt.Fprintf(&b, `<a class="mark" href="#%s" data-events="%s" aria-label="%s"><svg x="%s%%" y="50%%" overflow="visible"><rect class="reach" x="%s" y="%s" width="%s" height="%s"/><rect x="%s" y="%s" width="%s" height="%s" rx="%s"/><text y=".33em" text-anchor="middle">%s</text></svg></a>`,
			targets[0], strings.Join(targets, " "), html.EscapeString(name), number((at(first)+at(last))*50),
			em(-wide/2), em(-stripHeight/2), em(wide), em(stripHeight),
			em(-width/2), em(-halfMark), em(width), em(2*halfMark), em(halfMark), label)
		from = to
	}
	b.WriteString(`</svg>`)
	return b.String()
}

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

// heights returns positions of the ranges from a time on.
func (m Ranges) heights(s scale, since float64) (out []float64) {
	for i, x := range m.X {
		for n := range steps + 1 {
			if y := m.Lo[i] + float64(n)/steps*(m.Hi[i]-m.Lo[i]); x >= since && y == y {
				out = append(out, s.y(y))
			}
		}
	}
	return out
}

func (m Ranges) draw(b *strings.Builder, s scale) {
	b.WriteString(`<path class="range ` + m.Class + `" d="`)
	for i, x := range m.X {
		if m.Lo[i] == m.Lo[i] && m.Hi[i] == m.Hi[i] {
			b.WriteString("M" + number(s.x(x)) + " " + number(s.y(m.Lo[i])) + "V" + number(s.y(m.Hi[i])))
		}
	}
	b.WriteString(`"/>`)
}
