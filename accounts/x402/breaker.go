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

// breaker is a circuit breaker: callers do not wait for a facilitator that does not respond. It opens after failureThreshold failures in a
// row. Then it lets one call through every openTimeout, until one succeeds.
type breaker struct {
	now func() time.Time

	mu       sync.Mutex
	failures int
	// next is when the next call is let through while the breaker is open.
	next time.Time
}

// allow reports whether a call can be made, and otherwise how long to wait.
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

// report records the result of a call. answered means that the facilitator sent any response.
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
