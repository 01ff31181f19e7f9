// Package calendar defines the days and hours in which the New York Stock Exchange trades. It is a leaf that needs the standard library
// only. It holds no state and reads no clock: every function is safe for concurrent use and always returns the same result.
//
// A day is a date in New York, written as midnight UTC of that date, as everywhere in this module. Functions that take a day read the year,
// month and day that its time.Time shows and ignore the rest. DayOf converts an instant to a day.
//
// The calendar covers FirstYear to LastYear. Days outside are never trading days: other rules applied before 1990, and the far future is
// not certain. From the year of this code on, the calendar follows the exchange's published rule. An unforeseen closing (a funeral, a
// storm) must be added to the table in closings.go when the exchange announces it.
package calendar

import (
	"sync"
	"time"
	_ "time/tzdata" // New York's rules, for machines that have no zone files
)

// The years that the calendar covers, both included.
const (
	FirstYear = 1990
	LastYear  = 2100
)

// The exchange's hours in New York, as time since midnight. They have not changed since 1985.
const (
	openClock  = 9*time.Hour + 30*time.Minute
	closeClock = 16 * time.Hour
	// AnnouncementClock is the default announcement time of a pick. An operator can set another time.
	AnnouncementClock = 18 * time.Hour
)

// newYork is the exchange's time zone. It cannot be missing: the zone data is compiled in.
var newYork = sync.OnceValue(func() *time.Location {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return zone
})

// DayOf returns the date in New York at an instant.
func DayOf(at time.Time) time.Time {
	return dateOf(at.In(newYork()))
}

// At returns the instant, in UTC, at which New York's clocks show the given time since midnight on a day. At(day, 18*time.Hour) is six in
// the evening in summer and in winter. A time that the switch to daylight saving skips is moved as time.Date does.
func At(day time.Time, clock time.Duration) time.Time {
	year, month, d := day.Date()
	return time.Date(year, month, d, int(clock/time.Hour), int(clock%time.Hour/time.Minute), int(clock%time.Minute/time.Second),
		int(clock%time.Second), newYork()).UTC()
}

// IsTradingDay reports whether the exchange trades on a day. It is false outside the years covered.
func IsTradingDay(day time.Time) bool {
	_, closed := Closed(day)
	return !closed
}

// Closed reports whether the exchange is closed for the whole day, and why. The reason is "weekend", the name of a holiday or of a one-off
// closing, or "outside the calendar" before FirstYear and after LastYear.
func Closed(day time.Time) (reason string, closed bool) {
	d := dateOf(day)
	switch {
	case d.Year() < FirstYear || d.Year() > LastYear:
		return "outside the calendar", true
	case weekend(d):
		return "weekend", true
	}
	reason, closed = closings()[d]
	return reason, closed
}

// Open returns the instant of the opening, in UTC, and whether the day is a trading day. It is the scheduled half past nine: the few
// openings that were delayed by minutes are not recorded.
func Open(day time.Time) (time.Time, bool) {
	if !IsTradingDay(day) {
		return time.Time{}, false
	}
	return At(day, openClock), true
}

// Close returns the instant of the close, in UTC, early closes included, and whether the day is a trading day.
func Close(day time.Time) (time.Time, bool) {
	if !IsTradingDay(day) {
		return time.Time{}, false
	}
	if clock, early := earlyClock(dateOf(day)); early {
		return At(day, clock), true
	}
	return At(day, closeClock), true
}

// Next returns the first trading day after a day, or the zero time if the calendar has none.
func Next(day time.Time) time.Time { return Add(day, 1) }

// Previous returns the last trading day before a day, or the zero time if the calendar has none.
func Previous(day time.Time) time.Time { return Add(day, -1) }

// Add returns the n-th trading day after a day, or before it if n is negative. The day itself need not be a trading day. For n zero, it
// returns the day itself. It returns the zero time if the calendar ends before.
func Add(day time.Time, n int) time.Time {
	d, step := dateOf(day), 1
	if n < 0 {
		n, step = -n, -1
	}
	for n > 0 {
		d = d.AddDate(0, 0, step)
		switch {
		case step > 0 && d.Year() > LastYear, step < 0 && d.Year() < FirstYear:
			return time.Time{}
		case step > 0 && d.Year() < FirstYear:
			d = date(FirstYear-1, time.December, 31)
		case step < 0 && d.Year() > LastYear:
			d = date(LastYear+1, time.January, 1)
		case IsTradingDay(d):
			n--
		}
	}
	return d
}

// Between returns the trading days from one day to another, both included, oldest first. It is empty if to is before from.
func Between(from, to time.Time) []time.Time {
	first, last := dateOf(from), dateOf(to)
	if start := date(FirstYear, time.January, 1); first.Before(start) {
		first = start
	}
	if end := date(LastYear, time.December, 31); last.After(end) {
		last = end
	}
	var days []time.Time
	for d := first; !d.After(last); d = d.AddDate(0, 0, 1) {
		if IsTradingDay(d) {
			days = append(days, d)
		}
	}
	return days
}

// LastClosed returns the newest trading day whose close has come at an instant.
func LastClosed(at time.Time) time.Time {
	day := DayOf(at)
	if end, trading := Close(day); trading && !at.Before(end) {
		return day
	}
	return Previous(day)
}

// PickDate returns the day of a pick that is made at an instant, and whether a pick can be made. It is New York's date, if that is a
// trading day whose close has come. A pick is never for an earlier day, so it returns false at night, on a holiday and during the session.
func PickDate(at time.Time) (day time.Time, ok bool) {
	day = DayOf(at)
	end, trading := Close(day)
	if !trading || at.Before(end) {
		return time.Time{}, false
	}
	return day, true
}

// Announcement returns the instant, in UTC, at which the pick of a trading day is announced. It returns false if the day is not a trading
// day. clock is the clock time in New York (AnnouncementClock unless set otherwise). The instant is never before the close.
func Announcement(day time.Time, clock time.Duration) (time.Time, bool) {
	end, trading := Close(day)
	if !trading {
		return time.Time{}, false
	}
	at := At(day, clock)
	if at.Before(end) {
		at = end
	}
	return at, true
}

// date returns midnight UTC of a date.
func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// dateOf returns midnight UTC of the date that t shows in its own zone.
func dateOf(t time.Time) time.Time { return date(t.Date()) }

func weekend(day time.Time) bool {
	return day.Weekday() == time.Saturday || day.Weekday() == time.Sunday
}
