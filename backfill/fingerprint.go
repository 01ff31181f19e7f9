package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/postgres"
	"tidemark/signals"
)

// ErrChanged reports that the world has changed since the plan was made.
var ErrChanged = errors.New("the world has changed since the plan was made")

// fingerprint lists all facts that determine a plan, in readable form. They are the program and the definition, the slots and their
// snapshots, the known data of each input, and the requests to the sources.
func fingerprint(version string, def signals.Definition, times []time.Time, states []postgres.SeriesState, past []postgres.PastSlot, asks []SourceRequest) []postgres.Fact {
	facts := []postgres.Fact{
		{What: "the program", Is: version},
		{What: "the definition of " + def.ID, Is: digest(declared(def)...)},
		{What: "the slots", Is: fmt.Sprintf("%d (%s)", len(times), digest(stamps(times)...))},
	}
	snapshots, failures := 0, 0
	var versions []string
	for _, s := range past {
		if s.HasSnapshot {
			snapshots++
			versions = append(versions, s.Slot.UTC().Format(time.RFC3339Nano), *s.Version)
		} else if s.HasFailed {
			failures++
		}
	}
	facts = append(facts,
		postgres.Fact{What: "the snapshots in the range", Is: fmt.Sprintf("%d (%s)", snapshots, digest(versions...))},
		postgres.Fact{What: "the failed slots in the range", Is: strconv.Itoa(failures)},
	)
	for _, s := range states {
		is := "none"
		if s.Newest != nil {
			is = fmt.Sprintf("%d, the newest of %s", s.Vintages, s.Newest.UTC().Format(time.RFC3339Nano))
		}
		if !s.Loaded() {
			is += ", not loaded whole"
		}
		facts = append(facts, postgres.Fact{What: "the observations of " + string(s.Series), Is: is})
	}
	for _, a := range asks {
		facts = append(facts, postgres.Fact{What: "what " + a.Source + " is asked", Is: a.String()})
	}
	return facts
}

// String describes the requests to a source. Equal requests have equal texts.
func (a SourceRequest) String() string {
	switch {
	case a.Requests == 0:
		return "nothing: its archived answers are read again"
	case a.First:
		return fmt.Sprintf("%d requests to %s for its whole history", a.Requests, strings.Join(a.Hosts, ", "))
	}
	return fmt.Sprintf("%d requests to %s for %s to %s", a.Requests, strings.Join(a.Hosts, ", "), a.WindowFrom.Format(time.DateOnly),
		a.WindowTo.Format(time.DateOnly))
}

// declared are the facts of a definition that its numbers follow from, as far as they are data. The formulas are in the program's
// version.
func declared(d signals.Definition) []string {
	list := []string{
		d.ID, d.Unit, d.Frequency, d.Cadence.Cron, d.Cadence.Zone, d.Staleness.String(), d.BaselineMethod, d.IntervalMethod, d.Technique,
	}
	for _, id := range d.Inputs {
		list = append(list, string(id))
	}
	return list
}

func stamps(times []time.Time) []string {
	list := make([]string, len(times))
	for i, t := range times {
		list[i] = t.Format(time.RFC3339)
	}
	return list
}

// digest is a short fingerprint of some words, in their order.
func digest(words ...string) string {
	h := sha256.New()
	for _, w := range words {
		_, _ = fmt.Fprintf(h, "%d:%s", len(w), w)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// Apply begins a stored plan, after checking that all its facts still hold, so that the applied work is the planned work. Otherwise the
// error is ErrChanged and says what has changed. Applying a plan that has begun is postgres.ErrState.
func (p Planner) Apply(ctx context.Context, id int64) error {
	b, err := p.DB.Backfill(ctx, id)
	if err != nil {
		return err
	}
	if b.Status != postgres.BackfillPlanned {
		return fmt.Errorf("apply backfill %d: it is %s since %s: %w", id, StateOf(b, postgres.BackfillCounts{}), since(b), postgres.ErrState)
	}
	r := Request{
		Signal: b.Signal, From: b.FromDay, To: b.ToDay, FromArchive: b.FromArchive, Existing: b.Existing, Parallelism: b.Parallelism,
		Until: b.SeenAt,
	}
	if b.AsOf != nil {
		r.AsOf = *b.AsOf
	}
	now, err := p.Plan(ctx, r)
	if fault := (RequestError{}); errors.As(err, &fault) {
		return fmt.Errorf("backfill %d: %w: it would no longer be planned: %w", id, ErrChanged, err)
	}
	if err != nil {
		return err
	}
	if changed := differences(b.Basis, now.Basis); len(changed) > 0 {
		return fmt.Errorf("backfill %d: %w:\n  %s\nmake a new plan", id, ErrChanged, strings.Join(changed, "\n  "))
	}
	begun, err := p.DB.ApplyBackfill(ctx, id, p.Now)
	if err == nil && !begun {
		err = fmt.Errorf("apply backfill %d: another operator was faster: %w", id, postgres.ErrState)
	}
	return err
}

func since(b postgres.Backfill) string {
	if b.AppliedAt != nil {
		return b.AppliedAt.UTC().Format(time.RFC3339)
	}
	return b.PlannedAt.UTC().Format(time.RFC3339)
}

// differences lists the facts that have changed.
func differences(was, is []postgres.Fact) []string {
	now := make(map[string]string, len(is))
	for _, f := range is {
		now[f.What] = f.Is
	}
	var list []string
	for _, f := range was {
		switch v, ok := now[f.What]; {
		case !ok:
			list = append(list, fmt.Sprintf("%s: was %s, is no longer part of it", f.What, f.Is))
		case v != f.Is:
			list = append(list, fmt.Sprintf("%s: was %s, is %s", f.What, f.Is, v))
		}
		delete(now, f.What)
	}
	for _, f := range is {
		if _, ok := now[f.What]; ok {
			list = append(list, fmt.Sprintf("%s: is new, %s", f.What, f.Is))
		}
	}
	return list
}
