package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/ingest/world"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/scheduler"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// queue takes tasks as Redis does, each id once, and counts how often it was given each. refuse, where set, is its answer.
type queue struct {
	mu     sync.Mutex
	given  map[string]int
	refuse func(t task.Task) error
}

func (q *queue) Enqueue(_ context.Context, t task.Task) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refuse != nil {
		if err := q.refuse(t); err != nil {
			return err
		}
	}
	if q.given == nil {
		q.given = map[string]int{}
	}
	q.given[t.ID()]++
	return nil
}

func (q *queue) States(_ context.Context, tasks []task.Task) (states []scheduler.State, _ error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, t := range tasks {
		if q.given[t.ID()] > 0 {
			states = append(states, scheduler.StateWaiting)
		} else {
			states = append(states, scheduler.StateAbsent)
		}
	}
	return states, nil
}

// open connects to a database as a worker, with settings of the server's planner.
func open(t *testing.T, address, settings string) *postgres.DB {
	t.Helper()
	if settings != "" {
		address += "&options=" + strings.ReplaceAll(url.QueryEscape(settings), "+", "%20")
	}
	db, err := postgres.Open(t.Context(), address, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// admin runs SQL as the superuser.
func admin(t *testing.T, address, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	if _, err := c.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// flood makes n runs due whose slots come in the reverse of the order in which they are stored.
func flood(t *testing.T, address string, n int) {
	t.Helper()
	admin(t, address, fmt.Sprintf(`insert into runs (job, subject, slot, trigger, queue, status, max_attempts)
		select 'signal', 's' || i, now() - i * interval '1 second', 'cron', 'critical', 'due', 8 from generate_series(1, %d) i`, n))
}

func newScheduler(db *postgres.DB, q scheduler.Queue) *scheduler.Scheduler {
	return &scheduler.Scheduler{Store: db, Queue: q, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
}

// TestSchedulersShareWhatIsDue lets four schedulers tick at once, two of them in one process, over many due runs. Their connections plan in
// different ways, as connections of one pool may: each sees the rows in another order. A deadlock is tried again and would not be seen
// otherwise, so the server is asked whether it had to break one.
func TestSchedulersShareWhatIsDue(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	const runs = 2000
	flood(t, address, runs)
	q := &queue{}
	first := newScheduler(open(t, address, "-c enable_hashjoin=off -c enable_mergejoin=off"), q)
	var all sync.WaitGroup
	for _, s := range []*scheduler.Scheduler{
		first, first,
		newScheduler(open(t, address, "-c enable_nestloop=off -c enable_mergejoin=off"), q),
		newScheduler(open(t, address, "-c enable_nestloop=off -c enable_hashjoin=off"), q),
	} {
		all.Go(func() {
			for range runs/500 + 1 {
				if err := s.Tick(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := pgtest.Deadlocks(t, address); n > 0 {
		t.Errorf("the server broke %d deadlocks", n)
	}
	if len(q.given) != runs {
		t.Errorf("the queue has %d tasks, want %d", len(q.given), runs)
	}
	for id, times := range q.given {
		if times != 1 {
			t.Errorf("the queue was given %s %d times", id, times)
			break
		}
	}
}

// TestWhatTheQueueRefusesStaysDue: a handed-out run is not lost if the queue fails in the middle, or the scheduler dies.
func TestWhatTheQueueRefusesStaysDue(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	flood(t, address, 20)
	db := open(t, address, "")
	away := errors.New("connection refused")
	asked := 0
	q := &queue{refuse: func(task.Task) error {
		if asked++; asked > 5 {
			return away
		}
		return nil
	}}
	s := newScheduler(db, q)
	if err := s.Tick(t.Context()); !errors.Is(err, away) {
		t.Fatalf("the tick says %v, want that the queue is away", err)
	}
	// While it is unavailable only one run is tried. Another scheduler, whose queue may be available, gets all others meanwhile.
	asked = 0
	q.refuse = func(task.Task) error {
		asked++
		others, err := db.HandOut(t.Context(), 100)
		if err != nil || len(others) != 14 {
			t.Errorf("meanwhile another scheduler gets %d runs (%v), want 14", len(others), err)
		}
		return errors.Join(away, db.PutBack(t.Context(), others))
	}
	if err := s.Tick(t.Context()); !errors.Is(err, away) || asked != 1 {
		t.Fatalf("the next tick asks %d times and says %v", asked, err)
	}
	due, err := db.HandOut(t.Context(), 100)
	if err != nil || len(due) != 15 || due[0].Subject != "s15" {
		t.Fatalf("%d are due (%v), want the 15 that the queue does not have, oldest slot first", len(due), err)
	}
	// Who took those dies now.
	q.refuse = nil
	s.Unstarted = time.Millisecond
	deadline := time.Now().Add(time.Minute)
	for len(q.given) < 20 && time.Now().Before(deadline) {
		if err := s.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for id, times := range q.given {
		if times != 1 {
			t.Errorf("the queue was given %s %d times", id, times)
		}
	}
	if len(q.given) != 20 {
		t.Errorf("the queue has %d tasks, want 20", len(q.given))
	}
}

// A scheduler that is stopped while it hands out runs leaves the rest due. The next scheduler need not wait until they count as lost.
func TestAStoppedSchedulerLeavesTheRestDue(t *testing.T) {
	t.Parallel()
	address := pgtest.New(t)
	flood(t, address, 20)
	db := open(t, address, "")
	ctx, stop := context.WithCancel(t.Context())
	q := &queue{}
	q.refuse = func(task.Task) error {
		if len(q.given) == 5 {
			stop()
		}
		return ctx.Err()
	}
	if err := newScheduler(db, q).Tick(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("the tick says %v, want that it was stopped", err)
	}
	if due, err := db.HandOut(t.Context(), 100); err != nil || len(due) != 15 {
		t.Errorf("%d runs are due (%v), want the 15 that the queue does not have", len(due), err)
	}
}

// TestASandboxLivesThroughBrokenConnections steps through half a day while every connection to Postgres is broken twenty times, and the
// queue is unavailable now and then.
func TestASandboxLivesThroughBrokenConnections(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	address := server.URL()
	db := open(t, address, "")
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	begin := time.Now().UTC().Add(-12 * time.Hour).Truncate(time.Hour)
	if _, err := db.EnsureWorld(ctx, "sandbox", &begin); err != nil {
		t.Fatal(err)
	}
	clock := world.NewStepped(begin)
	work := make(chan task.Task, 1000)
	refused := 0
	q := &queue{}
	q.refuse = func(t task.Task) error {
		if refused++; refused%3 == 0 {
			return errors.New("connection refused")
		}
		if q.given[t.ID()] == 0 {
			work <- t
		}
		return nil
	}
	s := newScheduler(db, q)
	s.Now, s.Every, s.Unstarted = clock.Now, 10*time.Millisecond, 100*time.Millisecond
	s.Schedules = []task.Schedule{{Job: task.Signal, Subject: "x", Cron: "30 * * * *", Zone: "UTC", CatchUp: "all"}}
	step := scheduler.Stepper{
		Scheduler:  s,
		Unfinished: db.Unfinished,
		Advance: func(ctx context.Context, to time.Time) error {
			if err := db.SetClock(ctx, &to); err != nil {
				return err
			}
			clock.AdvanceTo(to)
			return nil
		},
		Follow: func(ctx context.Context) error { return db.SetClock(ctx, nil) },
		Wall:   time.Now,
		Log:    s.Log,
	}
	done := make(chan error, 2)
	go func() { done <- step.Run(ctx) }()
	running, end := context.WithCancel(ctx)
	go func() { done <- s.Run(running) }()
	go func() { // a worker that tries for as long as it must
		for t := range work {
			for ctx.Err() == nil {
				if _, err := db.Claim(ctx, t.Fence, "w"); err != nil {
					continue
				}
				if err := db.Succeed(ctx, t.Fence); err == nil || errors.Is(err, postgres.ErrFenced) {
					break
				}
			}
		}
	}()
	defer close(work)
	for n, over := 0, false; !over; n++ {
		if n < 20 {
			admin(t, address, `select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`)
		}
		select {
		case err := <-done:
			if err != nil || ctx.Err() != nil {
				t.Fatalf("the stepper has ended: %v, %v", err, ctx.Err())
			}
			over = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	end()
	if err := <-done; err != nil {
		t.Fatalf("the scheduler has ended: %v", err)
	}
	list, err := db.Runs(ctx, postgres.RunFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list {
		if r.Status != "succeeded" || r.Attempt != 1 {
			t.Errorf("the run for %s is %s under attempt %d", r.Slot, r.Status, r.Attempt)
		}
	}
	if len(list) < 12 || len(list) > 14 {
		t.Errorf("%d runs, want one for each hour", len(list))
	}
}
