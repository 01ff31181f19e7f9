package redisurl

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bell tells the workers of a process that a task was put into the queue by the same process. The zero value is ready for use. It is safe for
// concurrent use, and all of it may be called on a nil Bell, which never rings.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

// Ring wakes all that wait.
func (b *Bell) Ring() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung != nil {
		close(b.rung)
		b.rung = nil
	}
}

// next is closed by the next Ring.
func (b *Bell) next() <-chan struct{} {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rung == nil {
		b.rung = make(chan struct{})
	}
	return b.rung
}

// LibraryPause is how long the queue library is to sleep where a Waiter's client does the waiting.
const LibraryPause = time.Millisecond

// Waiter is a Redis for one server of the queue library. The library asks for a task, and sleeps when there is none. A Waiter's client
// waits in place of that sleep until Bell rings: a task that this process put into the queue begins at once, and an idle worker asks
// seldom. A task of another process begins after Every, more or less.
type Waiter struct {
	Redis

	Bell *Bell
	// Queues is how many queues the server takes tasks from.
	Queues int
	Every  time.Duration
	// Done ends all waiting: the server is about to stop. It may be nil.
	Done <-chan struct{}
}

// MakeRedisClient is what the queue library asks for.
func (w Waiter) MakeRedisClient() any {
	c := w.Client(nil)
	c.AddHook(&waitingHook{Waiter: w})
	return c
}

// waitingHook waits before the library asks for a task again, once all of its queues were empty. One goroutine of a server asks for tasks.
type waitingHook struct {
	Waiter

	mu    sync.Mutex
	empty int             // how many queues were empty, one after the other
	rung  <-chan struct{} // closed when the bell has rung since the first of them was asked
}

func (h *waitingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *waitingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// ProcessHook implements redis.Hook.
func (h *waitingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !asksForTask(cmd) {
			return next(ctx, cmd)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.empty >= h.Queues {
			h.wait(ctx)
			h.empty = 0
		}
		if h.empty == 0 {
			h.rung = h.Bell.next()
		}
		err := next(ctx, cmd)
		if h.empty++; !errors.Is(err, redis.Nil) {
			h.empty = 0
		}
		return err
	}
}

func (h *waitingHook) wait(ctx context.Context) {
	t := time.NewTimer(h.Every/2 + rand.N(h.Every))
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-h.Done:
	case <-h.rung:
	case <-t.C:
	}
}

// asksForTask reports whether a command is the script by which the queue library takes a task: its keys are what waits in a queue, whether
// that is paused, what is being done, and until when.
func asksForTask(cmd redis.Cmder) bool {
	args := cmd.Args()
	if name := cmd.Name(); name != "evalsha" && name != "eval" || len(args) < 7 {
		return false
	}
	for i, suffix := range []string{":pending", ":paused", ":active", ":lease"} {
		if key, ok := args[3+i].(string); !ok || !strings.HasSuffix(key, suffix) {
			return false
		}
	}
	return true
}
