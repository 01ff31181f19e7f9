package eia

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"time"

	"tidemark/internal/series"
)

// Page is a history page to be written: the inverse of the parser. The sandbox writes pages around synthetic figures, a
// recording tool around figures that were saved in another form.
type Page struct {
	Series series.ID
	// Released and Next are the dates of the release that the page shows and of the following one.
	Released, Next time.Time
	// Readings are the readings of the series, in ascending order.
	Readings []series.Reading
	// Note says in a comment of the page what made it. It must not hold two hyphens in a row.
	Note string
}

// URL is the address that the page would have.
func (p Page) URL() (string, error) {
	g, h, err := find(p.Series)
	if err != nil {
		return "", fmt.Errorf("address of eia history page: %w", err)
	}
	return g.pageURL(h), nil
}

// HTML writes the page. It fails if the page cannot represent its input exactly. Such readings are of another series, out of order, on a
// day without a cell, or have more decimals than EIA prints.
func (p Page) HTML() ([]byte, error) {
	g, h, err := find(p.Series)
	if err == nil {
		err = p.check(g)
	}
	if err != nil {
		return nil, fmt.Errorf("write eia history page: %w", err)
	}
	title := html.EscapeString(h.name + "  (" + h.unit + ")")
	if g.frequency == "weekly" {
		title = "Weekly " + title
	}
	b := make([]byte, 0, 1024+48*len(p.Readings))
	b = append(b, "<html>\n<head>\n<meta http-equiv='Content-Type' content='text/html; charset=utf-8'>\n<title>"...)
	b = append(b, title...)
	b = append(b, "</title>\n"...)
	if p.Note != "" {
		b = fmt.Appendf(b, "<!-- %s -->\n", html.EscapeString(p.Note))
	}
	b = fmt.Appendf(b, "</head>\n<body>\n<table summary='%s'>\n", title)
	if g.frequency == "weekly" {
		b, err = p.weeklyRows(b, h)
	} else {
		b, err = p.dailyRows(b, h)
	}
	if err != nil {
		return nil, fmt.Errorf("write eia history page of %s: %w", h.id, err)
	}
	return fmt.Appendf(b, "</table>\n<table>\n<tr><td>Release Date: %s</td></tr>\n<tr><td>Next Release Date: %s</td></tr>\n</table>\n</body>\n</html>\n",
		p.Released.Format("1/2/2006"), p.Next.Format("1/2/2006")), nil
}

func (p Page) check(g group) error {
	if len(p.Readings) == 0 {
		return errors.New("no readings")
	}
	for i, v := range p.Readings {
		if v.Series != p.Series {
			return fmt.Errorf("reading %d is of %s, want %s", i, v.Series, p.Series)
		}
		if i > 0 && !v.ObservedAt.After(p.Readings[i-1].ObservedAt) {
			return fmt.Errorf("reading of %s follows one of %s", v.ObservedAt.Format(time.DateOnly), p.Readings[i-1].ObservedAt.Format(time.DateOnly))
		}
		if err := g.checkDay(v.ObservedAt); err != nil {
			return err
		}
	}
	return nil
}

// text prints a reading as its cell shows it.
func (h history) text(v series.Reading) (string, error) {
	if v.Marker != "" {
		return v.Marker, nil
	}
	text, err := h.formatValue(v.Value, true)
	if err != nil {
		return "", fmt.Errorf("value of %s: %w", v.ObservedAt.Format(time.DateOnly), err)
	}
	return text, nil
}

// dailyRows writes a row for every week from the first reading's to the last's, also for weeks without one.
func (p Page) dailyRows(b []byte, h history) ([]byte, error) {
	b = append(b, "<tr><th>Week Of</th><th>Mon</th><th>Tue</th><th>Wed</th><th>Thu</th><th>Fri</th></tr>\n<tr><td colspan='6'>&nbsp;</td></tr>\n"...)
	left := p.Readings
	monday := left[0].ObservedAt.AddDate(0, 0, -(int(left[0].ObservedAt.Weekday())+6)%7)
	for ; len(left) > 0; monday = monday.AddDate(0, 0, 7) {
		friday := monday.AddDate(0, 0, 4)
		b = fmt.Appendf(b, "<tr><td class='B6'>&nbsp;&nbsp;%d %s-%2d to %s-%2d</td>",
			monday.Year(), monday.Format("Jan"), monday.Day(), friday.Format("Jan"), friday.Day())
		for i := range 5 {
			b = append(b, "<td class='B3'>"...)
			if len(left) > 0 && left[0].ObservedAt.Equal(monday.AddDate(0, 0, i)) {
				text, err := h.text(left[0])
				if err != nil {
					return nil, err
				}
				b = append(b, text...)
				left = left[1:]
			}
			b = append(b, "</td>"...)
		}
		b = append(b, "</tr>\n"...)
		if len(left) > 0 && left[0].ObservedAt.Before(monday.AddDate(0, 0, 7)) {
			return nil, fmt.Errorf("no cell for %s, a %s", left[0].ObservedAt.Format(time.DateTime), left[0].ObservedAt.Weekday())
		}
	}
	return b, nil
}

// weeklyRows writes a row for every month that has a reading.
func (p Page) weeklyRows(b []byte, h history) ([]byte, error) {
	b = append(b, "<tr><th>Year-Month</th><th colspan='2'>Week 1</th><th colspan='2'>Week 2</th><th colspan='2'>Week 3</th><th colspan='2'>Week 4</th><th colspan='2'>Week 5</th></tr>\n<tr><td colspan='11'>&nbsp;</td></tr>\n"...)
	for left := p.Readings; len(left) > 0; {
		month := left[0].ObservedAt.Format("2006-Jan")
		n := slices.IndexFunc(left, func(v series.Reading) bool { return v.ObservedAt.Format("2006-Jan") != month })
		if n < 0 {
			n = len(left)
		}
		if n > 5 {
			return nil, fmt.Errorf("no room for %d weeks in %s", n, month)
		}
		b = fmt.Appendf(b, "<tr><td class='B6'>&nbsp;&nbsp;%s</td>", month)
		for _, v := range left[:n] {
			text, err := h.text(v)
			if err != nil {
				return nil, err
			}
			b = fmt.Appendf(b, "<td class='B5'>%s&nbsp;</td><td class='B3'>%s&nbsp;&nbsp;</td>", v.ObservedAt.Format("01/02"), text)
		}
		for range 5 - n {
			b = append(b, "<td class='B5'>&nbsp;</td><td class='B3'>&nbsp;&nbsp;</td>"...)
		}
		b = append(b, "</tr>\n"...)
		left = left[n:]
	}
	return b, nil
}
