package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"
)

// lastFaults is how many of the last faults a failure shows.
const lastFaults = 12

// trace records the events of a run, one line each. Its hash covers every line, and so every decision of the run: two runs of one seed have
// the same hash. The lines leave out everything that depends on the machine: error texts, which name processes and ports, and durations of
// work.
type trace struct {
	hash   hash.Hash
	lines  int
	faults []string
	// out also receives the lines. It may be nil.
	out io.Writer
}

func newTrace(out io.Writer) *trace { return &trace{hash: sha256.New(), out: out} }

// say adds a line.
func (t *trace) say(at time.Time, format string, args ...any) string {
	line := at.Format("2006-01-02T15:04:05.000Z ") + fmt.Sprintf(format, args...)
	t.lines++
	_, _ = fmt.Fprintln(t.hash, line)
	if t.out != nil {
		_, _ = fmt.Fprintln(t.out, line)
	}
	return line
}

// fault adds a line about an injected fault.
func (t *trace) fault(at time.Time, format string, args ...any) {
	line := t.say(at, format, args...)
	if t.faults = append(t.faults, line); len(t.faults) > lastFaults {
		t.faults = t.faults[1:]
	}
}

// sum returns the hash of all lines so far, in hex.
func (t *trace) sum() string { return hex.EncodeToString(t.hash.Sum(nil)) }
