package worldbank_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

// loadCase reads a case folder. A workbook's case keeps the table of its sheet; the workbook is made from it.
func loadCase(t testing.TB, dir string) ingest.Response {
	t.Helper()
	r := ingesttest.Load(t, dir).Response
	if table, err := os.ReadFile(filepath.Join(dir, "sheet.csv")); err == nil {
		r.Body = pack(t, "Monthly Prices", table)
	}
	return r
}

func TestCases(t *testing.T) {
	t.Parallel()
	ingesttest.Check(t, func(t *testing.T, c ingesttest.Case) (ingest.Batch, error) {
		t.Helper()
		return worldbank.Source().Parse(loadCase(t, c.Dir))
	}, ingesttest.Describe)
}

const workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

var (
	landingURL = worldbank.LandingURL()
	bookURL    = worldbank.WorkbookURL("74e8be41ceb20fa0da750cda2f6b9e4e-0050012026")
)

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
