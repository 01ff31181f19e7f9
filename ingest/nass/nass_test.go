package nass_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/nass"
	"tidemark/series"
)

const (
	finals    series.ID = "nass.IA.CORN.YIELD.FINAL"
	forecasts series.ID = "nass.IA.CORN.YIELD.FORECAST"
	ratings   series.ID = "nass.IA.CORN.CONDITION"
)

var update = flag.Bool("update", false, "rewrite the expectations of the case folders")

// meta is a case's meta.json.
type meta struct {
	URL         string    `json:"url"`
	ContentType string    `json:"content_type"`
	FetchedAt   time.Time `json:"fetched_at"`
}

// loadCase reads a case folder as the response that the engine would hand to the parser.
func loadCase(t testing.TB, dir string) ingest.Response {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m meta
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	bodies, err := filepath.Glob(filepath.Join(dir, "body.*"))
	if err != nil || len(bodies) != 1 {
		t.Fatalf("%s: %d bodies, want 1 (%v)", dir, len(bodies), err)
	}
	body, err := os.ReadFile(bodies[0])
	if err != nil {
		t.Fatal(err)
	}
	return ingest.Response{
		Request: ingest.Request{URL: m.URL}, Header: http.Header{"Content-Type": {m.ContentType}}, Body: body, FetchedAt: m.FetchedAt,
	}
}

func caseDirs(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/*/meta.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no case folders: %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

func TestCases(t *testing.T) {
	t.Parallel()
	src := nass.Source("")
	for _, dir := range caseDirs(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			r := loadCase(t, dir)
			batch, err := src.Parse(r)
			name, got := "expected.csv", describe(batch)
			if err != nil {
				name, got = "expected.err", err.Error()+"\n"
				if len(batch.Readings) != 0 || len(batch.Covers) != 0 || batch.Next != nil {
					t.Errorf("an error comes with a batch: %+v", batch)
				}
			}
			if *update {
				for _, old := range []string{"expected.csv", "expected.err"} {
					if err := os.Remove(filepath.Join(dir, old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
						t.Fatal(err)
					}
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatalf("the parser's answer is of another kind than the case expects: %v\n%s", err, got)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := src.Parse(r)
			if diff := cmp.Diff(batch, again); diff != "" || (err == nil) != (name == "expected.csv") {
				t.Errorf("the same bytes give another batch (-first +second):\n%s", diff)
			}
			if err == nil {
				checkBatch(t, batch)
			}
		})
	}
}

// describe writes a batch as an expected.csv.
func describe(b ingest.Batch) string {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	lines := [][]string{{"series", "observed_at", "value", "marker"}}
	list := slices.Clone(b.Readings)
	slices.SortStableFunc(list, func(x, y series.Reading) int { return x.ObservedAt.Compare(y.ObservedAt) })
	for _, r := range list {
		value := strconv.FormatFloat(r.Value, 'f', -1, 64)
		if r.Marker != "" {
			value = ""
		}
		lines = append(lines, []string{string(r.Series), r.ObservedAt.Format(time.RFC3339), value, r.Marker})
	}
	if err := w.WriteAll(lines); err != nil {
		panic(err)
	}
	for _, c := range b.Covers {
		fmt.Fprintf(&text, "# covers %s from %s to %s\n", c.Series, c.Window.From.Format(time.DateOnly), c.Window.To.Format(time.DateOnly))
	}
	if b.Next != nil {
		fmt.Fprintf(&text, "# next %s\n", b.Next.URL)
	}
	return text.String()
}

// checkBatch holds a batch to what the parser promises.
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
