package chain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/calendar"
)

// Days follows the dates of picks along the exchange's calendar. The page's script and examples/python/verify.py have the same rule, each with
// a calendar of its own. The zero value is ready.
type Days struct {
	// first and last are the dates of the first and the newest pick, zero before there is one, and number is the newest's.
	first, last time.Time
	number      int64
	// skipped are the trading days between them that have no pick. The calendar bounds them.
	skipped []time.Time
	// odd says which pick is of no trading day, empty while none is.
	odd string
}

// Add follows a pick. The picks come in the order of their numbers.
func (d *Days) Add(seq int64, date string) {
	day, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return // the chain's own rules refuse it
	}
	if d.odd == "" {
		if reason, closed := calendar.Closed(day); closed {
			d.odd = fmt.Sprintf("pick %d is of %s, when the exchange was closed (%s)", seq, date, reason)
		}
	}
	if d.first.IsZero() {
		d.first = day
	} else if next := d.last.AddDate(0, 0, 1); next.Before(day) {
		d.skipped = append(d.skipped, calendar.Between(next, day.AddDate(0, 0, -1))...)
	}
	d.last, d.number = day, seq
}

// Compare says how the picks and the recorded days without a pick contradict the calendar at an instant; fault is empty if they do not.
//
// Every trading day since the first pick must have its pick or its gap, and nothing else may have one. A pick is made after the close of its
// day. The newest day that is over may still be without a word: it has the next trading day to be recorded, and is the result waiting.
func (d *Days) Compare(list []Gap, now time.Time) (fault, waiting string) {
	today := calendar.DayOf(now)
	gaps := map[string]bool{}
	for _, g := range list {
		day, err := time.Parse(time.DateOnly, g.Date)
		reason, closed := calendar.Closed(day)
		inside := !d.first.IsZero() && !day.Before(d.first) && !day.After(d.last)
		switch {
		case err != nil || closed:
			return fmt.Sprintf("%s is recorded as a gap, and the exchange was closed (%s)", g.Date, reason), ""
		case gaps[g.Date]:
			return g.Date + " is recorded as a gap twice", ""
		case inside && !d.isSkipped(day):
			return g.Date + " is recorded as a gap, and there is a pick of that day", ""
		case day.After(today):
			return g.Date + " is recorded as a gap before it has come", ""
		}
		gaps[g.Date] = true
	}
	var missing []string
	for _, day := range d.skipped {
		if !gaps[day.Format(time.DateOnly)] {
			missing = append(missing, day.Format(time.DateOnly))
		}
	}
	if !d.last.IsZero() {
		for _, day := range calendar.Between(d.last.AddDate(0, 0, 1), today.AddDate(0, 0, -1)) {
			switch date := day.Format(time.DateOnly); {
			case gaps[date]:
			case calendar.Next(day).Before(today):
				missing = append(missing, date)
			default:
				waiting = date
			}
		}
	}
	end, trading := calendar.Close(d.last)
	switch {
	case d.odd != "":
		return d.odd, ""
	case d.last.After(today):
		return fmt.Sprintf("pick %d is of %s, which has not come yet", d.number, d.last.Format(time.DateOnly)), ""
	case trading && now.Add(Ahead).Before(end):
		return fmt.Sprintf("pick %d is of %s, whose session is not over: the exchange closes at %s", d.number, d.last.Format(time.DateOnly),
			end.Format("15:04 UTC")), ""
	case len(missing) > 0:
		return fmt.Sprintf("%s without a pick and without a recorded gap: %s", tradingDays(len(missing)), firstDays(missing)), ""
	}
	return "", waiting
}

func (d *Days) isSkipped(day time.Time) bool {
	_, found := slices.BinarySearchFunc(d.skipped, day, time.Time.Compare)
	return found
}

func tradingDays(n int) string {
	if n == 1 {
		return "1 trading day"
	}
	return fmt.Sprintf("%d trading days", n)
}

// firstDays names the first few of a list of days.
func firstDays(of []string) string {
	const few = 3
	if len(of) <= few {
		return strings.Join(of, ", ")
	}
	return strings.Join(of[:few], ", ") + " ..."
}
