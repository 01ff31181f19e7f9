package postgres

import (
	"context"
	"errors"
	"fmt"
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
	mark   trackMark
	points []storedPoint
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

// storedPoints returns a track as it is stored. It reports false if the track does not ascend.
func storedPoints(track signals.Track) ([]storedPoint, bool) {
	points := make([]storedPoint, len(track))
	for i := range track {
		points[i] = stored(&track[i])
		if i > 0 && points[i].observed <= points[i-1].observed {
			return nil, false
		}
	}
	return points, true
}

// difference is a point of a track that another track does not have, or has with other numbers. Gone means that the other one has none there.
type difference struct {
	observed series.Instant
	// place is the point's in the new track. It has no meaning for such a point.
	place int
	gone  bool
}

// differences returns what a track changes, in the order of observation.
func differences(before, after []storedPoint) (list []difference) {
	k := 0
	for i := range after {
		for ; k < len(before) && before[k].observed < after[i].observed; k++ {
			list = append(list, difference{observed: before[k].observed, gone: true})
		}
		if k < len(before) && before[k].observed == after[i].observed {
			k++
			if before[k-1].same(&after[i]) {
				continue
			}
		}
		list = append(list, difference{observed: after[i].observed, place: i})
	}
	for ; k < len(before); k++ {
		list = append(list, difference{observed: before[k].observed, gone: true})
	}
	return list
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
func (db SnapshotStore) storeTrack(ctx context.Context, f task.Fence, s Snapshot, track signals.Track, args pgx.NamedArgs) error {
	kept, some := db.tracks.get(s.Signal)
	points, ascends := storedPoints(track)
	var list []difference
	if some = some && ascends && s.At.After(kept.mark.at); some {
		list = differences(kept.points, points)
	}
	db.tracks.forget(s.Signal) // until it is stored
	next := keptTrack{points: points}
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
	next.mark, err = db.storeAll(ctx, f, s, track, kept.mark, expected, args)
	if !ascends {
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
			mark, err = save(ctx, tx, f, s, before.state, nil, added, args)
			return err
		})
	})
	return mark, err
}

const changeTrackSQL = `
	with program as (
		select coalesce((select code_version from snapshots where signal = @signal and at < @at order by at desc limit 1) <> @code_version, false)
			as recoded
	)
	insert into estimates (signal, observed_at, known_at, gone, kept, value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at)
	select @signal, c.observed_at, @at, c.gone, c.gone and (recoded or @empty), c.value, c.lo, c.hi, c.baseline, c.scale, c.n, c.z_score, c.delta_pct,
		c.input_known_at
	from program, unnest(@observed_at::timestamptz[], @gone::bool[], @value::float8[], @lo::float8[], @hi::float8[], @baseline::float8[],
		@scale::float8[], @n::int[], @z_score::float8[], @delta_pct::float8[], @input_known_at::timestamptz[])
		as c (observed_at, gone, value, lo, hi, baseline, scale, n, z_score, delta_pct, input_known_at)
	order by c.observed_at`

// storeChanges stores a snapshot with the points of its track that differ from the track with the mark. It returns errMoved if another track is
// stored. The mark is of the newest instant, so there is no later history to keep.
func (db SnapshotStore) storeChanges(
	ctx context.Context, f task.Fence, s Snapshot, track signals.Track, list []difference, kept trackMark, args pgx.NamedArgs,
) (mark trackMark, err error) {
	var changes pgx.NamedArgs
	if len(list) > 0 {
		changes = changeArgs(s, track, list)
	}
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		return inTx(ctx, c, func(tx pgx.Tx) error {
			before, err := lockWritten(ctx, tx, s)
			if err != nil {
				return err
			}
			if !before.mark.same(kept) {
				return errMoved
			}
			mark, err = save(ctx, tx, f, s, before.state, changes, int64(len(list)), args)
			return err
		})
	})
	return mark, err
}

func changeArgs(s Snapshot, track signals.Track, list []difference) pgx.NamedArgs {
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
		e := &track[d.place]
		known[i], n[i] = new(e.KnownAt.Time()), int32(e.N)
		for k, v := range [...]float64{e.Value, e.Lo, e.Hi, e.Baseline, e.Scale, e.Z(), e.DeltaPct()} {
			numbers[k][i] = Known(v)
		}
	}
	return pgx.NamedArgs{
		"signal": s.Signal, "at": s.At, "code_version": s.CodeVersion, "empty": s.ObservedAt == nil, "observed_at": observed, "gone": gone, "n": n,
		"value": numbers[0], "lo": numbers[1], "hi": numbers[2], "baseline": numbers[3], "scale": numbers[4], "z_score": numbers[5],
		"delta_pct": numbers[6], "input_known_at": known,
	}
}

// save stores a snapshot, the changes of its track unless they are nil, and the changes of the state. It returns the mark of the history after
// that. added is the number of rows of the history.
func save(
	ctx context.Context, tx pgx.Tx, f task.Fence, s Snapshot, state stateAround, changes pgx.NamedArgs, added int64, args pgx.NamedArgs,
) (mark trackMark, err error) {
	var b pgx.Batch
	if changes != nil {
		b.Queue(changeTrackSQL, changes)
	}
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
