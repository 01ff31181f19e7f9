package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// RawBody is an archived body behind stored observations.
type RawBody struct {
	FetchID   int64
	Source    string
	URL       string
	FetchedAt time.Time
	Bytes     int64
	Synthetic bool
	// LogIndex is the number of its leaf in the log of sources, nil while no signed size has it.
	LogIndex *int64
}

const rawBodySQL = `
	select f.id as fetch_id, f.source, f.url, f.fetched_at, f.bytes, f.synthetic,
		(select e.idx from log_heads h join log_entries e on e.log = h.log and e.idx < h.size
			where h.log = 'sources' and e.key = 'body:' || f.id) as log_index
	from fetches f
	where f.sha256 = @sha256 and f.status = 200 and f.fetched_at <= @until
		and not exists (
			select from fetches held
			join quarantined_fetches qf on qf.fetch_id = held.id
			join quarantine q on q.id = qf.quarantine_id
			where held.sha256 = @sha256 and q.decision <> 'accepted')
		and exists (
			select from observations o where o.series = any(@series) and o.fetch_id = f.id and o.vintage_at <= @until)
	order by f.id
	limit 1` // index fetches_by_sha256, primary keys

// RawBody returns the fetch that first brought a body. It returns ErrNotFound if no observation of the series that was known at until came
// with it. It also does so if the body is in quarantine or was rejected.
func (db FetchStore) RawBody(ctx context.Context, sha256 string, ids []series.ID, until time.Time) (RawBody, error) {
	rows, err := db.reads.Query(ctx, rawBodySQL, pgx.NamedArgs{"sha256": sha256, "series": ids, "until": until})
	if err != nil {
		return RawBody{}, fmt.Errorf("look up a body: %w", asUnavailable(err))
	}
	b, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[RawBody])
	if errors.Is(err, pgx.ErrNoRows) {
		return RawBody{}, fmt.Errorf("the body %s: %w", sha256, ErrNotFound)
	}
	if err != nil {
		return RawBody{}, fmt.Errorf("look up a body: %w", asUnavailable(err))
	}
	b.FetchedAt = b.FetchedAt.UTC()
	return b, nil
}
