package picks

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/locale"
)

// EconomicText is the text about an economic event in one language. Analysis is Markdown.
type EconomicText struct {
	Lang                     Lang
	Title, Summary, Analysis string
}

// IsChange reports whether the figure is a change: both of its directions have a sign.
func (def Indicator) IsChange() bool { return def.Reading != ReadLevel }

// decimals is how many decimals a figure of the indicator is told with.
func (def Indicator) decimals() int { return decimalsOf(def.Step) }

// Format returns a figure of the indicator as text, rounded to its step; empty if it is unknown.
func (def Indicator) Format(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return decimal(v, def.decimals())
}

// meaningful is the size of a surprise, in deviations of past surprises: a text interprets surprises of this size and larger ones. A smaller one is
// within the usual range.
const meaningful = 1

// near reports whether the figure equals the expected one, as far as it is published.
func (e EconomicEvent) near() bool { return math.Abs(e.Surprise) < e.Indicator.Step/2 }

// Facts are the facts that the texts about an event may name.
func (e EconomicEvent) Facts() Data {
	var d Data
	def := e.Indicator
	asOf := calendar.DayOf(e.Print.At)
	number := func(id string, v float64, unit Unit) { d.add(id, v, def.decimals(), unit, asOf, 0) }
	figure := func(id string, v float64) {
		before := len(d)
		if number(id, v, def.Unit); len(d) > before {
			d[before].Signed = def.IsChange()
		}
	}
	d.word("indicator", "indicator."+def.ID, locale.Term)
	figure("actual", e.Print.Value)
	figure("previous", e.Print.Previous)
	figure("expected", e.Expected)
	distance := def.Unit
	if distance == locale.Percent {
		distance = locale.Points
	}
	number("distance", math.Abs(e.Surprise), distance)
	d.add("z", e.Z, 1, locale.Deviations, asOf, -1)
	if revised := def.Format(e.Print.Revised); revised != "" && revised != def.Format(e.Print.Previous) {
		figure("revised", e.Print.Revised)
	}
	if e.SeasonYears > 0 {
		d.add("years", float64(e.SeasonYears), 0, locale.Count, asOf, -1)
	} else if def.Reading != ReadLevel {
		d.add("window", expectedWindow, 0, locale.Count, asOf, -1)
	}
	e.periodFacts(&d)
	if e.hasRange() {
		number("lower", e.Lower, def.Unit)
	}
	if def.Frequency == "meeting" {
		d.add("change", 100*e.Surprise, 0, locale.BasisPoint, asOf, 0)
	}
	if e.For > 0 {
		d.add("votes_for", float64(e.For), 0, locale.Count, asOf, 0)
		d.add("votes_against", float64(e.Against), 0, locale.Count, asOf, 0)
	}
	var sectors []string
	for _, s := range def.Sectors {
		sectors = append(sectors, "sector."+string(s))
	}
	d.word("sectors", strings.Join(sectors, "+"), locale.Term)
	return d
}

// periodFacts names the period.
func (e EconomicEvent) periodFacts(d *Data) {
	p := e.Print.Period
	switch e.Indicator.Frequency {
	case "weekly":
		d.date("week", p)
	case "quarterly":
		d.word("quarter", fmt.Sprintf("quarter.%d", (int(p.Month())+2)/3), locale.Term)
		*d = append(*d, Datum{ID: "year", Value: p.Format("2006"), Unit: locale.Year, Source: -1})
	default:
		*d = append(*d, Datum{ID: "period", Value: p.Format("2006-01"), Unit: locale.Month, Source: -1})
	}
}

// direction is which of the phrases fits: "above", "below" or "near" what was expected.
func (e EconomicEvent) direction() string {
	switch {
	case e.near():
		return "near"
	case e.Surprise > 0:
		return "above"
	default:
		return "below"
	}
}

// decision names a rate decision.
func (e EconomicEvent) decision() string {
	return map[string]string{"above": "hike", "below": "cut", "near": "hold"}[e.direction()]
}

// hasRange reports whether the target range is known. The range of a statement with votes can begin at zero.
func (e EconomicEvent) hasRange() bool { return e.Lower > 0 || e.For > 0 }

// rate reports whether the event is a rate decision that can be described as one.
func (e EconomicEvent) rate() bool {
	return e.Indicator.Frequency == "meeting" && (e.Indicator.ID != fomc || e.hasRange()) && !math.IsNaN(e.Surprise)
}

// title is the phrase of the title.
func (e EconomicEvent) title() string {
	if e.rate() {
		return "econ.title." + e.Indicator.ID + "." + e.decision()
	}
	switch e.Indicator.Frequency {
	case "weekly":
		return "econ.title.week"
	case "quarterly":
		return "econ.title.quarter"
	default:
		return "econ.title"
	}
}

// summary is the phrases of the summary.
func (e EconomicEvent) summary(facts Data) []string {
	if e.rate() {
		phrases := []string{"econ.summary." + e.Indicator.ID + "." + e.decision()}
		if facts.fits("econ.votes") {
			phrases = append(phrases, "econ.votes")
		}
		return phrases
	}
	if math.IsNaN(e.Surprise) || !facts.Has("previous") {
		return []string{"econ.summary.gap"}
	}
	return []string{"econ.summary." + e.direction()}
}

// Text writes an event in a language: the figure, its comparison with the expectation of the rule, its possible effects on companies, and
// the method of the expectation. It fails for an event without a figure, and for an unknown language.
func (e EconomicEvent) Text(lang Lang) (EconomicText, error) {
	facts := e.Facts()
	if !facts.Has("actual") {
		return EconomicText{}, fmt.Errorf("write %s: the figure is unknown", e.ID)
	}
	w := textWriter{facts: facts, lang: lang}
	t := EconomicText{Lang: lang, Title: w.paragraph(e.title()), Summary: w.paragraph(e.summary(facts)...)}
	first := e.summary(facts)
	known := !math.IsNaN(e.Surprise) && facts.Has("previous")
	if known && !e.rate() {
		size := "econ.size.unknown"
		z, measured := facts.Find("z")
		if measured {
			size = "econ.size"
		}
		if !e.near() && !(measured && z.Number() == 0) { // such a gap has no size
			first = append(first, size)
		}
		if facts.fits("econ.revised") {
			first = append(first, "econ.revised")
		}
	}
	paragraphs := []string{w.paragraph(first...)}
	if known {
		meaning := "econ.meaning." + e.Indicator.ID + "." + e.direction()
		if !facts.fits(meaning) {
			meaning = "econ.meaning.near"
		}
		if !e.rate() && !e.near() && !(math.Abs(e.Z) >= meaningful) {
			meaning = "econ.meaning.small"
		}
		if !math.IsNaN(e.Z) || e.rate() {
			paragraphs = append(paragraphs, w.paragraph(meaning))
		}
	}
	last := []string{"econ.sectors"}
	if known {
		rule := "econ.rule.median"
		switch {
		case e.SeasonYears > 0:
			rule = "econ.rule.season"
		case e.Indicator.Reading == ReadLevel:
			rule = "econ.rule.previous"
		}
		last = append(last, rule)
	}
	paragraphs = append(paragraphs, w.paragraph(last...), "*"+w.paragraph("disclaimer")+"*")
	t.Analysis = strings.Join(paragraphs, "\n\n") + "\n"
	if w.err != nil {
		return EconomicText{}, fmt.Errorf("write %s: %w", e.ID, w.err)
	}
	return t, nil
}

// Sources name where the figure is from.
func (e EconomicEvent) Sources() []Source {
	return []Source{{Title: e.Indicator.Publisher, URL: e.Indicator.URL, RetrievedAt: e.Print.At}}
}

// PublishedAt is when the figure became known, in UTC; Date the day in New York.
func (e EconomicEvent) PublishedAt() time.Time { return e.Print.At }

// Date is the day of the publication in New York.
func (e EconomicEvent) Date() time.Time { return calendar.DayOf(e.Print.At) }
