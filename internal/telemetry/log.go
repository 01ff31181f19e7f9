// Package telemetry provides the log handler, the metrics and the traces. It also provides attributes that a context carries, so that every
// line of one request or one run can be found by its id. It is a leaf. Start at Logger and With; for traces, at Tracer and Step.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"
)

// The log formats.
const (
	FormatAuto = "auto" // JSON; on a terminal a Terminal writes short lines instead
	FormatText = "text" // for a person
	FormatJSON = "json" // one object a line
)

// LevelNotice is for good news that a person waits for. A Terminal also shows it above a progress line. Other logs call it info.
const LevelNotice = slog.LevelInfo + 2

// Logger returns a logger that writes to w. Each line has the attributes of its context (With). An unknown format means FormatAuto. A level
// that slog does not know ("debug", "info", "warn", "error") means info.
func Logger(w io.Writer, format, level string) *slog.Logger {
	o := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if l, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && l == LevelNotice {
			a.Value = slog.AnyValue(slog.LevelInfo)
		}
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.StringValue(Duration(a.Value.Duration()))
		}
		return a
	}}
	var l slog.Level
	if l.UnmarshalText([]byte(level)) == nil {
		o.Level = l
	}
	if format == FormatText {
		return slog.New(handler{slog.NewTextHandler(w, &o)})
	}
	return slog.New(handler{slog.NewJSONHandler(w, &o)})
}

// Duration formats a duration for people: with its unit, and only its meaningful digits.
func Duration(d time.Duration) string {
	for _, step := range []time.Duration{time.Minute, time.Second, time.Millisecond, time.Microsecond} {
		if d.Abs() < step {
			continue
		}
		if step == time.Minute {
			return d.Round(time.Second).String()
		}
		return d.Round(step / 10).String()
	}
	return d.String()
}

// isTerminal reports whether w is a character device. That includes /dev/null, where the format does not matter.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type attrsKey struct{}

// With returns a context whose log lines carry attrs in addition to the attributes of ctx. An attribute replaces an earlier one with the
// same key.
func With(ctx context.Context, attrs ...slog.Attr) context.Context {
	carried := slices.Clone(Attrs(ctx))
	for _, a := range attrs {
		same := func(b slog.Attr) bool { return b.Key == a.Key }
		if i := slices.IndexFunc(carried, same); i >= 0 {
			carried[i] = a
		} else {
			carried = append(carried, a)
		}
	}
	return context.WithValue(ctx, attrsKey{}, carried)
}

// Attrs returns the attributes that ctx carries, in the order in which they were added. The slice is read only.
func Attrs(ctx context.Context) []slog.Attr {
	attrs, _ := ctx.Value(attrsKey{}).([]slog.Attr)
	return attrs
}

// handler adds the attributes of the context to each record, and the record's position in a trace if there is one. In a logger with an open
// group they are in that group, as all attributes of a record are.
type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	collect(ctx, r)
	r = r.Clone() // the record belongs to the caller
	r.AddAttrs(Attrs(ctx)...)
	r.AddAttrs(located(ctx)...)
	return h.Handler.Handle(ctx, r)
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{h.Handler.WithGroup(name)}
}
