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
	// Named reports whether the server alone names whom to ask, such as a node of the L2. Then it is no party and covers nothing. If it holds
	// something else, it contradicts the chain like any other.
	Named bool
	// Kept reports whether it is a checkpoint that the reader kept. If it is the head that is shown now, it can be a copy of it: then it is no
	// party and covers nothing.
	Kept bool
}

// Counts reports whether it is a party. against is the reason why it contradicts the chain, empty if it agrees.
func (h Holding) Counts(chain Recomputed, against string) bool {
	return !h.Named && (!h.Kept || h.Length != chain.Length || against != "")
}

// QuorumFresh is how long the cosignatures of a log count for the present: without news a size is cosigned again once a day.
const QuorumFresh = 26 * time.Hour

// Log is the holding of a transparency log's witnesses: the picks among the leaves of one checkpoint.
type Log struct {
	// Hashes are the hashes of the picks among the leaves, in their order.
	Hashes []string
	// Fault describes a fault of the picks among the leaves; empty if they have none.
	Fault string
	// Read reports whether the leaves were read and match the signed ones. Newest is then the number of picks among the leaves of the
	// newest signed size, which may be larger than the cosigned one.
	Read   bool
	Newest int64
	// Lacks reports whether a day without a pick, or a correction, is shown that is not among the leaves of the newest signed size.
	Lacks bool
	// Cosigners are all witnesses of the reader's policy.
	Cosigners []Cosigner
	// Enough reports whether witnesses, by their names, are a quorum of the policy. Nil: no list is.
	Enough func(names []string) bool
	// Required reports whether nothing is witnessed without the quorum. The reader's own policy can ask for it. It is also so if the server names
	// a log that it does not show, or witnesses of its log that did not cosign.
	Required bool
	// Named reports whether the policy is the server's own word. Its witnesses are then no parties, and their quorum covers nothing: a server can
	// name witnesses that it runs.
	Named bool
}

// Cosigner is a witness of a log, by its name in the reader's policy.
type Cosigner struct {
	Name string
	// At is when it cosigned the checkpoint by its clock, zero if it did not.
	At time.Time
}

// Reader is a reader's policy: whom they expect, what they know of the log, and when "fresh" is.
type Reader struct {
	// Attester is the account that must have attested; empty for any.
	Attester string
	// Now is the record's time. Clock is the reader's own and judges the age of cosignatures; zero: Now.
	Now, Clock time.Time
	// Log is nil if no log was read.
	Log *Log
}

// Recomputed is a verifier's own recomputation of a chain.
type Recomputed struct {
	// Length is the number of picks that are shown.
	Length int64
	// Faulty reports whether the chain, or its server's claims about it, is wrong.
	Faulty bool
	// Logged reports whether the server says that it has a transparency log. If no log was read, nothing is witnessed: it hides one.
	Logged bool
	// At returns the recomputed checkpoint at a length; false if none exists.
	At func(length int64) (Checkpoint, bool)
}

// Ahead is how far the clock of a witness may be ahead of the reader's. A later time does not count: it makes nothing fresh.
const Ahead = 5 * time.Minute

// Judgement is a verdict and what it rests on.
type Judgement struct {
	Verdict Verdict
	// Against has for each witness the reason why it contradicts the chain; empty if it agrees. It has the order of the holdings.
	Against []string
	// LogAgainst is the reason why the log contradicts the chain; empty if it does not.
	LogAgainst string
	// Parties is the number of independent parties among the witnesses: an account that attests is one, however often it does, and so
	// is each witness of the log. Agreeing is how many of them hold the same and are fresh.
	Agreeing, Parties int
	// Covered is the greatest length that a fresh agreeing witness holds, Held the greatest that any agreeing one holds.
	Covered, Held int64
	// Newest is the latest time of an agreeing witness, zero without one.
	Newest time.Time
	// Quorum reports whether a fresh quorum of the log's policy holds a part of the chain.
	Quorum bool
	// Unlogged is the number of the first pick that is not among the leaves of a log that was read; 0 if all are. A pick and its leaf are one
	// transaction, so the leaf is signed some seconds after the announcement. Until then the chain as a whole is not witnessed.
	Unlogged int64
	// Lacks reports the same of a day without a pick, or of a correction.
	Lacks bool
	// missing reports whether a log is hidden, or its quorum is required and missing.
	missing bool
}

// Missing reports whether nothing is witnessed because a log is hidden, or because its quorum is required and missing.
func (j Judgement) Missing() bool { return j.missing }

// Of returns the verdict on one pick, by its number. A pick is witnessed only if a fresh agreeing witness holds this very pick.
func (j Judgement) Of(seq int64) Verdict {
	switch {
	case j.Verdict == Contradicted:
		return Contradicted
	case seq <= j.Covered && !j.missing:
		return Witnessed
	}
	return SelfConsistent
}

// Judge compares a recomputed chain with the holdings of witnesses and with a log. A chain is witnessed if three
// things hold. No holding disagrees. Every pick that no fresh agreeing witness holds is at most FreshFor old. Everything shown is in the log, if
// a log was read. The log counts as a fresh witness if a fresh quorum cosigned it.
func Judge(chain Recomputed, holdings []Holding, r Reader) Judgement {
	j := Judgement{Verdict: SelfConsistent, Against: make([]string, len(holdings))}
	parties, named := map[string]party{}, false
	for i, h := range holdings {
		is, ok := chain.At(h.Length)
		j.Against[i] = h.against(is, ok, chain.Length, r.Attester)
		if !h.Counts(chain, j.Against[i]) {
			named = named || j.Against[i] != ""
			continue
		}
		p := parties[h.party()]
		if j.Against[i] != "" {
			p.against = true
			parties[h.party()] = p
			continue
		}
		at := h.At
		if at.IsZero() {
			at = lastOf(is.Date, r.Now)
		}
		j.hold(h.Length, at, r.Now)
		if isFresh(at, r.Now) {
			p.fresh = true
			j.Covered = max(j.Covered, h.Length)
		}
		parties[h.party()] = p
	}
	j.Quorum = j.readLog(chain, r, parties)
	j.missing = r.Log == nil && chain.Logged || r.Log != nil && r.Log.Required && !j.Quorum
	if r.Log != nil && r.Log.Read && r.Log.Newest < chain.Length {
		j.Unlogged = r.Log.Newest + 1
	}
	j.Lacks = r.Log != nil && r.Log.Read && r.Log.Lacks
	contradicted := chain.Faulty || named || j.LogAgainst != ""
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
	case j.Covered == 0 || j.missing || j.Unlogged > 0 || j.Lacks:
	case j.Covered == chain.Length, chain.isRecent(j.Covered+1, r.Now) && chain.isRecent(chain.Length, r.Now):
		j.Verdict = Witnessed
	}
	return j
}

// party sums up the holdings of one party.
type party struct{ fresh, against bool }

// hold counts an agreeing holding of any age.
func (j *Judgement) hold(length int64, at, now time.Time) {
	j.Held = max(j.Held, length)
	if !at.After(now.Add(Ahead)) && at.After(j.Newest) {
		j.Newest = at
	}
}

// readLog adds the witnesses of the log to the parties, and reports whether a fresh quorum of them holds a part of the chain.
func (j *Judgement) readLog(chain Recomputed, r Reader, parties map[string]party) bool {
	l := r.Log
	if l == nil {
		return false
	}
	clock := r.Clock
	if clock.IsZero() {
		clock = r.Now
	}
	j.LogAgainst = l.against(chain)
	length := int64(len(l.Hashes))
	var fresh []string
	for _, c := range l.Cosigners {
		var p party
		switch {
		case c.At.IsZero():
		case j.LogAgainst != "":
			p.against = true
		case length > 0:
			if !l.Named {
				j.hold(length, c.At, clock)
			}
			p.fresh = !c.At.Before(clock.Add(-QuorumFresh)) && !c.At.After(clock.Add(Ahead))
		}
		if p.fresh {
			fresh = append(fresh, c.Name)
		}
		if !l.Named {
			parties["cosigner "+c.Name] = p
		}
	}
	if len(fresh) == 0 || l.Enough == nil || !l.Enough(fresh) {
		return false
	}
	if !l.Named {
		j.Covered = max(j.Covered, length)
	}
	return true
}

// against says why the picks of the log contradict the chain, empty if they do not.
func (l *Log) against(chain Recomputed) string {
	if l.Fault != "" {
		return l.Fault
	}
	for i, hash := range l.Hashes {
		switch is, ok := chain.At(int64(i + 1)); {
		case !ok:
			return fmt.Sprintf("the log has %d picks, and the server shows %d", len(l.Hashes), chain.Length)
		case is.Head != hash:
			return fmt.Sprintf("pick %d of the log has the hash %s, and the chain has %s", i+1, hash, is.Head)
		}
	}
	return ""
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

// party names the source of a holding: the account that attested, or else the witness.
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
