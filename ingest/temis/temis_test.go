package temis_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/temis"
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
		return temis.Source().Parse(c.Response)
	}, ingesttest.Describe)
}

func month(year int, m time.Month) time.Time { return time.Date(year, m, 1, 0, 0, 0, 0, time.UTC) }

// fetchResponse wraps a body as the engine would, some weeks after the month.
func fetchResponse(m time.Time, body []byte) ingest.Response {
	return ingest.Response{
		Request: ingest.Request{URL: temis.GridURL(m)}, Header: http.Header{"Content-Type": {"application/x-gzip"}},
		Body: body, FetchedAt: m.AddDate(0, 1, 20),
	}
}

// unpack is the text of a grid.
func unpack(t testing.TB, packed []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func pack(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDeclaration(t *testing.T) {
	t.Parallel()
	src := temis.Source()
	var ids []series.ID
	for _, i := range src.Series {
		ids = append(ids, i.ID)
	}
	want := []series.ID{
		"temis.NO2.yangtze", "temis.NO2.pearl", "temis.NO2.benelux_ruhr", "temis.NO2.po", "temis.NO2.delhi", "temis.NO2.tokyo",
		"temis.NO2.houston", "temis.NO2.new_york", "temis.NO2.version",
	}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	for _, word := range []string{"KNMI", "ESA", "Copernicus", "modified Copernicus Sentinel data"} {
		if !strings.Contains(src.License, word) {
			t.Errorf("the licence does not name %q", word)
		}
	}
	if got, want := src.Published("temis.NO2.po", month(2025, 12)), time.Date(2026, 1, 25, 12, 0, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("December is published at %s, want %s", got, want)
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	const want = "https://d1qb6yzwaaq4he.cloudfront.net/tropomi/no2/2020/12/no2_202012.asc.gz"
	if got := temis.GridURL(month(2020, 12)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	grid, err := temis.Grid{Month: month(2020, 12), Version: "1.0"}.Gzip()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		"https://d1qb6yzwaaq4he.cloudfront.net/tropomi/no2/2020/12/no2_202011.asc.gz",
		"https://d1qb6yzwaaq4he.cloudfront.net/tropomi/no2/2020/13/no2_202013.asc.gz",
		"https://d1qb6yzwaaq4he.cloudfront.net/tropomi/no2/2020/12/no2_202012.grd",
		"https://example.com/tropomi/no2/2020/12/no2_202012.asc.gz",
	} {
		r := fetchResponse(month(2020, 12), grid)
		r.Request.URL = address
		if _, err := temis.Source().Parse(r); err == nil {
			t.Errorf("%s was taken for the address of a grid", address)
		}
	}
}

// The first request of a window, and its possible replacement.
func TestRequestStartsWithTheWindow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fact string
		from time.Time
		want []string
	}{
		{"the whole history", time.Time{}, []string{"2018/05"}},
		{"from before the first grid", month(2015, 3), []string{"2018/05"}},
		{"from the middle of a month", time.Date(2024, 11, 17, 5, 0, 0, 0, time.UTC), []string{"2024/11", "2024/12", "2025/01"}},
	} {
		requests, err := temis.Source().Request(series.Window{From: tc.from})
		if err != nil || len(requests) != 1 {
			t.Fatalf("%s: %d requests, %v", tc.fact, len(requests), err)
		}
		var got []string
		for r := &requests[0]; r != nil; r = r.Else {
			got = append(got, strings.Split(r.URL, "/no2/")[1][:7])
			if optional := len(tc.want) > 1; optional != slices.Equal(r.Absent, []int{http.StatusForbidden, http.StatusNotFound}) {
				t.Errorf("%s: %s may be absent with %v", tc.fact, r.URL, r.Absent)
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.fact, diff)
		}
	}
}

func TestWindowOfAScheduledRun(t *testing.T) {
	t.Parallel()
	src, newest := temis.Source(), month(2026, 2)
	for slot, whole := range map[string]bool{
		"2026-04-05": true, "2026-01-05": true, "2026-04-10": false, "2026-05-05": false, "2026-03-25": false,
	} {
		at, err := time.Parse(time.DateOnly, slot)
		if err != nil {
			t.Fatal(err)
		}
		want := series.Window{From: month(2025, 12)}
		if whole {
			want = series.Window{}
		}
		if diff := cmp.Diff(want, src.Window(at, newest)); diff != "" {
			t.Errorf("the run of %s (-want +got):\n%s", slot, diff)
		}
	}
}
