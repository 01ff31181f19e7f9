package eia_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/eia"
	"tidemark/ingest/ingesttest"
	"tidemark/internal/series"
)

func sources() map[string]ingest.Source {
	return map[string]ingest.Source{"eia-petroleum-spot": eia.Spot(""), "eia-petroleum-weekly": eia.Weekly("")}
}

// loadCase reads a case folder as its source and the response that the engine would hand to the parser.
func loadCase(t testing.TB, dir string) (ingest.Source, ingest.Response) {
	t.Helper()
	c := ingesttest.Load(t, dir)
	src, ok := sources()[c.Source]
	if !ok {
		t.Fatalf("%s: no source %q", dir, c.Source)
	}
	return src, c.Response
}

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		src, r := loadCase(t, c.Dir)
		return src.Parse(r)
	}, ingesttest.Describe)
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keyless, keyed ingest.Source
		ids            []series.ID
	}{
		{eia.Spot(""), eia.Spot("KEY"), []series.ID{"eia.RWTC", "eia.EER_EPMRU_PF4_Y35NY_DPG", "eia.EER_EPD2DXL0_PF4_Y35NY_DPG"}},
		{eia.Weekly(""), eia.Weekly("KEY"), []series.ID{"eia.WCESTUS1", "eia.WGTSTUS1", "eia.WDISTUS1", "eia.WPULEUS3"}},
	} {
		var ids []series.ID
		for _, s := range tc.keyless.Series {
			ids = append(ids, s.ID)
		}
		if diff := cmp.Diff(tc.ids, ids); diff != "" {
			t.Errorf("series of %s (-want +got):\n%s", tc.keyless.ID, diff)
		}
		same := func(a, b ingest.Source) bool {
			return a.ID == b.ID && a.Cadence == b.Cadence && a.License == b.License && len(a.Series) == len(b.Series)
		}
		if !same(tc.keyless, tc.keyed) {
			t.Errorf("%s: a key changes more than the way of asking", tc.keyless.ID)
		}
	}
	if l := eia.Spot("").License; !strings.Contains(l, "public domain") || !strings.Contains(l, "third party") {
		t.Errorf("the licence of spot prices hides their third party: %q", l)
	}
}

func TestKeylessFormAsksOnePagePerSeries(t *testing.T) {
	t.Parallel()
	window := series.Window{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	requests, err := eia.Weekly("").Request(window)
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, r := range requests {
		urls = append(urls, r.URL)
	}
	const page = "https://www.eia.gov/dnav/pet/hist/LeafHandler.ashx?n=PET&s="
	want := []string{page + "WCESTUS1&f=W", page + "WGTSTUS1&f=W", page + "WDISTUS1&f=W", page + "WPULEUS3&f=W"}
	if diff := cmp.Diff(want, urls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKeyedFormAsksInAscendingOrderWithTheKeyMarkedSecret(t *testing.T) {
	t.Parallel()
	window := series.Window{
		From: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		To:   time.Date(2026, 7, 31, 0, 0, 0, 0, time.UTC),
	}
	requests, err := eia.Spot("TOPSECRET").Request(window)
	if err != nil || len(requests) != 3 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	want := "https://api.eia.gov/v2/petroleum/pri/spt/data/?api_key=TOPSECRET&data%5B0%5D=value&end=2026-07-31" +
		"&facets%5Bseries%5D%5B%5D=RWTC&frequency=daily&length=5000&offset=0" +
		"&sort%5B0%5D%5Bcolumn%5D=period&sort%5B0%5D%5Bdirection%5D=asc&start=2026-05-27"
	if diff := cmp.Diff(want, requests[0].URL); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range requests {
		if !slices.Equal(r.Secret, []string{"api_key"}) {
			t.Errorf("secret parameters are %q", r.Secret)
		}
		if r.Header != nil {
			t.Errorf("headers %v: the key may travel in the address only", r.Header)
		}
	}
	open, err := eia.Spot("TOPSECRET").Request(series.Window{})
	if err != nil || strings.Contains(open[0].URL, "start=") || strings.Contains(open[0].URL, "end=") {
		t.Errorf("the whole history is asked for with bounds: %s (%v)", open[0].URL, err)
	}
}

func TestPublicationLag(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		fact            string
		source          ingest.Source
		observed, known string
	}{
		// The releases of 2025-12-10 and 2018-08-15, both Wednesdays, ended at the Monday before. The release of 2024-11-13 did not hold
		// Wednesday's value, which came with the next release.
		{"Monday's price comes on the Wednesday of its week", eia.Spot(""), "2025-12-08", "2025-12-10 18:00"},
		{"also in summer time", eia.Spot(""), "2018-08-13", "2018-08-15 18:00"},
		{"Tuesday's price comes a week later", eia.Spot(""), "2018-08-14", "2018-08-22 18:00"},
		{"Wednesday's price comes a week later", eia.Spot(""), "2024-11-13", "2024-11-20 18:00"},
		{"Friday's price comes after the weekend", eia.Spot(""), "2025-12-05", "2025-12-10 18:00"},
		{"a week's stocks come on the Wednesday after its Friday", eia.Weekly(""), "2026-05-08", "2026-05-13 10:30"},
		{"also across the end of summer time", eia.Weekly(""), "2025-10-31", "2025-11-05 10:30"},
	} {
		observed, err := time.Parse(time.DateOnly, tc.observed)
		if err != nil {
			t.Fatal(err)
		}
		known, err := time.ParseInLocation("2006-01-02 15:04", tc.known, zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range tc.source.Series {
			if got := s.Published(observed); !got.Equal(known) || got.Location() != time.UTC {
				t.Errorf("%s: %s of %s is published at %s, want %s", tc.fact, s.ID, tc.observed, got, known.UTC())
			}
		}
	}
	for day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2026; day = day.AddDate(0, 0, 1) {
		for _, src := range []ingest.Source{eia.Spot(""), eia.Weekly("")} {
			at := src.Series[0].Published(day)
			if lag := at.Sub(day); at.In(zone).Weekday() != time.Wednesday || lag < 24*time.Hour/2 || lag > 9*24*time.Hour {
				t.Errorf("%s of %s is published at %s", src.ID, day.Format(time.DateOnly), at)
			}
		}
	}
}
