package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/nearest"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

type runsCommand struct {
	List runsList `cmd:"" default:"withargs" help:"Print the run log."`
	Show runsShow `cmd:"" help:"Print one run in full, with every attempt and what it logged."`
}

type runsShow struct {
	config.Stored
	format

	ID int64 `arg:"" help:"The run's number in the run log."`
}

// Run prints one run in full.
func (c runsShow) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	return c.show(ctx, p, db)
}

func (c runsShow) show(ctx context.Context, p *program, db *postgres.DB) error {
	list, err := db.Runs(ctx, postgres.RunFilter{ID: c.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("unknown run %d", c.ID)
	}
	attempts, err := db.Attempts(ctx, c.ID)
	if err != nil {
		return err
	}
	r := list[0]
	t := newTable("run", "job", "subject", "slot", "trigger", "queue", "status", "attempt", "failures", "losses", "worker", "created", "queued", "started",
		"last sign", "finished", "next try", "rows added", "reason", "error")
	t.add(r.ID, r.Job, r.Subject, r.Slot, r.Trigger, r.Queue, r.Status, r.Attempt, r.Failures, r.Losses, r.Worker, r.CreatedAt, r.QueuedAt, r.StartedAt,
		r.HeartbeatAt, r.FinishedAt, r.NextTryAt, r.RowsAdded, r.Reason, r.Error)
	if c.JSON {
		t.columns = append(t.columns, "attempts")
		t.rows[0] = append(t.rows[0], attempts)
		return c.format.show(p.stdout, t)
	}
	if err := c.format.show(p.stdout, t); err != nil {
		return err
	}
	tried := newTable("attempt", "worker", "started", "finished", "outcome", "rows", "error")
	for _, a := range attempts {
		tried.add(a.Attempt, a.Worker, a.StartedAt, a.FinishedAt, a.Outcome, a.Rows, cut{a.Error})
	}
	_, _ = fmt.Fprintln(p.stdout)
	if err := c.list(p.stdout, tried); err != nil {
		return err
	}
	for _, a := range attempts {
		for _, l := range a.Log {
			_, _ = fmt.Fprintf(p.stdout, "%d  %s  %-5s  %s\n", a.Attempt, l.At.UTC().Format(time.RFC3339), l.Level, l.Text)
		}
	}
	return p.printFindings(ctx, db, c.ID)
}

type runsList struct {
	config.Stored
	format

	Job     string `help:"Only this job, such as ingest, signal, pick."`
	Subject string `help:"Only this subject, such as a source or a signal."`
	Status  string `help:"Only this status: due, queued, running, succeeded, failed or skipped."`
	Since   string `help:"Only slots from this time on: 24h, 7d, 2026-11-20 or an RFC 3339 time."`
	ID      int64  `arg:"" optional:"" help:"One run, as show prints it."`
	Limit   limit  `default:"50" help:"How many, newest slots first."`
}

// Run prints the run log, or one run in full.
func (c runsList) Run(ctx context.Context, p *program) error {
	if err := oneOf("--status", c.Status, postgres.RunStatuses...); err != nil {
		return err
	}
	if err := oneOf("--job", c.Job, slices.Sorted(maps.Keys(task.Policies))...); err != nil {
		return err
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.ID != 0 {
		return runsShow{format: c.format, ID: c.ID}.show(ctx, p, db)
	}
	f := postgres.RunFilter{Job: c.Job, Subject: c.Subject, Status: c.Status, Limit: int(c.Limit)}
	if c.Since != "" {
		now, err := p.worldTime(ctx, db)
		if err != nil {
			return err
		}
		if f.Since, err = parseSince(c.Since, now); err != nil {
			return usageError{err}
		}
	}
	list, err := db.Runs(ctx, f)
	if err != nil {
		return err
	}
	if len(list) == 0 && c.Subject != "" {
		unknown, err := ops.UnknownSubject(ctx, db, c.Job, c.Subject)
		if err != nil {
			return err
		}
		if unknown != "" {
			return usageError{errors.New("--subject: the " + unknown)}
		}
	}
	t := newTable("id", "job", "subject", "slot", "trigger", "status", "next try", "attempt", "started", "finished", "rows", "error", "reason")
	for _, r := range list {
		if r.Status != "due" { // the time of an attempt that was made
			r.NextTryAt = nil
		}
		t.add(r.ID, r.Job, r.Subject, r.Slot, r.Trigger, r.Status, r.NextTryAt, r.Attempt, r.StartedAt, r.FinishedAt, r.RowsAdded, cut{r.Error}, cut{r.Reason})
	}
	return c.list(p.stdout, t)
}

// oneOf returns an error if a flag's value is not one of the known values. The error suggests the closest one. An empty value means that
// the flag is not set.
func oneOf(flag, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	near := nearest.Suggest(value, known...)
	if near == "" {
		near = "; there are " + strings.Join(known, ", ")
	}
	return usageError{fmt.Errorf("%s: %q is not known%s", flag, value, near)}
}

// parseSince parses a time, or a duration before now.
func parseSince(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.AddDate(0, 0, -n), nil
		}
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	return time.Time{}, fmt.Errorf("--since: %q is not a time such as 2026-11-20 or 2026-11-20T18:00:00Z, nor how long ago, such as 24h or 7d", text)
}

func instant(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func count(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func deref[S ~string](s *S) string {
	if s == nil {
		return "-"
	}
	return string(*s)
}
