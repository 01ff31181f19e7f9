package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/internal/task"
)

// PaymentStore keeps payments: top-ups, claims of transfers, and payments for single requests.
//
// It reads keys, payment_claims, payment_quotes, payment_transfers, processor_events, runs, top_ups, x402_ledger, x402_named,
// x402_payments, x402_sightings, x402_terms. It writes payment_claims, payment_quotes, payment_transfers, processor_events, runs, top_ups,
// x402_named, x402_payments, x402_sightings, x402_terms.
type PaymentStore struct{ *connections }

// StoreProcessorEvent stores an event of a payment processor and schedules its processing. It reports whether the event is new.
func (db PaymentStore) StoreProcessorEvent(ctx context.Context, processor, event, kind string, payload []byte) (bool, error) {
	var fresh bool
	err := db.pool.QueryRow(ctx, `select store_processor_event(@processor, @event, @type, @payload)`,
		pgx.NamedArgs{"processor": processor, "event": event, "type": kind, "payload": payload}).Scan(&fresh)
	if err != nil {
		return false, fmt.Errorf("store an event of the payment processor: %w", asUnavailable(err))
	}
	return fresh, nil
}

// ProcessorEvent is an event that a payment processor reported.
type ProcessorEvent struct {
	ID                     int64
	Processor, Event, Type string
	Payload                []byte
	ReceivedAt             time.Time
	// DoneAt is when it was processed, and Outcome the result. Both are nil before that.
	DoneAt  *time.Time
	Outcome *string
}

// ProcessorEvent returns an event by its number, or ErrNotFound.
func (db PaymentStore) ProcessorEvent(ctx context.Context, id int64) (ProcessorEvent, error) {
	rows, err := db.reads.Query(ctx, `
		select id, processor, event, type, payload, received_at, done_at, outcome from processor_events where id = @id`, pgx.NamedArgs{"id": id}) // primary key
	if err != nil {
		return ProcessorEvent{}, fmt.Errorf("read event %d: %w", id, err)
	}
	e, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[ProcessorEvent])
	if errors.Is(err, pgx.ErrNoRows) {
		return ProcessorEvent{}, fmt.Errorf("event %d: %w", id, ErrNotFound)
	}
	if err != nil {
		return ProcessorEvent{}, fmt.Errorf("read event %d: %w", id, err)
	}
	return e, nil
}

// TopUp is a payment through a processor that was credited to a key.
type TopUp struct {
	ID int64
	// Key is the key's public id.
	Key                        string
	Checkout                   string
	Amount, Refunded, Disputed accounts.Micros
	// Revision counts its changes.
	Revision int
}

// TopUpOf returns the top-up of a payment, and whether one exists.
func (db PaymentStore) TopUpOf(ctx context.Context, processor, payment string) (TopUp, bool, error) {
	rows, err := db.reads.Query(ctx, `
		select t.id, k.public_id as key, t.checkout, t.amount, t.refunded, t.disputed, t.revision
		from top_ups t join keys k on k.id = t.key_id
		where t.processor = @processor and t.payment = @payment`, // unique key
		pgx.NamedArgs{"processor": processor, "payment": payment})
	list, err := collect[TopUp](rows, err)
	if err != nil || len(list) == 0 {
		return TopUp{}, false, err
	}
	return list[0], true, nil
}

// TopUpChange is the current state of a payment according to the processor.
type TopUpChange struct {
	// Event is the number of the processed event, Outcome its result.
	Event     int64
	Outcome   string
	Processor string
	Payment   string
	// Was is the top-up before the processor was queried, nil if it did not exist.
	Was *TopUp
	// Now is the new state of the top-up. If it is nil, no top-up exists and none is created.
	Now *TopUp
}

// ErrNoKey means that no key has this public id.
var ErrNoKey = errors.New("unknown key")

// ChangeTopUp makes the credit of a payment match the processor's state, and ends the event. If the top-up has changed since it was read,
// it changes nothing and returns ErrMoved: the caller must query the processor again.
func (db PaymentStore) ChangeTopUp(ctx context.Context, f task.Fence, c TopUpChange) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		rows := int64(0)
		if c.Now != nil {
			if err := changeTopUp(ctx, tx, c); err != nil {
				return err
			}
			rows++
		}
		_, err := tx.Exec(ctx, `update processor_events set done_at = billing_now(), outcome = @outcome where id = @id and done_at is null`,
			pgx.NamedArgs{"id": c.Event, "outcome": c.Outcome})
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, rows)
	})
	if err != nil {
		return fmt.Errorf("top up by the payment %s: %w", c.Payment, err)
	}
	return nil
}

func changeTopUp(ctx context.Context, tx pgx.Tx, c TopUpChange) error {
	args := pgx.NamedArgs{
		"processor": c.Processor, "payment": c.Payment, "checkout": c.Now.Checkout, "key": c.Now.Key, "amount": int64(c.Now.Amount),
		"refunded": int64(c.Now.Refunded), "disputed": int64(c.Now.Disputed), "revision": 0,
	}
	if c.Was == nil {
		tag, err := tx.Exec(ctx, `
			insert into top_ups (processor, checkout, payment, key_id, amount, created_at)
			select @processor, @checkout, @payment, k.id, @amount, billing_now() from keys k where k.public_id = @key`, args)
		switch {
		case code(err) == "23505":
			return ErrMoved
		case err != nil:
			return err
		case tag.RowsAffected() == 0:
			return ErrNoKey
		}
	} else {
		args["revision"] = c.Was.Revision
	}
	if c.Was == nil && c.Now.Refunded == 0 && c.Now.Disputed == 0 || c.Was != nil && c.Was.Refunded == c.Now.Refunded && c.Was.Disputed == c.Now.Disputed {
		return nil
	}
	tag, err := tx.Exec(ctx, `
		update top_ups set refunded = @refunded, disputed = @disputed
		where processor = @processor and payment = @payment and revision = @revision`, args)
	if err == nil && tag.RowsAffected() == 0 {
		return ErrMoved
	}
	return err
}
