package world_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world"
	"tidemark/internal/series"
)

// engine returns an engine in a world, with a separate fetch log and archive.
func engine(t *testing.T, rt http.RoundTripper, clock world.Clock) (*ingest.Engine, *ingesttest.FetchLog) {
	t.Helper()
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	l := &ingesttest.FetchLog{}
	return &ingest.Engine{
		Transport: rt, Now: clock.Now, Ledger: l, Archive: store,
		Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}, l
}

// squares is a source of two pages, and the upstream that serves it.
func squares() (ingest.Source, http.Handler) {
	src := ingest.Source{
		ID:     "squares",
		Limits: ingest.Limits{ContentTypes: []string{"text/csv"}},
		Series: []series.Info{{ID: "test.squares"}},
		Request: func(series.Window) ([]ingest.Request, error) {
			return []ingest.Request{{URL: "https://upstream.example/squares?api_key=s3cr3t-k3y&page=1", Secret: []string{"api_key"}}}, nil
		},
		Parse: func(r ingest.Response) (ingest.Batch, error) {
			var b ingest.Batch
			for line := range strings.Lines(string(r.Body)) {
				if line == "more\n" {
					next := r.Request
					next.URL = strings.Replace(r.Request.URL, "page=1", "page=2", 1)
					b.Next = &next
					continue
				}
				day, value, _ := strings.Cut(strings.TrimSpace(line), ",")
				at, err := time.Parse(time.DateOnly, day)
				if err != nil {
					return b, err
				}
				v, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return b, err
				}
				b.Readings = append(b.Readings, ingest.Reading{Series: "test.squares", ObservedAt: at, Value: v})
			}
			return b, nil
		},
	}
	return src, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		first := 1
		if r.URL.Query().Get("page") == "2" {
			first = 11
		}
		for i := first; i < first+10; i++ {
			_, _ = fmt.Fprintf(w, "2026-03-%02d,%d\n", i, i*i)
		}
		if first == 1 {
			_, _ = fmt.Fprintln(w, "more")
		}
	})
}

// What an engine collected in one world, faults and all, is exported as the ledger has it and collected again in another.
func TestWhatWasCollectedReplaysAsItWas(t *testing.T) {
	t.Parallel()
	src, upstream := squares()
	recorded := world.Fixed(at(25))
	rt := world.Sandbox(upstream, world.SandboxOptions{Now: recorded.Now, Fault: func(r *http.Request, nth int) (world.Fault, bool) {
		switch {
		case r.URL.Query().Get("page") == "1" && nth == 1:
			return world.ErrorPage(http.StatusServiceUnavailable), true
		case r.URL.Query().Get("page") == "2" && nth == 1:
			return world.Fault{Keep: 0.9}, true
		}
		return world.Fault{}, false
	}})
	first, rows := engine(t, rt, recorded)
	want, err := first.Collect(t.Context(), src, series.Window{}, 1)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	w, err := archive.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range rows.Rows {
		body, err := first.Archive.Get(t.Context(), f.SHA256)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(t.Context(), f, body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := world.LastFetch(dir)
	if err != nil {
		t.Fatal(err)
	}
	clock := world.Fixed(last)
	second, rows := engine(t, replay(t, dir, last), clock)
	for run, statuses := range [][]int{{200, 200}, {200, 200, 304, 304}} {
		got, err := second.Collect(t.Context(), src, series.Window{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 {
			t.Fatalf("got %d pages, want 2", len(got))
		}
		for i := range got {
			if !got[i].Fetch.Synthetic || got[i].Fetch.SHA256 != want[i].Fetch.SHA256 {
				t.Errorf("page %d: %+v, want the synthetic body %s", i+1, got[i].Fetch, want[i].Fetch.SHA256)
			}
			if diff := cmp.Diff(want[i].Batch.Readings, got[i].Batch.Readings); diff != "" {
				t.Errorf("page %d (-sandbox +replay):\n%s", i+1, diff)
			}
		}
		var seen []int
		for _, f := range rows.Rows {
			seen = append(seen, f.Status)
			if strings.Contains(f.URL, "s3cr3t") {
				t.Errorf("the ledger shows the key: %s", f.URL)
			}
		}
		if diff := cmp.Diff(statuses, seen); diff != "" {
			t.Errorf("run %d: ledger (-want +got):\n%s", run+1, diff)
		}
	}
}

func TestAnEngineGivesUpAtOnceWhatLiveRefuses(t *testing.T) {
	t.Parallel()
	src, _ := squares()
	src.Request = func(series.Window) ([]ingest.Request, error) {
		return []ingest.Request{{URL: "http://127.0.0.1:1/?api_key=s3cr3t-k3y", Secret: []string{"api_key"}}}, nil
	}
	e, rows := engine(t, world.LiveWith(world.LiveOptions{Proxy: noProxy}), world.Fixed(at(2)))
	waits := 0
	e.Wait = func(context.Context, time.Duration) error { waits++; return nil }
	_, err := e.Collect(t.Context(), src, series.Window{}, 1)
	if !errors.Is(err, ingest.Refused) || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("got %v, want a refusal without the key", err)
	}
	if again, _ := ingest.Retryable(err); again || waits != 0 || len(rows.Rows) != 0 {
		t.Errorf("another attempt %t, %d waits, %d answers; want none of it", again, waits, len(rows.Rows))
	}
}
