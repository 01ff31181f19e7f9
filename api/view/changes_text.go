package view

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"tidemark/internal/locale"
	"tidemark/signals"
	"tidemark/signals/changes"
)

// changeWriter explains in one language why a signal moved. It writes differences in the unit of the language's headline.
type changeWriter struct {
	l *locale.Language
	d signals.Definition
	// inValue and inBaseline are the forms of the changes of the value and of the baseline.
	inValue, inBaseline changeForm
}

// changeForm is how a language writes a change of a value. Its unit is so many units of the signal as per says, and places are the value's
// decimals. One is figure for a number that takes the singular, if that differs.
type changeForm struct {
	figure string
	one    string
	per    float64
	places int
}

// newChangeWriter returns the writer of an explanation. The unit of the value suits all its changes, and the unit of the baseline all of its own.
func newChangeWriter(l *locale.Language, d signals.Definition, numbers ...changes.Numbers) changeWriter {
	var value, baseline []float64
	for _, n := range numbers {
		value, baseline = append(value, n.Value), append(baseline, n.Baseline)
	}
	return changeWriter{l, d, newChangeForm(l, d, value), newChangeForm(l, d, baseline)}
}

func newChangeForm(l *locale.Language, d signals.Definition, moved []float64) changeForm {
	t, ok := d.Texts[string(l.Code)]
	if !ok {
		t, ok = l.SignalTexts[d.ID]
	}
	if !ok {
		return changeForm{d.Phrasing.Figure, "", d.Scale(), d.Phrasing.Decimals}
	}
	t, _ = t.Sized(moved...)
	d.Phrasing.PerUnit = t.PerUnit
	return changeForm{t.Figure, t.One, d.Scale(), t.Decimals}
}

// maxNamed is the maximum number of parts in a sentence. If there are more, parts of the same kind are combined.
const maxNamed = 4

// measure is one of the three numbers that the words describe.
type measure struct {
	// word is the part of the names of its phrases.
	word string
	// of returns the number in the unit in which the words state it. inUnit adds the unit to a number with its sign, which may be empty.
	of       func(changes.Numbers) float64
	inUnit   func(sign, number string) string
	decimals int
}

// zDecimals is the number of decimals of a z-score in words.
const zDecimals = 2

// measures are the value, the baseline and the z-score.
func (w changeWriter) measures() (value, baseline, z measure) {
	finer := 1
	if w.d.Prefix() != "" { // dollars have cents, and nothing smaller
		finer = 0
	}
	in := func(f changeForm) func(sign, number string) string {
		return func(sign, number string) string { return w.inUnit(f, sign, number) }
	}
	plain := func(sign, number string) string { return sign + number }
	return measure{"change.", func(n changes.Numbers) float64 { return n.Value / w.inValue.per }, in(w.inValue), w.inValue.places + finer},
		measure{"change.baseline.", func(n changes.Numbers) float64 { return n.Baseline / w.inBaseline.per }, in(w.inBaseline), w.inBaseline.places + finer},
		measure{"change.z.", func(n changes.Numbers) float64 { return n.Z }, plain, zDecimals}
}

// inUnit writes a difference with the unit of the headline: "−$0.74 a barrel", "0.21 toneladas por hectárea", "1.2 index points".
func (w changeWriter) inUnit(f changeForm, sign, number string) string {
	before, after, _ := strings.Cut(f.figure, "%s")
	switch {
	case f.figure == "":
		return sign + number + " " + w.d.Unit
	case f.one != "" && w.l.Singular(number):
		return sign + fmt.Sprintf(f.one, number)
	case before == "":
		return sign + number + after
	case strings.HasSuffix(before, " ") && after == "": // the figure is the reading of an index
		return fmt.Sprintf(w.l.Words["change.index"], sign+number)
	}
	return sign + before + number + after
}

// sentence says how value, baseline and z-score moved, and which parts moved them. For example: "up 4.2 ships a day: new data (November 20, 2026)
// +5.1, revision (November 13, 2026) −0.9; the z-score rose by 0.31: new data (November 20, 2026) +0.31".
func (w changeWriter) sentence(from, to changes.Numbers, e changes.Explanation) string {
	value, baseline, z := w.measures()
	if math.IsNaN(e.Total.Value) {
		return w.l.Words["change.unknown"]
	}
	first := w.l.Words["change.same"]
	if moved := w.moved(value, e.Total); moved != "" {
		first = moved
	}
	said := []string{first + w.causes(value, e.Total, e.Parts)}
	if moved := w.moved(baseline, e.Total); moved != "" {
		said = append(said, moved+w.causes(baseline, e.Total, e.Parts))
	}
	switch moved := w.moved(z, e.Total); {
	case math.IsNaN(from.Z) && !math.IsNaN(to.Z):
		said = append(said, w.l.Words["change.z.new"])
	case !math.IsNaN(from.Z) && math.IsNaN(to.Z):
		said = append(said, w.l.Words["change.z.gone"])
	case moved != "":
		if why := movedAlone(from, to); why != "" {
			moved = fmt.Sprintf(w.l.Words["change.z.because."+why], moved)
		}
		said = append(said, moved+w.causes(z, e.Total, e.Parts))
	}
	return w.joined(said)
}

// joined joins what is said of the three numbers. Each is a sentence if semicolons separate the causes in it.
func (w changeWriter) joined(said []string) string {
	if w.l.Separator() != "; " {
		return strings.Join(said, "; ")
	}
	for i, s := range said[1:] {
		first, n := utf8.DecodeRuneInString(s)
		said[i+1] = string(unicode.ToUpper(first)) + s[n:]
	}
	return strings.Join(said, ". ")
}

// moved says by how much a number rose or fell. It is empty if the number is unknown or its change rounds to zero.
func (w changeWriter) moved(m measure, total changes.Numbers) string {
	v, word := m.of(total), "up"
	if v < 0 {
		word = "down"
	}
	if zero(v, m.decimals) {
		return ""
	}
	return fmt.Sprintf(w.l.Words[m.word+word], m.inUnit("", w.number(v, m.decimals)))
}

// movedAlone says what moved a z-score where the value did not: "baseline", "spread" or "both". It is empty if the value moved, too, or if the
// spread cannot be told from the numbers.
func movedAlone(from, to changes.Numbers) string {
	spread := func(n changes.Numbers) float64 { return (n.Value - n.Baseline) / n.Z }
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }
	before, after := spread(from), spread(to)
	switch {
	case !near(from.Value, to.Value) || !(before > 0) || !(after > 0) || math.IsInf(before, 1) || math.IsInf(after, 1):
		return ""
	case near(from.Baseline, to.Baseline):
		return "spread"
	case near(before, after):
		return "baseline"
	}
	return "both"
}

// causes lists the parts that moved a number, after a colon. They add up to the change as it is written: what is too small to be named is added
// at the end, and so is the rest that rounding leaves. It is empty if nothing moved the number.
func (w changeWriter) causes(m measure, total changes.Numbers, parts []changes.Part) string {
	moved := slices.DeleteFunc(slices.Clone(parts), func(p changes.Part) bool { return m.of(p.Numbers) == 0 })
	moved = together(moved, func(a, b changes.Part) bool {
		return a.Kind == b.Kind && a.Kind == changes.Revision && a.Source == b.Source && a.Release.Equal(b.Release)
	})
	moved = together(moved, w.soundAlike)
	if len(moved) > maxNamed {
		moved = together(moved, func(a, b changes.Part) bool { return a.Kind == b.Kind })
	}
	var said []string
	rest, small := steps(m.of(total), m.decimals), false
	for _, p := range moved {
		v := m.of(p.Numbers)
		if zero(v, m.decimals) {
			small = true
			continue
		}
		said = append(said, w.cause(p)+" "+w.signed(v, m.decimals))
		rest -= steps(v, m.decimals)
	}
	if rest != 0 {
		word := "change.rounding"
		if small {
			word = "change.small"
		}
		said = append(said, w.l.Words[word]+" "+w.signed(float64(rest)*math.Pow10(-m.decimals), m.decimals))
	}
	if len(said) == 0 {
		return ""
	}
	return ": " + strings.Join(said, w.l.Separator())
}

// soundAlike reports whether two parts have the same words, for example of two series of one release: a sentence has each phrase once.
func (w changeWriter) soundAlike(a, b changes.Part) bool {
	switch {
	case a.Kind != b.Kind:
		return false
	case a.Kind == changes.NewObservation:
		return w.day(a.To) == w.day(b.To)
	case a.Kind == changes.Revision:
		return w.days(a) == w.days(b) && math.IsNaN(a.After) == math.IsNaN(b.After)
	}
	return true
}

// steps returns a number as it is written, in units of its last decimal. It is 0 for an unknown one.
func steps(v float64, decimals int) int64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	written := message.NewPrinter(language.English).Sprint(number.Decimal(v, number.Scale(decimals), number.NoSeparator()))
	n, err := strconv.ParseInt(strings.Replace(written, ".", "", 1), 10, 64)
	if err != nil { // too large to be written in so many units: nothing is added
		return 0
	}
	return n
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
		q.Value, q.Baseline, q.Z = q.Value+p.Value, q.Baseline+p.Baseline, q.Z+p.Z
		if p.From.Before(q.From) {
			q.From = p.From
		}
		if p.To.After(q.To) {
			q.To = p.To
		}
	}
	return out
}

// part describes a part and what it added to each of the three numbers.
func (w changeWriter) part(p changes.Part) string {
	value, baseline, z := w.measures()
	said := []string{w.cause(p)}
	if v := value.of(p.Numbers); !zero(v, value.decimals) {
		said[0] += " " + value.inUnit(sign(v), w.number(v, value.decimals))
	}
	for _, m := range []measure{baseline, z} {
		if v := m.of(p.Numbers); !zero(v, m.decimals) {
			said = append(said, fmt.Sprintf(w.l.Words[m.word+"part"], m.inUnit(sign(v), w.number(v, m.decimals))))
		}
	}
	return strings.Join(said, w.l.Separator())
}

// cause describes a part.
func (w changeWriter) cause(p changes.Part) (out string) {
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
	return out
}

func (w changeWriter) day(t time.Time) string {
	if w.d.PeriodOf(t) == signals.PeriodCrop { // a source dates a final 1 January of its crop year
		return fmt.Sprintf(w.l.Words["signal.crop"], strconv.Itoa(t.UTC().Year()))
	}
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

// zero reports whether a number is unknown or rounds to zero.
func zero(v float64, decimals int) bool {
	return math.IsNaN(v) || math.Abs(v) < math.Pow10(-decimals)/2
}

func (w changeWriter) number(v float64, decimals int) string {
	return message.NewPrinter(w.l.Tag).Sprint(number.Decimal(math.Abs(v), number.Scale(decimals)))
}

func (w changeWriter) signed(v float64, decimals int) string { return sign(v) + w.number(v, decimals) }

// sign is the sign of a difference.
func sign(v float64) string {
	if v < 0 {
		return "−"
	}
	return "+"
}
