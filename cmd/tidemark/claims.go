package main

import (
	"fmt"
	"log/slog"

	"tidemark/accounts"
	"tidemark/accounts/stripe"
	"tidemark/api"
	"tidemark/api/view"
	"tidemark/chain/base"
	"tidemark/internal/postgres"
	"tidemark/workers"
)

// newClaimsOptions returns the options for top-ups by transfer, nil if the service accepts none.
func (p *program) newClaimsOptions() (*api.ClaimsOptions, error) {
	if p.settings.X402PayTo == "" {
		return nil, nil
	}
	seller, err := p.seller()
	if err != nil {
		return nil, err
	}
	return &api.ClaimsOptions{Seller: seller}, nil
}

// info returns the service's description of itself.
func (p *program) info(tariff accounts.Tariff, claims *api.ClaimsOptions) view.InfoOptions {
	o := view.InfoOptions{Version: version, Commit: commit(), Tariff: tariff}
	if claims != nil {
		s := claims.Seller
		o.PayTo, o.Token, o.TokenAddress, o.Network = s.PayTo, s.Asset.Symbol, s.Asset.Address, s.Network.CAIP2()
	}
	return o
}

// newClaims makes the job that queries the chain for claims, with the node and the seller of the payments by request.
func (p *program) newClaims(db *postgres.DB, x workers.X402, log *slog.Logger) (workers.Claims, error) {
	job := workers.Claims{
		DB: db, Chain: x.Chain, Gives: accounts.GivesBalance, NeedProof: p.settings.PaymentsRequireSenderProof, Now: p.now, Log: log,
	}
	if accounts.Model(p.settings.BillingModel) == accounts.ModelPlan {
		job.Gives = accounts.GivesPro
	}
	if p.settings.X402PayTo == "" {
		return job, nil
	}
	seller, err := p.seller()
	if err != nil {
		return job, err
	}
	token, err := base.ParseAddress(seller.Asset.Address)
	if err != nil {
		return job, usageError{fmt.Errorf("X402_ASSET: %w", err)}
	}
	us, err := base.ParseAddress(seller.PayTo)
	if err != nil {
		return job, usageError{fmt.Errorf("X402_PAY_TO: %w", err)}
	}
	job.ChainID, job.Terms = seller.Network.ChainID, base.DefaultTerms(token, us)
	return job, nil
}

// newStripe makes the client of the payment processor, nil if none is configured.
func (p *program) newStripe() (*stripe.Client, error) {
	s := p.settings
	if s.StripeSecretKey == "" && s.StripeWebhookSecret == "" {
		return nil, nil
	}
	c, err := stripe.New(stripe.Options{SecretKey: s.StripeSecretKey, WebhookSecret: s.StripeWebhookSecret, URL: s.StripeAPIURL})
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// newCards makes the API's part of top-ups by card, nil if none are accepted: plans are not sold by card.
func (p *program) newCards(model accounts.Model) (api.Cards, error) {
	c, err := p.newStripe()
	if err != nil || c == nil || model != accounts.ModelBalance {
		return nil, err
	}
	return c, nil
}

// newProcessor makes the job that queries the payment processor.
func (p *program) newProcessor(db *postgres.DB) (workers.Processor, error) {
	job := workers.Processor{DB: db}
	c, err := p.newStripe()
	if err == nil && c != nil {
		job.API = c
	}
	return job, err
}
