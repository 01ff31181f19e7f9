package pages

import (
	"context"
	"fmt"
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
	// Forecast is the id of its forecast, empty if none is recorded. Low and High bound the central 80 % in Unit.
	Forecast, Low, High, Unit string
	// Late reports whether the expected time has passed without the publication.
	Late bool
	// stamp is when this entry became known.
	stamp time.Time
}

// releases returns the calendar as people read it.
func (p *Pages) releases(ctx context.Context, r request) ([]release, error) {
	list, err := p.o.View.Calendar(ctx, r.signals)
	if err != nil {
		return nil, err
	}
	var out []release
	for _, x := range list.Data {
		one := release{Signal: r.signals.Signal(x.Signal), Name: x.Name, At: x.ExpectedAt, Exact: x.Exact, Unit: x.Unit, stamp: x.KnownAt}
		one.Late = one.At.Add(24 * time.Hour).Before(p.o.View.Now())
		if x.Forecast != nil {
			unit := unitOf(forecast.Named(x.Signal, *x.Figure))
			one.Unit = unit.Words
			one.Forecast, one.Period, one.Low, one.High = *x.Forecast, *x.Period, unknown, unknown
			if x.Low != nil && x.High != nil {
				one.Low, one.High = unit.write(*x.Low), unit.write(*x.High)
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// calendarName is the path of the calendar as a file.
const calendarName = "/calendar.ics"

// calendarPage lists the expected publications.
func (p *Pages) calendarPage(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	list, err := p.releases(ctx, r)
	if err != nil {
		return nil, err
	}
	l := p.layout(r.site, r.path)
	l.Title = "Calendar of releases" + suffix
	l.Description = "When the next public figures behind the signals are expected, with the forecast of each."
	l.Body = struct {
		Rows []release
		File string
	}{list, p.o.PublicURL + calendarName}
	return p.document("calendar", l, time.Time{}), nil
}

// typeCalendar is the media type of the file.
const typeCalendar = "text/calendar; charset=utf-8"

// calendarFile is the calendar for calendar programs (RFC 5545).
func (p *Pages) calendarFile(ctx context.Context, r request) (*view.Document, error) {
	if r.signals == nil {
		return nil, nil
	}
	list, err := p.releases(ctx, r)
	if err != nil {
		return nil, err
	}
	return view.NewDocument(typeCalendar, view.CachePublic, iCalendar(list, p.o.PublicURL), time.Time{}), nil
}

// iCalendar encodes publications. An entry keeps its UID while its time changes, so that programs move it.
func iCalendar(list []release, home string) []byte {
	var b strings.Builder
	line := func(name, value string) { b.WriteString(folded(name + ":" + value)) }
	line("BEGIN", "VCALENDAR")
	line("VERSION", "2.0")
	line("PRODID", "-//Tidemark//Calendar of releases//EN")
	line("CALSCALE", "GREGORIAN")
	line("METHOD", "PUBLISH")
	line("X-WR-CALNAME", "Tidemark: releases")
	line("REFRESH-INTERVAL;VALUE=DURATION", "PT6H")
	const instant = "20060102T150405Z"
	for _, r := range list {
		id := r.Signal.Definition.ID
		line("BEGIN", "VEVENT")
		if r.Exact {
			line("UID", strings.ReplaceAll(r.Forecast, "/", ".")+"@tidemark")
			line("DTSTAMP", r.stamp.UTC().Format(instant))
			line("DTSTART", r.At.UTC().Format(instant))
			line("SUMMARY", escaped(r.Name+" ("+r.Period+")"))
			line("DESCRIPTION", escaped(fmt.Sprintf("At the earliest at this time.\nForecast: %s to %s %s with 80%% probability.", r.Low, r.High, r.Unit)))
			line("URL", home+"/signals/"+id+"/forecasts")
		} else {
			line("UID", id+".next@tidemark")
			line("DTSTAMP", r.stamp.UTC().Format(instant))
			line("DTSTART;VALUE=DATE", r.At.UTC().Format("20060102"))
			line("SUMMARY", escaped(r.Name))
			line("DESCRIPTION", escaped("The day is estimated from earlier releases."))
			line("URL", home+"/signals/"+id)
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
