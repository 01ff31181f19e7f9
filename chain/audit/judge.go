package audit

import (
	"fmt"
	"time"

	"tidemark/chain"
	"tidemark/chain/gitledger"
)

// Witness is one witness's copy of the chain's head.
type Witness struct {
	Name   string `json:"name"`
	Length int64  `json:"chain_length"`
	Head   string `json:"head_hash"`
	// At is the time at which the witness recorded it; null if unknown.
	At *time.Time `json:"at"`
	// Against says why the witness contradicts the chain. It is empty if the witness agrees.
	Against string `json:"against"`
	// Counts reports whether it is a party. A witness that the server alone names is none, nor is a checkpoint that is the head shown now.
	Counts bool `json:"counts"`
}

// holdings returns the holdings of the witnesses that are compared: all attestations, and a ledger and a checkpoint if the reader named them.
// Attestations by a node that only the server names do not count. A ledger that only the server names is compared elsewhere, and does not count.
func (o Options) holdings(ledger *gitledger.Record, attested *attestations) []chain.Holding {
	var out []chain.Holding
	if attested != nil {
		for _, a := range attested.list {
			out = append(out, chain.Holding{
				Witness: fmt.Sprintf("attestation %.18s", a.UID.Hex()), Checkpoint: a.Statement.Checkpoint(), Attester: a.Attester.Hex(), At: a.Time,
				Named: len(o.RPC) == 0,
			})
		}
	}
	if o.Ledger != "" && ledger != nil && len(ledger.Picks) > 0 {
		p := ledger.Picks[len(ledger.Picks)-1]
		out = append(out, chain.Holding{Witness: "the ledger that you named", Checkpoint: chain.Checkpoint{Length: p.Seq, Head: p.Hash, Date: p.Date}})
	}
	if o.Checkpoint.Length > 0 {
		out = append(out, chain.Holding{Witness: "your checkpoint", Checkpoint: chain.Checkpoint{Length: o.Checkpoint.Length, Head: o.Checkpoint.Head}, Kept: true})
	}
	return out
}

// judge adds the verdict to a report whose checks are complete. logged reports whether the server says that it has a log.
func (r *Report) judge(w *verification, holdings []chain.Holding, logged bool, reader chain.Reader) {
	recomputed := chain.Recomputed{Length: r.Length, Faulty: !r.Verified, Logged: logged, At: func(length int64) (chain.Checkpoint, bool) {
		if c := w.verifier.Checkpoint(); c.Length == length {
			return c, length > 0
		}
		c := w.heads[length]
		return c, c.Length > 0
	}}
	if w.broken != nil {
		// Beyond a link that is wrong nothing was recomputed that a witness could be compared with.
		var known []chain.Holding
		for _, h := range holdings {
			if h.Length <= r.Length {
				known = append(known, h)
			}
		}
		holdings = known
		if l := reader.Log; l != nil && int64(len(l.Hashes)) > r.Length {
			l.Hashes = l.Hashes[:r.Length]
		}
	}
	j := chain.Judge(recomputed, holdings, reader)
	r.Verdict, r.Covered, r.Held, r.Witnesses = j.Verdict, j.Covered, j.Held, make([]Witness, len(holdings), len(holdings)+4)
	r.Agreeing, r.Parties = j.Agreeing, j.Parties
	if j.Verdict == chain.SelfConsistent && j.Missing() {
		r.Unproven = "The server has a log that could not be read, or its quorum did not cosign it lately: nothing is witnessed."
		if reader.Log != nil && reader.Log.Required && !reader.Log.Named {
			r.Unproven = "The quorum of your policy did not cosign the log lately: nothing is witnessed."
		}
	}
	if j.Unlogged > 0 && j.Verdict == chain.SelfConsistent && r.Unproven == "" {
		r.Unproven = fmt.Sprintf("Pick %d is not in the signed log: nothing is witnessed until it is.", j.Unlogged)
	}
	if j.Lacks && j.Verdict == chain.SelfConsistent && r.Unproven == "" {
		r.Unproven = "A day without a pick, or a correction, is not in the signed log: nothing is witnessed until it is."
	}
	r.Verified = r.Verified && j.Verdict != chain.Contradicted
	if !j.Newest.IsZero() {
		r.Newest = &j.Newest
	}
	for i, h := range holdings {
		r.Witnesses[i] = Witness{Name: h.Witness, Length: h.Length, Head: h.Head, Against: j.Against[i], Counts: h.Counts(recomputed, j.Against[i])}
		if !h.At.IsZero() {
			r.Witnesses[i].At = &h.At
		}
	}
	if reader.Log == nil {
		return
	}
	for _, c := range reader.Log.Cosigners {
		name := "the log's witness " + c.Name
		if reader.Log.Named {
			name += ", as the server names it"
		}
		witness := Witness{Name: name, Against: j.LogAgainst, Counts: !reader.Log.Named}
		if n := len(reader.Log.Hashes); !c.At.IsZero() && n > 0 {
			witness.Length, witness.Head, witness.At = int64(n), reader.Log.Hashes[n-1], &c.At
		} else {
			witness.Against = ""
		}
		r.Witnesses = append(r.Witnesses, witness)
	}
}
