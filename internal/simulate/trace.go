package simulate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"time"
)

// lastFaults is how many of the faults before a failure are told with it.
const lastFaults = 12

// trace is what happened in a run, a line each. Its hash covers every line, and so every decision of the run: two runs of one seed have
// the same. What the machine decides is left out of the lines: errors' texts, which name processes and ports, and how long anything took.
type trace struct {
	hash   hash.Hash
	lines  int
	faults []string
	// out is where the lines are written too; nil: nowhere.
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

// fault adds a line about something that goes wrong on purpose.
func (t *trace) fault(at time.Time, format string, args ...any) {
	line := t.say(at, format, args...)
	if t.faults = append(t.faults, line); len(t.faults) > lastFaults {
		t.faults = t.faults[1:]
	}
}

// sum is the hash of all lines so far, in hex.
func (t *trace) sum() string { return hex.EncodeToString(t.hash.Sum(nil)) }
