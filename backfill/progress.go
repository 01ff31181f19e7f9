package backfill

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tidemark/internal/postgres"
)

// The displayed states of a backfill, in addition to the states that an operator sets.
const (
	StateAsking = "asking the sources"
	StateDone   = "done"
)

// Progress is how far a backfill has come, counted from its slots when it was asked for.
type Progress struct {
	postgres.Backfill
	postgres.BackfillCounts
	State string
	// Rate is slots per second, over the last minute at most; 0 while none was done in that time.
	Rate float64
	// Left is the time that the rest takes at that rate, negative where there is no rate.
	Left time.Duration
}

// ProgressOf counts.
func ProgressOf(ctx context.Context, db *postgres.DB, id int64) (Progress, error) {
	b, err := db.Backfill(ctx, id)
	if err != nil {
		return Progress{}, err
	}
	c, err := db.BackfillCounts(ctx, id)
	if err != nil {
		return Progress{}, err
	}
	return measure(b, c), nil
}

func measure(b postgres.Backfill, c postgres.BackfillCounts) Progress {
	p := Progress{Backfill: b, BackfillCounts: c, State: StateOf(b, c), Left: -1}
	if c.Lately > 0 && c.Seconds > 0 {
		p.Rate = float64(c.Lately) / c.Seconds
		p.Left = time.Duration(float64(c.Pending) / p.Rate * float64(time.Second))
	}
	return p
}

// StateOf is the state of a backfill in a word or two.
func StateOf(b postgres.Backfill, c postgres.BackfillCounts) string {
	switch {
	case b.Status != postgres.BackfillRunning:
		return b.Status
	case b.FinishedAt != nil:
		return StateDone
	case c.Asking > 0:
		return StateAsking
	}
	return b.Status
}

// Over reports whether the backfill has ended and does nothing more without an operator.
func (p Progress) Over() bool {
	return p.State != StateAsking && p.State != postgres.BackfillRunning
}

// Finished counts the slots of the plan that were done or have failed, of Total. Slots that the plan skips are in neither, and cancelled
// slots are not done.
func (p Progress) Finished() int64 { return p.Done + p.Failed }

// Total counts the slots that the plan is to do.
func (p Progress) Total() int64 { return p.Slots - p.Skipped }

// String is the progress in one line.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "backfill %d of %s: %s, %d of %d slots", p.ID, p.Signal, p.State, p.Finished(), p.Total())
	if total := p.Total(); total > 0 {
		fmt.Fprintf(&b, " (%d%%)", 100*p.Finished()/total)
	}
	if p.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", p.Failed)
	}
	if p.Cancelled > 0 {
		fmt.Fprintf(&b, ", %d cancelled", p.Cancelled)
	}
	if pace := p.Pace(); pace != "" {
		b.WriteString(", " + pace)
	}
	return b.String()
}

// Remains says of a cancelled backfill what it leaves, and how the rest is done after all; empty for any other.
func (p Progress) Remains() string {
	if p.Status != postgres.BackfillCancelled {
		return ""
	}
	count := func(n int64, one, more string) string {
		if n == 1 {
			return "1 " + one
		}
		return fmt.Sprintf("%d %s", n, more)
	}
	var b strings.Builder
	switch {
	case p.AppliedAt == nil:
		return "it was never begun: nothing of it is stored"
	case p.Added > 0:
		b.WriteString(count(p.Added, "snapshot that it made stays and is served as history: it is", "snapshots that it made stay and are served as history: they are"))
		b.WriteString(" what the slots came to, and nothing removes what was once served")
	default:
		b.WriteString("it has made no snapshot")
	}
	if p.Differs > 0 {
		b.WriteString("; " + count(p.Differs, "result that differs from what stands is", "results that differ from what stands are") +
			" kept beside it, and not served (`tidemark backfill diff`)")
	}
	if p.Running > 0 {
		b.WriteString("; " + count(p.Running, "run that is", "runs that are") + " under way may still add some")
	}
	b.WriteString("; what its sources answered is stored, too")
	if p.Cancelled > 0 {
		fmt.Fprintf(&b, ". %s not done. To do them: `tidemark backfill run --signal=%s --from=%s --to=%s", count(p.Cancelled, "slot was", "slots were"), p.Signal,
			p.FromDay.Format(time.DateOnly), p.ToDay.Format(time.DateOnly))
		if p.AsOf != nil {
			b.WriteString(" --as-of=" + p.AsOf.UTC().Format(time.RFC3339Nano))
		} else if p.Existing != ExistingSkip {
			b.WriteString(" --existing=" + p.Existing)
		}
		if p.FromArchive {
			b.WriteString(" --from-archive")
		}
		b.WriteString("`")
	}
	return b.String()
}

// Pace is rate and time left in words, empty while it is not at work.
func (p Progress) Pace() string {
	if p.Over() || p.State == StateAsking || p.Rate == 0 {
		return ""
	}
	return fmt.Sprintf("%s slots/s, %s left", rate(p.Rate), p.Left.Round(time.Second))
}

func rate(r float64) string {
	if r < 10 {
		return fmt.Sprintf("%.1f", r)
	}
	return fmt.Sprintf("%.0f", r)
}
