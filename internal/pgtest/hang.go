package pgtest

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Hang makes one connection of a pool hang: the first connection that sends a message with the given text. Its later messages do not
// arrive, and nothing closes it, as behind a router that forgot the connection.
type Hang struct {
	text []byte
	hung atomic.Bool
}

// NewHang returns a Hang for a part of a statement's text.
func NewHang(text string) *Hang { return &Hang{text: []byte(text)} }

// Hung reports whether a connection hangs.
func (h *Hang) Hung() bool { return h.hung.Load() }

// Tap makes the connections of a pool.
func (h *Hang) Tap(c *pgxpool.Config) {
	dial := c.ConnConfig.DialFunc
	c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &hanging{Conn: conn, of: h}, nil
	}
}

type hanging struct {
	net.Conn

	of   *Hang
	lost atomic.Bool
}

// Write sends b, or loses it.
func (c *hanging) Write(b []byte) (int, error) {
	if !c.lost.Load() && bytes.Contains(b, c.of.text) && c.of.hung.CompareAndSwap(false, true) {
		c.lost.Store(true)
	}
	if c.lost.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}
