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
		return time.Time{}, invalid("refuse.day", name)
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
	first, last := b.Signal.History.First(), b.Signal.History.Last()
	from, to := b.Plots.from, b.Plots.to
	if !to.After(from) {
		return
	}
	length := to.Sub(from)
	link := func(from, to time.Time) string {
		from, to = from.UTC().Truncate(24*time.Hour), to.UTC().Truncate(24*time.Hour)
		return b.address(path, span{From: from, To: to})
	}
	if from.After(first) {
		b.Earlier = link(from.Add(-length/2), to.Add(-length/2))
	}
	if to.Before(last) {
		b.Later = link(from.Add(length/2), to.Add(length/2))
	}
	if b.Plots.Points > closest {
		b.Closer = link(from.Add(length/4), to.Add(-length/4))
	}
	if from.After(first) || to.Before(last) {
		b.Wider = link(from.Add(-length/2), to.Add(length/2))
	}
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
