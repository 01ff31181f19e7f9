package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

// knownSeries keeps what was known of each series when it was last asked for, so that the next question reads what became known since and
// not the whole history. Rows of observations are only ever added: as many rows up to an instant are the same rows. Where there are more
// of them, because a store committed late or an archive was imported, the series is read anew. The zero value is empty. It is safe for
// concurrent use.
type knownSeries struct {
	mu     sync.Mutex
	series map[series.ID]*knownPoints
}

// knownPoints are the observations of one series as they were known at an instant. They are not changed once made.
type knownPoints struct {
	asOf time.Time
	// rows is how many vintages they are made of, newest the newest of those.
	rows   int64
	newest time.Time
	points []knownPoint
	// assumed is the newest vintage that nobody saw arrive.
	assumed time.Time
}

// knownPoint is what was known of one observation: its newest vintage, which may have withdrawn it, and the first one with a number.
type knownPoint struct {
	at            time.Time
	newest, first vintageValue
}

// vintageValue is a value and when it became known; nil is none.
type vintageValue struct {
	at    time.Time
	value *float64
}

const knownSinceSQL = `
	with t as (select * from unnest(@series::text[], @after::timestamptz[]) with ordinality as t (series, after, n))
	select t.n, null::timestamptz, null::timestamptz, null::double precision, null::boolean,
		(select count(*) from observations o where o.series = t.series and o.vintage_at <= t.after)
	from t
	union all
	select t.n, o.observed_at, o.vintage_at, o.value, o.assumed, null
	from t cross join lateral (
		select observed_at, vintage_at, value, assumed
		from observations
		where series = t.series and vintage_at > t.after and vintage_at <= @as_of
		offset 0
	) o` // primary key, for the count alone; "offset 0" holds the planner to it series by series, else it reads the whole table

// knownAsOf returns what was known of series at an instant, in the order of ids. It is nil where something that is kept became known after that.
func (db *DB) knownAsOf(ctx context.Context, ids []series.ID, asOf time.Time) ([]*knownPoints, error) {
	states := make([]*knownPoints, len(ids))
	db.known.mu.Lock()
	for i, id := range ids {
		states[i] = db.known.series[id]
	}
	db.known.mu.Unlock()
	if slices.ContainsFunc(states, func(s *knownPoints) bool { return s != nil && s.newest.After(asOf) }) {
		return nil, nil
	}
	anew, err := db.advance(ctx, ids, states, asOf)
	if err != nil {
		return nil, err
	}
	if len(anew) > 0 {
		for _, i := range anew {
			states[i] = nil
		}
		if anew, err = db.advance(ctx, ids, states, asOf); err != nil || len(anew) > 0 {
			return nil, err
		}
	}
	db.known.mu.Lock()
	defer db.known.mu.Unlock()
	if db.known.series == nil {
		db.known.series = map[series.ID]*knownPoints{}
	}
	for i, id := range ids {
		if old := db.known.series[id]; old == nil || !old.asOf.After(states[i].asOf) {
			db.known.series[id] = states[i]
		}
	}
	return states, nil
}

// advance brings states to an instant, those that are nil from nothing. It returns the places of those to which rows of their past were
// added: they have to begin anew.
func (db *DB) advance(ctx context.Context, ids []series.ID, states []*knownPoints, asOf time.Time) (anew []int, err error) {
	after := make([]time.Time, len(ids))
	for i, s := range states {
		if s != nil {
			after[i] = s.asOf
		} // else the year 1, before all vintages
	}
	rows, err := db.reads.Query(ctx, knownSinceSQL, pgx.NamedArgs{"series": ids, "after": after, "as_of": asOf})
	if err != nil {
		return nil, err
	}
	type row struct {
		observed, vintage time.Time
		value             *float64
		assumed           bool
	}
	added, counts := make([][]row, len(ids)), make([]int64, len(ids))
	var n int64
	var observed, vintage *time.Time
	var value *float64
	var assumed *bool
	var count *int64
	_, err = pgx.ForEachRow(rows, []any{&n, &observed, &vintage, &value, &assumed, &count}, func() error {
		if count != nil {
			counts[n-1] = *count
		} else {
			added[n-1] = append(added[n-1], row{*observed, *vintage, value, *assumed})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, s := range states {
		if s == nil {
			s = &knownPoints{}
		}
		if counts[i] != s.rows {
			anew = append(anew, i)
			continue
		}
		next := &knownPoints{asOf: latest(asOf, s.asOf), rows: s.rows + int64(len(added[i])), newest: s.newest, points: s.points, assumed: s.assumed}
		if len(added[i]) > 0 {
			next.points = make([]knownPoint, 0, len(s.points)+len(added[i]))
			slices.SortFunc(added[i], func(a, b row) int { return cmp.Or(a.observed.Compare(b.observed), a.vintage.Compare(b.vintage)) })
			old := s.points
			for _, r := range added[i] {
				for len(old) > 0 && !old[0].at.After(r.observed) {
					next.points, old = append(next.points, old[0]), old[1:]
				}
				if len(next.points) == 0 || !next.points[len(next.points)-1].at.Equal(r.observed) {
					next.points = append(next.points, knownPoint{at: r.observed})
				}
				p := &next.points[len(next.points)-1]
				p.newest = vintageValue{r.vintage, r.value}
				if r.vintage.After(next.newest) {
					next.newest = r.vintage
				}
				if r.assumed && r.vintage.After(next.assumed) {
					next.assumed = r.vintage
				}
				if p.first.value == nil && r.value != nil {
					p.first = p.newest
				}
			}
			next.points = append(next.points, old...)
		}
		states[i] = next
	}
	return anew, nil
}

// latest returns the later of two instants. Nothing became known between an instant that is asked for and a later one of what is kept.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// set makes a set of known series: of each observation the vintage that of chooses, where it has a number.
func set(ids []series.ID, states []*knownPoints, of func(*knownPoint) vintageValue) series.Set {
	out := make(series.Set, len(ids))
	for i, s := range states {
		list := make([]series.Point, 0, len(s.points))
		for k := range s.points {
			if v := of(&s.points[k]); v.value != nil {
				list = append(list, series.Point{ObservedAt: s.points[k].at, VintageAt: v.at, Value: *v.value})
			}
		}
		if len(list) > 0 {
			out[ids[i]] = list
		}
	}
	return out
}
