package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/series"
	"tidemark/internal/task"
)

// QuarantineStore keeps the loads that failed a check of quality, and what operators decide on them.
//
// It reads fetches, observations, quarantine, quarantine_decisions, quarantined_fetches, runs, watermarks. It writes load_fetches, loads,
// observations, quarantine, quarantined_fetches, rebuilding, runs, watermarks.
type QuarantineStore struct{ *connections }

// The decisions about a response in quarantine.
const (
	QuarantinePending  = "pending"
	QuarantineAccepted = "accepted"
	QuarantineRejected = "rejected"
)

// ErrDecided means that the response was already accepted, or was rejected before and is rejected again.
var ErrDecided = errors.New("it was decided already")

// ErrOutdated means that a newer response about the same series was stored since.
var ErrOutdated = errors.New("a newer answer was stored since, accepting this one would undo it")

// Quarantined is a response that was not stored, because a check held it back.
type Quarantined struct {
	ID     int64
	Source string
	// Digest identifies the bodies of the response.
	Digest string
	// RunID is the run that first received it; nil means that no run made the request.
	RunID    *int64
	Findings []series.Finding
	// CreatedAt is the time of the response, by the world's clock.
	CreatedAt time.Time
	// Decision is pending, accepted or rejected. DecidedAt, DecidedBy and Reason are nil while it is pending.
	Decision          string
	DecidedAt         *time.Time
	DecidedBy, Reason *string
	// Fetches counts the fetches that brought it, one per page. LastSeenAt is the time of the newest fetch.
	Fetches    int64
	LastSeenAt time.Time
}

// Decision is an operator's decision about a response in quarantine.
type Decision struct {
	// At is the world's time of the decision.
	At         time.Time
	By, Reason string
}

// Decided is a decision that was made.
type Decided struct {
	Decision, By, Reason string
	At                   time.Time
}

const quarantineColumns = `q.id, q.source, q.digest, q.run_id, q.findings, q.created_at, q.decision, q.decided_at, q.decided_by, q.reason,
	s.fetches, s.last_seen_at`

const occurrences = `cross join lateral (
		select count(*) as fetches, max(f.fetched_at) as last_seen_at
		from quarantined_fetches qf join fetches f on f.id = qf.fetch_id
		where qf.quarantine_id = q.id
	) s`

const standingSQL = `
	select ` + quarantineColumns + `
	from quarantine q ` + occurrences + `
	where q.source = @source and q.digest = any(@digests) and q.decision <> 'accepted'` // index quarantine_standing

// OpenQuarantine returns the given responses of a source that are in quarantine or were rejected. Keys are the digests of the responses.
func (db QuarantineStore) OpenQuarantine(ctx context.Context, source string, digests []string) (map[string]Quarantined, error) {
	rows, err := db.reads.Query(ctx, standingSQL, pgx.NamedArgs{"source": source, "digests": digests})
	list, err := collect[Quarantined](rows, err)
	if err != nil {
		return nil, fmt.Errorf("look into the quarantine: %w", err)
	}
	found := make(map[string]Quarantined, len(list))
	for _, q := range list {
		found[q.Digest] = q
	}
	return found, nil
}

const quarantineSQL = `
	insert into quarantine (source, digest, run_id, findings, created_at)
	values (@source, @digest, nullif(@run_id, 0), @findings, @created_at)
	on conflict (source, digest) where decision <> 'accepted' do nothing`

// Adds the fetches of the response. It also adds fetches of the same bodies by an earlier attempt of the run that ended before it could
// record them.
const sightingsSQL = `
	insert into quarantined_fetches (fetch_id, quarantine_id, page)
	select f.id, @id, t.page
	from unnest(@fetches::bigint[]) with ordinality as t (fetch_id, page)
	join fetches now on now.id = t.fetch_id
	join fetches f on f.id = now.id
		or f.source = now.source and f.url = now.url and f.sha256 = now.sha256 and f.run_id = now.run_id
	on conflict do nothing` // index fetches_by_url

// Quarantine records that a response must not be stored. fetches are the fetches of its pages, in their order. It returns the number of the
// quarantine row. If the same response (by its digest) arrives again before it was accepted, the fetches are added to the same row. Of q
// only source, digest, findings, and time are read. Nothing is recorded unless the attempt in f is current.
func (db QuarantineStore) Quarantine(ctx context.Context, f task.Fence, q Quarantined, fetches []int64) (id int64, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		args := pgx.NamedArgs{
			"source": q.Source, "digest": q.Digest, "run_id": f.RunID, "findings": nonNil(q.Findings), "created_at": q.CreatedAt,
			"fetches": fetches,
		}
		if _, err := tx.Exec(ctx, quarantineSQL, args); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `
			select id from quarantine where source = @source and digest = @digest and decision <> 'accepted'
			for no key update`, args).Scan(&id) // index quarantine_standing
		if err != nil {
			return err
		}
		args["id"] = id
		if _, err := tx.Exec(ctx, sightingsSQL, args); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return 0, fmt.Errorf("quarantine an answer of %s: %w", q.Source, err)
	}
	return id, nil
}

// QuarantineFilter selects responses. Empty fields select all.
type QuarantineFilter struct {
	ID               int64
	Source, Decision string
	Limit            int
}

// Quarantined lists the responses in quarantine, including decided ones, newest first.
func (db QuarantineStore) Quarantined(ctx context.Context, f QuarantineFilter) ([]Quarantined, error) {
	rows, err := db.reads.Query(ctx, `
		select `+quarantineColumns+`
		from quarantine q `+occurrences+`
		where (@id = 0 or q.id = @id) and (@source = '' or q.source = @source) and (@decision = '' or q.decision = @decision)
		order by q.id desc
		limit @limit`,
		pgx.NamedArgs{"id": f.ID, "source": f.Source, "decision": f.Decision, "limit": f.Limit})
	list, err := collect[Quarantined](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the quarantine: %w", err)
	}
	return list, nil
}

// Decisions lists all decisions about a response, in order.
func (db QuarantineStore) Decisions(ctx context.Context, id int64) ([]Decided, error) {
	rows, err := db.reads.Query(ctx, `
		select decision, decided_by as by, reason, decided_at as at from quarantine_decisions
		where quarantine_id = @id
		order by id`, pgx.NamedArgs{"id": id}) // index quarantine_decisions_of
	list, err := collect[Decided](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the decisions about quarantine %d: %w", id, err)
	}
	return list, nil
}

const quarantinedPagesSQL = `
	select distinct on (qf.page) f.id, f.source, f.url, f.status, f.header, f.fetched_at, f.sha256, f.bytes, f.not_modified, f.synthetic,
		f.constructed
	from quarantined_fetches qf join fetches f on f.id = qf.fetch_id
	where qf.quarantine_id = @id
	order by qf.page, f.fetched_at desc, f.id desc` // index quarantined_fetches_of

// QuarantinedPages returns the newest fetch of each page of a response, in the order of the pages.
func (db QuarantineStore) QuarantinedPages(ctx context.Context, id int64) ([]series.Fetch, error) {
	rows, err := db.reads.Query(ctx, quarantinedPagesSQL, pgx.NamedArgs{"id": id})
	if err != nil {
		return nil, fmt.Errorf("read the pages of quarantine %d: %w", id, err)
	}
	list, err := pgx.CollectRows(rows, scanFetch)
	if err != nil {
		return nil, fmt.Errorf("read the pages of quarantine %d: %w", id, err)
	}
	return list, nil
}

// RejectQuarantined rejects a response, now and each time it arrives again. It returns ErrDecided if a decision was already made, and
// ErrNotFound for an unknown id.
func (db QuarantineStore) RejectQuarantined(ctx context.Context, id int64, d Decision) error {
	err := db.tx(ctx, func(tx pgx.Tx) error { return decide(ctx, tx, id, QuarantineRejected, d) })
	if err != nil {
		return fmt.Errorf("reject quarantine %d: %w", id, err)
	}
	return nil
}

// AcceptQuarantined accepts a response and stores it as known from the time of the decision, in one transaction. loads are the parsed pages
// of the response. Dependents become due as in StoreLoads, but its check for missing values does not apply. It returns the number of added
// rows. It returns ErrDecided if the response was already accepted, ErrNotFound for an unknown id, and ErrOutdated if a newer response
// about any of its series was stored since.
func (db QuarantineStore) AcceptQuarantined(ctx context.Context, id int64, d Decision, loads []Load, dependents []string) (added int64, err error) {
	accepted := acceptedAt(d.At, loads)
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		groups := group(accepted)
		if err := stage(ctx, c.Conn(), accepted, groups); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) (err error) {
			if err := decide(ctx, tx, id, QuarantineAccepted, d); err != nil {
				return err
			}
			if err := refuseOutdated(ctx, tx, id); err != nil {
				return err
			}
			if added, err = merge(ctx, tx, groups); err != nil {
				return err
			}
			return conclude(ctx, tx, task.Fence{}, 0, accepted, dependents, added)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("accept quarantine %d: %w", id, err)
	}
	return added, nil
}

func decide(ctx context.Context, tx pgx.Tx, id int64, decision string, d Decision) error {
	var now string
	err := tx.QueryRow(ctx, `select decision from quarantine where id = @id for no key update`, pgx.NamedArgs{"id": id}).Scan(&now)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrNotFound
	case err != nil:
		return err
	case now == QuarantineAccepted || now == decision:
		return fmt.Errorf("%w: %s", ErrDecided, now)
	}
	_, err = tx.Exec(ctx, `
		update quarantine set decision = @decision, decided_at = @at, decided_by = @by, reason = @reason where id = @id`,
		pgx.NamedArgs{"id": id, "decision": decision, "at": d.At, "by": d.By, "reason": d.Reason})
	return err
}

// Finds a newer response that makes this one outdated. Either it confirmed a series that this response claims to contain completely, and
// came with another run. Or it stored other values for the same times.
const outdatedSQL = `
	with seen as (
		select f.fetched_at, f.run_id
		from quarantined_fetches qf join fetches f on f.id = qf.fetch_id
		where qf.quarantine_id = @id
		order by f.fetched_at desc, f.id desc
		limit 1
	)
	select w.series
	from watermarks w join fetches f on f.id = w.fetch_id cross join seen
	where w.series in (select series from stage_covers) and w.confirmed_at > seen.fetched_at
		and (f.run_id is null or f.run_id is distinct from seen.run_id)
	union all
	select s.series
	from stage_readings s join observations o on o.series = s.series and o.observed_at = s.observed_at cross join seen
	where o.vintage_at > seen.fetched_at
	limit 1` // primary keys

// refuseOutdated returns ErrOutdated if a newer response makes the staged loads outdated.
func refuseOutdated(ctx context.Context, tx pgx.Tx, id int64) error {
	var newer string
	err := tx.QueryRow(ctx, outdatedSQL, pgx.NamedArgs{"id": id}).Scan(&newer)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", newer, ErrOutdated)
}

const admittedSQL = `
	select qf.fetch_id, q.decision, q.decided_at
	from quarantined_fetches qf join quarantine q on q.id = qf.quarantine_id
	where qf.fetch_id = any(@ids)` // primary keys

// admit removes the loads that are in quarantine or were rejected. No path to the observations bypasses the decision, not even an import of
// an archive. An accepted response became known at the time of the decision.
func admit(ctx context.Context, c *pgxpool.Conn, loads []Load) ([]Load, error) {
	ids := make([]int64, len(loads))
	for i, l := range loads {
		ids[i] = l.FetchID
	}
	rows, err := c.Query(ctx, admittedSQL, pgx.NamedArgs{"ids": ids})
	if err != nil {
		return nil, fmt.Errorf("look into the quarantine: %w", err)
	}
	held := map[int64]*time.Time{}
	var id int64
	var decision string
	var at *time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &decision, &at}, func() error {
		held[id] = nil
		if decision == QuarantineAccepted {
			decided := *at
			held[id] = &decided
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look into the quarantine: %w", err)
	}
	if len(held) == 0 {
		return loads, nil
	}
	var free []Load
	for _, l := range loads {
		decided, was := held[l.FetchID]
		if was && decided == nil {
			continue
		}
		if was {
			l.accepted = true
			if l.FetchedAt.Before(*decided) {
				l.FetchedAt = *decided
			}
		}
		free = append(free, l)
	}
	return free, nil
}

// AddFindings stores the findings of the checks with the run, each finding once, while the attempt in f is current.
func (db QuarantineStore) AddFindings(ctx context.Context, f task.Fence, list []series.Finding) error {
	tag, err := db.pool.Exec(ctx, `
		update runs set findings = (
			select coalesce(jsonb_agg(e.finding order by e.place), '[]')
			from (
				select finding, min(place) as place
				from jsonb_array_elements(findings || @findings::jsonb) with ordinality as t (finding, place)
				group by finding
			) e)
		where id = @id and attempt = @attempt and status = 'running'`,
		pgx.NamedArgs{"id": f.RunID, "attempt": f.Attempt, "findings": nonNil(list)})
	if err != nil {
		return fmt.Errorf("keep the findings of run %d: %w", f.RunID, err)
	}
	if tag.RowsAffected() == 0 {
		return ErrFenced
	}
	return nil
}

// Findings returns the findings about the responses of a run, in the order in which they were found.
func (db QuarantineStore) Findings(ctx context.Context, runID int64) ([]series.Finding, error) {
	var list []series.Finding
	err := db.reads.QueryRow(ctx, `select findings from runs where id = @id`, pgx.NamedArgs{"id": runID}).Scan(&list)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("the findings of run %d: %w", runID, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read the findings of run %d: %w", runID, err)
	}
	return list, nil
}
