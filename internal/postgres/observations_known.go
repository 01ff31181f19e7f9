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

// knownSeries caches the observations of each series as last read, so that the next call only reads the data that became known since. Rows
// of observations are only ever added: an equal number of rows up to an instant means equal rows. If the number is higher, because a store
// committed late or an archive was imported, the series is read again. The zero value is empty. It is safe for concurrent use.
type knownSeries struct {
	mu     sync.Mutex
	series map[series.ID]*knownPoints
}

// knownPoints are the observations of one series as known at an instant. They are immutable.
type knownPoints struct {
	asOf time.Time
	// rows is the number of vintages in points. newest is the newest of them.
	rows   int64
	newest time.Time
	points []knownPoint
	// assumed is the newest assumed vintage.
	assumed time.Time
}

// knownPoint is one observation as known: its newest vintage, which may withdraw it, and its first vintage with a number.
type knownPoint struct {
	at            time.Time
	newest, first vintageValue
}

// vintageValue is a value and the time when it became known. A nil value has no number.
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
	) o` // primary key, for the count alone; "offset 0" makes the planner go series by series, else it reads the whole table

// knownAsOf returns the observations of series as known at an instant, in the order of ids. It returns nil if a cached series is newer than
// asOf.
func (db ObservationStore) knownAsOf(ctx context.Context, ids []series.ID, asOf time.Time) ([]*knownPoints, error) {
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

// advance updates states to an instant; nil states start empty. It returns the indexes of states that must be read again, because rows were
// added before their instant.
func (db ObservationStore) advance(ctx context.Context, ids []series.ID, states []*knownPoints, asOf time.Time) (anew []int, err error) {
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

// latest returns the later of two instants. If the cached instant is later, no vintage lies between the two.
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// set returns the series as a set. The function of selects a vintage of each observation, which is left out if the vintage has no number.
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
