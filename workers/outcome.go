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

// finalError is an error that no further attempt can fix.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Permanent marks an error that no further attempt can mend, such as a subject that does not exist.
func Permanent(err error) error { return finalError{err} }

// waitingError is a reason to check again soon: the run needs data that is not there yet.
type waitingError struct {
	error
	pause time.Duration
}

func (e waitingError) Unwrap() error { return e.error }

// WaitFor ends an attempt that must wait, and records the reason: the run checks again after the pause, and nothing has failed.
func WaitFor(what error, pause time.Duration) error { return waitingError{what, pause} }

// skipError is why a run has nothing to do.
type skipError struct{ reason string }

func (e skipError) Error() string { return e.reason }

// Skip ends a run that has nothing to do, and records the reason in the run log. It is not a failure.
func Skip(reason string) error { return skipError{reason} }

// Skipped reports whether a run ended with Skip, and returns the reason.
func Skipped(err error) (reason string, ok bool) {
	skip := skipError{}
	ok = errors.As(err, &skip)
	return skip.reason, ok
}

// deferError ends an attempt whose work continues later.
type deferError struct {
	in  time.Duration
	why string
}

func (e deferError) Error() string { return e.why }

// LaterIn reports whether an attempt ended with RetryIn, and returns the pause.
func LaterIn(err error) (time.Duration, bool) {
	l, ok := errors.AsType[deferError](err)
	return l.in, ok
}

// RetryIn ends an attempt that did all work possible now: the run begins again after in, which is not a failure. A later run of the same
// job and subject replaces it.
func RetryIn(in time.Duration, why string) error { return deferError{in, why} }

// unpassing are errors that last until the operator changes something or the publisher fixes its data. Errors that are not listed, such
// as a host that does not answer, are expected to be transient.
var unpassing = []error{
	ingest.Layout, ingest.WrongType, ingest.Refused, ingest.TooLarge, telemetry.ErrPanic,
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission,
}

// lasting reports whether the operator should learn of an attempt's error at once, although the run is tried again.
func lasting(err error) bool {
	for _, known := range unpassing {
		if errors.Is(err, known) {
			return true
		}
	}
	return errors.As(err, new(finalError)) || postgres.Lasting(err)
}

// interrupted reports whether an attempt ended with a transient error of the database. It also returns the pause before the next attempt,
// which grows with each attempt. Such an end is not a failure of the run: the run is retried without limit. A worker that cannot reach the
// database cannot record this either; the scheduler then takes the run from it.
func interrupted(err error, attempt int) (pause time.Duration, ok bool) {
	if postgres.Transient(err) == "" || errors.As(err, new(finalError)) {
		return 0, false
	}
	most := min(time.Second<<min(attempt, 10), maxInterruption)
	return most/2 + rand.N(most/2), true
}

// retryDecision maps an error to the next step of the run: a retry after a pause, or giving up. The pause doubles with each failure and is
// at least the publisher's requested pause.
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
