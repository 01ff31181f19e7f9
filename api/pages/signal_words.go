package pages

import (
	"fmt"
	"html/template"
	"math"
	"regexp"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/internal/locale"
	"tidemark/picks"
	"tidemark/signals"
)

// What pages write about signals in the reader's language. A text that a language lacks is the English one.

// texts returns the texts of a signal, and whether the language has them. English has the texts of the signal's own file.
func (l localizer) texts(d signals.Definition) (locale.SignalTexts, bool) {
	if texts, ok := d.Texts[string(l.Lang)]; ok {
		return texts, true
	}
	texts, ok := l.language().SignalTexts[d.ID]
	return texts, ok
}

// Own returns the definition with the name, the phrasing and the captions in the language.
func (l localizer) Own(d signals.Definition) signals.Definition {
	t, ok := l.texts(d)
	if !ok {
		return d
	}
	d.Name = l.SignalName(d.ID)
	d.BaselineCaption, d.IntervalCaption = t.Baseline, t.Interval
	d.Phrasing.Short, d.Phrasing.Normal = t.Short, t.Normal
	return withFigure(d, t)
}

// Sized returns a definition from Own with the unit that suits values in the signal's unit, each a number or a pointer to one.
func (l localizer) Sized(d signals.Definition, values ...any) signals.Definition {
	sizes := make([]float64, len(values))
	for i, v := range values {
		sizes[i] = valueOf(v)
	}
	t, _ := l.texts(d)
	if t, small := t.Sized(sizes...); small {
		return withFigure(d, t)
	}
	return d
}

// SizedPart is Sized for the numbers of a component.
func (l localizer) SizedPart(d signals.Definition, c view.Component) signals.Definition {
	if c.Unit != d.Unit {
		return d
	}
	return l.Sized(d, c.Value, c.BaselineValue)
}

func withFigure(d signals.Definition, t locale.SignalTexts) signals.Definition {
	d.Phrasing.Figure, d.Phrasing.One, d.Phrasing.PerUnit, d.Phrasing.Decimals = t.Figure, t.One, t.PerUnit, t.Decimals
	return d
}

// SignalName returns the name of a signal by its id.
func (l localizer) SignalName(id string) string {
	d, ok := signals.ByID(id)
	switch {
	case !ok:
		return id
	case l.Lang == picks.English:
		return d.Name
	}
	return l.language().Title(picks.WriteTerm(l.Lang, "signal."+id))
}

// Lead returns the first sentence about a signal.
func (l localizer) Lead(d signals.Definition) string {
	if t, ok := l.texts(d); ok {
		return t.Lead
	}
	return firstSentence(d.Description)
}

// About returns the whole description of a signal.
func (l localizer) About(d signals.Definition) string {
	if t, ok := l.texts(d); ok {
		return t.Lead + " " + t.About
	}
	return d.Description
}

// inAddress matches a point of an address, which a line can end with.
var inAddress = regexp.MustCompile(`[a-z]\.\b`)

// License is the licence and the attribution of a signal's upstream, as an element that names another language than the page's.
func (l localizer) License(d signals.Definition) template.HTML {
	text, english := l.licenseText(d)
	text = inAddress.ReplaceAllString(template.HTMLEscapeString(text), "$0<wbr>")
	if english && l.Lang != picks.English {
		text = `<span lang="en">` + text + `</span>`
	}
	return template.HTML(text) //nolint:gosec // escaped
}

// licenseText returns the text of License, and whether it is the English one.
func (l localizer) licenseText(d signals.Definition) (text string, english bool) {
	if t, _ := l.texts(d); t.License != "" {
		return t.License, false
	}
	return d.License, true
}

// Technique says in words how a value of a signal and its baseline are made.
func (l localizer) Technique(d signals.Definition) string {
	if t, ok := l.texts(d); ok {
		return t.Technique
	}
	return operators.Replace(d.Technique)
}

// Brief returns the method of a signal in Markdown, and whether it is in the language.
func (l localizer) Brief(d signals.Definition) (text string, translated bool) {
	text, translated = d.Brief, l.Lang == picks.English
	if t, _ := l.texts(d); t.Brief != "" {
		text, translated = t.Brief, true
	}
	var out strings.Builder
	for line := range strings.Lines(strings.ReplaceAll(text, " %", l.PercentSign())) {
		if !strings.HasPrefix(line, "    ") { // the formulas stay as they are
			line = minus(line)
		}
		out.WriteString(line)
	}
	return out.String(), translated
}

// Target, Predictor and BestRule describe the backtest of a signal.
func (l localizer) Target(d signals.Definition) string {
	if t, ok := l.texts(d); ok {
		return t.Target
	}
	return d.Backtest.Description
}

// Predictor says what foretells the target.
func (l localizer) Predictor(d signals.Definition) string {
	if t, ok := l.texts(d); ok {
		return t.Predictor
	}
	return d.Backtest.Predictor
}

// BestRule returns the simple rule that the signal is compared with, whose English text is given.
func (l localizer) BestRule(d signals.Definition, english string) string {
	t, ok := l.texts(d)
	switch {
	case !ok:
		return english
	case english == d.Backtest.Naive:
		return t.Naive
	}
	opposite := l.T("backtest.opposite")
	before, _, _ := strings.Cut(opposite, "%s")
	return l.language().Contract(before, t.Naive)
}

// Naive says in words what the naive forecast of a backtest is, whose English text is given.
func (l localizer) Naive(d signals.Definition, english string) string {
	if t, ok := l.texts(d); ok {
		return t.Naive
	}
	return english
}

// Ranked writes a number of cases with their rank correlation, if it is known.
func (l localizer) Ranked(n int, rank *float64) string {
	if rank == nil {
		return l.Count(n)
	}
	return l.Say("backtest.ranked", l.Count(n), l.Z(rank))
}

// finding returns the meaning of a snapshot, or the zero value if no value is known. d is the signal's English definition.
func (l localizer) finding(d signals.Definition, s view.SignalSnapshot) signals.Finding {
	told := findingOf(d, s)
	t, ok := l.texts(d)
	if !ok || told.Figure == "" {
		return told
	}
	own, value := l.Own(d), *s.Value
	number, negative := strings.CutPrefix(strings.TrimPrefix(l.Figure(own, value), own.Prefix()), "−")
	number = strings.TrimPrefix(number, own.Prefix())
	form := t.Figure
	if t.One != "" && l.language().Singular(number) {
		form = t.One
	}
	told.Short, told.Figure = t.Short, fmt.Sprintf(form, number)
	if negative {
		told.Figure = "−" + told.Figure
	}
	if told.Distance != "" {
		told.Distance = l.distance(own, t, value, *s.BaselineValue, *s.ObservedAt)
	}
	return told
}

// distance says how far a value is from its baseline: in percent, or in the unit if the signal is a margin.
func (l localizer) distance(d signals.Definition, t locale.SignalTexts, value, baseline float64, observed time.Time) string {
	gap, at := math.Abs(d.Apart(value, baseline)), func(text string) string {
		if d.Phrasing.Seasonal {
			return l.Say("finding.season", text, l.timeOfYear(d, observed))
		}
		return text
	}
	var size string
	switch pct := 100 * math.Abs(value-baseline) / math.Abs(baseline); {
	case d.Margin && l.Figure(d, gap) != l.Figure(d, 0.0):
		size = fmt.Sprintf(t.Gap, l.Num(new(gap/d.Scale()), d.Phrasing.Decimals))
	case !d.Margin && pct >= 0.95:
		size = l.Say("finding.percent", l.Num(&pct, 0)+l.PercentSign())
	case !d.Margin && pct >= 0.05:
		size = l.Say("finding.percent", l.Percent(&pct))
	default:
		return at(t.At)
	}
	if value < baseline {
		return l.Say("finding.below", size, at(t.Normal))
	}
	return l.Say("finding.above", size, at(t.Normal))
}

// timeOfYear names the month of a monthly signal, and a third of a month of any other, in UTC.
func (l localizer) timeOfYear(d signals.Definition, at time.Time) string {
	at = at.UTC()
	part := "finding.late"
	switch {
	case d.Frequency == "monthly":
		part = "finding.month"
	case at.Day() <= 10:
		part = "finding.early"
	case at.Day() <= 20:
		part = "finding.mid"
	}
	return l.Say(part, l.language().Months[at.Month()-1])
}

// Label returns the label of a component of a signal.
func (l localizer) Label(d signals.Definition, c view.Component) string {
	if t, ok := l.texts(d); ok && t.Parts[c.Name] != "" {
		return coordinates(t.Parts[c.Name])
	}
	return coordinates(c.Label)
}

// Part writes a value of a component, and PartUnit the words after it. A component in the signal's own unit is written like the signal.
func (l localizer) Part(d signals.Definition, unit string, v *float64) string {
	_, translated := l.texts(d)
	switch {
	case unit == d.Unit:
		return l.Figure(d, v)
	case !translated:
		return quantity(unit, v)
	case v == nil:
		return l.T("unknown")
	case unit == "percent":
		return l.Percent(v)
	case strings.HasPrefix(unit, "days"):
		return l.Num(v, 0)
	case strings.HasPrefix(unit, d.Unit+" "):
		return l.Num(new(*v/d.Scale()), 3)
	}
	return l.Num(v, 3)
}

// PartUnit returns the words after a value of a component.
func (l localizer) PartUnit(d signals.Definition, unit string, v *float64) string {
	_, translated := l.texts(d)
	words, ok := l.language().Words["unit."+unit]
	switch {
	case unit == d.Unit:
		return l.UnitAfter(d, v)
	case translated && ok:
		return words
	}
	return unitWords(unit)
}

// IntervalName returns the name of the interval on a plot.
func (l localizer) IntervalName(u view.Uncertainty) string {
	if u.Measured() {
		return l.Say("signal.measured", l.Num(&u.LevelPct, 0)+l.PercentSign())
	}
	return l.T("signal.supposed")
}

// IntervalKey names the interval in the legend of plots, with the year of the first one if the plots begin much earlier.
func (l localizer) IntervalKey(u view.Uncertainty, plots signalPlots) string {
	name := l.IntervalName(u)
	if since := plots.IntervalSince; !since.IsZero() {
		return l.Say("plot.interval since", name, since.Format("2006"))
	}
	return name
}

// IntervalText says what an interval bounds and how often that came true. It continues a sentence about the interval.
func (l localizer) IntervalText(d signals.Definition, u view.Uncertainty) string {
	t, ok := l.texts(d)
	if !ok {
		return strings.ToLower(u.Text[:min(1, len(u.Text))]) + u.Text[min(1, len(u.Text)):]
	}
	out := l.Say("signal.bounds", t.Truth) + " "
	switch {
	case !u.Measured() && d.Interval.Trials == nil:
		return out + l.T("signal.unseen")
	case !u.Measured():
		return out + l.T("signal.few outcomes")
	}
	out += l.Say("signal.built", l.Num(&u.LevelPct, 0)+l.PercentSign(), l.coverage(u.Record.All()))
	if recent := u.Record.Last2Years; recent.Cases > 0 {
		out += " " + l.Say("signal.two years", l.coverage(recent))
	}
	if stage := u.Record.Stage; stage != "" {
		out += " " + l.Say("signal.one stage", l.Worded("backtest.stage", stage))
	}
	return out
}

// coverage writes how often an interval held, with the bounds of that share.
func (l localizer) coverage(c view.IntervalCoverage) string {
	out := l.Say("signal.coverage", l.Count(c.Hits), l.Count(c.Cases))
	if c.Share == nil || c.CI95 == nil {
		return out
	}
	percent := func(share float64) string { return l.Percent(new(100 * share)) }
	return l.Say("signal.coverage share", out, percent(*c.Share), percent(c.CI95[0]), percent(c.CI95[1]), l.Num(new(95.0), 0)+l.PercentSign())
}

// Worded returns the translation of a machine name below a prefix, and otherwise the name in words.
func (l localizer) Worded(prefix, name string) string {
	if w, ok := l.language().Words[prefix+"."+name]; ok {
		return w
	}
	return strings.ReplaceAll(name, "_", " ")
}

// State says whether the newest value of a signal is as new as can be, or that the signal has no value yet.
func (l localizer) State(s view.SignalSnapshot) string { return l.Worded("state", stateOf(s)) }

// stateOf is the status of a signal that is not live, else the state of its data. A signal without data has decayed from no value.
func stateOf(s view.SignalSnapshot) string {
	if s.Status == signals.StatusLive || s.Status == signals.StatusDecayed && s.Freshness.State == view.Unknown {
		return s.Freshness.State
	}
	return s.Status
}

// StateTone is the class of the mark that shows State: only a live signal with its newest value is marked as good.
func (localizer) StateTone(s view.SignalSnapshot) string {
	if s.Status == signals.StatusDeprecated {
		return "plain"
	}
	return stateOf(s)
}

// Change writes a difference of a value in percent with its sign and one decimal.
func (l localizer) Change(value, pct *float64) string {
	if pct == nil {
		return l.lacking(value)
	}
	text := l.Percent(pct)
	if *pct > 0 && strings.Trim(l.Num(pct, 1), "0.,") != "" {
		return "+" + text
	}
	return text
}

// PartChange writes the difference of a component from its baseline. It is a percentage, with three exceptions. A component in the unit of a
// margin has its difference. A share has percentage points, with this unit below the number. So has a component in the signal's unit whose
// percentage is undefined: its difference in this unit.
func (l localizer) PartChange(d signals.Definition, c view.Component) template.HTML {
	switch {
	case c.Value == nil || c.BaselineValue == nil:
	case d.Margin && c.Unit == d.Unit:
		return template.HTML(template.HTMLEscapeString(l.Difference(d, c.Value, c.BaselineValue))) //nolint:gosec // escaped
	case c.Unit == "percent": // shown with one decimal
		return unitBelow(l.points(signals.Rounded(*c.Value, 1)-signals.Rounded(*c.BaselineValue, 1), 1))
	case c.DeltaVsBaselinePct == nil && c.Unit == d.Unit:
		unit := l.UnitAfter(d, d.Apart(*c.Value, *c.BaselineValue))
		return template.HTML(template.HTMLEscapeString(l.Difference(d, c.Value, c.BaselineValue)) + "<small>" + template.HTMLEscapeString(unit) + "</small>") //nolint:gosec // escaped
	}
	return template.HTML(template.HTMLEscapeString(l.Change(c.Value, c.DeltaVsBaselinePct))) //nolint:gosec // escaped
}

// Z writes a z-score, a number or a pointer to one.
func (l localizer) Z(v any) string { return l.Signed(finite(valueOf(v))) }

// None is the sign for a cell that has no number.
func (l localizer) None() template.HTML {
	return template.HTML(`<span class="quiet" aria-hidden="true">–</span><span class="hidden">` + template.HTMLEscapeString(l.T("signal.not applicable")) + `</span>`) //nolint:gosec // escaped
}

// Link returns a link to a page of the site in the same language, with a translated text.
func (l localizer) Link(to, id string) template.HTML {
	if translated[to] {
		to += l.InLang()
	}
	return anchor(to, l.T(id))
}

// Count writes a whole number of things, of any kind of integer.
func (l localizer) Count(n any) string {
	var v float64
	if _, err := fmt.Sscan(fmt.Sprint(n), &v); err != nil {
		return fmt.Sprint(n)
	}
	return l.decimals(v, 0)
}

// Probability writes a p-value with two significant digits.
func (l localizer) Probability(f *float64) string {
	text := probability(f)
	if f == nil {
		return l.T("unknown")
	}
	return strings.Replace(text, ".", l.language().Decimal, 1)
}

// AndLang returns the language as a further parameter of an address. It is empty where InLang is.
func (l localizer) AndLang() template.URL {
	return template.URL(strings.Replace(l.InLang(), "?", "&", 1)) //nolint:gosec // the code of a language
}

// Between writes two bounds.
func (l localizer) Between(lo, hi string) string { return l.Say("signal.span", lo, hi) }

// Marked fills a translated text with elements and with texts, which it escapes.
func (l localizer) Marked(id string, values ...any) template.HTML {
	in := make([]any, len(values))
	for i, v := range values {
		if element, ok := v.(template.HTML); ok {
			in[i] = string(element)
		} else {
			in[i] = template.HTMLEscapeString(fmt.Sprint(v))
		}
	}
	return template.HTML(fmt.Sprintf(template.HTMLEscapeString(l.T(id)), in...)) //nolint:gosec // escaped but for elements made here
}

// RangeTitle names a stretch of time. Of a monthly signal, a stretch from a first of a month has whole months.
func (l localizer) RangeTitle(d signals.Definition, s span) string {
	write, months := l.Date, d.Frequency == "monthly" && (s.From.IsZero() || s.From.Day() == 1)
	id := func(id string) string { return id }
	if months {
		write = func(day any) string { return l.language().WriteMonth(timeOf(day)) }
		id = func(id string) string { return monthOr(d, id) }
	}
	switch {
	case s.Name != "":
		return l.T("range." + s.Name)
	case s.From.IsZero():
		return l.Say(id("range.until"), write(s.To))
	case s.To.IsZero():
		return l.Say(id("range.since"), write(s.From))
	case write(s.From) == write(s.To):
		return write(s.From)
	}
	return l.Say(id("range.days"), write(s.From), write(s.To))
}

// valueOf returns a number or the number behind a pointer, and NaN for nil.
func valueOf(v any) float64 {
	switch f := v.(type) {
	case float64:
		return f
	case *float64:
		if f != nil {
			return *f
		}
	}
	return math.NaN()
}
