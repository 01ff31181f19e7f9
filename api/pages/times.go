package pages

import (
	"html/template"
	"math"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/signals"
)

// How pages write days, instants, periods and durations in the reader's language.

// Time writes an instant in a column of a table, with its zone, as an element, or that it is unknown. In a column, days are of equal width and
// have digits only, as in 2026-11-20; in text, see Moment.
func (l localizer) Time(t any) template.HTML {
	if p, ok := t.(*time.Time); ok && p == nil {
		return template.HTML(template.HTMLEscapeString(l.T("unknown"))) //nolint:gosec // escaped
	}
	at := timeOf(t).UTC()
	return template.HTML(`<time datetime="`+at.Format(time.RFC3339)+`">`) + wholeDay(instant(at)) + `</time>` //nolint:gosec // digits, hyphens and UTC
}

// ObservedTime writes the time of an observation of a signal in a column of a table. See Observed.
func (l localizer) ObservedTime(d signals.Definition, t any) template.HTML {
	return l.observed(d, t, l.Time, func(at time.Time) template.HTML { return wholeDay(at.Format("2006-01")) })
}

// CellTime writes the time of an observation of a source in a column of a table. A source dates a final 1 January of its crop year, and the
// signal a year later.
func (l localizer) CellTime(d signals.Definition, at time.Time) template.HTML {
	if d.PeriodOf(at) == signals.PeriodCrop {
		at = at.AddDate(1, 0, 0)
	}
	return l.ObservedTime(d, at)
}

// PartTime writes the time of a part of a signal in a column of a table. The newest final has the date of its source.
func (l localizer) PartTime(d signals.Definition, c view.Component) template.HTML {
	if c.Name == "newest_final" && c.ObservedAt != nil {
		return l.CellTime(d, *c.ObservedAt)
	}
	return l.ObservedTime(d, c.ObservedAt)
}

// ObservedMoment writes the time of an observation of a signal in text, as an element. See Observed.
func (l localizer) ObservedMoment(d signals.Definition, t any) template.HTML {
	return l.observed(d, t, l.Moment, func(at time.Time) template.HTML {
		return template.HTML(template.HTMLEscapeString(l.Observed(d, at))) //nolint:gosec // escaped
	})
}

// observed writes the time of an observation as an element. instant writes an instant, and that a time is unknown, and month writes a month.
func (l localizer) observed(d signals.Definition, t any, instant func(any) template.HTML, month func(time.Time) template.HTML) template.HTML {
	if p, ok := t.(*time.Time); ok && p == nil {
		return instant(t)
	}
	switch at := timeOf(t).UTC(); d.PeriodOf(at) {
	case signals.PeriodCrop:
		return template.HTML(template.HTMLEscapeString(l.Observed(d, at))) //nolint:gosec // escaped
	case signals.PeriodMonth:
		return template.HTML(`<time datetime="`+at.Format("2006-01")+`">`) + month(at) + `</time>` //nolint:gosec // digits
	}
	return instant(t)
}

// Periods returns the attributes with which the script of a plot writes the time of an observation. data-months: the first of a month means the
// month. data-crop: the first of January means the crop of the year before, which replaces %s in the text. See signals.Definition.PeriodOf.
func (l localizer) Periods(d signals.Definition) template.HTMLAttr {
	var out string
	if d.Frequency == "monthly" {
		out += " data-months"
	}
	if d.SeasonStart != 0 {
		out += ` data-crop="` + template.HTMLEscapeString(l.T("signal.crop")) + `"`
	}
	return template.HTMLAttr(out) //nolint:gosec // escaped
}

// Observed writes the time of an observation of a signal in text: an instant or a day, the month of a monthly signal, or the crop of a final.
func (l localizer) Observed(d signals.Definition, at time.Time) string {
	at = at.UTC()
	if d.PeriodOf(at) != signals.PeriodDay {
		return view.WriteDay(l.language(), d, at)
	}
	return l.Instant(at)
}

// monthOr returns the id of a text about an observation, which is another one for a month.
func monthOr(d signals.Definition, id string) string {
	if d.Frequency == "monthly" {
		return id + " month"
	}
	return id
}

// ObservedIn says about what time a value is: "observed November 20, 2026".
func (l localizer) ObservedIn(d signals.Definition, id string, t *time.Time) template.HTML {
	return l.Marked(monthOr(d, id), l.ObservedMoment(d, t))
}

// Moment writes an instant in text, as an element, or that it is unknown. Its day is in words.
func (l localizer) Moment(t any) template.HTML {
	if p, ok := t.(*time.Time); ok && p == nil {
		return template.HTML(template.HTMLEscapeString(l.T("unknown"))) //nolint:gosec // escaped
	}
	at := timeOf(t).UTC()
	return template.HTML(`<time datetime="` + at.Format(time.RFC3339) + `">` + l.Instant(at) + `</time>`) //nolint:gosec // digits and names of months
}

// Instant writes an instant in text, with its day in words. Midnight is the day alone.
func (l localizer) Instant(t any) string {
	at := timeOf(t).UTC()
	text := l.Date(at)
	if at.Hour() > 0 || at.Minute() > 0 {
		text += at.Format(", 15:04\u00a0UTC")
	}
	return text
}

// Lasts writes a number of seconds in hours, or in days if it is long.
func (l localizer) Lasts(seconds int64) string {
	if seconds >= 2*86400 && seconds%86400 == 0 {
		return l.Say("status.days", l.Count(seconds/86400))
	}
	hours := float64(seconds) / 3600
	if hours == math.Trunc(hours) {
		return l.Say("status.hours", l.Count(int64(hours)))
	}
	return l.Say("status.hours", l.Num(&hours, 1))
}

// Period names the period of a figure that is forecast: a day, a month, or the end of a crop year.
func (l localizer) Period(period string) string {
	if day, err := time.Parse(time.DateOnly, period); err == nil {
		return l.Date(day)
	}
	if month, err := time.Parse("2006-01", period); err == nil {
		return strings.NewReplacer("M", l.language().Months[month.Month()-1], "Y", month.Format("2006")).Replace(l.language().MonthOrder)
	}
	if year, ok := strings.CutSuffix(period, "-final"); ok {
		return l.Say("period.final", year)
	}
	return period
}

// Week names a week of ISO 8601 ("2026-W47").
func (l localizer) Week(week string) string {
	year, number, _ := strings.Cut(week, "-W")
	return l.Say("week.of", strings.TrimLeft(number, "0"), year)
}
