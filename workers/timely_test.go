package workers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/internal/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/workers"
)

// slow is a worker whose handlers of some jobs do not end before the test does.
type slow struct {
	t      *testing.T
	db     *postgres.DB
	client *asynq.Client
	began  chan string
}

func newSlow(t *testing.T, jobs ...string) *slow {
	t.Helper()
	db, err := postgres.Open(t.Context(), pgtest.New(t)+"&pool_max_conns=8", postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := &slow{t: t, db: db, began: make(chan string, 200)}
	release := make(chan struct{})
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(_ context.Context, t task.Task) error {
			s.began <- t.Job
			if slices.Contains(jobs, t.Job) {
				<-release
			}
			return nil
		}
	}
	url := pgtest.Redis(t)
	w, err := workers.New(workers.Options{
		DB: db, RedisURL: url, Handlers: handlers, Name: "w", Poll: 10 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	t.Cleanup(func() {
		close(release)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	redis, err := redisurl.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	s.client = asynq.NewClient(redis)
	t.Cleanup(func() { _ = s.client.Close() })
	return s
}

// hand gives the worker a run.
func (s *slow) hand(job, subject string) {
	s.t.Helper()
	id, err := s.db.AddRun(s.t.Context(), job, subject, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), "test")
	if err != nil {
		s.t.Fatal(err)
	}
	one := task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: job, Subject: subject}
	payload, err := json.Marshal(one)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.client.EnqueueContext(s.t.Context(), asynq.NewTask(job, payload), asynq.Queue(task.Policies[job].Queue)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *slow) await(job string) {
	s.t.Helper()
	select {
	case got := <-s.began:
		if got != job {
			s.t.Fatalf("%s begins, want %s", got, job)
		}
	case <-time.After(30 * time.Second):
		s.t.Fatalf("%s does not begin while the worker waits for others", job)
	}
}

// Four slow sources are requested by the only worker; scheduled jobs begin all the same.
func TestWhatHasAClockDoesNotWaitForUpstreams(t *testing.T) {
	t.Parallel()
	s := newSlow(t, task.Ingest)
	for _, source := range []string{"a", "b", "c", "d"} {
		s.hand(task.Ingest, source)
		s.await(task.Ingest)
	}
	for _, job := range []string{task.Pick, task.Announce, task.Attest, task.Claims, task.X402, task.Processor} {
		s.hand(job, "x")
		s.await(job)
	}
}

// Receivers of webhooks answer as slowly as they like: nothing else waits for them.
func TestWebhooksThatHangDelayNothingElse(t *testing.T) {
	t.Parallel()
	s := newSlow(t, task.Webhook)
	for i := range 40 {
		s.hand(task.Webhook, fmt.Sprintf("alert_%026d", i))
	}
	for range 8 {
		s.await(task.Webhook)
	}
	for _, job := range []string{task.Pick, task.Announce, task.Attest, task.Claims, task.X402, task.Processor, task.Signal, task.Ingest} {
		s.hand(job, "x")
		s.await(job)
	}
}

// Strangers post a hundred hashes that they made up, and the node of the chain answers slowly. The pick is announced all the same.
func TestAFloodOfMadeUpClaimsDelaysNoAnnouncement(t *testing.T) {
	t.Parallel()
	s := newSlow(t, task.Claims)
	for i := range 100 {
		s.hand(task.Claims, fmt.Sprintf("0x%064x", i))
	}
	for range 4 {
		s.await(task.Claims)
	}
	for _, job := range []string{task.Pick, task.Announce, task.Attest} {
		s.hand(job, "x")
		s.await(job)
	}
}

// Nor do they delay handing them out: a round of the scheduler takes a number of runs, and runs with a clock come first.
func TestAFloodOfMadeUpClaimsIsHandedOutAfterAnAnnouncement(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for i := range 30 {
		if _, err := db.AddRun(t.Context(), task.Claims, fmt.Sprintf("0x%064x", i), time.Date(2026, 3, 2, 0, 0, 0, i*1000, time.UTC), "test"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.AddRun(t.Context(), task.Announce, task.Daily, time.Date(2026, 3, 2, 23, 0, 0, 0, time.UTC), "test"); err != nil {
		t.Fatal(err)
	}
	due, err := db.HandOut(t.Context(), 10)
	if err != nil || len(due) != 10 || due[0].Job != task.Announce {
		t.Errorf("%d runs are handed out, %v, %v", len(due), due, err)
	}
}

// A pick that is late is announced on a Saturday by an attempt that is killed at once. The portfolio is brought up to date all the same.
func TestWhatFollowsAnAnnouncementIsDueWithIt(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "sandbox")
	for r.day.AddDate(0, 0, 1).Weekday() != time.Friday {
		r.next()
	}
	r.pick()
	r.day = r.day.AddDate(0, 0, 1)
	r.clock(10 * time.Hour)
	slot := calendar.At(r.day, 10*time.Hour)
	id, err := r.db.AddRun(t.Context(), task.Announce, task.Daily, slot, "test")
	if err != nil {
		t.Fatal(err)
	}
	attempt := task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: task.Announce, Subject: task.Daily, Slot: slot}
	if ok, err := r.db.Claim(t.Context(), attempt.Fence, "w"); err != nil || !ok {
		t.Fatalf("claimed: %t, %v", ok, err)
	}
	if list, err := r.db.AnnounceDue(t.Context(), attempt.Fence, slot); err != nil || len(list) != 1 {
		t.Fatalf("%d picks are announced, %v", len(list), err)
	}
	a := workers.Announcements{DB: r.db, Log: slog.New(slog.DiscardHandler)}
	if reason, skipped := workers.Skipped(a.Run(t.Context(), attempt)); !skipped {
		t.Errorf("the second attempt is not skipped: %s", reason)
	}
	list, err := r.db.Runs(t.Context(), postgres.RunFilter{Job: task.Publish, Limit: 10})
	if err != nil || len(list) != len(task.AfterAnnouncement) {
		t.Errorf("%d runs follow the announcement, want %d (%v)", len(list), len(task.AfterAnnouncement), err)
	}
}
