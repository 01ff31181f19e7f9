package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/internal/telemetry"
)

// The channels that the database notifies.
const (
	ChannelSnapshots    = "snapshots"    // payload: the signal's id
	ChannelRunsDue      = "runs_due"     // no payload
	ChannelRecord       = "record"       // payload: the table that has something new to show
	ChannelPublications = "publications" // payload: the table that has new rows
	ChannelPushes       = "pushes"       // payload: the cursor of a new row of pushes
	ChannelX402         = "x402"         // payload: a payment's number, or X402SubjectTerms
)

// Listener receives notifications and survives the loss of its connection.
type Listener struct {
	Channels []string
	// Connected is called each time after LISTEN took effect: data loaded from then on misses no change. If it fails, the listener connects
	// again.
	Connected func(context.Context) error
	// Notified is called for each notification, in order. If it fails, the listener connects again, so that Connected reloads everything.
	Notified func(ctx context.Context, channel, payload string) error
	// Lost is called when the connection breaks. It may be nil.
	Lost func(error)
	Log  *slog.Logger
}

// Listen runs a listener until ctx ends. It always returns nil.
func (db *DB) Listen(ctx context.Context, l Listener) error {
	const first, longest = 50 * time.Millisecond, 2 * time.Second
	pause, away := first, false
	defer func() {
		if away {
			db.disconnected.Add(-1)
		}
	}()
	for {
		err := db.listenOnce(ctx, l, func() {
			pause = first
			if away {
				away = false
				if db.disconnected.Add(-1) == 0 {
					l.Log.Log(ctx, telemetry.LevelNotice, "the notifications are back")
				}
			}
		})
		if ctx.Err() != nil {
			return nil
		}
		db.pool.returned(err)
		if l.Lost != nil {
			l.Lost(err)
		}
		in := pause/2 + rand.N(pause/2)
		// All listeners are lost together when the server is unavailable: that is one event, however many there are and however often they
		// try.
		level := slog.LevelDebug
		if !away && db.disconnected.Add(1) == 1 {
			level = slog.LevelWarn
		}
		away = true
		l.Log.Log(ctx, level, "lost the notifications, connecting again", "channels", l.Channels, "err", err, "in", in)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(in):
		}
		pause = min(2*pause, longest)
	}
}

func (db *DB) listenOnce(ctx context.Context, l Listener, up func()) error {
	opening, stop := context.WithTimeout(ctx, listenTimeout)
	defer stop()
	pooled, err := db.pool.Acquire(opening)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	// The connection leaves the pool, because it cannot be used for other statements afterwards.
	c := pooled.Hijack()
	defer func() {
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), keepaliveTimeout)
		defer stop()
		_ = c.Close(closing)
	}()
	for _, ch := range l.Channels {
		if _, err := c.Exec(opening, "listen "+pgx.Identifier{ch}.Sanitize()); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	// A callback that panics or hangs counts as an error: everything is loaded again.
	guard := func(f func(context.Context) error) error {
		ctx, stop := context.WithTimeout(ctx, callbackTimeout)
		defer stop()
		return db.pool.metrics.Guard(ctx, l.Log, "listener", func() error { return f(ctx) })
	}
	if l.Connected != nil {
		if err := guard(l.Connected); err != nil {
			return err
		}
	}
	up()
	for {
		n, err := wait(ctx, c)
		if err != nil {
			return fmt.Errorf("wait for a notification: %w", err)
		}
		if err := guard(func(ctx context.Context) error { return l.Notified(ctx, n.Channel, n.Payload) }); err != nil {
			return err
		}
	}
}

// listenTimeout bounds the start of a listener, until its LISTEN took effect. callbackTimeout bounds each of its callbacks, which may load
// everything that the API shows. Both are for connections that hang.
const listenTimeout, callbackTimeout = 30 * time.Second, 10 * time.Minute

// keepaliveTimeout is how long a connection may be idle before the listener checks it. If the server disappears without closing the
// connection, the connection would otherwise be idle permanently.
const keepaliveTimeout = 5 * time.Second

func wait(ctx context.Context, c *pgx.Conn) (*pgconn.Notification, error) {
	for {
		quiet, stop := context.WithTimeout(ctx, keepaliveTimeout)
		n, err := c.WaitForNotification(quiet)
		stop()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) || c.IsClosed() {
			return n, err
		}
		asked, stop := context.WithTimeout(ctx, keepaliveTimeout)
		_, err = c.Exec(asked, "select 1")
		stop()
		if err != nil {
			return nil, err
		}
	}
}
