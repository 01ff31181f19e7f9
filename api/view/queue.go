package view

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/internal/postgres"
)

// ErrQueueFull means that too many requests of one client wait already. It is also a postgres.ErrUnavailable, so that a page goes without
// the data as it does without the database.
var ErrQueueFull = fmt.Errorf("too many requests of this client wait: %w", postgres.ErrUnavailable)

// ErrWaitedTooLong means that a request waited for its turn in vain. It is also a postgres.ErrUnavailable.
var ErrWaitedTooLong = fmt.Errorf("the request waited too long for its turn: %w", postgres.ErrUnavailable)

// QueueWait is how long a request waits for its turn, unless a queue has another limit.
const QueueWait = 5 * time.Second

// QueueLimits are the limits of a Queue. A zero Slots or SlotsOfClient means one.
type QueueLimits struct {
	// Slots is how many slots there are, and SlotsOfClient how many of them a client can have at the same time.
	Slots, SlotsOfClient int
	// Waiting is how many requests of a client can wait for a slot.
	Waiting int
	// Wait is how long a request waits. Zero means until its context ends.
	Wait time.Duration
}

// Queue gives a number of slots to clients. Clients whose requests wait take turns, so a client with many requests delays its own, and each
// other client by one. It is safe for concurrent use.
type Queue struct {
	limits QueueLimits

	mu      sync.Mutex
	free    int
	clients map[string]*queueClient
	// turns are the clients that have a waiting request and may have one more slot, the next one first.
	turns []*queueClient
}

// queueClient is a client that has a slot or waits for one.
type queueClient struct {
	name string
	has  int
	// waiting has a channel for each waiting request, the oldest first. It is closed when the request gets its slot.
	waiting []chan struct{}
}

// NewQueue returns a queue whose slots are all free.
func NewQueue(l QueueLimits) *Queue {
	l.Slots, l.SlotsOfClient = max(l.Slots, 1), max(l.SlotsOfClient, 1)
	return &Queue{limits: l, free: l.Slots, clients: map[string]*queueClient{}}
}

// Enter waits for a slot. The caller calls leave once, when it no longer needs the slot. The error is ErrQueueFull if too many requests of
// the client wait, ErrWaitedTooLong if the request waited in vain, and postgres.ErrUnavailable with the cause if its context ended.
func (q *Queue) Enter(ctx context.Context, client string) (leave func(), err error) {
	q.mu.Lock()
	c := q.clients[client]
	if c == nil {
		c = &queueClient{name: client}
		q.clients[client] = c
	}
	leave = func() { q.leave(c) }
	if q.free > 0 && c.has < q.limits.SlotsOfClient { // nobody who may have the slot waits for it
		q.free--
		c.has++
		q.mu.Unlock()
		return leave, nil
	}
	if len(c.waiting) >= q.limits.Waiting {
		q.forget(c)
		q.mu.Unlock()
		return nil, ErrQueueFull
	}
	slot := make(chan struct{})
	c.waiting = append(c.waiting, slot)
	q.line(c)
	q.mu.Unlock()

	if q.limits.Wait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, q.limits.Wait, ErrWaitedTooLong)
		defer cancel()
	}
	select {
	case <-slot:
		return leave, nil
	case <-ctx.Done():
	}
	if !q.giveUp(c, slot) {
		return leave, nil // the slot came at the same moment
	}
	return nil, fmt.Errorf("%w: %w", postgres.ErrUnavailable, context.Cause(ctx))
}

// Waiting returns how many requests wait for a slot.
func (q *Queue) Waiting() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.clients {
		n += len(c.waiting)
	}
	return n
}

// line puts a client at the end of the turns, if it waits, may have a slot, and is not among them. The caller holds mu.
func (q *Queue) line(c *queueClient) {
	if len(c.waiting) > 0 && c.has < q.limits.SlotsOfClient && !slices.Contains(q.turns, c) {
		q.turns = append(q.turns, c)
	}
}

// leave gives back a slot, to the next client if one waits.
func (q *Queue) leave(c *queueClient) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.free++
	c.has--
	q.line(c)
	for q.free > 0 && len(q.turns) > 0 {
		next := q.turns[0]
		q.turns = q.turns[1:]
		close(next.waiting[0])
		next.waiting = next.waiting[1:]
		next.has++
		q.free--
		q.line(next)
	}
	q.forget(c)
}

// giveUp removes a waiting request. It reports false if the request has its slot already.
func (q *Queue) giveUp(c *queueClient, slot chan struct{}) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(c.waiting, slot)
	if i < 0 {
		return false
	}
	c.waiting = slices.Delete(c.waiting, i, i+1)
	if len(c.waiting) == 0 {
		q.turns = slices.DeleteFunc(q.turns, func(other *queueClient) bool { return other == c })
	}
	q.forget(c)
	return true
}

// forget drops a client that has no slot and waits for none. The caller holds mu.
func (q *Queue) forget(c *queueClient) {
	if c.has == 0 && len(c.waiting) == 0 {
		delete(q.clients, c.name)
	}
}

// clientKey is the key of the client's name in a context.
type clientKey struct{}

// WithClient names the client that a request comes from. Requests without a name are those of one client.
func WithClient(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clientKey{}, name)
}

// ClientOf returns the name of the client that a request comes from.
func ClientOf(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}
