package series

import "time"

// Instant is a time in microseconds since the start of the year 1, in UTC. That is the resolution of Postgres. Its zero value is the zero
// time.Time. Instants are compared with the operators of Go. Long histories are made of them: a time.Time has a pointer, which each
// collection of garbage follows, and takes three times the memory.
type Instant int64

// yearOne is 0001-01-01T00:00:00Z in seconds of Unix time.
const yearOne = -62135596800

// unixDay is 1970-01-01 as the number of days since the start of the year 1, and microsecondsPerDay a day.
const (
	unixDay            = -yearOne / (24 * 60 * 60)
	microsecondsPerDay = 24 * 60 * 60 * 1e6
)

// InstantOf is a time without what is smaller than a microsecond.
func InstantOf(t time.Time) Instant {
	return Instant((t.Unix()-yearOne)*1e6 + int64(t.Nanosecond()/1e3))
}

// InstantOfMicroseconds is the instant so many microseconds after 1970-01-01, which is how Postgres's drivers count.
func InstantOfMicroseconds(sinceUnix int64) Instant { return Instant(sinceUnix - yearOne*1e6) }

// Time is the instant as a time in UTC.
func (i Instant) Time() time.Time {
	return time.Unix(int64(i)/1e6+yearOne, int64(i)%1e6*1e3).UTC()
}

// IsZero reports whether the instant is the zero value.
func (i Instant) IsZero() bool { return i == 0 }

// Days is the UTC date as the number of days since 1970-01-01. The instant must not be negative: no calendar here is older than the year 1.
func (i Instant) Days() int { return int(uint64(i)/microsecondsPerDay) - unixDay }

// AddDate is time.Time's.
func (i Instant) AddDate(years, months, days int) Instant {
	return InstantOf(i.Time().AddDate(years, months, days))
}

// String is the instant as RFC 3339 has it.
func (i Instant) String() string { return i.Time().Format(time.RFC3339Nano) }

// DateOf is midnight of a UTC date.
func DateOf(year int, month time.Month, day int) Instant {
	return InstantOf(time.Date(year, month, day, 0, 0, 0, 0, time.UTC))
}
