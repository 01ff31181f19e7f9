package series

import "time"

// Step is one thing that was done with the answers of upstreams, in the order in which all was done: some were stored together, or a
// signal was computed for an instant. The answers and the steps together make the same observations and snapshots again.
type Step struct {
	// Source, Answers and Choices are of a step that stored; they are zero in one that computed. Choices is what was decided beside the
	// bytes of the answers, in JSON; nil: nothing was.
	Source  string
	Answers []StepAnswer
	Choices []byte
	// Signal and At are of a step that computed.
	Signal string
	At     time.Time
}

// StepAnswer is one answer of a step.
type StepAnswer struct {
	// Fetch is the answer's id in a ledger, or its place in a manifest, from 1 on.
	Fetch int64
	// KnownAt is when what it says became known: when it was fetched, or accepted by a person, or read again.
	KnownAt time.Time
}
