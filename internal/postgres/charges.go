package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/accounts"
)

// What became of a charge, or of a request that is to be counted.
const (
	// Charged: the price was taken, with a line in the ledger. PaidBefore: it was, under the same Idempotency-Key, a while ago.
	Charged    = "charged"
	PaidBefore = "paid_before"
	// ChargeRefused: the balance does not cover the price. Nothing was taken.
	ChargeRefused = "refused"
	// Counted: the request is one of the day's. QuotaExhausted: the day has no more; nothing was counted.
	Counted        = "counted"
	QuotaExhausted = "exhausted"
	// PlanChanged: the request was answered as the Pro plan's, and that has ended by now. Nothing was counted.
	PlanChanged = "plan_changed"
	// KeyRevoked and KeyUnknown: nothing is answered to this key any more.
	KeyRevoked = "revoked"
	KeyUnknown = "unknown"
)

// Charge asks for the price of one request.
type Charge struct {
	KeyID    int64
	Price    accounts.Micros
	Endpoint string
	// RequestID goes into the ledger.
	RequestID string
	// Digest is of Idempotency-Key, path and query, 32 bytes; nil where the request has none.
	Digest []byte
}

// ChargeOutcome is Charged, PaidBefore, ChargeRefused, KeyRevoked or KeyUnknown, with the balance after it.
type ChargeOutcome struct {
	Outcome string
	Balance accounts.Micros
}

// Request asks for one of the day's requests.
type Request struct {
	KeyID    int64
	Endpoint string
	// Pro tells that it was answered as the Pro plan's.
	Pro bool
}

// RequestOutcome is Counted, QuotaExhausted, PlanChanged, KeyRevoked or KeyUnknown, with how many of the day's requests are used and
// in how many seconds the day ends.
type RequestOutcome struct {
	Outcome     string
	Used        int64
	SecondsLeft int
}

// Charger takes prices and counts requests, those of concurrent callers in one commit. It is safe for concurrent use.
type Charger struct {
	charges  coalescer[Charge, ChargeOutcome]
	requests coalescer[Request, RequestOutcome]
}

// NewCharger returns a charger that works on db.
func NewCharger(db *DB) *Charger {
	return &Charger{
		charges:  coalescer[Charge, ChargeOutcome]{do: db.chargeAll, row: func(c Charge) int64 { return c.KeyID }, alone: isStatementError},
		requests: coalescer[Request, RequestOutcome]{do: db.countAll, row: func(r Request) int64 { return r.KeyID }, alone: isStatementError},
	}
}

// Charge takes a price, and returns once that is durable. When ctx ends before the database was asked, nothing was taken. An error
// that is ErrUnavailable leaves open whether it was, if the connection broke in the middle of the commit: a repetition with the same
// digest is not paid twice.
func (c *Charger) Charge(ctx context.Context, q Charge) (ChargeOutcome, error) {
	a, err := c.charges.ask(ctx, q)
	if err != nil {
		return a, fmt.Errorf("charge: %w", err)
	}
	return a, nil
}

// Count counts a request against its key's quota of the UTC day, and returns once that is durable.
func (c *Charger) Count(ctx context.Context, q Request) (RequestOutcome, error) {
	a, err := c.requests.ask(ctx, q)
	if err != nil {
		return a, fmt.Errorf("count a request: %w", err)
	}
	return a, nil
}

// CountOnce is Count for what a browser may load again: with the digest (32 bytes) of a request that was counted a while ago nothing is
// counted, and the outcome is PaidBefore.
func (db *DB) CountOnce(ctx context.Context, q Request, digest []byte) (RequestOutcome, error) {
	rows, err := db.pool.Query(ctx, `
		select outcome, used, seconds_left from count_request_once(@key, @endpoint, @pro, @free_quota, @pro_quota, @digest, @keep)`,
		pgx.NamedArgs{
			"key": q.KeyID, "endpoint": q.Endpoint, "pro": q.Pro, "digest": digest, "keep": accounts.IdempotencyGet,
			"free_quota": accounts.PlanFree.Quota(), "pro_quota": accounts.PlanPro.Quota(),
		})
	if err != nil {
		return RequestOutcome{}, fmt.Errorf("count a request: %w", asUnavailable(err))
	}
	out, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[RequestOutcome])
	if err != nil {
		return RequestOutcome{}, fmt.Errorf("count a request: %w", asUnavailable(err))
	}
	return out, nil
}

// isStatementError tells whether the server looked at a statement and did not like it: nothing of it happened.
func isStatementError(err error) bool {
	pe := (*pgconn.PgError)(nil)
	return errors.As(err, &pe) && !errors.Is(err, ErrUnavailable)
}

func (db *DB) chargeAll(ctx context.Context, list []Charge) ([]ChargeOutcome, error) {
	keys, prices := make([]int64, len(list)), make([]int64, len(list))
	endpoints, requests, digests := make([]string, len(list)), make([]string, len(list)), make([][]byte, len(list))
	for i, c := range list {
		keys[i], prices[i], endpoints[i], requests[i], digests[i] = c.KeyID, int64(c.Price), c.Endpoint, c.RequestID, c.Digest
	}
	rows, err := db.pool.Query(ctx, `
		select outcome, balance from charge_requests(@keys, @prices, @endpoints, @requests, @digests, @keep)`,
		pgx.NamedArgs{
			"keys": keys, "prices": prices, "endpoints": endpoints, "requests": requests, "digests": digests,
			"keep": accounts.IdempotencyGet,
		})
	if err != nil {
		return nil, asUnavailable(err)
	}
	var one ChargeOutcome
	var balance *int64
	out := make([]ChargeOutcome, 0, len(list))
	_, err = pgx.ForEachRow(rows, []any{&one.Outcome, &balance}, func() error {
		if one.Balance = 0; balance != nil {
			one.Balance = accounts.Micros(*balance)
		}
		out = append(out, one)
		return nil
	})
	return whole(out, len(list), err)
}

func (db *DB) countAll(ctx context.Context, list []Request) ([]RequestOutcome, error) {
	keys, endpoints, pro := make([]int64, len(list)), make([]string, len(list)), make([]bool, len(list))
	for i, r := range list {
		keys[i], endpoints[i], pro[i] = r.KeyID, r.Endpoint, r.Pro
	}
	rows, err := db.pool.Query(ctx, `
		select outcome, used, seconds_left from count_requests(@keys, @endpoints, @pro, @free_quota, @pro_quota)`,
		pgx.NamedArgs{
			"keys": keys, "endpoints": endpoints, "pro": pro,
			"free_quota": accounts.PlanFree.Quota(), "pro_quota": accounts.PlanPro.Quota(),
		})
	outcomes, err := collect[RequestOutcome](rows, err)
	return whole(outcomes, len(list), err)
}

// whole makes sure that there are as many answers as questions.
func whole[A any](answers []A, want int, err error) ([]A, error) {
	if err != nil {
		return nil, asUnavailable(err)
	}
	if len(answers) != want {
		return nil, fmt.Errorf("%d answers to %d questions", len(answers), want)
	}
	return answers, nil
}
