package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
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

// Three listeners lose their connections together, and their first tries to connect fail.
func TestAServerThatIsAwayIsOneLineForAllListeners(t *testing.T) {
	t.Parallel()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	out := &locked{}
	log := slog.New(slog.NewTextHandler(out, nil))
	ctx, stop := context.WithCancel(t.Context())
	const listeners = 3
	var mu sync.Mutex
	lost := 0
	again := make(chan struct{})
	var running sync.WaitGroup
	for range listeners {
		tries := 0
		running.Go(func() {
			_ = db.Listen(ctx, postgres.Listener{
				Channels: []string{postgres.ChannelRunsDue},
				Connected: func(context.Context) error {
					if tries++; tries <= 3 {
						return errors.New("it recovers")
					}
					// Nobody is back before all are lost.
					select {
					case <-again:
					case <-ctx.Done():
					}
					return nil
				},
				Notified: func(context.Context, string, string) error { return nil },
				Lost: func(error) {
					mu.Lock()
					defer mu.Unlock()
					if lost++; lost == 3*listeners {
						close(again)
					}
				},
				Log: log,
			})
		})
	}
	<-again
	for deadline := time.Now().Add(time.Minute); !strings.Contains(out.String(), "the notifications are back"); {
		if time.Now().After(deadline) {
			t.Fatal("nobody says that the notifications are back")
		}
		<-time.After(20 * time.Millisecond)
	}
	stop()
	running.Wait()
	if n, m := strings.Count(out.String(), "lost the notifications"), strings.Count(out.String(), "are back"); n != 1 || m != 1 {
		t.Errorf("%d lines say that they are lost and %d that they are back, want one each:\n%s", n, m, out.String())
	}
}

// locked is a buffer that several goroutines write to.
type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
