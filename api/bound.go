package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"tidemark/api/view"
)

// Connections bound how many connections are open at once, because each takes a file of the process and some 14 kB. Zero means no bound.
type Connections struct {
	// All bounds those of all clients, PerNetwork those of one IPv4 address or one 64-bit prefix of IPv6. Trusted proxies have no bound of their own.
	All, PerNetwork int
}

// boundListener answers a connection beyond its bounds with 429 and closes it, unread.
type boundListener struct {
	net.Listener

	bounds  Connections
	trusted []netip.Prefix
	log     *slog.Logger
	// warn is when the next line about refused connections may be logged, refused how many there were since the last.
	warn    rate.Sometimes
	refused atomic.Int64

	open *view.ConcurrencyLimiter
}

func newBoundListener(ln net.Listener, bounds Connections, trusted []netip.Prefix, log *slog.Logger) *boundListener {
	return &boundListener{
		Listener: ln, bounds: bounds, trusted: trusted, log: log, open: view.NewConcurrencyLimiter(bounds.All, bounds.PerNetwork), warn: rate.Sometimes{Interval: unavailableInterval},
	}
}

// Accept returns the next connection within the bounds.
func (l *boundListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		leave, err := l.open.Enter(l.network(c))
		if err == nil {
			return &boundConn{Conn: c, leave: sync.OnceFunc(leave)}, nil
		}
		l.refuse(c)
	}
}

// network returns the network that a connection counts for. It is empty for a trusted proxy.
func (l *boundListener) network(c net.Conn) string {
	from, ok := peer(c.RemoteAddr().String())
	if !ok || within(from, l.trusted) {
		return ""
	}
	return clientNetwork(from)
}

// tooMany is the response to a connection beyond the bounds. It fits the empty buffer of a new socket, so writing it waits for nobody.
const tooMany = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"

func (l *boundListener) refuse(c net.Conn) {
	const text = "Too many connections are open. Send your requests over fewer.\n"
	_, _ = fmt.Fprintf(c, tooMany, len(text), text)
	_ = c.Close()
	l.refused.Add(1)
	l.warn.Do(func() {
		l.log.WarnContext(context.Background(), "connections were refused because too many are open", "connections_since_the_last_line", l.refused.Swap(0),
			"from", c.RemoteAddr().String(), "most_in_all", l.bounds.All, "most_per_network", l.bounds.PerNetwork)
	})
}

// boundConn leaves its place when it is closed.
type boundConn struct {
	net.Conn

	leave func()
}

func (c *boundConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
