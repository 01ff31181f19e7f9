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

// Bell wakes the workers of a process when the same process puts a task into the queue. The zero value is ready for use. It is safe for
// concurrent use. All methods work on a nil Bell, which never rings.
type Bell struct {
	mu   sync.Mutex
	rung chan struct{}
}

// Ring wakes all waiting workers.
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

// next returns a channel that the next Ring closes.
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

// LibraryPause is the sleep time to configure in the queue library if a Waiter's client does the waiting.
const LibraryPause = time.Millisecond

// Waiter is a Redis for one server of the queue library. The library polls for tasks and sleeps if it finds no task. The client of a Waiter
// replaces this sleep: it waits until Bell rings, for Every at most. So a task from this process begins at once, and an idle worker polls
// rarely. A task from another process begins after about Every.
type Waiter struct {
	Redis

	Bell *Bell
	// Queues is the number of queues that the server takes tasks from.
	Queues int
	Every  time.Duration
	// Done ends all waiting when the server is about to stop. It may be nil.
	Done <-chan struct{}
}

// MakeRedisClient implements the interface that the queue library expects.
func (w Waiter) MakeRedisClient() any {
	c := w.Client(nil)
	c.AddHook(&waitingHook{Waiter: w})
	return c
}

// waitingHook delays the library's next poll after it found all of its queues empty. One goroutine of a server polls for tasks.
type waitingHook struct {
	Waiter

	mu    sync.Mutex
	empty int             // the number of consecutive empty queues
	rung  <-chan struct{} // closed if the bell has rung since the first of these queues was polled
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

// asksForTask reports whether a command is the queue library's script that takes a task. It recognizes the script's keys: the pending tasks
// of a queue, its paused flag, its active tasks, and their leases.
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
