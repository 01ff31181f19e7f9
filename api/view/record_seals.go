package view

import (
	"context"
	"strings"
	"time"

	"tidemark/chain"
	"tidemark/chain/tlog"
)

// RecordSeals says what became of the sealed picks. A reveal that did not come, or not as it was sealed, is a failure of its day that
// stays here.
type RecordSeals struct {
	// Since is the first day with a seal; null while no pick was sealed.
	Since *string `json:"since"`
	// Days is how many days have a seal.
	Days int `json:"days"`
	// Open are the seals whose reveal is not due yet.
	Open []PickSeal `json:"open"`
	// Faults are the days that failed.
	Faults []PickSeal `json:"faults"`
}

// PickSeal is the sealed pick of a day: a salted commitment in the transparency log, and its reveal.
type PickSeal struct {
	Date string `json:"date"`
	// Commitment is SHA-256 of "tidemark/seal/v1", a line feed, the salt and the preimage. It, Method and the two times are null if the
	// day has no seal.
	Commitment *string `json:"commitment"`
	// Method is the method that made the pick, and the version of its code.
	Method   *string    `json:"method"`
	SealedAt *time.Time `json:"sealed_at"`
	// RevealBy is the end of the time for the reveal.
	RevealBy *time.Time `json:"reveal_by"`
	// LogIndex is the number of the seal's leaf, ProofURL the file that proves it offline.
	LogIndex *int64  `json:"log_index"`
	ProofURL *string `json:"proof_url"`
	// TimestampURL is the time stamp (RFC 3161) of the checkpoint in that proof; null without one.
	TimestampURL *string `json:"timestamp_url"`
	// RevealIndex is the number of the reveal's leaf. It, RevealProofURL and RevealedAt are null while the log has no reveal.
	RevealIndex    *int64     `json:"reveal_index"`
	RevealProofURL *string    `json:"reveal_proof_url"`
	RevealedAt     *time.Time `json:"revealed_at"`
	// Fault is null if nothing is wrong. Its values are missing (the reveal did not come in time), late, wrong (it opens no seal, or shows
	// another pick than the announced one), doubled (two seals or two reveals) and unsealed (a pick without a seal before it).
	Fault *string `json:"fault"`
	// Text says in a sentence what is wrong; null if nothing is.
	Text *string `json:"text"`
	// Contradicts reports that signed leaves of the log prove the fault: the verdict is contradicted. A late reveal contradicts nothing.
	Contradicts bool `json:"contradicts"`
}

// The values of PickSeal.Fault.
const (
	SealMissing = string(tlog.SealMissing)
	SealLate    = string(tlog.SealLate)
	SealWrong   = string(tlog.SealWrong)
	SealDoubled = string(tlog.SealDoubled)
	SealAbsent  = string(tlog.SealAbsent)
)

func (st *RecordState) newPickSeal(d tlog.SealedDay) PickSeal {
	publicURL := st.o.PublicURL
	s := PickSeal{Date: d.Date, Contradicts: d.Contradicts}
	if d.SealIndex >= 0 {
		s.Commitment, s.Method, s.SealedAt, s.RevealBy, s.LogIndex = &d.Commitment, &d.Method, &d.SealedAt, &d.RevealBy, &d.SealIndex
		s.ProofURL = proofURL(publicURL, s.LogIndex)
		if st.stamped[d.SealIndex] {
			s.TimestampURL = new(strings.TrimSuffix(*s.ProofURL, ".tlog-proof") + ".tsr")
		}
	}
	if d.RevealIndex >= 0 {
		s.RevealedAt, s.RevealIndex = &d.RevealedAt, &d.RevealIndex
		s.RevealProofURL = proofURL(publicURL, s.RevealIndex)
	}
	if d.Fault != "" {
		s.Fault, s.Text = new(string(d.Fault)), new(d.Text())
	}
	return s
}

// check is the outcome of the check of one day.
func (s *PickSeal) check() string {
	switch {
	case s == nil:
		return CheckNone
	case s.Fault != nil:
		return CheckFailed
	case s.RevealIndex == nil:
		return CheckPending
	}
	return CheckOK
}

// seals summarizes the sealed days.
func (st *RecordState) seals() RecordSeals {
	out := RecordSeals{Open: []PickSeal{}, Faults: []PickSeal{}}
	for _, d := range st.sealed {
		s := st.newPickSeal(d)
		if s.LogIndex != nil {
			if out.Days++; out.Since == nil {
				out.Since = &s.Date
			}
		}
		switch s.check() {
		case CheckPending:
			out.Open = append(out.Open, s)
		case CheckFailed:
			out.Faults = append(out.Faults, s)
		}
	}
	return out
}

// checkSeals is the outcome of the check of all days.
func (st *RecordState) checkSeals() string {
	s := st.seals()
	switch {
	case len(s.Faults) > 0:
		return CheckFailed
	case len(s.Open) > 0:
		return CheckPending
	case s.Days > 0:
		return CheckOK
	}
	return CheckNone
}

// Seal returns the sealed pick of a day, nil if the day has none.
func (st *RecordState) Seal(date string) *PickSeal {
	for _, d := range st.sealed {
		if d.Date == date {
			return new(st.newPickSeal(d))
		}
	}
	return nil
}

// SealFault says in a sentence how the sealed pick of a day failed, empty for nothing. It tells no more than the log does.
func (st *RecordState) SealFault(date string) string {
	if s := st.Seal(date); s != nil && s.Text != nil {
		return *s.Text
	}
	return ""
}

// SealFaults are the sentences of all days that failed.
func (st *RecordState) SealFaults() (list []string) {
	for _, s := range st.seals().Faults {
		list = append(list, *s.Text)
	}
	return list
}

// isOverdue reports whether the time of a reveal that was open ended before an instant.
func (st *RecordState) isOverdue(now time.Time) bool {
	for _, d := range st.sealed {
		if d.Fault == "" && d.RevealIndex < 0 && now.After(d.RevealBy) {
			return true
		}
	}
	return false
}

// verdictWithSeal holds a verdict on a pick to its seal: a day that failed is never witnessed.
func verdictWithSeal(v chain.Verdict, s *PickSeal) chain.Verdict {
	switch {
	case s != nil && s.Contradicts:
		return chain.Contradicted
	case s != nil && s.Fault != nil && v == chain.Witnessed:
		return chain.SelfConsistent
	}
	return v
}

// readSeals reads the leaves of the log about seals: all if full is set, otherwise only the new ones.
func (r *Record) readSeals(ctx context.Context, st *RecordState, full bool) error {
	if full {
		r.sealed, r.sealedTo = tlog.SealedDays{}, 0
	}
	next, err := r.o.Store.LoggedSeals(ctx, r.sealedTo, func(index int64, text []byte) {
		if l, err := tlog.ParseLeaf(text); err == nil {
			r.sealed.Add(index, l)
		}
	})
	if err != nil {
		r.sealedTo = 0 // some leaves may be counted: the next read starts over
		r.sealed = tlog.SealedDays{}
		return err
	}
	r.sealedTo = next
	st.sealed = r.sealed.Days(st.verifiedAt)
	var leaves []int64
	for _, d := range st.sealed {
		if d.SealIndex >= 0 {
			leaves = append(leaves, d.SealIndex)
		}
	}
	stamped, err := r.o.Store.StampedLeaves(ctx, leaves)
	if err != nil {
		return err
	}
	st.stamped = make(map[int64]bool, len(stamped))
	for _, index := range stamped {
		st.stamped[index] = true
	}
	return nil
}
