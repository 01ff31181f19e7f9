package eia

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"tidemark/internal/series"
)

// The grammar of the first cells, cleaned, and of a week's end.
var (
	dailyRow  = regexp.MustCompile(`^(\d{4}) ([A-Z][a-z]{2})- ?(\d{1,2}) to ([A-Z][a-z]{2})- ?(\d{1,2})$`)
	weeklyRow = regexp.MustCompile(`^(\d{4})-([A-Z][a-z]{2})$`)
	weekEnd   = regexp.MustCompile(`^(\d{2})/(\d{2})$`)
	// rowLike matches only the beginning of a row of figures. If such a row then breaks the grammar, it is an error, not a heading.
	rowLike = regexp.MustCompile(`^\d{4}\b`)
)

// readings reads the rows. Blank cells are not observations: a holiday, or a day that is not published yet.
func (p *scraped) readings(g group, h history) (readings, error) {
	var found readings
	accepted := 0
	read := g.rowReader()
	for _, r := range p.rows {
		if !rowLike.MatchString(r.head) {
			continue // a heading or a spacer
		}
		accepted++
		err := read(r, func(day time.Time, c cell) error {
			value, marker, err := parseValue(c.text)
			if err != nil {
				return fmt.Errorf("value of %s: %w", day.Format(time.DateOnly), err)
			}
			if err := g.checkDay(day); err != nil {
				return err
			}
			return found.add(series.Reading{Series: h.series(), ObservedAt: day, Value: value, Marker: marker})
		})
		if err != nil {
			return readings{}, fmt.Errorf("row %.60q: %w", r.head, err)
		}
	}
	if accepted == 0 {
		return readings{}, fmt.Errorf("no %s rows, want a td of class B6 such as %q", g.frequency, g.example())
	}
	if len(found.list) == 0 {
		return readings{}, fmt.Errorf("%d rows without one value", accepted)
	}
	return found, nil
}

// rowReader reads the rows of the group's pages.
func (g group) rowReader() func(r row, add func(day time.Time, c cell) error) error {
	if g.frequency == "weekly" {
		return readWeeklyRow
	}
	return readDailyRow
}

// example is a row's first cell by the grammar.
func (g group) example() string {
	if g.frequency == "weekly" {
		return "2026-May"
	}
	return "2026 Jun-29 to Jul- 3"
}

// readDailyRow reads a week: five cells, Monday to Friday. The row's year is its Monday's.
func readDailyRow(r row, add func(day time.Time, c cell) error) error {
	m := dailyRow.FindStringSubmatch(r.head)
	if m == nil {
		return errors.New(`want a week such as "2026 Jun-29 to Jul- 3"`)
	}
	monday, err := time.Parse("2006 Jan 2", m[1]+" "+m[2]+" "+m[3])
	if err != nil {
		return fmt.Errorf("read first day: %w", err)
	}
	if monday.Weekday() != time.Monday {
		return fmt.Errorf("begins on a %s, want a Monday", monday.Weekday())
	}
	if end := monday.AddDate(0, 0, 4); m[4] != end.Format("Jan") || m[5] != strconv.Itoa(end.Day()) {
		return fmt.Errorf("ends on %s %s, want the Friday, %s", m[4], m[5], end.Format("Jan 2"))
	}
	if len(r.cells) != 5 {
		return fmt.Errorf("%d cells, want 5", len(r.cells))
	}
	for i, c := range r.cells {
		if c.class != "B3" {
			return fmt.Errorf("cell %d is of class %q, want B3", i+1, c.class)
		}
		if c.text == "" {
			continue
		}
		if err := add(monday.AddDate(0, 0, i), c); err != nil {
			return err
		}
	}
	return nil
}

// readWeeklyRow reads a month: up to five pairs of a week's end as MM/DD and its value. The year is the row's, but for a week
// that ends across the turn of the year.
func readWeeklyRow(r row, add func(day time.Time, c cell) error) error {
	m := weeklyRow.FindStringSubmatch(r.head)
	if m == nil {
		return errors.New(`want a month such as "2026-May"`)
	}
	month, err := time.Parse("2006-Jan", m[0])
	if err != nil {
		return fmt.Errorf("read month: %w", err)
	}
	if len(r.cells) == 0 || len(r.cells)%2 != 0 || len(r.cells) > 10 {
		return fmt.Errorf("%d cells, want up to five pairs", len(r.cells))
	}
	for i := 0; i < len(r.cells); i += 2 {
		date, value := r.cells[i], r.cells[i+1]
		if date.class != "B5" || value.class != "B3" {
			return fmt.Errorf("pair %d is of classes %q and %q, want B5 and B3", i/2+1, date.class, value.class)
		}
		if date.text == "" && value.text == "" {
			continue
		}
		day, err := resolveWeek(month, date.text)
		if err != nil {
			return fmt.Errorf("pair %d: %w", i/2+1, err)
		}
		if value.text == "" {
			continue
		}
		if err := add(day, value); err != nil {
			return err
		}
	}
	return nil
}

// resolveWeek gives MM/DD the year in which it lies next to the row's month.
func resolveWeek(month time.Time, text string) (time.Time, error) {
	if !weekEnd.MatchString(text) {
		return time.Time{}, fmt.Errorf("%.60q is not a week's end as MM/DD", text)
	}
	for _, year := range []int{month.Year(), month.Year() - 1, month.Year() + 1} {
		day, err := time.Parse("2006/01/02", fmt.Sprintf("%04d/%s", year, text))
		if err != nil {
			continue // no such day in that year
		}
		apart := (day.Year()-month.Year())*12 + int(day.Month()-month.Month())
		if apart >= -1 && apart <= 1 {
			return day, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a day of, or next to, the row's month", text)
}
