package telemetry

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
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

// A server dies, and everything that uses it says so again and again.
func TestATerminalCountsWarningsThatAreAlike(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out page
		log := (&Terminal{w: &out, columns: func() int { return 60 }}).Logger("info")
		for i := range 45 {
			log.ErrorContext(t.Context(), "no queue", "try", i)
		}
		log.WarnContext(t.Context(), "a run failed", "run", 7)
		got := out.take()
		if n := strings.Count(got, "\n"); n != 4 || !strings.Contains(got, "error: no queue try=2\n") || !strings.Contains(got, "warning: a run failed run=7\n") {
			t.Errorf("it wrote %d lines, want three of the error and the warning:\n%s", n, got)
		}
		<-time.After(alikeFor)
		synctest.Wait()
		if got := out.take(); !strings.HasSuffix(got, "  42 more: no queue\n") || strings.Count(got, "\n") != 1 {
			t.Errorf("later it wrote %q, want one line that says 42 more", got)
		}
		log.ErrorContext(t.Context(), "no queue", "try", 45)
		if got := out.take(); !strings.HasSuffix(got, "error: no queue try=45\n") {
			t.Errorf("then it wrote %q, want the error again", got)
		}
		<-time.After(alikeFor)
	})
}

// page is a buffer that timers may write to.
type page struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *page) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

// take returns what was written since it was last called.
func (p *page) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.text.Reset()
	return p.text.String()
}
