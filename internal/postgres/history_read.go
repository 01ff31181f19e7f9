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

// ErrUnavailable: the database cannot be reached, or is too busy to answer.
var ErrUnavailable = errors.New("the database is away")

// Point is one version of a point of a signal's history. A number that is unknown is NaN.
type Point struct {
	ObservedAt time.Time
	// KnownFrom is the instant from which on the history said so, KnownTo the one from which on it said something else: zero while
	// that is not known. Without HistoryQuery.Versions the first may be a later instant, at which it was said once more.
	KnownFrom, KnownTo time.Time
	// Gone tells that from KnownFrom on there is no such point. The fields below have no meaning then.
	Gone bool
	// PublishedAt is when the newest of the inputs became known: published, as far as that was seen or is assumed.
	PublishedAt           time.Time
	Value, Lo, Hi         float64
	Baseline, DeltaPct, Z float64
	// Vintage counts the values that the point has had so far by what publishers said, this one included.
	Vintage int
}

// HistoryQuery selects points of a signal's history.
type HistoryQuery struct {
	Signal string
	// AsOf is the instant at which the history is looked at.
	AsOf time.Time
	// From and To bound the observation times, both included. Zero: open.
	From, To time.Time
	// Versions asks for every version that was ever in force, and not only the newest ones.
	Versions bool
	// Newest first, or oldest first.
	Desc bool
	// After is the last point of the page before; nil: the first page. Without Versions only ObservedAt counts.
	After *HistoryKey
	// Limit bounds the number of rows; 0: none.
	Limit int
	// FirstIngested is when the last of the signal's inputs was loaded for the first time: CopyHistory writes nothing as ingested before it, and
	// marks what was published before. Zero: not known.
	FirstIngested time.Time
	// Digits is how many significant digits CopyHistory writes of a number, at most 15; 0: all.
	Digits int

	// gone keeps the versions that say that there is no point. since leaves out the points without a version that has a larger id.
	gone  bool
	since int64
}

// HistoryKey is what a history is ordered by.
type HistoryKey struct{ ObservedAt, KnownFrom time.Time }

const (
	pointColumns = `observed_at, known_at, known_to, gone, input_known_at, value, lo, hi, baseline, delta_pct, z_score, vintage`
	// The columns as they are published, times as RFC 3339 has them (the session's zone is UTC).
	csvColumns = `replace(replace(observed_at::text, ' ', 'T'), '+00', 'Z') as observed_at,
	replace(replace(greatest(input_known_at, first_ingested)::text, ' ', 'T'), '+00', 'Z') as ingested_at,
	value, lo as uncertainty_lo, hi as uncertainty_hi, baseline as baseline_value, delta_pct as delta_vs_baseline_pct, z_score,
	vintage, case when vintage > 1 then 'true' else 'false' end as revised`
	csvVersionColumns = csvColumns + `,
	replace(replace(known_at::text, ' ', 'T'), '+00', 'Z') as known_from,
	replace(replace(known_to::text, ' ', 'T'), '+00', 'Z') as known_to`
	csvPublishedColumns = `,
	replace(replace(input_known_at::text, ' ', 'T'), '+00', 'Z') as published_at,
	case when input_known_at < first_ingested then 'true' else 'false' end as published_at_assumed`
)

// sql writes the query, its values through bind. The window functions walk along the primary key, in the direction of the order, so
// a page costs no more than its points.
//
// From the inside out: an edition that was superseded at its own instant was never in force; a version that says what the one before
// it said (history computed out of order has such) is none; a value is fresh when it is the first, or other than the one before because
// an input is: another program makes no vintage, and neither does a version that is kept, which says that nothing was known yet;
// a version is in force while there is no later one.
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
		// One look into the primary key for each changed point, found by estimates_added. "offset 0" holds the planner to that: without
		// it, it reads the whole history for the sake of one point.
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
	// other tells whether a value is another one than the value some versions before, by what a publisher changed.
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

// statement is sql with its arguments.
func (q HistoryQuery) statement(columns string) (sql string, args []any) {
	sql = q.sql(columns, bindTo(&args))
	return sql, args
}

// bindTo collects values as the arguments of a query.
func bindTo(args *[]any) func(any) string {
	return func(v any) string {
		*args = append(*args, v)
		return "$" + strconv.Itoa(len(*args))
	}
}

// literal writes a value into a statement that takes no arguments.
func literal(v any) string {
	switch v := v.(type) {
	case time.Time:
		return "'" + v.UTC().Format("2006-01-02 15:04:05.999999") + "+00'::timestamptz"
	default:
		return "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
	}
}

// History yields the points that a query selects, in its order. It stops at the first error.
func (db *DB) History(ctx context.Context, q HistoryQuery) iter.Seq2[Point, error] {
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

// CopyHistory writes the points that a query selects as CSV with a header row, one Write per row, each ending in a line feed. The rows
// come from the server as they are made: neither side holds them all. What w answers with an error ends it.
func (db *DB) CopyHistory(ctx context.Context, w io.Writer, q HistoryQuery) error {
	columns := csvColumns
	if q.Versions {
		columns = csvVersionColumns
	}
	first := "'-infinity'::timestamptz"
	if !q.FirstIngested.IsZero() {
		first = literal(q.FirstIngested)
	}
	columns = strings.ReplaceAll(columns+csvPublishedColumns, "first_ingested", first)
	sql := `copy (` + q.sql(columns, literal) + `) to stdout (format csv, header)`
	c, err := db.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("copy the history of %s: %w", q.Signal, asUnavailable(err))
	}
	defer c.Release()
	if q.Digits > 0 {
		if _, err := c.Exec(ctx, fmt.Sprintf(`set extra_float_digits = %d`, q.Digits-15)); err != nil { // the most digits of a float8 are 15 and this
			return fmt.Errorf("copy the history of %s: %w", q.Signal, asUnavailable(err))
		}
		defer func() {
			// Whoever has the connection next writes every digit. A connection on which this fails is not used again.
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

// Change is an instant at which the history of a signal became another one.
type Change struct {
	KnownAt time.Time
	// Added points, points whose value Changed, and points that are Gone.
	Added, Changed, Gone int
}

// Changes lists the instants at or before AsOf, within From and To, at which points of a signal's history were added, got another
// value (also one that had gone before), or went. Of the query's key KnownFrom counts, and Versions is not looked at.
func (db *DB) Changes(ctx context.Context, q HistoryQuery) ([]Change, error) {
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
