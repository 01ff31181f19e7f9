package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/series"
)

const asOfSQL = `
	select series, observed_at, vintage_at, value
	from (
		select distinct on (series, observed_at) series, observed_at, vintage_at, value
		from observations
		where series = any(@series) and vintage_at <= @as_of
		order by series, observed_at, vintage_at desc
	) known
	where value is not null
	order by series, observed_at` // primary key

// ObservationsAsOf returns what was known of several series at an instant. A series without any is absent from the set.
func (db *DB) ObservationsAsOf(ctx context.Context, ids []series.ID, asOf time.Time) (series.Set, error) {
	rows, err := db.pool.Query(ctx, asOfSQL, pgx.NamedArgs{"series": ids, "as_of": asOf})
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	set := series.Set{}
	var id series.ID
	var p series.Point
	_, err = pgx.ForEachRow(rows, []any{&id, &p.ObservedAt, &p.VintageAt, &p.Value}, func() error {
		set[id] = append(set[id], p)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read observations: %w", err)
	}
	return set, nil
}

// Observations returns every vintage of a series, ordered by observation time and vintage.
func (db *DB) Observations(ctx context.Context, id series.ID) ([]series.Observation, error) {
	rows, err := db.pool.Query(ctx, `
		select series, observed_at, vintage_at, coalesce(value, 0), coalesce(marker, ''), assumed
		from observations
		where series = @series
		order by observed_at, vintage_at`, pgx.NamedArgs{"series": id})
	if err != nil {
		return nil, fmt.Errorf("read observations of %s: %w", id, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[series.Observation])
	if err != nil {
		return nil, fmt.Errorf("read observations of %s: %w", id, err)
	}
	return list, nil
}
