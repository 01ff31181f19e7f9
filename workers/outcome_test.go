package workers

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"tidemark/ingest"
	"tidemark/internal/telemetry"
)

func TestWhatIsNotExpectedToPass(t *testing.T) {
	t.Parallel()
	upstream := func(k ingest.Kind) error {
		return fmt.Errorf("run: %w", errors.Join(errors.New("another"), &ingest.Error{Kind: k, Source: "a", Err: errors.New("b")}))
	}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a host that does not answer": {upstream(ingest.Temporary), false},
		"a page that changed":         {upstream(ingest.Layout), true},
		"a page of another kind":      {upstream(ingest.WrongType), true},
		"a refusal":                   {upstream(ingest.Refused), true},
		"a full disk":                 {fmt.Errorf("archive: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), true},
		"a folder of another user":    {&fs.PathError{Op: "open", Path: "x", Err: os.ErrPermission}, true},
		"a subject that is not there": {Permanent(errors.New("there is no source")), true},
		"a fault of the program":      {fmt.Errorf("%w: index out of range", telemetry.ErrPanic), true},
		"a worker that stops":         {errStopping, false},
		"an attempt that takes long":  {errTimeout, false},
		"a connection":                {syscall.ECONNREFUSED, false},
	} {
		if got := lasting(c.err); got != c.want {
			t.Errorf("%s: lasting %t", name, got)
		}
	}
}

func TestWhatTheDatabaseInterruptsIsNoFailure(t *testing.T) {
	t.Parallel()
	transient := fmt.Errorf("store: %w", &pgconn.PgError{Code: "57P01", Severity: "FATAL"})
	before := time.Duration(0)
	for attempt := range 40 {
		pause, ok := interrupted(transient, attempt)
		if !ok || pause < 500*time.Millisecond || pause > maxInterruption {
			t.Errorf("attempt %d: %s, %t", attempt, pause, ok)
		}
		before = max(before, pause)
	}
	if before < maxInterruption/2 {
		t.Errorf("the longest pause was %s", before)
	}
	for _, err := range []error{Permanent(transient), errors.New("x"), io.EOF, &pgconn.PgError{Code: "23505"}} {
		if _, ok := interrupted(err, 1); ok {
			t.Errorf("%v interrupts", err)
		}
	}
}
