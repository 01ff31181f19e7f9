package workers

import (
	"errors"
	"time"

	"tidemark/ingest"
	"tidemark/workers/task"
)

// longestBackoff bounds the pause between two attempts.
const longestBackoff = 30 * time.Minute

// finalError is one that no further attempt can mend.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Final marks an error that no further attempt can mend, such as a subject that does not exist.
func Final(err error) error { return finalError{err} }

// verdict maps an error to what becomes of the run: tried again after a pause, which doubles with each attempt and is at least
// what the upstream asked for, or given up.
func verdict(err error, t task.Task) (retryIn time.Duration, final bool) {
	if fe := (finalError{}); errors.As(err, &fe) {
		return 0, true
	}
	again, after := ingest.Again(err)
	if !again {
		return 0, true
	}
	p := task.Policies[t.Job]
	retryIn = p.Backoff
	for range min(t.Attempt-1, 10) {
		retryIn = min(2*retryIn, longestBackoff)
	}
	return max(retryIn, after), false
}
