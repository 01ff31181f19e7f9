package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"tidemark/accounts"
	"tidemark/chain/base"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

type paymentsCommand struct {
	config.Stored

	List      paymentsList      `cmd:"" default:"withargs" help:"Print the payments by request (x402), or the ledger of their changes."`
	Reconcile paymentsReconcile `cmd:"" help:"Ask the chain about every payment that is not final, and compare the final ones with it."`
	Claims    claimsCommand     `cmd:"" help:"Transfers that keys have claimed (POST /api/v1/payments/verify)."`
	Resolve   paymentsResolve   `cmd:"" help:"State how a payment ended, if no node of the chain is known that could tell."`
}

type paymentsList struct {
	format

	State  string `enum:",reserved,settling,unknown,settled,failed" default:"" help:"Only these (reserved, settling, unknown, settled, failed)."`
	ID     int64  `help:"Only this one."`
	Ledger bool   `help:"Every change of state, oldest first."`
	Limit  limit  `default:"50" help:"How many, newest first."`
}

// Run prints the payments.
func (c paymentsList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	if c.Ledger {
		list, err := db.X402Changes(ctx, c.ID)
		if err != nil {
			return err
		}
		t := newTable("at", "payment", "state", "usd", "network", "payer", "resource", "transaction", "reason")
		for _, e := range list {
			t.add(e.At, e.PaymentID, e.State, accounts.Micros(e.Amount).Shortest(), fmt.Sprintf("eip155:%d", e.ChainID), e.Payer, e.Resource, e.TxHash, e.Reason)
		}
		return c.list(p.stdout, t)
	}
	list, err := db.X402Payments(ctx, postgres.X402Filter{ID: c.ID, State: c.State, Limit: int(c.Limit)})
	if err != nil {
		return err
	}
	t := newTable("id", "made", "state", "delivered", "usd", "network", "payer", "resource", "transaction", "reason")
	for _, x := range list {
		t.add(x.ID, x.CreatedAt, x.State, x.DeliveredAt, accounts.Micros(x.Amount).Shortest(), fmt.Sprintf("eip155:%d", x.ChainID), x.Payer, x.Resource,
			x.TxHash, x.Reason)
	}
	return c.list(p.stdout, t)
}

type paymentsReconcile struct {
	config.Node

	Days int `default:"30" help:"How many days back."`
}

// Run reconciles the payments with the chain. If they differ, the exit status is 1.
func (c paymentsReconcile) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	node, err := p.dialChain()
	if err != nil {
		return err
	}
	defer node.Close()
	job := workers.X402{DB: db, Chain: node, Now: p.now}
	list, err := db.X402Payments(ctx, postgres.X402Filter{Since: p.now().AddDate(0, 0, -c.Days), Limit: 1 << 20})
	if err != nil {
		return err
	}
	var agree, changed, open, differ int
	for _, x := range list {
		line := func(what string) {
			_, _ = fmt.Fprintf(p.stdout, "payment %d of %s USD by %s: %s\n", x.ID, accounts.Micros(x.Amount).Shortest(), x.Payer, what)
		}
		switch x.State {
		case postgres.X402Reserved: // no settlement was requested
		case postgres.X402Settled:
			seen, err := job.Authorization(ctx, x)
			if err != nil {
				return err
			}
			if seen.State != base.AuthorizationPaid || seen.TxHash != deref(x.TxHash) {
				differ++
				line(fmt.Sprintf("settled by %s here, and %s %s on the chain", deref(x.TxHash), seen.State, seen.TxHash))
				continue
			}
			agree++
		default:
			next, err := job.Look(ctx, x)
			if err != nil {
				return err
			}
			if err := db.ResolveX402(ctx, task.Fence{}, next); err != nil && !errors.Is(err, postgres.ErrMoved) {
				return err
			}
			switch {
			case next.State != x.State:
				changed++
				line(strings.TrimSpace(fmt.Sprintf("was %s, is %s %s", x.State, next.State, next.TxHash)))
			case next.State == postgres.X402Failed:
				agree++
			default:
				open++
				line(x.State + ": the chain has not seen it yet, and would still take it")
			}
		}
	}
	_, _ = fmt.Fprintf(p.stdout, "%d agree with the chain, %d were resolved, %d are open, %d differ\n", agree, changed, open, differ)
	if differ > 0 {
		return fmt.Errorf("%d payments differ from the chain", differ)
	}
	return nil
}

// dialChain connects to the chain of the settings, or to the development chain of this world's `up`.
func (p *program) dialChain() (*base.Client, error) {
	id, urls := p.settings.BaseChainID, p.settings.BaseRPCURLs()
	if len(urls) == 0 {
		if c, err := p.connections(); err == nil && c.BaseRPCURL != "" {
			id, urls = c.BaseChainID, []string{c.BaseRPCURL}
		}
	}
	if len(urls) == 0 {
		return nil, usageError{errors.New("BASE_RPC_URL is not set: only the chain knows the outcome of a payment (or state it with `tidemark payments resolve`)")}
	}
	node, err := base.Dial(id, urls...)
	if err != nil {
		return nil, usageError{fmt.Errorf("BASE_RPC_URL: %w", err)}
	}
	return node, nil
}

type paymentsResolve struct {
	ID     int64  `arg:"" help:"Its number, as in list."`
	State  string `arg:"" enum:"settled,failed" help:"settled or failed."`
	Tx     string `help:"The transaction that moved the money, for settled."`
	Reason reason `required:"" help:"How you know. It is kept."`
}

// Run resolves a payment by an operator's decision.
func (c paymentsResolve) Run(ctx context.Context, p *program) error {
	if c.State == postgres.X402Settled {
		var err error
		if c.Tx, err = base.ParseTxHash(c.Tx); err != nil {
			return usageError{fmt.Errorf("--tx: %w", err)}
		}
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.X402Payments(ctx, postgres.X402Filter{ID: c.ID, Limit: 1})
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("unknown payment %d", c.ID)
	}
	if s := list[0].State; s != postgres.X402Unknown && s != postgres.X402Settling {
		return fmt.Errorf("payment %d is %s: there is nothing to resolve", c.ID, s)
	}
	if err := db.ResolveX402(ctx, task.Fence{}, postgres.X402Resolution{Of: list[0], State: c.State, TxHash: c.Tx, Reason: string(c.Reason)}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "payment %d is %s\n", c.ID, c.State)
	return err
}
