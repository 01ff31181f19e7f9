package view

import (
	"slices"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
)

// Problem is the body of a response that is an error (RFC 9457).
type Problem struct {
	// Type is the address of the page that explains the code.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Code is the code for programs.
	Code      string `json:"code"`
	Detail    string `json:"detail"`
	Instance  string `json:"instance"`
	RequestID string `json:"request_id"`
	// KnownSignals are the ids that would have been found, where the code is CodeUnknownSignal.
	KnownSignals []string `json:"known_signals,omitempty"`
	// Errors are the faults of the request, where the code is CodeInvalidParameter or CodeInvalidCursor.
	Errors []ParameterError `json:"errors,omitempty"`
	// Balance, Cost and where to pay, where the code is CodeInsufficientBalance.
	Balance  *Money `json:"balance,omitempty"`
	Cost     *Money `json:"cost,omitempty"`
	TopUpURL string `json:"top_up_url,omitempty"`
	X402URL  string `json:"x402_url,omitempty"`
	// Raw describes the body, if the code is CodeNotShown.
	Raw *RawFacts `json:"raw,omitempty"`
}

// NothingServed is the detail of a problem with the code CodeNotFound at an address that does not exist. Pages have it in each language.
const NothingServed = "Nothing is served at this address."

// RawFacts describe an archived body that cannot be shown.
type RawFacts struct {
	SHA256      string    `json:"sha256"`
	Bytes       int64     `json:"bytes"`
	Source      string    `json:"source"`
	Publisher   string    `json:"publisher"`
	License     string    `json:"license"`
	RetrievedAt time.Time `json:"retrieved_at"`
	Reason      string    `json:"reason"`
	// ProofURL is the URL of the proof that the log contains the hash, absent if the log does not contain it.
	ProofURL *string `json:"proof_url,omitempty"`
}

// ParameterError is one fault of a request.
type ParameterError struct {
	// Pointer names the parameter, as "/limit".
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// Refusal is why the caller cannot see something. It is an error with a problem code and a text for the problem.
type Refusal struct {
	Code, Detail string
	// In returns Detail in a language, for people. Nil means that Detail exists in English only.
	In func(lang locale.Lang) string
	// Next is the page that has what is nearest to the request, or nil.
	Next *NextPage
}

// NextPage is a page to which the page of a problem leads. In is the text of the link, with which Detail ends.
type NextPage struct {
	Path string
	In   func(lang locale.Lang) string
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Detail }

// Moved is an error with the permanent address of the requested page. To is a path of this site.
type Moved struct{ To string }

func (m *Moved) Error() string { return "it stands at " + m.To }

// The problem codes. A published code never changes its meaning.
const (
	CodeInvalidRequest      = "invalid_request"
	CodeInvalidParameter    = "invalid_parameter"
	CodeInvalidCursor       = "invalid_cursor"
	CodeInvalidLang         = "invalid_lang"
	CodeMissingKey          = "missing_api_key"
	CodeInvalidKey          = "invalid_api_key"
	CodeRevokedKey          = "revoked_api_key"
	CodeInsufficientBalance = "insufficient_balance"
	CodePlanRequired        = "plan_required"
	CodeNotFound            = "not_found"
	CodeNotShown            = "not_shown"
	CodeUnknownTicker       = "unknown_ticker"
	CodeUnknownSignal       = "unknown_signal"
	CodeMethodNotAllowed    = "method_not_allowed"
	CodeNotAcceptable       = "not_acceptable"
	CodePreconditionFailed  = "precondition_failed"
	CodeBodyTooLarge        = "body_too_large"
	CodeUnsupportedType     = "unsupported_media_type"
	CodeRangeNotSatisfiable = "range_not_satisfiable"
	CodeIdempotencyReused   = "idempotency_key_reused"
	CodeAlreadyRegistered   = "already_registered"
	CodeRateLimited         = "rate_limited"
	CodeQuotaExhausted      = "daily_quota_exhausted"
	CodeInternalError       = "internal_error"
	CodeUnavailable         = "dependency_unavailable"

	CodePaymentUnderWay   = "payment_under_way"
	CodeSettlementPending = "settlement_pending"
)

// LangFault says which languages there are, to a client that named another.
func LangFault() string { return "lang can be " + languages.Series() + "." }

// ProblemKind is the common part of all problems with one code.
type ProblemKind struct {
	Code   string
	Title  string
	Status int
	// Meaning says what happened, Remedy how the caller can fix it.
	Meaning, Remedy string
}

// ProblemKinds lists every problem that the program can return, sorted by status.
func ProblemKinds() []ProblemKind {
	kinds := append(claimProblems(), []ProblemKind{
		{
			Code: CodeInvalidRequest, Title: "Invalid request", Status: 400,
			Meaning: "The request is not well formed: its body is not a JSON object, or a header field cannot be read.",
			Remedy:  "Correct what the detail names, and send the request again.",
		},
		{
			Code: CodeInvalidParameter, Title: "Invalid parameter", Status: 400,
			Meaning: "A parameter of the request has a value that is not understood or is out of range.",
			Remedy:  "Correct the parameters that the member errors names, each with its fault.",
		},
		{
			Code: CodeInvalidCursor, Title: "Invalid cursor", Status: 400,
			Meaning: "The cursor does not come from a response of this listing in this order.",
			Remedy:  "Take next_cursor from the previous response, with the same order and vintages, or leave the cursor out to start again.",
		},
		{
			Code: CodeInvalidLang, Title: "Invalid language", Status: 400,
			Meaning: "No text exists in the language that the parameter lang names.",
			Remedy:  "Use " + languages.Listed("or") + ", or leave the parameter out: then the Accept-Language header counts, or else English.",
		},
		{
			Code: CodeMissingKey, Title: "Missing API key", Status: 401,
			Meaning: "This address needs an API key, and the request has none.",
			Remedy:  "Send the header Authorization: Bearer <API key>. A key is free: POST /api/v1/auth/register.",
		},
		{
			Code: CodeInvalidKey, Title: "Invalid API key", Status: 401,
			Meaning: "The request has a key that does not exist, or one with a typing error.",
			Remedy:  "Compare it with the one that the registration returned: tmk_live_, or tmk_test_ in a sandbox, and 36 letters and digits.",
		},
		{
			Code: CodeRevokedKey, Title: "Revoked API key", Status: 401,
			Meaning: "The key was revoked, or was replaced by a rotation whose grace period is over.",
			Remedy:  "Use the key that the rotation returned, or register another one.",
		},
		{
			Code: CodeInsufficientBalance, Title: "Insufficient balance", Status: 402,
			Meaning: "The key's balance does not cover the price of the request. Nothing was deducted.",
			Remedy:  "Top up the balance at top_up_url, or pay for the single request at x402_url.",
		},
		{
			Code: CodePlanRequired, Title: "Plan required", Status: 403,
			Meaning: "The key is valid, but its plan does not include this.",
			Remedy:  "Upgrade the key to the Pro plan by a transfer: POST /api/v1/payments/verify.",
		},
		{
			Code: CodeNotFound, Title: "Not found", Status: 404,
			Meaning: "Nothing is served at this address, or nothing was known at the requested instant.",
			Remedy:  "Check the spelling. /api/signals lists all signals. With as_of, ask for a later instant.",
		},
		{
			Code: CodeUnknownSignal, Title: "Unknown signal", Status: 404,
			Meaning: "No signal has this id.",
			Remedy:  "Use one of the ids in the member known_signals. Ids are lower case and never change.",
		},
		{
			Code: CodeUnknownTicker, Title: "Unknown ticker", Status: 404,
			Meaning: "No announced pick has this ticker, or none of the requested day.",
			Remedy:  "Use a ticker of one of the announced picks, or of /api/v1/stocks for research. Without a date, you get the newest pick.",
		},
		{
			Code: CodeMethodNotAllowed, Title: "Method not allowed", Status: 405,
			Meaning: "This address does not support this method.",
			Remedy:  "Use one of the methods that the Allow header of the response lists.",
		},
		{
			Code: CodeNotAcceptable, Title: "Not acceptable", Status: 406,
			Meaning: "The request's Accept header excludes every media type served here.",
			Remedy:  "Leave the Accept header out, or let it include the media type that the detail names.",
		},
		{
			Code: CodePaymentUnderWay, Title: "Payment under way", Status: 409,
			Meaning: "Another request presents the same payment at this moment. One of them gets the response, and the payment is charged once.",
			Remedy:  "If you did not get the response, repeat the request with the same payment after the seconds that Retry-After names.",
		},
		{
			Code: CodePreconditionFailed, Title: "Precondition failed", Status: 412,
			Meaning: "The request's If-Match header does not name the ETag of the content at this address.",
			Remedy:  "Leave If-Match out, and compare the ETag of the response with yours: the content has changed.",
		},
		{
			Code: CodeBodyTooLarge, Title: "Body too large", Status: 413,
			Meaning: "The body of the request has more than 64 KiB.",
			Remedy:  "Send no more than the members that the address asks for.",
		},
		{
			Code: CodeUnsupportedType, Title: "Unsupported media type", Status: 415,
			Meaning: "The body of the request is not marked as JSON.",
			Remedy:  "Send a JSON object with the header Content-Type: application/json, and not compressed.",
		},
		{
			Code: CodeRangeNotSatisfiable, Title: "Range not satisfiable", Status: 416,
			Meaning: "The request's Range header asks only for bytes beyond the end of the body.",
			Remedy:  "Ask for a range within the length that the Content-Range header of the response names, or leave Range out.",
		},
		{
			Code: CodeAlreadyRegistered, Title: "Already registered", Status: 409,
			Meaning: "A key was registered with this Idempotency-Key within a day. Its text was sent once and is not sent again.",
			Remedy:  "Register another key with another Idempotency-Key.",
		},
		{
			Code: CodeIdempotencyReused, Title: "Idempotency key reused", Status: 422,
			Meaning: "This Idempotency-Key was used within a day, for a request with another body.",
			Remedy:  "Take another Idempotency-Key for each request that is not a repetition, such as a UUID.",
		},
		{
			Code: CodeNotShown, Title: "Not shown", Status: 451,
			Meaning: "The archive holds these bytes, but they may not be passed on: the member raw has their hash, size and time, and the reason.",
			Remedy:  "Ask the publisher for the same bytes, and compare their SHA-256.",
		},
		{
			Code: CodeRateLimited, Title: "Rate limited", Status: 429,
			Meaning: "There were more requests than the header RateLimit-Policy allows.",
			Remedy:  "Continue after the seconds that the Retry-After header names.",
		},
		{
			Code: CodeQuotaExhausted, Title: "Daily quota exhausted", Status: 429,
			Meaning: "The plan's requests of this UTC day are used up.",
			Remedy:  "Continue at 00:00 UTC, after the seconds that the Retry-After header names, or upgrade the key to the Pro plan.",
		},
		{
			Code: CodeInternalError, Title: "Internal error", Status: 500,
			Meaning: "Something broke on our side. It was recorded with the request id.",
			Remedy:  "Try again. If it persists, report the member request_id.",
		},
		{
			Code: CodeUnavailable, Title: "Dependency unavailable", Status: 503,
			Meaning: "Something that this response needs is unavailable at the moment. Nothing was changed and nothing was charged.",
			Remedy:  "Try again after the seconds that the Retry-After header names.",
		},
		{
			Code: CodeSettlementPending, Title: "Settlement pending", Status: 503,
			Meaning: "The payment was sent for settlement, and its outcome is not known yet. The chain is being checked.",
			Remedy:  "Do not pay again. Repeat the same request with the same payment after the seconds that Retry-After names.",
		},
	}...)
	slices.SortStableFunc(kinds, func(a, b ProblemKind) int { return a.Status - b.Status })
	return kinds
}

// ProblemKindOf returns the kind with a code, and whether it exists.
func ProblemKindOf(code string) (ProblemKind, bool) {
	for _, k := range ProblemKinds() {
		if k.Code == code {
			return k, true
		}
	}
	return ProblemKind{}, false
}
