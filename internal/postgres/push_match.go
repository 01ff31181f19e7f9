package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// MatchingRule is a rule while changes are compared with it.
type MatchingRule struct {
	ID       int64
	PublicID string
	Topic    string
	Rule     []byte
	// Armed is whether the rule can hold.
	Armed bool
	After int64
	// Pro is whether the key has Pro now.
	Pro bool
}

// NewDelivery is a message that a rule sends.
type NewDelivery struct {
	RuleID, PushID int64
	MessageID      string
	Body           []byte
}

// PushMatch decides about changes, in the order of their cursors. It sets Armed of the rules, and returns what they send.
type PushMatch func(rules []MatchingRule, changes []Push) []NewDelivery

// MatchPushes compares the next changes with the rules that are about them, at most limit changes. It stores what they send, moves the cursor
// and makes the webhooks due, all in one transaction. Rules that are disabled take part, so that a replay finds what they missed. It reports
// whether there may be more. If another process matches at this moment, or there is no rule, it does nothing.
func (db PushStore) MatchPushes(ctx context.Context, limit int, match PushMatch) (more bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		more = false
		var last int64
		// Without a rule nothing is written: a rule that comes counts from its own cursor on.
		err := tx.QueryRow(ctx, `
			select greatest(m.last, (select min(after) from push_rules)) from push_match m
			where exists (select from push_rules)
			for no key update of m skip locked`).Scan(&last)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `select `+pushColumns+` from pushes where id > @last order by id limit @limit`, pgx.NamedArgs{"last": last, "limit": limit})
		changes, err := collect[Push](rows, err)
		if err != nil || len(changes) == 0 {
			return err
		}
		more = len(changes) == limit
		topics := map[string]bool{}
		list := []string{}
		for _, c := range changes {
			if !topics[c.Topic] {
				topics[c.Topic] = true
				list = append(list, c.Topic)
			}
		}
		newest := changes[len(changes)-1].ID
		rows, err = tx.Query(ctx, `
			select r.id, r.public_id, r.topic, r.rule, r.armed, r.after, coalesce(k.pro_until > billing_now(), false) as pro from push_rules r join keys k on k.id = r.key_id
			where r.topic = any(@topics) and r.after < @newest and k.revoked_at is null
			order by r.id for no key update of r`, pgx.NamedArgs{"topics": list, "newest": newest}) // index push_rules_of_topic
		rules, err := collect[MatchingRule](rows, err)
		if err != nil {
			return err
		}
		if err := storeMatch(ctx, tx, rules, match(rules, changes)); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update push_match set last = @last`, pgx.NamedArgs{"last": newest})
		return err
	})
	if err != nil {
		return false, fmt.Errorf("match changes with rules: %w", err)
	}
	return more, nil
}

// storeMatch stores the state of rules and what they send, and makes their webhooks due.
func storeMatch(ctx context.Context, tx pgx.Tx, rules []MatchingRule, sends []NewDelivery) error {
	var ids []int64
	var armed []bool
	for _, r := range rules {
		ids, armed = append(ids, r.ID), append(armed, r.Armed)
	}
	_, err := tx.Exec(ctx, `
		update push_rules r set armed = n.armed from unnest(@ids::bigint[], @armed::boolean[]) as n (id, armed)
		where r.id = n.id and r.armed <> n.armed`, pgx.NamedArgs{"ids": ids, "armed": armed})
	if err != nil || len(sends) == 0 {
		return err
	}
	var of, cursors []int64
	var messages, bodies []string
	for _, d := range sends {
		of, cursors = append(of, d.RuleID), append(cursors, d.PushID)
		messages, bodies = append(messages, d.MessageID), append(bodies, string(d.Body))
	}
	_, err = tx.Exec(ctx, `
		insert into push_deliveries (rule_id, push_id, message_id, body)
		select * from unnest(@rules::bigint[], @pushes::bigint[], @messages::text[], @bodies::text[])
		on conflict do nothing`, pgx.NamedArgs{"rules": of, "pushes": cursors, "messages": messages, "bodies": bodies})
	if err != nil {
		return err
	}
	return checkWebhooks(ctx, tx, of)
}

// checkWebhooks makes the webhooks of rules due that are not disabled. After a failure, a webhook is tried when its pause is over.
func checkWebhooks(ctx context.Context, tx pgx.Tx, rules []int64) error {
	_, err := tx.Exec(ctx, `
		select webhook_check(r.public_id, greatest(clock_timestamp(), r.next_try_at))
		from (select public_id, next_try_at from push_rules where id = any(@rules) and disabled_at is null order by public_id) r`, pgx.NamedArgs{"rules": rules})
	return err
}

// RecheckWebhooks makes webhooks due that have something to send and no run. The outcome of their last run does not matter.
func (db PushStore) RecheckWebhooks(ctx context.Context) error {
	_, err := db.pool.Exec(ctx, `
		select webhook_check(r.public_id, greatest(clock_timestamp(), r.next_try_at))
		from (
			select r.public_id, r.next_try_at from push_rules r
			where r.disabled_at is null and exists (select from push_deliveries d where d.rule_id = r.id and d.state = 'pending')
				and not exists (select from runs n where n.job = @job and n.subject = r.public_id and n.status in ('due', 'queued', 'running'))
				and exists (select from keys k where k.id = r.key_id and k.revoked_at is null)
			order by r.public_id) r`, pgx.NamedArgs{"job": task.Webhook})
	if err != nil {
		return fmt.Errorf("look for webhooks that wait: %w", err)
	}
	return nil
}

// Webhook is a rule while a run sends for it.
type Webhook struct {
	ID       int64
	PublicID string
	URL      string
	// Secrets sign: the present one, and the one before while it is good.
	Secrets   []string
	Failures  int
	NextTryAt *time.Time
}

// PendingDelivery is the next message of a rule.
type PendingDelivery struct {
	ID        int64
	Test      bool
	MessageID string
	Body      string
}

// ErrBusy means that another run sends for the rule.
var ErrBusy = errors.New("another run sends for this rule")

// HoldWebhook reserves a rule for the run in f until lease is over, and returns the rule. Messages that were pending for too long are given up.
// The error is ErrBusy if another run has the rule, and ErrNotFound if it must not be served: it is deleted or disabled, or its key has ended.
func (db PushStore) HoldWebhook(ctx context.Context, f task.Fence, rule string, lease time.Duration) (w Webhook, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		var free bool
		err := tx.QueryRow(ctx, `
			select r.id, r.public_id, r.url, array_remove(array[r.secret, case when r.old_secret_until > clock_timestamp() then r.old_secret end], null),
				r.failures, r.next_try_at, coalesce(r.busy_until < clock_timestamp() or r.busy_run = @run, true)
			from push_rules r join keys k on k.id = r.key_id
			where r.public_id = @rule and r.disabled_at is null and k.revoked_at is null
			for no key update of r`, pgx.NamedArgs{"rule": rule, "run": f.RunID}).
			Scan(&w.ID, &w.PublicID, &w.URL, &w.Secrets, &w.Failures, &w.NextTryAt, &free)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return ErrNotFound
		case err != nil:
			return err
		case !free:
			return ErrBusy
		}
		_, err = tx.Exec(ctx, `
			update push_rules set busy_run = @run, busy_until = clock_timestamp() + @lease::interval where id = @id`,
			pgx.NamedArgs{"run": f.RunID, "lease": lease, "id": w.ID})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `
			update push_deliveries set state = 'given_up' where rule_id = @id and state = 'pending' and expires_at < clock_timestamp()`,
			pgx.NamedArgs{"id": w.ID})
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return Webhook{}, fmt.Errorf("hold the webhook %s: %w", rule, err)
	}
	return w, nil
}

// NextDelivery returns the next message of a rule: tests first, then by cursor. The error is ErrNotFound if nothing waits. onlyTests leaves out
// everything else.
func (db PushStore) NextDelivery(ctx context.Context, rule int64, onlyTests bool) (d PendingDelivery, err error) {
	err = db.pool.QueryRow(ctx, `
		select id, push_id is null, message_id, body from push_deliveries
		where rule_id = @rule and state = 'pending' and (push_id is null or not @tests)
		order by push_id nulls first, id limit 1`, pgx.NamedArgs{"rule": rule, "tests": onlyTests}). // index push_deliveries_pending
		Scan(&d.ID, &d.Test, &d.MessageID, &d.Body)
	if errors.Is(err, pgx.ErrNoRows) {
		return d, ErrNotFound
	}
	if err != nil {
		return d, fmt.Errorf("read the next message of a webhook: %w", err)
	}
	return d, nil
}

// CountAttempt counts an attempt to send a message, before it is sent: one whose outcome is lost counts, too. It returns the attempt's number. The
// error is ErrBusy if the run in f has lost the rule, or the message waits no longer.
func (db PushStore) CountAttempt(ctx context.Context, f task.Fence, rule int64, d PendingDelivery) (attempt int, err error) {
	err = db.pool.QueryRow(ctx, `
		update push_deliveries d set attempts = d.attempts + 1 from push_rules r
		where d.id = @id and d.state = 'pending' and r.id = @rule and r.busy_run = @run
		returning d.attempts`, pgx.NamedArgs{"id": d.ID, "rule": rule, "run": f.RunID}).Scan(&attempt)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, ErrBusy
	}
	if err != nil {
		return 0, fmt.Errorf("count an attempt: %w", err)
	}
	return attempt, nil
}

// DeliveryResult is how an attempt to send a message ended.
type DeliveryResult struct {
	Delivered, Gone bool
	// Status is 0 if no response came. Then Fault says why.
	Status int
	Fault  string
	// Pause is how long the webhook is left alone after a failure. GiveUpAfter is how long it may fail before it is disabled.
	Pause, GiveUpAfter time.Duration
}

// RecordDelivery records an attempt while the run in f holds the rule, and renews the hold. A failed test is not tried again and does not count
// against the webhook. The error is ErrBusy if the run has lost the rule.
func (db PushStore) RecordDelivery(ctx context.Context, f task.Fence, rule int64, d PendingDelivery, r DeliveryResult, lease time.Duration) error {
	state := "pending"
	switch {
	case r.Delivered:
		state = "delivered"
	case d.Test:
		state = "failed"
	}
	args := pgx.NamedArgs{
		"id": d.ID, "rule": rule, "run": f.RunID, "state": state, "status": r.Status, "fault": r.Fault, "lease": lease, "pause": r.Pause,
		"delivered": r.Delivered, "gone": r.Gone, "test": d.Test, "most": r.GiveUpAfter,
	}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			update push_rules r set busy_until = clock_timestamp() + @lease::interval,
				failures = case when @delivered then 0 when @test then r.failures else r.failures + 1 end,
				failing_since = case when @delivered then null when @test then r.failing_since else coalesce(r.failing_since, clock_timestamp()) end,
				next_try_at = case when @delivered then null when @test then r.next_try_at else clock_timestamp() + @pause::interval end,
				disabled_at = case when @gone or not @delivered and r.failing_since < clock_timestamp() - @most::interval then clock_timestamp() end,
				disabled_reason = case when @gone then 'gone'
					when not @delivered and r.failing_since < clock_timestamp() - @most::interval then 'unreachable' end
			where r.id = @rule and r.busy_run = @run`, args)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return ErrBusy
		}
		_, err = tx.Exec(ctx, `
			update push_deliveries set state = @state, status = nullif(@status::int, 0), fault = nullif(@fault::text, ''),
				tried_at = clock_timestamp()
			where id = @id`, args)
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, b2rows(r.Delivered))
	})
	if err != nil {
		return fmt.Errorf("record a delivery: %w", err)
	}
	return nil
}

func b2rows(b bool) int64 { return int64(b2i(b)) }

// ReleaseWebhook ends the hold of the run in f.
func (db PushStore) ReleaseWebhook(ctx context.Context, f task.Fence, rule int64) error {
	_, err := db.pool.Exec(ctx, `update push_rules set busy_run = null, busy_until = null where id = @rule and busy_run = @run`,
		pgx.NamedArgs{"rule": rule, "run": f.RunID})
	if err != nil {
		return fmt.Errorf("release a webhook: %w", err)
	}
	return nil
}
