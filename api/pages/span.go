package pages

import (
	"maps"
	"strings"
	"time"

	"tidemark/api/view"
)

// span is the stretch of time that a plot shows: a named range that ends with the newest point, or the days between two days. Name is empty
// if the visitor chose the days. From and To are zero if that end is open.
type span struct {
	Name     string
	From, To time.Time
}

// span reads the stretch of an address. Days take precedence over a named range, unless the form sent days that the visitor did not choose.
func (r request) span(frequency string) (out span, err error) {
	if out.From, err = r.bound("from"); err != nil {
		return out, err
	}
	if out.To, err = r.bound("to"); err != nil {
		return out, err
	}
	if !out.From.IsZero() && !out.To.IsZero() && out.To.Before(out.From) {
		return out, invalid("refuse.order")
	}
	name, err := r.one("range", defaultRange(frequency), rangesOf(frequency)...)
	if r.untouched(out) {
		out = span{}
	}
	if out.From.IsZero() && out.To.IsZero() {
		out.Name = name
	}
	return out, err
}

// untouched reports whether the form of a named range sent days that the visitor did not choose. The form also says which days it showed. A
// link without these came from an older form: the visitor chose no day after the day of the page. The result depends on the address alone, so
// that a link shows the same after a release.
func (r request) untouched(days span) bool {
	if r.text("range") == "" {
		return false
	}
	if shown := r.text("shown"); shown != "" {
		return shown == shownDays(days.FromDay(), days.ToDay())
	}
	asOf := r.text("as_of")
	return asOf != "" && days.ToDay() > asOf
}

// shownDays are the days of a form in one of its fields.
func shownDays(from, to string) string { return from + ".." + to }

// Shown are the days that the form of a named range shows.
func (b signalBody) Shown() string { return shownDays(b.From, b.To) }

// onlySpan returns a *view.Moved error if an address has more than one stretch, as the form sends it. The other address has the stretch that is
// shown.
func (r request) onlySpan(frequency string) error {
	named, days := r.query.Has("range"), r.query.Has("from") || r.query.Has("to")
	if !r.query.Has("shown") && (!named || !days) {
		return nil
	}
	s, err := r.span(frequency)
	if err != nil {
		return err
	}
	query := maps.Clone(r.query)
	for _, name := range []string{"range", "from", "to", "shown"} {
		query.Del(name)
	}
	return &view.Moved{To: strings.TrimSuffix(r.path+"?"+s.query()+"&"+query.Encode(), "&")}
}

// bound returns a parameter that is a day, zero if it is missing.
func (r request) bound(name string) (time.Time, error) {
	text := r.text(name)
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, invalid("refuse.date", name)
	}
	return day, nil
}

// FromDay is the first day, empty if that end is open.
func (s span) FromDay() string { return dayOrNone(s.From) }

// ToDay is the last day.
func (s span) ToDay() string { return dayOrNone(s.To) }

func dayOrNone(day time.Time) string {
	if day.IsZero() {
		return ""
	}
	return day.UTC().Format(time.DateOnly)
}

// days sets the days of the form: the chosen ones, or the first and the last day of a named range.
func (b *signalBody) days() {
	b.From, b.To = b.Span.FromDay(), b.Span.ToDay()
	if b.Span.Name != "" {
		b.From, b.To = dayOrNone(b.Plots.from), dayOrNone(b.Plots.to)
	}
}

// within returns the stretch without the days before a first and after a last value.
func (s span) within(first, last time.Time) span {
	if !s.From.IsZero() && s.From.Before(first) {
		s.From = first.Truncate(24 * time.Hour)
	}
	if s.To.After(last) {
		s.To = last.Truncate(24 * time.Hour)
	}
	return s
}

// query returns the stretch as parameters of an address.
func (s span) query() string {
	switch {
	case s.Name != "":
		return "range=" + s.Name
	case s.From.IsZero():
		return "to=" + s.ToDay()
	case s.To.IsZero():
		return "from=" + s.FromDay()
	}
	return "from=" + s.FromDay() + "&to=" + s.ToDay()
}

// viewOf returns the parameters of a view: a stretch as known at the end of a day.
func viewOf(s span, asOf string) string {
	if asOf != "" {
		return s.query() + "&as_of=" + asOf
	}
	return s.query()
}

// address returns the address of the page with another stretch, in the same language and as known at the end of the same day.
func (b *signalBody) address(path string, s span) string {
	return path + "?" + viewOf(s, b.AsOf) + string(b.AndLang())
}

// shown returns the first and the last point of the history as the page knows it: now, or at the end of its day.
func (b *signalBody) shown() (first, last time.Time) {
	first, last = b.Signal.History.First(), b.Signal.History.Last()
	if b.AsOf == "" {
		return first, last
	}
	if from := b.Snapshot.CoversFrom(); !from.IsZero() {
		first = from
	}
	if at := b.Snapshot.ObservedAt; at != nil {
		last = *at
	}
	return first, last
}

// endOf returns the last microsecond of a day. The API ends a day in the same way.
func endOf(day time.Time) time.Time { return day.AddDate(0, 0, 1).Add(-time.Microsecond) }

// rangesOf returns the ranges that a signal's page offers, by the signal's frequency.
func rangesOf(frequency string) []string {
	if frequency == "monthly" {
		return []string{"1y", "5y", "20y", "all"}
	}
	return []string{"3m", "1y", "5y", "all"}
}

func defaultRange(frequency string) string {
	if frequency == "monthly" {
		return "5y"
	}
	return "1y"
}

// beginning returns the start of a range that ends at an instant, zero for the whole history.
func beginning(name string, end time.Time) time.Time {
	if end.IsZero() {
		return end // there is no point yet
	}
	switch name {
	case "3m":
		return end.AddDate(0, -3, 0)
	case "1y":
		return end.AddDate(-1, 0, 0)
	case "5y":
		return end.AddDate(-5, 0, 0)
	case "20y":
		return end.AddDate(-20, 0, 0)
	}
	return time.Time{}
}
