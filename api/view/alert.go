package view

import (
	"time"

	"tidemark/internal/pushes"
)

// AlertRule selects changes.
type AlertRule = pushes.Rule

// Alert is a rule of a key that pushes changes to a webhook.
type Alert struct {
	// ID names the rule in addresses and messages.
	ID   string    `json:"id"`
	Rule AlertRule `json:"rule"`
	// URL is the address of the webhook.
	URL       string    `json:"url"`
	CreatedAt time.Time `json:"created_at"`
	// Cursor is where the rule began: changes with a larger cursor count.
	Cursor string `json:"cursor"`
	// Armed is whether the rule can hold. It is false only for a rule about a number: the rule held, or it was made while the number was beyond the
	// threshold. It is true again when the number was back at rearm, or at the threshold without rearm.
	Armed bool `json:"armed"`
	// Status is "active", "failing" while the webhook does not accept messages, or "disabled".
	Status string `json:"status"`
	// FailingSince and NextTryAt are null unless the webhook fails.
	FailingSince *time.Time `json:"failing_since"`
	NextTryAt    *time.Time `json:"next_try_at"`
	// DisabledAt and DisabledReason are null unless the rule is disabled: "gone" after a response 410, "unreachable" after three days of
	// failures.
	DisabledAt     *time.Time `json:"disabled_at"`
	DisabledReason *string    `json:"disabled_reason"`
}

// AlertBody is the response with a new rule.
type AlertBody struct {
	Data MadeAlert      `json:"data"`
	Meta RegisteredMeta `json:"meta"`
}

// MadeAlert is a rule with the secret that signs its messages.
type MadeAlert struct {
	Alert

	// Secret is the secret of the signatures (Standard Webhooks). It is shown once.
	Secret string `json:"secret"`
}

// Alerts are the rules of a key, oldest first.
type Alerts struct {
	Data []Alert `json:"data"`
}

// AlertDetail is a rule with its newest messages.
type AlertDetail struct {
	Data AlertWithDeliveries `json:"data"`
}

// AlertWithDeliveries is a rule with its newest messages.
type AlertWithDeliveries struct {
	Alert

	// Deliveries are the newest messages, the newest first.
	Deliveries []AlertDelivery `json:"deliveries"`
}

// AlertDelivery is a message to a webhook.
type AlertDelivery struct {
	// MessageID is the header webhook-id: the same for each attempt.
	MessageID string `json:"message_id"`
	// Cursor is that of the change, null for a test.
	Cursor *string `json:"cursor"`
	// State is "pending", "delivered", "failed" (a test that was not accepted), or "given_up": after three days, or because a replay began behind it.
	State    string `json:"state"`
	Attempts int    `json:"attempts"`
	// Status is the HTTP status of the last attempt. Without a response it is null, and Fault says why.
	Status    *int       `json:"status"`
	Fault     *string    `json:"fault"`
	CreatedAt time.Time  `json:"created_at"`
	TriedAt   *time.Time `json:"tried_at"`
}

// AlertSecret is the response with another secret.
type AlertSecret struct {
	Data NewAlertSecret `json:"data"`
	Meta RegisteredMeta `json:"meta"`
}

// NewAlertSecret is a secret that replaces another one.
type NewAlertSecret struct {
	// Secret is shown once.
	Secret string `json:"secret"`
	// OldExpiresAt is until when messages are signed with the old secret, too.
	OldExpiresAt time.Time `json:"old_expires_at"`
}

// AlertSent is the response to a request that has messages sent.
type AlertSent struct {
	Data AlertMessages `json:"data"`
}

// AlertMessages are messages that are on their way.
type AlertMessages struct {
	// Messages is their number.
	Messages int `json:"messages"`
	// URL is where their deliveries are listed.
	URL string `json:"url"`
}
