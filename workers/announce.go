package workers

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// Announcements is the job that makes recorded picks public.
type Announcements struct {
	DB  *postgres.DB
	Log *slog.Logger
	// AwaitQuorum waits until the witnesses have cosigned the seals that are not revealed yet, or do not answer. It is for a sandbox that
	// simulates its past, where the half hour between seal and reveal takes no time. Nil: HeldBack alone decides.
	AwaitQuorum func(ctx context.Context) error
}

// quorumPause is the pause before an announcement asks again whether the witnesses have cosigned the seal.
const quorumPause = 15 * time.Second

// Run announces every pick whose instant has come. Publications that follow an announcement become due with it, and on a trading day also
// without one. A late pick starts a separate run.
func (a Announcements) Run(ctx context.Context, t task.Task) error {
	now, err := a.DB.Now(ctx)
	if err != nil {
		return err
	}
	if a.AwaitQuorum != nil {
		if err := a.AwaitQuorum(ctx); err != nil {
			return err
		}
	}
	announced, err := a.DB.AnnounceDue(ctx, t.Fence, now)
	if err != nil {
		return err
	}
	for _, p := range announced {
		a.Log.InfoContext(ctx, "a pick is announced", "at", t.Slot, "seq", p.Seq, "ticker", p.Ticker, "date", p.Date)
	}
	if len(announced) > 0 {
		return nil
	}
	if held, err := a.DB.HeldBack(ctx, now); err != nil || held {
		return cmp.Or(err, WaitFor(errors.New("the seal of the pick waits for its witnesses"), quorumPause))
	}
	if reason, closed := calendar.Closed(calendar.DayOf(t.Slot)); closed {
		return Skip("no trading day: " + reason)
	}
	return a.DB.EnsureDue(ctx, t.Fence, task.Publish, task.AfterAnnouncement, t.Slot)
}
