package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// Source is the part of a series, as known at an instant, that came from one fetch.
type Source struct {
	Series  series.ID
	FetchID int64
	// N is the number of observations in force that came with the fetch. From and To are the first and the last of them. Assumed counts
	// those whose vintage is assumed, because their publication was not recorded.
	N, Assumed int
	From, To   time.Time
}

const sourcesAsOfSQL = `
	select series, fetch_id, count(*) as n, count(*) filter (where assumed) as assumed, min(observed_at) as "from", max(observed_at) as "to"
	from (
		select distinct on (series, observed_at) series, observed_at, value, assumed, fetch_id
		from observations
		where series = any(@series) and vintage_at <= @as_of
		order by series, observed_at, vintage_at desc
	) known
	where value is not null
	group by series, fetch_id
	order by series, fetch_id` // primary key

// SourcesAsOf returns the fetches behind all observations of several series, as known at an instant.
func (db ObservationStore) SourcesAsOf(ctx context.Context, ids []series.ID, asOf time.Time) ([]Source, error) {
	rows, err := db.reads.Query(ctx, sourcesAsOfSQL, pgx.NamedArgs{"series": ids, "as_of": asOf})
	list, err := collect[Source](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read where observations came from: %w", err)
	}
	return list, nil
}

// KnownObservation is an observation as it was known at an instant, with the fetch that brought it.
type KnownObservation struct {
	Series                series.ID
	ObservedAt, VintageAt time.Time
	Value                 float64
	Assumed               bool
	FetchID               int64
	// Vintages is the number of vintages that existed at the instant.
	Vintages int
}

const newestKnownSQL = `
	select series, observed_at, vintage_at, value, assumed, fetch_id, vintages
	from (
		select k.*, row_number() over (partition by series order by observed_at desc) as place
		from (
			select distinct on (series, observed_at) series, observed_at, vintage_at, value, assumed, fetch_id,
				count(*) over (partition by series, observed_at) as vintages
			from observations
			where series = any(@series) and vintage_at <= @as_of and observed_at <= @until
			order by series, observed_at, vintage_at desc
		) k
		where value is not null
	) k
	where place <= @limit
	order by series, observed_at desc` // primary key

// NewestKnown returns the newest observations up to a time, at most limit of each series, as known at an instant.
func (db ObservationStore) NewestKnown(ctx context.Context, ids []series.ID, asOf, until time.Time, limit int) ([]KnownObservation, error) {
	rows, err := db.reads.Query(ctx, newestKnownSQL, pgx.NamedArgs{"series": ids, "as_of": asOf, "until": until, "limit": limit})
	list, err := collect[KnownObservation](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the newest observations: %w", err)
	}
	return list, nil
}

// FetchesByID returns rows of the fetch log, ordered by id.
func (db ObservationStore) FetchesByID(ctx context.Context, ids []int64) ([]series.Fetch, error) {
	rows, err := db.reads.Query(ctx, `select `+fetchColumns+` from fetches where id = any(@ids) order by id`, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("read fetches: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanFetch)
	if err != nil {
		return nil, fmt.Errorf("read fetches: %w", err)
	}
	return list, nil
}
