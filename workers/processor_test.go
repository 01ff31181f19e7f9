package workers_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"tidemark/accounts"
	"tidemark/accounts/stripe"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// ledgerOf is a processor that knows how each payment stands.
type ledgerOf struct {
	mu          sync.Mutex
	states      map[string]stripe.State
	unavailable bool
}

func (l *ledgerOf) State(_ context.Context, payment string) (stripe.State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unavailable {
		return stripe.State{}, stripe.ErrUnavailable
	}
	return l.states[payment], nil
}

func (l *ledgerOf) set(payment string, s stripe.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states[payment] = s
}

func TestTheBalanceFollowsThePaymentProcessor(t *testing.T) {
	t.Parallel()
	ctx, dsn := t.Context(), pgtest.New(t)
	var api, worker *postgres.DB
	for role, db := range map[string]**postgres.DB{postgres.RoleAPI: &api, postgres.RoleWorker: &worker} {
		var err error
		if *db, err = postgres.Open(ctx, dsn, role); err != nil {
			t.Fatal(err)
		}
		t.Cleanup((*db).Close)
	}
	text, err := accounts.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	const public = "key_00000000000000000000000001"
	var key int64
	if _, err := api.Register(ctx, postgres.Registration{PublicID: public, Name: "k", Key: text}, nil, func(r postgres.Registered) ([]byte, error) {
		key = r.ID
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	at := &ledgerOf{states: map[string]stripe.State{}}
	job := workers.Processor{DB: worker, API: at}
	events := 0
	report := func(kind string, times int) error {
		t.Helper()
		events++
		body := fmt.Appendf(nil, `{"id":"evt_%d","type":%q,"data":{"object":{"payment_intent":"pi_1"}}}`, events, kind)
		for i := range times {
			fresh, err := api.StoreProcessorEvent(ctx, stripe.Name, fmt.Sprintf("evt_%d", events), kind, body)
			if err != nil || fresh != (i == 0) {
				t.Fatalf("%s, time %d: new %t, %v", kind, i, fresh, err)
			}
		}
		runs, err := worker.Runs(ctx, postgres.RunFilter{Job: task.Processor, Status: "due", Limit: 100})
		if err != nil || len(runs) == 0 {
			t.Fatalf("%d runs are due, %v", len(runs), err)
		}
		// Every run that was ever due runs, and runs again.
		for range 2 {
			for _, r := range runs {
				err = errors.Join(err, job.Run(ctx, task.Task{Job: task.Processor, Subject: r.Subject}))
			}
		}
		return err
	}
	has := func(what, want string) {
		t.Helper()
		a, err := worker.Account(ctx, key)
		if err != nil || a.Balance.String() != want {
			t.Errorf("%s: the balance is %s, %v; want %s", what, a.Balance, err, want)
		}
		if wrong, err := worker.UnbalancedKeys(ctx); err != nil || len(wrong) > 0 {
			t.Errorf("%s: %v, %v", what, wrong, err)
		}
	}

	// A report never leads to a credit without a payment.
	if err := report("checkout.session.completed", 1); err != nil {
		t.Fatal(err)
	}
	has("a report of a payment that the processor does not know", "0.20")
	paid := stripe.State{Checkout: "cs_1", Key: public, Paid: 10_000_000}
	at.set("pi_1", paid)
	at.unavailable = true
	if err := report("checkout.session.completed", 1); !errors.Is(err, stripe.ErrUnavailable) {
		t.Errorf("the processor is away: %v", err)
	}
	has("the processor is away", "0.20")
	at.unavailable = false
	if err := report("checkout.session.completed", 10); err != nil {
		t.Fatal(err)
	}
	has("ten times the same report", "10.20")
	for _, step := range []struct {
		what, kind         string
		refunded, disputed accounts.Micros
		want               string
	}{
		{"a part goes back", "charge.refunded", 4_000_000, 0, "6.20"},
		{"the rest goes back", "charge.refunded", 10_000_000, 0, "0.20"},
		{"a refund fails", "refund.failed", 4_000_000, 0, "6.20"},
		{"the payer's bank withdraws it", "charge.dispute.created", 4_000_000, 10_000_000, "-3.80"},
		{"the dispute is won", "charge.dispute.closed", 4_000_000, 0, "6.20"},
	} {
		paid.Refunded, paid.Disputed = step.refunded, step.disputed
		at.set("pi_1", paid)
		if err := report(step.kind, 1); err != nil {
			t.Fatalf("%s: %v", step.what, err)
		}
		has(step.what, step.want)
	}
	at.set("pi_2", stripe.State{Checkout: "cs_2", Key: "key_00000000000000000000000009", Paid: 5_000_000})
	if _, err := api.StoreProcessorEvent(ctx, stripe.Name, "evt_x", "checkout.session.completed",
		[]byte(`{"id":"evt_x","type":"checkout.session.completed","data":{"object":{"payment_intent":{"id":"pi_2"}}}}`)); err != nil {
		t.Fatal(err)
	}
	runs, err := worker.Runs(ctx, postgres.RunFilter{Job: task.Processor, Status: "due", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, r := range runs {
		if err := job.Run(ctx, task.Task{Job: task.Processor, Subject: r.Subject}); errors.Is(err, postgres.ErrNoKey) {
			unknown++
		}
	}
	if unknown != 1 {
		t.Errorf("%d runs found a payment for a key that is none", unknown)
	}
	if err := (workers.Processor{DB: worker}).Run(ctx, task.Task{Subject: "1"}); err == nil || !strings.Contains(err.Error(), "STRIPE_SECRET_KEY") {
		t.Errorf("no processor is set up: %v", err)
	}
}
