package view

import (
	"time"

	"tidemark/accounts"
)

// ClaimBody is the body of /payments/verify and of /payments/claims/{tx_hash}.
type ClaimBody struct {
	Data Claim `json:"data"`
}

// Claim is how a key's claim of a transaction stands.
type Claim struct {
	// Status is "verified", "pending", "rejected", "expired" or "revoked".
	Status string `json:"status"`
	TxHash string `json:"tx_hash"`
	// Network is a CAIP-2 id, Token the stablecoin's symbol.
	Network string `json:"network"`
	Token   string `json:"token"`
	// What follows is null until something is granted. Of several transfers in one transaction, Amount is the sum.
	Amount      *Money  `json:"amount"`
	From        *string `json:"from"`
	To          string  `json:"to"`
	BlockNumber *int64  `json:"block_number"`
	// Confirmations counts the blocks from the transfer's own to the newest when it was granted.
	Confirmations *int64 `json:"confirmations"`
	// Final reports whether the transfer can no longer be reverted. Until then, a transfer that vanishes from the chain is taken back.
	Final bool `json:"final"`
	// Plan is "pro" under plans, with its end. Extended reports whether the plan was already running. Balance is the balance after the
	// credit.
	Plan     *accounts.Plan `json:"plan"`
	ProUntil *time.Time     `json:"pro_until"`
	Extended bool           `json:"extended"`
	Balance  *Money         `json:"balance"`
	// Reason is the code of the problem where nothing is granted, or nothing yet; null before the first look at the chain.
	Reason    *accounts.Reason `json:"reason"`
	ClaimedAt time.Time        `json:"claimed_at"`
	// ExpiresAt is the end of the search for the transfer on the chain; null if the claim is decided.
	ExpiresAt *time.Time `json:"expires_at"`
}

// QuoteBody is the body of /payments/quote.
type QuoteBody struct {
	Data Quote `json:"data"`
}

// Quote is an amount that is a key's own for a while.
type Quote struct {
	Amount  Money  `json:"amount"`
	Network string `json:"network"`
	Token   string `json:"token"`
	// TokenAddress is the stablecoin's contract; AtomicAmount is the amount as its transfers state it, with six decimals.
	TokenAddress string    `json:"token_address"`
	AtomicAmount string    `json:"atomic_amount"`
	PayTo        string    `json:"pay_to"`
	ExpiresAt    time.Time `json:"expires_at"`
	// Claim is where the transaction's hash is posted.
	Claim string `json:"claim_url"`
}
