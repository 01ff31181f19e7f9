package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// The lease of a run ends while it sends, and another run takes the webhook over. The first run then records nothing: the outcome may be
// of a message that the second one sends.
func TestARunThatLostItsWebhookRecordsNothing(t *testing.T) {
	t.Parallel()
	b := newBooks(t)
	k, _ := b.register("receiver")
	rule := postgres.PushRule{PublicID: "alert_" + strings.Repeat("0", 26), KeyID: k.ID, Topic: "pick", Rule: []byte("{}"), URL: "https://hooks.example.com/"}
	if _, err := b.api.CreatePushRule(t.Context(), rule, "secret", nil, func(postgres.PushRule) ([]byte, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
	b.exec(`insert into push_deliveries (rule_id, message_id, body) select id, 'm', '{}' from push_rules`)
	hold := func(slot string, lease time.Duration) (task.Fence, postgres.Webhook) {
		t.Helper()
		id, err := b.worker.AddRun(t.Context(), task.Webhook, rule.PublicID, instant(t, slot), "test")
		if err != nil {
			t.Fatal(err)
		}
		f := task.Fence{RunID: id, Attempt: 1}
		if ok, err := b.worker.Claim(t.Context(), f, "worker"); err != nil || !ok {
			t.Fatalf("claim: %v, %v", ok, err)
		}
		w, err := b.worker.HoldWebhook(t.Context(), f, rule.PublicID, lease)
		if err != nil {
			t.Fatal(err)
		}
		return f, w
	}
	first, w := hold("2026-03-02T00:00:00Z", -time.Second)
	d, err := b.worker.NextDelivery(t.Context(), w.ID, false)
	if err != nil {
		t.Fatal(err)
	}
	second, _ := hold("2026-03-02T00:01:00Z", time.Hour)
	record := func(f task.Fence) error {
		return b.worker.RecordDelivery(t.Context(), f, w.ID, d, postgres.DeliveryResult{Delivered: true, Status: 200}, time.Hour)
	}
	state := func() string { return b.query(`select state from push_deliveries`)[0] }
	if err := record(first); !errors.Is(err, postgres.ErrBusy) || state() != "pending" {
		t.Errorf("the first run: %v, and the message is %s", err, state())
	}
	if err := record(second); err != nil || state() != "delivered" {
		t.Errorf("the second run: %v, and the message is %s", err, state())
	}
}
