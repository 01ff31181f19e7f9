package view

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"tidemark/internal/locale"
	"tidemark/signals"
	"tidemark/signals/changes"
)

// changeWriter explains in one language why a signal moved.
type changeWriter struct {
	l *locale.Language
	d signals.Definition
}

// maxNamed is the maximum number of parts in a sentence. If there are more, parts of the same kind are combined.
const maxNamed = 4

// sentence says how the value moved and which parts moved it: "up 4.2: new data (20 November 2026) +5.1, revision (13 November 2026) −0.9".
func (w changeWriter) sentence(e changes.Explanation) string {
	var out string
	switch total := e.Total.Value; {
	case math.IsNaN(total):
		return w.l.Words["change.unknown"]
	case w.zero(total):
		out = w.l.Words["change.same"]
	case total > 0:
		out = fmt.Sprintf(w.l.Words["change.up"], w.number(total))
	default:
		out = fmt.Sprintf(w.l.Words["change.down"], w.number(total))
	}
	moved := slices.DeleteFunc(slices.Clone(e.Parts), func(p changes.Part) bool { return p.Value == 0 })
	moved = together(moved, func(a, b changes.Part) bool {
		return a.Kind == b.Kind && a.Kind == changes.Revision && a.Source == b.Source && a.Release.Equal(b.Release)
	})
	if len(moved) > maxNamed {
		moved = together(moved, func(a, b changes.Part) bool { return a.Kind == b.Kind })
	}
	var said []string
	for _, p := range moved {
		if !w.zero(p.Value) {
			said = append(said, w.part(p))
		}
	}
	if len(said) == 0 {
		return out
	}
	return out + ": " + strings.Join(said, ", ")
}

// together adds up the parts that belong together.
func together(parts []changes.Part, belong func(a, b changes.Part) bool) (out []changes.Part) {
	for _, p := range parts {
		i := slices.IndexFunc(out, func(q changes.Part) bool { return belong(p, q) })
		if i < 0 {
			out = append(out, p)
			continue
		}
		q := &out[i]
		if !p.Release.Equal(q.Release) {
			q.Releases += p.Releases
		}
		q.Count += p.Count
		q.Value += p.Value
		if p.From.Before(q.From) {
			q.From = p.From
		}
		if p.To.After(q.To) {
			q.To = p.To
		}
	}
	return out
}

// part describes a part and what it added to the value.
func (w changeWriter) part(p changes.Part) string {
	var out string
	switch {
	case p.Kind == changes.NewObservation && p.Releases > 1:
		out = fmt.Sprintf(w.l.Words["change.releases"], w.count(p.Releases), w.days(p))
	case p.Kind == changes.NewObservation:
		out = fmt.Sprintf(w.l.Words["change.new"], w.day(p.To))
	case p.Kind == changes.Revision && p.Count > 1:
		out = fmt.Sprintf(w.l.Words["change.revisions"], w.count(p.Count), w.days(p))
	case p.Kind == changes.Revision && math.IsNaN(p.After):
		out = fmt.Sprintf(w.l.Words["change.withdrawn"], w.day(p.To))
	case p.Kind == changes.Revision:
		out = fmt.Sprintf(w.l.Words["change.revised"], w.day(p.To))
	default:
		out = w.l.Words["change."+string(p.Kind)]
	}
	if w.zero(p.Value) {
		return out
	}
	return out + " " + w.signed(p.Value)
}

func (w changeWriter) day(t time.Time) string {
	if w.d.Frequency == "monthly" {
		return w.l.WriteMonth(t.UTC())
	}
	return w.l.WriteDate(t.UTC())
}

// days writes the first and the last day of a part.
func (w changeWriter) days(p changes.Part) string {
	from, to := w.day(p.From), w.day(p.To)
	if from == to {
		return to
	}
	return from + " – " + to
}

func (w changeWriter) count(n int) string {
	return message.NewPrinter(w.l.Tag).Sprint(number.Decimal(n))
}

// decimals is one decimal more than the signal's figures show.
func (w changeWriter) decimals() int {
	n := w.d.Phrasing.Decimals + 1
	if w.d.Phrasing.PerUnit > 1 {
		n = max(w.d.Phrasing.Decimals-int(math.Round(math.Log10(w.d.Phrasing.PerUnit))), 0)
	}
	return n
}

// zero reports whether a number is unknown or rounds to zero.
func (w changeWriter) zero(v float64) bool {
	return math.IsNaN(v) || math.Abs(v) < math.Pow10(-w.decimals())/2
}

func (w changeWriter) number(v float64) string {
	return message.NewPrinter(w.l.Tag).Sprint(number.Decimal(math.Abs(v), number.Scale(w.decimals())))
}

func (w changeWriter) signed(v float64) string {
	if v < 0 {
		return "−" + w.number(v)
	}
	return "+" + w.number(v)
}
