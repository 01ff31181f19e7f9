package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"tidemark/accounts"
	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/chain/base"
	"tidemark/internal/devchain"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

// The accounts of the development chain in payments by request: the facilitator, the seller, and a payer for people to pay from.
const (
	facilitatorAccount = 9
	sellerAccount      = 8
	payerAccount       = 1
)

// x402Enabled reports whether the service accepts payments by request.
func (p *program) x402Enabled() bool {
	return p.settings.X402FacilitatorURL != "" && p.settings.X402PayTo != ""
}

// seller returns the recipient of payments by request.
func (p *program) seller() (x402.Seller, error) {
	s := p.settings
	out, err := x402.NewSeller(x402.Settings{
		Network: s.X402Network, Asset: s.X402Asset, AssetName: s.X402AssetName, AssetVersion: s.X402AssetVersion, PayTo: s.X402PayTo,
	})
	if err != nil {
		return x402.Seller{}, usageError{err}
	}
	return out, nil
}

// newPayments returns the API's part of payments by request, nil if they are not enabled.
func (p *program) newPayments(db *postgres.DB, tariff accounts.Tariff) (*api.Payments, error) {
	if !p.x402Enabled() {
		if p.settings.X402FacilitatorURL != "" || p.settings.X402PayTo != "" {
			p.log.Warn("nothing is sold by request: that takes both X402_FACILITATOR_URL and X402_PAY_TO")
		}
		return nil, nil
	}
	seller, err := p.seller()
	if err != nil {
		return nil, err
	}
	facilitator, err := x402.NewClient(x402.Options{URL: p.settings.X402FacilitatorURL, Auth: p.settings.X402FacilitatorAuth, Now: p.now})
	if err != nil {
		return nil, usageError{err}
	}
	keys, err := p.deliveryKeys()
	if err != nil {
		return nil, err
	}
	return api.NewPayments(api.PaymentsOptions{
		Deliveries: keys, Seller: seller, Facilitator: facilitator, Signed: signedByPayer, Tariff: tariff, Store: db, Now: p.now, Log: p.log.With("role", "api"),
		Metrics: p.metrics,
	}), nil
}

// deliveryKeys reads the keys that sign receipts, nil if the settings name none.
func (p *program) deliveryKeys() (*x402.DeliveryKeys, error) {
	path := p.settings.X402ReceiptKeyFile
	if path == "" {
		return nil, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("X402_RECEIPT_KEY_FILE: %w", err)}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, usageError{fmt.Errorf("X402_RECEIPT_KEY_FILE: %s can be read by others: chmod 600", path)}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usageError{fmt.Errorf("X402_RECEIPT_KEY_FILE: %w", err)}
	}
	keys, err := x402.NewDeliveryKeys(text, p.settings.BaseURL())
	if err != nil {
		return nil, usageError{fmt.Errorf("X402_RECEIPT_KEY_FILE: %s: %w", path, err)}
	}
	return keys, nil
}

// makeDeliveryKey makes the sandbox's own key for receipts, once.
func (p *program) makeDeliveryKey() error {
	if p.settings.X402ReceiptKeyFile != "" {
		return nil
	}
	path := filepath.Join(p.worldDir(), "receipt.key")
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		seed := make([]byte, ed25519.SeedSize)
		if _, err := rand.Read(seed); err != nil {
			return fmt.Errorf("make a key for receipts: %w", err)
		}
		text, err := x402.NewDeliveryKey(seed)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return fmt.Errorf("write the key for receipts (STATE_DIR): %w", err)
		}
	}
	p.settings.X402ReceiptKeyFile = path
	return nil
}

// signedByPayer reports whether the payer's key signed a payment for the seller's token.
func signedByPayer(s x402.Seller, p x402.Payment) (bool, error) {
	a := p.Authorization
	return base.Signed(s.Network.ChainID, s.Asset.Address, base.Domain{Name: s.Asset.Name, Version: s.Asset.Version}, base.SignedTransfer{
		From: a.From, To: a.To, Value: a.Value, ValidAfter: a.ValidAfter, ValidBefore: a.ValidBefore, Nonce: a.Nonce,
	}, p.Signature)
}

// newX402 makes the job that queries the chain for payments by request.
func (p *program) newX402(db *postgres.DB) (workers.X402, error) {
	job := workers.X402{DB: db, Now: p.now}
	urls := p.settings.BaseRPCURLs()
	if p.settings.X402PayTo == "" || len(urls) == 0 {
		return job, nil
	}
	var err error
	if job.Seller, err = p.seller(); err != nil {
		return job, err
	}
	if id := job.Seller.Network.ChainID; id != p.settings.BaseChainID {
		return job, usageError{fmt.Errorf("X402_NETWORK is chain %d and BASE_CHAIN_ID %d: payments by request are checked on the chain of BASE_RPC_URL", id, p.settings.BaseChainID)}
	}
	if job.Chain, err = base.Dial(p.settings.BaseChainID, urls...); err != nil {
		return job, usageError{fmt.Errorf("BASE_RPC_URL: %w", err)}
	}
	return job, nil
}

// checkToken makes a worker compare the settings with the token's contract soon, because the settings may be new.
func (p *program) checkToken(ctx context.Context, db *postgres.DB) error {
	if p.settings.X402PayTo == "" || p.settings.BaseRPCURL == "" {
		return nil
	}
	return db.CheckX402Terms(ctx)
}

// facilitate starts a facilitator on the development chain and makes it the facilitator of the settings, with an account to be paid. It
// does nothing if the settings name a facilitator. The caller must run serve, which serves until ctx ends.
func (p *program) facilitate(ctx context.Context) (serve func(context.Context) error, err error) {
	if p.dev == nil || p.settings.X402FacilitatorURL != "" {
		return func(context.Context) error { return nil }, nil
	}
	f, err := devchain.NewFacilitator(p.dev, facilitatorAccount)
	if err != nil {
		return nil, err
	}
	key := filepath.Join(p.worldDir(), "payer.key")
	if err := os.WriteFile(key, []byte(devchain.KeyHex(payerAccount)+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write the payer's key (STATE_DIR): %w", err)
	}
	if err := p.makeDeliveryKey(); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the development chain's facilitator: %w", err)
	}
	p.settings.X402FacilitatorURL = "http://" + l.Addr().String()
	p.settings.X402Network = fmt.Sprintf("eip155:%d", p.dev.ID())
	if p.settings.X402PayTo == "" {
		p.settings.X402PayTo = devchain.Address(sellerAccount).Hex()
	}
	return func(ctx context.Context) error { return f.Serve(ctx, l) }, nil
}
