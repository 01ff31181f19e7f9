package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/telemetry"
)

func TestALineCarriesTheAttributesOfItsContext(t *testing.T) {
	t.Parallel()
	run := telemetry.With(t.Context(), slog.String("request_id", "req_1"), slog.Int64("run_id", 7))
	retry := telemetry.With(run, slog.Int64("run_id", 8), slog.String("signal", "crack-spread-321"))
	tests := map[string]struct {
		ctx  context.Context
		log  func(*slog.Logger) *slog.Logger
		want map[string]any
	}{
		"none":                        {ctx: t.Context(), want: map[string]any{}},
		"those given once":            {ctx: run, want: map[string]any{"request_id": "req_1", "run_id": 7.0}},
		"the last one of a key":       {ctx: retry, want: map[string]any{"request_id": "req_1", "run_id": 8.0, "signal": "crack-spread-321"}},
		"the outer context unchanged": {ctx: run, want: map[string]any{"request_id": "req_1", "run_id": 7.0}},
		"beside the logger's own": {
			ctx: run, log: func(l *slog.Logger) *slog.Logger { return l.With("job", "ingest") },
			want: map[string]any{"request_id": "req_1", "run_id": 7.0, "job": "ingest"},
		},
		"in the open group": {
			ctx: run, log: func(l *slog.Logger) *slog.Logger { return l.WithGroup("g") },
			want: map[string]any{"g": map[string]any{"request_id": "req_1", "run_id": 7.0}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := telemetry.Logger(&out, telemetry.FormatAuto, "")
			if tt.log != nil {
				log = tt.log(log)
			}
			log.InfoContext(tt.ctx, "fetched")
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%s: %v", out.String(), err)
			}
			if got["msg"] != "fetched" {
				t.Errorf("msg = %v, want fetched", got["msg"])
			}
			delete(got, "time")
			delete(got, "level")
			delete(got, "msg")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFormatAndLevel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ format, level, want string }{
		"JSON where the output is no terminal":     {format: telemetry.FormatAuto, level: "info", want: `"level":"INFO","msg":"hello"`},
		"text when asked for":                      {format: telemetry.FormatText, level: "info", want: "level=INFO msg=hello"},
		"JSON and info where nothing is asked for": {want: `"level":"INFO","msg":"hello"`},
		"nothing below the level":                  {format: telemetry.FormatJSON, level: "warn"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "log")
			f, err := os.Create(file)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			log := telemetry.Logger(f, tt.format, tt.level)
			log.DebugContext(t.Context(), "quiet")
			log.InfoContext(t.Context(), "hello")
			got, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(got), tt.want) || (tt.want == "") != (len(got) == 0) || strings.Contains(string(got), "quiet") {
				t.Errorf("the log has %q, want %q in it", got, tt.want)
			}
		})
	}
}

func TestDurationsAreTextWithAUnit(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 312: "312ns", 27_812_345: "27.8ms", 1_234_567_890: "1.2s", 61_234_567_890: "1m1s", 3*time.Hour + 123456789: "3h0m0s", -27_812_345: "-27.8ms",
	} {
		var out bytes.Buffer
		telemetry.Logger(&out, telemetry.FormatJSON, "").InfoContext(t.Context(), "done", "took", d, slog.Group("g", "in", d))
		if !strings.Contains(out.String(), `"took":"`+want+`"`) || !strings.Contains(out.String(), `"in":"`+want+`"`) {
			t.Errorf("%d nanoseconds: %s, want %s", d, out.String(), want)
		}
	}
}
