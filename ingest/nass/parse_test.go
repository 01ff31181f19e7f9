package nass_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/nass"
	"tidemark/internal/series"
)

const yield = "CORN, GRAIN - YIELD, MEASURED IN BU / ACRE"

// iowa is a survey's row of Iowa about all farms.
func iowa(year int, period, item, value string) nass.Row {
	return nass.Row{
		Program: "SURVEY", Year: fmt.Sprint(year), Period: period, Level: "STATE", State: "IOWA", Item: item, Domain: "TOTAL", Value: value,
	}
}

// sheet wraps rows as the engine would hand over the web form's file.
func sheet(at string, rows ...nass.Row) ingest.Response {
	fetched, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return ingest.Response{
		Request:   ingest.Request{URL: nass.SpreadsheetURL("7C4B3D9F-15F6-3EF3-A2C0-7095218FF6A1")},
		Body:      nass.Spreadsheet(rows),
		FetchedAt: fetched,
	}
}

func TestWrittenSpreadsheetsReadBack(t *testing.T) {
	t.Parallel()
	week := func(end string, share string, of string) nass.Row {
		r := iowa(2025, "WEEK #23", "CORN - CONDITION, MEASURED IN PCT "+of, share)
		r.WeekEnding = end
		return r
	}
	batch, err := nass.Source("").Parse(sheet("2026-02-01T00:00:00Z",
		iowa(2025, "YEAR", yield, "210"), iowa(2025, "YEAR - AUG FORECAST", yield, "222"),
		week("2025-06-08", "100", "VERY POOR"), week("2025-06-15", "100", "EXCELLENT"),
		iowa(2024, "YEAR", yield, "1,211.5"), iowa(2023, "YEAR", `CORN, A "QUOTED" ITEM - YIELD`, "1"),
		iowa(2022, "YEAR", yield, " (D)"),
	))
	if err != nil {
		t.Fatal(err)
	}
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := []series.Reading{
		{Series: ratings, ObservedAt: day("2025-06-08"), Value: 1},
		{Series: ratings, ObservedAt: day("2025-06-15"), Value: 5},
		{Series: finals, ObservedAt: day("2022-01-01"), Marker: "(D)"},
		{Series: finals, ObservedAt: day("2024-01-01"), Value: 1211.5},
		{Series: finals, ObservedAt: day("2025-01-01"), Value: 210},
		{Series: forecasts, ObservedAt: day("2025-08-01"), Value: 222},
	}
	if diff := cmp.Diff(want, batch.Readings); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
}

// long is a file of 60 years with forecasts, the newest first.
func long() ingest.Response {
	var rows []nass.Row
	for year := 2025; year > 1965; year-- {
		rows = append(rows, iowa(year, "YEAR", yield, fmt.Sprint(year-1815)))
		for i, month := range []string{"AUG", "NOV", "OCT", "SEP"} {
			rows = append(rows, iowa(year, "YEAR - "+month+" FORECAST", yield, fmt.Sprint(year-1810+i)))
		}
	}
	return sheet("2026-04-01T00:00:00Z", rows...)
}

// A part of a file must not claim that the missing rows were withdrawn.
func TestSpreadsheetCutAnywhereWithdrawsNothing(t *testing.T) {
	t.Parallel()
	r := long()
	src := nass.Source("")
	all, err := src.Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	whole := r.Body
	taken := 0
	for n := range len(whole) - 1 {
		if whole[n] != '\n' && n%61 != 0 {
			continue
		}
		r.Body = whole[:n]
		part, err := src.Parse(r)
		if err != nil {
			continue
		}
		taken++
		has := map[string]bool{}
		for _, v := range part.Readings {
			has[string(v.Series)+v.ObservedAt.String()] = true
		}
		for _, v := range all.Readings {
			for _, c := range part.Covers {
				if c.Series == v.Series && c.Window.Contains(v.ObservedAt) && !has[string(v.Series)+v.ObservedAt.String()] {
					t.Fatalf("%d of %d bytes claim that %s of %s is not there", n, len(whole), v.Series, v.ObservedAt.Format(time.DateOnly))
				}
			}
		}
	}
	if taken == 0 {
		t.Error("no part was taken for a file: the case shows nothing")
	}
}

func TestAnswerCutAnywhereFails(t *testing.T) {
	t.Parallel()
	src, r := nass.Source(""), loadCase(t, "testdata/api")
	whole := bytes.TrimSpace(r.Body)
	for n := range whole {
		r.Body = whole[:n]
		if _, err := src.Parse(r); err == nil {
			t.Fatalf("%d of %d bytes were taken for an answer", n, len(whole))
		}
	}
}

func seeds(f *testing.F, kind string) {
	for _, dir := range ingesttest.Dirs(f) {
		r := loadCase(f, dir)
		if strings.Contains(r.Request.URL, kind) {
			f.Add(r.Body)
		}
	}
}

func fuzz(f *testing.F, address string) {
	src := nass.Source("")
	at := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		batch, err := src.Parse(ingest.Response{Request: ingest.Request{URL: address}, Body: body, FetchedAt: at})
		if err != nil {
			return
		}
		checkBatch(t, batch)
		for _, r := range batch.Readings {
			if r.ObservedAt.After(at) {
				t.Errorf("%s of %s was read before it was", r.Series, r.ObservedAt)
			}
		}
	})
}

func FuzzSpreadsheet(f *testing.F) {
	seeds(f, "/data/spreadsheet/")
	fuzz(f, nass.SpreadsheetURL("7C4B3D9F-15F6-3EF3-A2C0-7095218FF6A1"))
}

func FuzzAPI(f *testing.F) {
	seeds(f, "/api/")
	fuzz(f, "https://quickstats.nass.usda.gov/api/api_GET/?key=REDACTED")
}

func FuzzName(f *testing.F) {
	seeds(f, "/uuid/")
	f.Fuzz(func(t *testing.T, body []byte) {
		batch, err := nass.Source("").Parse(ingest.Response{
			Request: ingest.Request{URL: "https://quickstats.nass.usda.gov/uuid/encode"}, Body: body,
		})
		if err == nil && (len(batch.Next.URL) != len(nass.SpreadsheetURL(strings.Repeat("0", 36))) || len(batch.Readings) > 0) {
			t.Errorf("the name %q leads to %s", body, batch.Next.URL)
		}
	})
}
