// Package series defines the types that the packages share: observations, the time when each became known, and their source. It is a leaf:
// no I/O, no clock, no imports from this module. Start at Observation.
package series

import (
	"math"
	"sort"
	"strings"
	"time"
)

// ID names one measured quantity from one publisher, for example "eia.RWTC". It never changes. Two sources that serve the same quantity (a
// keyless page and a keyed API) yield the same ID.
type ID string

// MarkerWithdrawn is the marker of an observation whose value the publisher took back.
const MarkerWithdrawn = "withdrawn"

// Observation is one value with its two times. Observations are never changed or deleted: a revision is a new vintage.
type Observation struct {
	Series ID
	// ObservedAt is the time that the value describes, in UTC. Daily data have midnight of the day; weekly and monthly data have midnight
	// of the stated day of the week or month.
	ObservedAt time.Time
	// VintageAt is when the value became known, in UTC.
	VintageAt time.Time
	// Value has no meaning when Marker is set.
	Value float64
	// Marker is empty for a number. Otherwise there is no number and Marker gives the reason: MarkerWithdrawn, or the publisher's own sign
	// for a withheld value ("W", "NA", "--").
	Marker string
	// Assumed is true if the program did not see the value arrive. VintageAt is then ObservedAt plus the publication lag measured for the
	// series.
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

// Coverage claims that an answer contains every observation of a series in a window. A known observation that is missing there was
// withdrawn.
type Coverage struct {
	Series ID
	Window Window
}

// Point is one observation as it was known at an instant.
type Point struct {
	ObservedAt, VintageAt Instant
	Value                 float64
}

// Point is the observation without its series, marker and assumption. Times lose what is smaller than a microsecond.
func (o Observation) Point() Point {
	return Point{ObservedAt: InstantOf(o.ObservedAt), VintageAt: InstantOf(o.VintageAt), Value: o.Value}
}

// Before returns the ID of the series with the earlier values of a series. For each changed observation, it has the value before the newest
// one, known since the newest became known.
func Before(id ID) ID { return id + beforeMark }

// Current returns the ID of the series with the current values, and whether id was made by Before.
func Current(id ID) (ID, bool) {
	current, before := strings.CutSuffix(string(id), beforeMark)
	return ID(current), before
}

const beforeMark = "@before"

// Set holds the values of several series that were known at one instant. Points ascend by ObservedAt and are the newest vintages. Withdrawn
// and withheld values are left out. A Set is read only.
type Set map[ID][]Point

// Info describes one series.
type Info struct {
	ID   ID
	Name string
	// Unit as the publisher names it, for example "Dollars per Barrel".
	Unit string
	// Frequency is "daily", "weekly", "monthly", "quarterly", "annual", or "irregular".
	Frequency string
	// Published returns when a value about observedAt is assumed to have become known, if the program did not see it arrive. The result is
	// never before observedAt.
	Published func(observedAt time.Time) time.Time
	// Min and Max are the bounds of plausible values. They are wide enough for values that were never seen before, and narrow enough to
	// detect another unit. Nil means no bound. An answer with a value outside the bounds is not stored before an operator has reviewed it.
	Min, Max *float64
	// Rounding is the difference below which two values of one time are the same value, written with other digits. Zero means that every
	// difference is a revision.
	Rounding float64
}

// Same reports whether two values of one time are the same, but for the digits that they are written with.
func (i Info) Same(a, b float64) bool { return a == b || math.Abs(a-b) < i.Rounding }

// Window is a range of observation times, both ends included. A zero end is open.
type Window struct{ From, To time.Time }

// Contains reports whether t is in the window.
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
	// CatchUp is the policy for slots that were missed while no scheduler was running.
	CatchUp CatchUp
}

// CatchUp is a policy for missed slots. Slots that the policy leaves out are recorded as skipped.
type CatchUp string

// The policies.
const (
	CatchUpSkip   CatchUp = "skip"   // run none of them
	CatchUpLatest CatchUp = "latest" // run only the newest
	CatchUpAll    CatchUp = "all"    // run each, oldest first
)

// Fetch is one HTTP exchange as the fetch log records it.
type Fetch struct {
	ID     int64
	Source string
	// URL has no credentials: adapters name the secret parameters.
	URL    string
	Status int
	// Header holds the recorded response headers (Content-Type, ETag, Last-Modified, Date).
	Header map[string]string
	// FetchedAt is the world's time of the response, in UTC.
	FetchedAt time.Time
	// SHA256 is the lower-case hex digest of the archived body.
	SHA256 string
	Bytes  int64
	// NotModified reports that the publisher answered 304. SHA256 is then the digest of the confirmed body.
	NotModified bool
	// Synthetic reports that the sandbox made the body. Constructed reports that a recording tool built the body around recorded numbers.
	Synthetic, Constructed bool
}

// At returns the newest point at or before t, and whether it exists. Points must ascend.
func At(points []Point, t Instant) (Point, bool) {
	i := sort.Search(len(points), func(i int) bool { return points[i].ObservedAt > t })
	if i == 0 {
		return Point{}, false
	}
	return points[i-1], true
}
