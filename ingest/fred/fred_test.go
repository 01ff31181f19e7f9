package fred_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/fred"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world/synth"
	"tidemark/internal/series"
)

const key = "abcdefghijklmnopqrstuvwxyz012345"

func source(t testing.TB, id, key string) ingest.Source {
	t.Helper()
	all := fred.Sources(key)
	i := slices.IndexFunc(all, func(s ingest.Source) bool { return s.ID == id })
	if i < 0 {
		t.Fatalf("no source %q", id)
	}
	return all[i]
}

func day(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		return source(t, c.Source, "").Parse(c.Response)
	}, func(b ingest.Batch) string {
		text := ingesttest.Describe(b)
		for _, v := range b.Vintages {
			text += fmt.Sprintf("# known since %s: %s is %v%s\n", v.VintageAt.Format(time.RFC3339), v.ObservedAt.Format(time.DateOnly), v.Value, v.Marker)
		}
		return text
	})
}

func TestRequests(t *testing.T) {
	t.Parallel()
	employment := source(t, "fred-employment", key)
	for _, tc := range []struct {
		fact   string
		source ingest.Source
		window series.Window
		want   string
	}{
		{"without a key the graph's file", source(t, "fred-employment", ""), series.Window{}, "https://fred.stlouisfed.org/graph/fredgraph.csv?cosd=2005-01-01&id=PAYEMS"},
		{
			"the whole history of the API is all vintages", employment,
			series.Window{},
			"https://api.stlouisfed.org/fred/series/observations?api_key=" + key + "&file_type=json&limit=100000&observation_start=2005-01-01&realtime_end=9999-12-31&realtime_start=2005-01-01&series_id=PAYEMS",
		},
		{
			"what a scheduled run asks is the present state", employment, employment.Window(time.Time{}, time.Time{}),
			"https://api.stlouisfed.org/fred/series/observations?api_key=" + key + "&file_type=json&limit=100000&observation_start=2005-01-01&series_id=PAYEMS",
		},
		{
			"a window has its bounds", employment,
			series.Window{From: day(t, "2020-03-01"), To: day(t, "2020-06-30")},
			"https://api.stlouisfed.org/fred/series/observations?api_key=" + key + "&file_type=json&limit=100000&observation_end=2020-06-30&observation_start=2020-03-01&series_id=PAYEMS",
		},
	} {
		requests, err := tc.source.Request(tc.window)
		if err != nil || len(requests) != 2 || requests[0].URL != tc.want {
			t.Errorf("%s: %v\n%+v", tc.fact, err, requests)
		}
		for _, r := range requests {
			if strings.Contains(ingest.LoggedURL(r.Method, r.URL, r.Body, r.Secret), key) {
				t.Errorf("%s: the ledger has the key", tc.fact)
			}
		}
	}
}

// fixture is the sandbox at one instant.
type fixture struct {
	handler http.Handler
	now     time.Time
}

func newFixture(seed uint64) *fixture {
	s := &fixture{}
	mux := http.NewServeMux()
	fred.Sandbox(mux, synth.World{Seed: seed, Now: func() time.Time { return s.now }})
	s.handler = mux
	return s
}

// ask puts the first request of a source about a window at an instant.
func (s *fixture) ask(t *testing.T, src ingest.Source, w series.Window, now time.Time) ingest.Batch {
	t.Helper()
	requests, err := src.Request(w)
	if err != nil {
		t.Fatal(err)
	}
	s.now = now
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, requests[0].URL, http.NoBody))
	batch, err := src.Parse(ingest.Response{Request: requests[0], Header: answer.Header(), Body: answer.Body.Bytes(), FetchedAt: now})
	if err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: status %d: %v", requests[0].URL, answer.Code, err)
	}
	return batch
}

// The values that the API reports for an instant are those in the graph's file at that time, and both forms show the same now.
func TestVintagesAreWhatTheGraphShowed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.May, 20, 12, 0, 0, 0, time.UTC)
	for _, id := range []string{"fred-employment", "fred-cpi", "fred-gdp", "fred-industrial-production", "fred-jobless-claims"} {
		s := newFixture(7)
		keyless, keyed := source(t, id, ""), source(t, id, key)
		history := s.ask(t, keyed, series.Window{}, now)
		window := keyed.Window(now, now)
		if diff := cmp.Diff(s.ask(t, keyless, series.Window{}, now).Readings, history.Readings); diff != "" {
			t.Errorf("%s: (-graph +vintages):\n%s", id, diff)
		}
		if diff := cmp.Diff(history.Readings, s.ask(t, keyed, window, now).Readings); diff != "" {
			t.Errorf("%s: (-vintages +window):\n%s", id, diff)
		}
		revised := 0
		for _, then := range []string{"2012-07-06", "2019-02-01", "2025-11-28", "2026-02-20"} {
			at := day(t, then).Add(20 * time.Hour)
			known := map[time.Time]series.Observation{}
			for _, v := range history.Vintages {
				if !v.VintageAt.After(at) {
					known[v.ObservedAt] = v
				}
			}
			shown := s.ask(t, keyless, series.Window{}, at).Readings
			if len(shown) != len(known) {
				t.Errorf("%s: %d values are shown on %s, %d are said to have been", id, len(shown), then, len(known))
			}
			for _, r := range shown {
				if v := known[r.ObservedAt]; v.Value != r.Value {
					t.Errorf("%s: %s was %v on %s, is said to have been %v", id, r.ObservedAt.Format(time.DateOnly), r.Value, then, v.Value)
				}
			}
		}
		for i := 1; i < len(history.Vintages); i++ {
			if history.Vintages[i].ObservedAt.Equal(history.Vintages[i-1].ObservedAt) {
				revised++
			}
		}
		if revised < 50 {
			t.Errorf("%s: %d revisions in twenty years", id, revised)
		}
	}
}

func TestNothingIsShownBeforeItsRelease(t *testing.T) {
	t.Parallel()
	s := newFixture(3)
	for _, src := range fred.Sources("") {
		for _, now := range []string{"2026-03-06T13:29:00Z", "2026-03-06T13:31:00Z", "2026-06-30T12:00:00Z"} {
			at, err := time.Parse(time.RFC3339, now)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range s.ask(t, src, series.Window{}, at).Readings {
				// The sandbox moves a release by up to three days, to keep it from a weekend.
				if known := src.Published(r.Series, r.ObservedAt).AddDate(0, 0, -3); known.After(at) {
					t.Errorf("%s of %s is shown on %s", r.Series, r.ObservedAt, at)
				}
			}
		}
	}
	src := source(t, "fred-employment", "")
	before := s.ask(t, src, series.Window{}, time.Date(2026, 3, 6, 13, 29, 0, 0, time.UTC)).Readings
	after := s.ask(t, src, series.Window{}, time.Date(2026, 3, 6, 13, 31, 0, 0, time.UTC)).Readings
	if len(after) != len(before)+1 || !after[len(after)-1].ObservedAt.Equal(day(t, "2026-02-01")) {
		t.Errorf("%d figures before 8:30, %d after, the last of %s", len(before), len(after), after[len(after)-1].ObservedAt)
	}
}

func TestSandboxRefusesAsFREDDoes(t *testing.T) {
	t.Parallel()
	s := newFixture(1)
	s.now = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	for _, address := range []string{
		"https://fred.stlouisfed.org/graph/fredgraph.csv?id=NOBODY",
		"https://api.stlouisfed.org/fred/series/observations?series_id=UNRATE&file_type=json",
		"https://api.stlouisfed.org/fred/series/observations?series_id=UNRATE&api_key=" + key,
		"https://api.stlouisfed.org/fred/series/observations?series_id=NOBODY&file_type=json&api_key=" + key,
	} {
		w := httptest.NewRecorder()
		s.handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody))
		if w.Code/100 != 4 {
			t.Errorf("%s: status %d", address, w.Code)
		}
	}
}

func recorded(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile("../../../shared/upstream/fred-macro/" + name)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded figures at ../shared/upstream/fred-macro, beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Recorded files are read as they came, and held against their own lines.
func TestRecordedFiles(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		source, id, file string
		rows, missing    int
	}{
		{"fred-employment", "UNRATE", "fredgraph/UNRATE.csv", 936, 1},
		{"fred-cpi", "CPIAUCSL", "fredgraph/CPIAUCSL.csv", 948, 1},
		{"fred-jobless-claims", "ICSA", "other/ICSA.csv", 3099, 0},
		{"fred-industrial-production", "INDPRO", "other/INDPRO.csv", 936, 0},
	} {
		t.Run(tc.id, func(t *testing.T) {
			t.Parallel()
			body := recorded(t, tc.file)
			address := "https://fred.stlouisfed.org/graph/fredgraph.csv?" + url.Values{"id": {tc.id}}.Encode()
			batch, err := source(t, tc.source, "").Parse(ingest.Response{Request: ingest.Request{URL: address}, Body: body})
			if err != nil {
				t.Fatal(err)
			}
			lines, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			missing := 0
			for i, r := range batch.Readings {
				if r.Marker != "" {
					missing++
					continue
				}
				if got := fmt.Sprint(r.ObservedAt.Format(time.DateOnly)); got != lines[i+1][0] {
					t.Fatalf("line %d: %s, read as %s", i+2, lines[i+1][0], got)
				}
			}
			if len(batch.Readings) != len(lines)-1 || len(batch.Readings) != tc.rows || missing != tc.missing {
				t.Errorf("%d readings, %d missing, of %d lines; want %d and %d", len(batch.Readings), missing, len(lines)-1, tc.rows, tc.missing)
			}
			info := source(t, tc.source, "").Series
			i := slices.IndexFunc(info, func(s series.Info) bool { return s.ID == series.ID("fred."+tc.id) })
			for _, r := range batch.Readings {
				if !r.ObservedAt.Before(day(t, "2005-01-01")) && r.Marker == "" && (r.Value < *info[i].Min || r.Value > *info[i].Max) {
					t.Errorf("%s is %v, beyond the bounds", r.ObservedAt, r.Value)
				}
			}
		})
	}
}

// The copies of the recorded series were made on the days on which the releases came.
func TestReleasesComeWhenTheyAreTakenToCome(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		source, id, copied, month string
		late                      int // days that the rule may be behind
	}{
		{"fred-employment", "PAYEMS", "2026-04-03", "2026-03-01", 0},
		{"fred-employment", "PAYEMS", "2026-05-08", "2026-04-01", 0},
		{"fred-employment", "UNRATE", "2026-06-05", "2026-05-01", 0},
		{"fred-cpi", "CPIAUCSL", "2026-04-10", "2026-03-01", 5},
		{"fred-cpi", "CPIAUCSL", "2026-05-12", "2026-04-01", 5},
	} {
		lines, err := csv.NewReader(strings.NewReader(string(recorded(t, "vintages/"+tc.copied+"/"+tc.id+".csv")))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if last := lines[len(lines)-1][0]; last != tc.month {
			t.Fatalf("the copy of %s ends with %s", tc.copied, last)
		}
		at := source(t, tc.source, "").Published(series.ID("fred."+tc.id), day(t, tc.month))
		if behind := int(math.Floor(at.Sub(day(t, tc.copied)).Hours() / 24)); behind < 0 || behind > tc.late {
			t.Errorf("%s of %s is taken to come at %s, and was there on %s", tc.id, tc.month, at, tc.copied)
		}
	}
}

// FuzzParse gives one body to each kind of question.
func FuzzParse(f *testing.F) {
	for _, dir := range ingesttest.Dirs(f) {
		f.Add(ingesttest.Load(f, dir).Response.Body)
	}
	f.Add([]byte("observation_date,UNRATE\n0000-01-01,\n"))
	f.Add([]byte("observation_date,UNRATE\n0001-01-01,4.1\n"))
	questions := []ingesttest.Case{
		ingesttest.Load(f, "testdata/graph"), ingesttest.Load(f, "testdata/graph-quarter"), ingesttest.Load(f, "testdata/api"),
		ingesttest.Load(f, "testdata/api-vintages"),
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, c := range questions {
			r := c.Response
			r.Body = body
			batch, err := source(t, c.Source, "").Parse(r)
			if err != nil {
				continue
			}
			last := time.Time{}
			for _, reading := range batch.Readings {
				if !reading.ObservedAt.After(last) || math.IsNaN(reading.Value) || math.IsInf(reading.Value, 0) {
					t.Errorf("%+v after %s", reading, last)
				}
				last = reading.ObservedAt
			}
			for _, v := range batch.Vintages {
				if v.VintageAt.Before(v.ObservedAt) || v.VintageAt.After(r.FetchedAt) {
					t.Errorf("%+v, fetched at %s", v, r.FetchedAt)
				}
			}
		}
	})
}
