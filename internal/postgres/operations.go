package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// OperatorStore keeps what operators see and do: alerts and actions, figures about everything else, and the deletion of old rows.
//
// It reads alert_messages, alerts, announcements, attestations, backfill_fetches, backfill_slots, backfills, backups, fetches, gaps, hosts,
// ledger_entries, operator_actions, operator_outcomes, payment_quotes, picks, push_deliveries, pushes, quarantine, runs, schema_version,
// snapshots, usage. It writes alert_messages, alerts, backups, operator_actions, operator_outcomes, payment_quotes, push_deliveries, pushes,
// runs, usage.
type OperatorStore struct{ *connections }

// PoolStats are statistics of the connections of a DB.
type PoolStats struct {
	Max, Total, Idle, Acquired int32
	// Acquires counts acquired connections. Waits counts acquisitions that waited for a connection, Waited the sum of their waits.
	Acquires, Waits int64
	Waited          time.Duration
}

// PoolStats returns the current statistics of the pool, without a request to the server.
func (db OperatorStore) PoolStats() PoolStats {
	s := db.pool.Stat()
	return PoolStats{
		Max: s.MaxConns(), Total: s.TotalConns(), Idle: s.IdleConns(), Acquired: s.AcquiredConns(),
		Acquires: s.AcquireCount(), Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}

// SignalStatus is the state of a signal's newest snapshot.
type SignalStatus struct {
	Signal, Status string
	At             time.Time
	ObservedAt     *time.Time
}

const signalsSeenSQL = `
	select s.signal, n.status, n.at, n.observed_at
	from (select distinct signal from snapshots) s,
		lateral (select status, at, observed_at from snapshots where signal = s.signal order by at desc limit 1) n
	order by s.signal` // primary key

// SignalStatus returns the state of each signal's newest snapshot, ordered by signal id.
func (db OperatorStore) SignalStatus(ctx context.Context) ([]SignalStatus, error) {
	rows, err := db.reads.Query(ctx, signalsSeenSQL)
	list, err := collect[SignalStatus](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the newest snapshots: %w", asUnavailable(err))
	}
	return list, nil
}

// JobStatus is the recent history of a job and subject.
type JobStatus struct {
	Job, Subject string
	// LastSucceeded is when a run last succeeded or was skipped, nil if none did. Failed, FailedSlot and Error are the newest run's id,
	// slot and error if it failed. They are nil if operators have since decided about all responses that it failed for.
	LastSucceeded *time.Time
	Failed        *int64
	FailedSlot    *time.Time
	Error         *string
}

// A run that failed because responses were quarantined is fine once an operator has decided about each: every line of its error names one.
const decidedSQL = `not exists (
			select from regexp_split_to_table(coalesce(r.error, ''), E'\n') l
			left join quarantine q on q.id = substring(l from 'it is in quarantine ([0-9]+):')::bigint
			where coalesce(q.decision, 'pending') = 'pending')`

const jobsSeenSQL = `
	select distinct on (job, subject) job, subject,
		max(finished_at) filter (where status in ('succeeded', 'skipped')) over w as last_succeeded,
		case when status = 'failed' and not (` + decidedSQL + `) then id end as failed,
		case when status = 'failed' and not (` + decidedSQL + `) then slot end as failed_slot,
		case when status = 'failed' and not (` + decidedSQL + `) then error end as error
	from runs r
	where job <> @backfill and trigger <> 'backfill' and status in ('succeeded', 'skipped', 'failed')
		and created_at > (select clock_timestamp()) - interval '40 days'
	window w as (partition by job, subject)
	order by job, subject, slot desc, id desc` // index runs_recent

// JobStatus returns the status of the runs of the last 40 days, by job and subject. Runs of backfills are excluded.
func (db OperatorStore) JobStatus(ctx context.Context) ([]JobStatus, error) {
	rows, err := db.reads.Query(ctx, jobsSeenSQL, pgx.NamedArgs{"backfill": task.Backfill})
	list, err := collect[JobStatus](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read how the runs went: %w", asUnavailable(err))
	}
	return list, nil
}

// Troubled is a job whose newest attempt failed and will be retried.
type Troubled struct {
	Job, Subject string
	Run          int64
	Failures     int
	Error        string
	// Wait is the time until the next attempt, zero while it runs. Never means that no run of the job has succeeded yet.
	Wait  time.Duration
	Never bool
	// Slot is the slot of the run, MaxAttempts its maximum number of attempts. Lasting means that the error is not expected to be transient.
	Slot        time.Time
	MaxAttempts int
	Lasting     bool
}

const troubledSQL = `
	select distinct on (job, subject) job, subject, id as run, failures, error, slot, max_attempts, lasting,
		greatest(coalesce(next_try_at - clock_timestamp(), interval '0'), interval '0') as wait,
		not exists (select from runs s where (s.job, s.subject, s.status) = (r.job, r.subject, 'succeeded')) as never
	from runs r
	where status in ('due', 'queued', 'running') and trigger <> 'backfill' and failures > 0 and error is not null and not (` + decidedSQL + `)
	order by job, subject, slot desc` // index runs_open

// Troubled lists the jobs whose newest attempt failed and will be retried.
func (db OperatorStore) Troubled(ctx context.Context) ([]Troubled, error) {
	rows, err := db.reads.Query(ctx, troubledSQL)
	list, err := collect[Troubled](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read which runs are tried again: %w", asUnavailable(err))
	}
	return list, nil
}

// UntriedSources lists the sources whose first run is open and had no failed attempt.
func (db OperatorStore) UntriedSources(ctx context.Context) ([]string, error) {
	rows, err := db.reads.Query(ctx, `
		select subject from runs r
		where status in ('due', 'queued', 'running') and trigger <> 'backfill' and job = @ingest
			and not exists (select from runs s where (s.job, s.subject, s.status) = (r.job, r.subject, 'succeeded'))
		group by subject having max(failures) = 0
		order by subject`, // index runs_open
		pgx.NamedArgs{"ingest": task.Ingest})
	if err != nil {
		return nil, fmt.Errorf("read which sources were not tried yet: %w", asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read which sources were not tried yet: %w", asUnavailable(err))
	}
	return list, nil
}

// Late is a run that has started and has not ended in the time that earlier runs needed.
type Late struct {
	Job, Subject string
	Run          int64
	Slot         time.Time
	// Since is when the run was created, or when a run that waits for claimed transfers looked last. Usual is the longest duration of the last runs but for rare ones, nil if there are too few.
	Since time.Time
	Usual *time.Duration
	// Allowed is the duration after which the run is late.
	Allowed time.Duration
	// Error is the error of the last attempt, or what it waits for. It is nil while the run is working.
	Error *string
}

// A run is late if it takes 1.5 times as long as its usual duration, and at least five minutes longer. Usual is the longest of the last
// twenty runs without the longest tenth of them, rounded up: after one trouble the next is noticed as soon. Fewer than four are all
// counted. If fewer than three runs are known, the limit is 30 minutes or 1.5 times the longest, whichever is more. The same limit applies
// to a run with an earlier attempt that neither failed nor was lost. Such a run waits for something, as an attestation for its block, or it
// begins again after a restart. A run about claims may wait for an hour for transactions that clients made up, so its time is counted from
// its last look, unless that look met an error.
const lateSQL = `
	select o.job, o.subject, o.id as run, o.slot, b.since, case when h.known >= 3 then h.usual end as usual, a.allowed, o.error
	from runs o
	cross join lateral (
		select count(*) as known,
			(array_agg(took order by took desc))[1 + case when count(*) < 4 then 0 else ceil(count(*) / 10.0) end::int] as usual
		from (
			select finished_at - created_at as took
			from runs s
			where s.job = o.job and s.subject = o.subject and s.slot < o.slot and s.status = 'succeeded' and s.trigger <> 'backfill'
			order by s.slot desc
			limit 20) t) h
	cross join lateral (select case when o.job = @claims and o.error is null then o.started_at else o.created_at end as since) b
	cross join lateral (
		select case when h.known < 3 or (o.attempt > 1 and o.failures = 0 and o.losses = 0)
			then greatest(h.usual * 1.5, interval '30 minutes') else greatest(h.usual * 1.5, h.usual + interval '5 minutes') end as allowed) a
	where o.status in ('due', 'queued', 'running') and o.trigger <> 'backfill' and o.job <> @backfill and o.started_at is not null
		and clock_timestamp() - b.since > a.allowed
	order by b.since, o.id` // indexes runs_open, runs_job_subject_slot_key

// LateRuns lists the started runs that take longer than is usual for their job and subject. OpenRuns counts the runs that have not started.
func (db OperatorStore) LateRuns(ctx context.Context) ([]Late, error) {
	rows, err := db.reads.Query(ctx, lateSQL, pgx.NamedArgs{"backfill": task.Backfill, "claims": task.Claims})
	list, err := collect[Late](rows, err)
	if err != nil {
		return nil, fmt.Errorf("look for late runs: %w", asUnavailable(err))
	}
	return list, nil
}

// OpenRuns counts the runs that have not ended.
type OpenRuns struct {
	// Due, Queued and Running count runs by their status. Late counts due and queued runs whose time has come. Oldest is when the longest
	// of their waits began, nil if no run waits.
	Due, Queued, Running, Late int64
	// Later counts the due runs whose next attempt has a time that has not come.
	Later  int64
	Oldest *time.Time
}

// DueNow is how many of the due runs have no time that has yet to come.
func (o OpenRuns) DueNow() int64 { return o.Due - o.Later }

const openRunsSQL = `
	select count(*) filter (where status = 'due') as due, count(*) filter (where status = 'queued') as queued,
		count(*) filter (where status = 'running') as running, count(*) filter (where waits is not null) as late, min(waits) as oldest,
		count(*) filter (where status = 'due' and next_try_at > clock_timestamp()) as later
	from (
		select status, next_try_at, case when status = 'queued' or (status = 'due' and (next_try_at is null or next_try_at <= clock_timestamp()))
			then greatest(created_at, next_try_at) end as waits
		from runs
		where status in ('due', 'queued', 'running')
	) r` // index runs_open

// OpenRuns counts the runs that have not ended, including runs of backfills.
func (db OperatorStore) OpenRuns(ctx context.Context) (OpenRuns, error) {
	rows, err := db.reads.Query(ctx, openRunsSQL)
	if err != nil {
		return OpenRuns{}, fmt.Errorf("count the open runs: %w", asUnavailable(err))
	}
	o, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[OpenRuns])
	if err != nil {
		return OpenRuns{}, fmt.Errorf("count the open runs: %w", asUnavailable(err))
	}
	return o, nil
}

// RecordStatus is the state of the record of picks and its witnesses.
type RecordStatus struct {
	// Length and HeadAt describe the announced chain.
	Length int64
	HeadAt *time.Time
	// Attested is the number of its picks that a safe or final attestation covers. UnattestedSince is when the oldest other pick was
	// announced.
	Attested        int64
	UnattestedSince *time.Time
	// Uncommitted counts entries that are not in the git ledger yet, Unpushed entries that are not on its remote.
	Uncommitted, Unpushed int64
	// LastPick is the newest date of a recorded pick or gap, or nil.
	LastPick *string
}

const recordSeenSQL = `
	with covered as (select coalesce(max(length), 0) as length from attestations where state in ('safe', 'final'))
	select (select coalesce(max(seq), 0) from announcements) as length,
		(select announced_at from announcements order by seq desc limit 1) as head_at,
		covered.length as attested,
		(select announced_at from announcements where seq > covered.length order by seq limit 1) as unattested_since,
		(select count(*) from ledger_entries where commit_id is null) as uncommitted,
		(select count(*) from ledger_entries where pushed_at is null) as unpushed,
		(select max(date) from (select max(date) as date from picks union all select max(date) from gaps) d) as last_pick
	from covered`

// RecordStatus returns the state of the record and its witnesses.
func (db OperatorStore) RecordStatus(ctx context.Context) (RecordStatus, error) {
	rows, err := db.reads.Query(ctx, recordSeenSQL)
	if err != nil {
		return RecordStatus{}, fmt.Errorf("read how the record stands: %w", asUnavailable(err))
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[RecordStatus])
	if err != nil {
		return RecordStatus{}, fmt.Errorf("read how the record stands: %w", asUnavailable(err))
	}
	return r, nil
}

// BackfillStatus counts the slots of an unfinished backfill in one state.
type BackfillStatus struct {
	ID           int64
	Signal       string
	State        string
	Slots        int64
	WorkingSince *time.Time
}

// BackfillStatus counts the slots of started, unfinished backfills, by backfill and state.
func (db OperatorStore) BackfillStatus(ctx context.Context) ([]BackfillStatus, error) {
	rows, err := db.reads.Query(ctx, `
		select b.id, b.signal, s.status as state, count(*) as slots, b.working_since
		from backfills b join backfill_slots s on s.backfill_id = b.id
		where b.status in ('running', 'paused') and b.finished_at is null
		group by b.id, s.status
		order by b.id, s.status`)
	list, err := collect[BackfillStatus](rows, err)
	if err != nil {
		return nil, fmt.Errorf("count the slots of the backfills: %w", asUnavailable(err))
	}
	return list, nil
}

// HostStatus is a publisher's host that must not receive requests for a while.
type HostStatus struct {
	Host string
	Wait time.Duration
}

// HostStatus lists the hosts that are delayed for longer than min, as they demanded.
func (db OperatorStore) HostStatus(ctx context.Context, min time.Duration) ([]HostStatus, error) {
	rows, err := db.reads.Query(ctx, `
		select host, next_at - clock_timestamp() as wait from hosts where next_at > clock_timestamp() + @min::interval order by host`,
		pgx.NamedArgs{"min": min})
	list, err := collect[HostStatus](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read which hosts are shut: %w", asUnavailable(err))
	}
	return list, nil
}

// AddBackup records a whole backup that began at an instant of the wall clock. An instant that the server's clock has not reached counts as
// now: no alert would tell of late backups until then.
func (db OperatorStore) AddBackup(ctx context.Context, began time.Time) error {
	if _, err := db.pool.Exec(ctx, `insert into backups (began_at) values (least(@began, clock_timestamp())) on conflict do nothing`, pgx.NamedArgs{"began": began}); err != nil {
		return fmt.Errorf("record a backup: %w", err)
	}
	return nil
}

// LastBackup returns when the newest whole backup began, or nil if none is recorded.
func (db OperatorStore) LastBackup(ctx context.Context) (began *time.Time, err error) {
	if err := db.reads.QueryRow(ctx, `select max(began_at) from backups`).Scan(&began); err != nil { // primary key
		return nil, fmt.Errorf("read the newest backup: %w", asUnavailable(err))
	}
	return began, nil
}
