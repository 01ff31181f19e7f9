package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"

	"tidemark/internal/redisurl"
	"tidemark/internal/task"
)

// retention is how long the queue remembers a task that was completed, for people who look at it. Nothing depends on it.
const retention = 24 * time.Hour

// AsynqQueue is the Queue on Redis.
//
// asynq's own retries are not used. They would begin a killed worker's task again only after its lease and its recoverer's round (65 to 106
// s), and never a task that it lost. The run log decides which tasks are tried again, and when.
type AsynqQueue struct {
	client    *asynq.Client
	inspector *asynq.Inspector
	now       func() time.Time
	// Silence is how long an active task may be in no worker's list. Zero means 10 seconds.
	Silence time.Duration

	mu       sync.Mutex
	unlisted map[string]time.Time // since when an active task is in no worker's list
}

// NewAsynqQueue returns the queue on the Redis of a URL, in one of the forms of package redisurl. It connects lazily: an unavailable
// Redis is not an error here. now is the wall clock.
func NewAsynqQueue(url string, now func() time.Time) (*AsynqQueue, error) {
	redis, err := redisurl.Parse(url)
	if err != nil {
		return nil, err
	}
	return &AsynqQueue{client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis), now: now, unlisted: map[string]time.Time{}}, nil
}

// Close ends the connections.
func (q *AsynqQueue) Close() error { return errors.Join(q.client.Close(), q.inspector.Close()) }

// Enqueue implements Queue.
func (q *AsynqQueue) Enqueue(ctx context.Context, t task.Task) error {
	payload, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", t.ID(), err)
	}
	p, ok := task.Policies[t.Job]
	if !ok {
		return fmt.Errorf("enqueue %s: unknown job %q", t.ID(), t.Job)
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(t.Job, payload),
		asynq.TaskID(t.ID()), asynq.Queue(t.Queue), asynq.MaxRetry(0), asynq.Timeout(p.Timeout+time.Minute), asynq.Retention(retention))
	if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) && !errors.Is(err, asynq.ErrDuplicateTask) {
		return fmt.Errorf("enqueue %s: %w", t.ID(), err)
	}
	return nil
}

// States implements Queue. The inspector takes no context: each of its calls ends within the timeouts of its client.
func (q *AsynqQueue) States(ctx context.Context, tasks []task.Task) ([]State, error) {
	var states []State
	l := lookup{q, map[string]bool{}, sync.OnceValues(q.inspector.Servers)}
	for i, t := range tasks {
		if i > 0 && ctx.Err() != nil {
			break
		}
		state, err := l.state(t)
		if err != nil {
			return states, fmt.Errorf("ask the queue about %s: %w", t.ID(), err)
		}
		states = append(states, state)
	}
	return states, nil
}

// lookup is one call of States. It asks only once about a queue and about the workers.
type lookup struct {
	*AsynqQueue

	empty   map[string]bool // whether a queue's list of waiting tasks was empty
	servers func() ([]*asynq.ServerInfo, error)
}

func (l lookup) state(t task.Task) (State, error) {
	info, err := l.inspector.GetTaskInfo(t.Queue, t.ID())
	switch {
	case errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound):
		return StateAbsent, nil
	case err != nil:
		return "", err
	}
	switch info.State {
	case asynq.TaskStateActive:
		return l.active(t)
	case asynq.TaskStateArchived, asynq.TaskStateCompleted:
		return StateOver, nil
	case asynq.TaskStatePending:
		// The task's state says that it waits in a list; if that list is empty, no worker will get it. That the list was empty a moment ago
		// says the same, because the task was handed out long before.
		empty, asked := l.empty[t.Queue]
		if !asked {
			queue, err := l.inspector.GetQueueInfo(t.Queue)
			if err != nil {
				return "", err
			}
			empty = queue.Pending == 0
			l.empty[t.Queue] = empty
		}
		if empty {
			return StateOver, nil
		}
	}
	return StateWaiting, nil
}

// active tells a task that a living worker has from one whose worker gives no sign. A busy worker may have a task for long before it claims
// the run. A worker lists its tasks every five seconds, and its list ends ten seconds after its last sign.
func (l lookup) active(t task.Task) (State, error) {
	servers, err := l.servers()
	if err != nil {
		return "", err
	}
	q := l.AsynqQueue
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, server := range servers {
		if slices.ContainsFunc(server.ActiveWorkers, func(w *asynq.WorkerInfo) bool { return w.TaskID == t.ID() }) {
			delete(q.unlisted, t.ID())
			return StateWaiting, nil
		}
	}
	now := q.now()
	maps.DeleteFunc(q.unlisted, func(_ string, since time.Time) bool { return now.Sub(since) > time.Hour })
	since, seen := q.unlisted[t.ID()]
	if !seen {
		q.unlisted[t.ID()], since = now, now // it may have been taken a moment ago
	}
	if now.Sub(since) < q.silence() {
		return StateWaiting, nil
	}
	return StateActive, nil
}

func (q *AsynqQueue) silence() time.Duration { return orElse(q.Silence, 10*time.Second) }
