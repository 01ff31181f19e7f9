package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"tidemark/backfill"
	"tidemark/internal/postgres"
)

const (
	// followPoll is the interval at which a followed backfill is read. followLine is the interval of its lines if the output is not a
	// terminal.
	followPoll = 500 * time.Millisecond
	followLine = 5 * time.Second
	// noProgressTimeout is the time without progress before the follower checks whether any worker is running.
	noProgressTimeout = 10 * time.Second
)

// follow shows the progress of a backfill until the backfill is over or ctx ends. The backfill continues after the end of ctx. If slots
// failed, follow returns an error at the end.
func (p *program) follow(ctx context.Context, db *postgres.DB, id int64) error {
	show := p.meter()
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	idle := progressWatch{since: p.now()}
	for {
		progress, err := backfill.ProgressOf(ctx, db, id)
		switch {
		case ctx.Err() != nil:
			show.end()
			return fmt.Errorf("no longer followed: backfill %d continues in the workers (`tidemark backfill show %d` looks at it, "+
				"`tidemark backfill pause %d` stops it)", id, id, id)
		case err != nil:
			show.end()
			return err
		}
		show.progress(progress, p.now())
		if progress.Over() {
			show.end()
			return p.ended(ctx, db, progress)
		}
		if idle.tooLong(progress, p.now()) {
			show.line("Nothing has happened for " + noProgressTimeout.String() + ": is a scheduler running, and a worker? (`tidemark up`, or " +
				"`tidemark scheduler` and `tidemark worker`.) The backfill waits for them.")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// ended prints the outcome of a backfill.
func (p *program) ended(ctx context.Context, db *postgres.DB, progress backfill.Progress) error {
	id := progress.ID
	_, _ = fmt.Fprintf(p.stdout, "backfill %d of %s: %s. %s\n", id, progress.Signal, progress.State, tally(progress))
	if progress.State == postgres.BackfillPaused {
		note := "by somebody else"
		if progress.Note != nil {
			note = *progress.Note
		}
		return fmt.Errorf("backfill %d was paused: %s", id, note)
	}
	if progress.State == postgres.BackfillCancelled {
		return fmt.Errorf("backfill %d was cancelled: %s", id, progress.Remains())
	}
	if progress.Failed == 0 {
		return nil
	}
	slots, err := db.BackfillSlots(ctx, id, postgres.SlotFailed, false, shownSlots)
	if err != nil {
		return err
	}
	if err := writeSlots(p.stdout, progress, slots); err != nil {
		return err
	}
	return fmt.Errorf("%d slots of backfill %d have failed (`tidemark backfill retry-failed %d` tries them again)", progress.Failed, id, id)
}

// progressWatch detects that no worker makes progress.
type progressWatch struct {
	since time.Time
	seen  int64
	told  bool
}

func (i *progressWatch) tooLong(p backfill.Progress, now time.Time) bool {
	if state := p.Finished() + p.Running; state != i.seen || p.Running+p.Asking > 0 {
		i.seen, i.since = state, now
	}
	if i.told || now.Sub(i.since) < noProgressTimeout {
		return false
	}
	i.told = true
	return true
}

// meter shows progress: a bar on a terminal, lines elsewhere.
type meter struct {
	out  io.Writer
	bar  *progressbar.ProgressBar
	tty  bool
	last time.Time
	said string
}

func (p *program) meter() *meter {
	f, ok := p.stdout.(*os.File)
	return &meter{out: p.stdout, tty: ok && term.IsTerminal(int(f.Fd()))}
}

func (m *meter) progress(p backfill.Progress, now time.Time) {
	if !m.tty {
		if p.State != m.said || now.Sub(m.last) >= followLine {
			m.said, m.last = p.State, now
			_, _ = fmt.Fprintln(m.out, p)
		}
		return
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions64(p.Total(), progressbar.OptionSetWriter(m.out), progressbar.OptionSetWidth(30),
			progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionShowDescriptionAtLineEnd(), progressbar.OptionSetRenderBlankState(true))
	}
	// Rate and time left come from the workers' progress, so they do not depend on when this command began. The library would count from
	// its start.
	words := []string{p.State}
	if pace := p.Pace(); pace != "" {
		words = append(words, pace)
	}
	if p.Failed > 0 {
		words = append(words, fmt.Sprintf("%d failed", p.Failed))
	}
	m.bar.Describe(strings.Join(words, ", "))
	_ = m.bar.Set64(p.Finished())
}

// line prints a line below the bar.
func (m *meter) line(s string) {
	m.end()
	_, _ = fmt.Fprintln(m.out, s)
}

// end leaves the bar as it is and moves to the next line.
func (m *meter) end() {
	if m.bar != nil {
		_, _ = fmt.Fprintln(m.out)
	}
}

func tally(p backfill.Progress) string {
	var parts []string
	add := func(n int64, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(p.Added, "added")
	add(p.Unchanged, "unchanged")
	add(p.Differs, "differ from what stands (kept beside it)")
	add(p.Failed, "failed")
	add(p.Cancelled, "cancelled")
	add(p.Pending, "left")
	add(p.Skipped, "left alone")
	if len(parts) == 0 {
		return "0 slots"
	}
	return strings.Join(parts, ", ")
}

// writePlan prints a plan: the requests to sources, and the dates with their old and new values.
func writePlan(out io.Writer, plan backfill.Plan) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "plan %d: %s\n", plan.ID, subject(plan.Backfill))
	pending := 0
	var why []string
	reasons := map[string]int{}
	for _, s := range plan.Slots {
		if s.Status == postgres.SlotPending {
			pending++
			continue
		}
		if reasons[*s.Reason]++; reasons[*s.Reason] == 1 {
			why = append(why, *s.Reason)
		}
	}
	fmt.Fprintf(&b, "  %s, %d of them to do", counted(len(plan.Slots), "slot"), pending)
	for _, reason := range why {
		fmt.Fprintf(&b, "; %d left alone: %s", reasons[reason], reason)
	}
	b.WriteString("\n")
	if plan.Unforeseen {
		b.WriteString("  Of these, slots before the first value of the signal are left alone: which they are is known when the sources have been asked.\n")
	}
	for _, a := range plan.Fetches {
		fmt.Fprintf(&b, "  %s: %s%s\n", a.Source, a, limits(a))
	}
	for _, c := range plan.Changes {
		fmt.Fprintf(&b, "\n  What will look changed, and to whom: %s.\n", c)
	}
	writePreview(&b, plan, pending)
	_, err := out.Write(b.Bytes())
	return err
}

// limits describes how a source's limits affect the requests to it.
func limits(a backfill.SourceRequest) string {
	if a.Requests == 0 {
		return ""
	}
	least, pages := "", ""
	if d := a.MinDuration(); d > 0 {
		least = fmt.Sprintf(", which takes %s or more", d)
	}
	if a.Pages > 0 {
		pages = fmt.Sprintf("; up to %s each", counted(a.Pages, "further page"))
	}
	return fmt.Sprintf(" (one in %s at most%s%s; %s in the last 24 hours)", a.Interval, least, pages, counted(a.LastDay, "request"))
}

// subject describes a backfill: signal, days, and the data that its slots may use.
func subject(b postgres.Backfill) string {
	known := "each slot from what was known at it"
	if b.AsOf != nil {
		known = "all from what was known at " + b.AsOf.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("%s from %s to %s (%s), %s", b.Signal, b.FromDay.Format(time.DateOnly), b.ToDay.Format(time.DateOnly), b.Zone, known)
}

func writePreview(b *bytes.Buffer, plan backfill.Plan, pending int) {
	if plan.Preview == 0 {
		return
	}
	w := tabwriter.NewWriter(b, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\n  SLOT\tOLD\t\tNEW")
	n, unknown := 0, true
	for _, s := range plan.Slots {
		if s.Status != postgres.SlotPending {
			continue
		}
		unknown = unknown && s.NewValue == nil
		if n++; n > plan.Preview {
			break
		}
		was, is := change(s.OldValue, s.NewValue)
		_, _ = fmt.Fprintf(w, "  %s\t%s\t->\t%s\n", instant(&s.Slot), was, is)
	}
	_ = w.Flush()
	if unknown && slices.ContainsFunc(plan.Fetches, func(a backfill.SourceRequest) bool { return a.First }) {
		b.WriteString("  Nothing can be foreseen before the first load.\n")
	}
	if rest := pending - plan.Preview; rest > 0 {
		fmt.Fprintf(b, "  and %d more (--diff computes and shows them all)\n", rest)
	}
}

// change returns two values with as many digits as are needed to tell them apart.
func change(was, is *float64) (string, string) {
	short := func(v *float64, digits int) string {
		if v == nil {
			return "-"
		}
		return strconv.FormatFloat(*v, 'g', digits, 64)
	}
	a, b := short(was, 6), short(is, 6)
	if a == b && was != nil && is != nil && *was != *is {
		return short(was, -1), short(is, -1)
	}
	return a, b
}

func writeBackfill(out io.Writer, p backfill.Progress, fetches []postgres.BackfillFetch) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(name, value string) { _, _ = fmt.Fprintf(w, "%s\t%s\n", name, value) }
	line(fmt.Sprintf("backfill %d", p.ID), subject(p.Backfill))
	line("state", p.State)
	if p.Note != nil {
		line("why", *p.Note)
	}
	line("slots", fmt.Sprintf("%d of %d done: %s", p.Finished(), p.Total(), tally(p)))
	if pace := p.Pace(); pace != "" {
		line("pace", pace)
	}
	if left := p.Remains(); left != "" {
		line("remains", left)
	}
	line("at work", fmt.Sprintf("%d of at most %d runs, %d waiting", p.Running, p.Parallelism, p.Waiting))
	for _, f := range fetches {
		state := "not yet"
		switch {
		case f.RunStatus != nil:
			state = fmt.Sprintf("run %d %s", *f.RunID, *f.RunStatus)
			if f.Error != nil {
				state += ": " + *f.Error
			}
		case f.RunID != nil:
			state = fmt.Sprintf("run %d", *f.RunID)
		}
		if f.Waived {
			state += " (given up)"
		}
		line("source "+f.Source, state)
	}
	line("existing", p.Existing)
	line("planned", instant(&p.PlannedAt))
	line("applied", instant(p.AppliedAt))
	line("finished", instant(p.FinishedAt))
	return w.Flush()
}

func writeSlots(out io.Writer, p backfill.Progress, slots []postgres.BackfillSlot) error {
	if len(slots) == 0 {
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nSLOT\tSTATUS\tOUTCOME\tOLD\tNEW\tRUN\tREASON")
	failed := int64(0)
	for _, s := range slots {
		if s.Status == postgres.SlotFailed {
			failed++
		}
		was, is := change(s.OldValue, s.NewValue)
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", instant(&s.Slot), s.Status, deref(s.Outcome), was, is,
			count(s.RunID), firstLine(s.Reason))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if rest := p.Failed - failed; rest > 0 {
		_, err := fmt.Fprintf(out, "and %d more failed (--slots shows all)\n", rest)
		return err
	}
	return nil
}

// firstLine returns a reason without the stack of a panic.
func firstLine(s *string) string {
	line, _, _ := strings.Cut(deref(s), "\n")
	return line
}
