package view

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/signals/changes"
)

// Changes says why a signal moved from one snapshot to another.
type Changes struct {
	ID          string       `json:"id"`
	Unit        string       `json:"unit"`
	Lang        string       `json:"lang"`
	Data        ChangeReport `json:"data"`
	License     string       `json:"license"`
	SourceURL   string       `json:"source_url"`
	Synthetic   bool         `json:"synthetic"`
	Environment string       `json:"environment"`
	Disclaimer  string       `json:"disclaimer"`
}

// ChangeReport divides the difference of two snapshots into parts, which add up to it. The numbers have the decimals of the numbers that changed.
type ChangeReport struct {
	From  ChangeEnd     `json:"from"`
	To    ChangeEnd     `json:"to"`
	Total ChangeNumbers `json:"total"`
	// Parts are in the order in which they became known.
	Parts []ChangePart `json:"parts"`
	// Text says it in words.
	Text string `json:"text"`
}

// ChangeEnd is one of the two snapshots.
type ChangeEnd struct {
	AsOf        time.Time  `json:"as_of"`
	ObservedAt  *time.Time `json:"observed_at"`
	Value       *float64   `json:"value"`
	Baseline    *float64   `json:"baseline"`
	Z           *float64   `json:"z"`
	CodeVersion string     `json:"code_version"`
	// OtherDay is null unless a day was asked for that no snapshot is about.
	OtherDay *OtherDay `json:"other_day"`
}

// ChangeNumbers are added to value, baseline and z-score. Null means that one of the snapshots does not have the number.
type ChangeNumbers struct {
	Value    *float64 `json:"value"`
	Baseline *float64 `json:"baseline"`
	Z        *float64 `json:"z"`
}

// ChangePart is one cause of the difference.
type ChangePart struct {
	// Kind is new_observation, revision, window, baseline_window or code.
	Kind string `json:"kind"`
	// Source and Series are null if the part has none, or more than one.
	Source *string `json:"source"`
	Series *string `json:"series"`
	// ObservedAt is the observation time of the part's newest observation, ObservedFrom of its oldest. Observations counts them.
	ObservedAt   *time.Time `json:"observed_at"`
	ObservedFrom *time.Time `json:"observed_from"`
	Observations int        `json:"observations"`
	// Release is when it became known, of several releases the newest.
	Release *time.Time `json:"release"`
	// Before and After are the observation's own values, if the part has one observation. They are null if the observation did not exist or
	// was withdrawn.
	Before *float64 `json:"before"`
	After  *float64 `json:"after"`

	ChangeNumbers

	Text string `json:"text"`
}

// ChangesRequest names two snapshots. An instant selects the snapshot as of that instant. If Day is set, it selects the newest snapshot
// about that day or earlier. Without To, the second snapshot is the newest. Without From, the first is the last one before it that differs.
type ChangesRequest struct {
	From, To       time.Time
	FromDay, ToDay bool
	Lang           locale.Lang
}

// Changes explains why a signal moved. The error is postgres.ErrNotFound if one of the snapshots does not exist, and postgres.ErrTooMany if
// there are too many changes between them.
func (v *View) Changes(ctx context.Context, s *Signal, r ChangesRequest) (*Document, error) {
	report, err := v.ChangeReport(ctx, s, r)
	if err != nil {
		return nil, err
	}
	body, err := Encode(Changes{
		ID: s.Definition.ID, Unit: s.Definition.Unit, Lang: string(r.Lang), Data: report, License: s.Snapshot.License, SourceURL: s.Snapshot.SourceURL,
		Synthetic: s.Snapshot.Synthetic, Environment: s.Snapshot.Environment, Disclaimer: s.Snapshot.Disclaimer,
	})
	if err != nil {
		return nil, err
	}
	return NewDocument(TypeJSON, CachePublic, body, time.Time{}), nil
}

// ChangeReport returns the report that Changes serves.
func (v *View) ChangeReport(ctx context.Context, s *Signal, r ChangesRequest) (report ChangeReport, err error) {
	err = v.acquireQuery(ctx, func(ctx context.Context) error {
		to, err := v.end(ctx, s, r.To, r.ToDay)
		if err != nil {
			return err
		}
		var from postgres.Snapshot
		if r.From.IsZero() {
			from, err = v.o.Store.SnapshotBefore(ctx, to)
		} else {
			from, err = v.end(ctx, s, r.From, r.FromDay)
		}
		if err != nil {
			return err
		}
		if to.At.Before(from.At) {
			return ErrBackwards
		}
		e, err := v.explain(ctx, s, from, to)
		if err != nil {
			return err
		}
		report = changeReport(s, from, to, e, languages.Or(r.Lang))
		if r.ToDay {
			if report.To.OtherDay, err = v.otherDay(ctx, s, r.To, time.Time{}, to, false, r.Lang); err != nil {
				return err
			}
		}
		if r.FromDay {
			report.From.OtherDay, err = v.otherDay(ctx, s, r.From, time.Time{}, from, false, r.Lang)
		}
		return err
	})
	return report, err
}

// end returns one of the two snapshots. With a zero instant it returns the newest.
func (v *View) end(ctx context.Context, s *Signal, at time.Time, day bool) (postgres.Snapshot, error) {
	now := v.Now()
	switch {
	case at.IsZero():
		at = now
	case day:
		return v.o.Store.SnapshotAbout(ctx, s.Definition.ID, at, now)
	}
	return v.o.Store.SnapshotAsOf(ctx, s.Definition.ID, at)
}

// ErrBackwards: the second snapshot is older than the first.
var ErrBackwards = errors.New("the second snapshot is older than the first")

// explained caches explanations. What became known up to an instant does not change, so the same two snapshots are explained only once. The
// zero value is empty. It is safe for concurrent use.
type explained struct {
	mu   sync.Mutex
	kept map[explainedPair]changes.Explanation
}

// maxExplained bounds the cached explanations. One has at most a few hundred parts.
const maxExplained = 128

// explainedPair is the cache key: two snapshots and their numbers. A recomputed snapshot has a new key.
type explainedPair struct {
	signal   string
	from, to changes.Snapshot
}

func (v *View) explain(ctx context.Context, s *Signal, from, to postgres.Snapshot) (changes.Explanation, error) {
	pair := explainedPair{s.Definition.ID, explainable(from), explainable(to)}
	name := pair
	for _, n := range []*changes.Numbers{&name.from.Numbers, &name.to.Numbers} { // NaN never equals itself, so it cannot be part of a map key
		n.Value, n.Baseline, n.Z = keyable(n.Value), keyable(n.Baseline), keyable(n.Z)
	}
	v.explained.mu.Lock()
	e, ok := v.explained.kept[name]
	v.explained.mu.Unlock()
	if ok {
		return e, nil
	}
	known, news, err := v.o.Store.KnownBetween(ctx, s.Definition, from.At, to.At)
	if err != nil {
		return e, err
	}
	e = changes.Explain(s.Definition, pair.from, pair.to, known, news)
	v.explained.mu.Lock()
	defer v.explained.mu.Unlock()
	if len(v.explained.kept) >= maxExplained || v.explained.kept == nil {
		v.explained.kept = map[explainedPair]changes.Explanation{}
	}
	v.explained.kept[name] = e
	return e, nil
}

func keyable(x float64) float64 {
	if math.IsNaN(x) {
		return math.Inf(1) // no snapshot contains it
	}
	return x
}

func explainable(s postgres.Snapshot) changes.Snapshot {
	or := func(f *float64) float64 {
		if f == nil {
			return math.NaN()
		}
		return *f
	}
	return changes.Snapshot{At: s.At.UTC(), Numbers: changes.Numbers{Value: or(s.Value), Baseline: or(s.Baseline), Z: or(s.Z)}}
}

func changeReport(s *Signal, from, to postgres.Snapshot, e changes.Explanation, l *locale.Language) ChangeReport {
	end := func(s postgres.Snapshot) ChangeEnd {
		return ChangeEnd{
			AsOf: s.At.UTC(), ObservedAt: utc(s.ObservedAt), Value: served(s.Value), Baseline: served(s.Baseline), Z: served(s.Z), CodeVersion: s.CodeVersion,
		}
	}
	moved := []changes.Numbers{e.Total}
	for _, p := range e.Parts {
		moved = append(moved, p.Numbers)
	}
	w := newChangeWriter(l, s.Definition, moved...)
	out := ChangeReport{From: end(from), To: end(to), Total: changeNumbers(e.Total, from, to), Parts: []ChangePart{}, Text: w.sentence(explainable(from).Numbers, explainable(to).Numbers, e)}
	for _, p := range e.Parts {
		part := ChangePart{
			Kind: string(p.Kind), Observations: p.Count, Before: finite(&p.Before), After: finite(&p.After), ChangeNumbers: changeNumbers(p.Numbers, from, to), Text: w.part(p),
		}
		if part.nothing() {
			continue // a rounding residue of one step
		}
		if p.Source != "" {
			part.Source = &p.Source
		}
		if p.Series != "" {
			part.Series = new(string(p.Series))
		}
		if p.Count > 0 {
			part.ObservedAt, part.ObservedFrom, part.Release = new(p.To.UTC()), new(p.From.UTC()), new(p.Release.UTC())
		}
		out.Parts = append(out.Parts, part)
	}
	return out
}

// nothing reports whether every number is unknown or zero.
func (n ChangeNumbers) nothing() bool {
	nothing := func(x *float64) bool { return x == nil || *x == 0 }
	return nothing(n.Value) && nothing(n.Baseline) && nothing(n.Z)
}

// changeDecimals is the maximum number of decimals, and changeDigits how many digits of the numbers that changed count. Finer digits are
// arithmetic noise: 402668.4 less 402709.2 is -40.8 and not -40.799999999988. A sum of hundreds of parts misses the whole by a few units of
// the last digit at most.
const changeDecimals, changeDigits = 12, 15

// decimalsOf is the number of decimals that a difference of two numbers is known to.
func decimalsOf(a, b *float64) int {
	largest := 1.0
	for _, x := range []*float64{a, b} {
		if x = finite(x); x != nil {
			largest = max(largest, math.Abs(*x))
		}
	}
	return min(changeDecimals, max(changeDigits-1-int(math.Floor(math.Log10(largest))), 0))
}

func changeNumbers(n changes.Numbers, from, to postgres.Snapshot) ChangeNumbers {
	plain := func(x float64, decimals int) *float64 {
		v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', decimals, 64), 64)
		if err != nil {
			return finite(&x)
		}
		if v == 0 {
			v = 0 // avoid -0
		}
		return finite(&v)
	}
	return ChangeNumbers{
		plain(n.Value, decimalsOf(from.Value, to.Value)), plain(n.Baseline, decimalsOf(from.Baseline, to.Baseline)), plain(n.Z, decimalsOf(from.Z, to.Z)),
	}
}
