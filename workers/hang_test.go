package workers_test

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/chain/tlog"
	cosigner "tidemark/chain/witness"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/task"
	"tidemark/workers"
)

func TestTheTransparencyLogGoesOnAfterAConnectionHangs(t *testing.T) {
	t.Parallel()
	h := pgtest.NewHang("delete from log_pending")
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker, postgres.WithConfig(h.Tap))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	file := filepath.Join(t.TempDir(), "log.key")
	if err := workers.MakeLogKeys(file, "test.example/log"); err != nil {
		t.Fatal(err)
	}
	keys, err := workers.ReadLogKeys(file, "test.example/log")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	s := &workers.Sequencer{
		DB: db, Keys: keys, Environment: "demo", Every: 10 * time.Millisecond, StepTimeout: 3 * time.Second, Log: slog.New(slog.DiscardHandler),
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	signed := func() bool {
		c, err := db.NewestLogCheckpoint(t.Context(), keys[0].Log, false)
		return err == nil && c.Size > 0
	}
	for deadline := time.Now().Add(time.Minute); !signed(); {
		if time.Now().After(deadline) {
			t.Fatal("nothing is signed after a connection hung")
		}
		<-time.After(50 * time.Millisecond)
	}
	if !h.Hung() {
		t.Error("no connection hung")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A checkpoint gets its quorum soon, though the log does not grow: a witness whose line was not stored is asked again.
func TestACosignatureIsStoredInTheEnd(t *testing.T) {
	t.Parallel()
	const stepTimeout = 2 * time.Second
	for _, tt := range []struct {
		name, hang string
		slow       time.Duration
	}{
		{name: "the connection hangs that stores it", hang: "insert into log_cosignatures"},
		{name: "its witness takes longer than a step", slow: stepTimeout + time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.New(t)
			h := pgtest.NewHang(cmp.Or(tt.hang, "no statement has this text"))
			db, err := postgres.Open(t.Context(), url, postgres.RoleWorker, postgres.WithConfig(h.Tap))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(db.Close)
			dir := t.TempDir()
			file := filepath.Join(dir, "log.key")
			if err := workers.MakeLogKeys(file, "test.example/log"); err != nil {
				t.Fatal(err)
			}
			keys, err := workers.ReadLogKeys(file, "test.example/log")
			if err != nil {
				t.Fatal(err)
			}
			key := keys[0]
			vkey, err := cosigner.Init(filepath.Join(dir, "w"), "witness.example/w")
			if err != nil {
				t.Fatal(err)
			}
			if err := cosigner.Add(filepath.Join(dir, "w"), key.VKey(), cosigner.Terms{}); err != nil {
				t.Fatal(err)
			}
			server, err := cosigner.Open(filepath.Join(dir, "w"), time.Now, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				<-time.After(tt.slow)
				server.ServeHTTP(w, r)
			}))
			t.Cleanup(srv.Close)
			policy, err := tlog.ParsePolicy([]byte("log " + key.VKey() + "\nwitness w " + vkey + " " + srv.URL + "\nquorum w\n"))
			if err != nil {
				t.Fatal(err)
			}
			s := &workers.Sequencer{
				DB: db, Keys: []*workers.LogKey{key}, Environment: "demo", Every: 10 * time.Millisecond, CosignEvery: 100 * time.Millisecond,
				StepTimeout: stepTimeout, Policy: policy, Client: cosigner.NewClient(http.DefaultTransport), Log: slog.New(slog.DiscardHandler),
			}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			until(t, "the checkpoint has no quorum", func() bool {
				c, err := db.NewestLogCheckpoint(t.Context(), key.Log, true)
				return err == nil && c.Size > 0
			})
			if h.Hung() != (tt.hang != "") {
				t.Errorf("a connection hung: %t", h.Hung())
			}
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// ending runs a worker whose only run ends on a connection that hangs.
func ending(t *testing.T, timeout time.Duration) (db *postgres.DB, h *pgtest.Hang, run int64, stop func() time.Duration) {
	t.Helper()
	url := pgtest.New(t)
	h = pgtest.NewHang("set status = 'succeeded'")
	on, err := postgres.Open(t.Context(), url, postgres.RoleWorker, postgres.WithConfig(h.Tap))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(on.Close)
	if db, err = postgres.Open(t.Context(), url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	handlers := map[string]workers.Handler{}
	for job := range task.Policies {
		handlers[job] = func(context.Context, task.Task) error { return nil }
	}
	address := pgtest.Redis(t)
	w, err := workers.New(workers.Options{
		DB: on, RedisURL: address, Handlers: handlers, Name: "w", Poll: 10 * time.Millisecond, Beat: 100 * time.Millisecond, RecordTimeout: timeout,
		Grace: time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	stop = func() time.Duration {
		t.Helper()
		began := time.Now()
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the worker does not stop")
		}
		return time.Since(began)
	}
	redis, err := redisurl.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	client := asynq.NewClient(redis)
	t.Cleanup(func() { _ = client.Close() })
	if run, err = db.AddRun(t.Context(), task.Ledger, task.SubjectLedger, time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC), "test"); err != nil {
		t.Fatal(err)
	}
	one := task.Task{Fence: task.Fence{RunID: run, Attempt: 1}, Job: task.Ledger, Subject: task.SubjectLedger}
	payload, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.EnqueueContext(t.Context(), asynq.NewTask(task.Ledger, payload), asynq.Queue(task.Policies[task.Ledger].Queue)); err != nil {
		t.Fatal(err)
	}
	return db, h, run, stop
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func statusOf(t *testing.T, db *postgres.DB, run int64) postgres.Run {
	t.Helper()
	list, err := db.Runs(t.Context(), postgres.RunFilter{ID: run, Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	return list[0]
}

func TestARunEndsThoughItsConnectionHangs(t *testing.T) {
	t.Parallel()
	db, h, run, stop := ending(t, 3*time.Second)
	until(t, "no connection hangs", h.Hung)
	// No other worker takes the run over meanwhile.
	began, err := db.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the run has no heartbeat while its end is recorded", func() bool {
		r := statusOf(t, db, run)
		return r.HeartbeatAt != nil && r.HeartbeatAt.After(began) || r.Status == "succeeded"
	})
	until(t, "the run does not end", func() bool { return statusOf(t, db, run).Status == "succeeded" })
	stop()
}

func TestAWorkerStopsThoughTheEndOfARunHangs(t *testing.T) {
	t.Parallel()
	_, h, _, stop := ending(t, time.Hour)
	until(t, "no connection hangs", h.Hung)
	if took := stop(); took > 30*time.Second {
		t.Errorf("it stopped after %s", took)
	}
}
