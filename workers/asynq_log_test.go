package workers

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestALineThatTheLibraryRepeatsIsLoggedAtMostTwiceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newAsynqLog(slog.New(slog.NewTextHandler(&out, nil)))
		for range 600 { // a minute of an unavailable Redis
			l.Error("Dequeue error: OOM command not allowed")
			<-time.After(100 * time.Millisecond)
		}
		l.Error("Failed to write server state data: OOM command not allowed")
		l.Warn("revoke task: given back")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d lines, want 3:\n%s", len(lines), out.String())
		}
		for i, want := range []string{"Dequeue error", "repeated=299", "Failed to write"} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("line %d is %q, want %q in it", i+1, lines[i], want)
			}
		}
	})
}

func TestTheLibrarysLinesAreRememberedWithinABound(t *testing.T) {
	t.Parallel()
	l := newAsynqLog(slog.New(slog.DiscardHandler))
	for i := range 3 * maxLibraryLines {
		l.Error("task ", i)
	}
	if n := len(l.lines); n > maxLibraryLines {
		t.Errorf("%d lines are remembered, want at most %d", n, maxLibraryLines)
	}
}
