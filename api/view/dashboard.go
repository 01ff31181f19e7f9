package view

import (
	"time"

	"tidemark/accounts"
)

// Dashboard is what the holder of a key sees of it. The zero value is the page of a visitor who is not signed in.
type Dashboard struct {
	// KeyID is empty for a visitor who is not signed in.
	KeyID, Name, Prefix string
	CreatedAt           time.Time
	// Plan is that of the key; ProUntil is nil where it has no Pro period.
	Plan     accounts.Plan
	Balance  accounts.Micros
	ProUntil *time.Time
	// Quota is the plan's requests of a UTC day, 0 where they are not counted; Today and Month are what was used.
	Quota        int
	Today, Month UsageSum
	// From and To are the first and last UTC day of Usage, which is newest day first.
	From, To time.Time
	Usage    []UsageRow
	// Token proves that a form was made for this session; Once tells an order from its repetition.
	Token, Once string
	// Cards tells that the balance can be topped up by card, of at least MinTopUp dollars.
	Cards    bool
	MinTopUp string
	// Transfers says how to pay with the stablecoin; nil where none are taken.
	Transfers *DashboardTransfers
	// NewKey is the key's new text, in the one answer that shows it.
	NewKey string
	// Returned tells that the visitor comes back from the payment processor.
	Returned bool
	// Notice tells how what was asked for ended; Bad that it did not.
	Notice string
	Bad    bool
}

// DashboardTransfers say how a key is topped up with the stablecoin.
type DashboardTransfers struct {
	PayTo, Token, Network string
	// Amount is what the key was quoted, empty where it was not asked for; Until is when that ends, and Wallet opens a wallet with the
	// transfer filled in (EIP-681).
	Amount, Wallet string
	Until          time.Time
	// TxHash is the transaction that was claimed just now, empty where none was; Message is the text that its sender signs for this key.
	TxHash, Message string
}
