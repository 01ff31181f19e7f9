package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// KnownBody is an archived body that was known at an instant and held the newest values of some series for a day.
type KnownBody struct {
	URL       string
	FetchedAt time.Time
	SHA256    string
	Bytes     int64
	Series    []series.ID
	// LogIndex is the number of its leaf in the log of sources. It is nil until a signed checkpoint contains the leaf.
	LogIndex *int64
}

// knownBodiesSQL selects for each series the vintage in force, if its body had been fetched by then. An assumed vintage may be older than
// its body.
const knownBodiesSQL = `
	with known as (
		select distinct on (o.series, o.observed_at) o.series, o.fetch_id
		from (select w.series from watermarks w join fetches c on c.id = w.fetch_id where c.source = @source) s
		join observations o on o.series = s.series and o.observed_at >= @from and o.observed_at < @to and o.vintage_at <= @as_of
		join fetches f on f.id = o.fetch_id and f.fetched_at <= @as_of
		order by o.series, o.observed_at, o.vintage_at desc
	)
	select f.url, f.fetched_at, f.sha256, f.bytes, k.series, e.idx
	from (select fetch_id, array_agg(distinct series order by series) as series from known group by fetch_id) k
	join fetches f on f.id = k.fetch_id
	left join log_heads h on h.log = 'sources'
	left join log_entries e on e.log = h.log and e.key = 'body:' || f.id and e.idx < h.size
	order by f.fetched_at desc, f.id desc
	limit @limit` // primary keys, unique (log, key)

// KnownBodies returns the bodies of a source that held the newest values for a UTC day, as known at an instant, newest first. limit bounds
// their number.
func (db FetchStore) KnownBodies(ctx context.Context, source string, day, asOf time.Time, limit int) ([]KnownBody, error) {
	rows, err := db.reads.Query(ctx, knownBodiesSQL, pgx.NamedArgs{"source": source, "from": day, "to": day.AddDate(0, 0, 1), "as_of": asOf, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("read the bodies of %s: %w", source, asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (b KnownBody, err error) {
		err = r.Scan(&b.URL, &b.FetchedAt, &b.SHA256, &b.Bytes, &b.Series, &b.LogIndex)
		b.FetchedAt = b.FetchedAt.UTC()
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the bodies of %s: %w", source, asUnavailable(err))
	}
	return list, nil
}

const loggedBodiesSQL = `
	select f.sha256, min(e.idx)
	from fetches f
	join log_heads h on h.log = 'sources'
	join log_entries e on e.log = h.log and e.key = 'body:' || f.id and e.idx < h.size
	where f.sha256 = any(@sums) and f.status = 200
	group by f.sha256` // index fetches_by_sha256, unique (log, key)

// LoggedBodies returns the numbers of the first leaves of archived bodies in the log of sources, by SHA-256. Bodies without a leaf in a
// signed checkpoint are missing.
func (db FetchStore) LoggedBodies(ctx context.Context, sums []string) (map[string]int64, error) {
	rows, err := db.reads.Query(ctx, loggedBodiesSQL, pgx.NamedArgs{"sums": sums})
	if err != nil {
		return nil, fmt.Errorf("look up the leaves of bodies: %w", asUnavailable(err))
	}
	out := map[string]int64{}
	var sum string
	var index int64
	if _, err := pgx.ForEachRow(rows, []any{&sum, &index}, func() error {
		out[sum] = index
		return nil
	}); err != nil {
		return nil, fmt.Errorf("look up the leaves of bodies: %w", asUnavailable(err))
	}
	return out, nil
}
