package ops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"tidemark/api/view"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
	"tidemark/signals"
)

// Limits are the thresholds of alerts. Zero fields mean the stated values.
type Limits struct {
	// RunwayDays is the number of days of attestations that the balance must pay for. Zero means 14.
	RunwayDays int
	// Waiting is the maximum time that work may wait before it begins. Zero means 15 minutes.
	Waiting time.Duration
	// Attested is the maximum time that an announced pick may wait for its attestation. Zero means 24 hours.
	Attested time.Duration
	// BackupAge is the maximum age of the newest backup. Zero means 26 hours.
	BackupAge time.Duration
}

func (l Limits) withDefaults() Limits {
	if l.RunwayDays == 0 {
		l.RunwayDays = 14
	}
	if l.Waiting == 0 {
		l.Waiting = 15 * time.Minute
	}
	if l.Attested == 0 {
		l.Attested = 24 * time.Hour
	}
	if l.BackupAge == 0 {
		l.BackupAge = 26 * time.Hour
	}
	return l
}

// startTime is the time after a start, or after a sandbox has reached the present, in which work that waited can begin, and picks can be
// attested. It is shorter than Alerter.ResolveDelay, so a restart does not resolve an open alert.
const startTime = 45 * time.Second

// Conditions lists the faults in a state. It depends on the state alone.
func Conditions(s State, l Limits) (list []postgres.Alert) {
	l = l.withDefaults()
	add := func(severity, kind, subject, format string, args ...any) {
		list = append(list, postgres.Alert{Kind: kind, Subject: subject, Severity: severity, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range s.Signals {
		if f.State == view.Stale && f.Status != signals.StatusDeprecated {
			add(postgres.AlertWarning, "signal-stale", f.Signal,
				"%s is stale: its newest observation is of %s, %s ago, where %s are tolerated. See `tidemark runs --job=ingest` and the publisher's page.",
				f.Signal, f.ObservedAt.Format(time.DateOnly), age(f.Age), age(f.Limit))
		}
	}
	failed := map[string]bool{}
	for _, j := range s.Jobs {
		if name := j.Job + " " + j.Subject; j.Failed != nil {
			failed[name] = true
			add(postgres.AlertError, "job-failed", name,
				"The run of %s for %s has failed: %s. See `tidemark runs %d`; `tidemark schedule run %s` tries it again.",
				name, instant(j.FailedSlot), line(j.Error), *j.Failed, name)
		}
	}
	for _, t := range s.Troubled {
		if name := t.Job + " " + t.Subject; t.Lasting && !failed[name] {
			failed[name] = true
			add(postgres.AlertError, "job-failed", name,
				"Attempt %d of %d of the run of %s for %s has failed, and that is not expected to pass by itself: %s. It is tried again. See `tidemark runs %d`.",
				t.Failures, t.MaxAttempts, name, instant(t.Slot), line(&t.Error), t.Run)
		}
	}
	for _, r := range s.Late {
		name := r.Job + " " + r.Subject
		if failed[name] {
			continue
		}
		failed[name] = true
		usual, why := "", ""
		if r.Usual != nil {
			usual = fmt.Sprintf(", and nearly all of the last ones took %s at most", age(*r.Usual))
		}
		if r.Error != nil {
			why = ": " + line(r.Error)
		}
		add(postgres.AlertWarning, "job-late", name, "The run of %s for %s is not done after %s%s%s. See `tidemark runs %d`.",
			name, instant(r.Slot), age(s.Now.Sub(r.Since)), usual, why, r.Run)
		// The time in which the installation was stopped does not count. An alert that was raised before stays open.
		list[len(list)-1].Quiet = s.Began.After(r.Since) && s.Now.Sub(s.Began) <= r.Allowed
	}
	if !s.PickMissing.IsZero() {
		day := s.PickMissing.Format(time.DateOnly)
		add(postgres.AlertError, "pick-missing", day,
			"%s has neither a pick nor a recorded gap. Look at `tidemark runs --job=pick`: a pick can be made on its own day only.", day)
	}
	if s.Chain.Fault != "" {
		add(postgres.AlertError, "chain-invalid", "",
			"The chain of picks does not hold behind link %d: %s. Somebody changed the database: restore it from a backup, and keep this one to look at.",
			s.Chain.Length, s.Chain.Fault)
	}
	logConditions(s, add)
	if g := s.Ledger; g != nil && g.Alarm() {
		add(postgres.AlertError, "ledger", g.Status, "The git ledger is %s: %s. See `tidemark ledger verify` and docs/outside-records.md.", g.Status, g.Note)
	}
	if a := s.Attester; a != nil {
		if a.Alarm() {
			add(postgres.AlertError, "attester", a.Status, "The attester's state is %s: %s. See `tidemark chain` and docs/outside-records.md.", a.Status, a.Note)
		}
		if a.RunwayDays != nil && *a.RunwayDays < l.RunwayDays {
			add(postgres.AlertWarning, "attester-gas", "", "The attester's balance of %s pays for %d more days of gas. Send it some ether: %s on eip155:%d.",
				Ether(a.BalanceWei), *a.RunwayDays, a.Attester.Attester, a.ChainID)
		}
		if since := s.Record.UnattestedSince; a.Status != postgres.AttesterOff && since != nil && s.At.Sub(*since) > l.Attested && s.Now.Sub(s.Began) > startTime {
			add(postgres.AlertWarning, "attestation-late", "", "%d announced picks wait for an attestation, the oldest since %s. See `tidemark chain`.",
				s.Record.Length-s.Record.Attested, instant(since))
		}
	}
	if s.Unpaid > 0 {
		add(postgres.AlertError, "payment-missing", "",
			"%d payments that the facilitator called settled are not on the chain, the first is %d. See `tidemark payments`, and ask the facilitator.",
			s.Unpaid, s.FirstUnpaid)
	}
	if o := s.Open; o.Oldest != nil && s.Now.Sub(*o.Oldest) > l.Waiting && s.Now.Sub(s.Began) > startTime {
		add(postgres.AlertError, "work-waits", "", "%d runs wait to be begun, the oldest since %s. Are Redis and a worker there, and are workers enough?",
			o.Late, instant(o.Oldest))
	}
	if b := s.BackedUpAt; b != nil && s.Now.Sub(*b) > l.BackupAge {
		add(postgres.AlertError, "backup-late", "",
			"The newest backup began %s ago, on %s. See the log of `tidemark backup` (with systemd: journalctl -u tidemark-backup). If you make them less often, set ALERT_BACKUP_HOURS.",
			age(s.Now.Sub(*b)), instant(b))
	}
	return list
}

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
