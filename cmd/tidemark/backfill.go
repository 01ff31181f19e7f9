package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/backfill"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

type backfillCommand struct {
	config.Stored

	Plan        backfillPlan    `cmd:"" help:"Work out a backfill, show it and store it. Nothing is done."`
	Apply       backfillApply   `cmd:"" help:"Do exactly what a plan showed, or refuse because the world has changed."`
	Run         backfillRun     `cmd:"" help:"Plan and apply in one go."`
	List        backfillList    `cmd:"" help:"Print the backfills."`
	Show        backfillShow    `cmd:"" help:"Print one backfill: how far it is, at what rate, what failed."`
	Diff        backfillDiff    `cmd:"" help:"Print a backfill's results next to the stored ones: values, intervals, z-scores; also as CSV."`
	Compare     backfillCompare `cmd:"" help:"Compute past snapshots with this version and compare them with the stored ones. Nothing is stored."`
	Pause       backfillPause   `cmd:"" help:"Stop a backfill until it is resumed."`
	Resume      backfillResume  `cmd:"" help:"Continue a paused backfill."`
	Cancel      backfillCancel  `cmd:"" help:"End a backfill. Its finished slots stay, and are counted."`
	RetryFailed backfillRetry   `cmd:"" help:"Try the failed slots of a backfill again, and only those."`
}

// backfillRange holds the parameters of a plan.
type backfillRange struct {
	Signal      []string  `required:"" help:"The signal, or several separated by commas: a plan for each."`
	From        time.Time `required:"" format:"2006-01-02" help:"The first day, in the zone of the signal's schedule."`
	To          time.Time `required:"" format:"2006-01-02" help:"The last day, included."`
	AsOf        time.Time `format:"2006-01-02T15:04:05Z07:00" help:"Compute the whole range from the data known at this instant (RFC 3339), and keep it next to the served snapshots. Default: each slot from the data known at the slot."`
	FromArchive bool      `help:"Ask no source: read its archived answers again."`
	Existing    string    `help:"Which slots to do in addition to slots that never ran: skip (no others, the default), failed (slots whose run failed) or all. Stored snapshots are never overwritten."`
	Parallelism int       `default:"1" help:"How many runs of the backfill may be under way at once. The results are the same; more is faster."`
	Diff        bool      `help:"Compute and show old and new value of every slot, not only of the first."`
}

// shownSlots is how many slots a plan computes and shows without --diff.
const shownSlots = 10

func (r backfillRange) request(signal string) backfill.Request {
	foresee := shownSlots
	if r.Diff {
		foresee = -1
	}
	return backfill.Request{
		Signal: signal, From: r.From, To: r.To, AsOf: r.AsOf, FromArchive: r.FromArchive, Existing: r.Existing,
		Parallelism: r.Parallelism, Preview: foresee,
	}
}

// plan makes a plan for each signal, and then stores and shows all of them. If one fails, none is stored.
func (r backfillRange) plan(ctx context.Context, p *program, planner backfill.Planner) (ids []int64, err error) {
	asked := distinct(r.Signal)
	plans := make([]backfill.Plan, len(asked))
	for i, signal := range asked {
		plans[i], err = planner.Plan(ctx, r.request(signal))
		if fault := (backfill.RequestError{}); errors.As(err, &fault) {
			return nil, usageError{err}
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range plans {
		if err := planner.Store(ctx, &plans[i]); err != nil {
			return ids, err
		}
		ids = append(ids, plans[i].ID)
		if err := writePlan(p.stdout, plans[i]); err != nil {
			return ids, err
		}
		_, _ = fmt.Fprintln(p.stdout)
	}
	return ids, nil
}

// distinct returns signals in their order, each once.
func distinct(ids []string) (list []string) {
	for _, id := range ids {
		if !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// numbers returns the numbers of plans in the form of a command line.
func numbers(ids []int64) string { return strings.Trim(fmt.Sprint(ids), "[]") }

// apply applies plans in order, and follows them. A change by one plan can make a later plan of the same command stale: the later plan is
// refused, and the earlier ones continue.
func (w waiting) apply(ctx context.Context, p *program, db *postgres.DB, planner backfill.Planner, ids []int64) error {
	for _, id := range ids {
		if err := planner.Apply(ctx, id); err != nil {
			return fmt.Errorf("plan %d: %w", id, err)
		}
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, w.begun(ctx, p, db, id))
	}
	return errors.Join(errs...)
}

func (p *program) planner(ctx context.Context, db *postgres.DB) (backfill.Planner, error) {
	now, err := p.worldTime(ctx, db)
	if err != nil {
		return backfill.Planner{}, err
	}
	if err := workers.RecordTrial(ctx, db); err != nil {
		return backfill.Planner{}, err
	}
	computed := workers.Signals{DB: db, CodeVersion: codeVersion()}
	return backfill.Planner{
		DB: db, Definitions: p.definitions(), Sources: p.sources(), Compute: computed.Snapshot, Now: now, CodeVersion: codeVersion(),
	}, nil
}

type backfillPlan struct {
	config.Licences

	backfillRange `embed:""`
}

// Run stores a plan and shows it.
func (c backfillPlan) Run(ctx context.Context, p *program) error {
	return p.withPlanner(ctx, func(_ *postgres.DB, planner backfill.Planner) error {
		ids, err := c.plan(ctx, p, planner)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "Nothing was done. `tidemark backfill apply %s` does exactly this.\n", numbers(ids))
		return err
	})
}

// withPlanner opens the database for a command that plans, and calls f.
func (p *program) withPlanner(ctx context.Context, f func(*postgres.DB, backfill.Planner) error) error {
	return p.withDB(ctx, func(db *postgres.DB) error {
		planner, err := p.planner(ctx, db)
		if err != nil {
			return err
		}
		return f(db, planner)
	})
}

func (p *program) withDB(ctx context.Context, f func(*postgres.DB) error) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db)
}

// waiting says whether a command waits for the end of its backfill.
type waiting struct {
	Wait bool `negatable:"" default:"true" help:"Follow the backfill to its end. Without, only begin it."`
}

func (w waiting) begun(ctx context.Context, p *program, db *postgres.DB, id int64) error {
	if w.Wait {
		return p.follow(ctx, db, id)
	}
	_, err := fmt.Fprintf(p.stdout, "Backfill %d has begun. Follow it with `tidemark backfill show %d`.\n", id, id)
	return err
}

type backfillApply struct {
	config.Licences

	ID []int64 `arg:"" help:"The plan, or several."`
	waiting
}

// Run applies a plan.
func (c backfillApply) Run(ctx context.Context, p *program) error {
	return p.withPlanner(ctx, func(db *postgres.DB, planner backfill.Planner) error {
		return c.apply(ctx, p, db, planner, c.ID)
	})
}

type backfillRun struct {
	config.Licences

	backfillRange `embed:""`
	waiting
}

// Run plans and applies.
func (c backfillRun) Run(ctx context.Context, p *program) error {
	return p.withPlanner(ctx, func(db *postgres.DB, planner backfill.Planner) error {
		ids, err := c.plan(ctx, p, planner)
		if err != nil {
			return err
		}
		return c.apply(ctx, p, db, planner, ids)
	})
}

type backfillList struct {
	format

	Limit limit `default:"20" help:"How many, newest first."`
}

// Run prints the newest backfills.
func (c backfillList) Run(ctx context.Context, p *program) error {
	return p.withDB(ctx, func(db *postgres.DB) error {
		list, err := db.Backfills(ctx, int(c.Limit))
		if err != nil {
			return err
		}
		all := make([]backfill.Progress, len(list))
		for i, b := range list {
			if all[i], err = backfill.ProgressOf(ctx, db, b.ID); err != nil {
				return err
			}
		}
		t := newTable("id", "signal", "from", "to", "as of", "state", "slots", "done", "failed", "left", "pace")
		for _, b := range all {
			t.add(b.ID, b.Signal, b.FromDay.Format(time.DateOnly), b.ToDay.Format(time.DateOnly), b.AsOf, b.State, b.Total(), b.Done, b.Failed, b.Pending, b.Pace())
		}
		return c.list(p.stdout, t)
	})
}

type backfillShow struct {
	format

	ID    int64 `arg:"" help:"The backfill."`
	Slots bool  `help:"Print every slot."`
	Diff  bool  `help:"Print the slots whose result is not what stands, old and new."`
}

// Run prints one backfill and its failed slots.
func (c backfillShow) Run(ctx context.Context, p *program) error {
	return p.withDB(ctx, func(db *postgres.DB) error {
		progress, err := backfill.ProgressOf(ctx, db, c.ID)
		if err != nil {
			return err
		}
		fetches, err := db.BackfillFetches(ctx, c.ID)
		if err != nil {
			return err
		}
		status, limit := postgres.SlotFailed, shownSlots
		if c.Slots || c.Diff {
			status, limit = "", int(progress.Slots)
		}
		slots, err := db.BackfillSlots(ctx, c.ID, status, c.Diff, limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return writeJSON(p.stdout, backfillJSON(progress, fetches, slots))
		}
		if err := writeBackfill(p.stdout, progress, fetches); err != nil {
			return err
		}
		return writeSlots(p.stdout, progress, slots)
	})
}

type backfillPause struct {
	ID int64 `arg:"" help:"The backfill."`
}

// Run pauses a backfill.
func (c backfillPause) Run(ctx context.Context, p *program) error {
	return p.turn(ctx, c.ID, (*postgres.DB).PauseBackfill)
}

type backfillResume struct {
	ID int64 `arg:"" help:"The backfill."`
}

// Run resumes a backfill.
func (c backfillResume) Run(ctx context.Context, p *program) error {
	return p.turn(ctx, c.ID, (*postgres.DB).ResumeBackfill)
}

type backfillCancel struct {
	ID int64 `arg:"" help:"The backfill."`
}

// Run cancels a backfill.
func (c backfillCancel) Run(ctx context.Context, p *program) error {
	return p.turn(ctx, c.ID, (*postgres.DB).CancelBackfill)
}

// turn changes the state of a backfill and prints its progress.
func (p *program) turn(ctx context.Context, id int64, change func(*postgres.DB, context.Context, int64) error) error {
	return p.withDB(ctx, func(db *postgres.DB) error {
		if err := change(db, ctx, id); err != nil {
			return err
		}
		return p.printProgress(ctx, db, id)
	})
}

func (p *program) printProgress(ctx context.Context, db *postgres.DB, id int64) error {
	progress, err := backfill.ProgressOf(ctx, db, id)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(p.stdout, progress)
	if left := progress.Remains(); left != "" {
		_, _ = fmt.Fprintln(p.stdout, strings.ToUpper(left[:1])+left[1:]+".")
	}
	return nil
}

type backfillRetry struct {
	ID int64 `arg:"" help:"The backfill."`
	waiting
}

// Run makes the failed slots due again.
func (c backfillRetry) Run(ctx context.Context, p *program) error {
	return p.withDB(ctx, func(db *postgres.DB) error {
		slots, sources, err := db.RetryFailed(ctx, c.ID)
		if err != nil {
			return err
		}
		if slots+sources == 0 {
			_, err := fmt.Fprintf(p.stdout, "Nothing of backfill %d has failed.\n", c.ID)
			return err
		}
		_, _ = fmt.Fprintf(p.stdout, "%s and %s are tried again.\n", counted(slots, "slot"), counted(sources, "source"))
		return c.begun(ctx, p, db, c.ID)
	})
}
