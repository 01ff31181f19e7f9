package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/internal/task"
)

const noteLoadSQL = `
	with l as (
		insert into loads (source, choices)
		select coalesce(nullif(@source, ''), (select source from fetches where id = (@fetches::bigint[])[1])), @choices::jsonb
		returning id
	)
	insert into load_fetches (load_id, place, fetch_id, known_at)
	select l.id, t.place, t.fetch_id, t.known_at
	from l, unnest(@fetches::bigint[], @at::timestamptz[]) with ordinality as t (fetch_id, known_at, place)`

// ErrRebuilt means that another process has done the step already.
var ErrRebuilt = errors.New("another process is rebuilding the same")

// noteLoad records that a transaction stores several responses together. If again is not 0, it records instead that this repeated step is
// done. It comes last in its transaction: from the new load's id until the commit, no other transaction gets one. So loads become visible in
// the order of their ids, and a reader of a load sees all before it.
func noteLoad(ctx context.Context, tx pgx.Tx, s series.Step, again int64) error {
	if again != 0 {
		tag, err := tx.Exec(ctx, `delete from rebuilding where id = $1`, again)
		if err == nil && tag.RowsAffected() == 0 {
			err = ErrRebuilt
		}
		if err != nil {
			return fmt.Errorf("end a step: %w", err)
		}
		return nil
	}
	if len(s.Answers) == 0 && s.Choices == nil {
		return nil
	}
	fetches, at := make([]int64, len(s.Answers)), make([]time.Time, len(s.Answers))
	for i, a := range s.Answers {
		fetches[i], at[i] = a.Fetch, a.KnownAt
	}
	if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('loads', 0))`); err != nil {
		return fmt.Errorf("lock the loads: %w", err)
	}
	_, err := tx.Exec(ctx, noteLoadSQL, pgx.NamedArgs{"source": s.Source, "choices": s.Choices, "fetches": fetches, "at": at})
	if err != nil {
		return fmt.Errorf("note what is stored: %w", err)
	}
	return nil
}

// stepOf returns the step that stores loads. A load that only reads known responses again is left out unless something was added.
func stepOf(loads []Load, added int64) series.Step {
	var s series.Step
	for _, l := range loads {
		if len(l.ParsedAgain) == 0 || added > 0 {
			s.Answers = append(s.Answers, series.StepAnswer{Fetch: l.FetchID, KnownAt: l.FetchedAt})
		}
	}
	return s
}

const loadsSQL = `
	select l.id, l.source, l.choices, l.stored_at, coalesce(array_agg(f.fetch_id order by f.place) filter (where f.fetch_id is not null), '{}'),
		coalesce(array_agg(f.known_at order by f.place) filter (where f.fetch_id is not null), '{}')
	from loads l
	left join load_fetches f on f.load_id = l.id
	where not l.left_out and l.id <= @newest and not exists (select from rebuilding r where r.load_id = l.id)
	group by l.id
	order by l.id`

// Snapshots of older programs do not say which loads they saw.
const computedSQL = `
	select signal, at, computed_at, loads_seen from snapshots
	where computed_at <= @newest
	order by loads_seen nulls first, computed_at, signal, at`

// Loads says what a later statement sees at least.
type Loads struct {
	// Seen is the newest load that is seen with all loads before it. Imported loads that were not rebuilt yet, and what was stored after
	// them, do not count.
	Seen int64
	// Newest is the newest load.
	Newest int64
}

const loadsNowSQL = `
	select coalesce((select min(load_id) - 1 from rebuilding where load_id is not null), max(l.id), 0), coalesce(max(l.id), 0),
		exists (
			select from loads n
			where n.id > @newest and not n.left_out and (cardinality(@sources::text[]) = 0 or n.source = any(@sources))
				and not exists (select from rebuilding r where r.load_id = n.id))
	from loads l` // primary key

// LoadsNow returns what was stored until now, and whether anything of these sources, of any if none is named, was stored since an earlier
// call.
func (db ObservationStore) LoadsNow(ctx context.Context, since Loads, sources []string) (now Loads, changed bool, err error) {
	err = db.reads.QueryRow(ctx, loadsNowSQL, pgx.NamedArgs{"newest": since.Newest, "sources": nonNil(sources)}).Scan(&now.Seen, &now.Newest, &changed)
	if err != nil {
		return Loads{}, false, fmt.Errorf("look up what was stored: %w", err)
	}
	return now, changed, nil
}

// Steps yields all completed steps up to now, in order, and before them the states that operators gave to signals, and the forecasts
// with their grades. Steps that end during the call are left out. So are imported steps that were not
// rebuilt yet.
func (db ObservationStore) Steps(ctx context.Context) iter.Seq2[series.Step, error] {
	return func(yield func(series.Step, error) bool) {
		goOn, err := SnapshotStore(db).operatorStates(ctx, yield)
		if err == nil && goOn {
			goOn, err = ForecastStore(db).recordedForecasts(ctx, yield)
		}
		if err == nil && goOn {
			err = db.steps(ctx, yield)
		}
		if err != nil {
			yield(series.Step{}, fmt.Errorf("read what was done: %w", err))
		}
	}
}

func (db ObservationStore) steps(ctx context.Context, yield func(series.Step, error) bool) error {
	var newest int64
	var now time.Time
	if err := db.reads.QueryRow(ctx, `select coalesce(max(id), 0), clock_timestamp() from loads`).Scan(&newest, &now); err != nil {
		return err
	}
	rows, err := db.reads.Query(ctx, computedSQL, pgx.NamedArgs{"newest": now})
	if err != nil {
		return err
	}
	type computed struct {
		step series.Step
		at   time.Time
		seen *int64
	}
	snapshots, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (c computed, err error) {
		return c, r.Scan(&c.step.Signal, &c.step.At, &c.at, &c.seen)
	})
	if err != nil {
		return err
	}
	if rows, err = db.reads.Query(ctx, loadsSQL, pgx.NamedArgs{"newest": newest}); err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s series.Step
		var id int64
		var storedAt time.Time
		var fetches []int64
		var at []time.Time
		if err := rows.Scan(&id, &s.Source, &s.Choices, &storedAt, &fetches, &at); err != nil {
			return err
		}
		for len(snapshots) > 0 && (snapshots[0].seen == nil && snapshots[0].at.Before(storedAt) || snapshots[0].seen != nil && *snapshots[0].seen < id) {
			if !yield(snapshots[0].step, nil) {
				return nil
			}
			snapshots = snapshots[1:]
		}
		for i := range fetches {
			s.Answers = append(s.Answers, series.StepAnswer{Fetch: fetches[i], KnownAt: at[i]})
		}
		if !yield(s, nil) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, c := range snapshots {
		if !yield(c.step, nil) {
			return nil
		}
	}
	return nil
}

// Skips loads that were stored here already, or came with another import.
const bringLoadSQL = `
	with l as (
		insert into loads (source, choices)
		select @source::text, @choices::jsonb
		where not exists (
			select from loads o
			where o.source = @source and o.choices is not distinct from @choices::jsonb and not o.left_out
				and array(select (f.fetch_id, f.known_at) from load_fetches f where f.load_id = o.id order by f.place)
					= array(select (t.fetch_id, t.known_at) from unnest(@fetches::bigint[], @at::timestamptz[]) as t (fetch_id, known_at))
				and (cardinality(@fetches::bigint[]) = 0 or o.id in (select load_id from load_fetches where fetch_id = (@fetches::bigint[])[1])))
		returning id
	), answers as (
		insert into load_fetches (load_id, place, fetch_id, known_at)
		select l.id, t.place, t.fetch_id, t.known_at
		from l, unnest(@fetches::bigint[], @at::timestamptz[]) with ordinality as t (fetch_id, known_at, place)
	)
	insert into rebuilding (load_id) select id from l`

const bringSnapshotSQL = `
	insert into rebuilding (signal, at)
	select @signal::text, @at::timestamptz where not exists (select from snapshots where signal = @signal and at = @at)
	on conflict do nothing`

// An archive lists the responses that were stored. All other responses in it were not stored, and are marked so.
const leaveOutSQL = `
	with rest as (
		select f.id, f.fetched_at, f.source from fetches f
		where f.id = any(@fetches::bigint[]) and f.run_id is null and not exists (select from load_fetches l where l.fetch_id = f.id)
	), l as (
		insert into loads (source, left_out) select distinct source, true from rest returning id, source
	)
	insert into load_fetches (load_id, place, fetch_id, known_at)
	select l.id, row_number() over (partition by l.id order by r.id), r.id, r.fetched_at from rest r join l on l.source = r.source`

// AddSteps records the steps of an imported archive that must be repeated here, in order, and returns the number of new steps. fetches are
// the ids of all imported responses. Responses without a step were left out in the other installation, and are left out here. AddSteps
// records all or nothing; the same steps again add nothing. Operators' states are in force at once, and are not counted. Forecasts and grades
// wait for RestoreForecasts.
func (db ObservationStore) AddSteps(ctx context.Context, steps iter.Seq2[series.Step, error], fetches []int64) (added int64, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `lock table rebuilding in share row exclusive mode`); err != nil { // one import at a time
			return err
		}
		for s, err := range steps {
			if err != nil {
				return err
			}
			if s.State != "" {
				if err := bringState(ctx, tx, s); err != nil {
					return err
				}
				continue
			}
			if s.Record != nil {
				n, err := bringRecord(ctx, tx, s)
				if err != nil {
					return err
				}
				added += n
				continue
			}
			sql, args := bringSnapshotSQL, pgx.NamedArgs{"signal": s.Signal, "at": s.At}
			if s.Signal == "" {
				ids, at := make([]int64, len(s.Answers)), make([]time.Time, len(s.Answers))
				for i, a := range s.Answers {
					ids[i], at[i] = a.Fetch, a.KnownAt
				}
				sql, args = bringLoadSQL, pgx.NamedArgs{"source": s.Source, "choices": s.Choices, "fetches": ids, "at": at}
			}
			tag, err := tx.Exec(ctx, sql, args)
			if err != nil {
				return err
			}
			added += tag.RowsAffected()
		}
		_, err := tx.Exec(ctx, leaveOutSQL, pgx.NamedArgs{"fetches": fetches})
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("record the steps of a rebuild: %w", err)
	}
	return added, nil
}

// Pending is a step that must be done.
type Pending struct {
	ID   int64
	Step series.Step
	// Fetches are the responses of the step, in its order.
	Fetches []series.Fetch
}

const pendingSQL = `
	select r.id, coalesce(l.source, ''), l.choices, coalesce(r.signal, ''), coalesce(r.at, '0001-01-01'::timestamptz)
	from rebuilding r
	left join loads l on l.id = r.load_id
	where r.id > @after and (@source = '' or l.source = @source)
	order by r.id
	limit 1`

const pendingFetchesSQL = `
	select f.id, f.source, f.url, f.status, f.header, f.fetched_at, f.sha256, f.bytes, f.not_modified, f.synthetic, f.constructed, l.known_at
	from rebuilding r
	join load_fetches l on l.load_id = r.load_id
	join fetches f on f.id = l.fetch_id
	where r.id = @id
	order by l.place`

// NextStep returns the first pending step of an import after another step, of one source, or of all sources if source is empty. If no step
// is left, it returns ErrNotFound.
func (db ObservationStore) NextStep(ctx context.Context, after int64, source string) (p Pending, err error) {
	s := &p.Step
	err = db.reads.QueryRow(ctx, pendingSQL, pgx.NamedArgs{"after": after, "source": source}).Scan(&p.ID, &s.Source, &s.Choices, &s.Signal, &s.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, fmt.Errorf("a due step: %w", ErrNotFound)
	}
	if err != nil {
		return p, fmt.Errorf("read the steps of a rebuild: %w", err)
	}
	rows, err := db.reads.Query(ctx, pendingFetchesSQL, pgx.NamedArgs{"id": p.ID})
	if err != nil {
		return p, fmt.Errorf("read the steps of a rebuild: %w", err)
	}
	p.Fetches, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (f series.Fetch, err error) {
		a := series.StepAnswer{}
		err = r.Scan(&f.ID, &f.Source, &f.URL, &f.Status, &f.Header, &f.FetchedAt, &f.SHA256, &f.Bytes, &f.NotModified, &f.Synthetic,
			&f.Constructed, &a.KnownAt)
		a.Fetch = f.ID
		s.Answers = append(s.Answers, a)
		return f, err
	})
	if err != nil {
		return p, fmt.Errorf("read the steps of a rebuild: %w", err)
	}
	return p, nil
}

// StepsLeft counts the pending steps.
func (db ObservationStore) StepsLeft(ctx context.Context) (n int64, err error) {
	if err := db.reads.QueryRow(ctx, `select count(*) from rebuilding`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the steps of a rebuild: %w", err)
	}
	return n, nil
}

// EndStep records that a step which stores nothing is done.
func (db ObservationStore) EndStep(ctx context.Context, id int64) error {
	if _, err := db.pool.Exec(ctx, `delete from rebuilding where id = $1`, id); err != nil {
		return fmt.Errorf("end a step: %w", err)
	}
	return nil
}

const storedBeforeSQL = `
	select distinct f.fetch_id
	from load_fetches f join loads l on l.id = f.load_id
	where f.fetch_id = any(@fetches) and not l.left_out and not exists (select from rebuilding r where r.load_id = l.id)` // index load_fetches_of

// StoreAgain repeats a step that stored loads. Their content became known at the time in the step.
func (db ObservationStore) StoreAgain(ctx context.Context, step int64, loads []Load) (added int64, err error) {
	ids := make([]int64, len(loads))
	for i, l := range loads {
		ids[i] = l.FetchID
	}
	rows, err := db.reads.Query(ctx, storedBeforeSQL, pgx.NamedArgs{"fetches": ids})
	if err != nil {
		return 0, fmt.Errorf("read what was stored: %w", err)
	}
	before, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, fmt.Errorf("read what was stored: %w", err)
	}
	for i, l := range loads {
		loads[i].accepted = true // the other installation stored it
		loads[i].storedBefore = slices.Contains(before, l.FetchID)
	}
	return db.storeLoads(ctx, task.Fence{}, step, loads, nil)
}
