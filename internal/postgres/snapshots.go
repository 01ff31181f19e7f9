package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/signals"
)

// SnapshotStore keeps the values of signals: snapshots, histories, backtests and states.
//
// It reads estimates, fetches, observations, signal_states, snapshots, watermarks, world. It writes estimates, runs, signal_states, snapshots.
type SnapshotStore struct{ *connections }

// Snapshot is the stored state of one signal at an instant. Unknown numbers are nil.
type Snapshot struct {
	Signal string
	// At is the instant of the snapshot, and of the data that it was computed from.
	At time.Time
	// Cause is the reason for the status.
	Status, Cause string
	// CoversFrom is the time of the track's oldest point. ObservedAt is the time of its newest point, which the numbers belong to.
	CoversFrom          *time.Time
	ObservedAt, KnownAt *time.Time
	// FirstIngestedAt is when the last of the inputs was first loaded. Values with an earlier time of knowledge were published before it,
	// and their publication was not observed.
	FirstIngestedAt              *time.Time
	Value, Lo, Hi                *float64
	Baseline, Scale, Z, DeltaPct *float64
	// N is the number of values in the baseline.
	N          int
	Components []SnapshotComponent
	Inputs     []Input
	// Backtest is nil if none was made. Uncertainty is nil if the program that computed the snapshot did not measure the interval.
	Backtest    *Backtest
	Uncertainty *Uncertainty
	Synthetic   bool
	// CodeVersion is the version of the program that computed it.
	CodeVersion string
	RunID       *int64
	// ServedAt is when these numbers were stored, in the world's time, and so from when on they could be served. SaveSnapshot sets it. A
	// repeated computation with the same numbers does not change it. It is nil for snapshots of older programs.
	ServedAt *time.Time
	// LoadsSeen is the id of the newest load among the data it was computed from (see NewestLoad). It puts the snapshot in its place among the
	// steps that an archive is exported with.
	LoadsSeen *int64
}

// SnapshotComponent is a part of a signal, or another view of it.
type SnapshotComponent struct {
	Name       string     `json:"name"`
	Label      string     `json:"label"`
	Unit       string     `json:"unit"`
	ObservedAt *time.Time `json:"observed_at"`
	Value      *float64   `json:"value"`
	Baseline   *float64   `json:"baseline_value"`
	DeltaPct   *float64   `json:"delta_vs_baseline_pct"`
	Z          *float64   `json:"z_score"`
}

// Input is a fetch that a snapshot depends on.
type Input struct {
	Source    string    `json:"source"`
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetched_at"`
	SHA256    string    `json:"sha256"`
	Synthetic bool      `json:"synthetic"`
}

const (
	savedColumns = `signal, at, status, cause, covers_from, observed_at, known_at, first_ingested_at, value, lo, hi, baseline, scale, z_score, delta_pct, n,
		components, inputs, backtest, uncertainty, synthetic, code_version, run_id, served_at, loads_seen`
	savedValues = `@signal, @at, @status, @cause, @covers_from, @observed_at, @known_at, @first_ingested_at, @value, @lo, @hi, @baseline, @scale, @z_score,
		@delta_pct, @n, @components, @inputs, @backtest, @uncertainty, @synthetic, @code_version, nullif(@run_id, 0), world_now(), @loads_seen`
)

const saveSnapshotSQL = `
	insert into snapshots as s (` + savedColumns + `) values (` + savedValues + `)
	on conflict (signal, at) do update
	set status = excluded.status, cause = excluded.cause, covers_from = excluded.covers_from,
		observed_at = excluded.observed_at, known_at = excluded.known_at, first_ingested_at = excluded.first_ingested_at, value = excluded.value, lo = excluded.lo, hi = excluded.hi, baseline = excluded.baseline, scale = excluded.scale,
		z_score = excluded.z_score, delta_pct = excluded.delta_pct, n = excluded.n, components = excluded.components,
		inputs = excluded.inputs, backtest = excluded.backtest, uncertainty = excluded.uncertainty, synthetic = excluded.synthetic,
		code_version = excluded.code_version, run_id = excluded.run_id, computed_at = clock_timestamp(),
		loads_seen = excluded.loads_seen,
		served_at = case
			when (s.observed_at, s.value, s.lo, s.hi, s.baseline, s.scale, s.z_score, s.delta_pct, s.n) is not distinct from
				(excluded.observed_at, excluded.value, excluded.lo, excluded.hi, excluded.baseline, excluded.scale, excluded.z_score, excluded.delta_pct, excluded.n)
			then s.served_at else excluded.served_at end`

// SaveSnapshot stores a snapshot with its track, and a change of the signal's state if the status is new. It replaces a snapshot for the
// same signal and instant. From the snapshot's instant to the next computed instant, the history equals the track, in whichever order the
// two were computed. The same track again adds nothing. It stores all or nothing, and only while the attempt in f is current. Listeners on
// ChannelSnapshots are notified at the commit.
func (db SnapshotStore) SaveSnapshot(ctx context.Context, f task.Fence, s Snapshot, track signals.Track) error {
	return db.SaveGrowing(ctx, f, s, signals.Whole(slices.Clone(track)))
}

// SaveGrowing is SaveSnapshot for a track that may continue an earlier one. It keeps the track, which must not be changed later.
func (db SnapshotStore) SaveGrowing(ctx context.Context, f task.Fence, s Snapshot, track signals.Growing) (err error) {
	ctx, span := telemetry.Step(ctx, "snapshot", slog.String("signal", s.Signal), slog.Time("at", s.At), slog.String("status", s.Status))
	defer func() { span.End(err) }()
	args, err := snapshotArgs(f, s)
	if err != nil {
		return fmt.Errorf("save the snapshot of %s: %w", s.Signal, err)
	}
	if err := db.storeTrack(ctx, f, s, track, args); err != nil {
		return fmt.Errorf("save the snapshot of %s: %w", s.Signal, err)
	}
	return nil
}

func snapshotArgs(f task.Fence, s Snapshot) (pgx.NamedArgs, error) {
	components, err := json.Marshal(nonNil(s.Components))
	if err != nil {
		return nil, err
	}
	inputs, err := json.Marshal(nonNil(s.Inputs))
	if err != nil {
		return nil, err
	}
	var backtest, uncertainty []byte
	if s.Backtest != nil {
		if backtest, err = json.Marshal(s.Backtest); err != nil {
			return nil, err
		}
	}
	if s.Uncertainty != nil {
		if uncertainty, err = json.Marshal(s.Uncertainty); err != nil {
			return nil, err
		}
	}
	return pgx.NamedArgs{
		"signal": s.Signal, "at": s.At, "status": s.Status, "cause": s.Cause, "covers_from": s.CoversFrom, "observed_at": s.ObservedAt, "known_at": s.KnownAt, "first_ingested_at": s.FirstIngestedAt,
		"value": s.Value, "lo": s.Lo, "hi": s.Hi, "baseline": s.Baseline, "scale": s.Scale, "z_score": s.Z,
		"delta_pct": s.DeltaPct, "n": s.N, "components": components, "inputs": inputs, "backtest": backtest, "uncertainty": uncertainty,
		"synthetic": s.Synthetic, "code_version": s.CodeVersion, "run_id": f.RunID, "loads_seen": s.LoadsSeen,
	}, nil
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

const snapshotColumns = `signal, at, status, cause, covers_from, observed_at, known_at, first_ingested_at, value, lo, hi, baseline, scale, z_score as z, delta_pct, n,
	components, inputs, backtest, uncertainty, synthetic, code_version, run_id, served_at, loads_seen`

const snapshotAsOfSQL = `
	select ` + snapshotColumns + ` from snapshots
	where signal = @signal and at <= @as_of
	order by at desc
	limit 1` // primary key

// SnapshotAsOf returns the newest snapshot of a signal for an instant at or before asOf, or ErrNotFound.
func (db SnapshotStore) SnapshotAsOf(ctx context.Context, signal string, asOf time.Time) (Snapshot, error) {
	return db.snapshot(ctx, snapshotAsOfSQL, pgx.NamedArgs{"signal": signal, "as_of": asOf})
}

// FirstComputed returns the first instant with a snapshot of a signal, or zero.
func (db SnapshotStore) FirstComputed(ctx context.Context, signal string) (time.Time, error) {
	var at *time.Time
	err := db.reads.QueryRow(ctx, `select min(at) from snapshots where signal = @signal`, pgx.NamedArgs{"signal": signal}).Scan(&at) // primary key
	if err != nil {
		return time.Time{}, fmt.Errorf("look up the first snapshot of %s: %w", signal, err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return at.UTC(), nil
}

// Computed identifies the computations behind the data as of an instant. at is the newest computed instant, and last is when the last
// computation up to it ran. The result changes whenever a response as of that instant could change. version is the number of the newest
// stored version of a point, for HistoryQuery.Version: the versions of a signal are numbered under its lock, so a later one has a higher
// number. It returns ErrNotFound if nothing was computed.
func (db SnapshotStore) Computed(ctx context.Context, signal string, asOf time.Time) (at, last time.Time, version int64, err error) {
	at, last, version, _, err = db.computed(ctx, signal, asOf)
	return at, last, version, err
}

// computed is Computed with the server's log position at the time of the read.
func (db SnapshotStore) computed(ctx context.Context, signal string, asOf time.Time) (at, last time.Time, version, position int64, err error) {
	var newest, computed *time.Time
	err = db.reads.QueryRow(ctx, `
		select max(at), max(computed_at), (select coalesce(max(id), 0) from estimates where signal = @signal), `+positionSQL+`
		from snapshots where signal = @signal and at <= @as_of`, // indexes snapshots_computed, estimates_added
		pgx.NamedArgs{"signal": signal, "as_of": asOf}).Scan(&newest, &computed, &version, &position)
	if err != nil {
		return at, last, 0, 0, fmt.Errorf("look up what was computed of %s: %w", signal, asUnavailable(err))
	}
	if newest == nil {
		return at, last, version, position, fmt.Errorf("what was computed of %s by %s: %w", signal, asOf.Format(time.RFC3339), ErrNotFound)
	}
	return newest.UTC(), computed.UTC(), version, position, nil
}

const inputsSQL = `
	select distinct on (t.series) f.source, f.url, f.fetched_at, f.sha256, f.synthetic
	from unnest(@series::text[]) as t (series)
	join lateral (
		select o.fetch_id from observations o
		where o.series = t.series and o.vintage_at <= @as_of
		order by o.observed_at desc, o.vintage_at desc
		limit 1
	) newest on true
	join fetches f on f.id = newest.fetch_id
	order by t.series` // primary keys

// InputsAsOf returns, for each series with observations, the fetch behind its newest observation as of an instant.
func (db SnapshotStore) InputsAsOf(ctx context.Context, ids []series.ID, asOf time.Time) ([]Input, error) {
	rows, err := db.reads.Query(ctx, inputsSQL, pgx.NamedArgs{"series": ids, "as_of": asOf})
	if err != nil {
		return nil, fmt.Errorf("read the inputs: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Input])
	if err != nil {
		return nil, fmt.Errorf("read the inputs: %w", err)
	}
	return list, nil
}

// FirstIngested returns when the last of several series was first loaded. It is nil if one of them was never loaded.
func (db SnapshotStore) FirstIngested(ctx context.Context, ids []series.ID) (*time.Time, error) {
	var at *time.Time
	err := db.reads.QueryRow(ctx, `
		select case when bool_and(w.series is not null) then max(w.first_loaded_at) end
		from unnest(@series::text[]) as t (series) left join watermarks w on w.series = t.series`,
		pgx.NamedArgs{"series": ids}).Scan(&at) // primary key
	if err != nil {
		return nil, fmt.Errorf("look up when inputs were first loaded: %w", err)
	}
	if at == nil {
		return nil, nil
	}
	return new(at.UTC()), nil
}
