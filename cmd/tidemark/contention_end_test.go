package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// unfinishedSQL tells whether the clock is in the past, and whether a run is left to do. A quick world does not wait for payments by
// request whose settlement failed. They are certain to have failed only when their authorization ends, on a chain without other payments.
const unfinishedSQL = `
	select clock_at is not null, exists (select from runs where status in ('due', 'queued', 'running') and not ($1 and job = 'x402'))
	from world`

// wait returns when the clock is at its end and all work is done.
func (w *contended) wait(ctx context.Context, within time.Duration) error {
	late := time.NewTimer(within)
	defer late.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			open := w.lines(context.WithoutCancel(ctx), `
				select format('%s %s of %s: %s, attempt %s, next try %s, %s', job, subject, slot, status, attempt, next_try_at, left(error, 200))
				from runs where status in ('due', 'queued', 'running')`)
			return fmt.Errorf("after %s the world is not at its end; its clock: %s. Open: %s", within,
				w.lines(context.WithoutCancel(ctx), `select coalesce(clock_at::text, 'the present') from world`), strings.Join(open, "; "))
		case <-look.C:
		}
		if w.deadlocked != nil && w.deadlocked() != "" {
			return errors.New("it ends here")
		}
		var past, open bool
		if err := w.db.QueryRow(ctx, unfinishedSQL, w.quick).Scan(&past, &open); err != nil {
			return err
		}
		select {
		case <-w.present:
			past = false
		default:
		}
		if !past && !open {
			return nil
		}
	}
}
