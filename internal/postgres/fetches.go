package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// FetchStore keeps the fetch log: every request to a publisher, the archived body of its response, and the limits of hosts.
//
// It reads fetches, load_fetches, log_entries, log_heads, observations, quarantine, quarantined_fetches, watermarks. It writes fetches,
// hosts.
type FetchStore struct{ *connections }

const fetchColumns = `id, source, url, status, header, fetched_at, sha256, bytes, not_modified, synthetic, constructed`

func scanFetch(r pgx.CollectableRow) (f series.Fetch, err error) {
	err = r.Scan(&f.ID, &f.Source, &f.URL, &f.Status, &f.Header, &f.FetchedAt, &f.SHA256, &f.Bytes, &f.NotModified,
		&f.Synthetic, &f.Constructed)
	return f, err
}

const lastFetchSQL = `
	select ` + fetchColumns + `
	from fetches
	where source = @source and url = @url and status in (200, 304)
	order by fetched_at desc, id desc
	limit 1` // index fetches_by_url

// LastFetch returns the newest good response (200, or 304 to a conditional request) of a URL, and whether one exists.
func (db FetchStore) LastFetch(ctx context.Context, source, url string) (series.Fetch, bool, error) {
	rows, err := db.reads.Query(ctx, lastFetchSQL, pgx.NamedArgs{"source": source, "url": url})
	if err != nil {
		return series.Fetch{}, false, fmt.Errorf("look up the last fetch of %s: %w", url, err)
	}
	f, err := pgx.CollectExactlyOneRow(rows, scanFetch)
	if errors.Is(err, pgx.ErrNoRows) {
		return series.Fetch{}, false, nil
	}
	if err != nil {
		return series.Fetch{}, false, fmt.Errorf("look up the last fetch of %s: %w", url, err)
	}
	return f, true, nil
}

// RecordFetch adds a fetch to the fetch log and returns its id. A runID of 0 means that no run made the request.
func (db FetchStore) RecordFetch(ctx context.Context, f series.Fetch, runID int64) (int64, error) {
	if f.Header == nil {
		f.Header = map[string]string{}
	}
	var id int64
	err := db.pool.QueryRow(ctx, `
		insert into fetches (source, url, status, header, fetched_at, sha256, bytes, not_modified, synthetic, constructed, run_id)
		values (@source, @url, @status, @header, @fetched_at, @sha256, @bytes, @not_modified, @synthetic, @constructed,
			nullif(@run_id, 0))
		returning id`,
		pgx.NamedArgs{
			"source": f.Source, "url": f.URL, "status": f.Status, "header": f.Header, "fetched_at": f.FetchedAt,
			"sha256": f.SHA256, "bytes": f.Bytes, "not_modified": f.NotModified, "synthetic": f.Synthetic,
			"constructed": f.Constructed, "run_id": runID,
		}).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("record the fetch of %s: %w", f.URL, err)
	}
	return id, nil
}

// RecordFetches adds fetches that no run made to the fetch log, all or none, and returns their ids in order.
func (db FetchStore) RecordFetches(ctx context.Context, list []series.Fetch) ([]int64, error) {
	rows := make([]fetchRow, len(list))
	for i, f := range list {
		if f.Header == nil {
			f.Header = map[string]string{}
		}
		rows[i] = fetchRow{i, f.Source, f.URL, f.Status, f.Header, f.FetchedAt, f.SHA256, f.Bytes, f.NotModified, f.Synthetic, f.Constructed}
	}
	found, err := db.pool.Query(ctx, `
		with added as (
		insert into fetches (source, url, status, header, fetched_at, sha256, bytes, not_modified, synthetic, constructed)
		select source, url, status, header, fetched_at, sha256, bytes, not_modified, synthetic, constructed
		from jsonb_to_recordset(@rows) as t (n int, source text, url text, status int, header jsonb, fetched_at timestamptz, sha256 text, bytes bigint,
			not_modified boolean, synthetic boolean, constructed boolean)
		order by n
		returning id)
		select id from added order by id`, pgx.NamedArgs{"rows": rows})
	if err != nil {
		return nil, fmt.Errorf("record %d fetches: %w", len(list), err)
	}
	ids, err := pgx.CollectRows(found, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("record %d fetches: %w", len(list), err)
	}
	return ids, nil
}

// fetchRow is a row of fetches as jsonb_to_recordset reads it, with its place in a list.
type fetchRow struct {
	N           int               `json:"n"`
	Source      string            `json:"source"`
	URL         string            `json:"url"`
	Status      int               `json:"status"`
	Header      map[string]string `json:"header"`
	FetchedAt   time.Time         `json:"fetched_at"`
	SHA256      string            `json:"sha256"`
	Bytes       int64             `json:"bytes"`
	NotModified bool              `json:"not_modified"`
	Synthetic   bool              `json:"synthetic"`
	Constructed bool              `json:"constructed"`
}

// NewestBodies lists the SHA-256 sums of the newest bodies, at most n, without duplicates.
func (db FetchStore) NewestBodies(ctx context.Context, n int) ([]string, error) {
	rows, err := db.reads.Query(ctx, `
		select sha256 from (select sha256, id from fetches where not not_modified order by id desc limit @n) f
		group by sha256 order by max(id) desc`, pgx.NamedArgs{"n": n})
	if err != nil {
		return nil, fmt.Errorf("list the newest bodies: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the newest bodies: %w", err)
	}
	return list, nil
}

// FindFetch returns the ids of the fetch log's rows of a fetch, oldest first. There may be several if the same request got the same
// response twice in an instant.
func (db FetchStore) FindFetch(ctx context.Context, f series.Fetch) ([]int64, error) {
	rows, err := db.reads.Query(ctx, `
		select id from fetches
		where source = @source and url = @url and fetched_at = @fetched_at and sha256 = @sha256 and status = @status
		order by id`, // index fetches_by_url
		pgx.NamedArgs{
			"source": f.Source, "url": f.URL, "fetched_at": f.FetchedAt, "sha256": f.SHA256, "status": f.Status,
		})
	if err != nil {
		return nil, fmt.Errorf("look up the fetch of %s: %w", f.URL, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("look up the fetch of %s: %w", f.URL, err)
	}
	return ids, nil
}

const fetchesSQL = `
	select ` + fetchColumns + `
	from fetches f
	left join lateral (
		select q.decided_at
		from quarantined_fetches qf join quarantine q on q.id = qf.quarantine_id
		where qf.fetch_id = f.id and q.decision = 'accepted'
	) a on true
	where @source = '' or f.source = @source
	order by coalesce(a.decided_at, f.fetched_at), f.id`

// Fetches yields the fetch log of a source, or of all sources if source is empty. Responses come in the order in which they became known.
// This is the order of time, except that a response accepted from quarantine comes at the time of the decision. It stops at the first
// error.
func (db FetchStore) Fetches(ctx context.Context, source string) iter.Seq2[series.Fetch, error] {
	return func(yield func(series.Fetch, error) bool) {
		rows, err := db.reads.Query(ctx, fetchesSQL, pgx.NamedArgs{"source": source})
		if err != nil {
			yield(series.Fetch{}, fmt.Errorf("read the fetches: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			f, err := scanFetch(rows)
			if err != nil {
				err = fmt.Errorf("read the fetches: %w", err)
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(series.Fetch{}, fmt.Errorf("read the fetches: %w", err))
		}
	}
}

const unstoredSQL = `
	select f.id, f.source, f.url, f.status, f.header, f.fetched_at, f.sha256, f.bytes, f.not_modified, f.synthetic, f.constructed,
		coalesce(f.run_id, 0)
	from fetches f
	left join lateral (
		select q.decided_at
		from quarantined_fetches qf join quarantine q on q.id = qf.quarantine_id
		where qf.fetch_id = f.id and q.decision = 'accepted'
	) a on true
	where f.source = @source and f.fetched_at >= @since and f.status in (200, 304)
		and not exists (select from load_fetches l where l.fetch_id = f.id)
	order by coalesce(a.decided_at, f.fetched_at), f.id`

// UnstoredFetches returns the good responses of a source since an instant that were never stored, in the order in which they became known.
// Responses that came together are in one list. Responses that another installation decided to leave out are absent.
func (db FetchStore) UnstoredFetches(ctx context.Context, source string, since time.Time) ([][]series.Fetch, error) {
	rows, err := db.reads.Query(ctx, unstoredSQL, pgx.NamedArgs{"source": source, "since": since})
	if err != nil {
		return nil, fmt.Errorf("read the fetches: %w", err)
	}
	var all [][]series.Fetch
	var run int64
	asked := map[string]bool{}
	_, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (f series.Fetch, err error) {
		var of int64
		err = r.Scan(&f.ID, &f.Source, &f.URL, &f.Status, &f.Header, &f.FetchedAt, &f.SHA256, &f.Bytes, &f.NotModified, &f.Synthetic,
			&f.Constructed, &of)
		n := len(all)
		// A run requests each URL once. Responses without a run are grouped by their time only.
		same := n > 0 && of == run && !asked[f.URL] && (of != 0 || f.FetchedAt.Sub(all[n-1][len(all[n-1])-1].FetchedAt) <= sameVisit)
		if !same {
			all = append(all, nil)
			n, run = n+1, of
			clear(asked)
		}
		asked[f.URL] = true
		all[n-1] = append(all[n-1], f)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the fetches: %w", err)
	}
	return all, nil
}

// sameVisit is the longest pause between two responses without a run that still count as one visit.
const sameVisit = time.Hour

// Confirming is a fetch that, alone or as one page of its run, last confirmed series.
type Confirming struct {
	Fetch  series.Fetch
	Series []series.ID
	// Fetches are the fetches that last confirmed the series.
	Fetches []int64
}

const confirmingSQL = `
	select f.id, f.source, f.url, f.status, f.header, f.fetched_at, f.sha256, f.bytes, f.not_modified, f.synthetic, f.constructed,
		f.series, f.confirming
	from (
		select distinct on (f.url) f.*, c.series, c.confirming
		from (
			select c.run_id, array_agg(w.series) as series, array_agg(distinct c.id) as confirming
			from watermarks w join fetches c on c.id = w.fetch_id
			where c.source = @source
			group by c.run_id, case when c.run_id is null then c.id end
		) c
		join fetches f on f.source = @source and (f.id = any(c.confirming) or f.run_id = c.run_id) and f.status in (200, 304)
			and not exists (
				select from quarantined_fetches qf join quarantine q on q.id = qf.quarantine_id
				where qf.fetch_id = f.id and q.decision <> 'accepted')
		order by f.url, f.fetched_at desc, f.id desc
	) f
	order by f.fetched_at, f.id`

// ConfirmingFetches returns the fetches that confirmed the stored data of a source: the newest of each URL, ordered by time. A fetch comes
// with all series that its run last confirmed.
func (db FetchStore) ConfirmingFetches(ctx context.Context, source string) ([]Confirming, error) {
	rows, err := db.reads.Query(ctx, confirmingSQL, pgx.NamedArgs{"source": source})
	if err != nil {
		return nil, fmt.Errorf("read the confirming fetches: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (c Confirming, err error) {
		f := &c.Fetch
		err = r.Scan(&f.ID, &f.Source, &f.URL, &f.Status, &f.Header, &f.FetchedAt, &f.SHA256, &f.Bytes, &f.NotModified,
			&f.Synthetic, &f.Constructed, &c.Series, &c.Fetches)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the confirming fetches: %w", err)
	}
	return list, nil
}

// ReserveHost reserves the next free instant for a request to a host, across all processes, and returns how long to wait. Two instants of a
// host are at least interval apart.
func (db FetchStore) ReserveHost(ctx context.Context, host string, interval time.Duration) (time.Duration, error) {
	var wait time.Duration
	err := db.pool.QueryRow(ctx, `
		insert into hosts as h (host, next_at) values (@host, clock_timestamp() + @interval::interval)
		on conflict (host) do update set next_at = greatest(h.next_at, clock_timestamp()) + @interval::interval
		returning greatest(next_at - @interval::interval - clock_timestamp(), interval '0')`,
		pgx.NamedArgs{"host": host, "interval": interval}).Scan(&wait)
	if err != nil {
		return 0, fmt.Errorf("book a request to %s: %w", host, err)
	}
	return wait, nil
}

// DelayHost stops all processes from sending requests to a host for a while, as its Retry-After demands.
func (db FetchStore) DelayHost(ctx context.Context, host string, d time.Duration) error {
	_, err := db.pool.Exec(ctx, `
		insert into hosts as h (host, next_at) values (@host, clock_timestamp() + @delay::interval)
		on conflict (host) do update set next_at = greatest(h.next_at, clock_timestamp() + @delay::interval)`,
		pgx.NamedArgs{"host": host, "delay": d})
	if err != nil {
		return fmt.Errorf("delay requests to %s: %w", host, err)
	}
	return nil
}
