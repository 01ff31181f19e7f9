package workers

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"syscall"
	"time"

	"tidemark/ingest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

const (
	// maxBackoff bounds the pause between two attempts.
	maxBackoff = 30 * time.Minute
	// maxInterruption bounds it after a transient error of the database.
	maxInterruption = 30 * time.Second
)

// finalError is one that no further attempt can mend.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Permanent marks an error that no further attempt can mend, such as a subject that does not exist.
func Permanent(err error) error { return finalError{err} }

// waitingError is a reason to look again soon: what the run needs is not there yet.
type waitingError struct {
	error
	pause time.Duration
}

func (e waitingError) Unwrap() error { return e.error }

// WaitFor ends an attempt that has to wait, and says what for: the run looks again after the pause, and nothing has failed.
func WaitFor(what error, pause time.Duration) error { return waitingError{what, pause} }

// skipError is why a run has nothing to do.
type skipError struct{ reason string }

func (e skipError) Error() string { return e.reason }

// Skip ends a run that has nothing to do, and says why in the run log. It is no failure.
func Skip(reason string) error { return skipError{reason} }

// Skipped tells whether a run ended with Skip, and why.
func Skipped(err error) (reason string, ok bool) {
	skip := skipError{}
	ok = errors.As(err, &skip)
	return skip.reason, ok
}

// deferError ends an attempt whose work goes on later.
type deferError struct {
	in  time.Duration
	why string
}

func (e deferError) Error() string { return e.why }

// RetryIn ends an attempt that did what could be done now: the run is begun again after in, which is no failure. A later run of the same
// job and subject takes over.
func RetryIn(in time.Duration, why string) error { return deferError{in, why} }

// unpassing are errors that stand until somebody changes something, or that a publisher has to put right. What is not listed, such as a
// host that does not answer, is expected to pass.
var unpassing = []error{
	ingest.Layout, ingest.WrongType, ingest.Refused, ingest.TooLarge, telemetry.ErrPanic,
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission,
}

// lasting tells of the error of an attempt that somebody should hear of it at once, though the run is tried again.
func lasting(err error) bool {
	for _, known := range unpassing {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, new(finalError)) || postgres.Lasting(err)
}

// interrupted tells of an attempt that it ended by an error of the database that passes by itself, and after which pause it is begun again,
// longer with each attempt. That is no failure of the run: however often it happens, the work is to be done. A worker that cannot reach the
// database cannot write this down either; then the scheduler takes the run from it.
func interrupted(err error, attempt int) (pause time.Duration, ok bool) {
	if postgres.Transient(err) == "" || errors.As(err, new(finalError)) {
		return 0, false
	}
	most := min(time.Second<<min(attempt, 10), maxInterruption)
	return most/2 + rand.N(most/2), true
}

// retryDecision maps an error to what becomes of the run: tried again after a pause, which doubles with each failure and is at least
// what the upstream asked for, or given up.
func retryDecision(err error, t task.Task) (retryIn time.Duration, final bool) {
	if fe := (finalError{}); errors.As(err, &fe) {
		return 0, true
	}
	again, after := ingest.Retryable(err)
	if !again {
		return 0, true
	}
	p := task.Policies[t.Job]
	retryIn = p.Backoff
	for range min(t.Failures, 10) {
		retryIn = min(2*retryIn, maxBackoff)
	}
	return max(retryIn, after), false
}
