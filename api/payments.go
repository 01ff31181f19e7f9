package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api/view"
	"tidemark/internal/postgres"
	"tidemark/internal/telemetry"
)

// PaymentsOptions configure payments by request: the seller and the facilitator.
type PaymentsOptions struct {
	Seller      x402.Seller
	Facilitator *x402.Client
	// Signed reports whether the payer's key signed a payment, before the facilitator is called. The error says why the signature is
	// invalid. The result is false if only the chain can verify it, for example the signature of a contract wallet. If Signed is nil, only
	// the facilitator verifies signatures.
	Signed func(x402.Seller, x402.Payment) (bool, error)
	// Deliveries sign what was delivered for a payment. If it is nil, receipts are not signed.
	Deliveries *x402.DeliveryKeys
	// Tariff contains the prices.
	Tariff accounts.Tariff
	// Store stores every payment. It connects with the API's database role.
	Store *postgres.DB
	// Now is the wall clock in every world, because authorizations expire in the chain's real time.
	Now func() time.Time
	// WaitTimeout is how long a request waits for the chain to resolve an unknown settlement. Zero means 5 seconds.
	WaitTimeout time.Duration
	// MaxSales is the maximum number of concurrent sales in this process. MaxSalesByAddress is the maximum for one client address. Zero
	// means 512 and 64.
	MaxSales, MaxSalesByAddress int
	Log                         *slog.Logger
	// Metrics counts panics. It may be nil.
	Metrics *telemetry.Metrics
}

// Payments is the state that all paid endpoints of a process share: the terms that can be offered, and the requests that wait for a
// payment. It is safe for concurrent use.
type Payments struct {
	o PaymentsOptions
	// versions are the versions that the facilitator settles. Nil means not known yet; then both are offered.
	versions atomic.Pointer[[]int]
	verdict  atomic.Pointer[postgres.X402Terms]

	waiters notifier
	// sales limits the payments under way. Each holds a connection until the facilitator and the chain respond.
	sales *view.ConcurrencyLimiter

	mu     sync.Mutex
	counts map[string]int64
}

// NewPayments returns the shared state. It can serve immediately. Run keeps it current.
func NewPayments(o PaymentsOptions) *Payments {
	if o.WaitTimeout == 0 {
		o.WaitTimeout = 5 * time.Second
	}
	return &Payments{
		o: o, counts: map[string]int64{},
		sales: view.NewConcurrencyLimiter(cmp.Or(o.MaxSales, 512), cmp.Or(o.MaxSalesByAddress, 64)),
	}
}

// PaymentsHealth is the state of payments by request, for the operator.
type PaymentsHealth struct {
	Facilitator x402.Health
	// Outcomes counts the responses to requests with a payment, by outcome.
	Outcomes map[string]int64
	// Fault is why sales are stopped. Empty means that they are not.
	Fault string
}

// Health returns the current state of the payments.
func (p *Payments) Health() PaymentsHealth {
	h := PaymentsHealth{Facilitator: p.o.Facilitator.Health(), Fault: p.fault()}
	p.mu.Lock()
	defer p.mu.Unlock()
	h.Outcomes = maps.Clone(p.counts)
	return h
}

func (p *Payments) count(outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[outcome]++
}

// Run keeps the state current until ctx ends: the versions from the facilitator, and from the database what the workers found on the chain.
func (p *Payments) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { p.loadSupported(ctx); return nil })
	g.Go(func() error {
		return p.o.Store.Listen(ctx, postgres.Listener{
			Channels:  []string{postgres.ChannelX402},
			Connected: func(ctx context.Context) error { p.waiters.wakeAll(); return p.checkSupported(ctx) },
			Notified: func(ctx context.Context, _, payload string) error {
				if payload == postgres.X402SubjectTerms {
					return p.checkSupported(ctx)
				}
				p.waiters.wake(payload)
				return nil
			},
			Log: p.o.Log,
		})
	})
	return g.Wait()
}

// loadSupported asks the facilitator which versions it settles. It retries soon after a failure, and otherwise refreshes periodically.
func (p *Payments) loadSupported(ctx context.Context) {
	const first, longest, usual = time.Second, time.Minute, time.Hour
	pause := first
	for {
		var versions []int
		err := p.o.Metrics.Guard(ctx, p.o.Log, "facilitator", func() (err error) {
			versions, err = p.o.Facilitator.Supported(ctx, p.o.Seller)
			return err
		})
		wait := usual
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.o.Log.WarnContext(ctx, "the payment facilitator does not say what it settles (X402_FACILITATOR_URL)", "err", err)
			wait, pause = pause, min(2*pause, longest)
		default:
			pause = first
			if len(versions) < 2 {
				p.o.Log.WarnContext(ctx, "the payment facilitator does not settle every version of x402 on this network (X402_FACILITATOR_URL, X402_NETWORK)",
					"network", p.o.Seller.Network.CAIP2(), "versions", versions)
			}
			p.versions.Store(&versions)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// checkSupported reads what a worker found about the token's contract.
func (p *Payments) checkSupported(ctx context.Context) error {
	s := p.o.Seller
	v, err := p.o.Store.X402Verdict(ctx, postgres.X402Terms{
		ChainID: s.Network.ChainID, Asset: s.Asset.Key(), Name: s.Asset.Name, Version: s.Asset.Version,
	})
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		p.o.Log.InfoContext(ctx, "no worker has looked at the token's contract (BASE_RPC_URL): X402_ASSET_NAME and X402_ASSET_VERSION are trusted",
			"asset", s.Asset.Address, "name", s.Asset.Name, "version", s.Asset.Version)
		return nil
	case err != nil:
		return err
	case !v.OK:
		p.o.Log.ErrorContext(ctx, "nothing is sold by request: payments would be signed for another token (X402_ASSET_NAME, X402_ASSET_VERSION)",
			"asset", s.Asset.Address, "found", v.Detail)
	}
	p.verdict.Store(&v)
	return nil
}

// fault returns why sales are stopped, or an empty string.
func (p *Payments) fault() string {
	if v := p.verdict.Load(); v != nil && !v.OK {
		return "The settings name another token than the one at the contract."
	}
	if v := p.versions.Load(); v != nil && len(*v) == 0 {
		return "The payment facilitator settles nothing on this network."
	}
	return ""
}

// watched reports whether a worker checks unknown settlements on the chain. Every worker that can do this also checks the token regularly.
func (p *Payments) watched() bool {
	v := p.verdict.Load()
	return v != nil && p.o.Now().Sub(v.CheckedAt) < 3*time.Hour
}

// offered returns the protocol versions to offer. Nil means all.
func (p *Payments) offered() []int {
	if v := p.versions.Load(); v != nil {
		return *v
	}
	return nil
}
