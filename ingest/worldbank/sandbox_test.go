package worldbank_test

import (
	"bytes"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"

	"tidemark/ingest"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world/synth"
	"tidemark/ingest/worldbank"
	"tidemark/internal/series"
)

func newFixture(seed uint64, now time.Time) *ingesttest.Upstream {
	return ingesttest.NewUpstream(now, func(mux *http.ServeMux, now func() time.Time) {
		worldbank.Sandbox(mux, synth.World{Seed: seed, Now: now})
	})
}

// history is a series by month.
type history map[string]float64

// collect takes both steps and returns what was read and the workbook's address.
func collect(t testing.TB, u *ingesttest.Upstream) (all map[series.ID]history, address string) {
	t.Helper()
	all = map[series.ID]history{}
	read := u.Collect(t, worldbank.Source(), series.Window{}, func(r ingest.Request, _ ingest.Batch) { address = r.URL })
	for id, readings := range read {
		all[id] = history{}
		for _, v := range readings {
			all[id][v.ObservedAt.Format("2006-01")] = v.Value
		}
	}
	return all, address
}

func TestSandboxShowsEveryMonthFromItsReleaseOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ fact, now, newest string }{
		{"a second before the release", "2026-05-03 14:59:59", "2026-03"},
		{"at the release", "2026-05-03 15:00:00", "2026-04"},
		{"at the end of the month still that release", "2026-05-31 23:00:00", "2026-04"},
		{"on New Year's Day", "2026-01-01 12:00:00", "2025-11"},
		{"at the first release of a year", "2026-01-03 15:00:00", "2025-12"},
	} {
		all, _ := collect(t, newFixture(1, ingesttest.NewYork(t, tc.now)))
		if len(all) != 3 {
			t.Errorf("%s: %d series", tc.fact, len(all))
		}
		for id, h := range all {
			months := slices.Sorted(maps.Keys(h))
			if got := months[len(months)-1]; got != tc.newest {
				t.Errorf("%s: the newest month of %s is %s, want %s", tc.fact, id, got, tc.newest)
			}
			first := "1960-01"
			if id == "worldbank.LNG_JP" {
				first = "1977-01"
			}
			if months[0] != first {
				t.Errorf("%s: %s begins with %s, want %s", tc.fact, id, months[0], first)
			}
		}
	}
}

// In six pairs of neighbouring vintages, the newest month of Japan's imports changed, by 0.12 to 1.97, and nothing else.
func TestSandboxRevisesOneValue(t *testing.T) {
	t.Parallel()
	s := newFixture(7, ingesttest.NewYork(t, "2024-12-04 12:00:00"))
	before, _ := collect(t, s)
	for n := range 6 {
		month := time.Date(2025, time.Month(1+n), 4, 12, 0, 0, 0, time.UTC)
		s.Now = month
		after, _ := collect(t, s)
		var changed []string
		for id, h := range before {
			for m, v := range h {
				now, ok := after[id][m]
				if !ok {
					t.Errorf("%s: %s of %s is gone", month.Format(time.DateOnly), id, m)
				}
				if now == v {
					continue
				}
				changed = append(changed, string(id)+" "+m)
				if apart := math.Abs(now - v); apart < 0.05 || apart > 2.5 {
					t.Errorf("%s: %s of %s changed by %.3f", month.Format(time.DateOnly), id, m, apart)
				}
			}
		}
		want := []string{"worldbank.LNG_JP " + month.AddDate(0, -2, 0).Format("2006-01")}
		if diff := cmp.Diff(want, changed); diff != "" {
			t.Errorf("%s: changed values (-want +got):\n%s", month.Format(time.DateOnly), diff)
		}
		before = after
	}
}

func TestSandboxMovesTheWorkbookEveryYear(t *testing.T) {
	t.Parallel()
	s := newFixture(1, ingesttest.NewYork(t, "2026-01-03 14:59:59"))
	old, oldURL := collect(t, s)
	s.Now = ingesttest.NewYork(t, "2026-01-03 15:00:00")
	_, newURL := collect(t, s)
	if oldURL == newURL || !strings.Contains(oldURL, "-0050012025/") || !strings.Contains(newURL, "-0050012026/") {
		t.Errorf("the addresses are %s and %s, want one that ends with each year", oldURL, newURL)
	}

	s.Now = ingesttest.NewYork(t, "2026-03-10 12:00:00")
	r := ingest.Response{Request: ingest.Request{URL: oldURL}, Body: s.Get(t, oldURL).Body.Bytes()}
	frozen, err := worldbank.Source().Parse(r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[series.ID]history{}
	for _, v := range frozen.Readings {
		if got[v.Series] == nil {
			got[v.Series] = history{}
		}
		got[v.Series][v.ObservedAt.Format("2006-01")] = v.Value
	}
	if diff := cmp.Diff(old, got); diff != "" {
		t.Errorf("last year's workbook moved (-then +now):\n%s", diff)
	}
	r.FetchedAt = s.Now
	if _, err := worldbank.Source().Parse(r); err == nil || !strings.Contains(err.Error(), "stale") {
		t.Errorf("last year's workbook in March: error is %v, want one that says that the link is stale", err)
	}
	for _, address := range []string{
		strings.Replace(newURL, "2026/", "2027/", 1), // not out yet
		worldbank.WorkbookURL("74e8be41ceb20fa0da750cda2f6b9e4e-0050012026"), worldbank.WorkbookURL("x"),
	} {
		if answer := s.Get(t, address); answer.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", address, answer.Code)
		}
	}
}

func TestSandboxWritesTheSameBytes(t *testing.T) {
	t.Parallel()
	now := ingesttest.NewYork(t, "2026-03-04 12:00:00")
	one, two := newFixture(3, now), newFixture(3, now)
	_, address := collect(t, one)
	two.Now = two.Now.AddDate(0, -3, 0)
	collect(t, two)
	two.Now = now.AddDate(0, 0, 9) // later in the month, after other questions
	first := one.Get(t, address).Body.Bytes()
	if !bytes.Equal(first, two.Get(t, address).Body.Bytes()) {
		t.Error("the workbook of one release has other bytes in another sandbox of the same seed")
	}
	if !bytes.Equal(first, one.Get(t, address).Body.Bytes()) {
		t.Error("the workbook has other bytes when it is asked for again")
	}
	if !bytes.Equal(one.Get(t, landingURL).Body.Bytes(), two.Get(t, landingURL).Body.Bytes()) {
		t.Error("the page has other bytes in another sandbox of the same seed")
	}
}

func TestSandboxWorkbookHasTheLayoutAndSaysThatItIsSynthetic(t *testing.T) {
	t.Parallel()
	s := newFixture(1, ingesttest.NewYork(t, "2026-03-04 12:00:00"))
	_, address := collect(t, s)
	f, err := excelize.OpenReader(s.Get(t, address).Body)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for at, want := range map[string]string{
		"A1": "World Bank Commodity Price Data (The Pink Sheet)", "A4": "Updated on March 03, 2026",
		"H5": "Natural gas, US", "I5": "Natural gas, Europe", "J5": "Liquefied natural gas, Japan", "H6": "($/mmbtu)",
		"A7": "1960M01", "J7": "…", "A800": "2026M02", "A801": "",
	} {
		if got, err := f.GetCellValue("Monthly Prices", at); err != nil || got != want {
			t.Errorf("cell %s is %q, want %q (%v)", at, got, want, err)
		}
	}
	if note, err := f.GetCellValue("Description", "A1"); err != nil || !strings.Contains(note, "Synthetic") {
		t.Errorf("the description says %q (%v)", note, err)
	}
	if page := s.Get(t, landingURL).Body.String(); !strings.Contains(page, "Synthetic figures") {
		t.Errorf("the page does not say that it is synthetic:\n%s", page)
	}
}

func TestSandboxPricesArePlausible(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		all, _ := collect(t, newFixture(seed, ingesttest.NewYork(t, "2026-03-04 12:00:00")))
		for id, bounds := range map[series.ID][2]float64{
			"worldbank.NGAS_US": {2, 6}, "worldbank.NGAS_EUR": {4, 17}, "worldbank.LNG_JP": {6, 19},
		} {
			var recent []float64
			for m, v := range all[id] {
				if v <= 0 || v > 120 {
					t.Errorf("seed %d: %s of %s is %v", seed, id, m, v)
				}
				if m >= "2006" {
					recent = append(recent, v)
				}
			}
			slices.Sort(recent)
			if median := recent[len(recent)/2]; median < bounds[0] || median > bounds[1] {
				t.Errorf("seed %d: the median of %s since 2006 is %.2f, want %v", seed, id, median, bounds)
			}
		}
	}
}

func TestSandboxAnswersManyAtOnce(t *testing.T) {
	t.Parallel()
	s := newFixture(1, ingesttest.NewYork(t, "2026-03-04 12:00:00"))
	_, address := collect(t, s)
	want := s.Get(t, address).Body.Bytes()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				if !bytes.Equal(want, s.Get(t, address).Body.Bytes()) {
					t.Error("another workbook")
				}
			}
		})
	}
	wg.Wait()
}
