package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals"
)

// A worker keeps the track that it stored last of each signal, and stores of the next one what differs. That needs neither a copy of the
// track to the server nor a comparison with all that is stored. The kept track serves only while its mark is the signal's: no other
// process has stored anything since, and no older backup was restored. Otherwise, and once in storeWhole times, the whole track is compared.

// keptTracks are the tracks that were stored last, by signal. The zero value is empty. It is safe for concurrent use.
type keptTracks struct {
	mu sync.Mutex
	of map[string]keptTrack
}

// keptTrack is a track that was stored for the signal's newest instant. It is immutable.
type keptTrack struct {
	mark  trackMark
	track signals.Growing
	// changes counts the times that only differences were stored.
	changes int
}

// trackMark says up to where a signal's history was written: its newest version of a point, and its newest snapshot with the time of its
// computation. Each save changes it, or leaves the history as it was.
type trackMark struct {
	version      int64
	at, computed time.Time
}

func (m trackMark) same(o trackMark) bool {
	return m.version == o.version && m.at.Equal(o.at) && m.computed.Equal(o.computed)
}

const (
	// storeWhole is after how many saves of differences a whole track is compared with all that is stored.
	storeWhole = 32
	// maxChanges is how many differences are stored without a copy of the whole track.
	maxChanges = 1000
)

// storedPoint is an estimate as the database stores it, with NaN for null. The z-score and the difference from the baseline follow from the
// other numbers.
type storedPoint struct {
	observed, known                series.Instant
	value, lo, hi, baseline, scale float64
	n                              int64
}

func stored(e *signals.Estimate) storedPoint {
	as := func(v float64) float64 {
		if v, known := number(v); known {
			return v
		}
		return math.NaN()
	}
	return storedPoint{e.ObservedAt, e.KnownAt, as(e.Value), as(e.Lo), as(e.Hi), as(e.Baseline), as(e.Scale), int64(e.N)}
}

func (p *storedPoint) same(o *storedPoint) bool {
	equal := func(a, b float64) bool { return a == b || a != a && b != b }
	return p.observed == o.observed && p.known == o.known && p.n == o.n && equal(p.value, o.value) && equal(p.lo, o.lo) && equal(p.hi, o.hi) &&
		equal(p.baseline, o.baseline) && equal(p.scale, o.scale)
}

// ascends reports whether a track ascends from the n-th point on.
func ascends(track signals.Growing, n int) bool {
	for i := max(1, n); i < track.Len(); i++ {
		if track.At(i).ObservedAt <= track.At(i-1).ObservedAt {
			return false
		}
	}
	return true
}

// difference is a point of a track that another track does not have, or has with other numbers. Gone means that the other one has none there.
type difference struct {
	observed series.Instant
	// place is the point's in the new track. It has no meaning for such a point.
	place int
	gone  bool
}

// differences returns what a track changes, in the order of observation. It only compares what the two do not share.
func differences(before, after signals.Growing) (list []difference) {
	shared := after.Shared(before)
	k := shared
	for i := shared; i < after.Len(); i++ {
		e := after.At(i)
		for ; k < before.Len() && before.At(k).ObservedAt < e.ObservedAt; k++ {
			list = append(list, difference{observed: before.At(k).ObservedAt, gone: true})
		}
		if k < before.Len() && before.At(k).ObservedAt == e.ObservedAt {
			k++
			if sameStored(before.At(k-1), e) {
				continue
			}
		}
		list = append(list, difference{observed: e.ObservedAt, place: i})
	}
	for ; k < before.Len(); k++ {
		list = append(list, difference{observed: before.At(k).ObservedAt, gone: true})
	}
	return list
}

// sameStored reports whether two estimates are the same when they are stored.
func sameStored(a, b *signals.Estimate) bool {
	if *a == *b {
		return true
	}
	p, o := stored(a), stored(b)
	return p.same(&o)
}

// trackChange is how many points a save changes, and the sum of their times in seconds.
type trackChange struct{ points, seconds int64 }

func changeOf(list []difference) (c trackChange) {
	for _, d := range list {
		c.points++
		c.seconds += d.observed.Time().Unix()
	}
	return c
}

func (k *keptTracks) get(signal string) (keptTrack, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept, ok := k.of[signal]
	return kept, ok
}

func (k *keptTracks) set(signal string, kept keptTrack) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string]keptTrack{}
	}
	k.of[signal] = kept
}

func (k *keptTracks) forget(signal string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, signal)
}

const trackMarkSQL = `
	select coalesce((select max(id) from estimates where signal = @signal), 0), coalesce(n.at, '0001-01-01'::timestamptz),
		coalesce(n.computed_at, '0001-01-01'::timestamptz)
	from (select) one left join lateral (
		select at, computed_at from snapshots where signal = @signal order by at desc limit 1) n on true` // index estimates_added, primary key

// written is the part of a signal that a save reads first: the mark of its history, and the states around its instant.
type written struct {
	mark  trackMark
	state stateAround
}

// lockWritten locks a signal, and reads what is written of it after that.
func lockWritten(ctx context.Context, tx pgx.Tx, s Snapshot) (w written, err error) {
	var b pgx.Batch
	b.Queue(lockSignalSQL, pgx.NamedArgs{"signal": s.Signal})
	b.Queue(trackMarkSQL, pgx.NamedArgs{"signal": s.Signal}).QueryRow(w.mark.scan)
	b.Queue(statesAroundSQL, pgx.NamedArgs{"signal": s.Signal, "at": s.At}).QueryRow(w.state.scan)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return w, fmt.Errorf("lock the signal: %w", err)
	}
	return w, nil
}

func (m *trackMark) scan(row pgx.Row) error {
	if err := row.Scan(&m.version, &m.at, &m.computed); err != nil {
		return fmt.Errorf("read the mark of the history: %w", err)
	}
	return nil
}

// errMoved means that a kept track is not the stored one any more.
var errMoved = errors.New("another has stored a track")

// storeTrack stores a snapshot with its track, in full or as the difference from the track that this process stored last, and keeps the track.
func (db SnapshotStore) storeTrack(ctx context.Context, f task.Fence, s Snapshot, track signals.Growing, args pgx.NamedArgs) error {
	kept, some := db.tracks.get(s.Signal)
	ascending := ascends(track, track.Shared(kept.track))
	var list []difference
	if some = some && ascending && s.At.After(kept.mark.at); some {
		list = differences(kept.track, track)
	}
	db.tracks.forget(s.Signal) // until it is stored
	next := keptTrack{track: track}
	var err error
	if some && kept.changes < storeWhole && len(list) <= maxChanges {
		next.changes = kept.changes + 1
		if next.mark, err = db.storeChanges(ctx, f, s, track, list, kept.mark, args); !errors.Is(err, errMoved) {
			return db.keep(s, next, err)
		}
		some, next.changes = false, 0
	}
	var expected *trackChange
	if some {
		expected = new(changeOf(list))
	}
	next.mark, err = db.storeAll(ctx, f, s, track.Track(), kept.mark, expected, args)
	if !ascending {
		return err
	}
	return db.keep(s, next, err)
}

// keep keeps a track that was stored for the signal's newest instant.
func (db SnapshotStore) keep(s Snapshot, next keptTrack, err error) error {
	if err == nil && next.mark.at.Equal(s.At) {
		db.tracks.set(s.Signal, next)
	}
	return err
}

// storeAll compares the whole track with the stored one. If expected is not nil and the mark is still the signal's, the change must be expected.
func (db SnapshotStore) storeAll(
	ctx context.Context, f task.Fence, s Snapshot, track signals.Track, kept trackMark, expected *trackChange, args pgx.NamedArgs,
) (mark trackMark, err error) {
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		// Copy the rows before the transaction begins: a slow client then holds no lock.
		if err := stageTrack(ctx, c, track); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) error {
			before, err := lockWritten(ctx, tx, s)
			if err != nil {
				return err
			}
			added, change, err := mergeTrack(ctx, tx, s)
			if err != nil {
				return err
			}
			if expected != nil && before.mark.same(kept) && change != *expected {
				return fmt.Errorf("%d points change, want %d: %w", change.points, expected.points, errKept)
			}
			mark, err = save(ctx, tx, f, s, before.state, added, args)
			return err
		})
	})
	return mark, err
}

// One statement after the lock stores all, if the mark is still the signal's and the attempt is current.
const storeChangesSQL = `
	with kept as (
		select from (` + trackMarkSQL + `) as mark (version, at, computed)
		where mark.version = @kept_version and mark.at = @kept_at and mark.computed = @kept_computed
	), held as (
		update runs set rows_added = coalesce(rows_added, 0) + @rows, heartbeat_at = clock_timestamp()
		where id = @run_id and attempt = @attempt and status = 'running' and exists (select from kept)
		returning id
	), may as (
		select from kept where not @fenced or exists (select from held)
	), changed as (
		insert into estimates (signal, observed_at, known_at, gone, kept, value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at)
		select @signal, c.observed_at, @at, c.gone, c.gone and (@empty or coalesce((
				select code_version from snapshots where signal = @signal and at < @at order by at desc limit 1) <> @code_version, false)),
			c.value, c.lo, c.hi, c.baseline, c.scale, c.n, c.z_score, c.delta_pct, c.input_known_at
		from may, unnest(@observed_ats::timestamptz[], @gones::bool[], @values::float8[], @los::float8[], @his::float8[], @baselines::float8[],
			@scales::float8[], @ns::int[], @z_scores::float8[], @delta_pcts::float8[], @input_known_ats::timestamptz[])
			as c (observed_at, gone, value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at)
		order by c.observed_at
		returning id
	), stated as (
		insert into signal_states (signal, at, state, cause, by)
		select @signal, @at, @status, @state_cause, @state_by
		from may
		where coalesce((select state from signal_states where signal = @signal and at <= @at order by at desc, id desc limit 1), '')
			not in (@status, @deprecated)
	), saved as (
		insert into snapshots (` + savedColumns + `) select ` + savedValues + ` from may
		returning at, computed_at
	)
	select exists (select from kept), coalesce((select max(id) from changed), @kept_version), (select at from saved), (select computed_at from saved)`

// storeChanges stores a snapshot with the points of its track that differ from the track with the mark. It returns errMoved if another track is
// stored. The mark is of the newest instant, so there is no later snapshot, history or state to keep. The lock and the statement are sent
// together, and are one transaction.
func (db SnapshotStore) storeChanges(
	ctx context.Context, f task.Fence, s Snapshot, track signals.Growing, list []difference, kept trackMark, args pgx.NamedArgs,
) (trackMark, error) {
	changes := changeArgs(track, list)
	maps.Copy(changes, args)
	now := stateOf(s, f)
	maps.Copy(changes, pgx.NamedArgs{
		"kept_version": kept.version, "kept_at": kept.at, "kept_computed": kept.computed, "fenced": f != task.Fence{}, "attempt": f.Attempt,
		"rows": len(list) + 1, "empty": s.ObservedAt == nil, "state_cause": now.Cause, "state_by": now.By, "deprecated": signals.StatusDeprecated,
	})
	var known bool
	var mark trackMark
	// It may run twice: if the first time was committed, the mark is no longer the kept one.
	err := db.pool.again(ctx, always, func() error {
		var at, computed *time.Time
		known, mark = false, trackMark{} // nothing of a try that was rolled back
		var b pgx.Batch
		b.Queue(lockSignalSQL, pgx.NamedArgs{"signal": s.Signal})
		b.Queue(storeChangesSQL, changes).QueryRow(func(row pgx.Row) error { return row.Scan(&known, &mark.version, &at, &computed) })
		err := db.pool.SendBatch(ctx, &b).Close()
		if err != nil && !undone(err) {
			return commitError{err}
		}
		if err == nil && at != nil && computed != nil {
			mark.at, mark.computed = *at, *computed
		}
		return err
	})
	switch {
	case err != nil:
		return mark, err
	case !known:
		return mark, errMoved
	case mark.at.IsZero():
		return mark, ErrFenced
	}
	return mark, nil
}

// changeArgs are the columns of differences.
func changeArgs(track signals.Growing, list []difference) pgx.NamedArgs {
	observed, known := make([]time.Time, len(list)), make([]*time.Time, len(list))
	gone, n := make([]bool, len(list)), make([]int32, len(list))
	var numbers [7][]*float64
	for k := range numbers {
		numbers[k] = make([]*float64, len(list))
	}
	for i, d := range list {
		observed[i], gone[i] = d.observed.Time(), d.gone
		if d.gone {
			continue
		}
		e := track.At(d.place)
		known[i], n[i] = new(e.KnownAt.Time()), int32(e.N)
		for k, v := range [...]float64{e.Value, e.Lo, e.Hi, e.Baseline, e.Scale, e.Z(), e.DeltaPct()} {
			numbers[k][i] = Known(v)
		}
	}
	return pgx.NamedArgs{
		"observed_ats": observed, "gones": gone, "ns": n, "values": numbers[0], "los": numbers[1], "his": numbers[2], "baselines": numbers[3],
		"scales": numbers[4], "z_scores": numbers[5], "delta_pcts": numbers[6], "input_known_ats": known,
	}
}

// save stores a snapshot and the changes of the state. It returns the mark of the history after that. added is the number of rows of the history.
func save(ctx context.Context, tx pgx.Tx, f task.Fence, s Snapshot, state stateAround, added int64, args pgx.NamedArgs) (mark trackMark, err error) {
	var b pgx.Batch
	for _, changed := range state.changed(s, f) {
		b.Queue(insertStateSQL, changed.args())
	}
	b.Queue(saveSnapshotSQL, args)
	b.Queue(trackMarkSQL, pgx.NamedArgs{"signal": s.Signal}).QueryRow(mark.scan)
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return mark, err //nolint:wrapcheck // SaveSnapshot does
	}
	return mark, checkFence(ctx, tx, f, added+1)
}
