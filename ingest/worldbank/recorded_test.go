package worldbank_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

// recorded is the folder of workbooks saved by others, if the recorded upstream data are next to the repository.
const recorded = "../../../shared/upstream/worldbank"

// vintages are the recorded workbooks, by the date in their cell A4, with their number of months.
var vintages = []struct {
	date   string
	months int
}{{"2024-12-03", 779}, {"2025-12-02", 791}, {"2026-03-03", 794}}

// readRecorded parses a recorded workbook as if it had been fetched the day after it was made.
func readRecorded(t *testing.T, date string) map[series.ID]history {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(recorded, "CMO-Historical-Data-Monthly_"+date+".xlsx"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded workbooks at ../shared/upstream/worldbank, beside the repository: nothing to check against")
	}
	if err != nil {
		t.Fatal(err)
	}
	made, err := time.Parse(time.DateOnly, date)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := worldbank.Source().Parse(ingest.Response{
		Request: ingest.Request{URL: bookURL}, Body: body, FetchedAt: made.AddDate(0, 0, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	all := map[series.ID]history{}
	for _, v := range batch.Readings {
		if all[v.Series] == nil {
			all[v.Series] = history{}
		}
		all[v.Series][v.ObservedAt.Format("2006-01")] = v.Value
	}
	for _, c := range batch.Covers {
		if from, want := c.Window.From.Format(time.DateOnly), "1960-01-01"; from != want {
			t.Errorf("%s: %s is covered from %s, want %s", date, c.Series, from, want)
		}
		if to, want := c.Window.To, time.Date(made.Year(), made.Month()-1, 1, 0, 0, 0, 0, time.UTC); !to.Equal(want) {
			t.Errorf("%s: %s is covered to %s, want %s", date, c.Series, to, want)
		}
	}
	return all
}

func TestRecordedWorkbooks(t *testing.T) {
	t.Parallel()
	all := map[string]map[series.ID]history{}
	for _, v := range vintages {
		all[v.date] = readRecorded(t, v.date)
		// Japan's imports begin in January 1977, 17 years after the others.
		want := map[series.ID]int{"worldbank.NGAS_US": v.months, "worldbank.NGAS_EUR": v.months, "worldbank.LNG_JP": v.months - 17*12}
		got := map[series.ID]int{}
		for id, h := range all[v.date] {
			got[id] = len(h)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("months in the workbook of %s (-want +got):\n%s", v.date, diff)
		}
	}
	for _, tc := range []struct {
		vintage string
		id      series.ID
		month   string
		want    float64
	}{
		{"2026-03-03", "worldbank.NGAS_US", "2026-02", 3.6147},
		{"2026-03-03", "worldbank.NGAS_EUR", "2026-02", 11.23735293669},
		{"2026-03-03", "worldbank.LNG_JP", "2026-02", 11.4696},
		{"2026-03-03", "worldbank.NGAS_US", "2025-11", 3.7912},
		{"2026-03-03", "worldbank.NGAS_EUR", "2025-11", 10.42040288015},
		{"2026-03-03", "worldbank.LNG_JP", "2025-11", 11.15452343511},
		{"2025-12-02", "worldbank.LNG_JP", "2025-11", 11.01811130954},
		{"2025-12-02", "worldbank.NGAS_US", "1960-01", 0.14},
	} {
		if got := all[tc.vintage][tc.id][tc.month]; got != tc.want {
			t.Errorf("%s of %s is %v in the workbook of %s, want %v", tc.id, tc.month, got, tc.vintage, tc.want)
		}
	}

	// Of the values that two neighbouring vintages have in common exactly one changed: the newest month of Japan's imports.
	for n, want := range []struct {
		month    string
		old, now float64
	}{{"2024-11", 12.49, 12.82273138964}, {"2025-11", 11.01811130954, 11.15452343511}} {
		before, after := all[vintages[n].date], all[vintages[n+1].date]
		changes := 0
		for id, h := range before {
			for month, old := range h {
				now, ok := after[id][month]
				if ok && now == old {
					continue
				}
				changes++
				if id != "worldbank.LNG_JP" || month != want.month || old != want.old || now != want.now {
					t.Errorf("after %s: %s of %s went from %v to %v (present: %t)", vintages[n].date, id, month, old, now, ok)
				}
			}
		}
		if changes != 1 {
			t.Errorf("after %s: %d values changed, want 1", vintages[n].date, changes)
		}
	}
}
