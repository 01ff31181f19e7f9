package workers_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/calendar"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/workers"
	"tidemark/workers/task"
)

// Four sources are asked that answer slowly, by the only worker there is; what has a clock begins all the same.
func TestWhatHasAClockDoesNotWaitForUpstreams(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t)+"&pool_max_conns=8", postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	began := make(chan string, 100)
	release := make(chan struct{})
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(_ context.Context, t task.Task) error {
			began <- t.Job
			if t.Job == task.Ingest {
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
	client := asynq.NewClient(redis)
	t.Cleanup(func() { _ = client.Close() })
	hand := func(job, subject string) {
		t.Helper()
		id, err := db.AddRun(t.Context(), job, subject, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), "test")
		if err != nil {
			t.Fatal(err)
		}
		one := task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: job, Subject: subject}
		payload, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.EnqueueContext(t.Context(), asynq.NewTask(job, payload), asynq.Queue(task.Policies[job].Queue)); err != nil {
			t.Fatal(err)
		}
	}
	await := func(job string) {
		t.Helper()
		select {
		case got := <-began:
			if got != job {
				t.Fatalf("%s begins, want %s", got, job)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%s does not begin while upstreams are waited for", job)
		}
	}
	for _, source := range []string{"a", "b", "c", "d"} {
		hand(task.Ingest, source)
		await(task.Ingest)
	}
	for _, job := range []string{task.Pick, task.Announce, task.Attest, task.Claims, task.X402, task.Processor} {
		hand(job, "x")
		await(job)
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
