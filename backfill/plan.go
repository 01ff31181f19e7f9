package backfill

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"tidemark/ingest"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
)

// Which slots of a range are done, in addition to the slots that never had a run.
const (
	ExistingSkip   = "skip"   // no others
	ExistingFailed = "failed" // those whose run has failed
	ExistingAll    = "all"    // all of them: equal stored values are kept, different ones get a new row
)

// Request is an operator's request. The texts of the errors about it name the command's flags.
type Request struct {
	Signal string
	// From and To are the first and the last day; only their dates count, in the zone of the signal's schedule.
	From, To time.Time
	// AsOf, if it is not zero, is the instant whose knowledge every slot uses, as one computation made then. If it is zero, each slot is
	// computed from the data known at the slot.
	AsOf time.Time
	// FromArchive reads the archived answers of the sources again instead of asking them.
	FromArchive bool
	// Existing is empty for the default: ExistingSkip, or ExistingAll with AsOf, which looks at every slot.
	Existing string
	// Parallelism is how many runs may be under way at once.
	Parallelism int
	// Until, when it is not zero, leaves out the slots after it.
	Until time.Time
	// Preview is the number of planned slots whose new value is computed at once. Negative means all.
	Preview int
}

// RequestError is a fault of a Request.
type RequestError struct{ error }

// Unwrap returns what is wrong.
func (e RequestError) Unwrap() error { return e.error }

func requestError(format string, args ...any) error {
	return RequestError{fmt.Errorf(format, args...)}
}

// Planner makes plans. All fields are required.
type Planner struct {
	DB          *postgres.DB
	Definitions []signals.Definition
	Sources     []ingest.Source
	// Compute makes the snapshot of a signal for an instant from the data known then. It is the function of the scheduled runs.
	Compute func(ctx context.Context, def signals.Definition, at time.Time) (postgres.Snapshot, error)
	// Now is the world's time.
	Now time.Time
	// CodeVersion names the program that plans.
	CodeVersion string
}

// Plan is a plan as it is shown and stored.
type Plan struct {
	postgres.Backfill
	Fetches []SourceRequest
	Slots   []postgres.BackfillSlot
	// Preview counts the slots whose NewValue was computed.
	Preview int
	// Changes describes the changes that readers will see, and where.
	Changes []string
	// Unforeseen reports whether a source was never loaded: it is then unknown which slots come before the first value of the signal.
	Unforeseen bool
}

// SourceRequest is a request to a source before the slots.
type SourceRequest struct {
	postgres.BackfillFetch
	// First reports whether the source was never loaded. Its whole history is then requested, because its known history must not begin in
	// the middle.
	First bool
	Hosts []string
	// Interval is the min time between two requests to one host. Pages is the max number of pages that may follow a request. LastDay is
	// the number of requests to the source in the last 24 hours of the world's time.
	Interval time.Duration
	Pages    int
	LastDay  int64
}

// Plan works out a request: its slots, the requests to the sources, the stored value of each slot, and for some slots the new value. It
// sends no request and stores nothing. If the request makes no sense, it returns a RequestError that names the flag.
func (p Planner) Plan(ctx context.Context, r Request) (Plan, error) {
	def, err := p.check(&r)
	if err != nil {
		return Plan{}, err
	}
	if r.Until.IsZero() || p.Now.Before(r.Until) {
		r.Until = p.Now
	}
	times, err := slots(def.Cadence, r.From, r.To, r.Until)
	if err != nil {
		return Plan{}, err
	}
	if len(times) == 0 {
		return Plan{}, requestError("--from, --to: %s has no slot (%q in %s) from %s to %s that has come by %s", def.ID, def.Cadence.Cron,
			zoneName(def.Cadence), r.From.Format(time.DateOnly), r.To.Format(time.DateOnly), r.Until.Format(time.RFC3339))
	}
	if last := times[len(times)-1]; !r.AsOf.IsZero() && r.AsOf.Before(last) {
		return Plan{}, requestError("--as-of %s is before the last slot of the range, %s", r.AsOf.Format(time.RFC3339), last.Format(time.RFC3339))
	}
	plan := Plan{Backfill: postgres.Backfill{
		Signal: def.ID, FromDay: r.From, ToDay: r.To, Zone: zoneName(def.Cadence), Existing: r.Existing, FromArchive: r.FromArchive,
		Parallelism: r.Parallelism, Status: postgres.BackfillPlanned, SeenAt: r.Until,
	}}
	if !r.AsOf.IsZero() {
		plan.AsOf = &r.AsOf
	}
	states, err := p.DB.SeriesStates(ctx, def.Inputs)
	if err != nil {
		return Plan{}, err
	}
	if plan.Fetches, err = p.sourceRequests(ctx, def, r, states); err != nil {
		return Plan{}, err
	}
	past, err := p.DB.PastSlots(ctx, def.ID, times[0], times[len(times)-1])
	if err != nil {
		return Plan{}, err
	}
	plan.Slots = layOutSlots(times, past, r)
	plan.Unforeseen = slices.ContainsFunc(states, func(s postgres.SeriesState) bool { return !s.Loaded() })
	if r.AsOf.IsZero() && !plan.Unforeseen {
		if err := p.passOver(ctx, def, plan.Slots, past); err != nil {
			return Plan{}, err
		}
	}
	plan.Basis = fingerprint(p.CodeVersion, def, times, states, past, plan.Fetches)
	if plan.Changes, err = p.changes(ctx, r, plan.Slots); err != nil {
		return Plan{}, err
	}
	return plan, p.preview(ctx, def, r, &plan)
}

// passOver leaves the slots alone of a time when nothing was known of the signal: what would be computed for them is empty. From the first
// slot at which something was known there is something at every later one.
func (p Planner) passOver(ctx context.Context, def signals.Definition, slots []postgres.BackfillSlot, past []postgres.PastSlot) error {
	stands := map[int64]bool{}
	for _, s := range past {
		stands[s.Slot.UnixMicro()] = s.HasSnapshot
	}
	empty := func(s postgres.BackfillSlot) bool {
		return s.Status == postgres.SlotPending && !stands[s.Slot.UnixMicro()]
	}
	if !slices.ContainsFunc(slots, empty) {
		return nil
	}
	var fault error
	first := sort.Search(len(slots), func(i int) bool {
		if fault != nil {
			return true
		}
		known, err := p.knows(ctx, def, slots[i].Slot)
		fault = err
		return err != nil || known
	})
	if fault != nil {
		return fmt.Errorf("look for the first value of %s: %w", def.ID, fault)
	}
	for i := range slots[:first] {
		if empty(slots[i]) {
			slots[i].Status, slots[i].Reason = postgres.SlotSkipped, new(nothingKnown)
		}
	}
	return nil
}

// knows reports whether data of a signal was known at an instant. Numbers that break its computation count as known.
func (p Planner) knows(ctx context.Context, def signals.Definition, at time.Time) (known bool, err error) {
	defer func() {
		if recover() != nil {
			known, err = true, nil // the slot's own run fails by it, and says how
		}
	}()
	snap, err := p.Compute(ctx, def, at)
	return snap.ObservedAt != nil, err
}

// changes says what readers will see otherwise when a plan has been applied.
func (p Planner) changes(ctx context.Context, r Request, slots []postgres.BackfillSlot) (list []string, err error) {
	if !r.AsOf.IsZero() {
		return []string{"nothing, to nobody: what comes out is kept with the backfill"}, nil
	}
	first, err := p.DB.FirstComputed(ctx, r.Signal)
	if err != nil {
		return nil, err
	}
	before, between := 0, 0
	for _, s := range slots {
		switch {
		case s.Status != postgres.SlotPending || s.OldValue != nil:
		case first.IsZero() || s.Slot.Before(first):
			before++
		default:
			between++
		}
	}
	if before > 0 && !first.IsZero() {
		list = append(list, fmt.Sprintf("who asks for a time before the first snapshot (as_of, history, vintages): %d slots before %s get an answer, "+
			"points are known from earlier on, and vintages lists them at those slots. What was said for %s and later stays, and nothing counts as "+
			"revised or withdrawn", before, first.Format(time.RFC3339), first.Format(time.RFC3339)))
	}
	if between > 0 {
		list = append(list, fmt.Sprintf("who asks as of one of %d slots that have no snapshot, or of the time up to the next that has one: the answer is "+
			"what was known at the slot, no longer what was said before it", between))
	}
	return list, nil
}

// Store stores a plan and gives it its number.
func (p Planner) Store(ctx context.Context, plan *Plan) error {
	fetches := make([]postgres.BackfillFetch, len(plan.Fetches))
	for i, a := range plan.Fetches {
		fetches[i] = a.BackfillFetch
	}
	id, err := p.DB.SavePlan(ctx, plan.Backfill, fetches, plan.Slots)
	plan.ID = id
	return err
}

// check finds the signal, fills in what is left open and reports every fault at once.
func (p Planner) check(r *Request) (signals.Definition, error) {
	var errs []error
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	i := slices.IndexFunc(p.Definitions, func(d signals.Definition) bool { return d.ID == r.Signal })
	var def signals.Definition
	if i < 0 {
		ids := make([]string, len(p.Definitions))
		for i, d := range p.Definitions {
			ids[i] = d.ID
		}
		fault("--signal: unknown signal %q%s", r.Signal, nearest.SuggestOr(r.Signal, ids...))
	} else {
		def = p.Definitions[i]
		zone, err := zoneOf(def.Cadence)
		if err != nil {
			return def, err
		}
		begin, _ := days(r.From, r.To, zone)
		lastDay, _ := days(r.To, r.To, zone)
		switch {
		case r.From.IsZero() || r.To.IsZero():
			fault("--from, --to: a range has a first and a last day")
		case lastDay.Before(begin):
			fault("--from %s is after --to %s", r.From.Format(time.DateOnly), r.To.Format(time.DateOnly))
		case lastDay.After(p.Now):
			fault("--to %s lies in the future: it is %s", r.To.Format(time.DateOnly), p.Now.In(zone).Format("2006-01-02 15:04 MST"))
		}
	}
	if r.AsOf.After(p.Now) {
		fault("--as-of %s lies in the future: it is %s", r.AsOf.Format(time.RFC3339), p.Now.Format(time.RFC3339))
	}
	switch r.Existing {
	case "":
		r.Existing = ExistingSkip
		if !r.AsOf.IsZero() {
			r.Existing = ExistingAll
		}
	case ExistingSkip, ExistingFailed:
		if !r.AsOf.IsZero() {
			fault("--existing %s does not go with --as-of, which looks at every slot and overwrites none", r.Existing)
		}
	case ExistingAll:
	default:
		fault("--existing %q is none of skip, failed, all%s", r.Existing, nearest.Suggest(r.Existing, ExistingSkip, ExistingFailed, ExistingAll))
	}
	if r.Parallelism < 1 {
		fault("--parallelism %d is less than 1", r.Parallelism)
	}
	r.AsOf = r.AsOf.UTC()
	if len(errs) > 0 {
		return def, RequestError{errors.Join(errs...)}
	}
	return def, nil
}

func zoneName(c series.Cadence) string { return cmp.Or(c.Zone, "UTC") }

// layOutSlots decides what is done with each slot.
func layOutSlots(times []time.Time, past []postgres.PastSlot, r Request) []postgres.BackfillSlot {
	known := make(map[int64]postgres.PastSlot, len(past))
	for _, s := range past {
		known[s.Slot.UnixMicro()] = s
	}
	list := make([]postgres.BackfillSlot, len(times))
	for i, t := range times {
		s := postgres.BackfillSlot{Slot: t, Status: postgres.SlotPending}
		before := known[t.UnixMicro()]
		s.OldValue = before.Value
		var reason string
		switch {
		case before.HasSnapshot && r.Existing != ExistingAll:
			reason = "it has a snapshot"
		case before.HasFailed && !before.HasSnapshot && r.Existing == ExistingSkip:
			reason = "its run has failed"
		}
		if reason != "" {
			s.Status, s.Reason = postgres.SlotSkipped, &reason
		}
		list[i] = s
	}
	return list
}

// preview computes the new values of the first planned slots.
func (p Planner) preview(ctx context.Context, def signals.Definition, r Request, plan *Plan) error {
	var known *previous
	for i := range plan.Slots {
		s := &plan.Slots[i]
		if s.Status != postgres.SlotPending {
			continue
		}
		if r.Preview >= 0 && plan.Preview >= r.Preview {
			return nil
		}
		snap, err := p.Compute(ctx, def, s.Slot)
		if err != nil {
			return fmt.Errorf("foresee %s at %s: %w", def.ID, s.Slot.Format(time.RFC3339), err)
		}
		s.NewValue = snap.Value
		if !r.AsOf.IsZero() {
			if known == nil {
				if known, err = readPrevious(ctx, p.DB, def, r.AsOf); err != nil {
					return err
				}
			}
			s.NewValue = known.about(snap).Value
		}
		plan.Preview++
	}
	return nil
}
