package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/portwatch"
	"tidemark/ingest/world"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

// needFolder skips a test where a publisher's recordings are absent.
func needFolder(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(recorded, name)); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no recorded upstream files at ../shared/upstream/%s, beside the repository: nothing to check against", name)
	}
}

// archiveOf writes entries into an archive folder.
func archiveOf(t *testing.T, entries []entry) string {
	t.Helper()
	dir := t.TempDir()
	w, err := archive.NewWriter(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Add(context.Background(), e.fetch, e.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// replayChain asks an archive at an instant for all pages of a source, as a replay world's engine does. It returns nil when the
// first was not recorded by then.
func replayChain(t *testing.T, dir string, src ingest.Source, at time.Time) map[series.ID]history {
	t.Helper()
	transport, err := world.Replay(dir, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	requests, err := src.Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	all := map[series.ID]history{}
	for next := &requests[0]; next != nil; {
		asked, err := http.NewRequestWithContext(t.Context(), next.Method, next.URL, bytes.NewReader(next.Body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := transport.RoundTrip(asked)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.Body.Close() != nil {
			t.Fatal(err)
		}
		if answer.StatusCode == http.StatusNotFound && next == &requests[0] {
			return nil
		}
		batch, err := src.Parse(ingest.Response{Request: *next, Header: answer.Header, Body: body, FetchedAt: at})
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d: %v", next.URL, answer.StatusCode, err)
		}
		for _, v := range batch.Readings {
			if all[v.Series] == nil {
				all[v.Series] = history{}
			}
			all[v.Series][v.ObservedAt] = v.Value
		}
		next = batch.Next
	}
	return all
}

func TestPinkSheetsReplay(t *testing.T) {
	t.Parallel()
	needFolder(t, worldbankFolder)
	entries, err := readPinkSheets(recorded)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		kind := "as saved"
		if e.fetch.Constructed {
			kind = "constructed"
		}
		got = append(got, e.fetch.FetchedAt.Format(time.RFC3339)+" "+kind+" "+e.fetch.URL)
	}
	const page = " constructed https://www.worldbank.org/en/research/commodity-markets"
	book := func(document string) string {
		return " as saved https://thedocs.worldbank.org/en/doc/" + document + "/related/CMO-Historical-Data-Monthly.xlsx"
	}
	want := []string{
		"2024-12-04T04:59:59Z" + page, "2024-12-04T04:59:59Z" + book("5d903e848db1d1b83e0ec8f744e55570-0350012021"),
		"2025-12-03T04:59:59Z" + page, "2025-12-03T04:59:59Z" + book("18675f1d1639c7a34d463f59263ba0a2-0050012025"),
		"2026-03-04T04:59:59Z" + page, "2026-03-04T04:59:59Z" + book("74e8be41ceb20fa0da750cda2f6b9e4e-0050012026"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	saved, err := os.ReadFile(filepath.Join(recorded, worldbankFolder, "CMO-Historical-Data-Monthly_2026-03-03.xlsx"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(saved, entries[len(entries)-1].body) {
		t.Error("the workbook is not the one that was saved")
	}

	dir := archiveOf(t, entries)
	november := day(t, "2025-11-01")
	for _, tc := range []struct {
		at     string
		months int
		japan  float64 // of November 2025, 0 if it is not known yet
	}{
		{"2024-12-03", 0, 0},
		{"2024-12-05", 779, 0},
		{"2025-12-04", 791, 11.01811130954},
		{"2026-03-05", 794, 11.15452343511},
		{"2027-07-01", 794, 11.15452343511}, // a clock that stands long after the recording
	} {
		all := replayChain(t, dir, worldbank.Source(), day(t, tc.at))
		if n := len(all["worldbank.NGAS_EUR"]); n != tc.months || all["worldbank.LNG_JP"][november] != tc.japan {
			t.Errorf("as of %s: %d months, Japan's November is %v; want %d and %v", tc.at, n, all["worldbank.LNG_JP"][november], tc.months, tc.japan)
		}
	}
}

func TestTransitsReplay(t *testing.T) {
	t.Parallel()
	needFolder(t, portwatchFolder)
	entries, omissions, err := readTransits(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 || len(omissions) != 3 {
		t.Errorf("%d answers and %d omissions, want the number of days, 3 pages and 3 polls", len(entries), len(omissions))
	}
	for _, e := range entries {
		if !e.fetch.Constructed || e.fetch.FetchedAt.Format(time.RFC3339) != "2026-07-06T23:59:59Z" || !bytes.Contains(e.body, []byte("Constructed around recorded figures")) {
			t.Errorf("%s: constructed %t, saved %s", e.fetch.URL, e.fetch.Constructed, e.fetch.FetchedAt)
		}
	}
	dir := archiveOf(t, entries)
	if all := replayChain(t, dir, portwatch.Source(), day(t, "2026-07-06")); all != nil {
		t.Errorf("a day before it was saved there are %d series", len(all))
	}
	all := replayChain(t, dir, portwatch.Source(), day(t, "2026-07-07"))
	for id, h := range all {
		if len(h) != 2_736 {
			t.Errorf("%s has %d days, want 2,736", id, len(h))
		}
	}
	total := all["portwatch.chokepoint6.n_total"]
	if len(all) != 8 || total[day(t, "2026-06-28")] != 27 || all["portwatch.chokepoint6.capacity"][day(t, "2026-06-28")] != 622_630 {
		t.Errorf("%d series, %v ships on 2026-06-28", len(all), total[day(t, "2026-06-28")])
	}
	// The means that the recording's own list states.
	for _, tc := range []struct {
		from, to string
		want     float64
	}{{"2019-01-01", "2024-12-31", 90.51}, {"2025-01-01", "2025-12-31", 91.46}, {"2026-01-01", "2026-02-28", 80.07}, {"2026-03-01", "2026-03-31", 4.81}} {
		sum, n := 0.0, 0
		for at := day(t, tc.from); !at.After(day(t, tc.to)); at = at.AddDate(0, 0, 1) {
			sum, n = sum+total[at], n+1
		}
		if mean := sum / float64(n); math.Abs(mean-tc.want) > 0.005 {
			t.Errorf("%s to %s: %.4f ships a day, want %v", tc.from, tc.to, mean, tc.want)
		}
	}
}

func TestRecordingsThatCannotBeReadAreNamed(t *testing.T) {
	t.Parallel()
	transits := func(from string) error { _, _, err := readTransits(from); return err }
	sheets := func(from string) error { _, err := readPinkSheets(from); return err }
	for _, tc := range []struct {
		fact, file, content string
		read                func(from string) error
		want                string
	}{
		{"a workbook without a date", "worldbank/CMO.xlsx", "", sheets, "does not say when"},
		{"a workbook that is none", "worldbank/CMO-Historical-Data-Monthly_2026-03-03.xlsx", "<html>", sheets, "not a workbook"},
		{"a workbook of a year without an address", "worldbank/CMO-Historical-Data-Monthly_2019-03-03.xlsx", "", sheets, "no address"},
		{"a table without a date", "portwatch/hormuz.csv", "", transits, "does not say when"},
		{"a table of nothing", "portwatch/hormuz_daily_chokepoint_2026-07-06.csv", "date,portid\n", transits, "no rows"},
		{"a table with another column", "portwatch/hormuz_daily_chokepoint_2026-07-06.csv", "date,n_barge\n2026-06-28,1\n", transits, "n_barge"},
		{"a table with a wrong sum", "portwatch/hormuz_daily_chokepoint_2026-07-06.csv", "date,year,month,day,portid,n_total\n2026-06-28,2026,6,28,chokepoint6,1\n", transits, "add up"},
	} {
		from := t.TempDir()
		if err := os.MkdirAll(filepath.Join(from, filepath.Dir(tc.file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, tc.file), []byte(tc.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := tc.read(from); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), filepath.Base(tc.file)) {
			t.Errorf("%s: error is %v, want one with the file and %q", tc.fact, err, tc.want)
		}
	}
}
