package view

import (
	"fmt"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/internal/postgres"
)

// Judged says who reached this server's verdict. The rules are those of every verifier (chain.Judge); the policy is the operator's.
type Judged struct {
	// Text says in a sentence who was counted.
	Text string `json:"text"`
	// Parties is the number of parties that were asked, Agreeing how many of them hold the same and are fresh.
	Agreeing int `json:"agreeing"`
	Parties  int `json:"parties"`
	// Covered is the number of picks that fresh agreeing parties hold.
	Covered int64 `json:"covered"`
	// Quorum reports whether a quorum of the operator's policy cosigned the log in the last 26 hours; null if the policy has no witness.
	Quorum *bool `json:"quorum"`
	// Witnesses are the parties: witnesses of the log, the account that attests, and the remote of the git ledger.
	Witnesses []JudgedWitness `json:"witnesses"`
}

// JudgedWitness is one party, and the longest chain that it holds.
type JudgedWitness struct {
	Name string `json:"name"`
	// Kind is log, attestation or ledger.
	Kind string `json:"kind"`
	// Length is the number of picks that it holds, 0 if it holds none.
	Length int64 `json:"length"`
	// At is when it recorded that; null if it did not.
	At *time.Time `json:"at"`
	// Against says why it contradicts the chain; null if it does not.
	Against *string `json:"against"`
}

// The values of JudgedWitness.Kind.
const (
	judgedLog         = "log"
	judgedAttestation = "attestation"
	judgedLedger      = "ledger"
)

// judge reaches this server's verdict on the whole record.
func (st *RecordState) judge() {
	holdings := st.holdings()
	log := st.held.log()
	if log != nil && log.Read {
		for log.Newest = 0; log.Newest < int64(len(st.links)); log.Newest++ {
			if _, ok := st.logged[log.Newest+1]; !ok {
				break
			}
		}
		log.Lacks = len(st.held.notes.Missing(st.gaps, st.corrections)) > 0
	}
	clock := st.o.Clock().UTC()
	j := chain.Judge(chain.Recomputed{
		Length: int64(len(st.links)), Faulty: !st.Valid() || st.checks.BusinessDays == CheckFailed || st.ledgerContradicts(),
		At: func(length int64) (chain.Checkpoint, bool) {
			if length < 1 || length > int64(len(st.links)) {
				return chain.Checkpoint{}, false
			}
			l := st.links[length-1]
			return chain.Checkpoint{Length: length, Head: l.Hash, Date: l.Date}, true
		},
	}, holdings, chain.Reader{Now: st.verifiedAt, Clock: clock, Log: log})
	st.judgement = j
	if st.verdict = j.Verdict; st.sealsContradict() {
		st.verdict = chain.Contradicted
	}
	st.judged = Judged{Agreeing: j.Agreeing, Parties: j.Parties, Covered: j.Covered, Witnesses: []JudgedWitness{}}
	if st.held.policy != nil && st.held.policy.AsksWitnesses() {
		st.judged.Quorum = &j.Quorum
	}
	st.addParties(holdings, j)
	st.addCosigners(log, j)
	st.judged.Text = st.judgedText(j)
}

// ledgerContradicts reports whether the git ledger has another history than the database.
func (st *RecordState) ledgerContradicts() bool {
	switch st.ledger.Status {
	case postgres.LedgerDiverged, postgres.LedgerConflict, postgres.LedgerDamaged:
		return true
	}
	return false
}

func (st *RecordState) sealsContradict() bool {
	for _, d := range st.sealed {
		if d.Contradicts {
			return true
		}
	}
	return false
}

// holdings lists the heads that the attestations and the ledger's remote hold. An attestation that is not confirmed is compared, and never
// fresh. A ledger that exists only on this server does not count as a party.
func (st *RecordState) holdings() (list []chain.Holding) {
	for _, a := range st.attestations {
		h := chain.Holding{
			Witness: judgedAttestation, Checkpoint: chain.Checkpoint{Length: a.Length, Head: a.Subject, Date: a.Date}, Attester: a.Attester.Attester,
			At: time.Unix(1, 0).UTC(),
		}
		if a.Mined != nil && a.Status() == postgres.AttestationConfirmed {
			h.At = a.Mined.BlockTime.UTC()
		}
		list = append(list, h)
	}
	if st.ledger.Status != postgres.LedgerPushed || st.Repository() == "" {
		return list
	}
	var length int64
	for _, c := range st.commits {
		if c.Seq != nil {
			length = max(length, *c.Seq)
		}
		if c.Commit == st.ledger.Pushed {
			break
		}
	}
	if length >= 1 && length <= int64(len(st.links)) {
		l := st.links[length-1]
		list = append(list, chain.Holding{Witness: judgedLedger, Checkpoint: chain.Checkpoint{Length: length, Head: l.Hash, Date: l.Date}})
	}
	return list
}

// addParties adds the accounts that attest and the ledger's remote: each once, with the longest chain that it holds, or with why it contradicts.
func (st *RecordState) addParties(holdings []chain.Holding, j chain.Judgement) {
	at := map[string]int{}
	for i, h := range holdings {
		w := JudgedWitness{Name: h.Attester, Kind: judgedAttestation, Length: h.Length}
		if h.Attester == "" {
			w.Name, w.Kind = st.Repository(), judgedLedger
		}
		if h.At.Unix() > 1 {
			w.At = new(h.At)
		}
		if j.Against[i] != "" {
			w.Against = &j.Against[i]
		}
		party := strings.ToLower(w.Name)
		k, known := at[party]
		if !known {
			at[party] = len(st.judged.Witnesses)
			st.judged.Witnesses = append(st.judged.Witnesses, w)
			continue
		}
		if old := st.judged.Witnesses[k]; old.Against == nil && (w.Against != nil || w.At != nil && w.Length >= old.Length) {
			st.judged.Witnesses[k] = w
		}
	}
}

func (st *RecordState) addCosigners(log *chain.Log, j chain.Judgement) {
	if log == nil {
		return
	}
	for _, c := range log.Cosigners {
		w := JudgedWitness{Name: c.Name, Kind: judgedLog}
		if !c.At.IsZero() {
			w.Length, w.At = int64(len(log.Hashes)), new(c.At.UTC())
			if j.LogAgainst != "" {
				w.Against = &j.LogAgainst
			}
		}
		st.judged.Witnesses = append(st.judged.Witnesses, w)
	}
}

// judgedText says who was counted.
func (st *RecordState) judgedText(j chain.Judgement) string {
	const here = " This is the server's own word; ask the witnesses yourself."
	switch {
	case st.verdict == chain.Contradicted:
		return "The chain contradicts itself, the calendar, its seals, or what a party holds." + here
	case st.held.misfit != "":
		return "Nothing is witnessed: " + st.held.misfit + "." + here
	case j.Parties == 0:
		return "Only this server speaks for itself: no witness is configured." + here
	case st.verdict == chain.Witnessed:
		return fmt.Sprintf("%d of %d parties hold the same, up to pick %d.", j.Agreeing, j.Parties, j.Covered) + here
	case j.Unlogged > 0 && !j.Missing():
		return fmt.Sprintf("%d of %d parties hold the same, and pick %d is not in the log yet.", j.Agreeing, j.Parties, j.Unlogged) + here
	case j.Lacks && !j.Missing():
		return fmt.Sprintf("%d of %d parties hold the same, and a day without a pick, or a correction, is not in the log yet.", j.Agreeing, j.Parties) + here
	case j.Missing():
		return fmt.Sprintf("%d of %d parties hold the same, and no quorum of the operator's policy cosigned the log in the last 26 hours.", j.Agreeing, j.Parties) + here
	}
	return fmt.Sprintf("%d of %d parties hold the same and are new enough, up to pick %d.", j.Agreeing, j.Parties, j.Covered) + here
}

// verdictOn returns this server's verdict on a pick: the rules for the whole chain, but a pick that no fresh party holds yet is not witnessed.
func (st *RecordState) verdictOn(v *VerifiedPick) chain.Verdict {
	if !v.Valid {
		return chain.Contradicted
	}
	return verdictWithSeal(st.judgement.Of(v.Pick.Seq), v.Seal)
}
