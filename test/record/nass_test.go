package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest/nass"
)

func TestRecordedCornAnswersInAReplay(t *testing.T) {
	t.Parallel()
	needFolder(t, nassFolder)
	entries, _, err := readCorn(recorded)
	if err != nil {
		t.Fatal(err)
	}
	dir := archiveOf(t, entries)

	got := replayChain(t, dir, nass.Source(""), day(t, "2026-05-14"))
	finals, forecasts := got["nass.IA.CORN.YIELD.FINAL"], got["nass.IA.CORN.YIELD.FORECAST"]
	if len(finals) != 146+1 {
		t.Errorf("%d finals, want those of 1866 to 2011 and of 2025", len(finals))
	}
	for date, want := range map[string]float64{
		"1866-01-01": 32, "1868-01-01": 40.5, "2009-01-01": 182, "2010-01-01": 165, "2011-01-01": 172, "2025-01-01": 210,
	} {
		if v := finals[day(t, date)]; v != want {
			t.Errorf("the final of %s is %v, want %v", date, v, want)
		}
	}
	want := history{day(t, "2025-08-01"): 222, day(t, "2025-09-01"): 219, day(t, "2025-11-01"): 216}
	if diff := cmp.Diff(want, forecasts); diff != "" {
		t.Errorf("forecasts (-want +got):\n%s", diff)
	}

	if got := replayChain(t, dir, nass.Source(""), day(t, "2026-01-13")); got != nil {
		t.Errorf("the archive answers before the file was saved: %v", got)
	}
	for _, e := range entries {
		if !e.fetch.Constructed || e.fetch.Synthetic {
			t.Errorf("%s: constructed %t, synthetic %t", e.fetch.URL, e.fetch.Constructed, e.fetch.Synthetic)
		}
	}
}
