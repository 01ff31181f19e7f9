package api

import (
	"slices"
	"strconv"
	"sync"
)

// notifier wakes requests that wait for a change in the database. Each waits for the number that its notifications carry. The zero value is
// ready to use. It is safe for concurrent use.
type notifier struct {
	mu      sync.Mutex
	waiting map[int64][]chan struct{}
}

// wait returns a channel that receives a value when the row with this number changes. Call done to stop waiting.
func (ws *notifier) wait(id int64) (changed <-chan struct{}, done func()) {
	c := make(chan struct{}, 1)
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.waiting == nil {
		ws.waiting = map[int64][]chan struct{}{}
	}
	ws.waiting[id] = append(ws.waiting[id], c)
	return c, func() {
		ws.mu.Lock()
		defer ws.mu.Unlock()
		left := slices.DeleteFunc(ws.waiting[id], func(other chan struct{}) bool { return other == c })
		if ws.waiting[id] = left; len(left) == 0 {
			delete(ws.waiting, id)
		}
	}
}

// wake notifies the requests that wait for the number in a notification's payload.
func (ws *notifier) wake(payload string) {
	id, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return
	}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, c := range ws.waiting[id] {
		poke(c)
	}
}

// wakeAll notifies all requests, for when notifications may have been lost.
func (ws *notifier) wakeAll() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, list := range ws.waiting {
		for _, c := range list {
			poke(c)
		}
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it has a pending notification already
	}
}
