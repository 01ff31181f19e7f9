package eia_test

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/eia"
	"tidemark/ingest/ingesttest"
	"tidemark/internal/series"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func reading(id series.ID, date string, value float64) series.Reading {
	return series.Reading{Series: id, ObservedAt: day(date), Value: value}
}

// write renders a page and wraps it as the engine would.
func write(t testing.TB, p eia.Page) ingest.Response {
	t.Helper()
	body, err := p.HTML()
	if err != nil {
		t.Fatal(err)
	}
	address, err := p.URL()
	if err != nil {
		t.Fatal(err)
	}
	return ingest.Response{
		Request: ingest.Request{URL: address},
		Header:  http.Header{"Content-Type": {"text/html"}},
		Body:    body,
	}
}

func TestWrittenPagesReadBack(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		source ingest.Source
		page   eia.Page
	}{
		{"prices over a turn of the year, a holiday and an empty week", eia.Spot(""), eia.Page{
			Series: "eia.RWTC", Released: day("2025-01-15"), Next: day("2025-01-23"),
			Readings: []series.Reading{
				reading("eia.RWTC", "2020-04-20", -36.98),
				reading("eia.RWTC", "2024-12-31", 72.44),
				reading("eia.RWTC", "2025-01-02", 73.79),
				{Series: "eia.RWTC", ObservedAt: day("2025-01-03"), Marker: "W"},
				reading("eia.RWTC", "2025-01-13", 79),
			},
		}},
		{"prices of three decimals", eia.Spot(""), eia.Page{
			Series: "eia.EER_EPD2DXL0_PF4_Y35NY_DPG", Released: day("2025-12-10"), Next: day("2025-12-17"),
			Readings: []series.Reading{
				reading("eia.EER_EPD2DXL0_PF4_Y35NY_DPG", "2025-12-05", 2.418),
				reading("eia.EER_EPD2DXL0_PF4_Y35NY_DPG", "2025-12-08", 2.348),
			},
		}},
		{"stocks with thousands and with a gap", eia.Weekly(""), eia.Page{
			Series: "eia.WCESTUS1", Released: day("1983-01-12"), Next: day("1983-01-19"),
			Readings: []series.Reading{
				reading("eia.WCESTUS1", "1982-08-20", 338764),
				reading("eia.WCESTUS1", "1982-08-27", 336138),
				reading("eia.WCESTUS1", "1982-12-31", 1234567),
				reading("eia.WCESTUS1", "1983-01-07", 999),
			},
		}},
		{"a month of five weeks", eia.Weekly(""), eia.Page{
			Series: "eia.WPULEUS3", Released: day("2025-06-04"), Next: day("2025-06-11"), Note: "a note with <marks>",
			Readings: []series.Reading{
				reading("eia.WPULEUS3", "2025-05-02", 89), reading("eia.WPULEUS3", "2025-05-09", 90.2),
				reading("eia.WPULEUS3", "2025-05-16", 90.7), reading("eia.WPULEUS3", "2025-05-23", 90.2),
				reading("eia.WPULEUS3", "2025-05-30", 93.4),
			},
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			batch, err := tc.source.Parse(write(t, tc.page))
			if err != nil {
				t.Fatal(err)
			}
			want := ingest.Batch{Readings: tc.page.Readings, Covers: []ingest.Coverage{{
				Series: tc.page.Series,
				Window: series.Window{To: tc.page.Readings[len(tc.page.Readings)-1].ObservedAt},
			}}}
			if diff := cmp.Diff(want, batch); diff != "" {
				t.Errorf("(-written +read):\n%s", diff)
			}
		})
	}
}

func TestPageThatCannotSayItsReadingsIsNotWritten(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		page eia.Page
		want string
	}{
		{"nothing", eia.Page{Series: "eia.RWTC"}, "no readings"},
		{"an unknown series", eia.Page{Series: "eia.RBRTE"}, "not a series"},
		{"another series", eia.Page{Series: "eia.RWTC", Readings: []series.Reading{reading("eia.WDISTUS1", "2025-05-16", 1)}}, "is of eia.WDISTUS1"},
		{"a date twice", eia.Page{Series: "eia.RWTC", Readings: []series.Reading{reading("eia.RWTC", "2025-05-16", 1), reading("eia.RWTC", "2025-05-16", 1)}}, "follows"},
		{"more decimals than EIA prints", eia.Page{Series: "eia.RWTC", Readings: []series.Reading{reading("eia.RWTC", "2025-05-16", 1.005)}}, "cannot be printed"},
		{"no number", eia.Page{Series: "eia.RWTC", Readings: []series.Reading{reading("eia.RWTC", "2025-05-16", math.NaN())}}, "cannot be printed"},
		{"a Saturday's price", eia.Page{Series: "eia.RWTC", Readings: []series.Reading{reading("eia.RWTC", "2025-05-17", 1)}}, "no cell for"},
		{"a week that ends on Thursday", eia.Page{Series: "eia.WDISTUS1", Readings: []series.Reading{reading("eia.WDISTUS1", "2025-05-15", 1)}}, "not the Friday"},
	} {
		if _, err := tc.page.HTML(); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error is %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

func TestValueTokens(t *testing.T) {
	t.Parallel()
	src, r := loadCase(t, "testdata/daily")
	body := string(r.Body)
	for token, want := range map[string]any{
		"0": 0.0, "-36.98": -36.98, "0.468": 0.468, "00.50": 0.5, "1,234": 1234.0, "12,345,678.9": 12345678.9, "1234567": 1234567.0,
		"W": "W", "NA": "NA", "-": "-", "--": "--", "- -": "- -", "&nbsp;-&nbsp;-": "- -",
		"+1": nil, "1.": nil, ".5": nil, "-.5": nil, "1,23": nil, "1,2345": nil, "1234,567": nil, ",123": nil, "1,,234": nil, "1,": nil,
		"1.2.3": nil, "1 2": nil, "--5": nil, "5-": nil, "0x10": nil, "1e3": nil, "1_000": nil, "NaN": nil, "Inf": nil, "w": nil, "N/A": nil,
		"\u0661": nil, "---": nil, strings.Repeat("9", 400): nil,
	} {
		r.Body = []byte(strings.Replace(body, ">68.90<", ">"+token+"<", 1))
		batch, err := src.Parse(r)
		var got any
		if err == nil {
			last := batch.Readings[len(batch.Readings)-1]
			got = last.Value
			if last.Marker != "" {
				got = last.Marker
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%.20q (-want +got, %v):\n%s", token, err, diff)
		}
		if err != nil && !strings.Contains(err.Error(), strconv.Quote(token[:min(len(token), 60)])) {
			t.Errorf("%.20q: the error does not name the token: %v", token, err)
		}
	}
}

// A part of a page must never pass for a shorter page: what it lacks would count as withdrawn.
func TestPageCutAnywhereFails(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"testdata/daily", "testdata/weekly"} {
		src, r := loadCase(t, dir)
		whole := r.Body
		end := bytes.LastIndex(whole, []byte("</html>")) + len("</html>")
		for n := range end {
			if n%5 != 0 && end-n > 200 {
				continue // every fifth byte, and each of the last ones
			}
			r.Body = whole[:n]
			if _, err := src.Parse(r); err == nil {
				t.Fatalf("%s: %d of %d bytes were taken for a page", dir, n, len(whole))
			}
		}
		r.Body = whole[:end]
		if _, err := src.Parse(r); err != nil {
			t.Errorf("%s: the page without its last line break: %v", dir, err)
		}
	}
}

func TestAnswerCutAnywhereFails(t *testing.T) {
	t.Parallel()
	src, r := loadCase(t, "testdata/api")
	whole := bytes.TrimSpace(r.Body)
	for n := range whole {
		r.Body = whole[:n]
		if _, err := src.Parse(r); err == nil {
			t.Fatalf("%d of %d bytes were taken for an answer", n, len(whole))
		}
	}
}

// Not parallel: it sets the environment.
func TestParserDoesNotReadTheEnvironment(t *testing.T) {
	t.Setenv("COLLY_MAX_BODY_SIZE", "100")
	t.Setenv("COLLY_ALLOWED_DOMAINS", "example.com")
	t.Setenv("COLLY_CACHE_DIR", t.TempDir())
	src, r := loadCase(t, "testdata/daily")
	if _, err := src.Parse(r); err != nil {
		t.Errorf("settings meant for another program reached the parser: %v", err)
	}
}

// Not parallel: it counts what is left in the process.
func TestParsingLeavesNothingBehind(t *testing.T) {
	src, r := loadCase(t, "testdata/daily")
	parse := func() {
		for range 100 {
			if _, err := src.Parse(r); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.GC()
	}
	parse()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	for range 5 {
		parse()
	}
	runtime.ReadMemStats(&after)
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines after 500 pages, %d before", n, goroutines)
	}
	// A collector that stayed would hold its page: 500 of them are more than a megabyte.
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 512<<10 {
		t.Errorf("the heap grew by %d bytes over 500 pages", grown)
	}
}

func seeds(f *testing.F, kind string) {
	for _, dir := range ingesttest.Dirs(f) {
		_, r := loadCase(f, dir)
		if strings.Contains(r.Request.URL, kind) {
			f.Add(r.Body)
		}
	}
}

// checkBatch checks a batch against the promises of every parser.
func checkBatch(t *testing.T, src ingest.Source, b ingest.Batch) {
	t.Helper()
	known := map[series.ID]bool{}
	for _, s := range src.Series {
		known[s.ID] = true
	}
	seen := map[string]bool{}
	for _, r := range b.Readings {
		key := fmt.Sprint(r.Series, r.ObservedAt)
		switch {
		case !known[r.Series]:
			t.Errorf("a reading of %q", r.Series)
		case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
			t.Errorf("%s is %v", key, r.Value)
		case seen[key]:
			t.Errorf("two readings of %s", key)
		case r.ObservedAt.Location() != time.UTC || !r.ObservedAt.Equal(r.ObservedAt.Truncate(24*time.Hour)):
			t.Errorf("%s is not a midnight in UTC", key)
		}
		seen[key] = true
		covered := false
		for _, c := range b.Covers {
			covered = covered || c.Series == r.Series && c.Window.Contains(r.ObservedAt)
		}
		if !covered {
			t.Errorf("%s is not covered by %v", key, b.Covers)
		}
	}
	if len(b.Readings) == 0 && len(b.Covers) > 0 {
		t.Error("a batch without readings covers a series: that would withdraw it")
	}
}

func FuzzPage(f *testing.F) {
	seeds(f, "LeafHandler")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, src := range []ingest.Source{eia.Spot(""), eia.Weekly("")} {
			requests, err := src.Request(series.Window{})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := src.Parse(ingest.Response{Request: requests[0], Body: body})
			if err != nil {
				continue
			}
			if len(batch.Readings) == 0 {
				t.Error("a page without readings is no error")
			}
			checkBatch(t, src, batch)
		}
	})
}

func FuzzAPI(f *testing.F) {
	seeds(f, "api.eia.gov")
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, src := range []ingest.Source{eia.Spot("SECRETKEY"), eia.Weekly("SECRETKEY")} {
			requests, err := src.Request(series.Window{})
			if err != nil {
				t.Fatal(err)
			}
			batch, err := src.Parse(ingest.Response{Request: requests[0], Body: body})
			if err != nil {
				if strings.Contains(err.Error(), "SECRETKEY") {
					t.Errorf("the key is in the error: %v", err)
				}
				continue
			}
			checkBatch(t, src, batch)
			if batch.Next != nil && batch.Next.URL == requests[0].URL {
				t.Error("the next page is this page")
			}
		}
	})
}
