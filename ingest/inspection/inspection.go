// Package inspection decides which responses of a run may be stored. It sorts the responses into units, which are stored whole or not at all,
// and compares each unit with the known history by the checks of the package quality. Everything is pure: the caller reads what the
// inspection asks for, passes it on, and writes what it says. Start at New.
package inspection

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/quality"
	"tidemark/internal/series"
)

// The checks of an inspection, in addition to the checks of the package quality.
const (
	Accept   = "accept"   // the effect of accepting a unit that is held
	rejected = "rejected" // an operator rejected the response
)

// Inspection holds the responses of a run and the findings about them. The caller tells it, in this order, the results of three reads.
// Recall takes the quarantine's entries for Digests. Repeated takes the repeated responses, if there is anything to Compare. Check takes
// the known values of the series in ToCheck.
type Inspection struct {
	Source ingest.Source

	asked    series.Window
	complete bool
	answers  []ingest.Fetched
	readings map[series.ID][]series.Reading
	units    []*Unit
	// toCheck are the units that differ from the last responses.
	toCheck []*Unit
	// whole are findings about the run rather than about a unit.
	whole []series.Finding
}

// New sorts the responses of a run of a source into units. asked is the requested window; zero is the whole history. complete reports
// whether all of it was answered.
func New(src ingest.Source, asked series.Window, complete bool, answers []ingest.Fetched) *Inspection {
	c := &Inspection{
		Source: src, asked: asked, complete: complete, answers: answers, readings: readingsOf(answers), units: unitsOf(src, answers),
	}
	if c.toTheEnd() {
		at := newestFetch(answers)
		for _, s := range src.Series {
			c.whole = append(c.whole, quality.Late(s, c.readings[s.ID], at)...)
		}
	}
	return c
}

// toTheEnd reports whether the newest reading of the responses is the newest that the publisher has.
func (c *Inspection) toTheEnd() bool { return c.complete && c.asked.To.IsZero() }

// Digests names the units that the quarantine may have.
func (c *Inspection) Digests() []string {
	var list []string
	for _, u := range c.units {
		if u.Digest != "" {
			list = append(list, u.Digest)
		}
	}
	return list
}

// Recalled is a unit that the quarantine has.
type Recalled struct {
	ID       int64
	Findings []series.Finding
	// RejectedBy is the operator who rejected it, with the reason. It is empty while the unit is pending.
	RejectedBy, Reason string
}

// Recall marks the units that are in quarantine or were rejected. Keys are the digests of the units.
func (c *Inspection) Recall(standing map[string]Recalled) {
	for _, u := range c.units {
		was, ok := standing[u.Digest]
		if !ok {
			continue
		}
		u.recalled, u.state = true, held
		// The effect of accepting it may have changed since.
		u.Findings = slices.DeleteFunc(was.Findings, func(f series.Finding) bool { return f.Check == Accept })
		if was.RejectedBy != "" {
			u.state, u.Findings = refused, []series.Finding{{
				Check: rejected, Severity: series.SeverityWarn,
				Observed: fmt.Sprintf("the answer that %s rejected as quarantine %d: %s", was.RejectedBy, was.ID, was.Reason),
				Expected: "another one",
			}}
		}
	}
}

// Compare reports whether a unit that may be stored has anything to compare with the last responses.
func (c *Inspection) Compare() bool {
	return slices.ContainsFunc(c.units, func(u *Unit) bool { return u.state == good && u.Digest != "" })
}

// Repeated takes the fetches whose bytes equal the last responses. They are not checked again: an earlier run decided about them.
func (c *Inspection) Repeated(same map[int64]bool) {
	for _, u := range c.units {
		changed := func(a ingest.Fetched) bool { return hasReadings(a) && !same[a.Fetch.ID] }
		if u.state == good && slices.ContainsFunc(u.Answers, changed) {
			c.toCheck = append(c.toCheck, u)
		}
	}
}

// ToCheck lists the series whose known history Check compares, and the end of that history: zero is the newest reading. It is the newest
// reading of the responses if the request had an end, since pages may go beyond it.
func (c *Inspection) ToCheck() (ids []series.ID, until time.Time) {
	ids = c.silent()
	for _, u := range c.toCheck {
		for id := range readingsOf(u.Answers) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if c.asked.To.IsZero() {
		return ids, until
	}
	for _, readings := range c.readings {
		if at := newestOf(readings); at.After(until) {
			until = at
		}
	}
	return ids, until
}

// Check compares the units with the known history, and notes the silent series that are known. What passes is known to the units after it.
func (c *Inspection) Check(known map[series.ID]series.Known) {
	for _, u := range c.toCheck {
		c.check(u, known)
	}
	for _, id := range c.silent() {
		if readings := known[id].Readings; len(readings) > 0 {
			newest := readings[len(readings)-1].ObservedAt.UTC()
			c.whole = append(c.whole, series.Finding{
				Check: quality.RowCount, Severity: series.SeverityWarn, Series: id, From: newest, To: newest,
				Observed: "no observation at all", Expected: "those that are known, the newest of " + newest.Format(time.DateOnly),
			})
		}
	}
}

func (c *Inspection) check(u *Unit, known map[series.ID]series.Known) {
	mine := readingsOf(u.Answers)
	for _, info := range c.Source.Series {
		k := known[info.ID]
		if len(mine[info.ID]) == 0 || k.ConfirmedAt.After(u.At()) { // an old answer says nothing new
			continue
		}
		a := quality.Answer{
			Info: info, Readings: mine[info.ID], Covers: u.covers(info.ID), Asked: c.asked, Reestimates: c.Source.Reestimates, Known: k,
		}
		if c.toTheEnd() {
			a.Newest = newestOf(c.readings[info.ID])
		}
		found := quality.Check(a)
		u.Findings = append(u.Findings, found...)
		if quality.Blocks(found) {
			u.state = held
		}
	}
	if u.state == held {
		return
	}
	for id, readings := range mine {
		k := known[id]
		k.Readings = overlay(k, readings)
		known[id] = k
	}
}

// silent lists the series that a complete response to a request for the whole history does not mention.
func (c *Inspection) silent() []series.ID {
	if !c.toTheEnd() || c.asked != (series.Window{}) {
		return nil
	}
	var list []series.ID
	for _, s := range c.Source.Series {
		if len(c.readings[s.ID]) == 0 {
			list = append(list, s.ID)
		}
	}
	return list
}

// Shrunk holds the unit that the database refused, because it lacks some of the observations that are known of a series. The database
// compares all of them, while Check sees only the newest ones. It reports whether a unit that may be stored has the fetch.
func (c *Inspection) Shrunk(fetch int64, id series.ID, missing, known int64) bool {
	for _, u := range c.units {
		mine := func(a ingest.Fetched) bool { return a.Fetch.ID == fetch }
		if u.state != good || !slices.ContainsFunc(u.Answers, mine) {
			continue
		}
		u.state = held
		u.Findings = append(u.Findings, series.Finding{
			Check: quality.RowCount, Severity: series.SeverityError, Series: id,
			Observed: fmt.Sprintf("%d of %d known observations are not there", missing, known),
			Expected: "all that is known, but for a few that were withdrawn",
		})
		return true
	}
	return false
}

// Free returns the responses whose units may be stored.
func (c *Inspection) Free() []ingest.Fetched {
	kept := map[int64]bool{}
	for _, u := range c.units {
		for _, a := range u.Answers {
			kept[a.Fetch.ID] = u.state == good
		}
	}
	return slices.DeleteFunc(slices.Clone(c.answers), func(a ingest.Fetched) bool { return !kept[a.Fetch.ID] })
}

// Unfree returns the units that must not be stored: held units, and units that an operator rejected.
func (c *Inspection) Unfree() []*Unit {
	return slices.DeleteFunc(slices.Clone(c.units), func(u *Unit) bool { return u.state == good })
}

// Findings returns all findings, those about units first.
func (c *Inspection) Findings() []series.Finding {
	var list []series.Finding
	for _, u := range c.units {
		list = append(list, u.Findings...)
	}
	return append(list, c.whole...)
}

// worst is the first error of a list, or the first finding.
func worst(list []series.Finding) series.Finding {
	return slices.MinFunc(list, func(a, b series.Finding) int { return cmp.Compare(a.Severity, b.Severity) }) // "error" < "warn"
}
