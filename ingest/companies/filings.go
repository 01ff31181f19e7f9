package companies

import (
	"maps"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
)

// longAbsence is since when the list of the newest filings no longer has all that was filed: it reaches back a business day.
const longAbsence = 4 * 24 * time.Hour

// Figures come minutes to a day after their filing, at times weeks. Every run asks for the figures of the newest reports, and one run a day
// for the figures of older reports.
const (
	newReport    = 2 * 24 * time.Hour
	awaitReport  = 30 * 24 * time.Hour
	awaitAgainIn = 20 * time.Hour
)

// FilingsFrom returns the first day of the newest filings to read at a slot. The parameter last is the slot of the last successful run,
// zero if no run succeeded. The result all means that the list no longer reaches back to it, so all companies are asked about instead.
func FilingsFrom(slot, last time.Time) (from time.Time, all bool) {
	if last.IsZero() {
		last = slot
	}
	// A day more than needed: a company's own list may have been behind when it was asked.
	return last.AddDate(0, 0, -1), slot.Sub(last) > longAbsence
}

// NewFilings are the filings of followed companies in responses.
type NewFilings struct {
	seen map[filing]bool
	// First and Last are the days of the oldest and the newest one.
	First, Last time.Time
}

type filing struct {
	cik       equity.CIK
	accession string
}

// Filed returns the filings of followed companies, in forms that are kept.
func Filed(answers []ingest.Fetched, known Known) NewFilings {
	n := NewFilings{seen: map[filing]bool{}}
	for _, a := range answers {
		for _, f := range a.Batch.Filings {
			if _, ours := known[f.CIK]; !ours || !FollowedForm(f.Form) {
				continue
			}
			n.seen[filing{f.CIK, f.Accession}] = true
			if n.First.IsZero() || f.Filed.Before(n.First) {
				n.First = f.Filed
			}
			if f.Filed.After(n.Last) {
				n.Last = f.Filed
			}
		}
	}
	return n
}

// Companies lists the companies that filed.
func (n NewFilings) Companies() []equity.CIK {
	ids := map[equity.CIK]bool{}
	for f := range n.seen {
		ids[f.cik] = true
	}
	return slices.Sorted(maps.Keys(ids))
}

// Without returns the filings that are not among the stored ones.
func (n NewFilings) Without(stored []equity.Filing) NewFilings {
	n.seen = maps.Clone(n.seen)
	for _, f := range stored {
		delete(n.seen, filing{f.CIK, f.Accession})
	}
	return n
}

// ReportForms are the forms that state figures.
var ReportForms = []string{"10-K", "10-K/A", "10-KT", "10-KT/A", "10-Q", "10-Q/A", "20-F", "20-F/A", "40-F", "40-F/A"}

// AwaitedFrom is the first filing date of the reports whose figures may still come.
func AwaitedFrom(now time.Time) time.Time { return now.Add(-awaitReport) }

// LackFigures lists the companies whose figures must be requested: companies that were never asked, and companies with a report that has no
// figures yet. The parameter asked has the time of the last request about each, awaited the filing time of the newest report without
// figures.
func LackFigures(known Known, asked, awaited map[equity.CIK]time.Time, now time.Time) []equity.CIK {
	var ids []equity.CIK
	for id := range known {
		last, ok := asked[id]
		filed, waits := awaited[id]
		if !ok || waits && (filed.After(now.Add(-newReport)) || last.Before(now.Add(-awaitAgainIn))) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}
