package telemetry

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestATerminalShowsShortLinesAboveTheProgress(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	terminal := &Terminal{w: &out, columns: func() int { return 60 }}
	log := terminal.Logger("info").With("role", "worker")
	wrote := func(want ...string) {
		t.Helper()
		got := out.String()
		out.Reset()
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("it wrote %q, want %q in it", got, w)
			}
		}
		if len(want) == 0 && got != "" {
			t.Errorf("it wrote %q, want nothing", got)
		}
	}
	log.InfoContext(t.Context(), "a run succeeded", "job", "ingest", "took", 27_812_345*time.Nanosecond, "task", "ingest:x@y")
	wrote("  a run succeeded job=ingest took=27.8ms\n")
	log.InfoContext(t.Context(), "long", "text", strings.Repeat("x", 100))
	for line := range strings.Lines(out.String()) {
		if n := len([]rune(strings.TrimSpace(line))); n > 60 {
			t.Errorf("a line has %d characters of 60: %s", n, line)
		}
	}
	wrote("…\n")
	log.DebugContext(t.Context(), "quiet")
	wrote()
	terminal.Progress("half")
	wrote("\r\x1b[Khalf")
	terminal.Progress("half")
	log.InfoContext(t.Context(), "a run succeeded")
	wrote() // the progress line shows it, and the same line is not drawn twice
	log.WarnContext(t.Context(), "an attempt failed", "err", errors.New("dial tcp: lookup a.example: no such host"), "in", time.Minute)
	wrote("\r\x1b[K", "  warning: an attempt failed err=\"no host has the name a.example\" in=1m0s\nhalf")
	log.Log(t.Context(), LevelNotice, "a private server runs again")
	wrote("  a private server runs again\nhalf")
	terminal.Progress("")
	wrote("\r\x1b[K")
	log.WithGroup("g").ErrorContext(t.Context(), "broken", "a", 1)
	wrote("  error: broken g.a=1\n")
}
