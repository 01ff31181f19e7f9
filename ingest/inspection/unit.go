package inspection

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/series"
)

// state is the outcome of the checks for a unit.
type state int

const (
	good    state = iota
	held          // it goes into quarantine, or is there
	refused       // an operator decided that it is never stored
)

// Unit is stored whole or not at all. It is one response or, for a source that may estimate its whole history again, all responses of a
// run.
type Unit struct {
	Answers []ingest.Fetched
	// Digest names the bodies that have readings of series; it is empty if none has.
	Digest   string
	Findings []series.Finding
	state    state
	// recalled reports whether the quarantine has it already.
	recalled bool
}

// unitsOf sorts answers into units.
func unitsOf(src ingest.Source, answers []ingest.Fetched) []*Unit {
	var units []*Unit
	together := &Unit{}
	for _, a := range answers {
		if src.Reestimates && hasReadings(a) {
			together.Answers = append(together.Answers, a)
			continue
		}
		units = append(units, &Unit{Answers: []ingest.Fetched{a}})
	}
	if len(together.Answers) > 0 {
		units = append(units, together)
	}
	for _, u := range units {
		u.Digest = u.digest()
	}
	return units
}

// digest is the digest of the one body that has readings, or of the list of several.
func (u *Unit) digest() string {
	var digests []string
	for _, a := range u.WithReadings() {
		digests = append(digests, a.Fetch.SHA256)
	}
	if len(digests) < 2 {
		return strings.Join(digests, "")
	}
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	return hex.EncodeToString(sum[:])
}

// WithReadings returns the responses that have readings or coverage of a series. The first page of a chain often only leads to the others.
func (u *Unit) WithReadings() []ingest.Fetched {
	return slices.DeleteFunc(slices.Clone(u.Answers), func(a ingest.Fetched) bool { return !hasReadings(a) })
}

// At is the time of the newest fetch.
func (u *Unit) At() time.Time { return newestFetch(u.Answers) }

// Held reports whether an operator must decide about the unit.
func (u *Unit) Held() bool { return u.state == held }

// New reports whether the unit is held and not in quarantine yet.
func (u *Unit) New() bool { return u.state == held && !u.recalled }

// Problem says for people what is held back, why, and what to do. id is the number of its row in quarantine.
func (u *Unit) Problem(id int64) error {
	f := worst(u.Findings)
	last := u.Answers[len(u.Answers)-1].Fetch
	more := ""
	if n := len(u.Findings); n > 1 {
		more = fmt.Sprintf(" (and %d more)", n-1)
	}
	return fmt.Errorf("%s: nothing of the answer is stored, it is in quarantine %d: check %s of %s: %s, expected %s%s: see `tidemark quarantine show %d`, then accept or reject it",
		last.URL, id, f.Check, f.Series, f.Observed, f.Expected, more, id)
}

// covers are the windows of a series that the unit claims to have whole.
func (u *Unit) covers(id series.ID) []series.Window {
	var list []series.Window
	for _, a := range u.Answers {
		for _, c := range a.Batch.Covers {
			if c.Series == id {
				list = append(list, c.Window)
			}
		}
	}
	return list
}

func hasReadings(a ingest.Fetched) bool { return len(a.Batch.Readings)+len(a.Batch.Covers) > 0 }

func readingsOf(answers []ingest.Fetched) map[series.ID][]series.Reading {
	all := map[series.ID][]series.Reading{}
	for _, a := range answers {
		for _, r := range a.Batch.Readings {
			all[r.Series] = append(all[r.Series], r)
		}
	}
	return all
}

func newestOf(readings []series.Reading) time.Time {
	var newest time.Time
	for _, r := range readings {
		if r.ObservedAt.After(newest) {
			newest = r.ObservedAt
		}
	}
	return newest
}

func newestFetch(answers []ingest.Fetched) time.Time {
	var newest time.Time
	for _, a := range answers {
		if a.Fetch.FetchedAt.After(newest) {
			newest = a.Fetch.FetchedAt
		}
	}
	return newest
}

// overlay returns the known readings with others replacing the values at their times. Others that are older than known, while known is not
// complete, are left out.
func overlay(known series.Known, readings []series.Reading) []series.Reading {
	all := slices.Clone(readings)
	if !known.Complete && len(known.Readings) > 0 {
		all = slices.DeleteFunc(all, func(r series.Reading) bool { return r.ObservedAt.Before(known.Readings[0].ObservedAt) })
	}
	all = append(all, known.Readings...)
	slices.SortStableFunc(all, func(a, b series.Reading) int { return a.ObservedAt.Compare(b.ObservedAt) })
	return slices.CompactFunc(all, func(a, b series.Reading) bool { return a.ObservedAt.Equal(b.ObservedAt) })
}
