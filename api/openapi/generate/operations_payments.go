package generate

import (
	"net/http"

	"tidemark/accounts"
	"tidemark/api/view"
)

// PaymentClaimRequest is the body of a claim.
type PaymentClaimRequest struct {
	// TxHash is the hash of the transaction with the transfer.
	TxHash string `json:"tx_hash"`
	// Signature is the sender's over "claim TX_HASH for key KEY_ID on chain CHAIN_ID" (EIP-191; ERC-1271 for a contract), in
	// hexadecimal. It beats a claim without one until the payment is final, and an operator may demand it.
	Signature string `json:"signature,omitempty"`
}

// paymentEndpoints returns the operations for top-ups by transfer.
func paymentEndpoints() []route {
	const transaction = "0x7f1c3d5b9a8e6f402143658709badcfe1032547698badcfe1032547698badcfe"
	var verdicts []string
	for _, r := range []accounts.Reason{
		accounts.ReasonUnknown, accounts.ReasonNotFinal, accounts.ReasonUsed, accounts.ReasonReserved, accounts.ReasonFailed,
		accounts.ReasonToken, accounts.ReasonRecipient, accounts.ReasonAmount, accounts.ReasonAge, accounts.ReasonProof, accounts.ReasonNoProof,
	} {
		verdicts = append(verdicts, string(r))
	}
	return []route{
		{
			id: "verifyPayment", method: http.MethodPost, path: "/api/v1/payments/verify", tag: "Account", access: keyed,
			summary: "Top the key up with a stablecoin transfer",
			description: "Claims a transfer for the key: in the balance model its amount is credited, under plans the key is Pro for 30 days. Post the hash right after sending, " +
				"before anybody else knows it: the first claimant has it. The same hash again by the same key answers the same.",
			request: &content{body: body[PaymentClaimRequest](""), description: "The transaction.", example: PaymentClaimRequest{TxHash: transaction}},
			answers: []answer{
				ok("The transfer is the key's.", []string{"Cache-Control", "X-Request-Id"}, body[view.ClaimBody]("")),
				{
					status: http.StatusAccepted, description: "There is no outcome yet. Ask for it again at the address in Location.", body: []shape{body[view.ClaimBody]("")},
					headers: []string{"Cache-Control", "Location", "Retry-After", "X-Request-Id"},
				},
			},
			codes: append(append(verdicts, withKey...), with(view.CodeInvalidRequest, view.CodeInvalidParameter, view.CodeBodyTooLarge, view.CodeUnsupportedType, view.CodeNotConfigured)...),
		},
		{
			id: "getClaim", method: http.MethodGet, path: "/api/v1/payments/claims/{tx_hash}", tag: "Account", access: keyed,
			summary:     "See how a claim stands",
			description: "The key's claim of a transaction. Free of charge.",
			takes:       []string{"tx_hash_path"},
			answers:     []answer{ok("The claim.", limited, body[view.ClaimBody]("")), unchanged},
			codes:       append(append([]string{view.CodeInvalidParameter, view.CodeNotFound, view.CodeNotConfigured}, withKey...), reads...),
		},
		{
			id: "getQuote", method: http.MethodGet, path: "/api/v1/payments/quote", tag: "Account", access: keyed,
			summary:     "Get an amount of one's own",
			description: "An amount that is the key's own for a day: a transfer of exactly that can be claimed by no other key, whoever claims it first. Free of charge.",
			answers:     []answer{ok("The amount.", limited, body[view.QuoteBody]("")), unchanged},
			codes:       append(append([]string{view.CodeNotConfigured}, withKey...), reads...),
		},
	}
}
