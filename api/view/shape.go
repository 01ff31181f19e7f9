package view

import "time"

// Some responses are too long to build at once. They are written in pieces, and their rows are encoded by hand. The structs below describe
// their shape, for documentation and for decoding.

// SignalHistory is the body of /api/signals/{id}/history.
type SignalHistory struct {
	listingHead
	Data []SignalHistoryPoint `json:"data"`
	listingTail
}

// pointNumbers are the numbers of a point and its times.
type pointNumbers struct {
	// ObservedAt is the observation time. IngestedAt is when the service received the bytes behind the value.
	ObservedAt time.Time `json:"observed_at"`
	IngestedAt time.Time `json:"ingested_at"`
	Value      *float64  `json:"value"`
	// UncertaintyLo and UncertaintyHi bound the interval. What it bounds, and whether a probability stands behind it, the signal's uncertainty
	// says.
	UncertaintyLo      *float64 `json:"uncertainty_lo"`
	UncertaintyHi      *float64 `json:"uncertainty_hi"`
	BaselineValue      *float64 `json:"baseline_value"`
	DeltaVsBaselinePct *float64 `json:"delta_vs_baseline_pct"`
	ZScore             *float64 `json:"z_score"`
	// Vintage counts the versions of this point from 1 on. Revised reports whether an earlier version exists.
	Vintage int  `json:"vintage"`
	Revised bool `json:"revised"`
	// PublishedAt is when a request first returned the newest of its inputs. The publisher may have shown it since the request before.
	PublishedAt time.Time `json:"published_at"`
	// PublishedAtAssumed reports that the publication was not observed: the value was there at the first request, or
	// the time is calculated from the publisher's usual delay.
	PublishedAtAssumed bool `json:"published_at_assumed"`
}

// SignalHistoryPoint is one point of a signal's history, as known at the requested instant. Unknown values are null.
type SignalHistoryPoint struct {
	pointNumbers
	// Bounds and Basis are uncertainty.bounds and uncertainty.basis of the snapshot for the instant of the list. They are null where the point
	// has no interval. Where basis is assumed, no probability stands behind the interval.
	Bounds *string `json:"bounds"`
	Basis  *string `json:"basis"`
	// KnownFrom is there only with vintages=all: the instant at which this version came into force.
	KnownFrom *time.Time `json:"known_from,omitzero"`
	// KnownTo is present only with vintages=all: the instant at which another version replaced this one, null for the current version.
	KnownTo *time.Time `json:"known_to,omitzero"`
}

// VerificationChain is the body of /api/v1/verify/picks.
type VerificationChain struct {
	recordHead
	Picks []ChainedPick `json:"picks"`
	// NextFromSeq is where the next page begins, null where there is no more.
	NextFromSeq *int64 `json:"next_from_seq"`
	recordTail
}

// ChainedPick is a link of the chain with the bytes that were hashed and the state of its attestation.
type ChainedPick struct {
	Seq          int64  `json:"seq"`
	Ticker       string `json:"ticker"`
	Price        string `json:"price"`
	Date         string `json:"date"`
	PreviousHash string `json:"previous_hash"`
	Hash         string `json:"hash"`
	// Preimage is the hashed text, in UTF-8.
	Preimage          string `json:"preimage"`
	AttestationStatus string `json:"attestation_status"`
}
