package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// SaveSchedules stores the program's schedule. The last recorded slots and the pauses of operators stay.
func (db RunStore) SaveSchedules(ctx context.Context, list []task.Schedule) error {
	list = slices.SortedFunc(slices.Values(list), func(a, b task.Schedule) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Subject, b.Subject))
	})
	// It may run twice: the second time nothing differs.
	err := db.pool.again(ctx, always, func() error {
		b := &pgx.Batch{}
		for _, s := range list {
			b.Queue(saveScheduleSQL, pgx.NamedArgs{"job": s.Job, "subject": s.Subject, "cron": s.Cron, "zone": s.Zone, "catch_up": s.CatchUp})
		}
		return db.pool.Pool.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("save the schedule: %w", err)
	}
	return nil
}

const saveScheduleSQL = `
	insert into schedules as s (job, subject, cron, zone, catch_up)
	values (@job, @subject, @cron, @zone, @catch_up)
	on conflict (job, subject) do update
	set cron = excluded.cron, zone = excluded.zone, catch_up = excluded.catch_up, updated_at = now()
	where (s.cron, s.zone, s.catch_up) is distinct from (excluded.cron, excluded.zone, excluded.catch_up)`

// Schedules returns the whole schedule.
func (db RunStore) Schedules(ctx context.Context) ([]task.Schedule, error) {
	rows, err := db.reads.Query(ctx, `
		select job, subject, cron, zone, catch_up, paused, last_slot from schedules order by job, subject`)
	list, err := collect[task.Schedule](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the schedule: %w", err)
	}
	return list, nil
}

// Pause is the reason why the slots of a schedule are skipped.
type Pause struct {
	Job, Subject string
	At           time.Time
	By, Reason   string
}

// String returns who paused a schedule, when and why.
func (p Pause) String() string {
	return fmt.Sprintf("since %s by %s: %s", p.At.UTC().Format(time.RFC3339), p.By, p.Reason)
}

// Pauses returns the pauses of the paused schedules, by job and subject.
func (db RunStore) Pauses(ctx context.Context) (map[[2]string]Pause, error) {
	rows, err := db.reads.Query(ctx, `
		select distinct on (job, subject) job, subject, at, by, reason
		from schedule_changes c join schedules s using (job, subject)
		where s.paused and c.paused
		order by job, subject, c.id desc`)
	list, err := collect[Pause](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read why schedules are paused: %w", err)
	}
	out := make(map[[2]string]Pause, len(list))
	for _, p := range list {
		out[[2]string{p.Job, p.Subject}] = p
	}
	return out, nil
}

// PauseSchedule pauses or resumes a schedule, and records who did it and why. While it is paused, due slots are recorded as skipped. It
// reports whether it changed anything, and returns ErrNotFound for an unknown schedule.
func (db RunStore) PauseSchedule(ctx context.Context, job, subject string, paused bool, by, reason string) (changed bool, err error) {
	err = db.pool.QueryRow(ctx, `
		with there as (select from schedules where job = @job and subject = @subject for update),
		changed as (
			update schedules set paused = @paused, updated_at = now()
			where job = @job and subject = @subject and paused <> @paused
			returning 1
		), kept as (
			insert into schedule_changes (job, subject, paused, by, reason) select @job, @subject, @paused, @by, @reason from changed
		)
		select exists (select from changed) from there`,
		pgx.NamedArgs{"job": job, "subject": subject, "paused": paused, "by": by, "reason": reason}).Scan(&changed)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("the schedule has no %s %s: %w", job, subject, ErrNotFound)
	}
	if err != nil {
		return false, fmt.Errorf("pause %s %s: %w", job, subject, err)
	}
	return changed, nil
}

// RecordSlots creates runs for slots of a schedule and stores the newest slot as the schedule's last, in one transaction. If another
// scheduler has recorded slots since s was read, it does nothing and returns false. The record uses the database's clock. A slot that has
// come by the scheduler's clock only is due when it comes by the database's clock.
func (db RunStore) RecordSlots(ctx context.Context, s task.Schedule, slots []task.Slot) (done bool, err error) {
	if len(slots) == 0 {
		return true, nil
	}
	p, ok := task.Policies[s.Job]
	if !ok {
		return false, fmt.Errorf("record slots: unknown job %q", s.Job)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		done = false
		tag, err := tx.Exec(ctx, `
			update schedules set last_slot = @last
			where job = @job and subject = @subject and last_slot is not distinct from @seen`,
			pgx.NamedArgs{"job": s.Job, "subject": s.Subject, "seen": s.LastSlot, "last": slots[len(slots)-1].At})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		at, trigger := make([]time.Time, len(slots)), make([]string, len(slots))
		skip, trace := make([]string, len(slots)), make([]string, len(slots))
		for i, slot := range slots {
			at[i], trigger[i], skip[i], trace[i] = slot.At, slot.Trigger, slot.Skip, slot.Trace
		}
		_, err = tx.Exec(ctx, `
			insert into runs (job, subject, slot, trigger, queue, status, max_attempts, reason, finished_at, next_try_at, trace)
			select @job, @subject, t.at, t.trigger, @queue, case when t.skip = '' then 'due' else 'skipped' end, @max_attempts,
				nullif(t.skip, ''), case when t.skip <> '' then clock_timestamp() end,
				case when t.skip = '' and t.at > world_now() then clock_timestamp() + (t.at - world_now()) end,
				nullif(t.trace, '')
			from unnest(@at::timestamptz[], @trigger::text[], @skip::text[], @trace::text[]) as t (at, trigger, skip, trace)
			on conflict (job, subject, slot) do nothing`,
			pgx.NamedArgs{
				"job": s.Job, "subject": s.Subject, "queue": p.Queue, "max_attempts": p.MaxAttempts,
				"at": at, "trigger": trigger, "skip": skip, "trace": trace,
			})
		done = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("record slots of %s %s: %w", s.Job, s.Subject, err)
	}
	return done, nil
}
