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

// X402Payment is a row of the payments by request.
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
	// LeaseUntil is until when its holder is waited for, nil where there is none.
	LeaseUntil     *time.Time
	TxHash, Reason *string
	// Denied tells that the facilitator says that it did not take it.
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
	// Open selects those that are not final: unknown, being settled, and failed ones whose authorization was good until after Since.
	Open bool
	// Since selects those that were made at this instant or later.
	Since time.Time
	Limit int
}

// X402Payments lists payments by request, newest first.
func (db *DB) X402Payments(ctx context.Context, f X402Filter) ([]X402Payment, error) {
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

// X402Change is a line of the ledger of payments by request.
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

// X402Changes lists every change of state of the payments by request, oldest first, all of them or those of one payment.
func (db *DB) X402Changes(ctx context.Context, payment int64) ([]X402Change, error) {
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

// ErrMoved: the payment changed while it was looked at. Look again.
var ErrMoved = errors.New("the payment has changed meanwhile")

// X402Resolution is what becomes of a payment by what the chain says.
type X402Resolution struct {
	// Of is the payment as it was when the chain was asked.
	Of X402Payment
	// State is its new state, or its present one to leave it as it is.
	State string
	// TxHash is the transaction that moved the money; required for X402Settled.
	TxHash, Reason string
	// Again is when the chain is to be asked once more; zero for never.
	Again time.Time
}

// ResolveX402 records what the chain says about a payment, unless the payment has changed since (ErrMoved).
func (db *DB) ResolveX402(ctx context.Context, f task.Fence, r X402Resolution) error {
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

// SawX402 records whether the chain shows a payment that the facilitator called settled, and when to look again; zero for never.
func (db *DB) SawX402(ctx context.Context, f task.Fence, p X402Payment, paid bool, again time.Time) error {
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

// X402Missing counts the payments that the facilitator called settled and the chain does not show, and names the first.
func (db *DB) X402Missing(ctx context.Context) (n int, first int64, err error) {
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

// X402SubjectTerms is the subject of the runs that look at the token's contract.
const X402SubjectTerms = "terms"

// RetryX402 makes a run due that looks after a subject, a payment's number or X402SubjectTerms, at an instant.
func (db *DB) RetryX402(ctx context.Context, f task.Fence, subject string, at time.Time) error {
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

// CheckX402Terms makes a run due at once that looks whether the settings name the token's domain.
func (db *DB) CheckX402Terms(ctx context.Context) error {
	// By the database's clock: a run that is due since long ago would look as if nobody had begun it.
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `select x402_check(@subject, clock_timestamp())`, pgx.NamedArgs{"subject": X402SubjectTerms})
		return err
	})
	if err != nil {
		return fmt.Errorf("look after %s again: %w", X402SubjectTerms, err)
	}
	return nil
}

// SaveX402Terms records what was found at the token's contract and when to look again, and forgets reservations whose holders died
// before they asked anybody to settle.
func (db *DB) SaveX402Terms(ctx context.Context, f task.Fence, t X402Terms, again time.Time) error {
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
