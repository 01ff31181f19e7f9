package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// LoadStream is StoreLoads for responses that arrive in order. It copies their rows while later pages are still being fetched, if all their
// series are unknown. Commit stores all rows at once, or none. Only one goroutine at a time can use it. It ends with Commit or Discard.
//
// Copying early holds a transaction open between responses. The server ends a session that is idle in a transaction for too long (see
// Open), and a copy that is blocked. The stream then gives up the early copy, and Commit copies the rows. So a process that stops in the
// middle blocks other processes for no longer than these timeouts.
type LoadStream struct {
	db    ObservationStore
	fence task.Fence
	// loads[:chain] are of complete chains, loads[chain:] of the current chain.
	loads []Load
	chain int
	ahead *earlyCopy
	given bool // stop copying rows early
}

// Storing returns a LoadStream for the responses of a run.
func (db ObservationStore) Storing(f task.Fence) *LoadStream { return &LoadStream{db: db, fence: f} }

// Add takes the next page of the current chain. It cannot fail: Commit copies the rows that Add could not copy early.
func (s *LoadStream) Add(ctx context.Context, l Load) {
	s.loads = append(s.loads, l)
	if s.given {
		return
	}
	if err := s.sendAhead(ctx, l); err != nil {
		s.abandonEarlyCopy(ctx)
	}
}

func (s *LoadStream) sendAhead(ctx context.Context, l Load) (err error) {
	if s.ahead == nil {
		// Usually something is known. Check that before a connection is made.
		if err := unknown(ctx, s.db.pool, slices.Collect(maps.Keys(extents(l)))); err != nil {
			return err
		}
		if s.ahead, err = s.db.beginAhead(ctx); err != nil {
			return err
		}
	}
	return s.ahead.send(ctx, l)
}

// EndChain ends the current chain. The loads of an incomplete chain are discarded.
func (s *LoadStream) EndChain(ctx context.Context, complete bool) {
	if !complete {
		s.loads = s.loads[:s.chain]
	}
	s.chain = len(s.loads)
	if s.ahead != nil && s.ahead.endChain(ctx, complete) != nil {
		s.abandonEarlyCopy(ctx)
	}
}

// abandonEarlyCopy rolls back the rows that were copied early.
func (s *LoadStream) abandonEarlyCopy(ctx context.Context) {
	s.given = true
	if s.ahead != nil {
		s.ahead.end(ctx)
		s.ahead = nil
	}
}

// Discard discards all loads. After Commit it does nothing.
func (s *LoadStream) Discard(ctx context.Context) {
	s.abandonEarlyCopy(ctx)
	s.loads, s.chain = nil, 0
}

// Commit stores the loads of the complete chains, as StoreLoads does.
func (s *LoadStream) Commit(ctx context.Context, dependents []string) (int64, error) {
	defer s.Discard(ctx)
	s.loads = s.loads[:s.chain]
	if s.ahead != nil && len(s.loads) > 0 {
		within, span := telemetry.Step(ctx, "store", slog.Int("answers", len(s.loads)))
		added, err := s.ahead.commit(within, s.fence, s.loads, dependents)
		span.Set(slog.Int64("rows", added))
		span.End(err)
		if err == nil || errors.Is(err, ErrFenced) {
			return added, err
		}
	}
	s.abandonEarlyCopy(ctx)
	if len(s.loads) == 0 {
		return 0, nil
	}
	return s.db.StoreLoads(ctx, s.fence, s.loads, dependents)
}

// earlyCopy is a transaction that receives rows before all of them have arrived. It has its own connection, because other runs need the
// connections of the pool while this one waits for an upstream.
type earlyCopy struct {
	conn *pgx.Conn
	tx   pgx.Tx
	// group holds the loads sent so far. before is the savepoint of the current chain, nil between chains.
	group  loadGroup
	before pgx.Tx
	unsaid loadGroup
	added  int64
	chain  int64
}

// errKnown means that stored data exists to compare with, so StoreLoads must do the work.
var errKnown = errors.New("something is known already")

// earlyCopyTimeout limits one copy, including the wait for another transaction's rows of the same key.
const earlyCopyTimeout = "5s"

func (db ObservationStore) beginAhead(ctx context.Context) (*earlyCopy, error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	a := &earlyCopy{conn: conn, tx: tx, group: loadGroup{extents: map[series.ID]*extent{}}}
	if _, err := tx.Exec(ctx, `set local statement_timeout = '`+earlyCopyTimeout+`'`); err != nil {
		a.end(ctx)
		return nil, err
	}
	return a, nil
}

// end closes the connection. Uncommitted rows are lost.
func (a *earlyCopy) end(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	_ = a.tx.Rollback(ctx)
	_ = a.conn.Close(ctx)
}

// unknown returns errKnown if anything is stored of one of the series.
func unknown(ctx context.Context, from interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}, ids []series.ID,
) error {
	var all bool
	if err := from.QueryRow(ctx, unknownSQL, pgx.NamedArgs{"series": ids}).Scan(&all); err != nil {
		return err
	}
	if !all {
		return errKnown
	}
	return nil
}

const unknownSQL = `
	select not exists (select from watermarks where series = any(@series)) and not exists (
		select from unnest(@series::text[]) as t (series) where exists (select from observations o where o.series = t.series))`

// send copies the rows of a page. It returns errKnown if its series are known or the load names their vintages. It also does so if the page
// and an earlier page must be compared.
func (a *earlyCopy) send(ctx context.Context, l Load) error {
	if l.again() || len(l.Vintages) > 0 {
		return errKnown
	}
	m := extents(l)
	if a.before == nil {
		a.unsaid, a.chain = a.group.clone(), a.added
		var err error
		if a.before, err = a.tx.Begin(ctx); err != nil {
			return err
		}
	}
	var fresh []series.ID
	for id := range m {
		if a.group.extents[id] == nil {
			fresh = append(fresh, id)
		}
	}
	if !a.group.takes(m) {
		return errKnown
	}
	if len(fresh) > 0 {
		// Do not wait here, as that would block others with the rows sent before: the other load goes first.
		if held, err := tryLockSeries(ctx, a.before, fresh); err != nil || !held {
			return errors.Join(errKnown, err)
		}
		if err := unknown(ctx, a.before, fresh); err != nil {
			return err
		}
	}
	var id, marker pgtype.Text
	var observedAt, vintageAt pgtype.Timestamptz
	var value pgtype.Float8
	var assumed pgtype.Bool
	row := []any{&id, &observedAt, &vintageAt, &value, &marker, &assumed, l.FetchID}
	rows := eachOf(len(l.Readings), func(i int) []any {
		r := &l.Readings[i]
		vintage := l.Published(r.Series, r.ObservedAt)
		before := vintage.UnixMicro() < l.FetchedAt.UnixMicro()
		if !before {
			vintage = l.FetchedAt
		}
		id, observedAt, vintageAt, assumed = text(r.Series), timestamptz(r.ObservedAt), timestamptz(vintage), pgtype.Bool{Bool: before, Valid: true}
		value, marker = valueAndMarker(r.Value, r.Marker)
		return row
	})
	n, err := copyInto(ctx, a.conn, "observations", "series, observed_at, vintage_at, value, marker, assumed, fetch_id", rows)
	a.added += n
	return err
}

// endChain keeps or rolls back the rows of the current chain.
func (a *earlyCopy) endChain(ctx context.Context, complete bool) error {
	if a.before == nil {
		return nil
	}
	before := a.before
	a.before = nil
	if complete {
		return before.Commit(ctx)
	}
	a.group, a.added = a.unsaid, a.chain
	return before.Rollback(ctx)
}

const firstConfirmSQL = `
	insert into watermarks (series, first_loaded_at, fetch_id, confirmed_at)
	select * from unnest(@series::text[], @first::timestamptz[], @ids::bigint[], @at::timestamptz[])`

func (a *earlyCopy) commit(ctx context.Context, f task.Fence, loads []Load, dependents []string) (int64, error) {
	if _, err := a.tx.Exec(ctx, `set local statement_timeout = 0`); err != nil {
		return 0, err
	}
	var names []string
	var first, at []time.Time
	var ids []int64
	place := map[series.ID]int{}
	for _, l := range loads {
		for id := range l.mentioned() {
			i, ok := place[id]
			if !ok {
				place[id] = len(names)
				names, first, at, ids = append(names, string(id)), append(first, l.FetchedAt), append(at, l.FetchedAt), append(ids, l.FetchID)
				continue
			}
			if l.FetchedAt.Before(first[i]) {
				first[i] = l.FetchedAt
			}
			if !l.FetchedAt.Before(at[i]) {
				at[i], ids[i] = l.FetchedAt, l.FetchID
			}
		}
	}
	// The series are locked since their first page.
	if _, err := a.tx.Exec(ctx, firstConfirmSQL, pgx.NamedArgs{"series": names, "first": first, "ids": ids, "at": at}); err != nil {
		return 0, fmt.Errorf("confirm: %w", err)
	}
	if err := conclude(ctx, a.tx, f, 0, loads, dependents, a.added); err != nil {
		return 0, err
	}
	if err := a.tx.Commit(ctx); err != nil {
		return 0, fmt.Errorf("store observations: %w", err)
	}
	return a.added, nil
}

// clone copies a group, so that endChain can restore it.
func (g loadGroup) clone() loadGroup {
	g.extents = maps.Clone(g.extents)
	for id, e := range g.extents {
		g.extents[id] = new(*e)
	}
	return g
}
