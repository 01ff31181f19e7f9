package simulate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// knowledge is a checksum of the data known at an instant.
type knowledge struct {
	asOf time.Time
	sum  string
}

// knowledge reads the known data as of two earlier instants, the last one and a random one, and compares them with the data known then.
// Later data (revisions, backfills, late publications) must not change them. Observations with an assumed vintage are left out: their
// vintages are in the past, whenever they are loaded. A thorough check compares all instants.
func (c *checks) knowledge(ctx context.Context) (string, error) {
	var ask []knowledge
	switch n := len(c.known); {
	case c.thorough:
		ask = slices.Clone(c.known)
	case n > 0:
		ask = []knowledge{c.known[n-1], one(c.dice, c.known)}
	}
	// The data that an attempt has fetched but not stored yet count from the start of the attempt. Clocks are off by seconds.
	var now knowledge
	err := c.r.own.QueryRow(ctx, `
		select least(simulation.now(), (select min(started_at) from runs where status = 'running' and job in ('ingest', 'backfill'))) - interval '4 s'`).
		Scan(&now.asOf)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	ask = append(ask, now)
	instants := make([]time.Time, len(ask))
	for i, k := range ask {
		instants[i] = k.asOf
	}
	sums, err := c.knownAt(ctx, instants)
	if err != nil {
		return "", err
	}
	for i, k := range ask[:len(ask)-1] {
		if sums[i] != k.sum {
			return fmt.Sprintf("as of %s the observations were %s and are %s", k.asOf.Format(time.RFC3339Nano), k.sum, sums[i]), nil
		}
	}
	now.sum = sums[len(ask)-1]
	c.known = append(c.known, now)
	return "", nil
}

// knownSQL computes in one pass a checksum of the data that became known in each span between instants.
const knownSQL = `
	select bucket, sum(count(*)) over later, sum(sum(hash)) over later
	from (
		select width_bucket(vintage_at, @ends::timestamptz[]) as bucket,
			hash_record_extended(row(series, observed_at, vintage_at, value, marker), 0) as hash
		from observations where not assumed
	) o
	group by bucket
	window later as (order by bucket)`

// knownAt returns a checksum of the data known at each of the given instants.
func (c *checks) knownAt(ctx context.Context, instants []time.Time) ([]string, error) {
	ends := make([]time.Time, len(instants)) // the end of a span is exclusive and begins the next span
	for i, at := range instants {
		ends[i] = at.Add(time.Microsecond)
	}
	slices.SortFunc(ends, time.Time.Compare)
	rows, err := c.r.own.Query(ctx, knownSQL, pgx.NamedArgs{"ends": ends})
	if err != nil {
		return nil, err //nolint:wrapcheck // all does
	}
	upTo := make([]string, len(ends)+1) // what became known before each end
	var bucket int
	var n, hash string
	if _, err := pgx.ForEachRow(rows, []any{&bucket, &n, &hash}, func() error {
		upTo[bucket] = n + " rows " + hash
		return nil
	}); err != nil {
		return nil, err //nolint:wrapcheck // all does
	}
	for i := range upTo[1:] {
		upTo[i+1] = cmp.Or(upTo[i+1], upTo[i])
	}
	sums := make([]string, len(instants))
	for i, at := range instants {
		place, _ := slices.BinarySearchFunc(ends, at.Add(time.Microsecond), time.Time.Compare)
		sums[i] = upTo[place]
	}
	return sums, nil
}

// twice looks for vintages that repeat the value of the vintage before them.
func (c *checks) twice(ctx context.Context) (string, error) {
	seen, err := c.first(ctx, `
		select format('%s of %s: the vintages of %s and %s are both %s%s', series, observed_at, before, vintage_at, value, marker)
		from (
			select *, lag(vintage_at) over w as before, (value is not distinct from lag(value) over w) and (marker is not distinct from lag(marker) over w) as same
			from observations window w as (partition by series, observed_at order by vintage_at)
		) o
		where before is not null and same`)
	if seen != "" || err != nil {
		return seen, err
	}
	return c.first(ctx, `
		select format('the bar of %s of %s: editions %s and %s are the same', cik, date, edition - 1, edition)
		from (
			select *, (close, open, high, low, volume) is not distinct from
				(lag(close) over w, lag(open) over w, lag(high) over w, lag(low) over w, lag(volume) over w) as same
			from bars window w as (partition by cik, source, date order by edition)
		) b
		where edition > 0 and same`)
}

// recompute recomputes two stored snapshots from the data known at their instants: one of the last days and one of any day. It skips
// snapshots of the first day and from before an input was first loaded: a history that is loaded for the first time counts as known before.
func (c *checks) recompute(ctx context.Context) (string, error) {
	ids := make([]string, 0, len(c.r.program.Signals.Definitions))
	for id := range c.r.program.Signals.Definitions {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	now := c.r.clock.now()
	for _, back := range []time.Duration{c.dice.between(0, 72*time.Hour), c.dice.between(0, max(now.Sub(c.r.From), 72*time.Hour))} {
		def := c.r.program.Signals.Definitions[one(c.dice, ids)]
		var at *time.Time
		err := c.r.own.QueryRow(ctx, `select max(at) from snapshots where signal = $1 and at <= $2 and at > $3`,
			def.ID, now.Add(-back), c.r.From.AddDate(0, 0, 1)).Scan(&at)
		if err != nil {
			return "", err //nolint:wrapcheck // all does
		}
		if at == nil {
			continue
		}
		stored, err := c.r.db.SnapshotAsOf(ctx, def.ID, *at)
		if err != nil {
			return "", err
		}
		whole := c.r.program.Signals
		whole.Tracks = nil
		again, _, err := whole.Compute(ctx, def, *at)
		if err != nil {
			return "", err
		}
		if again.FirstIngestedAt != nil && again.FirstIngestedAt.After(*at) {
			continue
		}
		again.RunID, stored.RunID, stored.ServedAt, again.LoadsSeen, stored.LoadsSeen = nil, nil, nil, nil, nil
		was, err1 := json.Marshal(stored)
		is, err2 := json.Marshal(again)
		if err1 != nil || err2 != nil {
			return "", fmt.Errorf("compare snapshots: %w %w", err1, err2)
		}
		if !bytes.Equal(was, is) {
			i := 0
			for i < min(len(was), len(is)) && was[i] == is[i] {
				i++
			}
			i = max(i-60, 0)
			return fmt.Sprintf("%s of %s is stored ...%.300s and computed ...%.300s", def.ID, at.Format(time.RFC3339Nano), was[i:], is[i:]), nil
		}
	}
	return "", nil
}
