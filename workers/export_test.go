package workers

import (
	"errors"
	"time"
)

// LaterIn reports whether an error ends an attempt that continues later, and when.
func LaterIn(err error) (time.Duration, bool) {
	l, ok := errors.AsType[deferError](err)
	return l.in, ok
}
