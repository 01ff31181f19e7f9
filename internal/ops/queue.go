package ops

import (
	"context"
	"fmt"

	"github.com/hibiken/asynq"

	"tidemark/internal/redisurl"
	"tidemark/internal/telemetry"
)

// Queue reads the content of the queue in Redis. It is safe for concurrent use.
type Queue struct{ inspector *asynq.Inspector }

// NewQueue returns the queue in a Redis. It connects at its first use.
func NewQueue(at redisurl.Redis) *Queue { return &Queue{asynq.NewInspector(at)} }

// Close ends the connections.
func (q *Queue) Close() error { return q.inspector.Close() }

var (
	queueTasks   = family("tidemark_queue_tasks", "Tasks that the queue holds.", "queue", "state")
	queueLatency = family("tidemark_queue_latency_seconds", "For how long the oldest task has waited to be given to a worker.", "queue")
	queuePaused  = family("tidemark_queue_paused", "1 where the queue gives out no tasks.", "queue")
)

// Watch adds the content of the queue to the metrics of a process.
func (q *Queue) Watch(m *telemetry.Metrics) {
	m.Watch(func(context.Context) (list []telemetry.Reading, _ error) {
		names, err := q.inspector.Queues() // all queues that ever had a task
		if err != nil {
			return nil, fmt.Errorf("ask the queue (REDIS_URL): %w", err)
		}
		for _, name := range names {
			info, err := q.inspector.GetQueueInfo(name)
			if err != nil {
				return nil, fmt.Errorf("ask the queue (REDIS_URL): %w", err)
			}
			for state, n := range map[string]int{
				"pending": info.Pending, "active": info.Active, "scheduled": info.Scheduled, "retry": info.Retry,
				"archived": info.Archived, "completed": info.Completed,
			} {
				list = append(list, telemetry.Reading{Of: queueTasks, Value: float64(n), Labels: []string{name, state}})
			}
			paused := 0.0
			if info.Paused {
				paused = 1
			}
			list = append(list,
				telemetry.Reading{Of: queueLatency, Value: info.Latency.Seconds(), Labels: []string{name}},
				telemetry.Reading{Of: queuePaused, Value: paused, Labels: []string{name}})
		}
		return list, nil
	}, queueTasks, queueLatency, queuePaused)
}
