package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tidemark/internal/series"
)

const stageSQL = `
	create temporary table if not exists stage_readings (
		grp int not null, load int not null, series text not null, observed_at timestamptz not null, value double precision, marker text,
		published_at timestamptz not null, rounding double precision not null);
	create temporary table if not exists stage_covers (
		grp int not null, load int not null, series text not null, from_at timestamptz, to_at timestamptz);
	create temporary table if not exists stage_loads (
		load int not null, fetch_id bigint not null, fetched_at timestamptz not null, accepted boolean not null, confirms boolean not null,
		parsed_again bigint[]);
	create temporary table if not exists stage_vintages (
		load int not null, series text not null, observed_at timestamptz not null, vintage_at timestamptz not null, value double precision,
		marker text);`

// stage copies loads to the connection's temporary tables.
func stage(ctx context.Context, c *pgx.Conn, loads []Load, groups []loadGroup) error {
	if _, err := c.Exec(ctx, stageSQL+emptyStage("stage_readings", "stage_covers", "stage_loads", "stage_vintages")); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return copyLoads(ctx, c, loads, groups, []stagedTable[Load]{
		{"stage_readings", "grp, load, series, observed_at, value, marker, published_at, rounding", func(g, i int, l Load) (int, func(int) []any) {
			var id, marker pgtype.Text
			var observedAt, publishedAt pgtype.Timestamptz
			var value, rounding pgtype.Float8
			row := []any{g, i, &id, &observedAt, &value, &marker, &publishedAt, &rounding}
			return len(l.Readings), func(n int) []any {
				r := &l.Readings[n]
				id, observedAt, publishedAt = text(r.Series), timestamptz(r.ObservedAt), timestamptz(l.Published(r.Series, r.ObservedAt))
				value, marker = valueAndMarker(r.Value, r.Marker)
				rounding = float8(l.rounding(r.Series))
				return row
			}
		}},
		{"stage_vintages", "load, series, observed_at, vintage_at, value, marker", func(_, i int, l Load) (int, func(int) []any) {
			return len(l.Vintages), func(n int) []any {
				v := l.Vintages[n]
				value, marker := valueAndMarker(v.Value, v.Marker)
				return []any{i, string(v.Series), v.ObservedAt, v.VintageAt, value, marker}
			}
		}},
		{"stage_covers", "grp, load, series, from_at, to_at", func(g, i int, l Load) (int, func(int) []any) {
			return len(l.Covers), func(n int) []any {
				c := l.Covers[n]
				return []any{g, i, string(c.Series), timeOrNull(c.Window.From), timeOrNull(c.Window.To)}
			}
		}},
		{"stage_loads", "load, fetch_id, fetched_at, accepted, confirms, parsed_again", func(_, i int, l Load) (int, func(int) []any) {
			return 1, func(int) []any { return []any{i, l.FetchID, l.FetchedAt, l.accepted, !l.again(), l.ParsedAgain} }
		}},
	})
}

// Selects the series that were never loaded before. It runs once, before any load is confirmed, because all pages of a first response count
// as its first load.
const firstLoadsSQL = `
	create temporary table first_loads on commit drop as
	select t.series
	from (select series from stage_readings union select series from stage_covers) t
	where not exists (select from watermarks w where w.series = t.series)`

// Earlier values that a publisher states are observed history and are added before any comparison. They are never added to a series that
// was loaded before: that would change responses that clients already received.
const addVintagesSQL = `
	insert into observations (series, observed_at, vintage_at, value, marker, fetch_id)
	select v.series, v.observed_at, v.vintage_at, v.value, v.marker, l.fetch_id
	from stage_vintages v
	join stage_loads l on l.load = v.load and l.fetched_at >= v.vintage_at
	join first_loads first on first.series = v.series
	on conflict do nothing`

// Selects the differences between a group and the stored data, by the newest vintage of each observation. In a row without load the
// observation is stored, but not in the group. In a row without known_at it is in the group, but not stored.
const differingSQL = `
	create temporary table differing on commit drop as
	select coalesce(s.series, k.series) as series, coalesce(s.observed_at, k.observed_at) as observed_at, s.load, s.value, s.marker,
		s.published_at, k.vintage_at as known_at
	from (select * from stage_readings where grp = @grp) s
	full join (
		select distinct on (o.series, o.observed_at) o.series, o.observed_at, o.vintage_at, o.value, o.marker
		from unnest(@series::text[], @from::timestamptz[], @to::timestamptz[]) as t (series, from_at, to_at)
		join observations o on o.series = t.series and o.observed_at >= coalesce(t.from_at, '-infinity')
			and o.observed_at <= coalesce(t.to_at, 'infinity')
		order by o.series, o.observed_at, o.vintage_at desc
	) k on k.series = s.series and k.observed_at = s.observed_at
	where case
		when s.series is null then k.marker is distinct from 'withdrawn'
		when k.series is null then true
		else (k.value is distinct from s.value and not coalesce(abs(k.value - s.value) < s.rounding, false)) or k.marker is distinct from s.marker
	end` // primary key

const shrunkSQL = `
	with gone as (
		select c.load, c.series, c.from_at, c.to_at, count(*) as missing
		from stage_covers c
		join differing d on d.load is null and d.series = c.series and d.observed_at >= coalesce(c.from_at, '-infinity')
			and d.observed_at <= coalesce(c.to_at, 'infinity')
		where c.grp = @grp and not (select l.accepted from stage_loads l where l.load = c.load) and not exists (
			select from watermarks w join stage_loads l on l.load = c.load where w.series = c.series and w.confirmed_at > l.fetched_at)
		group by c.load, c.series, c.from_at, c.to_at
	)
	select (select l.fetch_id from stage_loads l where l.load = g.load), series, sum(have)::bigint, sum(missing)::bigint
	from gone g, lateral (
		select count(*) as have
		from (
			select distinct on (o.observed_at) o.marker
			from observations o
			where o.series = g.series and o.observed_at >= coalesce(g.from_at, '-infinity') and o.observed_at <= coalesce(g.to_at, 'infinity')
			order by o.observed_at, o.vintage_at desc
		) k
		where k.marker is distinct from 'withdrawn'
	) known
	group by load, series
	having sum(missing) > greatest(@withdrawable::bigint, sum(have)::bigint / 100) or sum(missing) > sum(have)::bigint / 2
	limit 1` // primary key

// Selects the loads that may change a series. A response older than the last confirmation of its series adds nothing, nor does a response
// that is parsed again and no longer confirms its series.
const currentSQL = `(w.series is null or case when l.parsed_again is null then w.confirmed_at <= l.fetched_at else w.fetch_id = any(l.parsed_again) end)`

// A vintage is always newer than the one it replaces, even if the clocks of two workers differ.
const addReadingsSQL = `
	insert into observations (series, observed_at, vintage_at, value, marker, assumed, fetch_id)
	select d.series, d.observed_at,
		case
			when d.known_at is null and first.series is not null then least(d.published_at, l.fetched_at)
			when d.known_at is null then l.fetched_at
			else greatest(l.fetched_at, d.known_at + interval '1 microsecond')
		end,
		d.value, d.marker,
		d.known_at is null and first.series is not null and d.published_at < l.fetched_at,
		l.fetch_id
	from differing d
	join stage_loads l on l.load = d.load
	left join watermarks w on w.series = d.series
	left join first_loads first on first.series = d.series
	where ` + currentSQL + `
	on conflict do nothing`

const addWithdrawalsSQL = `
	insert into observations (series, observed_at, vintage_at, marker, fetch_id)
	select distinct on (d.series, d.observed_at) d.series, d.observed_at, greatest(l.fetched_at, d.known_at + interval '1 microsecond'),
		'withdrawn', l.fetch_id
	from stage_covers c
	join stage_loads l on l.load = c.load
	join differing d on d.load is null and d.series = c.series and d.observed_at >= coalesce(c.from_at, '-infinity')
		and d.observed_at <= coalesce(c.to_at, 'infinity')
	left join watermarks w on w.series = c.series
	where c.grp = @grp and ` + currentSQL + `
	order by d.series, d.observed_at, c.load
	on conflict do nothing`

// The newest load of a group that mentions a series confirms it, unless it is only parsed again.
const confirmSQL = `
	insert into watermarks as w (series, first_loaded_at, fetch_id, confirmed_at)
	select distinct on (t.series) t.series, min(l.fetched_at) over (partition by t.series), l.fetch_id, l.fetched_at
	from (
		select series, load from stage_readings where grp = @grp union select series, load from stage_covers where grp = @grp) t
	join stage_loads l on l.load = t.load and l.confirms
	order by t.series, l.fetched_at desc, t.load desc
	on conflict (series) do update set fetch_id = excluded.fetch_id, confirmed_at = excluded.confirmed_at
	where w.confirmed_at <= excluded.confirmed_at`

// refuseShrunk returns an error if a load of the group lacks too many known observations and no operator has accepted it.
func refuseShrunk(ctx context.Context, tx pgx.Tx, args pgx.NamedArgs) error {
	var shrunk ShrunkError
	err := tx.QueryRow(ctx, shrunkSQL, args).Scan(&shrunk.FetchID, &shrunk.Series, &shrunk.Known, &shrunk.Missing)
	switch {
	case err == nil:
		return &shrunk
	case !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("compare with the known observations: %w", err)
	}
	return nil
}

// merge adds the differences between the staged loads and the stored data, group by group. It returns the number of added rows.
func merge(ctx context.Context, tx pgx.Tx, groups []loadGroup) (added int64, err error) {
	var all []series.ID
	for _, g := range groups {
		all = slices.AppendSeq(all, maps.Keys(g.extents))
	}
	if err := lockSeries(ctx, tx, all); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, firstLoadsSQL); err != nil {
		return 0, fmt.Errorf("read what was ever loaded: %w", err)
	}
	tag, err := tx.Exec(ctx, addVintagesSQL)
	if err != nil {
		return 0, fmt.Errorf("add the vintages that the publisher names: %w", err)
	}
	added = tag.RowsAffected()
	for g, span := range groups {
		n, err := mergeGroup(ctx, tx, g, span)
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, nil
}

func mergeGroup(ctx context.Context, tx pgx.Tx, g int, span loadGroup) (added int64, err error) {
	ids, from, to := span.bounds()
	args := pgx.NamedArgs{"grp": g, "series": ids, "from": from, "to": to, "withdrawable": withdrawable}
	if _, err := tx.Exec(ctx, differingSQL, args); err != nil {
		return 0, fmt.Errorf("compare with the known observations: %w", err)
	}
	if err := refuseShrunk(ctx, tx, args); err != nil {
		return 0, err
	}
	for _, sql := range []string{addReadingsSQL, addWithdrawalsSQL} {
		tag, err := tx.Exec(ctx, sql, args)
		if err != nil {
			return 0, fmt.Errorf("add vintages: %w", err)
		}
		added += tag.RowsAffected()
	}
	if _, err := tx.Exec(ctx, confirmSQL, args); err != nil {
		return 0, fmt.Errorf("confirm: %w", err)
	}
	if _, err := tx.Exec(ctx, `drop table differing`); err != nil {
		return 0, fmt.Errorf("confirm: %w", err)
	}
	return added, nil
}
