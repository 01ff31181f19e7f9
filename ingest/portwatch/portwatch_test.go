package portwatch_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/portwatch"
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
		return portwatch.Source().Parse(c.Response)
	}, describe)
}

// describe writes a batch as an expected.csv, a line for each day. Of the next request it shows what differs from page to page.
func describe(b ingest.Batch) string {
	var text bytes.Buffer
	ids := []string{"observed_at"}
	for _, s := range portwatch.Source().Series {
		ids = append(ids, strings.TrimPrefix(string(s.ID), "portwatch.chokepoint6."))
	}
	days := map[string][]string{}
	for _, r := range b.Readings {
		day := r.ObservedAt.Format(time.RFC3339)
		if days[day] == nil {
			days[day] = make([]string, len(ids))
			days[day][0] = day
		}
		days[day][slices.Index(ids, strings.TrimPrefix(string(r.Series), "portwatch.chokepoint6."))] = strconv.FormatFloat(r.Value, 'f', -1, 64)
	}
	lines := [][]string{ids}
	for _, line := range days {
		lines = append(lines, line)
	}
	slices.SortFunc(lines[1:], func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	if err := csv.NewWriter(&text).WriteAll(lines); err != nil {
		panic(err) // a buffer takes everything
	}
	for _, c := range b.Covers {
		fmt.Fprintf(&text, "# covers %s from %s to %s\n", c.Series, c.Window.From.Format(time.DateOnly), c.Window.To.Format(time.DateOnly))
	}
	if b.Next != nil {
		u, err := url.Parse(b.Next.URL)
		if err != nil {
			panic(err) // the parser made it
		}
		q := u.Query()
		fmt.Fprintf(&text, "# next: offset %s, length %s, count %s, last %q\n",
			q.Get("resultOffset"), q.Get("resultRecordCount"), q.Get("tidemark_count"), q.Get("tidemark_last"))
	}
	return text.String()
}

// A service that is too busy says so with status 200. The error is transient.
func TestTroubleThatPassesIsTold(t *testing.T) {
	t.Parallel()
	for name, passes := range map[string]bool{
		"count-429-with-200": true, "page-429-with-200": true, "count-500-with-200": true, "count-400-with-200": false,
	} {
		r := loadCase(t, filepath.Join("testdata", name))
		_, err := ingest.Parse(portwatch.Source(), series.Fetch{
			URL: r.Request.URL, Status: http.StatusOK, Header: map[string]string{"Content-Type": "application/json"},
		}, r.Body)
		if got := errors.Is(err, ingest.Temporary); got != passes {
			t.Errorf("%s: passes: %t, want %t (%v)", name, got, passes, err)
		}
		if again, _ := ingest.Retryable(err); !again {
			t.Errorf("%s: is not worth another attempt: %v", name, err)
		}
	}
}

func TestAnswerCutAnywhereFails(t *testing.T) {
	t.Parallel()
	r := loadCase(t, "testdata/one-page")
	whole := bytes.TrimSpace(r.Body)
	for n := range whole {
		r.Body = whole[:n]
		if _, err := portwatch.Source().Parse(r); err == nil {
			t.Fatalf("%d of %d bytes were taken for an answer", n, len(whole))
		}
	}
}

func TestDeclaration(t *testing.T) {
	t.Parallel()
	src := portwatch.Source()
	got := map[series.ID]string{}
	for _, s := range src.Series {
		got[s.ID] = s.Unit
		if s.Frequency != "daily" || s.Name == "" {
			t.Errorf("%s is declared as %+v", s.ID, s)
		}
	}
	const ships, tons = "Transits per day", "Metric tons per day"
	want := map[series.ID]string{
		"portwatch.chokepoint6.n_total": ships, "portwatch.chokepoint6.n_tanker": ships, "portwatch.chokepoint6.n_container": ships,
		"portwatch.chokepoint6.n_dry_bulk": ships, "portwatch.chokepoint6.n_general_cargo": ships, "portwatch.chokepoint6.n_roro": ships,
		"portwatch.chokepoint6.capacity_tanker": tons, "portwatch.chokepoint6.capacity": tons,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series and units (-want +got):\n%s", diff)
	}
	for _, part := range []string{"non-commercial", "IMF PortWatch (portwatch.imf.org)", "https://www.imf.org/external/terms.htm"} {
		if !strings.Contains(src.License, part) {
			t.Errorf("the licence %q does not speak of %s", src.License, part)
		}
	}
	requests, err := src.Request(series.Window{From: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil || len(requests) != 1 {
		t.Fatalf("%d requests, %v", len(requests), err)
	}
	const count = "https://services9.arcgis.com/weJ1QsnbMYJlCHdG/arcgis/rest/services/Daily_Chokepoints_Data/FeatureServer/0/query" +
		"?f=json&returnCountOnly=true&where=portid%3D%27chokepoint6%27"
	if requests[0].URL != count {
		t.Errorf("asks first %s, want the number of all days, %s", requests[0].URL, count)
	}
}

func TestPublicationLag(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		v, err := time.Parse("2006-01-02 15:04", s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tc := range []struct{ fact, observed, known string }{
		{"Sunday's figures come on Tuesday", "2026-06-28 00:00", "2026-06-30 13:35"},
		{"Monday's figures come nine days later", "2026-06-22 00:00", "2026-06-30 13:35"},
		{"the poll of 21 April had the 19th", "2026-04-19 00:00", "2026-04-21 13:35"},
		{"in winter the release is an hour later in UTC", "2026-01-04 00:00", "2026-01-06 14:35"},
	} {
		for _, s := range portwatch.Source().Series {
			if got := s.Published(at(tc.observed)); !got.Equal(at(tc.known)) || got.Location() != time.UTC {
				t.Errorf("%s: %s of %s is published at %s, want %s", tc.fact, s.ID, tc.observed, got, tc.known)
			}
		}
	}
	published := portwatch.Source().Series[0].Published
	for day := at("2025-01-01 00:00"); day.Year() < 2027; day = day.AddDate(0, 0, 1) {
		if lag := published(day).Sub(day); published(day).Weekday() != time.Tuesday || lag < 2*24*time.Hour || lag > 9*24*time.Hour {
			t.Errorf("%s is published at %s", day.Format(time.DateOnly), published(day))
		}
	}
}
