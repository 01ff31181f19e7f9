package postgres_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

func TestAListenerWhoseConnectionHangsConnectsAgain(t *testing.T) {
	t.Parallel()
	h := pgtest.NewHang(`listen "runs_due"`)
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker, postgres.WithConfig(h.Tap))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ctx, stop := context.WithCancel(t.Context())
	connected := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- db.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelRunsDue},
			Connected: func(context.Context) error { connected <- struct{}{}; return nil },
			Notified:  func(context.Context, string, string) error { return nil },
			Log:       slog.New(slog.DiscardHandler),
		})
	}()
	select {
	case <-connected:
	case <-time.After(3 * time.Minute):
		t.Error("it waits for the connection that hangs")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if !h.Hung() {
		t.Error("no connection hung")
	}
}

func TestALockIsNotWaitedForOnAConnectionThatHangs(t *testing.T) {
	t.Parallel()
	h := pgtest.NewHang("pg_try_advisory_lock(hashtextextended(")
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker, postgres.WithConfig(h.Tap))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	if _, _, err := db.TryLock(ctx, "a lock"); err == nil || ctx.Err() != nil || !h.Hung() {
		t.Errorf("the connection hangs, the lock was taken or waited for: %v", err)
	}
	release, ok, err := db.TryLock(ctx, "a lock")
	if err != nil || !ok {
		t.Fatalf("on another connection: %v, %v", ok, err)
	}
	release()
}
