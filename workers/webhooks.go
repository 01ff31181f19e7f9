package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/pushes"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

const (
	// webhookWorkers is how many webhooks a process sends to at once.
	webhookWorkers = 8
	// webhookTurn is how long a run sends for one rule before others have their turn. webhookLease is longer than a request takes.
	webhookTurn  = 20 * time.Second
	webhookLease = 30 * time.Second
	// firstPause is the pause after a failed attempt. It triples with each further one, up to lastPause.
	firstPause = 5 * time.Second
	lastPause  = time.Hour
	// giveUpAfter is how long a webhook may fail. The table has the same period for each message.
	giveUpAfter = 72 * time.Hour
)

// MessageSender sends messages to webhooks. *pushes.Sender implements it.
type MessageSender interface {
	Send(ctx context.Context, m pushes.Message) (pushes.Outcome, error)
}

// Webhooks is the job that sends what a rule must send: in the order of the cursors, each until it was accepted or three days are over. A
// message that fails holds up those after it, so that the order stays.
type Webhooks struct {
	DB     *postgres.DB
	Sender MessageSender
	// Now is the wall clock.
	Now func() time.Time
}

// Run sends for the rule that the subject names.
func (w Webhooks) Run(ctx context.Context, t task.Task) error {
	rule, err := w.DB.HoldWebhook(ctx, t.Fence, t.Subject, webhookLease)
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return Skip("the rule was deleted or disabled, or its key has ended")
	case errors.Is(err, postgres.ErrBusy):
		return RetryIn(time.Second, "another run sends for this rule")
	case err != nil:
		return err
	}
	err = w.send(ctx, t, rule)
	if rerr := w.DB.ReleaseWebhook(context.WithoutCancel(ctx), t.Fence, rule.ID); rerr != nil {
		return errors.Join(err, rerr)
	}
	return err
}

// send sends until nothing waits, an attempt fails, or the turn is over.
func (w Webhooks) send(ctx context.Context, t task.Task, rule postgres.Webhook) error {
	began := w.Now()
	for {
		pause := time.Duration(0)
		if rule.NextTryAt != nil {
			pause = rule.NextTryAt.Sub(w.Now())
		}
		d, err := w.DB.NextDelivery(ctx, rule.ID, pause > 0)
		if errors.Is(err, postgres.ErrNotFound) {
			if pause > 0 {
				return RetryIn(pause, "the webhook has failed")
			}
			return nil
		}
		if err != nil {
			return err
		}
		if w.Now().Sub(began) > webhookTurn {
			return RetryIn(0, "others have their turn")
		}
		attempt, err := w.DB.CountAttempt(ctx, t.Fence, rule.ID, d)
		if errors.Is(err, postgres.ErrBusy) {
			return RetryIn(time.Second, "another run sends for this rule, or the message waits no longer")
		}
		if err != nil {
			return err
		}
		outcome, err := w.Sender.Send(ctx, pushes.Message{
			URL: rule.URL, ID: d.MessageID, Body: []byte(d.Body), Attempt: attempt, Secrets: rule.Secrets,
		})
		if err != nil {
			return err
		}
		r := postgres.DeliveryResult{
			Delivered: outcome.Accepted(), Gone: outcome.Gone(), Status: outcome.Status, Fault: outcome.Fault, Pause: webhookPause(rule.Failures),
			GiveUpAfter: giveUpAfter,
		}
		if err := w.DB.RecordDelivery(ctx, t.Fence, rule.ID, d, r, webhookLease); err != nil {
			return err
		}
		switch {
		case r.Gone:
			return nil
		case r.Delivered:
			rule.Failures, rule.NextTryAt = 0, nil
		case !d.Test:
			return RetryIn(r.Pause, "the webhook has failed")
		}
	}
}

// webhookPause returns the pause after another failure.
func webhookPause(failures int) time.Duration {
	pause := firstPause
	for range min(failures, 10) {
		pause = min(3*pause, lastPause)
	}
	return pause + rand.N(pause/10)
}

const (
	// matchPage is how many changes are compared with the rules at once.
	matchPage = 500
	// matchPause is the pause between two rounds, so that changes that come together are matched together.
	matchPause = 50 * time.Millisecond
	// matchEvery is how often the matcher looks without a notification, and for webhooks that wait without a run.
	matchEvery = 10 * time.Second
	// matchTimeout bounds a part of a round. A page is a transaction, so that what was compared stays compared.
	matchTimeout = 5 * time.Minute
)

// Matcher compares what becomes known with the rules of keys, and stores what they send. Any number of processes may run one: one of them works
// at a time.
type Matcher struct {
	DB     *postgres.DB
	Origin pushes.Origin
	Log    *slog.Logger
	// Metrics counts changes that cannot be read, and panics. It may be nil.
	Metrics *telemetry.Metrics
}

// Run matches until ctx ends, and returns nil then. What fails is tried again.
func (m *Matcher) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	poke := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		_ = m.DB.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelPushes},
			Connected: func(context.Context) error { poke(); return nil },
			Notified:  func(context.Context, string, string) error { poke(); return nil },
			Log:       m.Log,
		})
	}()
	defer func() { <-listening }()
	tick := time.NewTicker(matchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
			m.look(ctx, "changes, for the rules of keys", m.Match)
		case <-tick.C:
			poke()
			m.look(ctx, "webhooks with something to send", func(ctx context.Context) error { return m.DB.RecheckWebhooks(ctx) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(matchPause):
		}
	}
}

// look does a part of a round. It may hang as little as it may panic: what it left undone is done in the next round.
func (m *Matcher) look(ctx context.Context, waiting string, part func(context.Context) error) {
	timed, stop := context.WithTimeout(ctx, matchTimeout)
	defer stop()
	if err := m.Metrics.Guard(timed, m.Log, "webhooks", func() error { return part(timed) }); err != nil && ctx.Err() == nil {
		m.Log.WarnContext(ctx, "a part of a round of webhooks is left to the next", "waiting", waiting, "err", err)
	}
}

// Match compares everything that is new with the rules.
func (m *Matcher) Match(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = m.DB.MatchPushes(ctx, matchPage, func(rules []postgres.MatchingRule, changes []postgres.Push) []postgres.NewDelivery {
			return m.decide(ctx, rules, changes)
		}); err != nil {
			return err
		}
	}
	return nil
}

// decide compares changes with rules, in the order of the cursors. A rule or a change that cannot be read is left out, so that it stops nothing
// else. Where events are sold, only keys with Pro can select them by severity or company.
func (m *Matcher) decide(ctx context.Context, rules []postgres.MatchingRule, changes []postgres.Push) (sends []postgres.NewDelivery) {
	byTopic := map[string][]int{}
	parsed := make([]pushes.Rule, len(rules))
	for i, r := range rules {
		if err := json.Unmarshal(r.Rule, &parsed[i]); err != nil {
			m.Log.ErrorContext(ctx, "a rule cannot be read", "rule", r.PublicID, "err", err)
			continue
		}
		if m.Origin.Free && !r.Pro && parsed[i].Restriction() != "" {
			continue // which events it selects would tell what is sold
		}
		byTopic[r.Topic] = append(byTopic[r.Topic], i)
	}
	for _, c := range changes {
		row := pushes.Row(c)
		var change *pushes.Change
		unreadable := false
		for _, i := range byTopic[c.Topic] {
			r := &rules[i]
			if c.ID <= r.After {
				continue
			}
			holds, next, err := parsed[i].Match(r.Armed, row)
			if err == nil && holds && change == nil {
				var made pushes.Change
				if made, err = m.Origin.Change(row); err == nil {
					change = &made
				}
			}
			if err != nil {
				m.Log.ErrorContext(ctx, "a change cannot be compared with a rule", "cursor", c.ID, "rule", r.PublicID, "err", err)
				unreadable = true
				continue
			}
			r.Armed = next
			if !holds {
				continue
			}
			body, err := pushes.NewNotice(r.PublicID, *change)
			if err != nil {
				m.Log.ErrorContext(ctx, "a message cannot be written", "cursor", c.ID, "err", err)
				continue
			}
			sends = append(sends, postgres.NewDelivery{
				RuleID: r.ID, PushID: c.ID, MessageID: fmt.Sprintf("msg_%s_%d", r.PublicID[len("alert_"):], c.ID), Body: body,
			})
		}
		if unreadable {
			m.Metrics.Unreadable("alerts")
		}
	}
	return sends
}
