package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// BackfillStore keeps the plans of backfills and their progress.
//
// It reads backfill_fetches, backfill_slots, backfills, fetches, observations, runs, snapshots, watermarks. It writes backfill_fetches,
// backfill_slots, backfills, runs.
type BackfillStore struct{ *connections }

// Backfill is a plan to compute the slots of a signal in a range of past days, with its progress.
type Backfill struct {
	ID     int64
	Signal string
	// FromDay and ToDay are the first and the last day of the range, both included, in the time zone Zone. Only their dates count.
	FromDay, ToDay time.Time
	Zone           string
	// AsOf is the instant whose knowledge every slot is computed from. If it is nil, each slot uses the data that was known at the slot.
	AsOf *time.Time
	// Existing selects the slots of the range to compute. "skip" selects slots without a snapshot and without a failure. "failed" adds
	// failed slots without a snapshot. "all" selects every slot.
	Existing    string
	FromArchive bool
	Parallelism int
	Basis       []Fact
	// Status is the state that the operator wants: planned, running, paused or cancelled. FinishedAt is set when no slot is left.
	Status string
	// Note is why the backfill paused, if the operator did not pause it.
	Note *string
	// SeenAt is the world's time when the backfill was planned. Later slots are not part of it.
	SeenAt                              time.Time
	PlannedAt                           time.Time
	AppliedAt, WorkingSince, FinishedAt *time.Time
}

// The states of a backfill that its operator sets.
const (
	BackfillPlanned   = "planned"
	BackfillRunning   = "running"
	BackfillPaused    = "paused"
	BackfillCancelled = "cancelled"
)

// Fact is a fact that a plan depends on.
type Fact struct {
	What string `json:"what"`
	Is   string `json:"is"`
}

// BackfillFetch is a source that is fetched, or read from the archive, before the slots are computed.
type BackfillFetch struct {
	Source string
	// Requests counts the first requests, without the further pages that responses point to.
	Requests             int
	WindowFrom, WindowTo *time.Time
	// RunStatus and Error are the status and error of its run. They are nil before the plan is applied.
	RunID     *int64
	RunStatus *string
	Error     *string
	Waived    bool
}

// BackfillSlot is one slot of a backfill.
type BackfillSlot struct {
	Slot time.Time
	// Status is pending, skipped, done, failed or cancelled.
	Status string
	RunID  *int64
	// Reason is why it was skipped, or has failed.
	Reason *string
	// OldValue is the snapshot's value when the plan was made. NewValue is the computed value, or the expected value before the slot is
	// computed.
	OldValue, NewValue *float64
	// Outcome is added, unchanged or differs if the slot is done.
	Outcome *string
	// Result is the computed result if it was not stored as a snapshot.
	Result     json.RawMessage
	FinishedAt *time.Time
}

// The states of a slot, and the outcomes of a slot that is done.
const (
	SlotPending   = "pending"
	SlotSkipped   = "skipped"
	SlotDone      = "done"
	SlotFailed    = "failed"
	SlotCancelled = "cancelled"

	OutcomeAdded     = "added"
	OutcomeUnchanged = "unchanged"
	OutcomeDiffers   = "differs"
)

// SavePlan stores a plan with its sources and slots, and returns its number. Work begins with ApplyBackfill.
func (db BackfillStore) SavePlan(ctx context.Context, b Backfill, fetches []BackfillFetch, slots []BackfillSlot) (id int64, err error) {
	basis, err := json.Marshal(nonNil(b.Basis))
	if err != nil {
		return 0, fmt.Errorf("save the plan: %w", err)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			insert into backfills (signal, from_day, to_day, zone, as_of, existing, from_archive, parallelism, basis, seen_at)
			values (@signal, @from_day, @to_day, @zone, @as_of, @existing, @from_archive, @parallelism, @basis, @seen_at)
			returning id`,
			pgx.NamedArgs{
				"signal": b.Signal, "from_day": b.FromDay, "to_day": b.ToDay, "zone": b.Zone, "as_of": b.AsOf, "existing": b.Existing,
				"from_archive": b.FromArchive, "parallelism": b.Parallelism, "basis": basis, "seen_at": b.SeenAt,
			}).Scan(&id)
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"backfill_fetches"},
			[]string{"backfill_id", "source", "requests", "window_from", "window_to"},
			pgx.CopyFromSlice(len(fetches), func(i int) ([]any, error) {
				f := fetches[i]
				return []any{id, f.Source, f.Requests, f.WindowFrom, f.WindowTo}, nil
			}))
		if err != nil {
			return err
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"backfill_slots"},
			[]string{"backfill_id", "slot", "status", "reason", "old_value", "new_value"},
			pgx.CopyFromSlice(len(slots), func(i int) ([]any, error) {
				s := slots[i]
				return []any{id, s.Slot, s.Status, s.Reason, s.OldValue, s.NewValue}, nil
			}))
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("save the plan: %w", err)
	}
	return id, nil
}

const backfillColumns = `id, signal, from_day, to_day, zone, as_of, existing, from_archive, parallelism, basis, status, note,
	seen_at, planned_at, applied_at, working_since, finished_at`

func scanBackfill(r pgx.CollectableRow) (b Backfill, err error) {
	err = r.Scan(&b.ID, &b.Signal, &b.FromDay, &b.ToDay, &b.Zone, &b.AsOf, &b.Existing, &b.FromArchive, &b.Parallelism, &b.Basis,
		&b.Status, &b.Note, &b.SeenAt, &b.PlannedAt, &b.AppliedAt, &b.WorkingSince, &b.FinishedAt)
	return b, err
}

// Backfill returns one backfill, or ErrNotFound.
func (db BackfillStore) Backfill(ctx context.Context, id int64) (Backfill, error) {
	return backfillOf(ctx, db.reads, id)
}

func backfillOf(ctx context.Context, in querier, id int64) (Backfill, error) {
	rows, err := in.Query(ctx, `select `+backfillColumns+` from backfills where id = @id`, pgx.NamedArgs{"id": id})
	if err != nil {
		return Backfill{}, fmt.Errorf("read backfill %d: %w", id, err)
	}
	b, err := pgx.CollectExactlyOneRow(rows, scanBackfill)
	if errors.Is(err, pgx.ErrNoRows) {
		return Backfill{}, fmt.Errorf("backfill %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return Backfill{}, fmt.Errorf("read backfill %d: %w", id, err)
	}
	return b, nil
}

// Backfills returns the newest backfills, newest first.
func (db BackfillStore) Backfills(ctx context.Context, limit int) ([]Backfill, error) {
	rows, err := db.reads.Query(ctx, `select `+backfillColumns+` from backfills order by id desc limit @limit`, pgx.NamedArgs{"limit": limit})
	if err != nil {
		return nil, fmt.Errorf("list backfills: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanBackfill)
	if err != nil {
		return nil, fmt.Errorf("list backfills: %w", err)
	}
	return list, nil
}

// BackfillFetches returns the sources of a backfill with the status of their runs.
func (db BackfillStore) BackfillFetches(ctx context.Context, id int64) ([]BackfillFetch, error) {
	rows, err := db.reads.Query(ctx, `
		select f.source, f.requests, f.window_from, f.window_to, f.run_id, r.status as run_status, r.error, f.waived
		from backfill_fetches f left join runs r on r.id = f.run_id
		where f.backfill_id = @id
		order by f.source`, pgx.NamedArgs{"id": id})
	list, err := collect[BackfillFetch](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the sources of backfill %d: %w", id, err)
	}
	return list, nil
}

// BackfillSlots returns slots of a backfill, oldest first. An empty status selects all slots. With differs it returns only slots whose
// result differs from the stored snapshot.
func (db BackfillStore) BackfillSlots(ctx context.Context, id int64, status string, differs bool, limit int) ([]BackfillSlot, error) {
	rows, err := db.reads.Query(ctx, `
		select slot, status, run_id, reason, old_value, new_value, outcome, result, finished_at
		from backfill_slots
		where backfill_id = @id and (@status = '' or status = @status) and (not @differs or outcome = 'differs')
		order by slot
		limit @limit`, pgx.NamedArgs{"id": id, "status": status, "differs": differs, "limit": limit})
	list, err := collect[BackfillSlot](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the slots of backfill %d: %w", id, err)
	}
	return list, nil
}

// ApplyBackfill starts a plan and creates the runs of its sources for the instant at, in one transaction. It reports false if the plan was
// already started.
func (db BackfillStore) ApplyBackfill(ctx context.Context, id int64, at time.Time) (begun bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		begun = false
		var fromArchive bool
		err := tx.QueryRow(ctx, `
			update backfills set status = 'running', applied_at = clock_timestamp()
			where id = @id and status = 'planned'
			returning from_archive`, pgx.NamedArgs{"id": id}).Scan(&fromArchive)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		begun = true
		rows, err := tx.Query(ctx, `
			select source, requests, window_from, window_to from backfill_fetches where backfill_id = @id order by source`,
			pgx.NamedArgs{"id": id})
		if err != nil {
			return err
		}
		fetches, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (f BackfillFetch, err error) {
			return f, r.Scan(&f.Source, &f.Requests, &f.WindowFrom, &f.WindowTo)
		})
		if err != nil {
			return err
		}
		for _, f := range fetches {
			if err := addFetch(ctx, tx, id, f, at, fromArchive); err != nil {
				return err
			}
		}
		return wake(ctx, tx)
	})
	if err != nil {
		return false, fmt.Errorf("apply backfill %d: %w", id, err)
	}
	return begun, nil
}

// addFetch creates the run of a backfill's source. While the world's clock is stopped, another run may already have this instant. The run
// then gets the next free microsecond.
func addFetch(ctx context.Context, tx pgx.Tx, id int64, f BackfillFetch, at time.Time, fromArchive bool) error {
	job, subject, params := task.Ingest, f.Source, task.Params{}
	if fromArchive {
		job, subject = task.Backfill, strconv.FormatInt(id, 10)+"/"+f.Source
	} else if f.WindowFrom != nil || f.WindowTo != nil {
		params.Window = &task.Window{}
		if f.WindowFrom != nil {
			params.Window.From = f.WindowFrom.UTC()
		}
		if f.WindowTo != nil {
			params.Window.To = f.WindowTo.UTC()
		}
	}
	p := task.Policies[job]
	for slot := at; ; slot = slot.Add(time.Microsecond) {
		var run int64
		err := tx.QueryRow(ctx, `
			insert into runs (job, subject, slot, trigger, queue, status, max_attempts, reason, params)
			values (@job, @subject, @slot, 'backfill', @queue, 'due', @max_attempts, @reason, @params)
			on conflict (job, subject, slot) do nothing
			returning id`,
			pgx.NamedArgs{
				"job": job, "subject": subject, "slot": slot, "queue": task.Low, "max_attempts": p.MaxAttempts,
				"reason": fmt.Sprintf("backfill %d", id), "params": params,
			}).Scan(&run)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update backfill_fetches set run_id = @run where backfill_id = @id and source = @source`,
			pgx.NamedArgs{"run": run, "id": id, "source": f.Source})
		return err
	}
}

// wake notifies the schedulers when tx commits.
func wake(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `select pg_notify(@channel, '')`, pgx.NamedArgs{"channel": ChannelRunsDue})
	return err
}

// PauseBackfill pauses a running backfill. Slots that are being computed are finished; the others wait.
func (db BackfillStore) PauseBackfill(ctx context.Context, id int64) error {
	return db.change(ctx, id, "pause", `
		update backfills set status = 'paused', note = null where id = @id and status = 'running' and finished_at is null`)
}

// ResumeBackfill continues a paused backfill. It gives up sources whose run failed or was skipped: slots are then computed from the known
// data.
func (db BackfillStore) ResumeBackfill(ctx context.Context, id int64) error {
	return db.change(ctx, id, "resume", `
		update backfills set status = 'running', note = null, working_since = null where id = @id and status = 'paused'`, `
		with lost as (
			select f.backfill_id, f.source
			from backfill_fetches f join runs r on r.id = f.run_id
			where f.backfill_id = @id and r.status in ('failed', 'skipped')
			order by f.source
			for no key update of f
		)
		update backfill_fetches f set waived = true
		from lost l
		where f.backfill_id = l.backfill_id and f.source = l.source`)
}

// CancelBackfill ends a backfill permanently. Computed slots stay.
func (db BackfillStore) CancelBackfill(ctx context.Context, id int64) error {
	return db.change(ctx, id, "cancel", `
		update backfills set status = 'cancelled', note = null, finished_at = clock_timestamp()
		where id = @id and status <> 'cancelled' and finished_at is null`, `
		with asking as (
			select r.id
			from backfill_fetches f join runs r on r.id = f.run_id
			where f.backfill_id = @id and r.status in ('due', 'queued')
			order by r.job, r.subject, r.slot
			for no key update of r
		)
		update runs r set status = 'skipped', finished_at = clock_timestamp(), reason = format('backfill %s was cancelled', @id::text)
		from asking a
		where r.id = a.id`, `
		with pending as (
			select slot from backfill_slots where backfill_id = @id and status = 'pending' order by slot for no key update
		)
		update backfill_slots s set status = 'cancelled', finished_at = clock_timestamp()
		from pending p
		where s.backfill_id = @id and s.slot = p.slot`)
}

// change runs statements on a backfill in one transaction. It returns ErrState if the first statement changes no row.
func (db BackfillStore) change(ctx context.Context, id int64, what string, statements ...string) error {
	args := pgx.NamedArgs{"id": id}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		for i, sql := range statements {
			tag, err := tx.Exec(ctx, sql, args)
			if err != nil {
				return err
			}
			if i == 0 && tag.RowsAffected() == 0 {
				return refuse(ctx, tx, id)
			}
		}
		return wake(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("%s backfill %d: %w", what, id, err)
	}
	return nil
}

// ErrState means that the operation is not allowed in the backfill's state.
var ErrState = errors.New("that does not fit its state")

// refuse returns an error with the backfill's state.
func refuse(ctx context.Context, tx pgx.Tx, id int64) error {
	b, err := backfillOf(ctx, tx, id)
	if err != nil {
		return err
	}
	state := b.Status
	if b.Status == BackfillRunning && b.FinishedAt != nil {
		state = "done"
	}
	return fmt.Errorf("it is %s: %w", state, ErrState)
}

// RetryFailed makes the failed slots of a backfill pending again, and its failed sources due. It returns how many slots and sources it
// changed, and continues a paused backfill. It returns ErrState if the backfill was not started or was cancelled.
func (db BackfillStore) RetryFailed(ctx context.Context, id int64) (slots, sources int64, err error) {
	args := pgx.NamedArgs{"id": id}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		var status string
		err := tx.QueryRow(ctx, `select status from backfills where id = @id for no key update`, args).Scan(&status)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		if status != BackfillRunning && status != BackfillPaused {
			return fmt.Errorf("it is %s: %w", status, ErrState)
		}
		tag, err := tx.Exec(ctx, `
			with failed as (
				select r.id
				from backfill_fetches f join runs r on r.id = f.run_id
				where f.backfill_id = @id and not f.waived and r.status = 'failed'
				order by r.job, r.subject, r.slot
				for no key update of r
			)
			update runs r set status = 'due', attempt = r.attempt + 1, failures = 0, losses = 0, next_try_at = null, error = null,
				finished_at = null
			from failed f
			where r.id = f.id`, args)
		if err != nil {
			return err
		}
		sources = tag.RowsAffected()
		tag, err = tx.Exec(ctx, `
			with failed as (
				select slot from backfill_slots where backfill_id = @id and status = 'failed' order by slot for no key update
			)
			update backfill_slots s set status = 'pending', run_id = null, reason = null, finished_at = null
			from failed f
			where s.backfill_id = @id and s.slot = f.slot`, args)
		if err != nil {
			return err
		}
		slots = tag.RowsAffected()
		if slots+sources == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, `
			update backfills set status = 'running', note = null, working_since = null, finished_at = null where id = @id`, args)
		if err != nil {
			return err
		}
		return wake(ctx, tx)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("retry the failed slots of backfill %d: %w", id, err)
	}
	return slots, sources, nil
}
