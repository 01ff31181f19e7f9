package workers_test

import (
	"encoding/json"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// An observation published years before the first read has the publisher's usual delay as its time of publication, marked as assumed. Its
// time of ingestion is the time at which the bytes came.
func TestNothingIsIngestedBeforeItsBytesCame(t *testing.T) {
	t.Parallel()
	petroleum, _ := signals.ByID("eia-weekly-petroleum")
	b := newBench(t, petroleum)
	came := time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC)
	weeks := func(last time.Time) []series.Reading {
		var out []series.Reading
		for week := time.Date(2019, 1, 4, 0, 0, 0, 0, time.UTC); !week.After(last); week = week.AddDate(0, 0, 7) {
			for _, id := range petroleum.Inputs {
				out = append(out, series.Reading{Series: id, ObservedAt: week, Value: 100})
			}
		}
		return out
	}
	b.store(came, weeks(time.Date(2026, 2, 20, 0, 0, 0, 0, time.UTC)))
	b.run(petroleum.ID, came.Add(time.Hour))
	v := newView(t, b, petroleum)
	type times struct {
		Observed time.Time `json:"observed_at"`
		Ingested time.Time `json:"ingested_at"`
		At       time.Time `json:"published_at"`
		Assumed  bool      `json:"published_at_assumed"`
	}
	read := func(at time.Time) (out times) {
		t.Helper()
		if err := json.Unmarshal([]byte(body(t, v, petroleum.ID, at)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	old := read(came.Add(time.Hour))
	if !old.Ingested.Equal(came) || !old.Assumed || !old.At.Equal(old.Observed.Add(60*time.Hour)) {
		t.Errorf("the week that was there before: %+v, want ingested at %v", old, came)
	}
	// The next week is seen to arrive.
	next := came.AddDate(0, 0, 7)
	b.store(next, weeks(time.Date(2026, 2, 27, 0, 0, 0, 0, time.UTC)))
	b.run(petroleum.ID, next.Add(time.Hour))
	if now := read(next.Add(time.Hour)); !now.Ingested.Equal(next) || now.Assumed || !now.At.Equal(next) {
		t.Errorf("the week that was seen to arrive: %+v, want %v", now, next)
	}
	// A slot before the first bytes is computed later: it says what was published by then, and when that was read here.
	b.run(petroleum.ID, came.AddDate(0, -1, 0))
	if past := read(came.AddDate(0, -1, 0)); !past.Assumed || past.Ingested.Before(came) {
		t.Errorf("a slot of the past: %+v", past)
	}
}
