package calendar

import (
	"maps"
	"sync"
	"time"
)

// The holidays follow rule 7.2 of the exchange (before 2019: rule 51). A holiday on a Sunday is kept on Monday, a holiday on a Saturday on
// Friday. The exception is New Year's Day on a Saturday, because that Friday would be the last day of the accounting year. Martin Luther
// King Jr. Day is kept since 1998, Juneteenth since 2022. The tests check the rules day by day against every daily close of a fund that
// tracks the market from 1993 on.

// oneOff holds the closings for a whole day that no rule gives, from 1990 on. The source to 2012 is the exchange's own list "Special
// Closings of the New York Stock Exchange", kept by its archives (nyse.com, closings.pdf). The sources of the last two are its trader
// notices of 2018-12-01 and 2024-12-30.
var oneOff = map[time.Time]string{
	date(1994, time.April, 27):     "funeral of Richard Nixon",
	date(2001, time.September, 11): "attacks of September 11",
	date(2001, time.September, 12): "attacks of September 11",
	date(2001, time.September, 13): "attacks of September 11",
	date(2001, time.September, 14): "attacks of September 11",
	date(2004, time.June, 11):      "mourning for Ronald Reagan",
	date(2007, time.January, 2):    "mourning for Gerald Ford",
	date(2012, time.October, 29):   "Hurricane Sandy",
	date(2012, time.October, 30):   "Hurricane Sandy",
	date(2018, time.December, 5):   "mourning for George H. W. Bush",
	date(2025, time.January, 9):    "mourning for Jimmy Carter",
}

// earlyOneOff holds the early closes that no rule gives, as time since midnight in New York. Source: the same list; until 1992 the
// scheduled early close was at two in the afternoon.
var earlyOneOff = map[time.Time]time.Duration{
	date(1990, time.December, 24): 14 * time.Hour,
	date(1991, time.December, 24): 14 * time.Hour,
	date(1992, time.November, 27): 14 * time.Hour,
	date(1992, time.December, 24): 14 * time.Hour,
	date(1994, time.February, 11): 14*time.Hour + 30*time.Minute, // snow
	date(1996, time.January, 8):   14 * time.Hour,                // snow
	date(1997, time.October, 27):  15*time.Hour + 30*time.Minute, // the circuit breaker
	date(1997, time.December, 26): earlyCloseClock,
	date(2003, time.December, 26): earlyCloseClock,
	date(2005, time.June, 1):      15*time.Hour + 56*time.Minute, // a fault of the systems
}

// earlyCloseClock is the clock time of the scheduled early close since 1993.
const earlyCloseClock = 13 * time.Hour

// closings maps every weekday on which the exchange is closed to the reason.
var closings = sync.OnceValue(func() map[time.Time]string {
	days := maps.Clone(oneOff)
	for year := FirstYear; year <= LastYear; year++ {
		if day := date(year, time.January, 1); day.Weekday() != time.Saturday {
			days[observed(day)] = "New Year's Day"
		}
		if year >= 1998 {
			days[weekdayOf(year, time.January, time.Monday, 3)] = "Martin Luther King Jr. Day"
		}
		days[weekdayOf(year, time.February, time.Monday, 3)] = "Washington's Birthday"
		days[easter(year).AddDate(0, 0, -2)] = "Good Friday"
		days[lastMonday(year, time.May)] = "Memorial Day"
		if year >= 2022 {
			days[observed(date(year, time.June, 19))] = "Juneteenth"
		}
		days[observed(date(year, time.July, 4))] = "Independence Day"
		days[weekdayOf(year, time.September, time.Monday, 1)] = "Labor Day"
		days[weekdayOf(year, time.November, time.Thursday, 4)] = "Thanksgiving Day"
		days[observed(date(year, time.December, 25))] = "Christmas Day"
	}
	return days
})

// earlyClock returns the clock time of an early close, as time since midnight in New York, and whether the day has one.
func earlyClock(day time.Time) (clock time.Duration, early bool) {
	if clock, early = earlyOneOff[day]; early {
		return clock, true
	}
	year, month, d := day.Date()
	weekday := day.Weekday()
	switch {
	case year < 1993:
	case month == time.November:
		early = day.Equal(weekdayOf(year, month, time.Thursday, 4).AddDate(0, 0, 1))
	case month == time.December:
		// On a Friday the 24th is the holiday itself.
		early = d == 24
	case month == time.July && year >= 1995:
		// The 3rd is short when the 4th is a weekday other than Monday. Where the 4th was a Thursday, the Friday after it was the
		// short day until 2012.
		early = d == 3 && (weekday != time.Wednesday || year >= 2013) || d == 5 && weekday == time.Friday && year < 2013
	}
	return earlyCloseClock, early
}

// observed moves a holiday off the weekend.
func observed(day time.Time) time.Time {
	switch day.Weekday() {
	case time.Saturday:
		return day.AddDate(0, 0, -1)
	case time.Sunday:
		return day.AddDate(0, 0, 1)
	default:
		return day
	}
}

// weekdayOf returns the n-th given weekday of a month.
func weekdayOf(year int, month time.Month, weekday time.Weekday, n int) time.Time {
	first := date(year, month, 1)
	offset := (int(weekday) - int(first.Weekday()) + 7) % 7
	return first.AddDate(0, 0, offset+7*(n-1))
}

func lastMonday(year int, month time.Month) time.Time {
	last := date(year, month+1, 0)
	return last.AddDate(0, 0, -((int(last.Weekday()) - int(time.Monday) + 7) % 7))
}

// easter returns Easter Sunday of the Gregorian calendar. It uses the anonymous algorithm as given by Meeus (Astronomical Algorithms, 1991,
// chapter 8).
func easter(year int) time.Time {
	a, b, c := year%19, year/100, year%100
	d, e := b/4, b%4
	f := (b + 8) / 25
	g := (b - f + 1) / 3
	h := (19*a + b - d - g + 15) % 30
	i, k := c/4, c%4
	l := (32 + 2*e + 2*i - h - k) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return date(year, time.Month(n/31), n%31+1)
}
