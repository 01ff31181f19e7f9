package api

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tidemark/internal/postgres"
)

// headStore answers each read of the heads with the next function.
type headStore struct {
	TransparencyLog

	reads   atomic.Int64
	answers []func(context.Context) (size int64, err error)
}

func (s *headStore) LogHeads(ctx context.Context) ([]postgres.LogHead, error) {
	size, err := s.answers[s.reads.Add(1)-1](ctx)
	return []postgres.LogHead{{Log: postgres.LogRecord, Size: size}}, err
}

func newHeads(answers ...func(context.Context) (int64, error)) (*logServer, *headStore) {
	s := &headStore{answers: answers}
	return &logServer{store: s, guard: func(_ context.Context, f func() error) error { return f() }}, s
}

func hangs(ctx context.Context) (int64, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestARequestForTheLogWaitsNoLongerThanItsClient(t *testing.T) {
	t.Parallel()
	began, answer := make(chan struct{}), make(chan struct{})
	l, s := newHeads(func(ctx context.Context) (int64, error) {
		close(began)
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-answer:
			return 7, nil
		}
	})
	head := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			h, err := l.head(ctx, postgres.LogRecord)
			if err == nil && h.Size != 7 {
				t.Errorf("size %d", h.Size)
			}
			done <- err
		}()
		return done
	}
	wait := func(who string, done <-chan error, want error) {
		t.Helper()
		select {
		case err := <-done:
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", who, err, want)
			}
		case <-time.After(3 * time.Second):
			t.Fatalf("%s still waits", who)
		}
	}
	ctx, hangUp := context.WithCancel(t.Context())
	first := head(ctx)
	<-began
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	wait("a client that hung up", head(gone), context.Canceled)
	patient := head(t.Context())
	hangUp()
	wait("the client whose request began the read", first, context.Canceled)
	close(answer)
	wait("a client that waits", patient, nil)
	if n := s.reads.Load(); n != 1 {
		t.Errorf("%d reads, want one for all", n)
	}
}

// A log that was seen with a size must not be served with a smaller one, so heads are not served beyond their time.
func TestHeadsOfTheLogAreNotOlderThanTheySay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, s := newHeads(
			func(context.Context) (int64, error) { <-time.After(4 * time.Second); return 1, nil },
			func(context.Context) (int64, error) { return 2, nil },
			hangs, hangs,
			func(context.Context) (int64, error) { return 3, nil },
		)
		head := func(least int64) func() {
			return func() {
				if h, err := l.head(t.Context(), postgres.LogRecord); h.Size < least || err != nil {
					t.Errorf("size %d, want at least %d: %v", h.Size, least, err)
				}
			}
		}
		// The read begins with the first request. For the last one it is too old when it ends.
		for at, least := range []int64{1, 1, 1, 2} {
			time.AfterFunc(time.Duration(at)*time.Second, head(least))
		}
		<-time.After(5 * time.Second)
		synctest.Wait()
		if n := s.reads.Load(); n != 2 {
			t.Fatalf("%d reads, want 2", n)
		}

		<-time.After(logHeadsFor)
		began := time.Now()
		if h, err := l.head(t.Context(), postgres.LogRecord); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != logHeadsTimeout {
			t.Errorf("after %s of a connection that hangs: size %d, %v", time.Since(began), h.Size, err)
		}
		// The description of the service does not deny its log meanwhile.
		if d, err := (&Server{logs: l}).describeLog(t.Context()); err != nil || d == nil || d.Size != 2 {
			t.Errorf("the log is described as %+v: %v", d, err)
		}
		head(3)()
	})
}

func TestWithoutADatabaseTheServiceDoesNotDenyItsLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := func(context.Context) (int64, error) { return 0, postgres.ErrUnavailable }
		l, _ := newHeads(away, func(context.Context) (int64, error) { return 0, nil }, away)
		s := &Server{logs: l}
		if d, err := s.describeLog(t.Context()); !errors.Is(err, postgres.ErrUnavailable) {
			t.Errorf("a log that was never read: %+v, %v", d, err)
		}
		for _, state := range []string{"is read", "was read last"} {
			if d, err := s.describeLog(t.Context()); d != nil || err != nil {
				t.Errorf("no log %s: %+v, %v", state, d, err)
			}
			<-time.After(logHeadsFor + time.Second)
		}
	})
}
