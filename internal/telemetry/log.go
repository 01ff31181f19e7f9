// Package telemetry is how the program speaks of itself: the log handler, the metrics, the traces, and the attributes that travel with
// a context so that every line of one request or one run can be found by its id. It is a leaf. Start at Logger and With; of the traces,
// at Tracer and Step.
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

// Logger returns a logger that writes to w, each line with the attributes that its context carries (With). A format that is none
// of the above means FormatAuto; a level that slog does not know ("debug", "info", "warn", "error") means info.
func Logger(w io.Writer, format, level string) *slog.Logger {
	o := slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
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

// Duration is a duration as people read it: with its unit, and no more digits than tell something.
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

// isTerminal tells whether w is a character device. That includes /dev/null, where the format is nobody's concern.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

type attrsKey struct{}

// With returns a context whose log lines carry attrs, beside those that ctx carries already. An attribute takes the place of one
// with the same key.
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

// handler adds the attributes of the context to each record, and its place in a trace where it is in one. In a logger with an open group they stand in that group, as all
// attributes of a record do.
type handler struct{ slog.Handler }

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	collect(ctx, r)
	r = r.Clone() // the caller's record is not ours to extend
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
