package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/internal/series"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
)

// fatal ends what a process does before or after one of its statements. It is a tracer.
type fatal struct {
	mu   sync.Mutex
	left int // statements until then; 0 means never
	late bool
	kill context.CancelFunc
}

func (f *fatal) arm(statements int, late bool, kill context.CancelFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.late, f.kill = statements, late, kill
}

func (f *fatal) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left--; f.left == 0 && !f.late {
		f.kill()
	}
	return ctx
}

func (f *fatal) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 && f.late {
		f.kill()
	}
}

func (f *fatal) TraceBatchStart(ctx context.Context, c *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return f.TraceQueryStart(ctx, c, pgx.TraceQueryStartData{})
}

func (f *fatal) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (f *fatal) TraceBatchEnd(ctx context.Context, c *pgx.Conn, _ pgx.TraceBatchEndData) {
	f.TraceQueryEnd(ctx, c, pgx.TraceQueryEndData{})
}

// saved is a snapshot with its track.
type saved struct {
	snapshot postgres.Snapshot
	track    signals.Track
}

func (s saved) to(ctx context.Context, db *postgres.DB) error {
	return db.SaveSnapshot(ctx, task.Fence{}, s.snapshot, s.track)
}

// Workers that store only differences must leave the same rows as a worker that compares each track with all stored points. Points are revised,
// withdrawn, restored and late, instants come in any order and twice, two workers store at once, and any statement can be the last.
func TestDifferencesLeaveTheRowsOfWholeTracks(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(24, 7))
	url, wholeURL := pgtest.New(t), pgtest.New(t)
	var killers [2]fatal
	var workers [2]*postgres.DB
	for i := range workers {
		workers[i] = another(t, url, postgres.WithTracer(&killers[i]))
	}
	var stored []saved
	var track signals.Track
	at, killed, program := noon(1), 0, "a"
	for step := range 60 {
		track = bent(random, track)
		at = at.Add(time.Duration(1+random.IntN(48)) * time.Hour)
		if random.IntN(20) == 0 {
			program += "a"
		}
		one := saved{snapshot(at), track}
		switch random.IntN(10) {
		case 0: // an earlier instant again, or one between two
			if len(stored) > 0 {
				one.snapshot.At = stored[random.IntN(len(stored))].snapshot.At.Add(time.Duration(random.IntN(2)) * time.Minute)
			}
		case 1:
			one.track = nil
		}
		one.snapshot.CodeVersion = program
		if n := len(one.track); n > 0 {
			one.snapshot.ObservedAt = new(one.track[n-1].ObservedAt.Time())
		}
		list := []saved{one}
		if random.IntN(5) == 0 {
			other := one
			other.track = bent(random, track)
			other.snapshot.At, other.snapshot.ObservedAt = one.snapshot.At.Add(time.Hour), new(other.track[len(other.track)-1].ObservedAt.Time())
			list = append(list, other)
		}
		first := random.IntN(2)
		var group sync.WaitGroup
		for i, s := range list {
			worker := (first + i) % 2
			statement, late := 0, random.IntN(2) == 0
			if random.IntN(2) == 0 {
				statement = 1 + random.IntN(6)
			}
			group.Go(func() {
				ctx, kill := context.WithCancel(t.Context())
				killers[worker].arm(statement, late, kill)
				err := s.to(ctx, workers[worker])
				killers[worker].arm(0, false, nil)
				if err != nil && ctx.Err() == nil {
					t.Errorf("step %d: %v", step, err)
				}
				if kill(); err == nil {
					return
				}
				if killed++; s.to(t.Context(), workers[worker]) != nil {
					t.Errorf("step %d: the second attempt failed", step)
				}
			})
			if len(list) == 1 || random.IntN(2) == 0 {
				group.Wait()
			}
		}
		group.Wait()
		for _, s := range inOrderOf(t, url, list) {
			whole := another(t, wholeURL) // it has kept nothing
			if err := s.to(t.Context(), whole); err != nil {
				t.Fatal(err)
			}
			whole.Close()
		}
		stored = append(stored, list...)
		if step%15 == 14 || t.Failed() {
			if d := cmp.Diff(versions(t, wholeURL), versions(t, url)); d != "" {
				t.Fatalf("step %d (-whole tracks, +differences):\n%s", step, d)
			}
		}
	}
	if killed < 5 {
		t.Errorf("%d saves were killed, want some", killed)
	}
}

// A kept track that is not the stored one is a fault: the attempt that finds it changes nothing and says so, the next one stores the track.
func TestAKeptTrackThatIsNotTheStoredOneIsReported(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1 2=2 3=3")
	say(t, db, noon(11), "1=1 2=2 3=3 4=4")
	// Only a superuser can do this: it switches triggers off.
	if err := exec(t, url, "", `set session_replication_role = replica; update estimates set value = 7 where signal = 's' and observed_at = '2026-01-02'`); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for n := range 40 {
		s := saved{snapshot(noon(12).AddDate(0, 0, n)), track(t, "1=1 2=2 3=3 4=4 5="+fmt.Sprint(n))}
		s.snapshot.ObservedAt = new(s.track[4].ObservedAt.Time())
		if err := s.to(t.Context(), db); err != nil {
			if failed++; s.to(t.Context(), db) != nil {
				t.Fatal(err)
			}
		}
	}
	if failed != 1 {
		t.Errorf("%d of 40 saves failed, want the one that compared with all that is stored", failed)
	}
	if got := history(t, db, postgres.HistoryQuery{AsOf: noon(12).AddDate(0, 0, 50)}); !strings.HasPrefix(got, "1=1 2=2 3=3 4=4 5=39") {
		t.Errorf("the history is %q, want the value 2 of the second day back", got)
	}
}

// A save that the server rejects at the commit returns an error, although all statements before it succeeded.
func TestDifferencesThatAreRejectedAtTheCommitAreAnError(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1")
	if err := exec(t, url, "", `
		create function reject() returns trigger language plpgsql as $$ begin raise exception 'rejected' using errcode = 'check_violation'; end $$;
		create constraint trigger reject after insert on snapshots deferrable initially deferred for each row execute function reject()`); err != nil {
		t.Fatal(err)
	}
	before := versions(t, url)
	next := saved{snapshot(noon(11)), track(t, "1=1 2=2")}
	if err := next.to(t.Context(), db); err == nil || !strings.Contains(err.Error(), "rejected") {
		t.Errorf("the save returned %v, want that it was rejected", err)
	}
	if d := cmp.Diff(before, versions(t, url)); d != "" {
		t.Errorf("a rejected save left rows:\n%s", d)
	}
	if err := exec(t, url, "", `drop trigger reject on snapshots`); err != nil {
		t.Fatal(err)
	}
	if err := next.to(t.Context(), db); err != nil {
		t.Error(err)
	}
}

// An attempt whose commit failed for a reason that passes tries again. If it was superseded meanwhile, it stores nothing and is told so.
func TestATryThatWasRolledBackTellsNothing(t *testing.T) {
	t.Parallel()
	_, url := open(t, postgres.RoleWorker)
	var hook fatal
	db := another(t, url, postgres.WithTracer(&hook))
	say(t, db, noon(10), "1=1")
	f := begun(t, db)
	// The first commit fails.
	if err := exec(t, url, "", `
		create sequence tries;
		create function once() returns trigger language plpgsql security definer as $$
		begin
			if nextval('tries') = 1 then raise exception 'again' using errcode = 'serialization_failure'; end if;
			return null;
		end $$;
		create constraint trigger once after insert on snapshots deferrable initially deferred for each row execute function once()`); err != nil {
		t.Fatal(err)
	}
	before := versions(t, url)
	hook.arm(1, true, func() {
		if err := exec(t, url, "", fmt.Sprintf("update runs set attempt = 2 where id = %d", f.RunID)); err != nil {
			t.Error(err)
		}
	})
	if err := db.SaveSnapshot(t.Context(), f, snapshot(noon(11)), track(t, "1=1 2=2")); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the superseded attempt is told %v, want that it is fenced off", err)
	}
	if d := cmp.Diff(before, versions(t, url)); d != "" {
		t.Errorf("it left rows:\n%s", d)
	}
}

// A save that waits for its run's row continues when a heartbeat has let go of the row, and stores nothing if the attempt was superseded by then.
func TestASaveThatWaitsForItsRunSeesWhatHappenedToIt(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]error{"heartbeat_at = now()": nil, "attempt = 2": postgres.ErrFenced} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			db, url := open(t, postgres.RoleWorker)
			say(t, db, noon(10), "1=1")
			f := begun(t, db)
			c, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close(context.WithoutCancel(t.Context())) }()
			if _, err := c.Exec(t.Context(), "begin; update runs set "+change); err != nil {
				t.Fatal(err)
			}
			saved := make(chan error, 1)
			go func() { saved <- db.SaveSnapshot(t.Context(), f, snapshot(noon(11)), track(t, "1=1 2=2")) }()
			for waits := false; !waits; {
				if len(saved) > 0 {
					t.Fatalf("the save does not wait for its run: %v", <-saved)
				}
				if err := c.QueryRow(t.Context(), `select exists (select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock')`).
					Scan(&waits); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Exec(t.Context(), "commit"); err != nil {
				t.Fatal(err)
			}
			if err := <-saved; !errors.Is(err, want) {
				t.Errorf("the save is told %v, want %v", err, want)
			}
			points, rows := "1=1 2=2", 2
			if want != nil {
				points, rows = "1=1", 0
			}
			if got := history(t, db, postgres.HistoryQuery{AsOf: noon(12)}); got != points {
				t.Errorf("the history is %q, want %q", got, points)
			}
			var added int
			if err := c.QueryRow(t.Context(), "select coalesce(rows_added, 0) from runs where id = $1", f.RunID).Scan(&added); err != nil || added != rows {
				t.Errorf("the run has added %d rows, want %d (%v)", added, rows, err)
			}
		})
	}
}

// A state that an operator gave after the last save decides about the next one, although the worker knows the track.
func TestDifferencesKeepTheStateOfAnOperator(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	say(t, db, noon(10), "1=1")
	for _, c := range []struct {
		given, saved string
		want         int
	}{{signals.StatusDecayed, signals.StatusLive, 3}, {signals.StatusDeprecated, signals.StatusLive, 4}} {
		now := noon(11).Add(time.Duration(c.want) * time.Hour)
		if err := db.AddState(t.Context(), postgres.State{Signal: "s", At: now, State: c.given, Cause: "test", By: "operator"}); err != nil {
			t.Fatal(err)
		}
		s := saved{snapshot(now.Add(time.Minute)), track(t, "1=1 2=2")}
		s.snapshot.Status = c.saved
		if err := s.to(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		if n := states(t, db); n != c.want {
			t.Errorf("after %s there are %d states, want %d", c.given, n, c.want)
		}
	}
}

// begun is a run of the signal s that a worker has begun.
func begun(t *testing.T, db *postgres.DB) task.Fence {
	t.Helper()
	id, err := db.AddRun(t.Context(), task.Signal, "s", noon(11), "test")
	if err != nil {
		t.Fatal(err)
	}
	f := task.Fence{RunID: id, Attempt: 1}
	if ok, err := db.Claim(t.Context(), f, "w"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	return f
}

func another(t *testing.T, url string, with ...postgres.Option) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker, with...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// bent returns a track with some changes: points more, others, or fewer, numbers that are unknown, infinite or zero with a sign.
func bent(random *rand.Rand, track signals.Track) signals.Track {
	track = slices.Clone(track)
	numbers := []float64{1, 2, 3, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1)}
	any := func() float64 { return numbers[random.IntN(len(numbers))] }
	point := func(n int) signals.Estimate {
		return signals.Estimate{
			ObservedAt: series.InstantOf(day(n)), KnownAt: series.InstantOf(noon(1).AddDate(0, 0, -n).Add(time.Duration(random.IntN(3)) * time.Microsecond)), Value: any(), Lo: any(), Hi: any(), Baseline: any(),
			Scale: any(), N: random.IntN(3),
		}
	}
	for range random.IntN(4) {
		switch n := 1 + random.IntN(60); {
		case random.IntN(3) == 0 && len(track) > 1:
			i := random.IntN(len(track))
			track = slices.Delete(track, i, i+1)
		default:
			i, found := slices.BinarySearchFunc(track, day(n), func(e signals.Estimate, t time.Time) int { return e.ObservedAt.Time().Compare(t) })
			if found {
				track[i] = point(n)
			} else {
				track = slices.Insert(track, i, point(n))
			}
		}
	}
	if len(track) == 0 {
		track = append(track, point(1))
	}
	return track
}

// inOrderOf returns saves in the order in which a database has them.
func inOrderOf(t *testing.T, url string, list []saved) []saved {
	t.Helper()
	computed := map[int64]time.Time{}
	for _, s := range list {
		for _, row := range queried(t, url, `select extract(epoch from computed_at)::text from snapshots where at = '`+s.snapshot.At.Format(time.RFC3339Nano)+`'`) {
			var seconds float64
			if _, err := fmt.Sscan(row, &seconds); err != nil {
				t.Fatal(err)
			}
			computed[s.snapshot.At.UnixMicro()] = time.UnixMicro(int64(seconds * 1e6))
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b saved) int {
		return computed[a.snapshot.At.UnixMicro()].Compare(computed[b.snapshot.At.UnixMicro()])
	})
	return list
}

// versions are all rows of the histories, with the snapshots that wrote them.
func versions(t *testing.T, url string) []string {
	t.Helper()
	return append(queried(t, url, `
		select concat_ws(' ', signal, observed_at, known_at, edition, gone, kept, coalesce(value::text, '_'), coalesce(lo::text, '_'), coalesce(hi::text, '_'),
			coalesce(baseline::text, '_'), coalesce(scale::text, '_'), n, coalesce(z_score::text, '_'), coalesce(delta_pct::text, '_'), input_known_at)
		from estimates order by signal, observed_at, known_at, edition`),
		queried(t, url, `select concat_ws(' ', signal, at, status, observed_at, code_version) from snapshots order by signal, at`)...)
}

func queried(t *testing.T, url, sql string) []string {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}
