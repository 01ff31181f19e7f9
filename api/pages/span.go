package pages

import (
	"time"
)

// span is the stretch of time that a plot shows: a named range that ends with the newest point, or the days between two days. Name is empty
// if the visitor chose the days. From and To are zero if that end is open.
type span struct {
	Name     string
	From, To time.Time
}

// span reads the stretch of an address. Days take precedence over a named range, because the form of the page sends both.
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
	if out.From.IsZero() && out.To.IsZero() {
		out.Name = name
	}
	return out, err
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

// named returns the range of a name if the form shows the days of the stretch for that name. Otherwise it returns the stretch. The form
// also sends days that the visitor did not change.
func (b *signalBody) named(s span, name string) span {
	if name == "" || s.Name != "" {
		return s
	}
	ends := []time.Time{b.Signal.History.Last()}
	if at := b.Snapshot.ObservedAt; at != nil {
		ends = append(ends, *at)
	}
	for _, end := range ends {
		points := b.Signal.History.Points(beginning(name, end))
		if len(points) > 0 && s.ToDay() == dayOrNone(end) && s.FromDay() == dayOrNone(points[0].ObservedAt) {
			return span{Name: name}
		}
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

// closest is the number of points below which no link leads closer.
const closest = 4

// neighbours sets the links to the stretches before and after the shown stretch. They need at least two points.
func (b *signalBody) neighbours(path string) {
	from, to := b.Plots.from, b.Plots.to
	if !to.After(from) {
		return
	}
	first, last := b.shown()
	const day = 24 * time.Hour
	half := (to.Sub(from)/2 + day - 1).Truncate(day)                                // an address has whole days
	back, on := min(max(from.Sub(first), 0), half), min(max(last.Sub(to), 0), half) // no further than there are points
	link := func(from, to time.Time) string {
		from, to = from.UTC().Truncate(day), to.UTC().Truncate(day)
		return b.address(path, span{From: from, To: to})
	}
	if back > 0 {
		b.Earlier = link(from.Add(-back), to.Add(-back))
	}
	if on > 0 {
		b.Later = link(from.Add(on), to.Add(on))
	}
	if b.Plots.Points > closest {
		b.Closer = link(from.Add(to.Sub(from)/4), to.Add(to.Sub(from)/-4))
	}
	if back > 0 || on > 0 {
		b.Wider = link(from.Add(-back), to.Add(on))
	}
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
