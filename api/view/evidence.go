package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// Evidence leads from the numbers of a snapshot to the cells that they rest on, and to the bytes that contained the cells.
type Evidence struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Unit       string     `json:"unit"`
	AsOf       time.Time  `json:"as_of"`
	ObservedAt *time.Time `json:"observed_at"`
	// ServedAt is when the snapshot's numbers were stored: no client received them before. It is null if that was not recorded.
	ServedAt *time.Time `json:"served_at"`
	// Newest reports whether the numbers were the newest of the snapshot. Otherwise they are a point of the history that the snapshot shows:
	// it came together with later ones, so no snapshot had it as its newest, or they have changed since. HistoryText says so in words; it is
	// null otherwise.
	Newest      bool    `json:"newest"`
	HistoryText *string `json:"history_text"`
	// OtherDay is null unless a day was asked for that no number is about.
	OtherDay *OtherDay `json:"other_day"`
	// Numbers are the numbers about ObservedAt.
	Numbers EvidenceNumbers `json:"numbers"`
	// Formula says in words how the value and its baseline are made. Steps are the formulas with the numbers put in.
	Formula string         `json:"formula"`
	Steps   []EvidenceStep `json:"steps"`
	// Recomputed reports whether today's code makes the numbers of the snapshot from the cells. Otherwise steps are from today's code.
	Recomputed bool `json:"recomputed"`
	// ValueCells are the observations behind the value, BaselineCells the observations behind the baseline and its scale. A cell may be in both.
	ValueCells    []EvidenceCell `json:"value_cells"`
	BaselineCells []EvidenceCell `json:"baseline_cells"`
	// IntervalCells are the observations behind the interval, and ComponentCells the observations behind the snapshot's components. A cell may be in several lists.
	IntervalCells  []EvidenceCell `json:"interval_cells"`
	ComponentCells []EvidenceCell `json:"component_cells"`
	// Withdrawn are the observations that were numbers once and that their publishers took back. A body may still
	// state them; the numbers do not rest on them.
	Withdrawn []EvidenceWithdrawal `json:"withdrawn"`
	// Bodies are the archived bodies that contained the cells, and the bodies that withdrew observations, each once.
	Bodies      []EvidenceBody `json:"bodies"`
	CodeVersion string         `json:"code_version"`
	License     string         `json:"license"`
	SourceURL   string         `json:"source_url"`
	Synthetic   bool           `json:"synthetic"`
	Environment string         `json:"environment"`
	Disclaimer  string         `json:"disclaimer"`

	// First is the instant of the snapshot that showed other numbers of the day as its newest. It is zero if there is none.
	First time.Time `json:"-"`
	// Why explains in the language of the request why the number differs from the previous one. It is empty if there is no previous one.
	Why string `json:"-"`
}

// EvidenceNumbers are the numbers that the cells make.
type EvidenceNumbers struct {
	Value              *float64 `json:"value"`
	UncertaintyLo      *float64 `json:"uncertainty_lo"`
	UncertaintyHi      *float64 `json:"uncertainty_hi"`
	BaselineValue      *float64 `json:"baseline_value"`
	Scale              *float64 `json:"scale"`
	ZScore             *float64 `json:"z_score"`
	DeltaVsBaselinePct *float64 `json:"delta_vs_baseline_pct"`
	// N is how many values made the baseline.
	N int `json:"n"`
}

// EvidenceStep is a number and the formula that makes it, with the numbers put in.
type EvidenceStep struct {
	// Name is value, baseline, scale, z_score or delta_vs_baseline_pct.
	Name    string   `json:"name"`
	Formula string   `json:"formula"`
	Note    string   `json:"note"`
	Result  *float64 `json:"result"`
}

// EvidenceCell is one observation, and the body that contained it.
type EvidenceCell struct {
	Series     string    `json:"series"`
	ObservedAt time.Time `json:"observed_at"`
	Value      float64   `json:"value"`
	// PublishedAt is when this value became known. If it was not observed, it is assumed.
	PublishedAt        time.Time `json:"published_at"`
	PublishedAtAssumed bool      `json:"published_at_assumed"`
	// Superseded reports that the publisher has replaced the value: it is the value before the newest, and an interval is learned from it.
	Superseded bool   `json:"superseded"`
	SHA256     string `json:"sha256"`
}

// EvidenceWithdrawal is an observation that its publisher took back, and the body that no longer has it.
type EvidenceWithdrawal struct {
	Series     string    `json:"series"`
	ObservedAt time.Time `json:"observed_at"`
	// WithdrawnAt is when we saw it.
	WithdrawnAt time.Time `json:"withdrawn_at"`
	// Marker is "withdrawn" where the body leaves the observation out. Otherwise it is the publisher's sign in the place of the number.
	Marker string `json:"marker"`
	SHA256 string `json:"sha256"`
}

// EvidenceBody is an archived body.
type EvidenceBody struct {
	SHA256      string    `json:"sha256"`
	Source      string    `json:"source"`
	URL         string    `json:"url"`
	ContentType string    `json:"content_type"`
	RetrievedAt time.Time `json:"retrieved_at"`
	Bytes       int64     `json:"bytes"`
	// RawURL is where the bytes are, if the publisher's license lets us pass them on.
	RawURL string `json:"raw_url"`
}

// EvidenceRequest names a snapshot: that as of an instant, or without it the newest. With Day it names the point of its history that is about
// Day or the nearest earlier day: the snapshot itself, an earlier snapshot with the same numbers as its newest, or else a point of the history.
type EvidenceRequest struct {
	Day, AsOf time.Time
	// Lang is the language in which the answer says that it is about another day, or of a history.
	Lang locale.Lang
}

// EvidenceDocument returns the evidence of a snapshot as JSON. The error is postgres.ErrNotFound if there is no such snapshot.
func (v *View) EvidenceDocument(ctx context.Context, s *Signal, r EvidenceRequest) (*Document, error) {
	e, err := v.evidence(ctx, s, r)
	if err != nil {
		return nil, err
	}
	body, err := Encode(e)
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, time.Time{}), nil
}

// Evidence returns the evidence of a snapshot, or of the number about a day or the nearest earlier one. The result is nil if there is no
// snapshot, and the error a NoSuchDayError if no number is that old.
func (v *View) Evidence(ctx context.Context, s *Signal, r EvidenceRequest) (*Evidence, error) {
	e, err := v.evidence(ctx, s, r)
	if none := (*NoSuchDayError)(nil); errors.As(err, &none) {
		return nil, err
	}
	if errors.Is(err, postgres.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.Newest {
		return e, nil
	}
	why, err := v.ChangeReport(ctx, s, ChangesRequest{To: e.AsOf, Lang: r.Lang})
	if err != nil && !errors.Is(err, postgres.ErrNotFound) && !errors.Is(err, postgres.ErrTooMany) {
		return nil, err
	}
	e.Why = why.Text
	return e, nil
}

func (v *View) evidence(ctx context.Context, s *Signal, r EvidenceRequest) (*Evidence, error) {
	var e *Evidence
	err := v.acquireQuery(ctx, func(ctx context.Context) error {
		found, err := v.evidenceOf(ctx, s, r)
		if err != nil {
			return err
		}
		stored := found.Snapshot
		e = newEvidence(s, stored)
		e.First = found.first
		if e.Newest = found.history == ""; !e.Newest {
			l := languages.Or(r.Lang)
			e.HistoryText = new(fmt.Sprintf(l.Words[found.history], l.WriteDate(e.AsOf)))
		}
		if !r.Day.IsZero() {
			if e.OtherDay, err = v.otherDay(ctx, s, r.Day, r.AsOf, stored, true, r.Lang); err != nil {
				return err
			}
		}
		if stored.ObservedAt == nil {
			return nil
		}
		in, err := v.o.Store.InputsOf(ctx, s.Definition, stored.At)
		if err != nil {
			return err
		}
		estimate, working, ok := s.Definition.Working(in, stored.At, series.InstantOf(*stored.ObservedAt))
		if !ok {
			return nil
		}
		e.Recomputed = recomputed(stored, estimate)
		for _, step := range working.Steps {
			e.Steps = append(e.Steps, EvidenceStep{Name: step.Name, Formula: step.Formula, Note: step.Note, Result: served(&step.Result)})
		}
		bodies := map[int64]EvidenceBody{}
		if e.ValueCells, err = v.evidenceCells(ctx, working.Value, bodies); err != nil {
			return err
		}
		if e.BaselineCells, err = v.evidenceCells(ctx, working.Baseline, bodies); err != nil {
			return err
		}
		if e.IntervalCells, err = v.evidenceCells(ctx, working.Interval, bodies); err != nil {
			return err
		}
		if !e.Newest { // the components are of the snapshot's newest data
			working.Components = nil
		}
		if e.ComponentCells, err = v.evidenceCells(ctx, working.Components, bodies); err != nil {
			return err
		}
		if err := v.withdrawn(ctx, s, e, bodies); err != nil {
			return err
		}
		e.collect(bodies)
		return nil
	})
	return e, err
}

// numbered is a snapshot with the numbers of an evidence.
type numbered struct {
	postgres.Snapshot

	// history is the phrase that says why the numbers are those of a point of the snapshot's history. It is empty if they are its own.
	history string
	// first is the instant of the snapshot that showed other numbers of the same observation as its newest. It is zero if there is none.
	first time.Time
}

// evidenceOf returns the snapshot that a request names.
func (v *View) evidenceOf(ctx context.Context, s *Signal, r EvidenceRequest) (numbered, error) {
	if r.Day.IsZero() {
		stored, err := v.end(ctx, s, r.AsOf, false)
		return numbered{Snapshot: stored}, err
	}
	until := r.Day.AddDate(0, 0, 1).Add(-time.Microsecond)
	known := r.AsOf
	if known.IsZero() {
		known = v.Now()
	}
	stored, err := v.o.Store.SnapshotAbout(ctx, s.Definition.ID, until, known)
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return numbered{}, err
	}
	point, none := v.o.Store.PointAbout(ctx, s.Definition.ID, until, known)
	switch {
	case none == nil && observedAt(&point).Truncate(24*time.Hour).After(observedAt(&stored)):
		return numbered{Snapshot: point, history: "day.history"}, nil
	case none != nil && !errors.Is(none, postgres.ErrNotFound):
		return numbered{}, none
	case err != nil:
		return numbered{}, v.noSuchDay(ctx, s, r.Day, r.AsOf)
	case none == nil && observedAt(&point).Equal(observedAt(&stored)) && !sameNumbers(numbersOf(point), numbersOf(stored)):
		return numbered{Snapshot: point, history: "day.changed", first: stored.At}, nil
	}
	return numbered{Snapshot: stored}, nil
}

// newEvidence is the evidence of a snapshot without its cells.
func newEvidence(s *Signal, stored postgres.Snapshot) *Evidence {
	return &Evidence{
		ID: s.Definition.ID, Name: s.Definition.Name, Unit: s.Definition.Unit, AsOf: stored.At.UTC(), ObservedAt: utc(stored.ObservedAt),
		ServedAt: utc(stored.ServedAt),
		Numbers:  numbersOf(stored),
		Formula:  s.Definition.Technique, Steps: []EvidenceStep{}, ValueCells: []EvidenceCell{}, BaselineCells: []EvidenceCell{},
		IntervalCells: []EvidenceCell{}, ComponentCells: []EvidenceCell{}, Withdrawn: []EvidenceWithdrawal{},
		Bodies:      []EvidenceBody{},
		CodeVersion: stored.CodeVersion, License: s.Snapshot.License, SourceURL: s.Snapshot.SourceURL, Synthetic: s.Snapshot.Synthetic,
		Environment: s.Snapshot.Environment, Disclaimer: s.Snapshot.Disclaimer,
	}
}

func numbersOf(stored postgres.Snapshot) EvidenceNumbers {
	return EvidenceNumbers{
		Value: served(stored.Value), UncertaintyLo: served(stored.Lo), UncertaintyHi: served(stored.Hi), BaselineValue: served(stored.Baseline),
		Scale: served(stored.Scale), ZScore: served(stored.Z), DeltaVsBaselinePct: served(stored.DeltaPct), N: stored.N,
	}
}

// recomputed reports whether an estimate has the numbers of a snapshot.
func recomputed(stored postgres.Snapshot, e signals.Estimate) bool {
	z, delta := e.Z(), e.DeltaPct()
	return sameNumbers(numbersOf(stored), EvidenceNumbers{
		Value: served(finite(&e.Value)), UncertaintyLo: served(finite(&e.Lo)), UncertaintyHi: served(finite(&e.Hi)), BaselineValue: served(finite(&e.Baseline)),
		Scale: served(finite(&e.Scale)), ZScore: served(finite(&z)), DeltaVsBaselinePct: served(finite(&delta)), N: e.N,
	})
}

// sameNumbers reports whether two results are the same as they are served.
func sameNumbers(a, b EvidenceNumbers) bool {
	for _, pair := range [][2]*float64{
		{a.Value, b.Value},
		{a.UncertaintyLo, b.UncertaintyLo},
		{a.UncertaintyHi, b.UncertaintyHi},
		{a.BaselineValue, b.BaselineValue},
		{a.Scale, b.Scale},
		{a.ZScore, b.ZScore},
		{a.DeltaVsBaselinePct, b.DeltaVsBaselinePct},
	} {
		if a, b := pair[0], pair[1]; (a == nil) != (b == nil) || a != nil && *a != *b {
			return false
		}
	}
	return a.N == b.N
}

// evidenceCells looks up where cells came from, and adds the bodies by the ids of their fetches.
func (v *View) evidenceCells(ctx context.Context, cells []signals.Cell, bodies map[int64]EvidenceBody) ([]EvidenceCell, error) {
	known, err := v.o.Store.CellsKnown(ctx, cells)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(known))
	for i, k := range known {
		ids[i] = k.FetchID
	}
	if err := v.evidenceBodies(ctx, ids, bodies); err != nil {
		return nil, err
	}
	out := make([]EvidenceCell, len(known))
	for i, k := range known {
		id, superseded := series.Current(k.Series)
		out[i] = EvidenceCell{
			Series: string(id), Superseded: superseded, ObservedAt: k.ObservedAt.UTC(), Value: *served(&k.Value), PublishedAt: k.VintageAt.UTC(), PublishedAtAssumed: k.Assumed,
			SHA256: bodies[k.FetchID].SHA256,
		}
	}
	return out, nil
}

// withdrawn adds what publishers took back up to the observation of a snapshot, and its bodies by the ids of their fetches.
func (v *View) withdrawn(ctx context.Context, s *Signal, e *Evidence, bodies map[int64]EvidenceBody) error {
	list, err := v.o.Store.WithdrawnAsOf(ctx, s.Definition.Inputs, e.AsOf, e.AsOf)
	if err != nil {
		return err
	}
	ids := make([]int64, len(list))
	for i, w := range list {
		ids[i] = w.FetchID
	}
	if err := v.evidenceBodies(ctx, ids, bodies); err != nil {
		return err
	}
	for _, w := range list {
		e.Withdrawn = append(e.Withdrawn, EvidenceWithdrawal{
			Series: string(w.Series), ObservedAt: w.ObservedAt.UTC(), WithdrawnAt: w.VintageAt.UTC(), Marker: w.Marker, SHA256: bodies[w.FetchID].SHA256,
		})
	}
	return nil
}

// evidenceBodies looks up the bodies of fetches that are not in bodies yet, and adds them.
func (v *View) evidenceBodies(ctx context.Context, fetchIDs []int64, bodies map[int64]EvidenceBody) error {
	var ids []int64
	for _, id := range fetchIDs {
		if _, there := bodies[id]; !there && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	fetches, err := v.o.Store.FetchesByID(ctx, ids)
	if err != nil {
		return err
	}
	for _, f := range fetches {
		bodies[f.ID] = EvidenceBody{
			SHA256: f.SHA256, Source: f.Source, URL: f.URL, ContentType: f.Header["Content-Type"], RetrievedAt: f.FetchedAt.UTC(), Bytes: f.Bytes,
			RawURL: v.rawURL(f.SHA256),
		}
	}
	return nil
}

// collect lists the bodies in the order of the cells: first the bodies of the value, last the bodies of withdrawals. For a body that came
// twice it names the later fetch, because a later parser may read more of the same bytes.
func (e *Evidence) collect(bodies map[int64]EvidenceBody) {
	byHash := map[string]EvidenceBody{}
	for _, b := range bodies {
		if other, twice := byHash[b.SHA256]; !twice || b.RetrievedAt.After(other.RetrievedAt) {
			byHash[b.SHA256] = b
		}
	}
	list := func(sha256 string) {
		if b, left := byHash[sha256]; left {
			e.Bodies = append(e.Bodies, b)
			delete(byHash, sha256)
		}
	}
	for _, c := range slices.Concat(e.ValueCells, e.BaselineCells, e.IntervalCells, e.ComponentCells) {
		list(c.SHA256)
	}
	for _, w := range e.Withdrawn {
		list(w.SHA256)
	}
}

// Figure writes a number of a cell as it is served.
func (c EvidenceCell) Figure() string { return strconv.FormatFloat(c.Value, 'f', -1, 64) }

// RawPlace is where an archived body states a value.
type RawPlace struct {
	SHA256     string    `json:"sha256"`
	Series     string    `json:"series"`
	ObservedAt time.Time `json:"observed_at"`
	// Part is the part of the body that Offset counts in. It is empty for the body itself and gzip for unpacked text. Otherwise the body is
	// a zip archive, and Part is the name of a file in it.
	Part string `json:"part"`
	// From and To are the range of the body that is unpacked, if Part is gzip: a body may be several packed files in a row.
	From int `json:"from"`
	To   int `json:"to"`
	// Offset and Length are in bytes.
	Offset int `json:"offset"`
	Length int `json:"length"`
	// Where describes the place in words.
	Where string `json:"where"`
}
