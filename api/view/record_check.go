package view

import (
	"time"

	"tidemark/chain"
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

// businessDays compares the picks and the recorded gaps with the exchange's calendar: see chain.Days. The newest completed day is pending until
// the next trading day is over, because the next day's work records the gap.
func businessDays(links []link, gaps []chain.Gap, now time.Time) string {
	var days chain.Days
	for i := range links {
		days.Add(links[i].Seq, links[i].Date)
	}
	switch fault, waiting := days.Compare(gaps, now); {
	case fault != "":
		return CheckFailed
	case waiting != "":
		return CheckPending
	}
	return CheckOK
}
