package nass_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/nass"
	"tidemark/internal/series"
)

// recorded reads a recorded file, or skips.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("../../../shared/upstream/nass", name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no recorded %s at ../shared/upstream/nass, beside the repository: nothing to check against", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// byMonth picks a series by year and month.
func byMonth(b ingest.Batch, id series.ID) map[string]float64 {
	m := map[string]float64{}
	for _, r := range b.Readings {
		if r.Series == id && r.Marker == "" {
			m[r.ObservedAt.Format("2006-01")] = r.Value
		}
	}
	return m
}

func TestRecordedSpreadsheetOfFiveStates(t *testing.T) {
	t.Parallel()
	r := sheet("2026-02-01T00:00:00Z")
	r.Body = recorded(t, "quickstats_corn_yield_2025_five_states.csv")
	batch, err := nass.Source("").Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]float64{"2025-01": 210}, byMonth(batch, finals)); diff != "" {
		t.Errorf("final (-want +got):\n%s", diff)
	}
	// The report of October was cancelled.
	if diff := cmp.Diff(map[string]float64{"2025-08": 222, "2025-09": 219, "2025-11": 216}, byMonth(batch, forecasts)); diff != "" {
		t.Errorf("forecasts (-want +got):\n%s", diff)
	}
}

// illinois is a recorded spreadsheet with everything about another state's corn, made to say Iowa.
func illinois(t *testing.T, at string) ingest.Response {
	t.Helper()
	r := sheet(at)
	r.Body = bytes.ReplaceAll(recorded(t, "quickstats_corn_illinois_1902-2025.csv"), []byte(`"ILLINOIS","17"`), []byte(`"IOWA","19"`))
	return r
}

func TestRecordedSpreadsheetWithEverything(t *testing.T) {
	t.Parallel()
	batch, err := nass.Source("").Parse(illinois(t, "2025-11-11T12:00:00Z")) // the day on which it was saved
	if err != nil {
		t.Fatal(err)
	}
	final, forecast := byMonth(batch, finals), byMonth(batch, forecasts)
	// 124 rows of years (the row of 2025 repeats September's forecast); 46, 46, 44 and 45 of forecasts; and 4,336 others.
	if len(final) != 123 || len(forecast) != 46+46+44+45 {
		t.Errorf("%d finals and %d forecasts, want 123 and 181", len(final), len(forecast))
	}
	if v, there := final["2025-01"]; there {
		t.Errorf("the final of 2025 is %v before the harvest was in", v)
	}
	for _, month := range []string{"2013-10", "2025-10", "2025-11"} {
		if v, there := forecast[month]; there {
			t.Errorf("the forecast of %s is %v, it was cancelled or not out yet", month, v)
		}
	}
	want := map[string]float64{"1902-01": 41, "1903-01": 35.5, "2022-01": 214, "2023-01": 206, "2024-01": 217}
	for month, v := range want {
		if final[month] != v {
			t.Errorf("the final of %s is %v, want %v", month, final[month], v)
		}
	}
	for month, v := range map[string]float64{"2025-08": 221, "2025-09": 219, "2024-08": 225, "2024-11": 218} {
		if forecast[month] != v {
			t.Errorf("the forecast of %s is %v, want %v", month, forecast[month], v)
		}
	}
	// The errors that were measured on these rows, 1986 to 2024.
	sum, n := 0.0, 0.0
	for year := 1986; year <= 2024; year++ {
		y := strconv.Itoa(year)
		d := final[y+"-01"] - forecast[y+"-08"]
		sum, n = sum+d*d, n+1
	}
	if mse := sum / n; mse < 10.35*10.35 || mse > 10.45*10.45 {
		t.Errorf("the mean square error of August's forecast is %v, want the square of 10.4", mse)
	}

	later, err := nass.Source("").Parse(illinois(t, "2026-03-16T12:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if v := byMonth(later, finals)["2025-01"]; v != 219 {
		t.Errorf("a row that stands in mid-March still is no final: %v", v)
	}
}

func TestRecordedSpreadsheetOfAnotherState(t *testing.T) {
	t.Parallel()
	r := sheet("2025-11-11T12:00:00Z")
	r.Body = recorded(t, "quickstats_corn_illinois_1902-2025.csv")
	if _, err := nass.Source("").Parse(r); err == nil || !strings.Contains(err.Error(), "none of 4641 rows") {
		t.Errorf("error is %v", err)
	}
}

func TestRecordedAnswerOfTheAPI(t *testing.T) {
	t.Parallel()
	body := recorded(t, "wire/api_GET_corn_yield_VA_2012.json")
	r := ingest.Response{
		Request:   ingest.Request{URL: "https://quickstats.nass.usda.gov/api/api_GET/?key=REDACTED"},
		Body:      bytes.ReplaceAll(body, []byte(`"state_name":"VIRGINIA"`), []byte(`"state_name":"IOWA"`)),
		FetchedAt: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
	}
	batch, err := nass.Source("").Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	// Twelve rows: six of the census, one of silage, four forecasts, and a final that was revised in 2015.
	got := map[string]map[string]float64{"final": byMonth(batch, finals), "forecast": byMonth(batch, forecasts)}
	want := map[string]map[string]float64{
		"final": {"2012-01": 103}, "forecast": {"2012-08": 91, "2012-09": 95, "2012-10": 95, "2012-11": 95},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(batch.Readings) != 5 {
		t.Errorf("%d readings (-want +got):\n%s", len(batch.Readings), diff)
	}
	for _, name := range []string{"wire/error_400_bad_request.json", "wire/error_413_exceeds_limit.json"} {
		r.Body = recorded(t, name)
		if _, err := nass.Source("").Parse(r); err == nil || !strings.Contains(err.Error(), "nass answers with the error") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

// The finals of 1866 to 2011, from a published table, through a file that is constructed around them.
func TestRecordedFinalsOfIowa(t *testing.T) {
	t.Parallel()
	table := csv.NewReader(bytes.NewReader(recorded(t, "agridat_nass_corn_by_state_1866-2011.txt")))
	table.Comma = '\t'
	lines, err := table.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{}
	var rows []nass.Row
	for _, line := range lines {
		if line[1] != "Iowa" {
			continue
		}
		v, err := strconv.ParseFloat(line[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		want[line[0]+"-01"] = v
		year, err := strconv.Atoi(line[0])
		if err != nil {
			t.Fatal(err)
		}
		rows = append([]nass.Row{iowa(year, "YEAR", yield, line[3])}, rows...)
	}
	batch, err := nass.Source("").Parse(sheet("2026-02-01T00:00:00Z", rows...))
	if err != nil {
		t.Fatal(err)
	}
	got := byMonth(batch, finals)
	if diff := cmp.Diff(want, got); diff != "" || len(got) != 146 {
		t.Errorf("%d finals, want 146 (-want +got):\n%s", len(got), diff)
	}
	// Published elsewhere: 182 in 2009, 165 in 2010, 172 in 2011.
	if got["2009-01"] != 182 || got["2010-01"] != 165 || got["2011-01"] != 172 || got["1866-01"] != 32 {
		t.Errorf("finals are not those that were published: %v", got)
	}
}
