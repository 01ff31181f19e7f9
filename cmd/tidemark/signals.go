package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/nearest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

type signalsCommand struct {
	config.Stored

	List      signalsList      `cmd:"" default:"withargs" help:"Print the state of every signal, or all changes of one."`
	Deprecate signalsDeprecate `cmd:"" help:"Take a signal out of the catalog for good; its address keeps answering."`
	Restore   signalsRestore   `cmd:"" help:"Take a deprecation back."`
}

type signalsList struct {
	format

	ID string `arg:"" optional:"" help:"A signal. Every change of its state is printed."`
}

// Run prints the states of the signals with their causes.
func (c signalsList) Run(ctx context.Context, p *program) error {
	if c.ID != "" {
		if _, err := p.definition(c.ID); err != nil {
			return err
		}
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	changes, err := db.States(ctx, c.ID)
	if err != nil {
		return err
	}
	list := changes
	if c.ID == "" {
		newest := map[string]postgres.State{}
		for _, s := range changes {
			newest[s.Signal] = s
		}
		list = nil
		for _, d := range p.definitions() {
			s, ok := newest[d.ID]
			if !ok {
				s = postgres.State{Signal: d.ID, Cause: "never computed"}
			}
			list = append(list, s)
		}
	}
	t := newTable("signal", "state", "since", "by", "cause")
	for _, s := range list {
		var since *time.Time
		if !s.At.IsZero() {
			since = &s.At
		}
		t.add(s.Signal, s.State, since, s.By, s.Cause)
	}
	return c.list(p.stdout, t)
}

type signalsDeprecate struct {
	ID     string `arg:"" help:"The signal."`
	Reason reason `required:"" help:"Why, for the record."`
}

// Run deprecates a signal from the world's time on.
func (c signalsDeprecate) Run(ctx context.Context, p *program) error {
	return p.changeState(ctx, c.ID, func(before postgres.State, _ signals.Definition, _ *time.Time, _ time.Time) (postgres.State, error) {
		if before.State == signals.StatusDeprecated {
			return before, fmt.Errorf("%s is deprecated already, since %s: %s", c.ID, before.At.UTC().Format(time.RFC3339), before.Cause)
		}
		return postgres.State{State: signals.StatusDeprecated, Cause: string(c.Reason)}, nil
	})
}

type signalsRestore struct {
	ID     string `arg:"" help:"The signal."`
	Reason reason `required:"" help:"Why, for the record."`
}

// Run ends a deprecation: from the world's time on, the signal's data decide its state again.
func (c signalsRestore) Run(ctx context.Context, p *program) error {
	return p.changeState(ctx, c.ID, func(before postgres.State, d signals.Definition, observed *time.Time, now time.Time) (postgres.State, error) {
		if before.State != signals.StatusDeprecated {
			return before, fmt.Errorf("%s is not deprecated", c.ID)
		}
		var at time.Time
		if observed != nil {
			at = *observed
		}
		return postgres.State{State: d.Status(at, now), Cause: "restored: " + string(c.Reason)}, nil
	})
}

// changeState records an operator's change of a signal's state, and makes the signal due, so that its snapshot follows.
func (p *program) changeState(ctx context.Context, id string,
	to func(before postgres.State, d signals.Definition, observed *time.Time, now time.Time) (postgres.State, error),
) error {
	def, err := p.definition(id)
	if err != nil {
		return err
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	now, err := p.worldTime(ctx, db)
	if err != nil {
		return err
	}
	before, err := db.StateAsOf(ctx, id, now)
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	last, err := db.SnapshotAsOf(ctx, id, now)
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	s, err := to(before, def, last.ObservedAt, now)
	if err != nil {
		return err
	}
	s.Signal, s.At, s.By = id, now, operator()
	if err := db.AddState(ctx, s); err != nil {
		return err
	}
	run, err := db.AddRun(ctx, task.Signal, id, now, s.State+": "+s.Cause)
	if errors.Is(err, postgres.ErrUnderWay) {
		_, err = fmt.Fprintf(p.stdout, "%s is %s from %s on; its snapshot is being computed\n", id, s.State, now.UTC().Format(time.RFC3339))
		return err
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s is %s from %s on; its snapshot follows with run %d\n", id, s.State, now.UTC().Format(time.RFC3339), run)
	return err
}

// operator returns the name of the user who runs the program.
func operator() string {
	name := "operator"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + config.Hostname()
}

// definition finds a signal, or returns a usage error that lists the signals.
func (p *program) definition(id string) (signals.Definition, error) {
	var known []string
	for _, d := range p.definitions() {
		if d.ID == id {
			return d, nil
		}
		known = append(known, d.ID)
	}
	return signals.Definition{}, usageError{fmt.Errorf("unknown signal %q%s", id, nearest.SuggestOr(id, known...))}
}
