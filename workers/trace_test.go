package workers_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/task"
	"tidemark/internal/telemetry"
	"tidemark/internal/telemetry/collector"
)

func TestOneTraceLeadsFromTheCronLineToTheSnapshot(t *testing.T) {
	t.Parallel()
	c := collector.New(t)
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.TraceOptions{
		Endpoint: c.URL, Service: "tidemark", Share: 1, Timeout: 5 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracer.Close(context.WithoutCancel(t.Context())) })
	newTracedRig(t, tracer, task.Schedule{Job: task.Ingest, Subject: "test", Cron: "0 12 * * *", Zone: "UTC", CatchUp: "latest"})

	byID := map[string]collector.Span{}
	var snapshot, run collector.Span
	for deadline := time.Now().Add(30 * time.Second); run.ID == ""; {
		if time.Now().After(deadline) {
			t.Fatalf("no run that ended with a snapshot was exported, only %v", byID)
		}
		if err := tracer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Spans() {
			byID[s.ID] = s
			if s.Name == "snapshot" {
				snapshot = s
			}
		}
		run = byID[snapshot.Parent]
	}

	var way []string
	for s := snapshot; s.ID != ""; s = byID[s.Parent] {
		way = append(way, strings.TrimSpace(s.Kind+" "+s.Name))
		if s.Trace != snapshot.Trace {
			t.Errorf("%s is of the trace %s, the snapshot of %s", s.Name, s.Trace, snapshot.Trace)
		}
		if s.Error != "" {
			t.Errorf("%s: %s", s.Name, s.Error)
		}
	}
	want := []string{
		"INTERNAL snapshot", "CONSUMER run signal", "PRODUCER enqueue signal", "INTERNAL store", "CONSUMER run ingest", "PRODUCER enqueue ingest",
		"INTERNAL slot ingest",
	}
	if d := cmp.Diff(want, way); d != "" {
		t.Errorf("from the snapshot back (-want +got):\n%s", d)
	}

	// Other spans: the parts of the two runs, and statements below them.
	parts := map[string]string{}
	for _, s := range byID {
		if s.Trace == snapshot.Trace && !strings.HasPrefix(s.Name, "sql ") {
			parts[s.Name] = byID[s.Parent].Name
		}
		if s.Trace == snapshot.Trace && s.Parent == snapshot.ID && s.Attributes["db.system.name"] != "postgresql" {
			t.Errorf("%s is below the snapshot and no statement", s.Name)
		}
	}
	if d := cmp.Diff(map[string]string{
		"slot ingest": "", "enqueue ingest": "slot ingest", "run ingest": "enqueue ingest", "fetch": "run ingest", "archive": "run ingest",
		"parse": "run ingest", "store": "run ingest", "enqueue signal": "store", "run signal": "enqueue signal", "compute": "run signal",
		"snapshot": "run signal",
	}, parts); d != "" {
		t.Errorf("parts and what they are parts of (-want +got):\n%s", d)
	}
	for _, s := range byID {
		switch s.Name {
		case "slot ingest":
			if got := s.Attributes; got["cron"] != "0 12 * * *" || got["at"] != "2026-03-02T12:00:00Z" || got["subject"] != "test" {
				t.Errorf("the slot says %v", got)
			}
		case "fetch":
			if got := s.Attributes; got["url"] != upstream || got["http.response.status_code"] != "200" || s.Kind != "CLIENT" {
				t.Errorf("the fetch says %v", s)
			}
		case "store":
			if got := s.Attributes["rows"]; got != "2" {
				t.Errorf("%s rows were stored, want 2", got)
			}
		}
	}
	if run.Attributes["outcome"] != "succeeded" || run.Attributes["subject"] != "test-signal" {
		t.Errorf("the run of the signal says %v", run.Attributes)
	}
}
