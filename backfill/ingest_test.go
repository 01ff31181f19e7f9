package backfill_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/backfill"
	"tidemark/ingest"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// engine asks the sandbox as it is at an instant. A part of an address that is named gets no good answer.
func (r record) engine(at time.Time, broken string) *ingest.Engine {
	now := func() time.Time { return at }
	sandbox := sources.Sandbox(synth.World{Seed: 7, Now: now}, calendar.IsTradingDay)
	return &ingest.Engine{
		Transport: world.Sandbox(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if broken != "" && strings.Contains(req.URL.String(), broken) {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			sandbox.ServeHTTP(w, req)
		}), world.SandboxOptions{Now: now}),
		Now: now, Ledger: r.db, Archive: r.store, Offline: true, Attempts: 1,
	}
}

// receive asks for all of a source and stores what comes.
func (r record) receive(t *testing.T, e *ingest.Engine, src ingest.Source) (added int64, err error) {
	t.Helper()
	got, trouble := backfill.Receive(t.Context(), r.db, e, src, series.Window{}, task.Fence{})
	defer got.Discard(t.Context())
	added, err = got.Store(t.Context(), got.Good, nil)
	return added, errors.Join(trouble, err)
}

func TestStoredWhileFetchedIsStoredAfterwards(t *testing.T) {
	t.Parallel()
	src := source(t, "eia-petroleum-spot")
	afterwards := newRecord(t)
	afterwards.live(t, src, 3)

	while := newRecord(t)
	at := time.Date(2025, 10, 1, 15, 0, 0, 0, time.UTC)
	for month := range 3 {
		added, err := while.receive(t, while.engine(at.AddDate(0, month, 0), ""), src)
		if err != nil || added == 0 {
			t.Fatalf("month %d: %d rows were added (%v)", month, added, err)
		}
	}
	if d := cmp.Diff(afterwards.observations(t), while.observations(t)); d != "" {
		t.Errorf("(-afterwards +while):\n%s", d)
	}
}

func TestAGoodPartIsStoredBesideABrokenOne(t *testing.T) {
	t.Parallel()
	src := source(t, "eia-petroleum-spot")
	r := newRecord(t)
	at := time.Date(2025, 10, 1, 15, 0, 0, 0, time.UTC)
	added, err := r.receive(t, r.engine(at, "EER_EPMRU"), src)
	if !errors.Is(err, ingest.Refused) || added == 0 {
		t.Errorf("%d rows were added, %v: want the rows of two pages and the refusal of the third", added, err)
	}
	before := r.observations(t)
	if len(before) != int(added) {
		t.Errorf("%d rows, want %d", len(before), added)
	}
	if added, err = r.receive(t, r.engine(at, ""), src); err != nil || added == 0 {
		t.Errorf("the next attempt added %d rows (%v), want those of the third page", added, err)
	}
	whole := newRecord(t)
	if _, err := whole.receive(t, whole.engine(at, ""), src); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(whole.observations(t), r.observations(t)); d != "" {
		t.Errorf("two attempts differ from one (-one +two):\n%s", d)
	}
}

func TestOnlySomeOfTheResponsesAreStored(t *testing.T) {
	t.Parallel()
	src := source(t, "eia-petroleum-spot")
	r := newRecord(t)
	got, err := backfill.Receive(t.Context(), r.db, r.engine(time.Date(2025, 10, 1, 15, 0, 0, 0, time.UTC), ""), src, series.Window{}, task.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Discard(t.Context())
	if added, err := got.Store(t.Context(), nil, nil); added != 0 || err != nil {
		t.Errorf("none of the responses: %d rows were added, %v", added, err)
	}
	added, err := got.Store(t.Context(), got.Good[1:], nil)
	if err != nil || added == 0 {
		t.Errorf("%d rows were added, %v: want those of two pages", added, err)
	}
	for _, l := range r.observations(t) {
		if strings.HasPrefix(l, "eia.RWTC ") {
			t.Fatalf("a row of the page that was left out: %s", l)
		}
	}
}
