package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/world"
	"tidemark/internal/series"
)

// recorded is where the recordings lie, seen from this folder.
const recorded = "../../../shared/upstream"

func needRecordings(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(recorded, eiaFolder)); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no recorded upstream files at ../shared/upstream, beside the repository: nothing to check against")
	}
}

func day(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// history is a series as the archive answers for it.
type history map[time.Time]float64

// replay reads everything from the archive at an instant, in the same way as a replay world, and parses it. Responses that were recorded
// later are left out.
func replay(t *testing.T, dir string, at time.Time) map[series.ID]history {
	t.Helper()
	transport, err := world.Replay(dir, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	all := map[series.ID]history{}
	for _, src := range pageSources() {
		requests, err := src.Request(series.Window{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody)
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
			if answer.StatusCode == http.StatusNotFound {
				continue
			}
			batch, err := src.Parse(ingest.Response{Request: r, Header: answer.Header, Body: body, FetchedAt: at})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range batch.Readings {
				if all[v.Series] == nil {
					all[v.Series] = history{}
				}
				all[v.Series][v.ObservedAt] = v.Value
			}
		}
	}
	return all
}

func TestRecordings(t *testing.T) {
	t.Parallel()
	needRecordings(t)
	dir := filepath.Join(t.TempDir(), "archive")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--from", recorded, "--to", dir}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	end := time.Date(2026, 5, 14, 0, 0, 0, 0, time.UTC)
	newest := replay(t, dir, end)

	t.Run("the archive is whole and says what it is", func(t *testing.T) {
		t.Parallel()
		folder, err := archive.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = folder.Close() }()
		// 13 pages of EIA, three workbooks of the World Bank with the page that links to each, four answers of PortWatch, two of NASS.
		n, err := folder.Verify(t.Context())
		if err != nil || n != 25 {
			t.Errorf("%d fetches, want 25: %v", n, err)
		}
		var saved []string
		for f, err := range folder.Fetches() {
			if err != nil {
				t.Fatal(err)
			}
			if asSaved := strings.HasSuffix(f.URL, ".xlsx"); f.Constructed == asSaved || f.Synthetic {
				t.Errorf("%s of %s: constructed %t, synthetic %t", f.URL, f.FetchedAt, f.Constructed, f.Synthetic)
			}
			if strings.HasPrefix(f.Source, "eia-") {
				saved = append(saved, f.FetchedAt.Format(time.RFC3339))
			}
		}
		// As the workbooks' last row and the names of the vintages have it, Eastern time in UTC.
		want := []string{
			"2018-08-15T14:42:29Z",
			"2022-03-09T15:39:09Z", "2022-03-09T15:39:09Z", "2022-03-09T15:39:09Z",
			"2024-11-15T23:59:59Z", "2024-11-21T23:59:59Z",
			"2025-05-21T14:36:36Z", "2025-05-21T14:37:07Z",
			"2025-12-10T15:43:52Z", "2025-12-10T15:43:52Z", "2025-12-10T15:43:52Z",
			"2026-05-13T14:16:25Z", "2026-05-13T14:18:15Z",
		}
		if diff := cmp.Diff(want, saved); diff != "" {
			t.Errorf("times of saving (-want +got):\n%s", diff)
		}
		for _, want := range []string{"RNGWHHD", "brent-daily.csv", "wpsr/", "worldbank-pink-sheet", "portwatch-hormuz", "nass-iowa-corn", "25 answers written, 22 of them constructed"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the report does not speak of %s:\n%s", want, out.String())
			}
		}
	})

	t.Run("rows are as many as the recordings' own list says", func(t *testing.T) {
		t.Parallel()
		for _, tc := range []struct {
			at   time.Time
			rows map[series.ID]int
		}{
			{end, map[series.ID]int{
				"eia.RWTC": 10_053, "eia.EER_EPMRU_PF4_Y35NY_DPG": 9_929, "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": 4_890,
				"eia.WCESTUS1": 2_276, "eia.WPULEUS3": 1_854, "eia.WGTSTUS1": 1_846, "eia.WDISTUS1": 2_225,
			}},
			{day(t, "2022-04-01"), map[series.ID]int{
				"eia.RWTC": 8_225, "eia.WCESTUS1": 2_058, "eia.WDISTUS1": 2_058, "eia.WGTSTUS1": 1_679,
			}},
			{day(t, "2018-08-15"), map[series.ID]int{}},
		} {
			got := map[series.ID]int{}
			for id, h := range replay(t, dir, tc.at) {
				got[id] = len(h)
			}
			if diff := cmp.Diff(tc.rows, got); diff != "" {
				t.Errorf("as of %s (-want +got):\n%s", tc.at.Format(time.DateOnly), diff)
			}
		}
	})

	t.Run("every value that the Federal Reserve Bank of St. Louis republished", func(t *testing.T) {
		t.Parallel()
		for file, id := range map[string]series.ID{
			"DCOILWTICO": "eia.RWTC", "DGASNYH": "eia.EER_EPMRU_PF4_Y35NY_DPG", "DDFUELNYH": "eia.EER_EPD2DXL0_PF4_Y35NY_DPG",
		} {
			text, err := os.ReadFile(filepath.Join(recorded, "fred", file+".csv"))
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("no recorded files of FRED")
			}
			if err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for _, row := range rows[1:] {
				got, ok := newest[id][day(t, row[0])]
				if row[1] == "" {
					if ok {
						t.Errorf("%s of %s is %v, blank at FRED", id, row[0], got)
					}
					continue
				}
				want, err := strconv.ParseFloat(row[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				if compared++; !ok || got != want {
					t.Errorf("%s of %s is %v (present: %t), FRED has %v", id, row[0], got, ok, want)
				}
			}
			if compared < 1_200 {
				t.Errorf("%s: %d values compared", id, compared)
			}
		}
	})

	t.Run("a holiday's price was published and withdrawn", func(t *testing.T) {
		t.Parallel()
		before, after := replay(t, dir, day(t, "2024-11-16")), replay(t, dir, day(t, "2024-11-22"))
		holiday := day(t, "2024-11-11")
		if got := before["eia.RWTC"][holiday]; got != 70.69 {
			t.Errorf("before: %v, want 70.69", got)
		}
		if got, ok := after["eia.RWTC"][holiday]; ok {
			t.Errorf("after: %v, want none", got)
		}
		if len(before["eia.RWTC"]) != 9_789 || len(after["eia.RWTC"]) != 9_792 {
			t.Errorf("%d and %d rows", len(before["eia.RWTC"]), len(after["eia.RWTC"]))
		}
	})

	t.Run("weekly figures agree between the vintages", func(t *testing.T) {
		t.Parallel()
		common := 0
		for id, h := range replay(t, dir, day(t, "2022-04-01")) {
			if id == "eia.RWTC" {
				continue
			}
			for at, value := range h {
				if common++; newest[id][at] != value {
					t.Errorf("%s of %s was %v in 2022 and is %v", id, at.Format(time.DateOnly), value, newest[id][at])
				}
			}
		}
		if want := 2_058 + 2_058 + 1_679; common != want {
			t.Errorf("%d weeks in common, want %d", common, want)
		}
	})
}

func TestArchiveIsNotWrittenOverAnother(t *testing.T) {
	t.Parallel()
	needRecordings(t)
	dir := t.TempDir()
	manifest := filepath.Join(dir, archive.ManifestName)
	if err := os.WriteFile(manifest, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"--from", recorded, "--to", dir}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "holds one already") {
		t.Errorf("error is %v", err)
	}
	if text, err := os.ReadFile(manifest); err != nil || string(text) != "precious" {
		t.Errorf("the manifest is now %q (%v)", text, err)
	}
}

func TestWrongUseIsExplained(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := os.Mkdir(filepath.Join(empty, eiaFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.Mkdir(filepath.Join(broken, eiaFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, eiaFolder, "RWTCd.xls"), []byte("<html>not a workbook</html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		fact string
		args []string
		want string
	}{
		{"no folders", nil, "want --from and --to"},
		{"a folder that is not there", []string{"--from", filepath.Join(empty, "none"), "--to", filepath.Join(empty, "a")}, "read the recordings"},
		{"nothing recorded", []string{"--from", empty, "--to", filepath.Join(empty, "a")}, "nothing was recorded"},
		{"a workbook that is none", []string{"--from", broken, "--to", filepath.Join(empty, "a")}, "RWTCd.xls"},
	} {
		err := run(t.Context(), tc.args, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error is %v, want one with %q", tc.fact, err, tc.want)
		}
	}
	if _, err := os.Stat(filepath.Join(empty, "a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a failed run left an archive folder: %v", err)
	}
}
