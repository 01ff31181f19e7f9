package workers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"tidemark/ingest"
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
		"a subject that is not there": {Final(errors.New("there is no source")), true},
		"a fault of the program":      {fmt.Errorf("%w: index out of range", errPanic), true},
		"a worker that stops":         {errStopping, false},
		"an attempt that takes long":  {errTimeout, false},
		"a connection":                {syscall.ECONNREFUSED, false},
	} {
		if got := lasting(c.err); got != c.want {
			t.Errorf("%s: lasting %t", name, got)
		}
	}
}
