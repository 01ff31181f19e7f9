package telemetry

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tidemark/internal/plain"
)

// The log of an attempt is limited in lines, and in bytes of each line.
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

// Lines collects the lines that are logged with a context. It is safe for concurrent use.
type Lines struct {
	mu   sync.Mutex
	list []Line
	more int
}

type linesKey struct{}

// Collect returns a context whose log lines are both written and collected. The ends of steps with this context are collected too. Lines
// below the logger's level are ignored.
func Collect(ctx context.Context) (context.Context, *Lines) {
	lines := &Lines{}
	return context.WithValue(ctx, linesKey{}, lines), lines
}

// Count returns how many lines there were.
func (l *Lines) Count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.list) + l.more
}

// List returns the first 200 lines, and how many more there were.
func (l *Lines) List() (lines []Line, more int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]Line(nil), l.list...), l.more
}

// Note adds a line that is not logged. An err that is not nil makes it a warning, and is part of it.
func (l *Lines) Note(level slog.Level, text string, err error, attrs ...slog.Attr) {
	if err != nil {
		level, attrs = max(level, slog.LevelWarn), append(slices.Clip(attrs), slog.Any("err", err))
	}
	slog.New(noting{l}).LogAttrs(context.Background(), level, text, attrs...) //nolint:sloglint // the text is a step's constant name, and no context is asked for
}

// noting is a handler that only collects.
type noting struct{ lines *Lines }

func (noting) Enabled(context.Context, slog.Level) bool { return true }

func (n noting) Handle(_ context.Context, r slog.Record) error {
	n.lines.add(r)
	return nil
}

func (n noting) WithAttrs([]slog.Attr) slog.Handler { return n }
func (n noting) WithGroup(string) slog.Handler      { return n }

// collect adds a record to the lines of its context, if the context collects lines.
func collect(ctx context.Context, r slog.Record) {
	if lines, _ := ctx.Value(linesKey{}).(*Lines); lines != nil {
		lines.add(r)
	}
}

func (l *Lines) add(r slog.Record) {
	var text strings.Builder
	text.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		text.WriteString(" " + a.Key + "=" + said(a.Value.Resolve()))
		return text.Len() <= maxLineLen
	})
	line := text.String()
	if len(line) > maxLineLen {
		cut := maxLineLen
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "…"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == maxLines {
		l.more++
		return
	}
	l.list = append(l.list, Line{r.Time, r.Level.String(), strings.ToValidUTF8(strings.ReplaceAll(line, "\x00", ""), "?")})
}

// said formats a value for people: an instant in UTC, a duration with only its meaningful digits.
func said(v slog.Value) string {
	switch v.Kind() {
	case slog.KindTime:
		return v.Time().UTC().Format(time.RFC3339)
	case slog.KindDuration:
		return Duration(v.Duration())
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return plain.Error(err)
		}
	}
	return v.String()
}
