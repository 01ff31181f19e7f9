package workers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/workers"
)

// A run that is done again does not overwrite what its earlier attempt did.
func TestEveryAttemptOfARunIsKeptWithWhatItLogged(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	var written bytes.Buffer
	log := telemetry.Logger(&written, "json", "info")
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(context.Context, task.Task) error { return nil }
	}
	handlers[task.Ingest] = func(ctx context.Context, one task.Task) error {
		log.InfoContext(ctx, "asked", "page", one.Attempt)
		log.DebugContext(ctx, "not written, not kept")
		switch one.Attempt {
		case 1:
			for i := range 500 {
				log.InfoContext(ctx, "a long story", "line", i, "text", strings.Repeat("é", 3000))
			}
			return errors.New("the page is broken")
		case 2:
			panic("a fault of the program")
		}
		return nil
	}
	w, err := workers.New(workers.Options{
		DB: db, RedisURL: pgtest.Redis(t), Name: "w", Log: log, Handlers: handlers,
	})
	if err != nil {
		t.Fatal(err)
	}
	slot := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	id, err := db.AddRun(t.Context(), task.Ingest, "a", slot, "test")
	if err != nil {
		t.Fatal(err)
	}
	for attempt := range 3 {
		_ = w.Deliver(t.Context(), task.Task{Fence: task.Fence{RunID: id, Attempt: attempt + 1}, Job: task.Ingest, Subject: "a", Slot: slot})
	}
	if n := strings.Count(written.String(), `"level":"INFO","msg":"a run succeeded"`); n != 1 {
		t.Errorf("the log says %d times that a run succeeded, want once, of the third attempt", n)
	}
	list, err := db.Attempts(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range list {
		if a.Worker == nil || *a.Worker != "w" || a.FinishedAt == nil || a.StartedAt == nil || a.FinishedAt.Before(*a.StartedAt) {
			t.Errorf("attempt %d: %+v", a.Attempt, a)
		}
		why := "-"
		if a.Error != nil {
			why, _, _ = strings.Cut(*a.Error, "\n")
		}
		got = append(got, fmt.Sprintf("%d %s: %s", a.Attempt, a.Outcome, why))
	}
	want := []string{"1 failed: the page is broken", "2 failed: a fault of the program", "3 succeeded: -"}
	if len(got) != 3 || got[0] != want[0] || !strings.HasPrefix(got[1], "2 failed: ") || !strings.Contains(got[1], "a fault of the program") || got[2] != want[2] {
		t.Fatalf("the attempts are %q, want %q", got, want)
	}
	first := list[0].Log
	if len(first) != 201 || first[0].Text != "asked page=1" || first[0].Level != "INFO" || first[200].Text != "302 more lines" || len(first[1].Text) > 1010 {
		t.Errorf("the log of the first attempt has %d lines, from %q to %q", len(first), first[0].Text, first[len(first)-1].Text)
	}
	if last := list[2].Log; len(last) != 2 || last[0].Text != "asked page=3" || !strings.HasPrefix(last[1].Text, "ended took=") {
		t.Errorf("the log of the third attempt: %+v", last)
	}
}

// The log of a killed worker survives: it is stored while the attempt continues.
func TestTheLogOfAnAttemptIsKeptWhileItGoesOn(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	id, err := db.AddRun(t.Context(), task.Ingest, "a", time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), "test")
	if err != nil {
		t.Fatal(err)
	}
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(context.Context, task.Task) error { return nil }
	}
	handlers[task.Ingest] = func(ctx context.Context, _ task.Task) error {
		_, span := telemetry.Step(ctx, "parse", slog.String("source", "a"))
		span.Set(slog.Int("rows", 7))
		span.End(nil)
		for ctx.Err() == nil {
			list, err := db.Attempts(ctx, id)
			if err != nil {
				return err
			}
			if len(list[0].Log) > 0 {
				return nil
			}
			runtime.Gosched()
		}
		return ctx.Err()
	}
	w, err := workers.New(workers.Options{
		DB: db, RedisURL: pgtest.Redis(t), Name: "w", Log: slog.New(slog.DiscardHandler), Handlers: handlers, Beat: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	err = w.Deliver(ctx, task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: task.Ingest, Subject: "a"})
	stop()
	if err := errors.Join(err, <-ran); err != nil {
		t.Fatal(err)
	}
	list, err := db.Attempts(t.Context(), id)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v (%v)", list, err)
	}
	if l := list[0].Log; len(l) != 2 || l[0].Text != "parse source=a rows=7" || l[0].Level != "DEBUG" || !strings.HasPrefix(l[1].Text, "ended took=") {
		t.Errorf("its log: %+v", l)
	}
}

func TestAnAttemptSaysWhatItAskedAndWhatCameOfIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.publish(prices(40, 70)...)
	run := r.fetch()
	list, err := r.db.Attempts(t.Context(), run.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v (%v)", list, err)
	}
	var said []string
	for _, l := range list[0].Log {
		said = append(said, l.Text)
	}
	all := strings.Join(said, "\n")
	for _, want := range []string{"archive url=" + upstream, "status=200", "parse source=test", "store answers=1 rows=40", "ended took="} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q:\n%s", want, all)
		}
	}
}
