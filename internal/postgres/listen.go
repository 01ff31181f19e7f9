package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// The channels that the database notifies.
const (
	ChannelSnapshots = "snapshots" // payload: the signal's id
	ChannelRunsDue   = "runs_due"  // no payload
)

// Listener hears notifications and survives the loss of its connection.
type Listener struct {
	Channels []string
	// Connected is called each time after LISTEN took effect: whatever is loaded from here on misses nothing. When it fails the
	// listener connects again.
	Connected func(context.Context) error
	// Notified is called for each notification, in order. An error makes the listener connect again, so that Connected loads
	// everything anew.
	Notified func(ctx context.Context, channel, payload string) error
	// Lost is called when the connection broke. It may be nil.
	Lost func(error)
	Log  *slog.Logger
}

// Listen runs a listener until ctx ends. It returns nil then, and never for another reason.
func (db *DB) Listen(ctx context.Context, l Listener) error {
	const first, longest = 50 * time.Millisecond, 2 * time.Second
	pause := first
	for {
		err := db.listenOnce(ctx, l, func() { pause = first })
		if ctx.Err() != nil {
			return nil
		}
		if l.Lost != nil {
			l.Lost(err)
		}
		l.Log.WarnContext(ctx, "lost the notifications, connecting again", "err", err, "in", pause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}

func (db *DB) listenOnce(ctx context.Context, l Listener, up func()) error {
	pooled, err := db.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	// The connection leaves the pool: it is never fit for another use.
	c := pooled.Hijack()
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	for _, ch := range l.Channels {
		if _, err := c.Exec(ctx, "listen "+pgx.Identifier{ch}.Sanitize()); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	if l.Connected != nil {
		if err := l.Connected(ctx); err != nil {
			return err
		}
	}
	up()
	for {
		n, err := c.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("wait for a notification: %w", err)
		}
		if err := l.Notified(ctx, n.Channel, n.Payload); err != nil {
			return err
		}
	}
}
