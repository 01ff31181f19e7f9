package nass_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/nass"
	"tidemark/internal/series"
)

// loadCase reads a case folder as the response that the engine would hand to the parser.
func loadCase(t testing.TB, dir string) ingest.Response {
	t.Helper()
	return ingesttest.Load(t, dir).Response
}

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		batch, err := nass.Source("").Parse(c.Response)
		if err == nil {
			checkBatch(t, batch)
		}
		return batch, err
	}, ingesttest.Describe)
}

const (
	finals    series.ID = "nass.IA.CORN.YIELD.FINAL"
	forecasts series.ID = "nass.IA.CORN.YIELD.FORECAST"
	ratings   series.ID = "nass.IA.CORN.CONDITION"
)

// checkBatch checks a batch against the parser's promises.
func checkBatch(t testing.TB, b ingest.Batch) {
	t.Helper()
	newest := map[series.ID]time.Time{}
	seen := map[string]bool{}
	for _, r := range b.Readings {
		key := string(r.Series) + " of " + r.ObservedAt.Format(time.DateOnly)
		switch {
		case r.Series != finals && r.Series != forecasts && r.Series != ratings:
			t.Errorf("a reading of %q", r.Series)
		case seen[key]:
			t.Errorf("two readings: %s", key)
		case r.Marker == "" && !(r.Value >= 0 && r.Value < 1e300):
			t.Errorf("%s is %v", key, r.Value)
		case r.Series == ratings && r.Marker == "" && (r.Value < 1 || r.Value > 5):
			t.Errorf("%s is %v, want 1 to 5", key, r.Value)
		case r.Series == finals && r.ObservedAt.YearDay() != 1, r.Series == forecasts && r.ObservedAt.Day() != 1,
			r.ObservedAt.Location() != time.UTC, !r.ObservedAt.Equal(r.ObservedAt.Truncate(24 * time.Hour)):
			t.Errorf("an ill-dated reading: %s", key)
		}
		seen[key] = true
		if r.ObservedAt.After(newest[r.Series]) {
			newest[r.Series] = r.ObservedAt
		}
	}
	for _, c := range b.Covers {
		if c.Window.From.After(c.Window.To) || !c.Window.To.Equal(newest[c.Series]) {
			t.Errorf("%s is covered from %s to %s, its newest reading is of %s", c.Series, c.Window.From, c.Window.To, newest[c.Series])
		}
	}
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	keyless, keyed := nass.Source(""), nass.Source("KEY")
	var ids []series.ID
	for _, s := range keyless.Series {
		ids = append(ids, s.ID)
	}
	if diff := cmp.Diff([]series.ID{finals, forecasts, ratings}, ids); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if keyless.ID != keyed.ID || keyless.Cadence != keyed.Cadence || keyless.License != keyed.License || len(keyless.Series) != len(keyed.Series) {
		t.Error("a key changes more than the way of asking")
	}
	if !strings.Contains(keyless.License, "public domain") || !strings.Contains(keyless.License, "USDA NASS") {
		t.Errorf("the licence is %q", keyless.License)
	}
}

func TestKeyedFormAsksForExactlyTheRowsThatAreWanted(t *testing.T) {
	t.Parallel()
	src := nass.Source("TOPSECRET")
	whole, err := src.Request(series.Window{})
	if err != nil || len(whole) != 2 {
		t.Fatalf("%d requests, %v", len(whole), err)
	}
	const common = "https://quickstats.nass.usda.gov/api/api_GET/?agg_level_desc=STATE&commodity_desc=CORN&domain_desc=TOTAL&format=JSON"
	want := []string{
		common + "&freq_desc=ANNUAL&group_desc=FIELD+CROPS&key=TOPSECRET&sector_desc=CROPS" +
			"&short_desc=CORN%2C+GRAIN+-+YIELD%2C+MEASURED+IN+BU+%2F+ACRE&source_desc=SURVEY&state_name=IOWA&statisticcat_desc=YIELD",
		common + "&freq_desc=WEEKLY&group_desc=FIELD+CROPS&key=TOPSECRET&sector_desc=CROPS" +
			"&source_desc=SURVEY&state_name=IOWA&statisticcat_desc=CONDITION",
	}
	for i, r := range whole {
		if r.URL != want[i] {
			t.Errorf("asks %s\nwant %s", r.URL, want[i])
		}
		if !slices.Equal(r.Secret, []string{"key"}) || r.Header != nil || r.Absent != nil {
			t.Errorf("secret parameters %q, headers %v, absent %v", r.Secret, r.Header, r.Absent)
		}
	}
	window := series.Window{From: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)}
	bounded, err := src.Request(window)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range bounded {
		if !strings.HasSuffix(r.URL, "&year__GE=2024&year__LE=2026") || !slices.Equal(r.Absent, []int{http.StatusBadRequest}) {
			t.Errorf("a bounded window asks %s and takes %v for no rows", r.URL, r.Absent)
		}
	}
}

func TestKeylessFormAsksAsThePageDoes(t *testing.T) {
	t.Parallel()
	requests, err := nass.Source("").Request(series.Window{})
	if err != nil || len(requests) != 2 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	const yield = "source_desc=SURVEY&sector_desc=CROPS&group_desc=FIELD+CROPS&commodity_desc=CORN&statisticcat_desc=YIELD" +
		"&short_desc=CORN%2C+GRAIN+-+YIELD%2C+MEASURED+IN+BU+%2F+ACRE&agg_level_desc=STATE&state_name=IOWA&freq_desc=ANNUAL" +
		"&breadcrumb=source_desc&breadcrumb=sector_desc&breadcrumb=group_desc&breadcrumb=commodity_desc&breadcrumb=statisticcat_desc" +
		"&breadcrumb=short_desc&breadcrumb=agg_level_desc&breadcrumb=state_name&breadcrumb=freq_desc"
	if diff := cmp.Diff(yield, string(requests[0].Body)); diff != "" {
		t.Errorf("the first question (-want +got):\n%s", diff)
	}
	for _, r := range requests {
		if r.Method != http.MethodPost || r.URL != "https://quickstats.nass.usda.gov/uuid/encode" {
			t.Errorf("asks %s %s", r.Method, r.URL)
		}
	}
}

func TestPublicationLag(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	src := nass.Source("")
	for _, tc := range []struct {
		fact            string
		id              series.ID
		observed, known string
	}{
		{"August's forecast", forecasts, "2024-08-01", "2024-08-12 12:00"}, // it came on 12 August 2024 at noon
		{"November's, in winter time", forecasts, "2024-11-01", "2024-11-12 12:00"},
		{"a final comes with the next January's summary", finals, "2025-01-01", "2026-01-12 12:00"},
		{"a week's ratings come on the Monday after its Sunday", ratings, "2026-06-07", "2026-06-08 16:00"},
		{"after Memorial Day on Tuesday", ratings, "2026-05-24", "2026-05-26 16:00"},
		{"after Labor Day on Tuesday", ratings, "2026-09-06", "2026-09-08 16:00"},
		{"after Independence Day on a Sunday on Tuesday", ratings, "2027-07-04", "2027-07-06 16:00"},
		{"after Columbus Day on Tuesday", ratings, "2025-10-12", "2025-10-14 16:00"},
		{"a week that ended on Saturday", ratings, "1988-06-04", "1988-06-06 16:00"},
	} {
		observed, err := time.Parse(time.DateOnly, tc.observed)
		if err != nil {
			t.Fatal(err)
		}
		known, err := time.ParseInLocation("2006-01-02 15:04", tc.known, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := src.Published(tc.id, observed); !got.Equal(known) || got.Location() != time.UTC {
			t.Errorf("%s: published at %s, want %s", tc.fact, got, known.UTC())
		}
	}
}
