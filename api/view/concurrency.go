package view

import (
	"errors"
	"sync"
)

// ErrTooMany means that a ConcurrencyLimiter has as much under way as it may have in all, ErrTooManyOfClient that one client has.
var (
	ErrTooMany         = errors.New("too many are under way")
	ErrTooManyOfClient = errors.New("too many of this client are under way")
)

// ConcurrencyLimiter bounds how much is under way at once: requests, streams, connections. It lets nobody wait, as a Queue does. It is safe for
// concurrent use.
type ConcurrencyLimiter struct {
	all, ofClient int

	mu      sync.Mutex
	open    int
	clients map[string]int
}

// NewConcurrencyLimiter returns a limiter with a bound for all clients together and one for each client. Zero means no bound.
func NewConcurrencyLimiter(all, ofClient int) *ConcurrencyLimiter {
	return &ConcurrencyLimiter{all: all, ofClient: ofClient, clients: map[string]int{}}
}

// Enter counts one more of a client. A client without a name has no bound of its own. The caller calls leave once, when it has ended. The
// error is ErrTooManyOfClient or ErrTooMany.
func (l *ConcurrencyLimiter) Enter(client string) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if client != "" && l.ofClient > 0 && l.clients[client] >= l.ofClient {
		return nil, ErrTooManyOfClient
	}
	if l.all > 0 && l.open >= l.all {
		return nil, ErrTooMany
	}
	l.open++
	if client != "" {
		l.clients[client]++
	}
	return func() { l.leave(client) }, nil
}

func (l *ConcurrencyLimiter) leave(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if client == "" {
		return
	}
	if l.clients[client]--; l.clients[client] == 0 {
		delete(l.clients, client)
	}
}

// OfClient returns how much of one client may be under way. Zero means no bound.
func (l *ConcurrencyLimiter) OfClient() int { return l.ofClient }

// Open returns how much is under way, in all and of a client.
func (l *ConcurrencyLimiter) Open(client string) (all, ofClient int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open, l.clients[client]
}
