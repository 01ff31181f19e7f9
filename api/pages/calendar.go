package pages

import (
	"context"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tidemark/api/view"
	"tidemark/signals/forecast"
)

// release is a publication that is expected.
type release struct {
	Signal *view.Signal
	// Name is the published figure, Period its period, empty if unknown.
	Name, Period string
	// At is when it is expected. Exact reports whether At is the earliest time of a schedule; otherwise it is a day, estimated from the past.
	At    time.Time
	Exact bool
	// ID is the id of its forecast, which it has before that is recorded. It is empty if the figure is unknown.
	ID string
	// Forecast reports whether a forecast is recorded. Interval is the central 80 % of it with the unit.
	Forecast bool
	Interval string
	// Late reports whether the expected time has passed without the publication.
	Late bool
	// stamp is when this entry became known.
	stamp time.Time
}

// releases returns the calendar as people read it.
func (p *Pages) releases(ctx context.Context, r request, local localizer) ([]release, error) {
	list, err := p.o.View.Calendar(ctx, r.signals)
	if err != nil {
		return nil, err
	}
	var out []release
	for _, x := range list.Data {
		signal := r.signals.Signal(x.Signal)
		one := release{Signal: signal, Name: local.Own(signal.Definition).Name, At: x.ExpectedAt, Exact: x.Exact, stamp: x.KnownAt}
		one.Late = one.At.Add(24 * time.Hour).Before(p.o.View.Now())
		if x.Figure != nil {
			one.Name = local.figureName(x.Signal, *x.Figure, x.Name)
			one.ID, one.Period, one.Interval = x.Signal+"/"+*x.Figure+"/"+*x.Period, *x.Period, local.T("unknown")
			one.Forecast = x.Forecast != nil
			if x.Low != nil && x.High != nil {
				one.Interval = local.forecastUnit(signal.Definition, *x.Low, *x.High).between(*x.Low, *x.High)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// calendarBody is the content of the calendar's page.
type calendarBody struct {
	localizer

	Rows []release
	// File is the URL of the calendar as a file.
	File string
}

// Expected writes the period of a release and its expected interval, if a forecast is recorded.
func (b calendarBody) Expected(r release) template.HTML {
	if !r.Forecast {
		return template.HTML(template.HTMLEscapeString(b.Say("calendar.period alone", b.periodOf(r)))) //nolint:gosec // escaped
	}
	return b.Marked("calendar.period", b.periodOf(r),
		template.HTML(`<b>`+template.HTMLEscapeString(unbroken(r.Interval))+`</b>`), b.Level(80)) //nolint:gosec // escaped
}

// periodOf names the period of a release. A week has the day that it ends on.
func (l localizer) periodOf(r release) string {
	period := l.Period(r.Period)
	for _, t := range forecast.Of(r.Signal.Definition.ID) {
		if strings.HasPrefix(r.ID, t.Signal+"/"+t.Figure+"/") && (t.Change || t.Figure == "ships_week") {
			return l.Say("calendar.week", period)
		}
	}
	return period
}

// calendarName is the path of the calendar as a file.
const calendarName = "/calendar.ics"

// calendarPage lists the expected publications.
func (p *Pages) calendarPage(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	local := r.local(lang)
	list, err := p.releases(ctx, r, local)
	if err != nil {
		return nil, err
	}
	l := p.layoutIn(local, r.site, r.path)
	l.Title = local.T("calendar.title") + suffix
	l.Description = local.T("calendar.about")
	l.Body = calendarBody{local, list, p.o.PublicURL + calendarName + inLanguage(lang)}
	p.inLanguages(&l, r)
	return p.document("calendar", l, time.Time{}), nil
}

// typeCalendar is the media type of the file.
const typeCalendar = "text/calendar; charset=utf-8"

// calendarFile is the calendar for calendar programs (RFC 5545).
func (p *Pages) calendarFile(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	list, err := p.releases(ctx, r, r.local(lang))
	if err != nil {
		return nil, err
	}
	return view.NewDocument(typeCalendar, view.CachePublic, iCalendar(r.local(lang), list, p.o.PublicURL), time.Time{}), nil
}

// icsInstant and icsDay are the values of the types DATE-TIME and DATE.
const icsInstant, icsDay = "20060102T150405Z", "20060102"

// timed reports whether the time of day is known. As on the page, midnight is the day alone.
func (r release) timed() bool {
	at := r.At.UTC()
	return r.Exact && !at.Equal(at.Truncate(24*time.Hour))
}

// start returns the property with the expected time: a day if the time of day is unknown.
func (r release) start() (name, value string) {
	if r.timed() {
		return "DTSTART", r.At.UTC().Format(icsInstant)
	}
	return "DTSTART;VALUE=DATE", r.At.UTC().Format(icsDay)
}

// iCalendar encodes publications. An entry keeps its UID while its time changes, so that programs move it.
func iCalendar(l localizer, list []release, home string) []byte {
	var b strings.Builder
	line := func(name, value string) { b.WriteString(folded(name + ":" + value)) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//Tidemark//Calendar of releases//"+strings.ToUpper(string(l.Lang)))
	line("CALSCALE", "GREGORIAN")
	line("METHOD", "PUBLISH")
	line("X-WR-CALNAME", escaped(l.T("calendar.named")))
	if slices.ContainsFunc(list, func(r release) bool { return r.Signal.Snapshot.Synthetic }) {
		line("X-WR-CALDESC", escaped(l.T("synthetic")))
	}
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT6H")
	for _, r := range list {
		id := r.Signal.Definition.ID
		line("BEGIN", "VEVENT")
		if r.Exact {
			line("UID", strings.ReplaceAll(r.ID, "/", ".")+"@tidemark")
			line("DTSTAMP", r.stamp.UTC().Format(icsInstant))
			line(r.start())
			line("SUMMARY", escaped(r.Name+" ("+l.periodOf(r)+")"))
			earliest := "calendar.entry"
			if !r.timed() {
				earliest = "calendar.entry day"
			}
			description := l.T(earliest)
			if r.Forecast {
				description += "\n" + l.Say("calendar.entry forecast", r.Interval, l.Level(80))
				if r.Signal.Snapshot.Synthetic {
					description += " " + l.T("embed.synthetic")
				}
			}
			line("DESCRIPTION", escaped(description))
			line("URL", home+"/signals/"+id+"/forecasts"+inLanguage(l.Lang))
		} else {
			line("UID", id+".next@tidemark")
			line("DTSTAMP", r.stamp.UTC().Format(icsInstant))
			line(r.start())
			line("SUMMARY", escaped(r.Name))
			line("DESCRIPTION", escaped(l.T("calendar.estimated")))
			line("URL", home+"/signals/"+id+inLanguage(l.Lang))
			line("STATUS", "TENTATIVE")
		}
		line("TRANSP", "TRANSPARENT")
		line("END", "VEVENT")
	}
	line("END", "VCALENDAR")
	return []byte(b.String())
}

// escaped returns a value of the type TEXT.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(text)
}

// maxLine is the maximum length of a line in bytes, without its end.
const maxLine = 75

// folded ends a line, and breaks it if it is too long, never within a letter. A continued line begins with a space.
func folded(text string) string {
	var b strings.Builder
	room := maxLine
	for len(text) > room {
		cut := room
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		b.WriteString(text[:cut] + "\r\n ")
		text, room = text[cut:], maxLine-1
	}
	return b.String() + text + "\r\n"
}
