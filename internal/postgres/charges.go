package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/accounts"
)

// The outcomes of a charge, or of a request that is counted.
const (
	// Charged means that the price was deducted, with an entry in the ledger. PaidBefore means that an earlier request with the same
	// Idempotency-Key paid it.
	Charged    = "charged"
	PaidBefore = "paid_before"
	// ChargeRefused means that the balance does not cover the price. Nothing was deducted.
	ChargeRefused = "refused"
	// Counted means that the request was counted against the day's quota. QuotaExhausted means that the quota is used up; nothing was
	// counted.
	Counted        = "counted"
	QuotaExhausted = "exhausted"
	// PlanChanged means that the request was served under the Pro plan, which has expired since. Nothing was counted.
	PlanChanged = "plan_changed"
	// KeyRevoked and KeyUnknown mean that the key can no longer make requests.
	KeyRevoked = "revoked"
	KeyUnknown = "unknown"
)

// Charge is a charge for the price of one request.
type Charge struct {
	KeyID    int64
	Price    accounts.Micros
	Endpoint string
	// RequestID goes into the ledger.
	RequestID string
	// Digest is the digest of Idempotency-Key, path and query, 32 bytes. It is nil if the request has no Idempotency-Key.
	Digest []byte
}

// ChargeOutcome is Charged, PaidBefore, ChargeRefused, KeyRevoked or KeyUnknown, with the balance after it.
type ChargeOutcome struct {
	Outcome string
	Balance accounts.Micros
}

// Request is a request that counts against the day's quota.
type Request struct {
	KeyID    int64
	Endpoint string
	// Pro means that it was served under the Pro plan.
	Pro bool
}

// RequestOutcome is Counted, QuotaExhausted, PlanChanged, KeyRevoked or KeyUnknown. It also has the requests used today and the seconds
// until the UTC day ends.
type RequestOutcome struct {
	Outcome     string
	Used        int64
	SecondsLeft int
}

// Charger deducts prices and counts requests. It commits the work of concurrent callers together. It is safe for concurrent use.
type Charger struct {
	charges  coalescer[Charge, ChargeOutcome]
	requests coalescer[Request, RequestOutcome]
}

// NewCharger returns a charger that uses db.
func NewCharger(db KeyStore) *Charger {
	return &Charger{
		charges:  coalescer[Charge, ChargeOutcome]{do: db.chargeAll, row: func(c Charge) int64 { return c.KeyID }, alone: isStatementError},
		requests: coalescer[Request, RequestOutcome]{do: db.countAll, row: func(r Request) int64 { return r.KeyID }, alone: isStatementError},
	}
}

// Charge deducts a price, and returns when the change is durable. If ctx ends before the statement is sent, nothing is deducted. If the
// connection breaks during the commit, the error is ErrUnavailable and the outcome is unknown. A retry with the same digest is not charged
// twice.
func (c *Charger) Charge(ctx context.Context, q Charge) (ChargeOutcome, error) {
	a, err := c.charges.ask(ctx, q)
	if err != nil {
		return a, fmt.Errorf("charge: %w", err)
	}
	return a, nil
}

// Count counts a request against its key's quota of the UTC day, and returns when the count is durable.
func (c *Charger) Count(ctx context.Context, q Request) (RequestOutcome, error) {
	a, err := c.requests.ask(ctx, q)
	if err != nil {
		return a, fmt.Errorf("count a request: %w", err)
	}
	return a, nil
}

// CountOnce is Count for requests that a client may repeat. If a request with the same digest (32 bytes) was counted before, nothing is
// counted and the outcome is PaidBefore.
func (db KeyStore) CountOnce(ctx context.Context, q Request, digest []byte) (RequestOutcome, error) {
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

// isStatementError reports whether the server rejected the statement. Nothing of the statement took effect.
func isStatementError(err error) bool {
	pe := (*pgconn.PgError)(nil)
	return errors.As(err, &pe) && !errors.Is(err, ErrUnavailable)
}

func (db KeyStore) chargeAll(ctx context.Context, list []Charge) ([]ChargeOutcome, error) {
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

func (db KeyStore) countAll(ctx context.Context, list []Request) ([]RequestOutcome, error) {
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

// whole checks that there are as many answers as questions.
func whole[A any](answers []A, want int, err error) ([]A, error) {
	if err != nil {
		return nil, asUnavailable(err)
	}
	if len(answers) != want {
		return nil, fmt.Errorf("%d answers to %d questions", len(answers), want)
	}
	return answers, nil
}
