package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/signals"
)

// The history of a signal is stored as versions of its points. A computation for an instant stores only the points that differ from the
// stored versions as of that instant. So the newest versions at or before an instant are the track that was current at that instant.

const stageTrackSQL = `
	create temporary table if not exists stage_track (
		observed_at timestamptz not null, value double precision, lo double precision, hi double precision,
		baseline double precision, scale double precision, n int not null, z_score double precision, delta_pct double precision,
		input_known_at timestamptz not null);
	truncate stage_track`

// stageTrack copies a track to the connection's temporary table.
func stageTrack(ctx context.Context, c *pgxpool.Conn, track signals.Track) error {
	if _, err := c.Exec(ctx, stageTrackSQL); err != nil {
		return fmt.Errorf("stage the track: %w", err)
	}
	var observedAt, inputKnownAt pgtype.Timestamptz
	var value, lo, hi, baseline, scale, z, delta pgtype.Float8
	var n pgtype.Int4
	row := []any{&observedAt, &value, &lo, &hi, &baseline, &scale, &n, &z, &delta, &inputKnownAt}
	rows := eachOf(len(track), func(i int) []any {
		e := &track[i]
		observedAt, inputKnownAt, n = timestamptz(e.ObservedAt.Time()), timestamptz(e.KnownAt.Time()), pgtype.Int4{Int32: int32(e.N), Valid: true}
		value, lo, hi, baseline, scale = float8(e.Value), float8(e.Lo), float8(e.Hi), float8(e.Baseline), float8(e.Scale)
		z, delta = float8(e.Z()), float8(e.DeltaPct())
		return row
	})
	_, err := copyInto(ctx, c.Conn(), "stage_track", "observed_at, value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at", rows)
	if err != nil {
		return fmt.Errorf("stage the track: %w", err)
	}
	return nil
}

// number returns a float as it is stored. known is false if v is NaN or infinite. It turns negative zero into zero, since the database
// treats them as equal.
func number(v float64) (stored float64, known bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	if v == 0 {
		v = 0
	}
	return v, true
}

// A change at an instant must not change the history at the next computed instant. So the previous values are inserted again there. A point
// can disappear because no data is known at the instant, or because another version of the program computed it. Such rows are marked as kept,
// because no publisher withdrew the point. An installation that ran before its first data came has such instants.
const mergeTrackSQL = `
	with in_force as (
		select distinct on (observed_at) observed_at, known_at, edition, gone, value, lo, hi, baseline, scale, n, z_score, delta_pct,
			input_known_at
		from estimates
		where signal = @signal and known_at <= @at
		order by observed_at desc, known_at desc, edition desc -- the primary key, backwards
	), changed as (
		select coalesce(t.observed_at, f.observed_at) as observed_at, t.observed_at is null as gone,
			case when f.known_at = @at then f.edition + 1 else 0 end as edition,
			t.value, t.lo, t.hi, t.baseline, t.scale, coalesce(t.n, 0) as n, t.z_score, t.delta_pct, t.input_known_at,
			coalesce(f.gone, true) as was_gone, f.value as was_value, f.lo as was_lo, f.hi as was_hi, f.baseline as was_baseline,
			f.scale as was_scale, coalesce(f.n, 0) as was_n, f.z_score as was_z_score, f.delta_pct as was_delta_pct,
			f.input_known_at as was_input_known_at
		from stage_track t
		full join in_force f on f.observed_at = t.observed_at
		where case
			when t.observed_at is null then not f.gone
			when f.observed_at is null then true
			else f.gone or (t.value, t.lo, t.hi, t.baseline, t.scale, t.n, t.z_score, t.delta_pct, t.input_known_at)
				is distinct from (f.value, f.lo, f.hi, f.baseline, f.scale, f.n, f.z_score, f.delta_pct, f.input_known_at)
		end
	), next as (
		select (select min(at) from snapshots where signal = @signal and at > @at) as at
	), later as (
		select n.at, s.observed_at is null or s.code_version <> @code_version as keeps
		from next n left join snapshots s on s.signal = @signal and s.at = n.at
	), program as (
		-- A point that goes where another program computes was not withdrawn by a publisher.
		select coalesce((select code_version from snapshots where signal = @signal and at < @at order by at desc limit 1) <> @code_version, false)
			as recoded
	), said as (
		insert into estimates (signal, observed_at, known_at, edition, gone, kept, value, lo, hi, baseline, scale, n, z_score, delta_pct,
			input_known_at)
		select @signal, observed_at, @at, edition, gone, gone and (recoded or @empty), value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at
		from changed, program
		order by observed_at
	), said_again as (
		insert into estimates (signal, observed_at, known_at, gone, kept, value, lo, hi, baseline, scale, n, z_score, delta_pct,
			input_known_at)
		select @signal, c.observed_at, l.at, was_gone, was_gone and l.keeps, was_value, was_lo, was_hi, was_baseline, was_scale, was_n, was_z_score,
			was_delta_pct, was_input_known_at
		from changed c join later l on l.at is not null
		where not exists (
			select from estimates e where e.signal = @signal and e.observed_at = c.observed_at and e.known_at = l.at)
		order by c.observed_at
		returning 1
	)
	select (select count(*) from changed) + (select count(*) from said_again), (select count(*) from changed),
		(select coalesce(sum(floor(extract(epoch from observed_at))::bigint), 0)::bigint from changed)`

// mergeTrack adds the staged track to the history of the snapshot's signal. It returns the number of added rows, and what it changes from the
// instant on. The caller holds the signal's lock.
func mergeTrack(ctx context.Context, tx pgx.Tx, s Snapshot) (added int64, change trackChange, err error) {
	err = tx.QueryRow(ctx, mergeTrackSQL, pgx.NamedArgs{
		"signal": s.Signal, "at": s.At, "code_version": s.CodeVersion, "empty": s.ObservedAt == nil,
	}).Scan(&added, &change.points, &change.seconds)
	if err != nil {
		return 0, change, fmt.Errorf("add to the history: %w", err)
	}
	return added, change, nil
}

const lockSignalSQL = `select pg_advisory_xact_lock(hashtextextended('signal ' || @signal, 0))`

// lockSignal serialises changes of a signal's history until tx ends, because each compares with all stored data.
func lockSignal(ctx context.Context, tx pgx.Tx, signal string) error {
	if _, err := tx.Exec(ctx, lockSignalSQL, pgx.NamedArgs{"signal": signal}); err != nil {
		return fmt.Errorf("lock the signal: %w", err)
	}
	return nil
}
