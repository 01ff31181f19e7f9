package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

// ErrRebuilt: another process has done the step that this one was about to do.
var ErrRebuilt = errors.New("another process is rebuilding the same")

// noteLoad writes down that a transaction stores some answers together; of a step that is done again (not zero) that it is done.
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
	_, err := tx.Exec(ctx, noteLoadSQL, pgx.NamedArgs{"source": s.Source, "choices": s.Choices, "fetches": fetches, "at": at})
	if err != nil {
		return fmt.Errorf("note what is stored: %w", err)
	}
	return nil
}

// stepOf is the step of storing loads. What only reads again what is known is none unless it added something.
func stepOf(loads []Load, added int64) series.Step {
	var s series.Step
	for _, l := range loads {
		if !l.Anew || added > 0 {
			s.Answers = append(s.Answers, series.StepAnswer{Fetch: l.FetchID, KnownAt: l.FetchedAt})
		}
	}
	return s
}

const loadsSQL = `
	select l.source, l.choices, l.stored_at, coalesce(array_agg(f.fetch_id order by f.place) filter (where f.fetch_id is not null), '{}'),
		coalesce(array_agg(f.known_at order by f.place) filter (where f.fetch_id is not null), '{}')
	from loads l
	left join load_fetches f on f.load_id = l.id
	where not l.left_out and l.id <= @newest and not exists (select from rebuilding r where r.load_id = l.id)
	group by l.id
	order by l.id`

const computedSQL = `select signal, at, computed_at from snapshots where computed_at <= @newest order by computed_at, signal, at`

// Steps yields all that was done up to now, in its order. What is done while it is read is not among it, and neither is what an import
// has brought and nobody has rebuilt yet.
func (db *DB) Steps(ctx context.Context) iter.Seq2[series.Step, error] {
	return func(yield func(series.Step, error) bool) {
		if err := db.steps(ctx, yield); err != nil {
			yield(series.Step{}, fmt.Errorf("read what was done: %w", err))
		}
	}
}

func (db *DB) steps(ctx context.Context, yield func(series.Step, error) bool) error {
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
	}
	snapshots, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (c computed, err error) {
		return c, r.Scan(&c.step.Signal, &c.step.At, &c.at)
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
		var storedAt time.Time
		var fetches []int64
		var at []time.Time
		if err := rows.Scan(&s.Source, &s.Choices, &storedAt, &fetches, &at); err != nil {
			return err
		}
		for len(snapshots) > 0 && snapshots[0].at.Before(storedAt) {
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

// What was stored here already, or came with another import, is not brought again.
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

// Of what came with an archive that says what was stored, the rest was not.
const leaveOutSQL = `
	with rest as (
		select f.id, f.fetched_at, f.source from fetches f
		where f.id = any(@fetches::bigint[]) and f.run_id is null and not exists (select from load_fetches l where l.fetch_id = f.id)
	), l as (
		insert into loads (source, left_out) select distinct source, true from rest returning id, source
	)
	insert into load_fetches (load_id, place, fetch_id, known_at)
	select l.id, row_number() over (partition by l.id order by r.id), r.id, r.fetched_at from rest r join l on l.source = r.source`

// AddSteps notes what is to be done with answers that came with an archive, in its order, and returns how many steps are new here. fetches
// are the ids of all answers that came: those that no step names are left out of the observations, as they were there. All or nothing
// is noted; the same steps again are none.
func (db *DB) AddSteps(ctx context.Context, steps iter.Seq2[series.Step, error], fetches []int64) (added int64, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `lock table rebuilding in share row exclusive mode`); err != nil { // one import at a time
			return err
		}
		for s, err := range steps {
			if err != nil {
				return err
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
		return 0, fmt.Errorf("note what is to be rebuilt: %w", err)
	}
	return added, nil
}

// Pending is a step that is to be done.
type Pending struct {
	ID   int64
	Step series.Step
	// Fetches are the answers of the step, in its order.
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

// NextStep returns the first step after another that an import has brought and that is yet to be done, of one source or (empty) of all,
// or ErrNotFound.
func (db *DB) NextStep(ctx context.Context, after int64, source string) (p Pending, err error) {
	s := &p.Step
	err = db.reads.QueryRow(ctx, pendingSQL, pgx.NamedArgs{"after": after, "source": source}).Scan(&p.ID, &s.Source, &s.Choices, &s.Signal, &s.At)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, fmt.Errorf("a step that is to be done: %w", ErrNotFound)
	}
	if err != nil {
		return p, fmt.Errorf("read what is to be rebuilt: %w", err)
	}
	rows, err := db.reads.Query(ctx, pendingFetchesSQL, pgx.NamedArgs{"id": p.ID})
	if err != nil {
		return p, fmt.Errorf("read what is to be rebuilt: %w", err)
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
		return p, fmt.Errorf("read what is to be rebuilt: %w", err)
	}
	return p, nil
}

// StepsLeft counts the steps that are to be done.
func (db *DB) StepsLeft(ctx context.Context) (n int64, err error) {
	if err := db.reads.QueryRow(ctx, `select count(*) from rebuilding`).Scan(&n); err != nil {
		return 0, fmt.Errorf("count what is to be rebuilt: %w", err)
	}
	return n, nil
}

// EndStep notes that a step which stores nothing is done.
func (db *DB) EndStep(ctx context.Context, id int64) error {
	if _, err := db.pool.Exec(ctx, `delete from rebuilding where id = $1`, id); err != nil {
		return fmt.Errorf("end a step: %w", err)
	}
	return nil
}

// StoreAgain does a step again that stored loads: what they say became known when the step says.
func (db *DB) StoreAgain(ctx context.Context, step int64, loads []Load) (added int64, err error) {
	for i := range loads {
		loads[i].accepted = true // it was stored once
	}
	return db.storeLoads(ctx, task.Fence{}, step, loads, nil)
}
