package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
}

// NewAsynqQueue returns the queue on the Redis of a URL, in one of the forms of package redisurl. It connects lazily: an unavailable
// Redis is not an error here.
func NewAsynqQueue(url string) (*AsynqQueue, error) {
	redis, err := redisurl.Parse(url)
	if err != nil {
		return nil, err
	}
	return &AsynqQueue{client: asynq.NewClient(redis), inspector: asynq.NewInspector(redis)}, nil
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

// State implements Queue.
func (q *AsynqQueue) State(_ context.Context, t task.Task) (State, error) {
	info, err := q.inspector.GetTaskInfo(t.Queue, t.ID())
	switch {
	case errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound):
		return StateAbsent, nil
	case err != nil:
		return "", fmt.Errorf("ask the queue about %s: %w", t.ID(), err)
	}
	switch info.State {
	case asynq.TaskStateActive:
		return StateActive, nil
	case asynq.TaskStateArchived, asynq.TaskStateCompleted:
		return StateOver, nil
	case asynq.TaskStatePending:
		// The task's state says that it waits in a list; if that list is empty, no worker will get it.
		q, err := q.inspector.GetQueueInfo(t.Queue)
		if err != nil {
			return "", fmt.Errorf("ask the queue about %s: %w", t.ID(), err)
		}
		if q.Pending == 0 {
			return StateOver, nil
		}
	}
	return StateWaiting, nil
}
