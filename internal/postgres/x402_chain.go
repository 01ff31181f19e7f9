package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// X402Payment is a row of the x402 payments.
type X402Payment struct {
	ID      int64
	ChainID int64
	// Addresses and nonce are in lower case.
	Asset, Payer, Nonce, PayTo string
	// Amount is in micro-dollars.
	Amount      int64
	ValidBefore time.Time
	Resource    string
	Version     int
	State       string
	Attempt     int
	// LeaseUntil is when its holder's lease ends, nil if it has no holder.
	LeaseUntil     *time.Time
	TxHash, Reason *string
	// Denied means that the facilitator states that it did not take the payment.
	Denied               bool
	DeliveredAt          *time.Time
	CreatedAt, UpdatedAt time.Time
}

const x402Columns = `id, chain_id, asset, payer, nonce, pay_to, amount, valid_before, resource, version, state, attempt, lease_until, tx_hash,
	reason, denied, delivered_at, created_at, updated_at`

// X402Filter selects payments. Empty fields select all.
type X402Filter struct {
	ID    int64
	State string
	// Open selects payments that are not final: unknown, settling, or failed with an authorization that was valid until after Since.
	Open bool
	// Since selects payments that were created at this instant or later.
	Since time.Time
	Limit int
}

// X402Payments lists x402 payments, newest first.
func (db PaymentStore) X402Payments(ctx context.Context, f X402Filter) ([]X402Payment, error) {
	rows, err := db.reads.Query(ctx, `
		select `+x402Columns+` from x402_payments
		where (@id = 0 or id = @id) and (@state = '' or state = @state) and created_at >= @since
			and (not @open or state in ('settling', 'unknown') or state = 'failed' and valid_before > @since)
		order by id desc
		limit @limit`,
		pgx.NamedArgs{"id": f.ID, "state": f.State, "open": f.Open, "since": f.Since, "limit": f.Limit})
	list, err := collect[X402Payment](rows, err)
	if err != nil {
		return nil, fmt.Errorf("list the payments by request: %w", err)
	}
	return list, nil
}

// X402Change is a row of the ledger of x402 payments.
type X402Change struct {
	ID             int64
	PaymentID      int64
	ChainID        int64
	Asset, Payer   string
	PayTo          string
	Amount         int64
	Resource       string
	Version        int
	State          string
	TxHash, Reason *string
	At             time.Time
}

// X402Changes lists the changes of state of one payment, or of all payments if payment is 0, oldest first.
func (db PaymentStore) X402Changes(ctx context.Context, payment int64) ([]X402Change, error) {
	rows, err := db.reads.Query(ctx, `
		select id, payment_id, chain_id, asset, payer, pay_to, amount, resource, version, state, tx_hash, reason, at from x402_ledger
		where @payment = 0 or payment_id = @payment
		order by id`, pgx.NamedArgs{"payment": payment}) // index x402_ledger_of
	list, err := collect[X402Change](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of the payments by request: %w", err)
	}
	return list, nil
}

// ErrMoved means that a payment, claim or top-up changed after it was read. The caller must read it again.
var ErrMoved = errors.New("the payment has changed meanwhile")

// X402Resolution is the result of a check of the chain for a payment.
type X402Resolution struct {
	// Of is the payment as it was when the chain was checked.
	Of X402Payment
	// State is its new state. The present state leaves it unchanged.
	State string
	// TxHash is the transaction that moved the money; required for X402Settled.
	TxHash, Reason string
	// Again is when the chain must be checked again; zero means never.
	Again time.Time
}

// ResolveX402 records the result of a check of the chain. It returns ErrMoved if the payment has changed since.
func (db PaymentStore) ResolveX402(ctx context.Context, f task.Fence, r X402Resolution) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		changed := int64(0)
		if r.State != r.Of.State {
			tag, err := tx.Exec(ctx, `
				update x402_payments
				set state = @state, tx_hash = coalesce(nullif(@tx_hash, ''), tx_hash), reason = nullif(@reason, '')
				where id = @id and state = @was and attempt = @attempt`,
				pgx.NamedArgs{"id": r.Of.ID, "state": r.State, "was": r.Of.State, "attempt": r.Of.Attempt, "tx_hash": r.TxHash, "reason": r.Reason})
			if err != nil {
				return err
			}
			if changed = tag.RowsAffected(); changed == 0 {
				return ErrMoved
			}
		}
		if !r.Again.IsZero() {
			if err := checkX402(ctx, tx, strconv.FormatInt(r.Of.ID, 10), r.Again); err != nil {
				return err
			}
		}
		return checkFence(ctx, tx, f, changed)
	})
	if err != nil {
		return fmt.Errorf("resolve payment %d: %w", r.Of.ID, err)
	}
	return nil
}

// SawX402 records whether the chain contains a payment that the facilitator called settled, and schedules the next check; zero means none.
func (db PaymentStore) SawX402(ctx context.Context, f task.Fence, p X402Payment, paid bool, again time.Time) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		verdict := "missing"
		if paid {
			verdict = "paid"
		}
		_, err := tx.Exec(ctx, `
			insert into x402_sightings (payment_id, verdict) values (@id, @verdict)
			on conflict (payment_id) do update set verdict = @verdict, looked_at = clock_timestamp()`,
			pgx.NamedArgs{"id": p.ID, "verdict": verdict})
		if err != nil {
			return err
		}
		if !again.IsZero() {
			if err := checkX402(ctx, tx, strconv.FormatInt(p.ID, 10), again); err != nil {
				return err
			}
		}
		return checkFence(ctx, tx, f, 1)
	})
	if err != nil {
		return fmt.Errorf("record what the chain shows of payment %d: %w", p.ID, err)
	}
	return nil
}

// X402Missing counts the payments that the facilitator called settled but the chain does not contain. It also returns the first of them.
func (db PaymentStore) X402Missing(ctx context.Context) (n int, first int64, err error) {
	err = db.pool.QueryRow(ctx, `select count(*), coalesce(min(payment_id), 0) from x402_sightings where verdict = 'missing'`).Scan(&n, &first)
	if err != nil {
		return 0, 0, fmt.Errorf("count the payments that the chain does not show: %w", asUnavailable(err))
	}
	return n, first, nil
}

func checkX402(ctx context.Context, tx pgx.Tx, subject string, at time.Time) error {
	_, err := tx.Exec(ctx, `select x402_check(@subject, @at)`, pgx.NamedArgs{"subject": subject, "at": at})
	return err
}

// X402SubjectTerms is the subject of the runs that check the token's contract.
const X402SubjectTerms = "terms"

// RetryX402 schedules a run that checks a subject at an instant. The subject is a payment's number or X402SubjectTerms.
func (db PaymentStore) RetryX402(ctx context.Context, f task.Fence, subject string, at time.Time) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		if err := checkX402(ctx, tx, subject, at); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return fmt.Errorf("look after %s again: %w", subject, err)
	}
	return nil
}

// CheckX402Terms schedules an immediate run that checks whether the settings match the token's domain.
func (db PaymentStore) CheckX402Terms(ctx context.Context) error {
	// Uses the database's clock: a run that was due long ago would look as if no worker had started it.
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select x402_check(@subject, clock_timestamp())`, pgx.NamedArgs{"subject": X402SubjectTerms})
		return err
	})
	if err != nil {
		return fmt.Errorf("look after %s again: %w", X402SubjectTerms, err)
	}
	return nil
}

// SaveX402Terms records the check of the token's contract and schedules the next one. It also deletes reservations whose holders died
// before they asked a facilitator to settle.
func (db PaymentStore) SaveX402Terms(ctx context.Context, f task.Fence, t X402Terms, again time.Time) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into x402_terms (chain_id, asset, name, version, ok, detail)
			values (@chain, @asset, @name, @version, @ok, @detail)
			on conflict (chain_id, asset, name, version) do update set ok = @ok, detail = @detail, checked_at = clock_timestamp()`,
			pgx.NamedArgs{"chain": int64(t.ChainID), "asset": t.Asset, "name": t.Name, "version": t.Version, "ok": t.OK, "detail": t.Detail})
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `
			delete from x402_payments p using (
				select r.id from x402_payments r
				where r.state = 'reserved' and r.lease_until < clock_timestamp() - interval '1 hour'
					and not exists (select from x402_ledger l where l.payment_id = r.id)
				for update skip locked
			) gone where p.id = gone.id`) // index x402_payments_open
		if err != nil {
			return err
		}
		if err := checkX402(ctx, tx, X402SubjectTerms, again); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 1+tag.RowsAffected())
	})
	if err != nil {
		return fmt.Errorf("save the verdict on the token: %w", err)
	}
	return nil
}
