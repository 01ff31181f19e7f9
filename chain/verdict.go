package chain

import (
	"fmt"
	"strings"
	"time"
)

// Verdict is the outcome of a verification. The page /verify, `tidemark verify`, the API and the MCP server use the same three words.
type Verdict string

const (
	// SelfConsistent says that the chain agrees with itself, and that no fresh witness was asked or covers it.
	SelfConsistent Verdict = "self_consistent"
	// Witnessed says that fresh witnesses hold the same chain, up to the picks of the last FreshFor.
	Witnessed Verdict = "witnessed"
	// Contradicted says that the chain contradicts itself, its server's claims, or a witness.
	Contradicted Verdict = "contradicted"
)

// FreshFor is how long a witness counts for the present: the longest time between two trading days, and a day of delay.
const FreshFor = 120 * time.Hour

// Holding is the copy of a chain's head that one witness holds.
type Holding struct {
	// Witness names who holds it.
	Witness string
	// Checkpoint has at least a length and a head. An empty date is not compared.
	Checkpoint
	// Attester is the account that attested, empty for other witnesses.
	Attester string
	// At is when the witness recorded it. Zero: the end of the day of its newest pick, in UTC.
	At time.Time
}

// Recomputed is a verifier's own recomputation of a chain.
type Recomputed struct {
	// Length is the number of picks that are shown.
	Length int64
	// Faulty reports whether the chain, or its server's claims about it, is wrong.
	Faulty bool
	// At returns the recomputed checkpoint at a length; false if none exists.
	At func(length int64) (Checkpoint, bool)
}

// Judgement is a verdict and what it rests on.
type Judgement struct {
	Verdict Verdict
	// Against has for each witness the reason why it contradicts the chain; empty if it agrees. It has the order of the holdings.
	Against []string
	// Agreeing is the number of witnesses that hold the same.
	Agreeing int
	// Covered is the greatest length that an agreeing witness holds.
	Covered int64
	// Newest is the latest time of an agreeing witness, zero without one.
	Newest time.Time
}

// Judge compares a recomputed chain with the holdings of witnesses. attester is the account that the reader expects; empty for any. A
// chain is witnessed if no witness disagrees, the newest agreeing holding is at most FreshFor old, and every pick without a witness is
// also at most FreshFor old.
func Judge(chain Recomputed, holdings []Holding, attester string, now time.Time) Judgement {
	j := Judgement{Verdict: SelfConsistent, Against: make([]string, len(holdings))}
	for i, h := range holdings {
		is, ok := chain.At(h.Length)
		if j.Against[i] = h.against(is, ok, chain.Length, attester); j.Against[i] != "" {
			continue
		}
		j.Agreeing++
		j.Covered = max(j.Covered, h.Length)
		at := h.At
		if at.IsZero() {
			at = endOf(is.Date)
		}
		if at.After(j.Newest) {
			j.Newest = at
		}
	}
	oldest := now.Add(-FreshFor)
	switch {
	case chain.Faulty || j.Agreeing < len(holdings):
		j.Verdict = Contradicted
	case j.Covered == 0 || j.Newest.Before(oldest):
	case j.Covered == chain.Length:
		j.Verdict = Witnessed
	default:
		if next, ok := chain.At(j.Covered + 1); ok && !endOf(next.Date).Before(oldest) {
			j.Verdict = Witnessed
		}
	}
	return j
}

// against says why a witness contradicts a chain whose recomputed checkpoint at that length is given.
func (h Holding) against(is Checkpoint, ok bool, length int64, attester string) string {
	switch {
	case attester != "" && h.Attester != "" && !strings.EqualFold(attester, h.Attester):
		return fmt.Sprintf("it is by %s, and you expect %s", h.Attester, attester)
	case !ok:
		return fmt.Sprintf("it holds %d picks, and the server shows %d", h.Length, length)
	case h.Head != is.Head:
		return fmt.Sprintf("after %d picks it holds %s, and the chain has %s", h.Length, h.Head, is.Head)
	case h.Date != "" && h.Date != is.Date:
		return fmt.Sprintf("it dates pick %d %s, and the chain %s", h.Length, h.Date, is.Date)
	}
	return ""
}

// endOf is the last second of a day, YYYY-MM-DD, in UTC.
func endOf(day string) time.Time {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return time.Time{}
	}
	return t.Add(24*time.Hour - time.Second)
}
