package worldbank_test

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
	"github.com/xuri/excelize/v2"

	"tidemark/ingest"
	"tidemark/ingest/worldbank"
	"tidemark/series"
)

var update = flag.Bool("update", false, "rewrite the expectations of the case folders")

const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

var (
	landingURL = worldbank.LandingURL()
	bookURL    = worldbank.WorkbookURL("74e8be41ceb20fa0da750cda2f6b9e4e-0050012026")
)

// meta is a case's meta.json. Date is the answer's header of that name, Fetched the time of the fetch.
type meta struct {
	URL         string    `json:"url"`
	ContentType string    `json:"content_type"`
	Date        string    `json:"date,omitempty"`
	Fetched     time.Time `json:"fetched,omitzero"`
}

// loadCase reads a case folder as the response that the engine would hand to the parser. A workbook stands in its folder as a
// table of its sheet of prices, so that a reader sees what is in it, and is packed here.
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
	header := http.Header{"Content-Type": {m.ContentType}}
	if m.Date != "" {
		header.Set("Date", m.Date)
	}
	r := ingest.Response{Request: ingest.Request{URL: m.URL}, Header: header, FetchedAt: m.Fetched}
	if table, err := os.ReadFile(filepath.Join(dir, "sheet.csv")); err == nil {
		r.Body = pack(t, "Monthly Prices", table)
		return r
	}
	if r.Body, err = os.ReadFile(filepath.Join(dir, "body.html")); err != nil {
		t.Fatal(err)
	}
	return r
}

// pack writes a workbook whose sheet holds a table of comma-separated values: what reads as a number is a number. The sheet is
// the second, as in the true workbook.
func pack(t testing.TB, sheet string, table []byte) []byte {
	t.Helper()
	rows := csv.NewReader(bytes.NewReader(table))
	rows.FieldsPerRecord = -1
	lines, err := rows.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	f := excelize.NewFile()
	defer func() { _ = f.Close() }()
	if _, err := f.NewSheet(sheet); err != nil {
		t.Fatal(err)
	}
	for y, line := range lines {
		for x, text := range line {
			name, err := excelize.CoordinatesToCellName(x+1, y+1)
			if err != nil {
				t.Fatal(err)
			}
			var value any = text
			if number, err := strconv.ParseFloat(text, 64); err == nil {
				value = number
			} else if text == "" {
				continue
			}
			if err := f.SetCellValue(sheet, name, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	body, err := f.WriteToBuffer()
	if err != nil {
		t.Fatal(err)
	}
	return body.Bytes()
}

func TestCases(t *testing.T) {
	t.Parallel()
	dirs, err := filepath.Glob("testdata/*/meta.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no case folders: %v", err)
	}
	for _, dir := range dirs {
		dir = filepath.Dir(dir)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			r := loadCase(t, dir)
			batch, err := worldbank.Source().Parse(r)
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
			again, err := worldbank.Source().Parse(r)
			if diff := cmp.Diff(batch, again); diff != "" || (err == nil) != (name == "expected.csv") {
				t.Errorf("the same bytes give another batch (-first +second):\n%s", diff)
			}
		})
	}
}

// describe writes a batch as an expected.csv.
func describe(b ingest.Batch) string {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	lines := [][]string{{"series", "observed_at", "value"}}
	list := slices.Clone(b.Readings)
	slices.SortStableFunc(list, func(x, y series.Reading) int { return x.ObservedAt.Compare(y.ObservedAt) })
	for _, r := range list {
		lines = append(lines, []string{string(r.Series), r.ObservedAt.Format(time.RFC3339), strconv.FormatFloat(r.Value, 'f', -1, 64)})
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

func TestDeclaration(t *testing.T) {
	t.Parallel()
	src := worldbank.Source()
	var ids []series.ID
	for _, s := range src.Series {
		ids = append(ids, s.ID)
		if s.Unit != "Dollars per Million Btu" || s.Frequency != "monthly" || s.Name == "" {
			t.Errorf("%s is declared as %+v", s.ID, s)
		}
	}
	want := []series.ID{"worldbank.NGAS_US", "worldbank.NGAS_EUR", "worldbank.LNG_JP"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if !strings.Contains(src.License, "CC BY 4.0") || !strings.Contains(src.License, "World Bank") {
		t.Errorf("the licence is %q, want its name and an attribution", src.License)
	}
	requests, err := src.Request(series.Window{})
	if err != nil || len(requests) != 1 || requests[0].URL != "https://www.worldbank.org/en/research/commodity-markets" {
		t.Errorf("asks %v (%v), want the page that links to the workbook", requests, err)
	}
}

func TestPublicationLag(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for observed, known := range map[string]string{
		"2026-02-01": "2026-03-03 15:00", // the workbook of 3 March 2026 ends with February
		"2025-11-01": "2025-12-03 15:00",
		"2025-12-01": "2026-01-03 15:00", // across the turn of a year
		"2026-05-01": "2026-06-03 15:00", // in summer time
	} {
		at, err := time.Parse(time.DateOnly, observed)
		if err != nil {
			t.Fatal(err)
		}
		want, err := time.ParseInLocation("2006-01-02 15:04", known, zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range worldbank.Source().Series {
			if got := s.Published(at); !got.Equal(want) || got.Location() != time.UTC {
				t.Errorf("%s of %s is published at %s, want %s", s.ID, observed, got, want.UTC())
			}
		}
	}
}
