package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/series"
)

// Effect is the change of one series by storing a response. Added counts observations with new times, Revised observations with new values,
// and Removed withdrawn observations. From and To bound the observation times.
type Effect struct {
	Series                  series.ID
	Added, Revised, Removed int64
	From, To                time.Time
}

// Rows returns the number of rows that the change adds.
func (e Effect) Rows() int64 { return e.Added + e.Revised + e.Removed }

// Selects the rows that this transaction added.
const effectSQL = `
	select o.series, count(*) filter (where was.vintage_at is null and o.marker is distinct from 'withdrawn') as added,
		count(*) filter (where was.vintage_at is not null and o.marker is distinct from 'withdrawn') as revised,
		count(*) filter (where o.marker is not distinct from 'withdrawn') as removed, min(o.observed_at) as "from", max(o.observed_at) as "to"
	from observations o
	left join lateral (
		select w.vintage_at from observations w
		where w.series = o.series and w.observed_at = o.observed_at and w.vintage_at < o.vintage_at
		limit 1
	) was on true
	where o.series = any(@series) and o.xmin = pg_current_xact_id()::xid
	group by o.series
	order by o.series` // primary key

// errPreview ends the transaction of a preview.
var errPreview = errors.New("nothing of a preview stays")

// EffectOf returns how each series would change now if the response were accepted. loads are its parsed pages. It stores them and rolls
// back. If id is not 0, it is the quarantine number of the response, and EffectOf returns ErrOutdated as AcceptQuarantined does.
func (db QuarantineStore) EffectOf(ctx context.Context, id int64, at time.Time, loads []Load) (list []Effect, err error) {
	loads = acceptedAt(at, loads)
	speaks := map[series.ID]bool{}
	for _, l := range loads {
		for id := range l.mentioned() {
			speaks[id] = true
		}
	}
	ids := make([]string, 0, len(speaks))
	for id := range speaks {
		ids = append(ids, string(id))
	}
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		groups := group(loads)
		if err := stage(ctx, c.Conn(), loads, groups); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) error {
			if id != 0 {
				if err := refuseOutdated(ctx, tx, id); err != nil {
					return err
				}
			}
			if _, err := merge(ctx, tx, groups); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, effectSQL, pgx.NamedArgs{"series": ids})
			if list, err = collect[Effect](rows, err); err != nil {
				return err
			}
			return errPreview
		})
	})
	if !errors.Is(err, errPreview) {
		return nil, fmt.Errorf("look what accepting an answer would do: %w", err)
	}
	return list, nil
}

// acceptedAt returns copies of the loads as accepted by an operator at an instant.
func acceptedAt(at time.Time, loads []Load) []Load {
	accepted := make([]Load, len(loads))
	for i, l := range loads {
		l.accepted = true
		l.FetchedAt = at
		accepted[i] = l
	}
	return accepted
}
