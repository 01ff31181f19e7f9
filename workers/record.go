package workers

import (
	"context"
	"errors"

	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/internal/telemetry"
)

// What becomes of an attempt, as the metrics name it.
const (
	outcomeSucceeded   = "succeeded"
	outcomeSkipped     = "skipped"
	outcomeFailed      = "failed"      // the run is over
	outcomeRetried     = "retried"     // it failed, and is tried again
	outcomeSnoozed     = "waits"       // it must wait for something
	outcomeContinued   = "goes_on"     // it did what could be done now
	outcomeInterrupted = "interrupted" // the database had a transient error, and it is tried again
	outcomeReleased    = "given_back"  // its worker was stopped
	outcomeSuperseded  = "superseded"  // another attempt has its place
	outcomeUnrecorded  = "unrecorded"  // how it ended could not be written down
)

// fault returns the error of an attempt; nil if nothing went wrong. A wait, a continuation later or a stop is not a fault.
func fault(outcome string, err error) error {
	switch outcome {
	case outcomeSnoozed, outcomeContinued, outcomeReleased:
		return nil
	}
	return err
}

// conclude records how an attempt ended. It returns whether the run is over, and the outcome of the attempt.
func (s *Server) conclude(ctx context.Context, t task.Task, err error) (over bool, outcome string, _ error) {
	log := s.o.Log.With("job", t.Job, "subject", t.Subject, "at", t.Slot, "attempt", t.Attempt)
	reason, skipped := Skipped(err)
	wait := waitingError{}
	switch {
	case skipped:
		err = s.o.DB.Skip(ctx, t.Fence, reason)
		over, outcome = true, outcomeSkipped
	case err == nil:
		err = s.o.DB.Succeed(ctx, t.Fence)
		over, outcome = true, outcomeSucceeded
	case errors.Is(err, postgres.ErrFenced):
	case errors.Is(err, errStopping):
		if rerr := s.o.DB.Release(ctx, t.Fence); rerr != nil {
			return false, outcomeUnrecorded, rerr
		}
		log.InfoContext(ctx, "gave a run back while stopping")
		return false, outcomeReleased, err
	case errors.As(err, &wait):
		pause := s.shorten(wait.pause)
		if perr := s.o.DB.Postpone(ctx, t.Fence, plain.Error(err), pause); perr != nil {
			return false, outcomeUnrecorded, perr
		}
		log.DebugContext(ctx, "a run waits", "why", err, "pause", pause)
		return false, outcomeSnoozed, err
	default:
		if in, later := LaterIn(err); later {
			if serr := s.o.DB.Snooze(ctx, t.Fence, in); serr != nil {
				return false, outcomeUnrecorded, serr
			}
			log.DebugContext(ctx, "a run goes on later", "why", err, "in", in)
			return false, outcomeContinued, nil
		}
		if pause, ok := interrupted(err, t.Attempt); ok {
			pause = s.shorten(pause)
			if perr := s.o.DB.Postpone(ctx, t.Fence, plain.Error(err), pause); perr != nil {
				return false, outcomeUnrecorded, perr
			}
			log.WarnContext(ctx, "the database interrupted a run, it is tried again", "err", err, "in", pause)
			return false, outcomeInterrupted, err
		}
		retryIn, final := retryDecision(err, t)
		var ferr error
		if over, ferr = s.o.DB.Fail(ctx, t.Fence, plain.Error(err), retryIn, final, lasting(err)); ferr == nil {
			if over {
				log.ErrorContext(ctx, "a run has failed", "err", err)
				return over, outcomeFailed, err
			}
			log.WarnContext(ctx, "an attempt failed, the run is tried again", "err", err, "in", retryIn)
			return over, outcomeRetried, err
		}
		err = ferr
	}
	if errors.Is(err, postgres.ErrFenced) {
		log.WarnContext(ctx, "an attempt that was given up has ended, nothing of it counts")
		return false, outcomeSuperseded, err
	}
	if err != nil {
		outcome = outcomeUnrecorded
	}
	return over, outcome, err
}

// record stores the log of an attempt and how it ended. A connection may hang: then the same is tried again on another one.
func (s *Server) record(ctx context.Context, t task.Task, lines *telemetry.Lines, ended error) (over bool, outcome string, err error) {
	bounded := func(part func(context.Context)) (hung bool) {
		timed, stop := context.WithTimeout(ctx, s.o.RecordTimeout)
		defer stop()
		defer context.AfterFunc(s.last, stop)()
		part(timed)
		return timed.Err() != nil
	}
	bounded(func(ctx context.Context) { s.keepLog(ctx, t.Fence, lines) })
	for try := 1; ; try++ {
		hung := bounded(func(ctx context.Context) { over, outcome, err = s.conclude(ctx, t, ended) })
		if outcome != outcomeUnrecorded || !hung {
			return over, outcome, err
		}
		again := try < recordTries && s.last.Err() == nil
		s.o.Log.WarnContext(ctx, "the database did not answer how a run ended", "job", t.Job, "subject", t.Subject, "again", again, "err", err)
		if !again {
			return over, outcome, err
		}
	}
}
