package simulate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"tidemark/internal/task"
	"tidemark/scheduler"
)

// queue simulates the scheduler's queue in a Redis without durability. It delivers tasks in any order, some of them twice, and can lose
// them. It stores the encoded payload.
type queue struct {
	waiting []delivery
	states  map[string]scheduler.State
}

// delivery is a task that waits for delivery.
type delivery struct {
	id      string
	payload []byte
	again   bool
}

func newQueue() *queue { return &queue{states: map[string]scheduler.State{}} }

// Enqueue implements scheduler.Queue.
func (q *queue) Enqueue(_ context.Context, t task.Task) error {
	if _, held := q.states[t.ID()]; held {
		return nil
	}
	payload, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("enqueue %s: %w", t.ID(), err)
	}
	q.states[t.ID()] = scheduler.StateWaiting
	q.waiting = append(q.waiting, delivery{id: t.ID(), payload: payload})
	return nil
}

// States implements scheduler.Queue.
func (q *queue) States(_ context.Context, tasks []task.Task) (states []scheduler.State, _ error) {
	for _, t := range tasks {
		s, held := q.states[t.ID()]
		if !held {
			s = scheduler.StateAbsent
		}
		states = append(states, s)
	}
	return states, nil
}

// take removes and returns one of the waiting tasks.
func (q *queue) take(d random) delivery {
	i := 0
	if d.chance(.3) { // the order is mostly first in, first out
		i = d.IntN(len(q.waiting))
	}
	taken := q.waiting[i]
	q.waiting = slices.Delete(q.waiting, i, i+1)
	if !taken.again {
		q.states[taken.id] = scheduler.StateActive
	}
	return taken
}

// lose drops a task that was taken. With leftover its id stays, like the id of a task whose worker died.
func (q *queue) lose(id string, leftover bool) {
	if leftover {
		q.states[id] = scheduler.StateActive
		return
	}
	delete(q.states, id)
}

// done records that a worker has ended a delivery.
func (q *queue) done(id string) { q.states[id] = scheduler.StateOver }

// repeat delivers a task once more.
func (q *queue) repeat(d delivery) {
	d.again = true
	q.waiting = append(q.waiting, d)
}

// flush drops everything.
func (q *queue) flush() (lost int) {
	lost = len(q.waiting)
	q.waiting = nil
	clear(q.states)
	return lost
}

// forget drops the ids of ended tasks, like the end of their retention.
func (q *queue) forget() {
	for id, s := range q.states {
		if s == scheduler.StateOver {
			delete(q.states, id)
		}
	}
}
