package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// knownSeries caches the observations of each series as last read, so that the next call only reads what was added since. Rows of
// observations are only ever added, and arrivals says where in the series each statement added some. So a row that is committed late, or is
// brought by an import, is found, too. The zero value is empty. It is safe for concurrent use.
type knownSeries struct {
	mu     sync.Mutex
	series map[series.ID]*knownPoints
}

// knownPoints are the observations of one series as known at an instant. They are immutable.
type knownPoints struct {
	asOf time.Time
	// seen is the newest arrival that was read. later is where those up to it have vintages after asOf.
	seen  int64
	later laterVintages
	// newest is the newest vintage in points, assumed the newest assumed one.
	newest, assumed time.Time
	points          []knownPoint
	// values are the newest values of points, replaced the values before them, where they are numbers.
	values, replaced []series.Point
	// tip is how many points the memory of these lists has. A state with all of them may append in place, once it has moved the tip.
	tip *atomic.Int64
	// additions counts the reads since all of the series was read.
	additions int
}

// laterVintages are vintages after an instant: the observation times that they may be about, and the last of them. It is zero without any.
type laterVintages struct{ from, to, until time.Time }

// add extends l by others.
func (l *laterVintages) add(o laterVintages) {
	switch {
	case o.until.IsZero():
	case l.until.IsZero():
		*l = o
	default:
		if o.from.Before(l.from) {
			l.from = o.from
		}
		l.to, l.until = latest(l.to, o.to), latest(l.until, o.until)
	}
}

// knownPoint is one observation as known: its newest vintage, which may withdraw it, the vintage before that, and its first vintage with a
// number. Times are in microseconds since 1970.
type knownPoint struct {
	at                    int64
	newest, before, first vintageValue
}

// vintageValue is a value and the time when it became known. The value is NaN if there is no number.
type vintageValue struct {
	at    int64
	value float64
}

// put adds a vintage that is newer than all others of the point.
func (p *knownPoint) put(v vintageValue) {
	p.before, p.newest = p.newest, v
	if math.IsNaN(p.first.value) {
		p.first = v
	}
}

// replaced is the value before the newest one, known since the newest became known, if both are numbers.
func (p *knownPoint) replaced() vintageValue {
	if math.IsNaN(p.newest.value) {
		return p.newest
	}
	return vintageValue{p.newest.at, p.before.value}
}

func (p *knownPoint) same(o *knownPoint) bool {
	equal := func(a, b vintageValue) bool {
		return a.at == b.at && math.Float64bits(a.value) == math.Float64bits(b.value)
	}
	return p.at == o.at && equal(p.newest, o.newest) && equal(p.before, o.before) && equal(p.first, o.first)
}

// The first row of each series says what arrived since it was read. Others are all vintages where something arrived, and vintages that were
// there before and were not known yet. The lengths of arrays in a subquery are unknown to the planner: if it saw them, it would plan each call anew,
// which takes longer than the rest.
const knownSinceSQL = `
	with t as (
		select t.n, t.series, t.after, t.later_from, t.later_to, a.*
		from unnest((select @series::text[]), (select @seen::bigint[]), (select @after::timestamptz[]), (select @later_from::timestamptz[]),
				(select @later_to::timestamptz[]))
			with ordinality as t (series, seen, after, later_from, later_to, n)
		cross join lateral (
			select max(n) as arrived, min(observed_from) as new_from, max(observed_to) as new_to,
				min(observed_from) filter (where vintage_to > @as_of) as unknown_from, max(observed_to) filter (where vintage_to > @as_of) as unknown_to,
				max(vintage_to) filter (where vintage_to > @as_of) as unknown_until
			from arrivals where series = t.series and n > t.seen
		) a
	)
	select n, null::boolean, new_from, new_to, null::double precision, null::boolean, arrived, unknown_from, unknown_to, unknown_until from t
	union all
	select t.n, true, o.observed_at, o.vintage_at, o.value, o.assumed, null, null, null, null
	from t cross join lateral (
		select observed_at, vintage_at, value, assumed
		from observations
		where series = t.series and observed_at between t.new_from and t.new_to and vintage_at <= @as_of
		offset 0
	) o
	union all
	select t.n, false, o.observed_at, o.vintage_at, o.value, o.assumed, null, null, null, null
	from t cross join lateral (
		select observed_at, vintage_at, value, assumed
		from observations
		where series = t.series and observed_at between t.later_from and t.later_to and vintage_at > t.after and vintage_at <= @as_of
		offset 0
	) o` // primary keys; "offset 0" makes the planner go series by series, else it reads the whole table

// readAgain is after how many reads of additions all of a series is read again, and compared with the kept points.
const readAgain = 32

// errKept means that the data kept in memory differ from the database. They are forgotten with the error, so the next attempt reads
// everything.
var errKept = errors.New("what was kept in memory differs from the database")

// knownAsOf returns the observations of series as known at an instant, in the order of ids. It returns nil if a cached series is newer than
// asOf.
func (db ObservationStore) knownAsOf(ctx context.Context, ids []series.ID, asOf time.Time) ([]*knownPoints, error) {
	asOf = asOf.Truncate(time.Microsecond)
	kept := make([]*knownPoints, len(ids))
	db.known.mu.Lock()
	for i, id := range ids {
		kept[i] = db.known.series[id]
	}
	db.known.mu.Unlock()
	if slices.ContainsFunc(kept, func(s *knownPoints) bool { return s != nil && s.newest.After(asOf) }) {
		return nil, nil
	}
	states, err := db.advance(ctx, ids, kept, asOf)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(states, func(s *knownPoints) bool { return s.additions >= readAgain }) {
		put := states
		if states, err = db.advance(ctx, ids, make([]*knownPoints, len(ids)), asOf); err != nil {
			return nil, err
		}
		for i := range states {
			same, err := db.known.compare(ids[i], put[i], states[i])
			if err != nil {
				return nil, err
			}
			if same { // readers may have the tracks of its memory
				put[i].additions, states[i] = 0, put[i]
			}
		}
	}
	db.known.mu.Lock()
	defer db.known.mu.Unlock()
	if db.known.series == nil {
		db.known.series = map[series.ID]*knownPoints{}
	}
	for i, id := range ids {
		if old := db.known.series[id]; old == nil || !old.asOf.After(states[i].asOf) && old.seen <= states[i].seen {
			db.known.series[id] = states[i]
		}
	}
	return states, nil
}

// compare reports whether the additions to a series add up to all of it. If they do not, it forgets the series and returns an error. It
// compares nothing if more arrived between the two reads.
func (k *knownSeries) compare(id series.ID, put, all *knownPoints) (bool, error) {
	if put.seen != all.seen {
		return false, nil
	}
	same := func(a, b knownPoint) bool { return a.same(&b) }
	if slices.EqualFunc(put.points, all.points, same) && slices.Equal(put.values, all.values) && slices.Equal(put.replaced, all.replaced) && put.newest.Equal(all.newest) && put.assumed.Equal(all.assumed) {
		return true, nil
	}
	k.mu.Lock()
	delete(k.series, id)
	k.mu.Unlock()
	return false, fmt.Errorf("series %s: %w", id, errKept)
}

// arrived holds the rows that advance reads of one series.
type arrived struct {
	seen int64
	// Rows with observation times between from and to are complete in again. The rows in more were there before, and were not known yet.
	from, to    time.Time
	later       laterVintages
	again, more []arrivedRow
}

type arrivedRow struct {
	at, vintage int64
	value       float64
	assumed     bool
}

// advance returns the states at an instant that follow from kept ones; nil states start empty.
func (db ObservationStore) advance(ctx context.Context, ids []series.ID, kept []*knownPoints, asOf time.Time) ([]*knownPoints, error) {
	after, seen := make([]time.Time, len(ids)), make([]int64, len(ids))
	from, to := make([]*time.Time, len(ids)), make([]*time.Time, len(ids))
	for i, s := range kept {
		if s == nil {
			continue
		}
		after[i], seen[i] = s.asOf, s.seen
		if !s.later.until.IsZero() {
			from[i], to[i] = &s.later.from, &s.later.to
		}
	}
	rows, err := db.reads.Query(ctx, knownSinceSQL, pgx.NamedArgs{
		"series": ids, "seen": seen, "after": after, "later_from": from, "later_to": to, "as_of": asOf,
	})
	if err != nil {
		return nil, err
	}
	news := make([]arrived, len(ids))
	var n int64
	var again, assumed *bool
	var a, b, unknownFrom, unknownTo, unknownUntil *time.Time
	var value *float64
	var last *int64
	_, err = pgx.ForEachRow(rows, []any{&n, &again, &a, &b, &value, &assumed, &last, &unknownFrom, &unknownTo, &unknownUntil}, func() error {
		news := &news[n-1]
		if again == nil {
			if last != nil {
				news.seen, news.from, news.to = *last, *a, *b
			}
			if unknownUntil != nil {
				news.later = laterVintages{*unknownFrom, *unknownTo, *unknownUntil}
			}
			return nil
		}
		row := arrivedRow{at: a.UnixMicro(), vintage: b.UnixMicro(), value: math.NaN(), assumed: *assumed}
		if value != nil {
			row.value = *value
		}
		if *again {
			news.again = append(news.again, row)
		} else {
			news.more = append(news.more, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	states := make([]*knownPoints, len(ids))
	for i, s := range kept {
		if s == nil {
			s = &knownPoints{additions: -1}
		}
		states[i] = s.with(news[i], asOf)
	}
	return states, nil
}

// with returns the state at an instant, which follows from s and what was read.
func (s *knownPoints) with(news arrived, asOf time.Time) *knownPoints {
	next := &knownPoints{asOf: asOf, seen: max(s.seen, news.seen), newest: s.newest, assumed: s.assumed, additions: s.additions}
	next.points, next.values, next.replaced, next.tip = s.points, s.values, s.replaced, s.tip
	if s.later.until.After(asOf) {
		next.later = s.later
	}
	next.later.add(news.later)
	if news.seen != 0 {
		from, to := news.from.UnixMicro(), news.to.UnixMicro()
		news.more = slices.DeleteFunc(news.more, func(r arrivedRow) bool { return from <= r.at && r.at <= to })
		first, end := s.place(from), s.place(to+1)
		if again := added(nil, news.again); first == len(s.points) {
			next.append(s, again)
		} else {
			next.renew(slices.Concat(s.points[:first], again, s.points[end:]))
		}
		next.note(news.again)
	}
	if len(news.more) > 0 {
		next.renew(added(next.points, news.more))
		next.note(news.more)
	}
	if news.seen != 0 || len(news.more) > 0 {
		next.additions++
	}
	return next
}

// renew gives s points in memory of its own, with room for more.
func (s *knownPoints) renew(points []knownPoint) {
	room := len(points)/16 + 16
	s.points, s.values, s.replaced = slices.Grow(points, room), make([]series.Point, 0, len(points)+room), nil
	s.tip = new(atomic.Int64)
	s.tip.Store(int64(len(points)))
	s.list(points)
}

// append gives s the points of an earlier state and some that are later than all of them.
func (s *knownPoints) append(before *knownPoints, points []knownPoint) {
	n := int64(len(before.points))
	if before.tip == nil || !before.tip.CompareAndSwap(n, n+int64(len(points))) {
		s.renew(slices.Concat(before.points, points))
		return
	}
	s.points = append(before.points, points...)
	s.list(points)
}

// list adds the values of points.
func (s *knownPoints) list(points []knownPoint) {
	for i := range points {
		s.values = pointOf(s.values, &points[i], points[i].newest)
		s.replaced = pointOf(s.replaced, &points[i], points[i].replaced())
	}
}

// pointOf adds a value of a point to a list, if it is a number.
func pointOf(list []series.Point, p *knownPoint, v vintageValue) []series.Point {
	if math.IsNaN(v.value) {
		return list
	}
	return append(list, series.Point{ObservedAt: series.InstantOfMicroseconds(p.at), VintageAt: series.InstantOfMicroseconds(v.at), Value: v.value})
}

// firsts are the first numbers of the points.
func (s *knownPoints) firsts() []series.Point {
	list := make([]series.Point, 0, len(s.points))
	for i := range s.points {
		list = pointOf(list, &s.points[i], s.points[i].first)
	}
	return list
}

// place is the index of the first point at or after a time.
func (s *knownPoints) place(at int64) int {
	i, _ := slices.BinarySearchFunc(s.points, at, func(p knownPoint, at int64) int { return cmp.Compare(p.at, at) })
	return i
}

// note takes the vintages of rows into the newest ones.
func (s *knownPoints) note(rows []arrivedRow) {
	for _, r := range rows {
		vintage := time.UnixMicro(r.vintage).UTC()
		s.newest = latest(s.newest, vintage)
		if r.assumed {
			s.assumed = latest(s.assumed, vintage)
		}
	}
}

// added returns points with vintages, each newer than all others of its point. It sorts the rows.
func added(points []knownPoint, rows []arrivedRow) []knownPoint {
	slices.SortFunc(rows, func(a, b arrivedRow) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.vintage, b.vintage)) })
	out := make([]knownPoint, 0, len(points)+len(rows))
	for _, r := range rows {
		for len(points) > 0 && points[0].at <= r.at {
			out, points = append(out, points[0]), points[1:]
		}
		if len(out) == 0 || out[len(out)-1].at != r.at {
			none := vintageValue{value: math.NaN()}
			out = append(out, knownPoint{at: r.at, newest: none, before: none, first: none})
		}
		out[len(out)-1].put(vintageValue{r.vintage, r.value})
	}
	return append(out, points...)
}

// latest returns the later of two instants.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// set returns the lists that the function of has of the series. It leaves out empty ones.
func set(ids []series.ID, states []*knownPoints, of func(*knownPoints) []series.Point) series.Set {
	out := make(series.Set, len(ids))
	for i, s := range states {
		if list := of(s); len(list) > 0 {
			out[ids[i]] = slices.Clip(list)
		}
	}
	return out
}
