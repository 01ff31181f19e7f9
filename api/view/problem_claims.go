package view

import "tidemark/accounts"

// The problem codes of the dashboard and of features that the operator has not configured. The reasons of package accounts are problem
// codes, too.
const (
	CodeNotConfigured    = "not_configured"
	CodeOriginNotAllowed = "origin_not_allowed"
)

// claimProblems returns the problems of claims of transfers.
func claimProblems() []ProblemKind {
	of := func(code accounts.Reason, title string, status int, meaning, remedy string) ProblemKind {
		return ProblemKind{Code: string(code), Title: title, Status: status, Meaning: meaning, Remedy: remedy}
	}
	return []ProblemKind{
		of(accounts.ReasonUnknown, "Transfer not found", 404,
			"No block of the chain has the transaction. The claim is kept for an hour, and with it the right of the first claimant.",
			"Check the hash, and that the network is the one that /api/v1/info names. If the transfer was sent just now, ask again after the seconds that Retry-After names."),
		of(accounts.ReasonNotFinal, "Payment not final", 409,
			"The transfer is in a block, but too few blocks are on top of it. The claim is kept for an hour.",
			"Ask again after the seconds that the Retry-After header names."),
		of(accounts.ReasonUsed, "Payment already used", 409,
			"Another key has claimed the transfer, and has it.",
			"Use the key that claimed it. Is the payment yours? Sign \"claim <tx_hash> for key <key_id> on chain <chain id>\" with the sending account and send the member signature: for seven days it moves the transfer to your key, unless its amount was quoted to the other one."),
		of(accounts.ReasonReserved, "Payment reserved", 409,
			"The amount of the transfer was reserved for another key at that time, so that key alone can claim it.",
			"Claim it with the key that was quoted the amount."),
		of(accounts.ReasonFailed, "Payment failed", 422,
			"The transaction is on the chain and was reverted: no money moved.",
			"Send the transfer again, and claim the new transaction."),
		of(accounts.ReasonToken, "Payment in another token", 422,
			"The transaction does not move the stablecoin that is accepted. Bridged variants and tokens of the same name do not count.",
			"Send the token whose contract /api/v1/payments/quote names."),
		of(accounts.ReasonRecipient, "Payment to another recipient", 422,
			"The transaction moves the stablecoin, and none of it to the account of this service.",
			"Send to the account that /api/v1/info names as pay_to."),
		of(accounts.ReasonAmount, "Payment insufficient", 422,
			"No single transfer of the transaction reaches 5 units. Several are not added up, and what was sent is not sent back.",
			"Send 5 units or more in one transfer."),
		of(accounts.ReasonAge, "Payment too old", 422,
			"A transfer can be claimed for seven days, and only by a key that was made at most an hour after it.",
			"Ask the operator, with the transaction's hash."),
		of(accounts.ReasonProof, "Sender proof invalid", 422,
			"The member signature is not a signature of the transfer's sender over this transaction and this key.",
			"Sign the text \"claim <tx_hash> for key <key_id> on chain <chain id>\" with the sending account (EIP-191, or ERC-1271 for a contract)."),
		of(accounts.ReasonNoProof, "Sender proof required", 422,
			"This service grants a transfer only to the key that its sender has signed for.",
			"Send the member signature: that of the sending account over \"claim <tx_hash> for key <key_id> on chain <chain id>\"."),
		{
			Code: CodeOriginNotAllowed, Title: "Origin not allowed", Status: 403,
			Meaning: "A form of the dashboard, or a registration, was sent from another site's page.",
			Remedy:  "Open the dashboard itself, and use the form there.",
		},
		{
			Code: CodeNotConfigured, Title: "Not configured", Status: 501,
			Meaning: "The operator of this service has not set up what this address needs. The detail names the settings.",
			Remedy:  "Use another way to pay that /api/v1/info lists.",
		},
	}
}
