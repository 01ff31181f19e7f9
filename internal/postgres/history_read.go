package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	// FirstIngested is when the last of the signal's inputs was first loaded, zero if unknown. CopyHistory writes no earlier time as
	// ingested_at, and marks values that were published earlier.
	FirstIngested time.Time
	// Interval is the text that CopyHistory writes about the interval of a point.
	Interval Interval
	// Digits is the number of significant digits that CopyHistory writes, at most 15; 0 means all.
	Digits int

	// gone includes versions that say that the point does not exist. since selects only points that have a version with a larger id.
	gone  bool
	since int64
}

// HistoryKey is the sort key of a history.
type HistoryKey struct{ ObservedAt, KnownFrom time.Time }

const (
	pointColumns = `observed_at, known_at, known_to, gone, input_known_at, value, lo, hi, baseline, delta_pct, z_score, vintage`
	// The columns as they are published. Times are in RFC 3339 (the session's time zone is UTC).
	csvColumns = `replace(replace(observed_at::text, ' ', 'T'), '+00', 'Z') as observed_at,
	replace(replace(greatest(input_known_at, first_ingested)::text, ' ', 'T'), '+00', 'Z') as ingested_at,
	value, lo as uncertainty_lo, hi as uncertainty_hi, baseline as baseline_value, delta_pct as delta_vs_baseline_pct, z_score,
	vintage, case when vintage > 1 then 'true' else 'false' end as revised`
	csvVersionColumns = csvColumns + `,
	replace(replace(known_at::text, ' ', 'T'), '+00', 'Z') as known_from,
	replace(replace(known_to::text, ' ', 'T'), '+00', 'Z') as known_to`
	csvPublishedColumns = `,
	replace(replace(input_known_at::text, ' ', 'T'), '+00', 'Z') as published_at,
	case when input_known_at <= first_ingested then 'true' else 'false' end as published_at_assumed`
	csvIntervalColumns = `,
	case when lo is not null then interval_bounds end as bounds, case when lo is not null then interval_basis end as basis`
)

// sql returns the query and passes its values to bind. The window functions follow the primary key in the sort direction, so a page costs
// only its own points.
//
// The subqueries, from the inside out: an edition that was superseded at its own instant was never in force. A version equal to the
// previous one is dropped; history that was computed out of order has such versions. A value is fresh if it is the first, or if it differs
// from the previous one because an input changed. A change by another version of the program is not a vintage. Neither is a version marked
// as kept, which says that no data was known yet. A version is in force while no later version exists.
func (q HistoryQuery) sql(columns string, bind func(any) string) string {
	way, later, earlier, sofar := "", "lead", "lag", "unbounded preceding and current row"
	if q.Desc {
		way, later, earlier, sofar = " desc", "lag", "lead", "current row and unbounded following"
	}
	from := "estimates where signal = " + bind(q.Signal) + " and known_at <= " + bind(q.AsOf)
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
	if q.since > 0 {
		// One look-up in the primary key for each changed point, found by the index estimates_added. "offset 0" forces this plan: without
		// it, the planner reads the whole history for one point.
		from = "(select distinct observed_at as changed_at from estimates where signal = " + bind(q.Signal) + " and id > " + bind(q.since) + `) c
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
			select *, ` + later + `(known_at) over w is not distinct from known_at as superseded
			from ` + from + where + window + `, edition` + way + `)
		) e where not superseded` + window + `)
	) e where not same` + window + `)
) e where ` + keep + ` order by observed_at` + way + `, known_at` + way
	if q.Limit > 0 {
		out += " limit " + strconv.Itoa(q.Limit)
	}
	return out
}

// statement returns sql with its arguments.
func (q HistoryQuery) statement(columns string) (sql string, args []any) {
	sql = q.sql(columns, bindTo(&args))
	return sql, args
}

// bindTo returns a function that collects values as the arguments of a query.
func bindTo(args *[]any) func(any) string {
	return func(v any) string {
		*args = append(*args, v)
		return "$" + strconv.Itoa(len(*args))
	}
}

// literal formats a value for a statement without arguments.
func literal(v any) string {
	switch v := v.(type) {
	case time.Time:
		return "'" + v.UTC().Format("2006-01-02 15:04:05.999999") + "+00'::timestamptz"
	default:
		return "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
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
		for rows.Next() {
			p, err := scanPoint(rows)
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

func scanPoint(r pgx.CollectableRow) (Point, error) {
	var p Point
	var to, ingested pgtype.Timestamptz
	var v [6]pgtype.Float8
	err := r.Scan(&p.ObservedAt, &p.KnownFrom, &to, &p.Gone, &ingested, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &p.Vintage)
	p.ObservedAt, p.KnownFrom = p.ObservedAt.UTC(), p.KnownFrom.UTC()
	if to.Valid {
		p.KnownTo = to.Time.UTC()
	}
	if ingested.Valid {
		p.PublishedAt = ingested.Time.UTC()
	}
	for i, into := range []*float64{&p.Value, &p.Lo, &p.Hi, &p.Baseline, &p.DeltaPct, &p.Z} {
		*into = math.NaN()
		if v[i].Valid {
			*into = v[i].Float64
		}
	}
	return p, err
}

// CopyHistory writes the points that a query selects as CSV with a header row. It calls Write once per row; each row ends in a line feed.
// The server streams the rows, so neither side holds all of them. If w returns an error, it stops.
func (db SnapshotStore) CopyHistory(ctx context.Context, w io.Writer, q HistoryQuery) error {
	columns := csvColumns
	if q.Versions {
		columns = csvVersionColumns
	}
	first := "'-infinity'::timestamptz"
	if !q.FirstIngested.IsZero() {
		first = literal(q.FirstIngested)
	}
	columns = strings.NewReplacer("first_ingested", first, "interval_bounds", literal(q.Interval.Bounds), "interval_basis", literal(q.Interval.Basis)).
		Replace(columns + csvPublishedColumns + csvIntervalColumns)
	sql := `copy (` + q.sql(columns, literal) + `) to stdout (format csv, header)`
	c, err := db.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("copy the history of %s: %w", q.Signal, asUnavailable(err))
	}
	defer c.Release()
	if q.Digits > 0 {
		if _, err := c.Exec(ctx, fmt.Sprintf(`set extra_float_digits = %d`, q.Digits-15)); err != nil { // a float8 has at most 15 digits plus this number
			return fmt.Errorf("copy the history of %s: %w", q.Signal, asUnavailable(err))
		}
		defer func() {
			// The next user of the connection writes every digit. If this fails, the connection is closed.
			if _, err := c.Exec(context.WithoutCancel(ctx), `reset extra_float_digits`); err != nil {
				_ = c.Conn().Close(context.WithoutCancel(ctx))
			}
		}()
	}
	if _, err := c.Conn().PgConn().CopyTo(ctx, w, sql); err != nil {
		return fmt.Errorf("copy the history of %s: %w", q.Signal, asUnavailable(err))
	}
	return nil
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
	from (` + every.sql("known_at, gone, kept, fresh, vintage", bind) + `) e
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
