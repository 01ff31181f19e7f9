package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// ErrUnavailable means that the database is unreachable or overloaded.
var ErrUnavailable = errors.New("the database is unavailable")

// Point is one version of a point of a signal's history. An unknown number is NaN.
type Point struct {
	ObservedAt time.Time
	// KnownFrom is when this version came into force. KnownTo is when another version replaced it, zero while it is in force. Without
	// HistoryQuery.Versions, KnownFrom may be a later instant, at which the same version was stored again.
	KnownFrom, KnownTo time.Time
	// Gone means that the point does not exist from KnownFrom on. The fields below then have no meaning.
	Gone bool
	// PublishedAt is when the newest of the inputs became known: the time of publication, as observed or as assumed.
	PublishedAt           time.Time
	Value, Lo, Hi         float64
	Baseline, DeltaPct, Z float64
	// Vintage counts the values of the point so far, including this one. Only changes by publishers count.
	Vintage int
}

// HistoryQuery selects points of a signal's history.
type HistoryQuery struct {
	Signal string
	// AsOf is the instant of the query: later versions are ignored.
	AsOf time.Time
	// From and To limit the observation times, both included. Zero means no limit.
	From, To time.Time
	// Versions selects every version that was ever in force, not only the newest.
	Versions bool
	// Desc returns the newest points first.
	Desc bool
	// After is the last point of the previous page; nil selects the first page. Without Versions only its ObservedAt counts.
	After *HistoryKey
	// Limit is the maximum number of rows; 0 means no limit.
	Limit int
	// Version ignores what was stored after the version with this number, so that pages that are read one after another are of one state. It
	// comes from Computed; 0 means everything.
	Version int64
	// FirstIngested is when the last of the signal's inputs was first loaded, zero if unknown. No earlier time is written as
	// ingested_at, and values that were published earlier are marked.
	FirstIngested time.Time
	// Interval is the text about the interval of a point.
	Interval Interval

	// gone includes versions that say that the point does not exist. since selects only points that have a version with a larger id, revised
	// only points that have several versions.
	gone, revised bool
	since         int64
}

// HistoryKey is the sort key of a history.
type HistoryKey struct{ ObservedAt, KnownFrom time.Time }

const pointColumns = `observed_at, known_at, known_to, gone, input_known_at, value, lo, hi, baseline, delta_pct, z_score, vintage`

// SQL returns the query with some columns of its points, and passes its values to bind. The window functions follow the primary key in the
// sort direction, so a page costs only its own points.
//
// The subqueries, from the inside out: an edition that was superseded at its own instant was never in force. A version equal to the
// previous one is dropped; history that was computed out of order has such versions. An absence that repeats an absence is dropped first. An
// edition counts the editions before it at its instant, so a lag of one more finds the version of the instant before. A value is fresh if it
// is the first, or if it differs from the previous one because an input changed. A change by another version of the program is not a vintage.
// Neither is a version marked as kept, which says that no data was known yet. A version is in force while no later version exists.
func (q HistoryQuery) SQL(columns string, bind func(any) string) string {
	way, later, earlier, sofar := "", "lead", "lag", "unbounded preceding and current row"
	if q.Desc {
		way, later, earlier, sofar = " desc", "lag", "lead", "current row and unbounded following"
	}
	from := "estimates where signal = " + bind(q.Signal) + " and known_at <= " + bind(q.AsOf)
	if q.Version > 0 {
		from += " and id <= " + bind(q.Version)
	}
	where := ""
	if !q.From.IsZero() {
		where += " and observed_at >= " + bind(q.From)
	}
	if !q.To.IsZero() {
		where += " and observed_at <= " + bind(q.To)
	}
	if q.After != nil {
		where += " and observed_at " + map[bool]string{false: ">", true: "<"}[q.Desc] + "= " + bind(q.After.ObservedAt)
	}
	some := ""
	switch {
	case q.since > 0: // index estimates_added
		some = "select distinct observed_at as changed_at from estimates where signal = " + bind(q.Signal) + " and id > " + bind(q.since)
	case q.revised:
		some = "select observed_at as changed_at from " + from + " group by observed_at having count(*) > 1"
	}
	if some != "" {
		// One look-up in the primary key for each of the points. "offset 0" forces this plan: without it, the planner reads the whole history
		// for one point.
		from = "(" + some + `) c
				cross join lateral (select * from ` + from + ` and observed_at = changed_at offset 0) e where true`
	}
	same, keep := "false", "known_to is null"
	if q.Versions {
		compared := []string{"gone", "value", "lo", "hi", "baseline", "scale", "n", "z_score", "delta_pct", "input_known_at"}
		before := make([]string, len(compared))
		for i, c := range compared {
			before[i] = earlier + "(" + c + ") over w"
		}
		keep = "true"
		same = earlier + "(known_at) over w is not null and (" + strings.Join(compared, ", ") + ") is not distinct from (" +
			strings.Join(before, ", ") + ")"
	}
	if !q.gone {
		keep += " and not gone"
	}
	if q.After != nil {
		than := map[bool]string{false: " > ", true: " < "}[q.Desc]
		if q.Versions {
			keep += " and (observed_at, known_at)" + than + "(" + bind(q.After.ObservedAt) + ", " + bind(q.After.KnownFrom) + ")"
		} else {
			keep += " and observed_at" + than + bind(q.After.ObservedAt)
		}
	}
	window := " window w as (partition by observed_at order by known_at" + way
	// other reports whether a value differs from the value a number of versions before, because a publisher changed an input.
	other := func(versions string) string {
		return earlier + "(gone, " + versions + ") over w is not false or " + earlier + "(value, " + versions + ") over w is distinct from value and " +
			earlier + "(input_known_at, " + versions + ") over w is distinct from input_known_at"
	}
	out := `select ` + columns + ` from (
	select *, ` + later + `(known_at) over w as known_to, count(*) filter (where fresh) over (w rows between ` + sofar + `) as vintage from (
		select *, not gone and not kept and case when ` + earlier + `(kept) over w then ` + other("2") + ` else ` + other("1") + ` end as fresh,
			` + same + ` as same
		from (
			select *, (` + later + `(known_at) over w = known_at or gone and ` + earlier + `(gone, edition + 1) over w) is true as skipped
			from ` + from + where + window + `, edition` + way + `)
		) e where not skipped` + window + `)
	) e where not same` + window + `)
) e where ` + keep + ` order by observed_at` + way + `, known_at` + way
	if q.Limit > 0 {
		out += " limit " + strconv.Itoa(q.Limit)
	}
	return out
}

// statement returns SQL with its arguments.
func (q HistoryQuery) statement(columns string) (sql string, args []any) {
	sql = q.SQL(columns, bindTo(&args))
	return sql, args
}

// bindTo returns a function that collects values as the arguments of a query.
func bindTo(args *[]any) func(any) string {
	return func(v any) string {
		*args = append(*args, v)
		return "$" + strconv.Itoa(len(*args))
	}
}

// History yields the points that a query selects, in its order. It stops at the first error.
func (db SnapshotStore) History(ctx context.Context, q HistoryQuery) iter.Seq2[Point, error] {
	return func(yield func(Point, error) bool) {
		sql, args := q.statement(pointColumns)
		rows, err := db.reads.Query(ctx, sql, args...)
		if err != nil {
			yield(Point{}, fmt.Errorf("read the history of %s: %w", q.Signal, asUnavailable(err)))
			return
		}
		defer rows.Close()
		scan := newPointScan()
		for rows.Next() {
			p, err := scan.point(rows)
			if err != nil {
				err = fmt.Errorf("read the history of %s: %w", q.Signal, err)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Point{}, fmt.Errorf("read the history of %s: %w", q.Signal, asUnavailable(err)))
		}
	}
}

// pointScan reads points. It is filled again for each row, so that a row costs no allocation.
type pointScan struct {
	observed, known, to, ingested pgtype.Timestamptz
	gone                          pgtype.Bool
	numbers                       [6]pgtype.Float8
	vintage                       pgtype.Int8
	row                           []any
}

func newPointScan() *pointScan {
	s := &pointScan{}
	s.row = []any{&s.observed, &s.known, &s.to, &s.gone, &s.ingested}
	for i := range s.numbers {
		s.row = append(s.row, &s.numbers[i])
	}
	s.row = append(s.row, &s.vintage)
	return s
}

func (s *pointScan) point(r pgx.CollectableRow) (Point, error) {
	if err := r.Scan(s.row...); err != nil {
		return Point{}, err
	}
	p := Point{ObservedAt: s.observed.Time.UTC(), KnownFrom: s.known.Time.UTC(), Gone: s.gone.Bool, Vintage: int(s.vintage.Int64)}
	if s.to.Valid {
		p.KnownTo = s.to.Time.UTC()
	}
	if s.ingested.Valid {
		p.PublishedAt = s.ingested.Time.UTC()
	}
	for i, into := range [...]*float64{&p.Value, &p.Lo, &p.Hi, &p.Baseline, &p.DeltaPct, &p.Z} {
		*into = math.NaN()
		if s.numbers[i].Valid {
			*into = s.numbers[i].Float64
		}
	}
	return p, nil
}

// Change is an instant at which the history of a signal changed.
type Change struct {
	KnownAt time.Time
	// Added counts new points, Changed points with another value, and Gone points that disappeared.
	Added, Changed, Gone int
}

// Changes lists the instants within From and To, at or before AsOf, at which points of a signal's history changed. Points can be new, can
// get another value (also after they had disappeared), or can disappear. Of q.After only KnownFrom counts; Versions is ignored.
func (db SnapshotStore) Changes(ctx context.Context, q HistoryQuery) ([]Change, error) {
	var args []any
	bind := bindTo(&args)
	way, than := "", " > "
	if q.Desc {
		way, than = " desc", " < "
	}
	every := HistoryQuery{Signal: q.Signal, AsOf: q.AsOf, Versions: true, gone: true}
	sql := `
	select known_at, count(*) filter (where not gone and vintage = 1) as added, count(*) filter (where not gone and vintage > 1) as changed,
		count(*) filter (where gone) as gone
	from (` + every.SQL("known_at, gone, kept, fresh, vintage", bind) + `) e
	where (fresh or gone and not kept)`
	if !q.From.IsZero() {
		sql += " and known_at >= " + bind(q.From)
	}
	if !q.To.IsZero() {
		sql += " and known_at <= " + bind(q.To)
	}
	if q.After != nil {
		sql += " and known_at" + than + bind(q.After.KnownFrom)
	}
	sql += " group by known_at order by known_at" + way
	if q.Limit > 0 {
		sql += " limit " + strconv.Itoa(q.Limit)
	}
	rows, err := db.reads.Query(ctx, sql, args...)
	list, err := collect[Change](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the changes of %s: %w", q.Signal, asUnavailable(err))
	}
	return list, nil
}
