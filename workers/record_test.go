package workers_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/test/dailypick"
)

// record is a database with a record in it, in a world whose clock a test moves. In "replay" all work is done at once; "sandbox" makes its
// history.
type record struct {
	t   *testing.T
	db  *postgres.DB
	day time.Time
}

func newRecord(t *testing.T, world string) *record {
	t.Helper()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	r := &record{t: t, db: db, day: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	at := calendar.At(r.day, 0)
	if _, err := db.EnsureWorld(t.Context(), world, &at); err != nil {
		t.Fatal(err)
	}
	return r
}

// next moves the clock to 17:30 New York of the next trading day.
func (r *record) next() string {
	r.t.Helper()
	r.day = calendar.Next(r.day)
	r.clock(17*time.Hour + 30*time.Minute)
	return r.day.Format(time.DateOnly)
}

func (r *record) clock(clock time.Duration) {
	r.t.Helper()
	at := calendar.At(r.day, clock)
	if err := r.db.SetClock(r.t.Context(), &at); err != nil {
		r.t.Fatal(err)
	}
}

// pick records the pick of the next trading day.
func (r *record) pick() {
	r.t.Helper()
	day := r.next()
	if _, err := dailypick.Record(r.t.Context(), r.db, postgres.NewPick{
		Ticker: "NVDA", Price: fmt.Sprintf("%d.50", 100+r.day.YearDay()), Date: day, CIK: 1045810, Origin: "method",
	}); err != nil {
		r.t.Fatal(err)
	}
}

// announce makes n picks, a day each, and announces them.
func (r *record) announce(n int) chain.Checkpoint {
	r.t.Helper()
	for range n {
		r.pick()
		r.clock(18 * time.Hour)
		if _, err := r.db.AnnounceDue(r.t.Context(), task.Fence{}, calendar.At(r.day, 18*time.Hour)); err != nil {
			r.t.Fatal(err)
		}
	}
	head, err := r.db.AnnouncedHead(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return head
}

func (r *record) gap() {
	r.t.Helper()
	if _, err := r.db.RecordGap(r.t.Context(), task.Fence{}, chain.Gap{Date: r.next(), Reason: "no price by the cutoff"}); err != nil {
		r.t.Fatal(err)
	}
}

// due are the runs of a job that wait, as the queue would be given them. They stay due.
func (r *record) due(job string) []task.Task {
	r.t.Helper()
	list, err := r.db.HandOut(r.t.Context(), 100)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.db.PutBack(r.t.Context(), list); err != nil {
		r.t.Fatal(err)
	}
	var of []task.Task
	for _, t := range list {
		if t.Job == job {
			of = append(of, t)
		}
	}
	return of
}
