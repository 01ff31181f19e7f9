package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// Load is the parsed content of one response.
type Load struct {
	FetchID   int64
	FetchedAt time.Time
	Readings  []series.Reading
	Covers    []series.Coverage
	// Vintages are the vintages that the publisher states, including the current values. They are only used when their series is loaded for
	// the first time.
	Vintages []series.Observation
	// Published returns when a value is assumed to have become known, for values whose publication was not observed.
	Published func(id series.ID, observedAt time.Time) time.Time
	// Rounding returns the difference below which two values of a series are the same, written with other digits. It may be nil.
	Rounding func(id series.ID) float64
	// Epoch returns as text what the readings owe to the time of the fetch. It is nil if they owe nothing to it. The same bytes of another epoch are
	// compared, because they may say more.
	Epoch func(fetchedAt time.Time) string
	// ParsedAgain is empty for a new response. A response that was stored before and is parsed again, since the parser may have changed, has
	// the fetches that last confirmed its series. It is always compared, changes only series that these fetches still confirm, and
	// confirms none: the publisher said nothing new.
	ParsedAgain []int64

	// accepted means that an operator accepted the response in quarantine, so missing values are withdrawn.
	accepted bool
	// storedBefore means that a step which is repeated parses a response again.
	storedBefore bool
}

// ErrShrunk means that a page that claims to be complete lacks more known observations than publishers ever withdraw at once. The error is
// a *ShrunkError.
var ErrShrunk = errors.New("the answer lacks too many known observations")

// ShrunkError is an ErrShrunk with the missing observations.
type ShrunkError struct {
	// FetchID is the fetch of the load.
	FetchID int64
	Series  series.ID
	// Missing is how many of the Known observations are missing.
	Missing, Known int64
}

// Error returns a message with the series and the numbers.
func (e *ShrunkError) Error() string {
	return fmt.Sprintf("%s: %d of %d known observations are missing: %v", e.Series, e.Missing, e.Known, ErrShrunk)
}

// Unwrap returns ErrShrunk.
func (e *ShrunkError) Unwrap() error { return ErrShrunk }

// A publisher may withdraw 1 % of the known rows with one response, or this many if that is more, but never more than half of them.
const withdrawable = 10

// StoreLoads compares responses with the stored data and adds each difference as a vintage. Differences are new and changed values, and
// values that a complete response no longer has. It returns the number of added rows; storing the same loads again adds none.
//
// The vintage of a value is the time of its fetch. The exception is a value that arrives with the first load of its series. It gets the
// vintages that the publisher states or, without those, the assumed time of its publication. If anything was added, each dependent (a
// signal id) becomes due for the time of the newest fetch, in the same transaction. A load older than the last confirmation of its series
// changes nothing. Neither does a load that is in quarantine or was rejected. An accepted load counts as fetched at the time of its
// acceptance. StoreLoads stores all or nothing, and only while the attempt in f is current.
func (db ObservationStore) StoreLoads(ctx context.Context, f task.Fence, loads []Load, dependents []string) (added int64, err error) {
	return db.storeLoads(ctx, f, 0, loads, dependents)
}

// storeLoads is StoreLoads if again is 0. Otherwise it repeats the step with the number again.
func (db ObservationStore) storeLoads(ctx context.Context, f task.Fence, again int64, loads []Load, dependents []string) (added int64, err error) {
	ctx, span := telemetry.Step(ctx, "store", slog.Int("answers", len(loads)))
	defer func() {
		span.Set(slog.Int64("rows", added))
		span.End(err)
	}()
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		added = 0
		loads, err := admit(ctx, c, loads)
		if err != nil {
			return err
		}
		if same, err := confirmSame(ctx, c, f, again, loads); err != nil || same {
			return err
		}
		groups := group(loads)
		// Copy the rows before the transaction begins: a slow client then holds no lock.
		if err := stage(ctx, c.Conn(), loads, groups); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) (err error) {
			if added, err = merge(ctx, tx, groups); err != nil {
				return err
			}
			return conclude(ctx, tx, f, again, loads, dependents, added)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("store observations: %w", err)
	}
	return added, nil
}

const dependentsSQL = `
	insert into runs as r (job, subject, slot, trigger, queue, status, max_attempts, trace)
	select @job, t.subject, @at, 'data', @queue, 'due', @max_attempts, nullif(@trace, '')
	from unnest(@subjects::text[]) as t (subject)
	order by t.subject
	on conflict (job, subject, slot) do update
	set status = 'due', attempt = r.attempt + 1, next_try_at = null, error = null, trace = excluded.trace
	where r.status not in ('due', 'queued')`

// conclude makes the dependents due if rows were added, checks that the attempt is current, and records the step.
func conclude(ctx context.Context, tx pgx.Tx, f task.Fence, again int64, loads []Load, dependents []string, added int64) error {
	if added > 0 && len(dependents) > 0 {
		var newest time.Time
		for _, l := range loads {
			if l.FetchedAt.After(newest) {
				newest = l.FetchedAt
			}
		}
		_, err := tx.Exec(ctx, dependentsSQL, dueArgs(ctx, task.Signal, pgx.NamedArgs{"subjects": dependents, "at": newest}))
		if err != nil {
			return fmt.Errorf("make signals due: %w", err)
		}
	}
	if err := checkFence(ctx, tx, f, added); err != nil {
		return err
	}
	return noteLoad(ctx, tx, stepOf(loads, added), again)
}

// again reports whether the load's response was stored before.
func (l Load) again() bool { return l.storedBefore || len(l.ParsedAgain) > 0 }

func (l Load) rounding(id series.ID) float64 {
	if l.Rounding == nil {
		return 0
	}
	return l.Rounding(id)
}

// mentioned returns the series that a load contains or covers.
func (l Load) mentioned() map[series.ID]bool {
	ids := map[series.ID]bool{}
	for _, r := range l.Readings {
		ids[r.Series] = true
	}
	for _, c := range l.Covers {
		ids[c.Series] = true
	}
	return ids
}

// The last page of each series must be the page that confirmed it. Every earlier page must be the newest of its URL in the same run. The
// bytes of a page determine which page follows, so equal bytes from the first page to the last are the same response.
const sameSQL = `
	select coalesce(bool_and(coalesce(w.confirmed_at <= f.fetched_at and case
		when t.last then c.url = f.url and c.sha256 = f.sha256
		else (
			select p.sha256 = f.sha256
			from fetches p
			where p.source = c.source and p.url = f.url and p.run_id = c.run_id and p.status in (200, 304)
				and (p.fetched_at, p.id) <= (c.fetched_at, c.id)
			order by p.fetched_at desc, p.id desc
			limit 1)
		end, false)), false), min(w.confirmed_at)
	from unnest(@ids::bigint[], @series::text[], @last::bool[]) as t (fetch_id, series, last)
	join fetches f on f.id = t.fetch_id
	left join watermarks w on w.series = t.series
	left join fetches c on c.id = w.fetch_id` // index fetches_by_url

const confirmSameSQL = `
	update watermarks w set fetch_id = t.fetch_id, confirmed_at = t.fetched_at
	from unnest(@ids::bigint[], @series::text[], @at::timestamptz[], @last::bool[]) as t (fetch_id, series, fetched_at, last)
	where w.series = t.series and t.last` // the caller has locked the series

// confirmSame skips the comparison if every series was last confirmed by the same bytes.
func confirmSame(ctx context.Context, c *pgxpool.Conn, f task.Fence, again int64, loads []Load) (same bool, err error) {
	var ids []int64
	var names []series.ID
	var at []time.Time
	var last []bool
	newest := map[series.ID]int{}
	for _, l := range loads {
		if l.again() {
			return false, nil
		}
		for id := range l.mentioned() {
			if i, ok := newest[id]; ok {
				last[i] = false
			}
			newest[id] = len(ids)
			ids, names, at, last = append(ids, l.FetchID), append(names, id), append(at, l.FetchedAt), append(last, true)
		}
	}
	args := pgx.NamedArgs{"ids": ids, "series": names, "at": at, "last": last}
	var since *time.Time
	if err := c.QueryRow(ctx, sameSQL, args).Scan(&same, &since); err != nil || !same || !sameEpoch(loads, since) {
		return false, err
	}
	err = inTx(ctx, c, func(tx pgx.Tx) error {
		if err := lockSeries(ctx, tx, names); err != nil {
			return err
		}
		// Another load may have confirmed them in the meantime.
		if err := tx.QueryRow(ctx, sameSQL, args).Scan(&same, &since); err != nil || !same {
			return err
		}
		if _, err := tx.Exec(ctx, confirmSameSQL, args); err != nil {
			return err
		}
		if err := checkFence(ctx, tx, f, 0); err != nil {
			return err
		}
		return noteLoad(ctx, tx, stepOf(loads, 0), again)
	})
	return same && err == nil, err
}

// sameEpoch reports whether no load may say more than the same bytes said when they confirmed their series last.
func sameEpoch(loads []Load, since *time.Time) bool {
	return since == nil || !slices.ContainsFunc(loads, func(l Load) bool { return l.Epoch != nil && l.Epoch(*since) != l.Epoch(l.FetchedAt) })
}
