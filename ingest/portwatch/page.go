package portwatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// parsePage reads a page of days and leads to the next. It covers each series with a value from the day after the previous page to the
// page's own last day. On the first page it begins with the series' first day. The rows are in the order of their days, and the first of
// them is the last of the page before, so no day can be missing between two pages.
func parsePage(q url.Values, r ingest.Response) (ingest.Batch, error) {
	ask, err := readAsked(q)
	var a fetchResponse
	if err == nil {
		a, err = readAnswer(r.Body)
	}
	var batch ingest.Batch
	if err == nil {
		batch, err = readPage(ask, a, r.FetchedAt)
	}
	if err != nil {
		return ingest.Batch{}, fmt.Errorf("parse portwatch page from row %d: %w", ask.offset, err)
	}
	return batch, nil
}

func readPage(ask asked, a fetchResponse, fetchedAt time.Time) (ingest.Batch, error) {
	switch {
	case a.Features == nil:
		return ingest.Batch{}, errors.New("no member features")
	case len(*a.Features) == 0:
		return ingest.Batch{}, fmt.Errorf("%w: it had %d days, and this page has none", errMoved, ask.count)
	}
	rows := make([]row, len(*a.Features))
	for i := range rows {
		var err error
		if rows[i], err = readRow(&(*a.Features)[i].Attributes); err != nil {
			return ingest.Batch{}, fmt.Errorf("row %d: %w", ask.offset+i, err)
		}
		if i > 0 && !rows[i].day.After(rows[i-1].day) {
			return ingest.Batch{}, fmt.Errorf("row %d: %s follows %s, want ascending days",
				ask.offset+i, rows[i].day.Format(time.DateOnly), rows[i-1].day.Format(time.DateOnly))
		}
	}
	last := rows[len(rows)-1]
	if !fetchedAt.IsZero() && last.day.After(fetchedAt) {
		return ingest.Batch{}, fmt.Errorf("a row is of %s, after the time of the answer", last.day.Format(time.DateOnly))
	}
	if got := rows[0].mark(); ask.last != "" && got != ask.last {
		return ingest.Batch{}, fmt.Errorf("%w: row %d was %s and is %s", errMoved, ask.offset, ask.last, got)
	}
	next, err := ask.after(len(rows), a.Exceeded, last.mark())
	if err != nil {
		return ingest.Batch{}, err
	}
	from := rows[0].day
	if ask.last != "" { // that row was on the page before
		from, rows = from.AddDate(0, 0, 1), rows[1:]
	}
	batch := ingest.Batch{Next: next}
	for i, m := range measures {
		before := len(batch.Readings)
		for _, r := range rows {
			if !math.IsNaN(r.values[i]) {
				batch.Readings = append(batch.Readings, ingest.Reading{Series: m.series(), ObservedAt: r.day, Value: r.values[i]})
			}
		}
		switch {
		case len(batch.Readings) > before:
			batch.Covers = append(batch.Covers, ingest.Coverage{Series: m.series(), Window: series.Window{From: from, To: last.day}})
		case i == 0:
			return ingest.Batch{}, fmt.Errorf("none of %d rows has a value of %s", len(rows), m.field)
		}
	}
	return batch, nil
}

// row is one day.
type row struct {
	day time.Time
	// values are the values of measures; NaN if missing.
	values []float64
}

// mark distinguishes rows: re-estimated figures of a day give another mark.
func (r row) mark() string {
	return r.day.Format(time.DateOnly) + "_" + text(r.values[0]) + "_" + text(r.values[len(r.values)-1])
}

func text(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// readRow reads the attributes of one feature. A null attribute is not an observation; a missing one is an error.
func readRow(a *attributes) (row, error) {
	day, err := readDay(a)
	if err != nil {
		return row{}, err
	}
	r := row{day: day, values: make([]float64, len(measures))}
	fail := func(err error) (row, error) { return row{}, fmt.Errorf("%s: %w", day.Format(time.DateOnly), err) }
	if string(a.PortID) != `"`+chokepoint+`"` {
		return fail(fmt.Errorf("portid is %s, want %q", quote(a.PortID), chokepoint))
	}
	for i, m := range measures {
		raw := m.of(a)
		switch v, ok := number(raw); {
		case len(raw) == 0:
			return fail(fmt.Errorf("no attribute %s", m.field))
		case isNull(raw):
			r.values[i] = math.NaN()
		case !ok || v < 0:
			return fail(fmt.Errorf("%s is %s, want a number that is not negative", m.field, quote(raw)))
		case m.unit == transits && v != math.Trunc(v):
			return fail(fmt.Errorf("%s is %s, want a whole number", m.field, quote(raw)))
		default:
			r.values[i] = v
		}
	}
	if err := r.checkSums(a.Cargo); err != nil {
		return fail(err)
	}
	return r, nil
}

// maxMillis bounds a day that is stated in milliseconds to some thousand years.
const maxMillis = 1e14

// readDay reads the member date: a text such as 2026-06-28 or, in an older type of the field, milliseconds of midnight UTC. If year,
// month and day are present they must agree: a day that a change of the type or of a zone has moved is an error.
func readDay(a *attributes) (time.Time, error) {
	var day time.Time
	if millis, ok := number(a.Date); ok {
		day = time.UnixMilli(int64(millis)).UTC()
		if math.Abs(millis) > maxMillis || !day.Equal(day.Truncate(24*time.Hour)) {
			return time.Time{}, fmt.Errorf("date is %s, want milliseconds of midnight UTC", quote(a.Date))
		}
	} else {
		var err error
		if day, err = time.Parse(`"`+time.DateOnly+`"`, string(a.Date)); err != nil {
			return time.Time{}, fmt.Errorf("date is %s, want a day such as 2026-06-28", quote(a.Date))
		}
	}
	for _, part := range []struct {
		field  string
		stated json.RawMessage
		want   int
	}{{"year", a.Year, day.Year()}, {"month", a.Month, int(day.Month())}, {"day", a.Day, day.Day()}} {
		if isNull(part.stated) {
			continue
		}
		if v, ok := number(part.stated); !ok || v != float64(part.want) {
			return time.Time{}, fmt.Errorf("date is %s, but %s is %s", quote(a.Date), part.field, quote(part.stated))
		}
	}
	return day, nil
}

// checkSums checks the counts against each other if all of them are present: all ships are the sum of the five classes, and cargo of all
// but the tankers.
func (r row) checkSums(stated json.RawMessage) error {
	total, tankers, cargo := r.values[0], r.values[1], 0.0
	for i, m := range measures {
		if m.unit == transits && i > 1 {
			cargo += r.values[i]
		}
	}
	if sum := cargo + tankers; !math.IsNaN(sum) && !math.IsNaN(total) && sum != total {
		return fmt.Errorf("n_total is %s, but its classes add up to %s", text(total), text(sum))
	}
	if isNull(stated) || math.IsNaN(cargo) {
		return nil
	}
	if v, ok := number(stated); !ok || v != cargo {
		return fmt.Errorf("n_cargo is %s, but its classes add up to %s", quote(stated), text(cargo))
	}
	return nil
}

// number reads an attribute that is a JSON number. Its form was checked when the answer was read.
func number(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(raw), 64)
	return v, err == nil
}

// isNull reports whether an attribute is missing or null.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// quote writes an attribute into an error, and not more than a line of it.
func quote(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "not there"
	}
	return fmt.Sprintf("%.60s", raw)
}
