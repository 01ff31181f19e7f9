package calendar

import (
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestWellKnownClosings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ day, reason string }{
		{"1994-04-27", "funeral of Richard Nixon"},
		{"2001-09-11", "attacks of September 11"},
		{"2001-09-12", "attacks of September 11"},
		{"2001-09-13", "attacks of September 11"},
		{"2001-09-14", "attacks of September 11"},
		{"2004-06-11", "mourning for Ronald Reagan"},
		{"2007-01-02", "mourning for Gerald Ford"},
		{"2012-10-29", "Hurricane Sandy"},
		{"2012-10-30", "Hurricane Sandy"},
		{"2018-12-05", "mourning for George H. W. Bush"},
		{"2025-01-09", "mourning for Jimmy Carter"},
		{"1998-01-19", "Martin Luther King Jr. Day"}, // the first
		{"2022-06-20", "Juneteenth"},                 // the first, a Sunday kept on Monday
		{"2023-06-19", "Juneteenth"},
		{"2027-06-18", "Juneteenth"}, // a Saturday kept on Friday
		{"2023-01-02", "New Year's Day"},
		{"2006-01-02", "New Year's Day"},
		{"2024-03-29", "Good Friday"},
		{"2000-04-21", "Good Friday"},
		{"2038-04-23", "Good Friday"}, // the latest Easter of the century's first half
		{"2020-07-03", "Independence Day"},
		{"2026-07-03", "Independence Day"},
		{"2021-07-05", "Independence Day"},
		{"1999-12-24", "Christmas Day"},
		{"2021-12-24", "Christmas Day"},
		{"2022-12-26", "Christmas Day"},
		{"2024-11-28", "Thanksgiving Day"},
		{"2025-09-01", "Labor Day"},
		{"2025-05-26", "Memorial Day"},
		{"2025-02-17", "Washington's Birthday"},
		{"2025-02-15", "weekend"},
		{"1989-12-29", "outside the calendar"},
		{"2101-01-03", "outside the calendar"},
	} {
		reason, closed := Closed(day(c.day))
		if !closed || reason != c.reason {
			t.Errorf("%s: closed %v for %q, want closed for %q", c.day, closed, reason, c.reason)
		}
	}
}

func TestDaysThatLookClosedAndAreNot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ why, day string }{
		{"New Year's Day 2005 was a Saturday: the Friday before was open", "2004-12-31"},
		{"so in 2011", "2010-12-31"},
		{"so in 2022", "2021-12-31"},
		{"Juneteenth was no holiday before 2022", "2020-06-19"},
		{"Martin Luther King Jr. Day was no holiday before 1998", "1997-01-20"},
		{"Columbus Day is none", "2024-10-14"},
		{"Veterans Day is none", "2024-11-11"},
		{"the day after Thanksgiving is short, not closed", "2024-11-29"},
	} {
		if reason, closed := Closed(day(c.day)); closed {
			t.Errorf("%s: %s is closed for %q", c.why, c.day, reason)
		}
	}
}

// The dates come from the exchange's announcements for 2023 to 2028 and from its list of special closings.
func TestEarlyCloses(t *testing.T) {
	t.Parallel()
	want := map[int][]string{
		1994: {"1994-02-11", "1994-11-25"},
		1996: {"1996-01-08", "1996-07-05", "1996-11-29", "1996-12-24"},
		1997: {"1997-07-03", "1997-10-27", "1997-11-28", "1997-12-24", "1997-12-26"},
		1999: {"1999-11-26"},
		2002: {"2002-07-05", "2002-11-29", "2002-12-24"},
		2003: {"2003-07-03", "2003-11-28", "2003-12-24", "2003-12-26"},
		2013: {"2013-07-03", "2013-11-29", "2013-12-24"},
		2020: {"2020-11-27", "2020-12-24"},
		2021: {"2021-11-26"},
		2023: {"2023-07-03", "2023-11-24"},
		2024: {"2024-07-03", "2024-11-29", "2024-12-24"},
		2025: {"2025-07-03", "2025-11-28", "2025-12-24"},
		2026: {"2026-11-27", "2026-12-24"},
		2027: {"2027-11-26"},
		2028: {"2028-07-03", "2028-11-24"},
	}
	for year, days := range want {
		var got []string
		for _, d := range Between(date(year, time.January, 1), date(year, time.December, 31)) {
			if at, open := Close(d); open && at.Before(At(d, 16*time.Hour)) {
				got = append(got, d.Format(time.DateOnly))
			}
		}
		if diff := cmp.Diff(days, got); diff != "" {
			t.Errorf("early closes of %d (-want +got):\n%s", year, diff)
		}
	}
	if at, open := Close(day("2021-12-24")); open {
		t.Errorf("a holiday closes at %s", at)
	}
}

func TestHoursFollowNewYorkThroughTheYear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, day, open, close string }{
		{"winter", "2025-01-15", "2025-01-15T14:30:00Z", "2025-01-15T21:00:00Z"},
		{"summer", "2025-07-15", "2025-07-15T13:30:00Z", "2025-07-15T20:00:00Z"},
		{"the Friday before the spring switch", "2025-03-07", "2025-03-07T14:30:00Z", "2025-03-07T21:00:00Z"},
		{"the Monday after it", "2025-03-10", "2025-03-10T13:30:00Z", "2025-03-10T20:00:00Z"},
		{"a short day in winter", "2024-11-29", "2024-11-29T14:30:00Z", "2024-11-29T18:00:00Z"},
		{"a short day in summer", "2025-07-03", "2025-07-03T13:30:00Z", "2025-07-03T17:00:00Z"},
		{"daylight saving ended in October until 2006", "2006-10-30", "2006-10-30T14:30:00Z", "2006-10-30T21:00:00Z"},
	} {
		open, ok := Open(day(c.day))
		if got := open.Format(time.RFC3339); !ok || got != c.open {
			t.Errorf("%s: opens at %s (%v), want %s", c.name, got, ok, c.open)
		}
		end, ok := Close(day(c.day))
		if got := end.Format(time.RFC3339); !ok || got != c.close {
			t.Errorf("%s: closes at %s (%v), want %s", c.name, got, ok, c.close)
		}
	}
	for _, closed := range []string{"2025-01-09", "2025-01-11", "1980-01-02"} {
		if _, ok := Open(day(closed)); ok {
			t.Errorf("%s opens", closed)
		}
		if _, ok := Close(day(closed)); ok {
			t.Errorf("%s closes", closed)
		}
	}
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, from string
		n          int
		want       string
	}{
		{"over a weekend", "2025-01-10", 1, "2025-01-13"},
		{"from a Saturday", "2025-01-11", 1, "2025-01-13"},
		{"over a day of mourning", "2025-01-08", 1, "2025-01-10"},
		{"four closed days and a weekend in 2001", "2001-09-10", 1, "2001-09-17"},
		{"back over them", "2001-09-17", -1, "2001-09-10"},
		{"nowhere", "2025-01-09", 0, "2025-01-09"},
		{"one year is 250 days in 2025", "2024-12-31", 250, "2025-12-31"},
		{"sixty days back", "2025-04-01", -60, "2025-01-02"},
		{"into the calendar from before", "1985-06-01", 1, "1990-01-02"},
		{"into the calendar from after", "2150-06-01", -1, "2100-12-31"},
	} {
		if got := Add(day(c.from), c.n).Format(time.DateOnly); got != c.want {
			t.Errorf("%s: %d days from %s is %s, want %s", c.name, c.n, c.from, got, c.want)
		}
	}
	if got := Next(day("2100-12-31")); !got.IsZero() {
		t.Errorf("a trading day after the calendar's end: %s", got)
	}
	if got := Previous(day("1990-01-02")); !got.IsZero() {
		t.Errorf("a trading day before the calendar's start: %s", got)
	}
}

func TestBetween(t *testing.T) {
	t.Parallel()
	var got []string
	for _, d := range Between(day("2024-12-23"), day("2025-01-10")) {
		got = append(got, d.Format(time.DateOnly))
	}
	want := []string{
		"2024-12-23", "2024-12-24", "2024-12-26", "2024-12-27", "2024-12-30", "2024-12-31",
		"2025-01-02", "2025-01-03", "2025-01-06", "2025-01-07", "2025-01-08", "2025-01-10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trading days around New Year (-want +got):\n%s", diff)
	}
	if days := Between(day("2025-01-10"), day("2025-01-09")); days != nil {
		t.Errorf("days between a day and the one before: %v", days)
	}
	// The exchange's own count of trading days by year.
	for year, want := range map[int]int{1996: 254, 2001: 248, 2012: 250, 2018: 251, 2020: 253, 2021: 252, 2023: 250, 2024: 252, 2025: 250} {
		if n := len(Between(date(year, 1, 1), date(year, 12, 31))); n != want {
			t.Errorf("%d has %d trading days, want %d", year, n, want)
		}
	}
}

func TestPickDateIsTodayAfterTheClose(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, at, want string }{
		{"the daily job in winter", "2025-01-15T22:30:00Z", "2025-01-15"},
		{"the daily job in summer", "2025-07-15T21:30:00Z", "2025-07-15"},
		{"the instant of the close", "2025-01-15T21:00:00Z", "2025-01-15"},
		{"a second before the close", "2025-01-15T20:59:59Z", ""},
		{"after a short session", "2024-11-29T18:00:00Z", "2024-11-29"},
		{"late at night, when UTC has the next date", "2025-01-16T04:59:00Z", "2025-01-15"},
		{"after midnight in New York", "2025-01-16T05:00:00Z", ""},
		{"a holiday", "2025-01-09T22:30:00Z", ""},
		{"a Saturday", "2025-01-11T22:30:00Z", ""},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := PickDate(at)
		if ok != (c.want != "") || ok && got.Format(time.DateOnly) != c.want {
			t.Errorf("%s: pick date %s (%v), want %q", c.name, got.Format(time.DateOnly), ok, c.want)
		}
	}
}

func TestAnnouncement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, day string
		clock     time.Duration
		want      string
	}{
		{"winter", "2025-01-15", AnnouncementClock, "2025-01-15T23:00:00Z"},
		{"summer", "2025-07-15", AnnouncementClock, "2025-07-15T22:00:00Z"},
		{"a short day keeps the time", "2024-11-29", AnnouncementClock, "2024-11-29T23:00:00Z"},
		{"never before the close", "2025-01-15", 12 * time.Hour, "2025-01-15T21:00:00Z"},
	} {
		got, ok := Announcement(day(c.day), c.clock)
		if !ok || got.Format(time.RFC3339) != c.want {
			t.Errorf("%s: announced at %s (%v), want %s", c.name, got.Format(time.RFC3339), ok, c.want)
		}
	}
	if _, ok := Announcement(day("2025-01-09"), AnnouncementClock); ok {
		t.Error("an announcement on a holiday")
	}
}

func TestDayOfIsNewYorksDate(t *testing.T) {
	t.Parallel()
	tokyo := time.FixedZone("JST", 9*60*60)
	if got := DayOf(time.Date(2025, 3, 8, 8, 0, 0, 0, tokyo)); got != day("2025-03-07") {
		t.Errorf("eight in the morning in Tokyo is %s in New York, want 2025-03-07", got.Format(time.DateOnly))
	}
	if got, want := At(day("2025-07-15"), 17*time.Hour+30*time.Minute), time.Date(2025, 7, 15, 21, 30, 0, 0, time.UTC); got != want {
		t.Errorf("half past five in the evening of July 15 is %s, want %s", got, want)
	}
}

func TestADayIsReadInItsOwnZone(t *testing.T) {
	t.Parallel()
	evening := time.Date(2025, 1, 8, 22, 0, 0, 0, newYork())
	if !IsTradingDay(evening) || Next(evening) != day("2025-01-10") {
		t.Errorf("the evening of January 8 in New York: trading %v, next %s", IsTradingDay(evening), Next(evening))
	}
}

// A daily file shows, for every weekday, whether the market traded. The two files are from two publishers.
func TestAgainstRecordedDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file string
		traded     func(row []string) bool
	}{
		{"S&P 500 as FRED publishes it, closed weekdays blank", "../../../shared/upstream/sp500/fred_SP500.csv", func(row []string) bool { return row[1] != "" }},
		{"a fund on it since 1993, closed weekdays left out", "../../../shared/upstream/prices-yahoo/etf/SPY.csv", func([]string) bool { return true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f, err := os.Open(c.file)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("the recorded data is not here: " + c.file)
			} else if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			r := csv.NewReader(f)
			r.FieldsPerRecord = -1
			var traded []time.Time
			var last time.Time
			for {
				row, err := r.Read()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				d, err := time.Parse(time.DateOnly, row[0][:min(10, len(row[0]))])
				if err != nil {
					continue // the header
				}
				last = d
				if c.traded(row) {
					traded = append(traded, d)
				}
			}
			if len(traded) < 2000 {
				t.Fatalf("only %d days read", len(traded))
			}
			got := Between(traded[0], last)
			for _, d := range got {
				if _, ok := slices.BinarySearchFunc(traded, d, time.Time.Compare); !ok {
					t.Errorf("%s: the calendar trades, the market did not", d.Format(time.DateOnly))
				}
			}
			for _, d := range traded {
				if reason, closed := Closed(d); closed {
					t.Errorf("%s: the market traded, the calendar is closed for %q", d.Format(time.DateOnly), reason)
				}
			}
			t.Logf("%d trading days agree", len(got))
		})
	}
}

func BenchmarkBetweenOneYear(b *testing.B) {
	for b.Loop() {
		Between(date(2025, 1, 1), date(2025, 12, 31))
	}
}
