package x402

import (
	"sync"
	"time"
)

const (
	// failureThreshold is how many calls in a row must fail for the breaker to open.
	failureThreshold = 5
	// openTimeout is how long it stays open before one call is let through.
	openTimeout = 10 * time.Second
)

// breaker keeps callers from waiting for a facilitator that does not answer: after some failures in a row it lets one call through
// every rest, until one succeeds.
type breaker struct {
	now func() time.Time

	mu       sync.Mutex
	failures int
	// next is when a call is let through while the breaker is open.
	next time.Time
}

// allow tells whether a call may be made, and otherwise when to come again.
func (b *breaker) allow() (ok bool, after time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	switch {
	case b.failures < failureThreshold:
		return true, 0
	case now.Before(b.next):
		return false, b.next.Sub(now)
	}
	b.next = now.Add(openTimeout)
	return true, 0
}

// report takes note of how a call went: whether there was an answer, whatever it said.
func (b *breaker) report(answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered {
		b.failures = 0
		return
	}
	if b.failures++; b.failures >= failureThreshold {
		b.next = b.now().Add(openTimeout)
	}
}

func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failures >= failureThreshold
}
