// Package fastpath stands between a listener and net/http, and answers there what is asked most often and has finished bytes. It reads one
// kind of request: a GET of HTTP/1.1 that has arrived whole, with field names from a short list and nothing odd in it. Whatever it does
// not take for one goes to net/http, which reads the same bytes from their beginning and never gives the connection back: what is
// malformed, slow or rare is judged there alone. Start at New.
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

// Answer appends the whole answer to r, status line included, to buf, or returns false for what net/http is to answer. It may be called
// by many goroutines at once, and must not keep r's slices.
type Answer func(r *Request, buf []byte) ([]byte, bool)

// Options are the limits of a listener. None has a default.
type Options struct {
	Answer Answer
	// First is how long a new connection may wait before it asks, Idle how long between requests, Write how long it may take to
	// accept an answer. They are kept to the second.
	First, Idle, Write time.Duration
	// Now is the wall clock: the deadlines of connections are the operating system's.
	Now func() time.Time
	// Panicked is told of each panic of Answer; net/http answers that request then. It may be nil.
	Panicked func(p any)
}

// Listener is a net.Listener whose connections are those that the lane does not answer. It is safe for concurrent use.
type Listener struct {
	o     Options
	inner net.Listener
	// clock is what the time of the second is, as the lane needs it.
	clock  atomic.Pointer[clock]
	handed chan accepted
	done   chan struct{}
	work   sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// clock is one second of the lane's life.
type clock struct {
	now time.Time
	// date is the field Date as a line.
	date []byte
}

func newClock(now time.Time) *clock {
	return &clock{now: now, date: append(now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat), lineEnd...)}
}

type accepted struct {
	conn net.Conn
	err  error
}

// New returns a lane on ln, which belongs to it from then on. Close ends it.
func New(ln net.Listener, o Options) *Listener {
	l := &Listener{o: o, inner: ln, handed: make(chan accepted), done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	l.clock.Store(newClock(o.Now()))
	l.work.Go(l.accept)
	l.work.Go(l.tick)
	return l
}

// Accept returns the next connection that asks for something else.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.handed:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Addr is where it listens.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close stops listening, and ends the connections that wait; one that is being answered ends when it has its answer. What was handed
// over is not touched.
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

// Wait waits until a closed lane has answered everybody. When ctx ends before that, it cuts off who is left.
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
			if !l.give(accepted{err: err}) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue // net/http waits a little before it asks again
		}
		if !l.enter(c) {
			_ = c.Close()
			return
		}
		l.work.Go(func() { l.serve(c) })
	}
}

// give hands something to Accept, unless the lane ends.
func (l *Listener) give(a accepted) bool {
	select {
	case l.handed <- a:
		return true
	case <-l.done:
		return false
	}
}

// enter takes note of a connection, unless the lane is closed.
func (l *Listener) enter(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *Listener) leave(c net.Conn) {
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

// tick reads the time once a second, so that nobody has to do so for each request.
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
	// headSize is the longest request that is looked at; a longer one is handed over.
	headSize = 4 << 10
	// keepSize is the longest answer whose buffer a connection keeps for the next one.
	keepSize = 32 << 10
)

// serve answers what a connection asks until it ends or is handed over.
func (l *Listener) serve(c net.Conn) {
	in, out := make([]byte, headSize), []byte(nil)
	held := 0 // bytes of in that were read and not answered
	var set *clock
	wait := l.o.First
	for {
		// Deadlines are set once a second: twice for each request they would be a good part of its cost.
		now := l.clock.Load()
		if now != set {
			set = now
			if c.SetReadDeadline(now.now.Add(wait)) != nil || c.SetWriteDeadline(now.now.Add(l.o.Write)) != nil {
				l.end(c)
				return
			}
		}
		if held == 0 {
			if l.closing() { // after the deadline was set: Close's own, which ends a wait, is not overwritten unseen
				l.end(c)
				return
			}
			n, err := c.Read(in)
			if err != nil || n == 0 {
				l.end(c)
				return
			}
			held = n
			if wait != l.o.Idle {
				wait, set = l.o.Idle, nil
			}
		}
		r := Request{Date: now.date}
		size, ok := parse(in[:held], &r)
		if ok {
			out, ok = l.answer(&r, out[:0])
		}
		if !ok {
			l.handOver(c, in[:held])
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

// answer is Answer, with a panic as a request that the fast path does not serve.
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
	l.leave(c)
	_ = c.Close()
}

// handOver gives a connection to net/http, which first reads what was read here.
func (l *Listener) handOver(c net.Conn, read []byte) {
	l.leave(c)
	if c.SetDeadline(time.Time{}) != nil || !l.give(accepted{conn: &handedConn{Conn: c, read: read}}) {
		_ = c.Close()
	}
}

// handedConn is a connection some bytes of which were read already.
type handedConn struct {
	net.Conn

	read []byte
}

func (c *handedConn) Read(p []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(p, c.read)
		if c.read = c.read[n:]; len(c.read) == 0 {
			c.read = nil
		}
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite ends the answers and leaves the connection open for what the client still sends: net/http does so after an error, or the
// client might lose the answer to a reset.
func (c *handedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
