package workers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/quality"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

// checkedRequest is the request of a run.
type checkedRequest struct {
	asked series.Window
	// complete reports whether all of it was answered.
	complete bool
}

// toTheEnd reports whether the newest reading of the responses is the newest that the publisher has.
func (q checkedRequest) toTheEnd() bool { return q.complete && q.asked.To.IsZero() }

// state is the outcome of the checks for a unit.
type state int

const (
	good     state = iota
	held           // it goes into quarantine, or is there
	rejected       // a person has said that it is never to be stored
)

// unit is stored whole or not at all. It is one response or, for a source that may estimate its whole history again, all responses of a
// run.
type unit struct {
	answers []ingest.Fetched
	// digest names the bodies that have readings of series; it is empty if none has.
	digest   string
	state    state
	findings []postgres.Finding
	// standing is the row of a unit that is in quarantine already.
	standing int64
}

// inspection holds the responses of a run and the findings about them.
type inspection struct {
	src   ingest.Source
	units []*unit
	// whole are findings about the run rather than about a unit.
	whole []postgres.Finding
}

// inspect holds answers against what is known. What says again byte for byte what was said last, and what was decided about before,
// is not checked again.
func (i Ingest) inspect(ctx context.Context, src ingest.Source, q checkedRequest, fetched []ingest.Fetched) (inspection, error) {
	c := inspection{src: src, units: unitsOf(src, fetched)}
	if err := i.recall(ctx, &c); err != nil {
		return c, err
	}
	fresh, err := i.fresh(ctx, &c)
	if err != nil {
		return c, err
	}
	spoken := readingsOf(fetched)
	if len(fresh) > 0 {
		known, err := i.DB.KnownBefore(ctx, seriesWithReadings(fresh), q.until(spoken), quality.HistoryDepth)
		if err != nil {
			return c, err
		}
		for _, u := range fresh {
			c.check(u, q, spoken, known)
		}
	}
	if !q.toTheEnd() {
		return c, nil
	}
	at := newestFetch(fetched)
	var silent []series.ID
	for _, s := range src.Series {
		readings := spoken[s.ID]
		if len(readings) == 0 {
			silent = append(silent, s.ID)
		}
		c.whole = append(c.whole, kept(quality.Late(s, readings, at))...)
	}
	if len(silent) > 0 && q.asked == (series.Window{}) {
		return c, i.missed(ctx, &c, silent)
	}
	return c, nil
}

// recall finds the units that are in quarantine, or were rejected.
func (i Ingest) recall(ctx context.Context, c *inspection) error {
	var digests []string
	for _, u := range c.units {
		if u.digest != "" {
			digests = append(digests, u.digest)
		}
	}
	if len(digests) == 0 {
		return nil
	}
	standing, err := i.DB.OpenQuarantine(ctx, c.src.ID, digests)
	if err != nil {
		return err
	}
	for _, u := range c.units {
		was, ok := standing[u.digest]
		if !ok {
			continue
		}
		u.standing, u.state = was.ID, held
		// Accepting it may do something else by now.
		u.findings = slices.DeleteFunc(was.Findings, func(f postgres.Finding) bool { return f.Check == CheckAccept })
		if was.Decision == postgres.QuarantineRejected {
			u.state, u.findings = rejected, []postgres.Finding{{
				Check: "rejected", Severity: string(quality.Warn),
				Observed: fmt.Sprintf("the answer that %s rejected as quarantine %d: %s", *was.DecidedBy, was.ID, *was.Reason),
				Expected: "another one",
			}}
		}
	}
	return nil
}

// fresh lists the units that have something to check.
func (i Ingest) fresh(ctx context.Context, c *inspection) ([]*unit, error) {
	loads := c.loads()
	if !slices.ContainsFunc(c.units, func(u *unit) bool { return u.state == good && u.digest != "" }) {
		return nil, nil
	}
	same, err := i.DB.Unchanged(ctx, loads)
	if err != nil {
		return nil, err
	}
	var fresh []*unit
	for _, u := range c.units {
		changed := func(a ingest.Fetched) bool { return hasReadings(a) && !same[a.Fetch.ID] }
		if u.state == good && slices.ContainsFunc(u.answers, changed) {
			fresh = append(fresh, u)
		}
	}
	return fresh, nil
}

// missed marks the series that the run said nothing of although they are known.
func (i Ingest) missed(ctx context.Context, c *inspection, silent []series.ID) error {
	known, err := i.DB.KnownBefore(ctx, silent, time.Time{}, 1)
	if err != nil {
		return err
	}
	for _, id := range silent {
		for _, r := range known[id].Readings {
			c.whole = append(c.whole, postgres.Finding{
				Check: quality.RowCount, Severity: string(quality.Warn), Series: string(id), From: r.ObservedAt.UTC(), To: r.ObservedAt.UTC(),
				Observed: "no observation at all", Expected: "those that are known, the newest of " + r.ObservedAt.UTC().Format(time.DateOnly),
			})
		}
	}
	return nil
}

// check holds a unit against what is known. What passes is known to the units after it.
func (c *inspection) check(u *unit, q checkedRequest, spoken map[series.ID][]series.Reading, known map[series.ID]postgres.KnownSeries) {
	mine := readingsOf(u.answers)
	at := newestFetch(u.answers)
	for _, info := range c.src.Series {
		k := known[info.ID]
		if len(mine[info.ID]) == 0 || k.ConfirmedAt.After(at) { // an old answer says nothing new
			continue
		}
		a := quality.Answer{
			Info: info, Readings: mine[info.ID], Asked: q.asked, Reestimates: c.src.Reestimates,
			Known: quality.Known{Readings: k.Readings, Complete: k.Complete},
		}
		for _, f := range u.answers {
			for _, cov := range f.Batch.Covers {
				if cov.Series == info.ID {
					a.Covers = append(a.Covers, cov.Window)
				}
			}
		}
		if q.toTheEnd() {
			a.Newest = newestOf(spoken[info.ID])
		}
		found := quality.Check(a)
		u.findings = append(u.findings, kept(found)...)
		if quality.Blocks(found) {
			u.state = held
		}
	}
	if u.state == held {
		return
	}
	for id, readings := range mine {
		k := known[id]
		k.Readings = overlay(k.Readings, readings, k.Complete)
		known[id] = k
	}
}

// loads are the answers of the units that may be stored, as the database takes them.
func (c *inspection) loads() []postgres.Load {
	var list []postgres.Load
	for _, u := range c.units {
		if u.state != good {
			continue
		}
		for _, a := range u.answers {
			list = append(list, backfill.Load(c.src, a))
		}
	}
	return list
}

// free returns the answers whose units may be stored.
func (c *inspection) free(answers []ingest.Fetched) []ingest.Fetched {
	held := map[int64]bool{}
	for _, u := range c.units {
		for _, a := range u.answers {
			held[a.Fetch.ID] = u.state != good
		}
	}
	return slices.DeleteFunc(slices.Clone(answers), func(a ingest.Fetched) bool { return held[a.Fetch.ID] })
}

// hold marks the unit that the database refused as held. It reports whether the inspection has such a unit.
func (c *inspection) hold(shrunk *postgres.ShrunkError) bool {
	for _, u := range c.units {
		mine := func(a ingest.Fetched) bool { return a.Fetch.ID == shrunk.FetchID }
		if u.state != good || !slices.ContainsFunc(u.answers, mine) {
			continue
		}
		u.state = held
		u.findings = append(u.findings, postgres.Finding{
			Check: quality.RowCount, Severity: string(quality.Error), Series: string(shrunk.Series),
			Observed: fmt.Sprintf("%d of %d known observations are not there", shrunk.Missing, shrunk.Known),
			Expected: "all that is known, but for a few that were withdrawn",
		})
		return true
	}
	return false
}

// findings returns all findings of the checks, except those already in quarantine.
func (c *inspection) findings() []postgres.Finding {
	var list []postgres.Finding
	for _, u := range c.units {
		list = append(list, u.findings...)
	}
	return append(list, c.whole...)
}

// unitsOf sorts answers into units.
func unitsOf(src ingest.Source, fetched []ingest.Fetched) []*unit {
	var units []*unit
	together := &unit{}
	for _, f := range fetched {
		if src.Reestimates && hasReadings(f) {
			together.answers = append(together.answers, f)
			continue
		}
		units = append(units, &unit{answers: []ingest.Fetched{f}})
	}
	if len(together.answers) > 0 {
		units = append(units, together)
	}
	for _, u := range units {
		u.digest = digestOf(u.answers)
	}
	return units
}

// hasReadings reports whether a response has readings or coverage of a series. The first page of a chain often only leads to the others.
func hasReadings(f ingest.Fetched) bool { return len(f.Batch.Readings)+len(f.Batch.Covers) > 0 }

// digestOf names the bodies that have readings of series: by the one digest, or by the digest of the list of several.
func digestOf(answers []ingest.Fetched) string {
	var digests []string
	for _, f := range answers {
		if hasReadings(f) {
			digests = append(digests, f.Fetch.SHA256)
		}
	}
	if len(digests) < 2 {
		return strings.Join(digests, "")
	}
	sum := sha256.Sum256([]byte(strings.Join(digests, "\n")))
	return hex.EncodeToString(sum[:])
}

// until is the end of the range of known values that the checks need. It is the newest reading if the request had an end, since pages may
// go beyond it.
func (q checkedRequest) until(spoken map[series.ID][]series.Reading) time.Time {
	var end time.Time
	if q.asked.To.IsZero() {
		return end
	}
	for _, readings := range spoken {
		if at := newestOf(readings); at.After(end) {
			end = at
		}
	}
	return end
}

func readingsOf(fetched []ingest.Fetched) map[series.ID][]series.Reading {
	all := map[series.ID][]series.Reading{}
	for _, f := range fetched {
		for _, r := range f.Batch.Readings {
			all[r.Series] = append(all[r.Series], r)
		}
	}
	return all
}

// seriesWithReadings lists the series that have readings in the units.
func seriesWithReadings(units []*unit) []series.ID {
	var ids []series.ID
	for _, u := range units {
		for id := range readingsOf(u.answers) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
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

func newestFetch(fetched []ingest.Fetched) time.Time {
	var newest time.Time
	for _, f := range fetched {
		if f.Fetch.FetchedAt.After(newest) {
			newest = f.Fetch.FetchedAt
		}
	}
	return newest
}

// overlay returns known with readings replacing the values at their times. If older known values exist outside known, readings of that
// age are left out.
func overlay(known, readings []series.Reading, complete bool) []series.Reading {
	byTime := func(a, b series.Reading) int { return a.ObservedAt.Compare(b.ObservedAt) }
	all := slices.Clone(readings)
	if !complete && len(known) > 0 {
		all = slices.DeleteFunc(all, func(r series.Reading) bool { return r.ObservedAt.Before(known[0].ObservedAt) })
	}
	all = append(all, known...)
	slices.SortStableFunc(all, byTime)
	return slices.CompactFunc(all, func(a, b series.Reading) bool { return a.ObservedAt.Equal(b.ObservedAt) })
}

// kept turns findings into what is kept of them.
func kept(list []quality.Finding) []postgres.Finding {
	out := make([]postgres.Finding, len(list))
	for n, f := range list {
		out[n] = postgres.Finding{
			Check: f.Check, Severity: string(f.Severity), Series: string(f.Series), From: f.From, To: f.To, Observed: f.Observed, Expected: f.Expected,
		}
	}
	return out
}

// worst is the first error of a list, or the first finding.
func worst(list []postgres.Finding) postgres.Finding {
	return slices.MinFunc(list, func(a, b postgres.Finding) int { return cmp.Compare(a.Severity, b.Severity) }) // "error" < "warn"
}
