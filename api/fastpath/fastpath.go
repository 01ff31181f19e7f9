// Package fastpath answers the most frequent GET requests from prepared bytes, before net/http sees them. It accepts one kind of request: a
// complete HTTP/1.1 GET with field names from a short list and only plain characters. It passes every other connection to net/http, which
// reads the same bytes from the start and never returns the connection. Malformed, slow and rare requests are therefore net/http's alone.
// Start at New.
package fastpath

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Answer appends the whole response to r, including the status line, to buf. It returns false if net/http must serve the request. It must
// be safe for concurrent use and must not keep r's slices.
type Answer func(r *Request, buf []byte) ([]byte, bool)

// Options are the limits of a listener. They have no defaults.
type Options struct {
	Answer Answer
	// HeaderTimeout bounds the wait for the first request of a connection, IdleTimeout the pause between requests, and WriteTimeout the time
	// that a client takes to receive a response. They have a resolution of one second.
	HeaderTimeout, IdleTimeout, WriteTimeout time.Duration
	// Now is the wall clock, because the operating system enforces the deadlines.
	Now func() time.Time
	// Panicked is called for each panic of Answer. net/http then serves that request. It may be nil.
	Panicked func(p any)
}

// Listener is a net.Listener. It accepts the connections that the fast path does not serve. It is safe for concurrent use.
type Listener struct {
	o     Options
	inner net.Listener
	// clock is the current time, with a resolution of one second.
	clock  atomic.Pointer[coarseClock]
	handed chan accepted
	done   chan struct{}
	work   sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// coarseClock is one second of the fast path's time.
type coarseClock struct {
	now time.Time
	// date is the header field Date as a complete line.
	date []byte
}

func newClock(now time.Time) *coarseClock {
	return &coarseClock{now: now, date: append(now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat), lineEnd...)}
}

type accepted struct {
	conn net.Conn
	err  error
}

// New returns a fast path on ln and takes ownership of ln. Close stops it.
func New(ln net.Listener, o Options) *Listener {
	l := &Listener{o: o, inner: ln, handed: make(chan accepted), done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	l.clock.Store(newClock(o.Now()))
	l.work.Go(l.accept)
	l.work.Go(l.tick)
	return l
}

// Accept returns the next connection with a request for net/http.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.handed:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr returns the address of the listener.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close stops listening and ends idle connections. A connection with a request in progress ends after its response. Connections that were
// handed over are not affected.
func (l *Listener) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return net.ErrClosed
	}
	l.closed = true
	close(l.done)
	for c := range l.conns {
		_ = c.SetReadDeadline(time.Unix(1, 0))
	}
	return l.inner.Close()
}

// Wait waits until a closed fast path has sent all responses. When ctx ends earlier, it closes the remaining connections.
func (l *Listener) Wait(ctx context.Context) {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		l.work.Wait()
	}()
	select {
	case <-answered:
		return
	case <-ctx.Done():
	}
	l.mu.Lock()
	for c := range l.conns {
		_ = c.Close()
	}
	l.mu.Unlock()
	<-answered
}

func (l *Listener) accept() {
	for {
		c, err := l.inner.Accept()
		if err != nil {
			if !l.deliver(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // net/http waits a little before it calls Accept again
		}
		if !l.track(c) {
			_ = c.Close()
			return
		}
		l.work.Go(func() { l.serve(c) })
	}
}

// deliver passes a result to Accept, unless the listener closes.
func (l *Listener) deliver(a accepted) bool {
	select {
	case l.handed <- a:
		return true
	case <-l.done:
		return false
	}
}

// track registers a connection. It returns false if the listener is closed.
func (l *Listener) track(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *Listener) untrack(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

func (l *Listener) closing() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// tick reads the time once a second, to save each request that work.
func (l *Listener) tick() {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	for {
		select {
		case <-l.done:
			return
		case <-t.C:
			l.clock.Store(newClock(l.o.Now()))
		}
	}
}

const (
	// headSize is the maximum size of a request that fastpath examines. Longer requests go to net/http.
	headSize = 4 << 10
	// keepSize is the maximum size of a response whose buffer a connection reuses.
	keepSize = 32 << 10
)

// serve serves the requests of a connection until it ends or is handed over.
func (l *Listener) serve(c net.Conn) {
	in, out := make([]byte, headSize), []byte(nil)
	held := 0 // bytes of in that were read and not processed yet
	// The seconds in which the deadlines were set.
	var readSet, writeSet *coarseClock
	wait := l.o.HeaderTimeout
	for {
		// Deadlines are set once a second: setting them twice per request would be a large part of its cost.
		if held == 0 {
			if now := l.clock.Load(); now != readSet {
				readSet = now
				if c.SetReadDeadline(now.now.Add(wait)) != nil {
					l.end(c)
					return
				}
			}
			if l.closing() { // Check after the deadline is set: otherwise it could overwrite the deadline with which Close ends a wait.
				l.end(c)
				return
			}
			n, err := c.Read(in)
			if err != nil || n == 0 {
				l.end(c)
				return
			}
			held = n
			if wait != l.o.IdleTimeout {
				wait, readSet = l.o.IdleTimeout, nil
			}
		}
		// Read the clock after the request: the pause before it can be longer than WriteTimeout.
		now := l.clock.Load()
		if now != writeSet {
			writeSet = now
			if c.SetWriteDeadline(now.now.Add(l.o.WriteTimeout)) != nil {
				l.end(c)
				return
			}
		}
		r := Request{Date: now.date}
		size, ok := parse(in[:held], &r)
		if ok {
			out, ok = l.answer(&r, out[:0])
		}
		if !ok {
			l.fallback(c, in[:held])
			return
		}
		if _, err := c.Write(out); err != nil {
			l.end(c)
			return
		}
		if cap(out) > keepSize {
			out = nil
		}
		held = copy(in, in[size:held])
	}
}

// answer calls Answer. A panic counts as a request that the fast path does not serve.
func (l *Listener) answer(r *Request, buf []byte) (out []byte, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			if l.o.Panicked != nil {
				l.o.Panicked(p)
			}
			out, ok = buf, false
		}
	}()
	return l.o.Answer(r, buf)
}

func (l *Listener) end(c net.Conn) {
	l.untrack(c)
	_ = c.Close()
}

// fallback passes a connection to net/http, together with the bytes that were already read.
func (l *Listener) fallback(c net.Conn, read []byte) {
	l.untrack(c)
	if c.SetDeadline(time.Time{}) != nil || !l.deliver(accepted{conn: &replayConn{Conn: c, read: read}}) {
		_ = c.Close()
	}
}

// replayConn is a connection with bytes that were already read.
type replayConn struct {
	net.Conn

	read []byte
}

func (c *replayConn) Read(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		if c.read = c.read[n:]; len(c.read) == 0 {
			c.read = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite closes the writing side and leaves the reading side open. net/http calls it after an error. Otherwise a reset could make the
// client lose the response.
func (c *replayConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
