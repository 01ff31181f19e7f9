package gitledger

import (
	"bytes"
	"testing"
)

// CheckLine holds every parser to its promise: what it accepts it would write again byte for byte.
func CheckLine(t *testing.T, line []byte) {
	t.Helper()
	for _, path := range recordPaths {
		e, err := parseLine(path, line)
		if err != nil {
			continue
		}
		again, err := e.line()
		if err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), line) {
			t.Errorf("%s: %q is read and written as %q, %v", path, line, again, err)
		}
	}
}
