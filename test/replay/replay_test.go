// Package replay shows the program on real recorded data. The recordings become an archive, `tidemark up --world=replay` runs on it, and
// the results in Postgres and in the API are compared with published figures and computations by hand. It needs the recordings next to the
// repository; if they are absent, its tests are skipped and say so.
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/signals"
	"tidemark/test/program"
)

func TestMain(m *testing.M) {
	defer program.Build()()
	pgtest.Main(m)
}

// record makes the archive, or skips the test where there are no recordings.
func record(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(filepath.Dir(root), "shared", "upstream")
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded upstream files at ../shared/upstream, beside the repository: nothing to replay")
	}
	to := filepath.Join(program.Folder(t), "archive")
	tool := exec.CommandContext(t.Context(), "go", "run", "./test/record", "--from", from, "--to", to)
	tool.Dir = root
	if out, err := tool.CombinedOutput(); err != nil {
		t.Fatalf("record: %v\n%s", err, out)
	}
	return to
}

// up replays an archive and returns the API's address and the database, once every run is over.
func up(t *testing.T, archive string, args ...string) (base string, db *postgres.DB) {
	t.Helper()
	url := pgtest.New(t)
	p, base := program.Up(t, program.Options{Dir: program.Folder(t), Env: []string{
		"LOG_FORMAT=json", "DATABASE_URL=" + url, "REDIS_URL=" + pgtest.Redis(t),
	}}, append([]string{"--world=replay", "--archive", archive}, args...)...)
	db, err := postgres.Open(t.Context(), url, postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	// The program must end before its database does.
	t.Cleanup(p.Kill)
	program.Until(t, program.Timeout, "every run is over", func() (bool, string) {
		runs, err := db.Runs(context.Background(), postgres.RunFilter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		state, open, done := "", 0, 0
		for _, r := range runs {
			switch r.Status {
			case "due", "queued", "running":
				open++
				state = r.Subject + " " + r.Status
				if r.Error != nil {
					state += " " + *r.Error
				}
			case "succeeded":
				done++
			}
		}
		// A source without any recording is retried without end; its runs are not waited for.
		return done > 0 && (open == 0 || onlyUnrecorded(runs)), state
	})
	return base, db
}

func onlyUnrecorded(runs []postgres.Run) bool {
	for _, r := range runs {
		if r.Status == "running" || r.Status == "queued" || (r.Status == "due" && r.Failures == 0) {
			return false
		}
	}
	return true
}

func day(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// figure is a value that others published, and how closely it must match.
type figure struct {
	date          string
	value, within float64
}

// published are figures that do not come from the recordings. The prices are from the worked examples next to the recordings. Stocks and
// utilization are from the highlights of the weekly petroleum status report of the time, in million barrels to one decimal.
var published = map[series.ID][]figure{
	"eia.RWTC": {
		{"2019-06-14", 52.47, 0}, {"2020-04-20", -36.98, 0}, {"2022-05-11", 105.5, 0}, {"2024-11-08", 70.69, 0}, {"2025-12-08", 59.04, 0},
	},
	"eia.EER_EPMRU_PF4_Y35NY_DPG": {
		{"2019-06-14", 1.701, 0}, {"2020-01-02", 1.744, 0}, {"2020-04-20", 0.573, 0}, {"2022-05-11", 3.7, 0}, {"2025-12-08", 1.804, 0},
	},
	"eia.EER_EPD2DXL0_PF4_Y35NY_DPG": {
		{"2019-06-14", 1.821, 0}, {"2020-01-02", 2.019, 0}, {"2020-04-20", 0.9, 0}, {"2022-05-11", 5.339, 0}, {"2025-12-08", 2.348, 0},
	},
	"eia.WCESTUS1": {
		{"2025-05-16", 443_158, 0},
		{"2026-04-03", 464_717, 0},
		{"2026-05-01", 457_182, 0},
		{"2026-05-08", 452_876, 0},
		{"2020-05-15", 526_500, 50},
		{"2021-05-14", 486_000, 50},
		{"2022-05-13", 420_800, 50},
		{"2023-05-19", 455_200, 50},
		{"2024-05-17", 458_800, 50},
	},
	"eia.WGTSTUS1": {
		{"2025-05-16", 225_522, 0},
		{"2020-05-15", 255_700, 50},
		{"2021-05-14", 234_200, 50},
		{"2022-05-13", 220_200, 50},
		{"2023-05-19", 216_300, 50},
		{"2024-05-17", 226_800, 50},
	},
	"eia.WDISTUS1": {
		{"2025-05-16", 104_132, 0},
		{"2020-05-15", 158_800, 50},
		{"2021-05-14", 132_100, 50},
		{"2022-05-13", 105_300, 50},
		{"2023-05-19", 105_700, 50},
		{"2024-05-17", 116_700, 50},
	},
	"eia.WPULEUS3": {
		{"2025-05-16", 90.7, 0},
		{"2020-05-15", 69.4, 0},
		{"2021-05-14", 86.3, 0},
		{"2022-05-13", 91.8, 0},
		{"2023-05-19", 91.7, 0},
		{"2024-05-17", 91.7, 0},
	},
}

// byHand is the crack spread of five dates, computed by hand as (2*42*gasoline + 42*diesel - 3*crude) / 3. The prices were republished by
// the Federal Reserve Bank of St. Louis; the last one is from EIA's own table.
var byHand = []struct {
	date                    string
	crude, gasoline, diesel float64
	spread                  float64
}{
	{"2020-04-20", -36.98, 0.573, 0.9, 65.624},  // (48.132 + 37.8 + 110.94) / 3
	{"2022-05-13", 110.52, 3.988, 5.339, 75.89}, // (334.992 + 224.238 - 331.56) / 3
	{"2023-03-15", 67.38, 2.328, 2.654, 34.96},  // (195.552 + 111.468 - 202.14) / 3
	{"2024-06-14", 79.41, 2.402, 2.449, 22.132}, // (201.768 + 102.858 - 238.23) / 3
	{"2025-12-08", 59.04, 1.804, 2.348, 24.344}, // (151.536 + 98.616 - 177.12) / 3
}

func TestRecordedHistory(t *testing.T) {
	t.Parallel()
	archive := record(t)
	base, db := up(t, archive, "--at", "2026-05-14T00:00:00Z") // after the last recording of EIA, before the one of PortWatch
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	ids := make([]series.ID, 0, len(published))
	for id := range published {
		ids = append(ids, id)
	}
	set, err := db.ObservationsAsOf(t.Context(), ids, at)
	if err != nil {
		t.Fatal(err)
	}
	for id, figures := range published {
		for _, f := range figures {
			p, ok := series.At(set[id], series.InstantOf(day(t, f.date)))
			if !ok || !p.ObservedAt.Time().Equal(day(t, f.date)) || math.Abs(p.Value-f.value) > f.within {
				t.Errorf("%s of %s is stored as %v of %s, published was %v", id, f.date, p.Value, p.ObservedAt.Time().Format(time.DateOnly), f.value)
			}
		}
	}
	// Row counts of the workbooks: the whole history is there.
	for id, want := range map[series.ID]int{
		"eia.RWTC": 10053, "eia.EER_EPMRU_PF4_Y35NY_DPG": 9929, "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": 4890,
		"eia.WCESTUS1": 2276, "eia.WGTSTUS1": 1846, "eia.WDISTUS1": 2225, "eia.WPULEUS3": 1854,
	} {
		if n := len(set[id]); n != want {
			t.Errorf("%s has %d observations, the recording has %d", id, n, want)
		}
	}

	def, ok := signals.ByID("crack-spread-321")
	if !ok {
		t.Fatal("there is no crack spread")
	}
	track := def.Compute(set, at)
	for _, h := range byHand {
		for id, want := range map[series.ID]float64{
			"eia.RWTC": h.crude, "eia.EER_EPMRU_PF4_Y35NY_DPG": h.gasoline, "eia.EER_EPD2DXL0_PF4_Y35NY_DPG": h.diesel,
		} {
			if p, _ := series.At(set[id], series.InstantOf(day(t, h.date))); p.Value != want {
				t.Errorf("%s of %s is %v, the hand computation has %v", id, h.date, p.Value, want)
			}
		}
		found := false
		for _, e := range track {
			if e.ObservedAt.Time().Equal(day(t, h.date)) {
				found = true
				if math.Abs(e.Value-h.spread) > 5e-7 {
					t.Errorf("the spread of %s is %v, by hand it is %v", h.date, e.Value, h.spread)
				}
			}
		}
		if !found {
			t.Errorf("there is no spread of %s", h.date)
		}
	}

	// The recordings end at different dates: at that time the stocks are current and the spread is months old.
	crack, stocks := snapshot(t, base, "crack-spread-321"), snapshot(t, base, "eia-weekly-petroleum")
	if crack.Status != "decayed" || stocks.Status != "live" {
		t.Errorf("crack spread %s, stocks %s; want decayed and live", crack.Status, stocks.Status)
	}
	near(t, "stocks", stocks, 452876, 454067.8, -0.262, -0.0525)
	if stocks.Synthetic || crack.Synthetic {
		t.Error("real data is marked synthetic")
	}
}

func TestTheClockMoves(t *testing.T) {
	t.Parallel()
	archive := record(t)
	base, _ := up(t, archive, "--at", "2025-12-11T00:00:00Z")
	crack := snapshot(t, base, "crack-spread-321")
	if crack.Status != "live" {
		t.Errorf("the day after its publication the spread is %s", crack.Status)
	}
	near(t, "crack spread", crack, 24.344, 22.8222, 6.668, 0.1790)
	if crack.Lo == nil || crack.Hi == nil || !(*crack.Lo < *crack.Value && *crack.Value < *crack.Hi) {
		t.Errorf("interval %v to %v", crack.Lo, crack.Hi)
	}
}

type answer struct {
	Status    string
	Value     *float64
	Lo        *float64 `json:"uncertainty_lo"`
	Hi        *float64 `json:"uncertainty_hi"`
	Baseline  *float64 `json:"baseline_value"`
	Delta     *float64 `json:"delta_vs_baseline_pct"`
	Z         *float64 `json:"z_score"`
	Synthetic bool
}

func snapshot(t *testing.T, base, id string) (a answer) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/api/signals/"+id, nil)
	if err != nil {
		t.Fatal(err)
	}
	program.Until(t, program.Timeout, id+" is served with a value", func() (bool, string) {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false, err.Error()
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			return false, err.Error()
		}
		a = answer{}
		if err := json.Unmarshal(b, &a); err != nil {
			return false, err.Error()
		}
		return a.Value != nil, string(b)
	})
	return a
}

// near compares with figures that an independent script computed from the recordings, to their last printed digit.
func near(t *testing.T, what string, a answer, value, baseline, delta, z float64) {
	t.Helper()
	for _, c := range []struct {
		name string
		got  *float64
		want float64
		tol  float64
	}{
		{"value", a.Value, value, 5e-4},
		{"baseline", a.Baseline, baseline, 5e-5 * math.Max(1, math.Abs(baseline)/1000)},
		{"delta", a.Delta, delta, 5e-4},
		{"z-score", a.Z, z, 5e-5},
	} {
		if c.got == nil || math.Abs(*c.got-c.want) > c.tol {
			got := "null"
			if c.got != nil {
				got = fmt.Sprint(*c.got)
			}
			t.Errorf("%s: %s is %s, want %v", what, c.name, got, c.want)
		}
	}
}

// An earlier recording is known until the next one: the replay covers the past of the archive, and not only its newest responses. The
// workbooks of the World Bank were recorded at the beginning of December 2024, December 2025 and March 2026, each with the months up to the
// one before.
func TestWhatAnEarlierRecordingSaidIsKnownAsOfItsTime(t *testing.T) {
	t.Parallel()
	archive := record(t)
	const gas series.ID = "worldbank.NGAS_US"
	newest := func(db *postgres.DB, asOf string) string {
		t.Helper()
		set, err := db.ObservationsAsOf(t.Context(), []series.ID{gas}, day(t, asOf))
		if err != nil {
			t.Fatal(err)
		}
		points := set[gas]
		return points[len(points)-1].ObservedAt.Time().Format("2006-01")
	}
	_, db := up(t, archive, "--at", "2026-05-14T00:00:00Z")
	for asOf, want := range map[string]string{
		"2024-12-31": "2024-11", "2025-11-30": "2024-11", "2025-12-04": "2025-11", "2026-03-01": "2025-11", "2026-05-01": "2026-02",
	} {
		if got := newest(db, asOf); got != want {
			t.Errorf("as of %s the newest month is %s, the recordings of that time end with %s", asOf, got, want)
		}
	}
	// Recordings made after the replay's time are not visible.
	_, earlier := up(t, archive, "--at", "2025-12-11T00:00:00Z")
	if got := newest(earlier, "2026-05-01"); got != "2025-11" {
		t.Errorf("a replay of December 2025 knows of %s", got)
	}
}
