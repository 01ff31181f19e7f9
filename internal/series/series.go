// Package series is the vocabulary that the rooms share: what an observation is, when it became known, and where it came
// from. It is a leaf: no I/O, no clock, nothing of this module imported. Start at Observation.
package series

import (
	"sort"
	"time"
)

// ID names one measured quantity from one publisher, for example "eia.RWTC". It is stable for ever: two sources that serve the
// same quantity (a keyless page and a keyed API) yield the same ID.
type ID string

// MarkerWithdrawn is the marker of an observation whose value the publisher took back.
const MarkerWithdrawn = "withdrawn"

// Observation is one value with its two times. Observations are only ever added: a revision is a new vintage.
type Observation struct {
	Series ID
	// ObservedAt is what the value is about, in UTC: midnight of the day for daily data, of the week's or month's stated day
	// for weekly and monthly data.
	ObservedAt time.Time
	// VintageAt is when the value became known, in UTC.
	VintageAt time.Time
	// Value has no meaning when Marker is set.
	Value float64
	// Marker is empty for a number. Otherwise there is no number and Marker says why: MarkerWithdrawn, or the publisher's own
	// sign for a withheld value ("W", "NA", "--").
	Marker string
	// Assumed tells that nobody saw this value arrive: VintageAt is ObservedAt plus the publication lag measured for the series.
	Assumed bool
}

// Reading is one value as a publisher states it, before it has a vintage.
type Reading struct {
	Series     ID
	ObservedAt time.Time
	Value      float64
	// Marker as in Observation: set when there is no number.
	Marker string
}

// Coverage claims that every observation of a series in a window was stated: a known one that was not has been withdrawn.
type Coverage struct {
	Series ID
	Window Window
}

// Point is one observation as it was known at some instant.
type Point struct {
	ObservedAt time.Time
	VintageAt  time.Time
	Value      float64
}

// Before names the series of earlier values of a series: of each observation that was changed, the value before the newest, known since the
// newest was.
func Before(id ID) ID { return id + "@before" }

// Set holds what was known of several series at one instant: points in ascending ObservedAt, each the newest vintage, withdrawn
// and withheld ones left out. It is read only.
type Set map[ID][]Point

// Info describes one series.
type Info struct {
	ID   ID
	Name string
	// Unit as the publisher names it, for example "Dollars per Barrel".
	Unit string
	// Frequency is "daily", "weekly", "monthly", "quarterly", "annual", or "irregular" for what has no rhythm.
	Frequency string
	// Published tells when a value about observedAt is assumed to have become known, where nobody saw it arrive. It is never
	// before observedAt.
	Published func(observedAt time.Time) time.Time
	// Min and Max bound what a true value can be: with room for what was never seen before, and without room for another unit. Nil:
	// no bound. An answer with a value beyond them is not stored before a person has looked at it.
	Min, Max *float64
}

// Window bounds observation times, both ends included. A zero end is open.
type Window struct{ From, To time.Time }

// Contains tells whether t lies in the window.
func (w Window) Contains(t time.Time) bool {
	return (w.From.IsZero() || !t.Before(w.From)) && (w.To.IsZero() || !t.After(w.To))
}

// Cadence says when something is due.
type Cadence struct {
	// Cron is a five-field expression as robfig/cron's ParseStandard reads it. It may not name an hour from 02 to 03 in a zone
	// that observes daylight saving: such a slot is skipped for a whole day in spring.
	Cron string
	// Zone is an IANA time zone name. Empty means UTC.
	Zone string
	// CatchUp says what happens to slots missed while nothing was running.
	CatchUp CatchUp
}

// CatchUp is a policy for missed slots. Slots that a policy leaves out are recorded as skipped.
type CatchUp string

// The policies.
const (
	CatchUpSkip   CatchUp = "skip"   // run none of them
	CatchUpLatest CatchUp = "latest" // run only the newest
	CatchUpAll    CatchUp = "all"    // run each, oldest first
)

// Fetch is one HTTP exchange as the ledger keeps it.
type Fetch struct {
	ID     int64
	Source string
	// URL has no credentials: adapters name the parameters that are secret.
	URL    string
	Status int
	// Header holds the response headers worth keeping (Content-Type, ETag, Last-Modified, Date).
	Header map[string]string
	// FetchedAt is the world's time of the answer, in UTC.
	FetchedAt time.Time
	// SHA256 is the lower-case hex digest of the archived body.
	SHA256 string
	Bytes  int64
	// NotModified tells that the publisher answered 304: SHA256 is that of the body it confirmed.
	NotModified bool
	// Synthetic tells that the sandbox made the body; Constructed that a recording tool built it around recorded numbers.
	Synthetic, Constructed bool
}

// At returns the newest point at or before t, and whether there is one. Points must ascend.
func At(points []Point, t time.Time) (Point, bool) {
	i := sort.Search(len(points), func(i int) bool { return points[i].ObservedAt.After(t) })
	if i == 0 {
		return Point{}, false
	}
	return points[i-1], true
}
