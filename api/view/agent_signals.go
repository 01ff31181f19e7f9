package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"tidemark/internal/postgres"
)

// AgentSignal is the answer to an agent about a signal: its snapshot, links to the evidence for its numbers, and what the transparency log says
// of the bytes behind it.
type AgentSignal struct {
	SignalSnapshot
	// Evidence is null for a snapshot without an observation.
	Evidence *EvidenceLinks `json:"evidence"`
	// Proofs has an entry for each input that the provenance names, in its order.
	Proofs []BodyProof `json:"proofs"`
}

// EvidenceLinks lead from a snapshot's numbers to the observations behind them.
type EvidenceLinks struct {
	// PageURL is the page about the day of the observation. It shows the newest snapshot about that day.
	PageURL string `json:"page_url"`
	// URL is the evidence of this snapshot as JSON: the formula with its numbers, each observation, and its archived body.
	URL string `json:"url"`
	// ChangesURL explains why the numbers differ from the snapshot before.
	ChangesURL string `json:"changes_url"`
}

// BodyProof leads from an archived body to its bytes, and to its leaf in the transparency log.
type BodyProof struct {
	Source string `json:"source"`
	SHA256 string `json:"sha256"`
	// RawURL is where the bytes are, if the publisher's license lets us pass them on.
	RawURL string `json:"raw_url"`
	// LogIndex is the number of its leaf in the log of sources, ProofURL the file that proves it offline. Both are null while no signed size
	// of the log has it, and in lists while the database is unavailable.
	LogIndex *int64  `json:"log_index"`
	ProofURL *string `json:"proof_url"`
}

// AgentSignal returns the newest snapshot of a signal with its proofs, or the snapshot of an instant. It returns nil if none existed. The error is
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
	out.Evidence = v.evidenceLinks(out.SignalSnapshot)
	var err error
	out.Proofs, err = v.bodyProofs(ctx, out.Provenance.Inputs)
	return out, err
}

// bodyProofs returns an entry for each input, in their order. With an error, the entries say nothing of the log.
func (v *View) bodyProofs(ctx context.Context, inputs []ProvenanceInput) ([]BodyProof, error) {
	out := make([]BodyProof, len(inputs))
	sums := make([]string, len(inputs))
	for i, in := range inputs {
		sums[i], out[i] = in.SHA256, BodyProof{Source: in.Source, SHA256: in.SHA256, RawURL: v.rawURL(in.SHA256)}
	}
	if len(inputs) == 0 {
		return out, nil
	}
	var logged map[string]int64
	err := v.acquireQuery(ctx, func(ctx context.Context) (err error) {
		logged, err = v.o.Store.LoggedBodies(ctx, sums)
		return err
	})
	for i := range out {
		if index, ok := logged[out[i].SHA256]; ok {
			out[i].LogIndex, out[i].ProofURL = &index, new(v.sourceProofURL(index))
		}
	}
	return out, err
}

// AgentCatalog is the answer to an agent about all live signals.
type AgentCatalog struct {
	Product     string               `json:"product"`
	Count       int                  `json:"count"`
	Signals     []AgentCatalogSignal `json:"signals"`
	Environment string               `json:"environment"`
	Disclaimer  string               `json:"disclaimer"`
}

// AgentCatalogSignal is a signal of the catalog with what the transparency log says of the newest body behind it.
type AgentCatalogSignal struct {
	SignalCatalogEntry
	// Proof is null for a signal without archived bodies.
	Proof *BodyProof `json:"proof"`
}

// AgentCatalog returns the catalog of a state with proofs. While the database is unavailable, the proofs say nothing of the log.
func (v *View) AgentCatalog(ctx context.Context, st *State) (AgentCatalog, error) {
	var list SignalCatalog
	if err := json.Unmarshal(st.Catalog.Identity.Body, &list); err != nil {
		return AgentCatalog{}, fmt.Errorf("read the catalog: %w", err)
	}
	out := AgentCatalog{Product: list.Product, Count: list.Count, Signals: make([]AgentCatalogSignal, len(list.Signals)), Environment: list.Environment, Disclaimer: list.Disclaimer}
	var newest []ProvenanceInput
	var of []int
	for i, entry := range list.Signals {
		out.Signals[i].SignalCatalogEntry = entry
		if s := st.Signal(entry.ID); s != nil && len(s.Snapshot.Provenance.Inputs) > 0 {
			newest, of = append(newest, s.Snapshot.Provenance.Inputs[0]), append(of, i)
		}
	}
	proofs, err := v.bodyProofs(ctx, newest)
	if err != nil && !IsUnavailable(err) {
		return out, err
	}
	for k, i := range of {
		out.Signals[i].Proof = &proofs[k]
	}
	return out, nil
}

// evidenceLinks returns where the evidence of a snapshot is, nil if it has no observation.
func (v *View) evidenceLinks(s SignalSnapshot) *EvidenceLinks {
	if s.ObservedAt == nil || s.AsOf == nil {
		return nil
	}
	at, path := url.QueryEscape(s.AsOf.UTC().Format(time.RFC3339Nano)), v.o.PublicURL+"/api/signals/"+s.ID
	return &EvidenceLinks{
		PageURL: v.o.PublicURL + "/evidence/" + s.ID + "/" + s.ObservedAt.UTC().Format(time.DateOnly),
		URL:     path + "/evidence?as_of=" + at, ChangesURL: path + "/changes?to=" + at,
	}
}

// AgentHistory is the answer to an agent about a signal's history. uncertainty_bounds and uncertainty_basis are of all rows that have an
// interval, so no row repeats them.
type AgentHistory struct {
	listingHead
	Data []AgentHistoryPoint `json:"data"`
	listingTail
	// Evidence and Proofs are those of the snapshot for the instant of the list, as get_signal has them.
	Evidence *EvidenceLinks `json:"evidence"`
	Proofs   []BodyProof    `json:"proofs"`
}

// AgentHistoryPoint is a SignalHistoryPoint without what the head says of all.
type AgentHistoryPoint struct{ pointNumbers }

// AgentHistory returns a history with rows for agents, and with the proofs of the snapshot for its instant (zero: now). While the database is
// unavailable, the proofs say nothing of the log.
func (v *View) AgentHistory(ctx context.Context, s *Signal, asOf time.Time, h SignalHistory) (AgentHistory, error) {
	out := AgentHistory{listingHead: h.listingHead, Data: make([]AgentHistoryPoint, len(h.Data)), listingTail: h.listingTail, Proofs: []BodyProof{}}
	for i, p := range h.Data {
		out.Data[i] = AgentHistoryPoint{p.pointNumbers}
	}
	then, err := v.AgentSignal(ctx, s, asOf)
	if err != nil && !IsUnavailable(err) {
		return out, err
	}
	if then != nil {
		out.Evidence, out.Proofs = then.Evidence, then.Proofs
	}
	return out, nil
}

// AgentForecasts is the answer to an agent about a signal's forecasts.
type AgentForecasts struct {
	Forecasts
	// ScorecardURL is where the forecasts so far are judged.
	ScorecardURL string `json:"scorecard_url"`
}

// newestForecasts is how many of the newest forecasts of a signal have each figure's newest among them: a signal has few figures, and each is
// forecast at every release.
const newestForecasts = 24

// AgentForecasts returns the forecasts of a signal for a period, one per figure, or without a period the newest of each figure. The list
// is empty if none exists.
func (v *View) AgentForecasts(ctx context.Context, s *Signal, period string) (AgentForecasts, error) {
	most := newestForecasts
	if period != "" {
		most = 0
	}
	list, err := v.forecasts(ctx, s, 0, most)
	if err != nil {
		return AgentForecasts{}, err
	}
	out := AgentForecasts{Forecasts: v.forecastList(s), ScorecardURL: v.o.PublicURL + "/api/signals/" + s.Definition.ID + "/scorecard"}
	there := map[string]bool{}
	for _, f := range list {
		if (period == "" || f.Period == period) && !there[f.Figure] {
			there[f.Figure] = true
			out.Data = append(out.Data, v.newForecast(f))
		}
	}
	return out, nil
}

// rawURL returns the URL of an archived body.
func (v *View) rawURL(sha256 string) string { return v.o.PublicURL + RawAddress(sha256) }

// sourceProofURL returns the URL of the proof of a leaf of the log of sources.
func (v *View) sourceProofURL(index int64) string {
	return v.o.PublicURL + "/log/sources/proof/" + strconv.FormatInt(index, 10) + ".tlog-proof"
}

// IsUnavailable reports whether an error means that the database is unavailable at the moment.
func IsUnavailable(err error) bool { return errors.Is(err, postgres.ErrUnavailable) }

// IsNotFound reports whether an error means that the requested snapshot does not exist.
func IsNotFound(err error) bool { return errors.Is(err, postgres.ErrNotFound) }

// IsTooMany reports whether an error means that a request would read too much.
func IsTooMany(err error) bool { return errors.Is(err, postgres.ErrTooMany) }
