package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/nearest"
	"tidemark/internal/ops"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

type scheduleCommand struct {
	config.Stored

	List   scheduleList   `cmd:"" default:"withargs" help:"Print the schedule."`
	Next   scheduleNext   `cmd:"" help:"Print the slots that come next."`
	Run    scheduleRun    `cmd:"" help:"Run a job now."`
	Pause  schedulePause  `cmd:"" help:"Stop the slots of a job: while it is paused they are recorded as skipped."`
	Resume scheduleResume `cmd:"" help:"Let the slots of a job come again."`
}

type scheduleList struct{ format }

// Run prints the schedule.
func (c scheduleList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Schedules(ctx)
	if err != nil {
		return err
	}
	pauses, err := db.Pauses(ctx)
	if err != nil {
		return err
	}
	t := newTable("job", "subject", "cron", "zone", "catch up", "last slot", "paused")
	for _, s := range list {
		paused := ""
		if s.Paused {
			paused = pauses[[2]string{s.Job, s.Subject}].String()
		}
		t.add(s.Job, s.Subject, s.Cron, s.Zone, s.CatchUp, s.LastSlot, paused)
	}
	return c.list(p.stdout, t)
}

type scheduleRun struct {
	Job     string    `arg:"" help:"A job of the schedule, such as ingest or signal."`
	Subject string    `arg:"" help:"What it is run for: the source, the signal, or as the schedule names it."`
	For     time.Time `format:"2006-01-02T15:04:05Z07:00" help:"The logical time (RFC 3339). Default: the world's time."`
	Reason  reason    `default:"asked for on the command line" help:"Why, for the run log."`
	Wait    bool      `help:"Wait for the end of the run, or of its first attempt if that fails: exit status 1 then."`
}

// Run records a run for now, or for a given time. The scheduler and the workers then run it.
func (c scheduleRun) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Schedules(ctx)
	if err != nil {
		return err
	}
	if err := scheduled(list, c.Job, c.Subject); err != nil {
		return err
	}
	slot := c.For
	if slot.IsZero() {
		if slot, err = p.worldTime(ctx, db); err != nil {
			return err
		}
	}
	id, err := db.AddRun(ctx, c.Job, c.Subject, slot.UTC(), string(c.Reason))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "run %d: %s of %s for %s (follow it with `tidemark runs %d`)\n", id, c.Job, c.Subject,
		slot.UTC().Format(time.RFC3339), id)
	if err != nil || !c.Wait {
		return err
	}
	return p.awaitRun(ctx, db, id)
}

// awaitRun waits until a run is over, or an attempt of it has failed.
func (p *program) awaitRun(ctx context.Context, db *postgres.DB, id int64) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := db.Runs(ctx, postgres.RunFilter{ID: id, Limit: 1})
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("run %d: %w", id, postgres.ErrNotFound)
		}
		switch r := list[0]; {
		case r.Status == "succeeded":
			added := int64(0)
			if r.RowsAdded != nil {
				added = *r.RowsAdded
			}
			_, err = fmt.Fprintf(p.stdout, "run %d succeeded: %s added\n", id, counted(added, "row"))
			return err
		case r.Status == "skipped":
			return fmt.Errorf("run %d was skipped: %s", id, deref(r.Reason))
		case r.Status == "failed":
			return fmt.Errorf("run %d failed: %s", id, deref(r.Error))
		case r.Failures > 0:
			return fmt.Errorf("run %d failed and is tried again: %s", id, deref(r.Error))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no longer waited for: run %d continues in the workers (`tidemark runs show %d`)", id, id)
		case <-tick.C:
		}
	}
}

type scheduleNext struct {
	format

	Limit limit `default:"20" help:"How many, the soonest first."`
}

// Run prints the next slots of all schedules that are not paused.
func (c scheduleNext) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Schedules(ctx)
	if err != nil {
		return err
	}
	at, err := p.worldTime(ctx, db)
	if err != nil {
		return err
	}
	type slot struct {
		at time.Time
		of task.Schedule
	}
	var slots []slot
	for _, s := range list {
		next := at
		for range int(c.Limit) {
			if next = nextSlot(s, next); next.IsZero() || s.Paused {
				break
			}
			slots = append(slots, slot{next, s})
		}
	}
	slices.SortStableFunc(slots, func(a, b slot) int { return a.at.Compare(b.at) })
	t := newTable("slot", "job", "subject", "cron", "zone")
	for _, s := range slots[:min(len(slots), int(c.Limit))] {
		t.add(s.at, s.of.Job, s.of.Subject, s.of.Cron, s.of.Zone)
	}
	return c.list(p.stdout, t)
}

// pauseToggle holds the flags of pause and resume.
type pauseToggle struct {
	Job     string `arg:"" help:"A job of the schedule, such as ingest or signal."`
	Subject string `arg:"" help:"The source, the signal, or as the schedule names it."`
	Reason  reason `required:"" help:"Why. It is kept."`
	By      string `help:"Who decides. Default: the machine's name."`
}

type schedulePause struct{ pauseToggle }

type scheduleResume struct{ pauseToggle }

// Run pauses the schedule of a job.
func (c schedulePause) Run(ctx context.Context, p *program) error { return c.set(ctx, p, true) }

// Run resumes the schedule of a job.
func (c scheduleResume) Run(ctx context.Context, p *program) error { return c.set(ctx, p, false) }

func (c pauseToggle) set(ctx context.Context, p *program, paused bool) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	by := c.By
	if by == "" {
		by = config.Hostname()
	}
	list, err := db.Schedules(ctx)
	if err != nil {
		return err
	}
	if err := scheduled(list, c.Job, c.Subject); err != nil {
		return err
	}
	changed, err := db.PauseSchedule(ctx, c.Job, c.Subject, paused, by, string(c.Reason))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s of %s %s\n", c.Job, c.Subject, ops.PauseOutcome(paused, changed))
	return err
}

// scheduled returns an error if the database's schedule does not have the job or subject. The error suggests the closest one.
func scheduled(list []task.Schedule, job, subject string) error {
	var jobs, subjects []string
	for _, s := range list {
		jobs = append(jobs, s.Job)
		if s.Job == job {
			subjects = append(subjects, s.Subject)
		}
	}
	switch {
	case slices.Contains(subjects, subject):
		return nil
	case len(list) == 0:
		return errors.New("the schedule is empty: no scheduler has run on this database")
	case len(subjects) == 0:
		return fmt.Errorf("the schedule has no job %q%s (see `tidemark schedule list`)", job, nearest.Suggest(job, jobs...))
	}
	return fmt.Errorf("the schedule has no %s of %q%s (see `tidemark schedule list`)", job, subject, nearest.Suggest(subject, subjects...))
}

func (p *program) schedule() []task.Schedule {
	at, _ := p.settings.Clocks() // checked at the start
	list := append(schedule(p.sources(), p.definitions(), at), p.equitySchedule()...)
	if p.settings.ColdURL != "" {
		list = append(list, task.Schedule{Job: task.Archive, Subject: task.Daily, Cron: "55 4 * * *", Zone: "UTC", CatchUp: string(series.CatchUpSkip)})
	}
	return list
}
