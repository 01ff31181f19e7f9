package series

import "time"

// Step is one processing step of upstream answers: some answers were stored together, or a signal was computed for an instant. Steps are
// kept in their order. The answers and the steps together reproduce the same observations and snapshots.
type Step struct {
	// Source, Answers and Choices belong to a step that stored answers; they are zero in a step that computed a signal. Choices holds
	// decisions that do not follow from the bytes of the answers, in JSON. Nil means none.
	Source  string
	Answers []StepAnswer
	Choices []byte
	// Signal and At belong to a step that computed a signal, or changed its state.
	Signal string
	At     time.Time
	// State, Cause and By belong to a step in which an operator changed the state of Signal at At. They are empty in all others.
	State, Cause, By string
	// Record belongs to a step that recorded a forecast or its grade at At: the record, in JSON. Nil in all others.
	Record []byte
}

// StepAnswer is one answer of a step.
type StepAnswer struct {
	// Fetch is the answer's id in a fetch log, or its position in a manifest, from 1 on.
	Fetch int64
	// KnownAt is when the content of the answer became known: when it was fetched, accepted by an operator, or read again.
	KnownAt time.Time
}
