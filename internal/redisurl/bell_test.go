package redisurl

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// takes returns the command that the queue library uses to take a task from a queue.
func takes(ctx context.Context, queue string) redis.Cmder {
	q := "asynq:{" + queue + "}:"
	return redis.NewCmd(ctx, "evalsha", "cafe", 4, q+"pending", q+"paused", q+"active", q+"lease", 1, q+"t:")
}

func TestAnIdleServerWaitsForTheBellAndMissesNoRing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bell, done := &Bell{}, make(chan struct{})
		asked, answer := 0, error(redis.Nil)
		during := func() {}
		ask := (&waitingHook{Waiter: Waiter{Bell: bell, Queues: 2, Every: time.Hour, Done: done}}).ProcessHook(
			func(context.Context, redis.Cmder) error {
				asked++
				during()
				return answer
			})
		began := time.Now()
		// round asks both queues once, as the library does before it sleeps.
		round := func() time.Duration {
			at := time.Now()
			for _, q := range []string{"default", "low"} {
				if err := ask(t.Context(), takes(t.Context(), q)); err == nil {
					break
				}
			}
			return time.Since(at)
		}
		if took := round(); took != 0 || asked != 2 {
			t.Fatalf("the first look at 2 queues asked %d times and took %s", asked, took)
		}
		go func() {
			<-time.After(time.Minute)
			bell.Ring()
		}()
		if took := round(); took != time.Minute || asked != 4 {
			t.Errorf("the bell rang after a minute: asked %d times after %s", asked, took)
		}
		during = func() {
			if asked == 6 {
				bell.Ring() // a task came just after its queue was found empty
			}
		}
		bell.Ring()
		round()
		if took := round(); took != 0 || asked != 8 {
			t.Errorf("the bell rang while the queues were asked: asked %d times after %s", asked, took)
		}
		if took := round(); took < 30*time.Minute || took > 90*time.Minute {
			t.Errorf("without the bell it looked again after %s, want about an hour", took)
		}
		answer = nil
		bell.Ring()
		for range 3 {
			if took := round(); took != 0 {
				t.Errorf("it waited %s though the last queue had a task", took)
			}
		}
		answer = redis.Nil
		round()
		others := time.Now()
		_ = ask(t.Context(), redis.NewStatusCmd(t.Context(), "ping"))
		_ = ask(t.Context(), redis.NewCmd(t.Context(), "evalsha", "cafe", 4, "asynq:{low}:active", "asynq:{low}:lease", "t", "p", 1))
		if !time.Now().Equal(others) {
			t.Error("a command that asks for no task waited")
		}
		close(done)
		if took := round(); took != 0 {
			t.Errorf("a server that stops waited %s", took)
		}
		if time.Since(began) == 0 {
			t.Error("no time has passed")
		}
	})
}

func TestNoBellNeverRings(t *testing.T) {
	t.Parallel()
	var b *Bell
	b.Ring()
	if b.next() != nil {
		t.Error("a nil Bell has something to wait for")
	}
}
