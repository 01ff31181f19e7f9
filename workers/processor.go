package workers

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"tidemark/accounts/stripe"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// PaymentState asks the payment processor how a payment stands. *stripe.Client does. It does not retry; an error says that nothing is
// known.
type PaymentState interface {
	State(ctx context.Context, payment string) (stripe.State, error)
}

// Processor is the job that handles reports of the payment processor. A report is only a hint: the job always queries the processor for
// the payment's state, and the balance follows that.
type Processor struct {
	DB *postgres.DB
	// API is nil if none is configured: then events wait for it.
	API PaymentState
}

// Run looks at the event whose number the subject is.
func (p Processor) Run(ctx context.Context, t task.Task) error {
	id, err := strconv.ParseInt(t.Subject, 10, 64)
	if err != nil {
		return Permanent(fmt.Errorf("unknown event %q", t.Subject))
	}
	if p.API == nil {
		return errors.New("the payment processor cannot be asked: STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are not set for this worker")
	}
	e, err := p.DB.ProcessorEvent(ctx, id)
	if err != nil || e.DoneAt != nil {
		return err
	}
	report, err := stripe.Read(e.Payload)
	if err != nil {
		return Permanent(err)
	}
	c := postgres.TopUpChange{Event: id, Processor: e.Processor, Payment: report.Payment, Outcome: "it is about no payment to us"}
	if report.Payment == "" {
		return p.DB.ChangeTopUp(ctx, t.Fence, c)
	}
	was, had, err := p.DB.TopUpOf(ctx, e.Processor, report.Payment)
	if err != nil {
		return err
	}
	s, err := p.API.State(ctx, report.Payment)
	if err != nil {
		return err
	}
	if had {
		c.Was = &was
	}
	switch {
	case s.Checkout == "" && had:
		return fmt.Errorf("the payment processor no longer knows the payment %s, which was credited", report.Payment)
	case s.Checkout != "":
		c.Now = &postgres.TopUp{Key: s.Key, Checkout: s.Checkout, Amount: s.Paid, Refunded: min(s.Refunded, s.Paid), Disputed: s.Disputed}
		c.Outcome = fmt.Sprintf("%s USD paid for %s, %s refunded, %s disputed", s.Paid, s.Key, s.Refunded, s.Disputed)
	}
	err = p.DB.ChangeTopUp(ctx, t.Fence, c)
	if errors.Is(err, postgres.ErrNoKey) {
		return Permanent(err)
	}
	return err
}
