package view

import (
	"time"

	"tidemark/accounts"
)

// Money is an amount with its currency. The amount is a decimal text, because a JSON number would be read as a float.
type Money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// USD returns an amount of US dollars.
func USD(m accounts.Micros) Money { return Money{Amount: m.String(), Currency: "USD"} }

// Registered is the body of a registration.
type Registered struct {
	Data RegisteredKey  `json:"data"`
	Meta RegisteredMeta `json:"meta"`
}

// RegisteredKey is a new key, or the new text of one: the only answers that show it.
type RegisteredKey struct {
	APIKey string `json:"api_key"`
	KeyID  string `json:"key_id"`
	Prefix string `json:"prefix"`
	Name   string `json:"name"`
	// Plan is "balance", "free" or "pro". Balance is null under plans.
	Plan      accounts.Plan `json:"plan"`
	Balance   *Money        `json:"balance"`
	CreatedAt time.Time     `json:"created_at"`
	// ExpiresAt is null: a key ends when it is rotated or revoked.
	ExpiresAt *time.Time `json:"expires_at"`
	Usage     KeyUsage   `json:"usage"`
	DocsURL   string     `json:"docs_url"`
}

// KeyUsage says how a key is shown.
type KeyUsage struct {
	Header string `json:"header"`
}

// RegisteredMeta goes with an answer that shows a key.
type RegisteredMeta struct {
	RequestID string `json:"request_id"`
	Warning   string `json:"warning"`
}

// KeyWarning is the warning in every response that shows a key.
const KeyWarning = "Store this key now; it is not shown again."

// Rotated is the body of a rotation.
type Rotated struct {
	Data RotatedKey     `json:"data"`
	Meta RegisteredMeta `json:"meta"`
}

// RotatedKey is the new text of a key.
type RotatedKey struct {
	APIKey    string    `json:"api_key"`
	KeyID     string    `json:"key_id"`
	Prefix    string    `json:"prefix"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
	// OldPrefix is of the text that the request showed; it opens nothing from OldExpiresAt on.
	OldPrefix    string    `json:"old_prefix"`
	OldExpiresAt time.Time `json:"old_expires_at"`
	Usage        KeyUsage  `json:"usage"`
}

// Account is the body of /account.
type Account struct {
	Data AccountData `json:"data"`
}

// AccountData is how a key stands.
type AccountData struct {
	KeyID  string        `json:"key_id"`
	Name   string        `json:"name"`
	Prefix string        `json:"prefix"`
	Plan   accounts.Plan `json:"plan"`
	// Balance is null under plans.
	Balance  *Money     `json:"balance"`
	ProUntil *time.Time `json:"pro_until"`
	// Quota is null where requests are not counted by the day.
	Quota     *AccountQuota `json:"quota"`
	Usage     AccountUsage  `json:"usage"`
	CreatedAt time.Time     `json:"created_at"`
	// ExpiresAt is when the text that the request showed ends after a rotation; null: it has no end.
	ExpiresAt *time.Time `json:"expires_at"`
}

// AccountQuota is the plan's quota of the running UTC day.
type AccountQuota struct {
	RequestsPerDay int   `json:"requests_per_day"`
	Remaining      int64 `json:"remaining"`
}

// AccountUsage sums up the running UTC day and month.
type AccountUsage struct {
	Today UsageSum `json:"today"`
	Month UsageSum `json:"month"`
}

// UsageSum is a number of requests and what they cost, in US dollars.
type UsageSum struct {
	Requests int64  `json:"requests"`
	Cost     string `json:"cost"`
}

// AccountUsageRows is the body of /account/usage.
type AccountUsageRows struct {
	Data []UsageRow `json:"data"`
	// From and To are the UTC days that the rows are of.
	Meta UsageMeta `json:"meta"`
}

// UsageMeta describes the range of the rows.
type UsageMeta struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// UsageRow is a key's usage of one endpoint in a UTC day.
type UsageRow struct {
	Date     string `json:"date"`
	Endpoint string `json:"endpoint"`
	Requests int64  `json:"requests"`
	Cost     string `json:"cost"`
}
