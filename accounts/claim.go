package accounts

import (
	"fmt"
	"time"
)

// The terms of claims, which a key makes of transfers of the stablecoin.
const (
	// MaxClaims is how many claims of a key may wait for their transactions at a time.
	MaxClaims = 20
	// ClaimTTL is how long a claim waits for its transaction.
	ClaimTTL = time.Hour
	// QuoteTTL is how long an amount is a key's own.
	QuoteTTL = 24 * time.Hour
	// ProofKept is how long after a grant the signature of the transfer's sender moves it to the key that was signed for.
	ProofKept = 7 * 24 * time.Hour
)

// ClaimMessage is the text that the sender of a transfer signs to say for which key it was. txHash is lower case.
func ClaimMessage(txHash, publicKeyID string, chainID uint64) string {
	return fmt.Sprintf("claim %s for key %s on chain %d", txHash, publicKeyID, chainID)
}

// Reason is why a claim brings nothing, or nothing yet. It is the code of the problem that the claimant is told.
type Reason string

// The reasons. After the first three a claim still waits.
const (
	// ReasonUnavailable: no node of the chain answers. Nothing is decided.
	ReasonUnavailable Reason = "dependency_unavailable"
	// ReasonUnknown: no block has the transaction.
	ReasonUnknown Reason = "transfer_not_found"
	// ReasonNotFinal: there are too few blocks on top of it.
	ReasonNotFinal Reason = "payment_not_final"

	// ReasonFailed: the transaction reverted.
	ReasonFailed Reason = "payment_failed"
	// ReasonToken: it moves none of the token.
	ReasonToken Reason = "payment_wrong_token"
	// ReasonRecipient: it moves the token to others.
	ReasonRecipient Reason = "payment_wrong_recipient"
	// ReasonAmount: no single transfer of it reaches the least amount.
	ReasonAmount Reason = "payment_insufficient"
	// ReasonAge: it is too old, or older than the key.
	ReasonAge Reason = "payment_too_old"
	// ReasonUsed: another key has it.
	ReasonUsed Reason = "payment_already_used"
	// ReasonReserved: its amount is one that another key holds.
	ReasonReserved Reason = "payment_reserved"
	// ReasonProof: the signature is not the sender's.
	ReasonProof Reason = "sender_proof_invalid"
	// ReasonProven: its sender has signed for another key. It is why a grant ends; its claimant is told ReasonUsed.
	ReasonProven Reason = "sender_proved"
	// ReasonNoProof: only the sender's signature tells whose it is, and there is none.
	ReasonNoProof Reason = "sender_proof_required"
)

// Retryable tells that the claim is still looked after.
func (r Reason) Retryable() bool {
	return r == ReasonUnavailable || r == ReasonUnknown || r == ReasonNotFinal
}
