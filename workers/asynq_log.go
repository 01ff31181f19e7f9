package workers

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// asynqLog passes on what the library logs. While Redis is unavailable or refuses changes, the library repeats the same lines many times a
// second, so a line is passed on once in libraryInterval, with the number of repetitions since. It is safe for concurrent use.
type asynqLog struct {
	log *slog.Logger

	mu    sync.Mutex
	lines map[string]*libraryLine
}

// libraryLine counts how often a line came since it was last passed on.
type libraryLine struct {
	passed rate.Sometimes
	since  int
}

const (
	// libraryInterval is the shortest time between two equal lines of the library, and maxLibraryLines is how many lines are remembered.
	libraryInterval = 30 * time.Second
	maxLibraryLines = 1000
)

func newAsynqLog(log *slog.Logger) *asynqLog {
	return &asynqLog{log: log, lines: map[string]*libraryLine{}}
}

func (l *asynqLog) pass(level slog.Level, args []any) {
	text := fmt.Sprint(args...)
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.lines[text]
	if line == nil {
		if len(l.lines) >= maxLibraryLines {
			clear(l.lines)
		}
		line = &libraryLine{passed: rate.Sometimes{First: 1, Interval: libraryInterval}}
		l.lines[text] = line
	}
	line.since++
	line.passed.Do(func() {
		attrs := []slog.Attr{slog.String("message", text)}
		if line.since > 1 {
			attrs = append(attrs, slog.Int("repeated", line.since-1))
		}
		line.since = 0
		l.log.LogAttrs(context.Background(), level, "asynq", attrs...)
	})
}

func (l *asynqLog) Debug(args ...any) { l.pass(slog.LevelDebug, args) }
func (l *asynqLog) Info(args ...any)  { l.pass(slog.LevelInfo, args) }
func (l *asynqLog) Error(args ...any) { l.pass(slog.LevelError, args) }
func (l *asynqLog) Fatal(args ...any) { l.pass(slog.LevelError, args) }

// Warn leaves out what the library says when a handler gives a task back on purpose: the run log has the reason.
func (l *asynqLog) Warn(args ...any) {
	if text := fmt.Sprint(args...); !strings.HasPrefix(text, "revoke task") {
		l.pass(slog.LevelWarn, args)
	}
}
