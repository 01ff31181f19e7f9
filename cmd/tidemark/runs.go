package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/postgres"
)

type runsCommand struct {
	config.Database

	Job     string `help:"Only this job, such as ingest, signal, pick."`
	Subject string `help:"Only this subject, such as a source or a signal."`
	Status  string `help:"Only this status (due, queued, running, succeeded, failed, skipped)."`
	ID      int64  `arg:"" optional:"" help:"One run, in full."`
	Limit   int    `default:"50" help:"How many, newest slots first."`
}

// Run prints the run log, or one run in full.
func (c runsCommand) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Runs(ctx, postgres.RunFilter{Job: c.Job, Subject: c.Subject, Status: c.Status, ID: c.ID, Limit: c.Limit})
	if err != nil {
		return err
	}
	if c.ID != 0 {
		if len(list) == 0 {
			return fmt.Errorf("there is no run %d", c.ID)
		}
		return errors.Join(p.printRun(list[0]), p.printFindings(ctx, db, c.ID))
	}
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tJOB\tSUBJECT\tSLOT\tTRIGGER\tSTATUS\tATTEMPT\tSTARTED\tFINISHED\tROWS\tERROR")
	for _, r := range list {
		_, _ = fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.ID, r.Job, r.Subject, r.Slot.UTC().Format(time.RFC3339),
			r.Trigger, r.Status, r.Attempt, instant(r.StartedAt), instant(r.FinishedAt), count(r.RowsAdded), brief(r))
	}
	return w.Flush()
}

func (p *program) printRun(r postgres.Run) error {
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	for _, line := range [][2]string{
		{"run", strconv.FormatInt(r.ID, 10)},
		{"job", r.Job},
		{"subject", r.Subject},
		{"slot", r.Slot.UTC().Format(time.RFC3339Nano)},
		{"trigger", r.Trigger},
		{"queue", r.Queue},
		{"status", r.Status},
		{"attempt", fmt.Sprintf("%d (%d failed, %d lost with their worker)", r.Attempt, r.Failures, r.Losses)},
		{"worker", deref(r.Worker)},
		{"created", r.CreatedAt.UTC().Format(time.RFC3339)},
		{"queued", instant(r.QueuedAt)},
		{"started", instant(r.StartedAt)},
		{"last sign", instant(r.HeartbeatAt)},
		{"finished", instant(r.FinishedAt)},
		{"next try", instant(r.NextTryAt)},
		{"rows added", count(r.RowsAdded)},
		{"reason", deref(r.Reason)},
		{"error", deref(r.Error)},
	} {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
	}
	return w.Flush()
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

// brief is a run's error or reason in one line.
func brief(r postgres.Run) string {
	text := deref(r.Error)
	if r.Error == nil {
		text = deref(r.Reason)
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 120 {
		text = text[:117] + "..."
	}
	return text
}
