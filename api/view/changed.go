package view

import "sync"

// announcer wakes all callers that wait for the next state. The zero value is ready to use. It is safe for concurrent use.
type announcer struct {
	mu   sync.Mutex
	next chan struct{}
}

// wait returns a channel that is closed with the next state. To miss none, take the channel before you read the state.
func (a *announcer) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == nil {
		a.next = make(chan struct{})
	}
	return a.next
}

// wake closes the channel of all who wait.
func (a *announcer) wake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next != nil {
		close(a.next)
		a.next = nil
	}
}
