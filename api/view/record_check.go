package view

import (
	"time"

	"tidemark/chain"
	"tidemark/internal/calendar"
)

// The outcomes of a check of the record.
const (
	CheckOK        = "ok"
	CheckFailed    = "failed"
	CheckPending   = "pending"    // valid so far, but something is still outstanding
	CheckLocalOnly = "local_only" // the ledger exists only on this server
	CheckNone      = "none"       // there is nothing to check
)

// RecordChecks are the checks of the whole chain.
type RecordChecks struct {
	Hashes       string `json:"hashes"`
	Links        string `json:"links"`
	Git          string `json:"git"`
	Attestations string `json:"attestations"`
	BusinessDays string `json:"business_days"`
	// Seals says whether each sealed pick was revealed in time, and as it was sealed.
	Seals string `json:"seals"`
}

// verified is the result of recomputing the chain.
type verified struct {
	// head is the checkpoint of the links before the first invalid one.
	head chain.Checkpoint
	// invalid is the number of the first invalid link, or 0.
	invalid       int64
	hashes, links string
}

// judge checks each link of an invalid chain separately, to find out whether hashes or links are wrong.
func (v *verified) judge(links []link) {
	v.hashes, v.links = CheckOK, CheckOK
	if v.invalid == 0 {
		return
	}
	before := chain.Link{Hash: chain.Genesis}
	for i := range links {
		l := links[i].Link
		if chain.Check(l) != nil {
			v.hashes = CheckFailed
		}
		if l.Seq != before.Seq+1 || l.PreviousHash != before.Hash || l.Date <= before.Date {
			v.links = CheckFailed
		}
		before = l
	}
}

// businessDays checks that every trading day since the first pick has a pick or a recorded gap, and that all gaps are on such days. The
// newest completed day is pending until the next trading day is over, because the next day's work records the gap.
func businessDays(links []link, gaps []chain.Gap, now time.Time) string {
	today := calendar.DayOf(now)
	missed := make(map[string]bool, len(gaps))
	for _, g := range gaps {
		day, err := time.Parse(time.DateOnly, g.Date)
		if err != nil || !calendar.IsTradingDay(day) || day.After(today) || missed[g.Date] {
			return CheckFailed
		}
		missed[g.Date] = true
	}
	var last time.Time
	for i := range links {
		day, err := time.Parse(time.DateOnly, links[i].Date)
		if err != nil || !calendar.IsTradingDay(day) || day.After(today) || missed[links[i].Date] {
			return CheckFailed
		}
		if i > 0 {
			for _, skipped := range calendar.Between(last.AddDate(0, 0, 1), day.AddDate(0, 0, -1)) {
				if !missed[skipped.Format(time.DateOnly)] {
					return CheckFailed
				}
			}
		}
		last = day
	}
	outcome := CheckOK
	if len(links) == 0 {
		return outcome
	}
	for _, day := range calendar.Between(last.AddDate(0, 0, 1), today.AddDate(0, 0, -1)) {
		switch {
		case missed[day.Format(time.DateOnly)]:
		case calendar.Next(day).Before(today):
			return CheckFailed
		default:
			outcome = CheckPending
		}
	}
	return outcome
}
