package base

import (
	"context"
	"fmt"
	"math/big"
)

// Health is the state that an operator monitors to prevent failures.
type Health struct {
	ChainID uint64
	Heads   Heads
	// Registered reports whether the schema is registered, Deployed whether EAS's address has a contract.
	Registered, Deployed bool
	// Nonce counts the attester's transactions; Pending counts the transactions that wait for a block.
	Nonce, Pending uint64
	// BalanceWei is the attester's balance. RunwayDays is the number of daily attestations that it pays for at the present fees.
	BalanceWei *big.Int
	RunwayDays int
}

// usualGas is the gas for one attestation, measured on the contracts of EAS 1.9 with a reference to the one before.
const usualGas = 260_000

// Health reads the attester's state from one node.
func (a *Attester) Health(ctx context.Context) (Health, error) {
	h := Health{ChainID: a.Client.id}
	who := a.Signer.Address()
	err := a.Client.on(ctx, func(ctx context.Context, n *node) (err error) {
		if h.Heads, err = n.heads(ctx); err != nil {
			return err
		}
		code, err := n.code(ctx, a.EAS.Contract)
		if err != nil {
			return err
		}
		if h.Deployed = len(code) > 0; h.Deployed {
			if h.Registered, err = n.registered(ctx, a.EAS.Registry, SchemaUID(Schema)); err != nil {
				return err
			}
		}
		if h.Nonce, err = n.nonce(ctx, who, "latest"); err != nil {
			return err
		}
		pending, err := n.nonce(ctx, who, "pending")
		if err != nil {
			return err
		}
		h.Pending = pending - min(pending, h.Nonce)
		if h.BalanceWei, err = n.balance(ctx, who); err != nil {
			return err
		}
		latest, err := n.latest(ctx)
		if err != nil {
			return err
		}
		tip, err := n.tip(ctx)
		if err != nil {
			return err
		}
		day := new(big.Int).Mul(tip.Add(tip, latest.BaseFee), big.NewInt(usualGas))
		if day.Sign() > 0 {
			h.RunwayDays = int(min(wei(new(big.Int).Div(h.BalanceWei, day)), 36_500))
		}
		return nil
	})
	if err != nil {
		return Health{}, fmt.Errorf("read the attester's state: %w", err)
	}
	return h, nil
}
