package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"tidemark/internal/plain"
)

// Terminal is a terminal that shows log lines, and below them one progress line that is redrawn. It is safe for concurrent use.
type Terminal struct {
	mu       sync.Mutex
	w        io.Writer
	columns  func() int
	progress string
	alike    map[string]*likeness
}

// likeness counts the warnings with one message.
type likeness struct{ shown, hidden int }

const (
	// maxAlike is how many warnings with one message are shown within alikeFor. Of the others it says how many there were. A server that
	// dies makes everything that uses it say so.
	maxAlike = 3
	alikeFor = 30 * time.Second
)

// shows reports whether one more warning with this message, of an instant, is shown.
func (t *Terminal) shows(message string, at time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.alike[message]
	if l == nil {
		if t.alike == nil {
			t.alike = map[string]*likeness{}
		}
		l = &likeness{}
		t.alike[message] = l
		time.AfterFunc(alikeFor, func() { t.sum(message, at.Add(alikeFor)) })
	}
	if l.shown == maxAlike {
		l.hidden++
		return false
	}
	l.shown++
	return true
}

// sum says how many warnings with a message were not shown, and restarts the count.
func (t *Terminal) sum(message string, at time.Time) {
	t.mu.Lock()
	hidden := t.alike[message].hidden
	delete(t.alike, message)
	t.mu.Unlock()
	if hidden > 0 {
		_, _ = fmt.Fprintf(t, "%s  %d more: %s\n", at.Format(time.TimeOnly), hidden, message)
	}
}

// usualColumns is the assumed width if the terminal does not report one.
const usualColumns = 80

// NewTerminal returns the terminal behind w, nil if w is not a terminal.
func NewTerminal(w io.Writer) *Terminal {
	if !isTerminal(w) {
		return nil
	}
	f, _ := w.(*os.File)
	return &Terminal{w: w, columns: func() int {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 { //nolint:gosec // a file descriptor
			return columns
		}
		return usualColumns
	}}
}

// Columns returns how many characters fit in a line.
func (t *Terminal) Columns() int { return t.columns() }

// Write implements io.Writer. It writes the text above the progress line.
func (t *Terminal) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress == "" {
		return t.w.Write(text)
	}
	_, err := io.WriteString(t.w, erase+string(text)+t.progress)
	return len(text), err
}

// erase moves to the beginning of the line and clears it.
const erase = "\r\x1b[K"

// Progress draws the progress line. An empty line removes it.
func (t *Terminal) Progress(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if line != t.progress {
		t.progress = line
		_, _ = io.WriteString(t.w, erase+line)
	}
}

// busy reports whether there is a progress line.
func (t *Terminal) busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress != ""
}

// Logger returns a logger that writes short lines for a person. While there is a progress line, it writes only notices, warnings and errors.
func (t *Terminal) Logger(level string) *slog.Logger {
	h := lines{terminal: t}
	_ = h.min.UnmarshalText([]byte(level)) // info if the level is invalid
	return slog.New(handler{h})
}

// lines writes a line for each record: the time, the message, and the attributes. Lines below the level warning are truncated to the width.
// Many warnings with one message become a few and their number.
type lines struct {
	terminal *Terminal
	min      slog.Level
	attrs    []slog.Attr
	group    string
}

func (h lines) Enabled(_ context.Context, l slog.Level) bool {
	return l >= h.min && (l >= LevelNotice || !h.terminal.busy())
}

func (h lines) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !h.terminal.shows(r.Message, r.Time) {
		return nil
	}
	var b strings.Builder
	b.WriteString(r.Time.Format(time.TimeOnly) + "  ")
	switch {
	case r.Level >= slog.LevelError:
		b.WriteString("error: ")
	case r.Level >= slog.LevelWarn:
		b.WriteString("warning: ")
	}
	b.WriteString(r.Message)
	for _, a := range h.attrs {
		writeAttr(&b, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, h.group, a)
		return true
	})
	line := []rune(strings.Join(strings.Fields(b.String()[10:]), " "))
	if width := h.terminal.Columns() - 11; r.Level < slog.LevelWarn && width > 20 && len(line) > width {
		line = append(line[:width-1], '…')
	}
	_, err := io.WriteString(h.terminal, b.String()[:10]+string(line)+"\n")
	return err
}

// writeAttr writes one attribute. It skips the task's name, which repeats job, subject and time, and the role, which is clear from the
// message.
func writeAttr(b *strings.Builder, group string, a slog.Attr) {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		for _, inner := range v.Group() {
			writeAttr(b, group+a.Key+".", inner)
		}
		return
	case slog.KindDuration:
		v = slog.StringValue(Duration(v.Duration()))
	case slog.KindTime:
		v = slog.StringValue(v.Time().UTC().Format(time.RFC3339))
	}
	if a.Key == "task" || a.Key == "role" {
		return
	}
	text := v.String()
	if err, ok := v.Any().(error); ok {
		text = plain.Error(err)
	}
	if strings.ContainsAny(text, " \"") {
		text = fmt.Sprintf("%q", text)
	}
	_, _ = fmt.Fprintf(b, " %s%s=%s", group, a.Key, text)
}

func (h lines) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		a.Key = h.group + a.Key
		h.attrs = append(slices.Clip(h.attrs), a)
	}
	return h
}

func (h lines) WithGroup(name string) slog.Handler {
	h.group += name + "."
	return h
}
