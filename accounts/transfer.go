package accounts

import "time"

// The states of a claim. A claim begins as pending. A grant is provisional until enough blocks are on top of it, then confirmed. It is
// revoked if the chain drops the transfer or another claim has a better right. A claim that gets nothing is rejected, or expires.
const (
	ClaimPending     = "pending"
	ClaimProvisional = "provisional"
	ClaimConfirmed   = "confirmed"
	ClaimRejected    = "rejected"
	ClaimExpired     = "expired"
	ClaimRevoked     = "revoked"
)

// Claim is a key's claim that a transaction was a payment for it.
type Claim struct {
	ID       int64
	KeyID    int64
	PublicID string
	// KeyMade is when the key was created.
	KeyMade time.Time
	ChainID int64
	// TxHash is in lower case.
	TxHash string
	// Signature is the sender's signature, nil if the claim has none.
	Signature *string
	State     string
	// Reason is nil before the first decision, and if something is granted.
	Reason    *Reason
	CreatedAt time.Time
	// AskedAt is when the key last claimed it. AnsweredAt is the AskedAt that the decision answers, nil before the first decision.
	AskedAt    time.Time
	AnsweredAt *time.Time
	ExpiresAt  time.Time
}

// Granted reports whether the claim has a grant that was not revoked.
func (c Claim) Granted() bool { return c.State == ClaimProvisional || c.State == ClaimConfirmed }

// Transfer is a transfer that was granted to a key.
type Transfer struct {
	ID       int64
	ClaimID  int64
	KeyID    int64
	TxHash   string
	LogIndex int32
	// Sender and BlockHash are in lower case.
	Sender      string
	Amount      Micros
	BlockNumber int64
	BlockHash   string
	BlockTime   time.Time
	// Confirmations counts the blocks from the transfer's block to the newest block, both included, when it was granted.
	Confirmations int64
	// Proven means that the sender has signed for the key.
	Proven bool
	// Quoted means that the key held this amount. The database sets it.
	Quoted bool
	// Gives is GivesBalance or GivesPro.
	Gives string
	// State is ClaimProvisional, ClaimConfirmed or ClaimRevoked.
	State     string
	GrantedAt time.Time
	// The result of the grant: the new balance, or the end of the Pro plan and whether the plan was already running.
	Balance  *Micros
	ProUntil *time.Time
	Extended bool
	// EndedAt is when it was confirmed or revoked. Reason is why it was revoked.
	EndedAt *time.Time
	Reason  *Reason
}

// The kinds of a grant.
const (
	GivesBalance = "balance"
	GivesPro     = "pro"
)

// ClaimVerdict is the decision on a claim.
type ClaimVerdict struct {
	// Of is the claim as it was when a worker checked the chain.
	Of    Claim
	State string
	// Reason is empty if something is granted.
	Reason Reason
	// Until is how long the chain is checked further; zero leaves it unchanged.
	Until time.Time
}

// TransferEnd is the end of a provisional grant.
type TransferEnd struct {
	ID int64
	// State is ClaimConfirmed, or ClaimRevoked with the reason. ReasonProven can also revoke a confirmed grant.
	State  string
	Reason Reason
}

// ClaimsDecision is the decision on all claims of a transaction, from one check of the chain.
type ClaimsDecision struct {
	ChainID  uint64
	TxHash   string
	Verdicts []ClaimVerdict
	// Ends are applied before Grants, because a revoked transfer may be granted again. Fields of a grant that the database sets are not
	// read.
	Ends   []TransferEnd
	Grants []Transfer
	// Again is when the run must check the chain next; zero means never.
	Again time.Time
}
