package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// The errors of rules.
var (
	// ErrTooManyRules means that the key has MaxPushRules rules.
	ErrTooManyRules = errors.New("the key has too many rules")
	// ErrRulesFull means that the limit of rules of all keys is reached.
	ErrRulesFull = errors.New("there are too many rules")
	// ErrRuleDisabled means that the rule sends nothing any more.
	ErrRuleDisabled = errors.New("the rule is disabled")
	// ErrOldSecretSigns means that a rule's secret before the present one still signs.
	ErrOldSecretSigns = errors.New("the old secret still signs")
	// ErrTooSoon means that the key asked for the same less than ten seconds ago.
	ErrTooSoon = errors.New("this was asked for a moment ago")
	// ErrCursorAhead means that no change has the cursor yet.
	ErrCursorAhead = errors.New("no change has this cursor yet")
)

const (
	// MaxPushRules is the maximum number of rules of a key.
	MaxPushRules = 20
	// MaxReplay is the maximum number of messages that a replay sends.
	MaxReplay = 10_000
	// SecretGracePeriod is how long the old secret of a webhook signs, too.
	SecretGracePeriod = 24 * time.Hour
)

// PushRule is a rule of a key that pushes changes to a webhook. Its secrets are not part of it.
type PushRule struct {
	ID       int64
	PublicID string
	KeyID    int64
	Topic    string
	Rule     json.RawMessage
	URL      string
	// After is a cursor. The rule applies to later changes.
	After int64
	// Armed is whether the rule can hold. It is false only for a rule about a number: until the number was back.
	Armed     bool
	CreatedAt time.Time
	// Failures counts the failed attempts since the last success. FailingSince and NextTryAt are nil without one. A rule that is
	// disabled has no NextTryAt.
	Failures                int
	FailingSince, NextTryAt *time.Time
	// DisabledAt is nil while the rule works. DisabledReason is "gone" or "unreachable".
	DisabledAt     *time.Time
	DisabledReason *string
}

const pushRuleColumns = `r.id, r.public_id, r.key_id, r.topic, r.rule, r.url, r.after, r.armed, r.created_at, r.failures, r.failing_since,
	case when r.disabled_at is null then r.next_try_at end as next_try_at, r.disabled_at,
	r.disabled_reason`

// PushDelivery is a message of a rule.
type PushDelivery struct {
	ID int64
	// PushID is the cursor of the change, nil for a test.
	PushID    *int64
	MessageID string
	// State is "pending", "delivered", "failed" (a test), or "given_up": after three days, or because a replay began behind it.
	State    string
	Attempts int
	// Status and Fault describe the last attempt: one of them is nil, both before the first.
	Status    *int
	Fault     *string
	CreatedAt time.Time
	TriedAt   *time.Time
}

// CreatePushRule adds a rule of a key, and returns the response that f builds from the stored rule. A repeated call with the same Once adds nothing
// and returns the first response. It returns ErrRequestDiffers if the first call was for another request.
func (db PushStore) CreatePushRule(ctx context.Context, r PushRule, secret string, o *Once, f func(PushRule) ([]byte, error)) ([]byte, error) {
	answer, err := db.once(ctx, o, func(tx pgx.Tx) ([]byte, error) {
		var outcome string
		err := tx.QueryRow(ctx, `select create_push_rule(@key, @id, @topic, @rule, @url, @secret, @most)`, pgx.NamedArgs{
			"key": r.KeyID, "id": r.PublicID, "topic": r.Topic, "rule": r.Rule, "url": r.URL, "secret": secret, "most": MaxPushRules,
		}).Scan(&outcome)
		switch {
		case err != nil:
			return nil, err
		case outcome == "unknown":
			return nil, ErrEnded
		case outcome == "too_many":
			return nil, ErrTooManyRules
		case outcome == "full":
			return nil, ErrRulesFull
		}
		rows, err := tx.Query(ctx, pushRuleSQL, pgx.NamedArgs{"key": r.KeyID, "id": r.PublicID})
		if err != nil {
			return nil, err
		}
		made, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[PushRule])
		if err != nil {
			return nil, err
		}
		return f(made)
	})
	if err != nil {
		return nil, fmt.Errorf("add a rule: %w", err)
	}
	return answer, nil
}

// PushRules returns the rules of a key, oldest first.
func (db PushStore) PushRules(ctx context.Context, key int64) ([]PushRule, error) {
	rows, err := db.reads.Query(ctx, `select `+pushRuleColumns+` from push_rules r where r.key_id = @key order by r.id`, // index push_rules_of_key
		pgx.NamedArgs{"key": key})
	list, err := collect[PushRule](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the rules of a key: %w", asUnavailable(err))
	}
	return list, nil
}

// pushRuleSQL reads a rule of a key (unique key).
const pushRuleSQL = `select ` + pushRuleColumns + ` from push_rules r where r.key_id = @key and r.public_id = @id`

// PushRuleOf returns a rule of a key with its newest deliveries, the newest first. The error is ErrNotFound if the key has no such rule.
func (db PushStore) PushRuleOf(ctx context.Context, key int64, id string, deliveries int) (PushRule, []PushDelivery, error) {
	rows, err := db.reads.Query(ctx, pushRuleSQL, pgx.NamedArgs{"key": key, "id": id})
	if err != nil {
		return PushRule{}, nil, fmt.Errorf("read a rule: %w", asUnavailable(err))
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[PushRule])
	if errors.Is(err, pgx.ErrNoRows) {
		return PushRule{}, nil, fmt.Errorf("the rule: %w", ErrNotFound)
	}
	if err != nil {
		return PushRule{}, nil, fmt.Errorf("read a rule: %w", asUnavailable(err))
	}
	rows, err = db.reads.Query(ctx, `
		select id, push_id, message_id, state, attempts, status, fault, created_at, tried_at from push_deliveries where rule_id = @rule
		order by id desc limit @limit`,
		pgx.NamedArgs{"rule": r.ID, "limit": deliveries})
	list, err := collect[PushDelivery](rows, err)
	if err != nil {
		return PushRule{}, nil, fmt.Errorf("read the deliveries of a rule: %w", asUnavailable(err))
	}
	return r, list, nil
}

// DeletePushRule deletes a rule of a key, with its open deliveries. The error is ErrNotFound if the key has no such rule.
func (db PushStore) DeletePushRule(ctx context.Context, key int64, id string) error {
	var found bool
	err := db.pool.QueryRow(ctx, `select delete_push_rule(@key, @id)`, pgx.NamedArgs{"key": key, "id": id}).Scan(&found)
	if err != nil {
		return fmt.Errorf("delete a rule: %w", asUnavailable(err))
	}
	if !found {
		return ErrNotFound
	}
	return nil
}

// RotatePushSecret gives a rule another secret. until is when the old one stops to sign, too, and f builds the response from it. A repeated call
// with the same Once changes nothing and returns the first response. The error is ErrOldSecretSigns while the secret before still signs, until that
// time, and nothing is changed then.
func (db PushStore) RotatePushSecret(ctx context.Context, key int64, id, secret string, o *Once, f func(until time.Time) ([]byte, error)) (answer []byte, until time.Time, err error) {
	answer, err = db.once(ctx, o, func(tx pgx.Tx) ([]byte, error) {
		var at *time.Time
		var refused bool
		err := tx.QueryRow(ctx, `select until, refused from rotate_push_secret(@key, @id, @secret, @keep)`,
			pgx.NamedArgs{"key": key, "id": id, "secret": secret, "keep": SecretGracePeriod}).Scan(&at, &refused)
		if err != nil {
			return nil, err
		}
		if at == nil {
			return nil, ErrNotFound
		}
		until = at.UTC()
		if refused {
			return nil, ErrOldSecretSigns
		}
		return f(until)
	})
	if err != nil {
		return nil, until, fmt.Errorf("rotate the secret of a rule: %w", err)
	}
	return answer, until, nil
}

// TestPushRule sends a test message to the webhook of a rule.
func (db PushStore) TestPushRule(ctx context.Context, key int64, id, message string, body []byte) error {
	var outcome string
	err := db.pool.QueryRow(ctx, `select test_push_rule(@key, @id, @message, @body)`,
		pgx.NamedArgs{"key": key, "id": id, "message": message, "body": string(body)}).Scan(&outcome)
	return askedRule("test a rule", outcome, err)
}

// ReplayPushRule sends what a rule selected after a cursor, also while it was disabled, and enables it: the oldest MaxReplay messages, whose number
// it returns. What came up to the cursor is not sent any more. The error is ErrCursorAhead if no change has the cursor yet.
func (db PushStore) ReplayPushRule(ctx context.Context, key int64, id string, after int64) (messages int, err error) {
	var outcome string
	var n *int
	err = db.pool.QueryRow(ctx, `select outcome, messages from replay_push_rule(@key, @id, @after, @most)`,
		pgx.NamedArgs{"key": key, "id": id, "after": after, "most": MaxReplay}).Scan(&outcome, &n)
	if err := askedRule("replay a rule", outcome, err); err != nil {
		return 0, err
	}
	return *n, nil
}

func askedRule(what, outcome string, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, asUnavailable(err))
	case outcome == "unknown":
		return ErrNotFound
	case outcome == "disabled":
		return ErrRuleDisabled
	case outcome == "too_soon":
		return ErrTooSoon
	case outcome == "ahead":
		return ErrCursorAhead
	}
	return nil
}
