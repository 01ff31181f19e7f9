package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// Each step finds the next newest observation through the index. So the cost does not grow with the number of vintages. Publishers who
// re-estimate their whole history create many vintages.
const knownBeforeSQL = `
	with recursive newest as (
		select t.series, o.observed_at, o.value, o.marker, 1 as place
		from unnest(@series::text[]) as t (series)
		cross join lateral (
			select o.observed_at, o.value, o.marker from observations o
			where o.series = t.series and o.observed_at <= coalesce(@until::timestamptz, 'infinity')
			order by o.observed_at desc, o.vintage_at desc
			limit 1
		) o
		union all
		select n.series, o.observed_at, o.value, o.marker, n.place + 1
		from newest n
		cross join lateral (
			select o.observed_at, o.value, o.marker from observations o
			where o.series = n.series and o.observed_at < n.observed_at
			order by o.observed_at desc, o.vintage_at desc
			limit 1
		) o
		where n.place < @limit
	)
	select t.series, w.confirmed_at, n.observed_at, n.value, n.marker
	from unnest(@series::text[]) as t (series)
	left join watermarks w on w.series = t.series
	left join newest n on n.series = t.series
	order by t.series, n.observed_at` // primary key

// KnownBefore returns the newest observations of each series at or before until, at most limit of each. If until is zero, it returns the
// newest of all.
func (db ObservationStore) KnownBefore(ctx context.Context, ids []series.ID, until time.Time, limit int) (map[series.ID]series.Known, error) {
	rows, err := db.reads.Query(ctx, knownBeforeSQL, pgx.NamedArgs{"series": ids, "until": orNull(until), "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("read what is known: %w", err)
	}
	all := make(map[series.ID]series.Known, len(ids))
	seen := make(map[series.ID]int, len(ids))
	var id series.ID
	var confirmedAt, observedAt *time.Time
	var value *float64
	var marker *string
	_, err = pgx.ForEachRow(rows, []any{&id, &confirmedAt, &observedAt, &value, &marker}, func() error {
		k := all[id]
		if confirmedAt != nil {
			k.ConfirmedAt = *confirmedAt
		}
		if observedAt != nil {
			seen[id]++
			r := series.Reading{Series: id, ObservedAt: *observedAt}
			switch {
			case marker == nil:
				r.Value = *value
				k.Readings = append(k.Readings, r)
			case *marker != series.MarkerWithdrawn:
				r.Marker = *marker
				k.Readings = append(k.Readings, r)
			}
		}
		k.Complete = seen[id] < limit
		all[id] = k
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what is known: %w", err)
	}
	return all, nil
}

const progressSQL = `
	select coalesce(bool_and(w.series is not null), false), max(o.observed_at)
	from unnest(@series::text[]) as t (series)
	left join watermarks w on w.series = t.series
	left join lateral (
		select o.observed_at from observations o where o.series = t.series order by o.observed_at desc limit 1
	) o on true` // primary keys

// Progress reports whether each of the series was loaded, and returns the time of their newest observation, zero if they have none.
func (db ObservationStore) Progress(ctx context.Context, ids []series.ID) (loaded bool, newest time.Time, err error) {
	var at *time.Time
	if err := db.reads.QueryRow(ctx, progressSQL, pgx.NamedArgs{"series": ids}).Scan(&loaded, &at); err != nil {
		return false, time.Time{}, fmt.Errorf("look up the newest observation: %w", err)
	}
	if at != nil {
		newest = *at
	}
	return loaded, newest, nil
}

// A page is unchanged if each of its series was last confirmed by the same bytes of the same page. The last page of a response confirms its
// series; its other pages are the newest of their URLs in the same run.
const unchangedSQL = `
	select t.fetch_id
	from unnest(@ids::bigint[], @series::text[]) as t (fetch_id, series)
	join fetches f on f.id = t.fetch_id
	left join watermarks w on w.series = t.series
	left join fetches c on c.id = w.fetch_id
	group by t.fetch_id
	having bool_and(coalesce(w.confirmed_at <= f.fetched_at and f.sha256 = case when c.url = f.url then c.sha256 else (
		select p.sha256 from fetches p
		where p.source = c.source and p.url = f.url and p.run_id = c.run_id and p.status in (200, 304)
			and (p.fetched_at, p.id) <= (c.fetched_at, c.id)
		order by p.fetched_at desc, p.id desc
		limit 1
	) end, false))` // index fetches_by_url

// Unchanged returns the fetches whose loads equal, byte for byte, the responses that last confirmed their series.
func (db ObservationStore) Unchanged(ctx context.Context, loads []Load) (map[int64]bool, error) {
	var ids []int64
	var names []string
	for _, l := range loads {
		for id := range l.mentioned() {
			ids, names = append(ids, l.FetchID), append(names, string(id))
		}
	}
	rows, err := db.reads.Query(ctx, unchangedSQL, pgx.NamedArgs{"ids": ids, "series": names})
	if err != nil {
		return nil, fmt.Errorf("compare with the confirmed observations: %w", err)
	}
	same, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("compare with the confirmed observations: %w", err)
	}
	unchanged := make(map[int64]bool, len(same))
	for _, id := range same {
		unchanged[id] = true
	}
	return unchanged, nil
}
