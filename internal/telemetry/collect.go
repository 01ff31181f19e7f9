package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The log of an attempt is bounded: so many lines, and so many bytes of each.
const (
	maxLines   = 200
	maxLineLen = 1000
)

// Line is a line that was logged.
type Line struct {
	At    time.Time
	Level string
	Text  string
}

// Lines collects what is logged with a context. It is safe for concurrent use.
type Lines struct {
	mu   sync.Mutex
	list []Line
	more int
}

type linesKey struct{}

// Collect returns a context whose log lines are collected as well as written. Lines below the level of the log are neither.
func Collect(ctx context.Context) (context.Context, *Lines) {
	lines := &Lines{}
	return context.WithValue(ctx, linesKey{}, lines), lines
}

// List returns the first 200 lines, and how many more there were.
func (l *Lines) List() (lines []Line, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Line(nil), l.list...), l.more
}

// collect adds a record to the lines of its context, if it has some.
func collect(ctx context.Context, r slog.Record) {
	lines, _ := ctx.Value(linesKey{}).(*Lines)
	if lines == nil {
		return
	}
	var text strings.Builder
	text.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		text.WriteString(" " + a.Key + "=" + a.Value.Resolve().String())
		return text.Len() <= maxLineLen
	})
	said := text.String()
	if len(said) > maxLineLen {
		cut := maxLineLen
		for !utf8.RuneStart(said[cut]) {
			cut--
		}
		said = said[:cut] + "…"
	}
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if len(lines.list) == maxLines {
		lines.more++
		return
	}
	lines.list = append(lines.list, Line{r.Time, r.Level.String(), strings.ToValidUTF8(strings.ReplaceAll(said, "\x00", ""), "?")})
}
