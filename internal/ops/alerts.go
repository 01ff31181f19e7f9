package ops

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// Alerter turns faults into alerts. Each alert is sent once when it is raised and once when it is resolved, however many processes run an
// Alerter.
type Alerter struct {
	Observer *Observer
	Limits   Limits
	// Channels are the destinations of messages in addition to the log, by name.
	Channels map[string]Channel
	Log      *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
	// Every is the pause between two rounds. Zero means 15 seconds.
	Every time.Duration
	// ResolveDelay is how long a fault must be absent before its alert is resolved. Zero means a minute.
	ResolveDelay time.Duration
	// Timeout bounds what a round asks the database: a connection that hangs ends the round, and the next one tries again. Zero means a
	// minute.
	Timeout time.Duration

	// began is the time of the first round.
	began time.Time
}

// Channel delivers messages about alerts to people.
type Channel interface {
	// Send sends a message, or returns the reason for the failure. A message can be sent twice if the process ends in between. Both then
	// have the same content.
	Send(ctx context.Context, m postgres.AlertMessage) error
}

const (
	sendTimeout = 20 * time.Second
	sendLease   = time.Minute
	// roundTimeout is the default of Alerter.Timeout, and bounds each record of a message.
	roundTimeout = time.Minute
	maxWait      = 2 * time.Hour
)

// Run checks and sends until ctx ends. It then returns nil.
func (a *Alerter) Run(ctx context.Context) error {
	tick := time.NewTicker(cmp.Or(a.Every, 15*time.Second))
	defer tick.Stop()
	away := false
	for {
		switch err := a.Metrics.Guard(ctx, a.Log, "alerts", func() error { return a.RunOnce(ctx) }); {
		case err == nil:
			away = false
		case ctx.Err() == nil && !away:
			a.Log.WarnContext(ctx, "the alerts cannot be looked after, trying again", "err", err)
			away = true
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// RunOnce checks once and sends the due messages. A sandbox that is still simulating its past raises no alerts.
func (a *Alerter) RunOnce(ctx context.Context) error {
	checking, stop := context.WithTimeout(ctx, cmp.Or(a.Timeout, roundTimeout))
	defer stop()
	past, err := a.Observer.DB.ClockBehind(checking)
	if err != nil || past {
		return err
	}
	state, err := a.Observer.Observe(checking)
	if err != nil {
		return err
	}
	if a.began.IsZero() {
		a.began = state.Now
	}
	state.Began = a.began
	delay := cmp.Or(a.ResolveDelay, time.Minute)
	names := slices.Sorted(maps.Keys(a.Channels))
	raised, resolved, err := a.Observer.DB.SaveAlerts(checking, Conditions(state, a.Limits), delay, names)
	if err != nil {
		return err
	}
	for _, one := range raised {
		log := a.Log.WarnContext
		if one.Severity == postgres.AlertError {
			log = a.Log.ErrorContext
		}
		log(ctx, "an alert is raised", "alert", one.ID, "kind", one.Kind, "subject", one.Subject, "text", one.Text)
	}
	for _, one := range resolved {
		a.Log.InfoContext(ctx, "an alert is over", "alert", one.ID, "kind", one.Kind, "subject", one.Subject, "since", one.RaisedAt)
	}
	return a.send(ctx, names)
}

// send sends every due message.
func (a *Alerter) send(ctx context.Context, names []string) error {
	for len(names) > 0 {
		taking, stop := context.WithTimeout(ctx, roundTimeout)
		m, err := a.Observer.DB.TakeAlertMessage(taking, names, sendLease)
		stop()
		if errors.Is(err, postgres.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		fault, again := "", time.Duration(0)
		timed, stop := context.WithTimeout(ctx, sendTimeout)
		err = a.Channels[m.Channel].Send(timed, m)
		stop()
		if err != nil {
			fault, again = plain.Error(err), min(30*time.Second<<min(m.Tries-1, 10), maxWait)
			a.Log.WarnContext(ctx, "a message about an alert was not sent, trying again", "alert", m.ID, "channel", m.Channel, "in", again, "err", err)
		}
		saving, stop := context.WithTimeout(context.WithoutCancel(ctx), roundTimeout)
		err = a.Observer.DB.SentAlertMessage(saving, m, fault, again)
		stop()
		if err != nil {
			return err
		}
	}
	return nil
}
