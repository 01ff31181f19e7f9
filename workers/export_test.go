package workers

import (
	"errors"
	"time"
)

// LaterIn tells whether an error ends an attempt that goes on later, and when.
func LaterIn(err error) (time.Duration, bool) {
	l, ok := errors.AsType[deferError](err)
	return l.in, ok
}
