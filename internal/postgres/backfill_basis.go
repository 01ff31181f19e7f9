package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/internal/task"
)

// SeriesState counts the stored observations of a series.
type SeriesState struct {
	Series series.ID
	// Vintages counts its observations with all their vintages. Newest is the newest vintage, nil if there are no observations.
	Vintages int64
	Newest   *time.Time
	// FirstLoadedAt is when it was first loaded, and ConfirmedAt when it was last confirmed. They are nil until its first load is complete.
	FirstLoadedAt, ConfirmedAt *time.Time
}

// Loaded reports whether the series' first load is complete.
func (s SeriesState) Loaded() bool { return s.ConfirmedAt != nil }

const statesSQL = `
	select t.series, coalesce(o.vintages, 0) as vintages, o.newest, w.first_loaded_at, w.confirmed_at
	from unnest(@series::text[]) with ordinality as t (series, place)
	left join (
		select series, count(*) as vintages, max(vintage_at) as newest from observations where series = any(@series) group by series
	) o on o.series = t.series
	left join watermarks w on w.series = t.series
	order by t.place`

// SeriesStates returns the states of several series, in the order of ids.
func (db BackfillStore) SeriesStates(ctx context.Context, ids []series.ID) ([]SeriesState, error) {
	rows, err := db.reads.Query(ctx, statesSQL, pgx.NamedArgs{"series": ids})
	list, err := collect[SeriesState](rows, err)
	if err != nil {
		return nil, fmt.Errorf("look up what is known: %w", err)
	}
	return list, nil
}

// PastSlot is the history of one slot of a signal.
type PastSlot struct {
	Slot time.Time
	// HasSnapshot means that a snapshot exists; Value and Version are its value and version.
	HasSnapshot bool
	Value       *float64
	Version     *string
	// HasFailed means that a run for the slot, or an earlier backfill of the slot, failed.
	HasFailed bool
}

const pastSQL = `
	select coalesce(p.at, f.slot) as slot, p.at is not null as has_snapshot, p.value, md5(to_jsonb(p)::text) as version,
		f.slot is not null as has_failed
	from (select * from snapshots where signal = @signal and at between @from and @to) p
	full join (
		select slot from runs
		where job = @job and subject = @signal and slot between @from and @to and status = 'failed'
		union
		select s.slot
		from backfills b join backfill_slots s on s.backfill_id = b.id
		where b.signal = @signal and b.as_of is null and s.status = 'failed' and s.slot between @from and @to
	) f on f.slot = p.at
	order by 1` // primary keys

// PastSlots returns the slots of a signal between two instants, both included, that have a snapshot or a failure. Other slots are absent.
func (db BackfillStore) PastSlots(ctx context.Context, signal string, from, to time.Time) ([]PastSlot, error) {
	rows, err := db.reads.Query(ctx, pastSQL, pgx.NamedArgs{"signal": signal, "from": from, "to": to, "job": task.Signal})
	list, err := collect[PastSlot](rows, err)
	if err != nil {
		return nil, fmt.Errorf("look up the slots of %s: %w", signal, err)
	}
	return list, nil
}

// RequestsSince counts the requests to a source since an instant of the world's clock.
func (db BackfillStore) RequestsSince(ctx context.Context, source string, since time.Time) (int64, error) {
	var n int64
	err := db.reads.QueryRow(ctx, `select count(*) from fetches where source = @source and fetched_at >= @since`,
		pgx.NamedArgs{"source": source, "since": since}).Scan(&n) // index fetches_by_url
	if err != nil {
		return 0, fmt.Errorf("count the requests to %s: %w", source, err)
	}
	return n, nil
}
