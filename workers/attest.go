package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tidemark/chain"
	"tidemark/chain/base"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// Attest is the job that puts the head of the announced chain on the L2, and follows it until it is final.
type Attest struct {
	DB *postgres.DB
	// Attester works without a Store: the job gives it one. Nil where there is no key or no node; then State says why.
	Attester *base.Attester
	// State is the constant part of the attester's state: its account, where readers find it, and what is missing.
	State postgres.AttesterState
	// Now is the wall clock, also in a sandbox: the L2 runs on it.
	Now func() time.Time
	Log *slog.Logger
}

const (
	// attestTimeout is how long one attempt follows what is on its way.
	attestTimeout = time.Minute
	// attestAgain is the pause before an attempt that checks whether safe rows are final.
	attestAgain = 5 * time.Minute
)

// Run attests the head once, even if it is killed or repeated, and checks earlier attestations. Without a key it only reports that.
func (a Attest) Run(ctx context.Context, t task.Task) error {
	if t.Subject != task.SubjectAttest {
		return Permanent(fmt.Errorf("unknown L2 %q", t.Subject))
	}
	if a.Attester == nil {
		return a.DB.SaveAttesterState(ctx, t.Fence, a.State)
	}
	past, err := a.DB.ClockBehind(ctx)
	if err != nil {
		return err
	}
	head, err := a.DB.AnnouncedHead(ctx)
	if err != nil {
		return err
	}
	if past {
		last, err := a.DB.NewestAttested(ctx, a.State.Attester)
		if err != nil && !errors.Is(err, postgres.ErrNotFound) || head.Length < last.Length+batch {
			return ignoreNotFound(err)
		}
	}
	release, ok, err := a.DB.TryLock(ctx, a.lock())
	if err != nil {
		return err
	}
	if !ok {
		return RetryIn(5*time.Second, "another worker attests")
	}
	defer release()
	if err := a.introduce(ctx, t.Fence); err != nil {
		return err
	}
	p, err := a.follow(ctx, t, head)
	return a.conclude(ctx, t, p, past, err)
}

// introduce stores who attests, and where, before the first attestation is there: readers of one must know whose it is.
func (a Attest) introduce(ctx context.Context, f task.Fence) error {
	known, err := a.DB.AttesterState(ctx)
	if err == nil && known.Attester == a.State.Attester && known.RPCURL == a.State.RPCURL || err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return err
	}
	s := a.State
	s.Status = postgres.AttesterOff // the status is set after it has been observed
	return a.DB.SaveAttesterState(ctx, f, s)
}

func ignoreNotFound(err error) error {
	if errors.Is(err, postgres.ErrNotFound) {
		return nil
	}
	return err
}

// Register registers the schema on the L2, unless it exists, and returns its row once it is safe or in an end state.
func (a Attest) Register(ctx context.Context, f task.Fence) (base.Row, error) {
	release, err := a.exclusive(ctx)
	if err != nil {
		return base.Row{}, err
	}
	defer release()
	attester := a.storing(f)
	for {
		r, err := attester.Register(ctx, a.Now())
		if err != nil || r.State == base.StateSafe || r.State == base.StateFinal || r.State == base.StateFailed {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// Retry makes a failed row due again, after an operator has checked it. Before signing, the chain is searched once more for an
// attestation of the head.
func (a Attest) Retry(ctx context.Context, subject string) error {
	release, err := a.exclusive(ctx)
	if err != nil {
		return err
	}
	defer release()
	failed, err := a.DB.FailedAttestations(ctx, a.State.Attester)
	if err != nil {
		return err
	}
	for _, f := range failed {
		if f.Subject == subject {
			_, err := a.storing(task.Fence{}).Store.Update(ctx, asRow(f).Retry())
			return err
		}
	}
	return fmt.Errorf("a failed attestation of %s: %w", subject, postgres.ErrNotFound)
}

// exclusive waits until no other process works for the attester.
func (a Attest) exclusive(ctx context.Context) (release func(), err error) {
	for {
		release, ok, err := a.DB.TryLock(ctx, a.lock())
		if err != nil || ok {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (a Attest) lock() string {
	return fmt.Sprintf("attester %d %s", a.State.ChainID, a.State.Attester.Attester)
}

func (a Attest) storing(f task.Fence) *base.Attester {
	attester := *a.Attester
	attester.Store = AttestationStore{DB: a.DB, Fence: f, Who: a.State.Attester}
	return &attester
}

// follow takes steps until nothing is on its way any more, or its patience has ended.
func (a Attest) follow(ctx context.Context, t task.Task, head chain.Checkpoint) (base.Progress, error) {
	attester := a.storing(t.Fence)
	pause := 50 * time.Millisecond
	for began := a.Now(); ; {
		p, err := attester.Step(ctx, a.Now(), head)
		if err != nil || !p.Busy || a.Now().Sub(began) > attestTimeout {
			return p, err
		}
		select {
		case <-ctx.Done():
			return p, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(2*pause, 3*time.Second)
	}
}

// conclude stores how the attester stands, and says what becomes of the run.
func (a Attest) conclude(ctx context.Context, t task.Task, p base.Progress, past bool, err error) error {
	s := a.State
	s.Status = postgres.AttesterOK
	switch {
	case err == nil:
	case errors.Is(err, base.ErrUnavailable):
		s.Status = postgres.AttesterUnavailable
	case errors.Is(err, base.ErrForked):
		s.Status = postgres.AttesterForked
	case errors.Is(err, base.ErrWrongChain):
		s.Status = postgres.AttesterWrongChain
	default:
		return err // of the database, or another has the lock: tried again
	}
	if err != nil {
		s.Note = plain.Error(err)
	}
	open := false
	for _, r := range p.Rows {
		open = open || r.State != base.StateFinal && r.State != base.StateFailed
		if r.Note != "" {
			s.Note = r.Note
		}
	}
	failed, ferr := a.DB.FailedAttestations(ctx, s.Attester)
	if ferr != nil {
		return ferr
	}
	if len(failed) > 0 && err == nil {
		s.Status, s.Note = postgres.AttesterFailed, failed[0].Note
	}
	if err == nil && !past {
		h, herr := a.Attester.Health(ctx)
		if herr == nil {
			s.BalanceWei, s.RunwayDays = h.BalanceWei.String(), &h.RunwayDays
		}
	}
	if serr := a.DB.SaveAttesterState(ctx, t.Fence, s); serr != nil {
		return serr
	}
	for _, r := range p.Rows {
		if r.Alarm {
			a.Log.ErrorContext(ctx, "an attestation wants someone to look", "head", r.Subject, "state", r.State, "note", r.Note)
		}
	}
	switch {
	case s.Status == postgres.AttesterForked, s.Status == postgres.AttesterWrongChain:
		return Permanent(err)
	case past:
		return nil
	case s.Status == postgres.AttesterUnavailable:
		return RetryIn(timeout(t), s.Note)
	case p.Busy:
		return RetryIn(15*time.Second, "an attestation is on its way")
	case open:
		return RetryIn(attestAgain, "an attestation is not final yet")
	}
	return nil
}
