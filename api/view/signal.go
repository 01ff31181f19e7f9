package view

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/signals"
)

// Product is the name of the catalog.
const Product = "Tidemark Signals"

// SignalCatalog lists the live signals.
type SignalCatalog struct {
	Product     string               `json:"product"`
	Count       int                  `json:"count"`
	Signals     []SignalCatalogEntry `json:"signals"`
	Environment string               `json:"environment"`
	Disclaimer  string               `json:"disclaimer"`
}

// SignalCatalogEntry is a signal as the catalog shows it.
type SignalCatalogEntry struct {
	ID       string `json:"id"`
	Domain   string `json:"domain"`
	Name     string `json:"name"`
	Unit     string `json:"unit"`
	Status   string `json:"status"`
	PageURL  string `json:"page_url"`
	BriefURL string `json:"brief_url"`
	// MachineURL is where the snapshot is.
	MachineURL string     `json:"machine_url"`
	SourceURL  string     `json:"source_url"`
	License    string     `json:"license"`
	ObservedAt *time.Time `json:"observed_at"`
	Value      *float64   `json:"value"`
	ZScore     *float64   `json:"z_score"`
	Synthetic  bool       `json:"synthetic"`
}

// SignalSnapshot is the latest state of one signal. Times are in UTC. Unknown values are null.
type SignalSnapshot struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Domain string `json:"domain"`
	Unit   string `json:"unit"`
	Status string `json:"status"`
	// ObservedAt is the observation time. IngestedAt is when the service received the bytes behind the value.
	ObservedAt *time.Time `json:"observed_at"`
	IngestedAt *time.Time `json:"ingested_at"`
	// Value is in Unit.
	Value *float64 `json:"value"`
	// UncertaintyLo and UncertaintyHi are the interval. What it bounds, and how often that came true, says uncertainty.
	UncertaintyLo *float64 `json:"uncertainty_lo"`
	UncertaintyHi *float64 `json:"uncertainty_hi"`
	// BaselineValue is the value for comparison. BaselineMethod names its calculation.
	BaselineValue  *float64 `json:"baseline_value"`
	BaselineMethod string   `json:"baseline_method"`
	// DeltaVsBaselinePct is how far the value lies from the baseline, in percent of it; null if the baseline is null, zero or negative.
	DeltaVsBaselinePct *float64 `json:"delta_vs_baseline_pct"`
	// ZScore is the same in units of the usual spread.
	ZScore *float64 `json:"z_score"`
	// Backtest is null if no skill was measured.
	Backtest   *postgres.Backtest `json:"backtest"`
	SourceURL  string             `json:"source_url"`
	License    string             `json:"license"`
	BriefURL   string             `json:"brief_url"`
	PageURL    string             `json:"page_url"`
	JSONLD     Dataset            `json:"json_ld"`
	Disclaimer string             `json:"disclaimer"`

	HistoryURL string `json:"history_url"`
	// AsOf is the instant of the snapshot, which was computed from the data that we knew then. ServedAt is when its numbers were stored: no client
	// received them before. It is null if that was not recorded.
	AsOf      *time.Time `json:"as_of"`
	ServedAt  *time.Time `json:"served_at"`
	Frequency string     `json:"frequency"`
	// UncertaintyLevel is the nominal level of the intervals. It is not a probability if uncertainty.basis is assumed.
	UncertaintyLevel float64     `json:"uncertainty_level"`
	Uncertainty      Uncertainty `json:"uncertainty"`
	Components       []Component `json:"components"`
	Freshness        Freshness   `json:"freshness"`
	// PublishedAt is when a request first returned the newest of its inputs. The publisher may have shown it since the request before.
	PublishedAt *time.Time `json:"published_at"`
	// PublishedAtAssumed reports that the publication was not observed: the value was there at the first request, or
	// the time is calculated from the publisher's usual delay.
	PublishedAtAssumed bool       `json:"published_at_assumed"`
	Provenance         Provenance `json:"provenance"`
	Synthetic          bool       `json:"synthetic"`
	Environment        string     `json:"environment"`

	// coversFrom is the observation time of the oldest point of the history.
	coversFrom *time.Time
	// firstIngested is when the last of the inputs was first loaded, or zero if that is unknown.
	firstIngested time.Time
}

// Component is a part of a signal, or another way to look at it.
type Component struct {
	Name               string     `json:"name"`
	Label              string     `json:"label"`
	Unit               string     `json:"unit"`
	ObservedAt         *time.Time `json:"observed_at"`
	Value              *float64   `json:"value"`
	BaselineValue      *float64   `json:"baseline_value"`
	DeltaVsBaselinePct *float64   `json:"delta_vs_baseline_pct"`
	ZScore             *float64   `json:"z_score"`
}

// The states of freshness.
const (
	Fresh   = "fresh"
	Stale   = "stale"   // the newest observation is older than the signal tolerates
	Unknown = "unknown" // there is no observation
)

// Freshness reports whether the newest observation is older than the signal's limit.
type Freshness struct {
	State         string `json:"state"`
	MaxAgeSeconds int64  `json:"max_age_seconds"`
}

// Provenance leads from a number back to the bytes it was made of.
type Provenance struct {
	// Count is the number of archived bodies that the snapshot rests on: its numbers, its interval, the interval's record and the backtest.
	// MerkleRoot is the root of the tree of RFC 6962 over
	// their SHA-256 sums, in the order of the list at URL.
	Count      int    `json:"count"`
	MerkleRoot string `json:"merkle_root"`
	URL        string `json:"url"`
	// Inputs are the newest of them that hold observations in force, at most 20, the newest first.
	Inputs      []ProvenanceInput `json:"inputs"`
	CodeVersion *string           `json:"code_version"`
	RunID       *string           `json:"run_id"`
}

// ProvenanceInput is one archived answer of a publisher.
type ProvenanceInput struct {
	Source      string    `json:"source"`
	URL         string    `json:"url"`
	RetrievedAt time.Time `json:"retrieved_at"`
	SHA256      string    `json:"sha256"`
}

const disclaimer = "Editorial information, not personalized investment advice."

// disclaimer returns the text that every response carries: first which of its data are not real, then what it must not be used for.
func (o Options) disclaimer(synthetic bool) string {
	switch {
	case synthetic:
		return "Synthetic data made by a sandbox: no number here describes a real market. " + disclaimer
	case o.World == WorldReplay:
		return "A replay of recorded data: the numbers are those of the recording, not of today. " + disclaimer
	}
	return disclaimer
}

func (o Options) environment() string {
	if o.World == WorldLive {
		return "live"
	}
	return "demo"
}

func (o Options) catalogURL() string          { return o.PublicURL + "/api/signals" }
func (o Options) machineURL(id string) string { return o.PublicURL + "/api/signals/" + id }
func (o Options) historyURL(id string) string { return o.machineURL(id) + "/history" }
func (o Options) pageURL(id string) string    { return o.PublicURL + "/signals/" + id }
func (o Options) briefURL(id string) string   { return o.pageURL(id) + "/brief" }

// statusAt returns a signal's status at an instant. It is the status that the worker found for the snapshot, except that a live signal
// becomes decayed with age. A signal without a snapshot is decayed.
func statusAt(d signals.Definition, s *postgres.Snapshot, at time.Time) string {
	if s != nil && s.Status != signals.StatusLive {
		return s.Status
	}
	return d.Status(observedAt(s), at)
}

func freshnessAt(d signals.Definition, s *postgres.Snapshot, at time.Time) string {
	switch seen := observedAt(s); {
	case seen.IsZero():
		return Unknown
	case d.Status(seen, at) == signals.StatusLive:
		return Fresh
	}
	return Stale
}

// observedAt is zero if there is no observation.
func observedAt(s *postgres.Snapshot) time.Time {
	if s == nil || s.ObservedAt == nil {
		return time.Time{}
	}
	return *s.ObservedAt
}

// snapshot builds the response from a stored snapshot at an instant, and the bodies behind it. stored is nil if none exists.
func (o Options) snapshot(d signals.Definition, stored *postgres.Snapshot, bodies []postgres.Body, at time.Time) SignalSnapshot {
	synthetic := o.World == WorldSandbox || (stored != nil && stored.Synthetic)
	s := SignalSnapshot{
		ID:               d.ID,
		Name:             d.Name,
		Domain:           d.Domain,
		Unit:             d.Unit,
		Status:           statusAt(d, stored, at),
		BaselineMethod:   d.BaselineMethod,
		SourceURL:        d.SourceURL,
		License:          d.License,
		BriefURL:         o.briefURL(d.ID),
		PageURL:          o.pageURL(d.ID),
		Disclaimer:       o.disclaimer(synthetic),
		Frequency:        d.Frequency,
		UncertaintyLevel: signals.Level,
		Uncertainty:      UncertaintyOf(d, nil),
		Components:       []Component{},
		Freshness:        Freshness{State: freshnessAt(d, stored, at), MaxAgeSeconds: int64(d.Staleness / time.Second)},
		Provenance:       o.provenance(d.ID, stored, bodies),
		Synthetic:        synthetic,
		Environment:      o.environment(),
		HistoryURL:       o.historyURL(d.ID),
	}
	if stored != nil {
		s.fill(stored)
		s.Uncertainty = UncertaintyOf(d, stored.Uncertainty)
	}
	s.JSONLD = o.dataset(d, s)
	return s
}

func (s *SignalSnapshot) fill(stored *postgres.Snapshot) {
	s.AsOf, s.ServedAt = utc(&stored.At), utc(stored.ServedAt)
	s.ObservedAt, s.PublishedAt, s.IngestedAt = utc(stored.ObservedAt), utc(stored.KnownAt), utc(stored.KnownAt)
	if stored.FirstIngestedAt != nil {
		s.firstIngested = stored.FirstIngestedAt.UTC()
	}
	if s.PublishedAt != nil && !s.PublishedAt.After(s.firstIngested) {
		s.PublishedAtAssumed, s.IngestedAt = true, new(s.firstIngested)
	}
	s.Value, s.UncertaintyLo, s.UncertaintyHi = served(stored.Value), served(stored.Lo), served(stored.Hi)
	s.BaselineValue, s.DeltaVsBaselinePct = served(stored.Baseline), served(stored.DeltaPct)
	s.ZScore = served(stored.Z)
	if stored.Backtest != nil {
		s.Backtest = new(stored.Backtest.Rounded())
	}
	s.coversFrom = utc(stored.CoversFrom)
	for _, c := range stored.Components {
		s.Components = append(s.Components, Component{
			Name: c.Name, Label: c.Label, Unit: c.Unit, ObservedAt: utc(c.ObservedAt),
			Value: served(c.Value), BaselineValue: served(c.Baseline), DeltaVsBaselinePct: served(c.DeltaPct), ZScore: served(c.Z),
		})
	}
}

func (o Options) catalogEntry(s SignalSnapshot) SignalCatalogEntry {
	return SignalCatalogEntry{
		ID: s.ID, Domain: s.Domain, Name: s.Name, Unit: s.Unit, Status: s.Status,
		PageURL: s.PageURL, BriefURL: s.BriefURL, MachineURL: o.machineURL(s.ID), SourceURL: s.SourceURL, License: s.License,
		ObservedAt: s.ObservedAt, Value: s.Value, ZScore: s.ZScore, Synthetic: s.Synthetic,
	}
}

// brief returns the method of a signal as one Markdown document: its name, what its measurements are of, the definition's text, the license and the disclaimer.
func brief(d signals.Definition, s SignalSnapshot) string {
	var b strings.Builder
	b.WriteString("# " + d.Name + "\n\n")
	english := languages.Or(locale.English).Words
	month, _ := time.Parse("2006-01", signals.BriefsMeasured)
	fmt.Fprintf(&b, "*"+english["brief.measured"], month.Format("January 2006"))
	if s.Synthetic {
		b.WriteString(" " + english["brief.synthetic"])
	}
	b.WriteString("*\n\n")
	b.WriteString(strings.ReplaceAll(strings.TrimSpace(d.Brief), " %", "%") + "\n\n")
	b.WriteString("---\n\n")
	b.WriteString("License: " + d.License + "\n\n")
	b.WriteString(s.Disclaimer + "\n")
	return b.String()
}

// Assumed reports whether a time of publication is assumed and was not observed.
func (s SignalSnapshot) Assumed(published time.Time) bool { return !published.After(s.firstIngested) }

// LoadedAt is when the last of the inputs was first loaded, or zero if that is unknown. Nothing records how older values were first published.
func (s SignalSnapshot) LoadedAt() time.Time { return s.firstIngested }

// CoversFrom is the observation time of the oldest point of the history, or zero if that is unknown.
func (s SignalSnapshot) CoversFrom() time.Time {
	if s.coversFrom == nil {
		return time.Time{}
	}
	return *s.coversFrom
}

// utc returns t in UTC. The database driver returns times in the machine's zone.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// finite returns nil for NaN and infinities, which JSON cannot represent: they are unknown.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}
