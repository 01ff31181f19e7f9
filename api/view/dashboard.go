package view

import (
	"net/url"
	"time"

	"tidemark/accounts"
	"tidemark/picks"
)

// Dashboard is the dashboard of a key's holder. The zero value is the page of a visitor who is not signed in.
type Dashboard struct {
	// KeyID is empty for a visitor who is not signed in.
	KeyID, Name, Prefix string
	CreatedAt           time.Time
	// Plan is the plan of the key. ProUntil is nil if the key never had a Pro period.
	Plan     accounts.Plan
	Balance  accounts.Micros
	ProUntil *time.Time
	// Quota is the plan's daily quota in UTC days, 0 if requests are not counted. Today and Month are the usage.
	Quota        int
	Today, Month UsageSum
	// From and To are the first and last UTC day of Usage. Usage is sorted newest day first.
	From, To time.Time
	Usage    []UsageRow
	// Token proves that a form was made for this session. Once makes a repeated order the same order, and one form create one key.
	Token, Once string
	// Cards reports whether the balance can be topped up by card. MinTopUp is the minimum in dollars.
	Cards    bool
	MinTopUp string
	// Transfers describes how to pay with the stablecoin. It is nil if transfers are not accepted.
	Transfers *DashboardTransfers
	// HasAlerts reports whether the key can have alerts. AlertKinds and AlertSignals are the subjects that a rule can have. NewSecret is
	// the secret of a new alert, in the only response that shows it.
	HasAlerts                bool
	Alerts                   []Alert
	AlertKinds, AlertSignals []string
	NewSecret                string
	// NewKey is the key's new text, in the only response that shows it.
	NewKey string
	// Returned reports whether the visitor returns from the payment processor.
	Returned bool
	// Notice is the result of the visitor's action. Bad reports that the action failed. Then Entered has the form as it was sent, and Field
	// is the name of the field at fault, if it is one.
	Notice  Notice
	Bad     bool
	Entered url.Values
	Field   string
	// Language is the language of the page. Named reports that the address names it.
	Language picks.Lang
	Named    bool
}

// Notice tells the outcome of a form in the language of the page. Word is the id of a text below "key.", and Args fill its gaps.
type Notice struct {
	Word string
	Args []any
}

// DashboardTransfers describe how to top up a key with the stablecoin.
type DashboardTransfers struct {
	PayTo, Token, Network string
	// Amount is the amount reserved for the key, empty if none was requested. Until is the end of the reservation. Wallet is a URL that
	// opens a wallet with the transfer filled in (EIP-681).
	Amount, Wallet string
	Until          time.Time
	// TxHash is the transaction that was just claimed, or empty. Message is the text that its sender signs for this key.
	TxHash, Message string
}
