package view

import (
	"context"
	"errors"
	"strconv"
	"time"

	"tidemark/internal/postgres"
)

// AgentSignal is what an agent gets about a signal: its snapshot, and what the transparency log says of the bytes behind it.
type AgentSignal struct {
	SignalSnapshot
	// Proofs has an entry for each input that the provenance names, in its order.
	Proofs []BodyProof `json:"proofs"`
}

// BodyProof leads from an archived body to its leaf in the transparency log.
type BodyProof struct {
	Source string `json:"source"`
	SHA256 string `json:"sha256"`
	// LogIndex is the number of its leaf in the log of sources, ProofURL the file that proves it offline. Both are null while no signed size
	// of the log has it.
	LogIndex *int64  `json:"log_index"`
	ProofURL *string `json:"proof_url"`
}

// AgentSignal returns the newest snapshot of a signal with its proofs, or that of an instant. It returns nil if there was none. The error is
// postgres.ErrUnavailable if the database is unavailable.
func (v *View) AgentSignal(ctx context.Context, s *Signal, asOf time.Time) (*AgentSignal, error) {
	out := &AgentSignal{SignalSnapshot: s.Snapshot, Proofs: []BodyProof{}}
	if !asOf.IsZero() {
		then, err := v.SnapshotAsOf(ctx, s, asOf)
		if err != nil || then == nil {
			return nil, err
		}
		out.SignalSnapshot = *then
	}
	inputs := out.Provenance.Inputs
	if len(inputs) == 0 {
		return out, nil
	}
	sums := make([]string, len(inputs))
	for i, in := range inputs {
		sums[i] = in.SHA256
	}
	var logged map[string]int64
	err := v.acquireQuery(ctx, func(ctx context.Context) (err error) {
		logged, err = v.o.Store.LoggedBodies(ctx, sums)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		p := BodyProof{Source: in.Source, SHA256: in.SHA256}
		if index, ok := logged[in.SHA256]; ok {
			p.LogIndex, p.ProofURL = &index, new(v.sourceProofURL(index))
		}
		out.Proofs = append(out.Proofs, p)
	}
	return out, nil
}

// sourceProofURL returns the URL of the proof of a leaf of the log of sources.
func (v *View) sourceProofURL(index int64) string {
	return v.o.PublicURL + "/log/sources/proof/" + strconv.FormatInt(index, 10) + ".tlog-proof"
}

// IsUnavailable reports whether an error means that the database is unavailable at the moment.
func IsUnavailable(err error) bool { return errors.Is(err, postgres.ErrUnavailable) }
