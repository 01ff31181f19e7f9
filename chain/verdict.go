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

// Ahead is how far the clock of a witness may be ahead of the reader's. A later time is no time: it makes nothing fresh.
const Ahead = 5 * time.Minute

// Judgement is a verdict and what it rests on.
type Judgement struct {
	Verdict Verdict
	// Against has for each witness the reason why it contradicts the chain; empty if it agrees. It has the order of the holdings.
	Against []string
	// Parties is the number of independent parties among the witnesses: an account that attests is one, however often it does. Agreeing
	// is how many of them hold the same and are fresh.
	Agreeing, Parties int
	// Covered is the greatest length that a fresh agreeing witness holds, Held the greatest that any agreeing one holds.
	Covered, Held int64
	// Newest is the latest time of an agreeing witness, zero without one.
	Newest time.Time
}

// Judge compares a recomputed chain with the holdings of witnesses. attester is the account that the reader expects; empty for any. A
// chain is witnessed if no witness disagrees, and every pick that no fresh agreeing witness holds is at most FreshFor old.
func Judge(chain Recomputed, holdings []Holding, attester string, now time.Time) Judgement {
	j := Judgement{Verdict: SelfConsistent, Against: make([]string, len(holdings))}
	type state struct{ fresh, against bool }
	parties := map[string]state{}
	for i, h := range holdings {
		party := parties[h.party()]
		is, ok := chain.At(h.Length)
		if j.Against[i] = h.against(is, ok, chain.Length, attester); j.Against[i] != "" {
			party.against = true
			parties[h.party()] = party
			continue
		}
		at := h.At
		if at.IsZero() {
			at = lastOf(is.Date, now)
		}
		j.Held = max(j.Held, h.Length)
		if !at.After(now.Add(Ahead)) && at.After(j.Newest) {
			j.Newest = at
		}
		if isFresh(at, now) {
			party.fresh = true
			j.Covered = max(j.Covered, h.Length)
		}
		parties[h.party()] = party
	}
	contradicted := chain.Faulty
	for _, p := range parties {
		j.Parties++
		if p.fresh && !p.against {
			j.Agreeing++
		}
		contradicted = contradicted || p.against
	}
	switch {
	case contradicted:
		j.Verdict = Contradicted
	case j.Covered > 0 && chain.isRecent(j.Covered+1, now) && chain.isRecent(chain.Length, now):
		j.Verdict = Witnessed
	case j.Covered > 0 && j.Covered == chain.Length:
		j.Verdict = Witnessed
	}
	return j
}

// isRecent reports whether the pick of a number exists and is not too old to be without a witness.
func (r Recomputed) isRecent(seq int64, now time.Time) bool {
	c, ok := r.At(seq)
	return ok && isFresh(lastOf(c.Date, now), now)
}

// isFresh reports whether something of that time counts for the present.
func isFresh(at, now time.Time) bool {
	return !at.Before(now.Add(-FreshFor)) && !at.After(now.Add(Ahead))
}

// party is who stands behind a holding: the account that attested, or else the witness itself.
func (h Holding) party() string {
	if h.Attester != "" {
		return strings.ToLower(h.Attester)
	}
	return h.Witness
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

// lastOf is the last second of a day, YYYY-MM-DD, in UTC. While the day lasts, it is now.
func lastOf(day string, now time.Time) time.Time {
	begin, err := time.Parse(time.DateOnly, day)
	end := begin.Add(24*time.Hour - time.Second)
	switch {
	case err != nil:
		return time.Time{}
	case end.After(now) && !begin.After(now):
		return now
	}
	return end
}
