package accounts

import (
	"fmt"
	"time"
)

// The limits of claims. A key claims a transfer of the stablecoin as its own top-up.
const (
	// MaxClaims is how many claims of one key can wait for their transactions at the same time.
	MaxClaims = 20
	// ClaimTTL is how long a claim waits for its transaction.
	ClaimTTL = time.Hour
	// QuoteTTL is how long an amount is reserved for one key.
	QuoteTTL = 24 * time.Hour
	// ProofKept is how long after a grant a signature of the transfer's sender can still move the grant to the key named in the signature.
	ProofKept = 7 * 24 * time.Hour
)

// ClaimMessage returns the text that the sender of a transfer signs to name the key that it is for. txHash is lower case.
func ClaimMessage(txHash, publicKeyID string, chainID uint64) string {
	return fmt.Sprintf("claim %s for key %s on chain %d", txHash, publicKeyID, chainID)
}

// Reason is why a claim was rejected or is still pending. It is the problem code that the claimant receives.
type Reason string

// The reasons. After the first three a claim still waits.
const (
	// ReasonUnavailable: no node of the chain responded. Nothing is decided.
	ReasonUnavailable Reason = "dependency_unavailable"
	// ReasonUnknown: the transaction is in no block.
	ReasonUnknown Reason = "transfer_not_found"
	// ReasonNotFinal: there are too few blocks on top of it.
	ReasonNotFinal Reason = "payment_not_final"

	// ReasonFailed: the transaction reverted.
	ReasonFailed Reason = "payment_failed"
	// ReasonToken: the transaction does not move the token.
	ReasonToken Reason = "payment_wrong_token"
	// ReasonRecipient: the transaction moves the token, but not to the service.
	ReasonRecipient Reason = "payment_wrong_recipient"
	// ReasonAmount: no single transfer of the transaction reaches the minimum amount.
	ReasonAmount Reason = "payment_insufficient"
	// ReasonAge: the transaction is too old, or older than the key.
	ReasonAge Reason = "payment_too_old"
	// ReasonUsed: another key was credited with the transaction.
	ReasonUsed Reason = "payment_already_used"
	// ReasonReserved: another key has reserved this amount.
	ReasonReserved Reason = "payment_reserved"
	// ReasonProof: the signature is not from the sender.
	ReasonProof Reason = "sender_proof_invalid"
	// ReasonProven: the sender signed for another key, which ends a grant. The previous claimant receives ReasonUsed.
	ReasonProven Reason = "sender_proved"
	// ReasonNoProof: only the sender's signature can show who owns the transfer, and the claim has none.
	ReasonNoProof Reason = "sender_proof_required"
)

// Retryable reports whether a worker will check the claim again.
func (r Reason) Retryable() bool {
	return r == ReasonUnavailable || r == ReasonUnknown || r == ReasonNotFinal
}
