package prices_test

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/prices"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/picks"
)

// sandboxFixture is a sandbox with a clock that the test sets.
type sandboxFixture struct {
	mux    *http.ServeMux
	market *synth.Market
	now    time.Time
}

func newFixture(t testing.TB, seed uint64, now string) *sandboxFixture {
	t.Helper()
	s := &sandboxFixture{mux: http.NewServeMux()}
	s.set(t, now)
	w := synth.World{Seed: seed, Now: func() time.Time { return s.now }}
	s.market = w.Market()
	prices.Sandbox(s.mux, w, calendar.IsTradingDay)
	return s
}

func (s *sandboxFixture) set(t testing.TB, now string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		t.Fatal(err)
	}
	s.now = at
}

// shares are the shares that have a ticker now.
func (s *sandboxFixture) shares() []prices.Share {
	list := []prices.Share{prices.Benchmark()}
	for _, c := range s.market.Companies {
		if ticker := c.Ticker(s.now.Truncate(24 * time.Hour)); ticker != "" {
			list = append(list, prices.Share{CIK: equity.CIK(c.CIK), Ticker: ticker})
		}
	}
	return list
}

func (s *sandboxFixture) get(t testing.TB, r ingest.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody))
	return w
}

// history asks for one share.
func (s *sandboxFixture) history(t testing.TB, share prices.Share, w series.Window) (picks.History, error) {
	t.Helper()
	src := prices.Yahoo([]prices.Share{share})
	requests, err := src.Request(w)
	if err != nil {
		t.Fatal(err)
	}
	answer := s.get(t, requests[0])
	batch, err := ingest.Parse(src, series.Fetch{
		URL: requests[0].URL, Status: answer.Code, Header: map[string]string{"Content-Type": answer.Header().Get("Content-Type")}, FetchedAt: s.now,
	}, answer.Body.Bytes())
	slices.SortFunc(batch.Actions, func(a, b equity.Action) int { return a.Date.Compare(b.Date) })
	return picks.History{Bars: batch.Bars, Actions: batch.Actions}, err
}

func TestSandboxShowsADayFromItsCloseOn(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-07-23T12:00:00Z")
	for _, tc := range []struct{ fact, now, newest string }{
		{"before the opening", "2026-07-23T12:00:00Z", "2026-07-22"},
		{"the session under way is not a day yet", "2026-07-23T18:00:00Z", "2026-07-22"},
		{"when the close is official", "2026-07-23T20:15:00Z", "2026-07-23"},
		{"in winter an hour later", "2026-12-10T21:14:00Z", "2026-12-09"},
		{"in winter when it is official", "2026-12-10T21:15:00Z", "2026-12-10"},
		{"on a Sunday", "2026-07-26T12:00:00Z", "2026-07-24"},
		{"after Thanksgiving, from which it is closed", "2026-11-26T22:00:00Z", "2026-11-25"},
	} {
		s.set(t, tc.now)
		h, err := s.history(t, prices.Benchmark(), series.Window{From: s.now.AddDate(0, 0, -20)})
		if err != nil {
			t.Fatalf("%s: %v", tc.fact, err)
		}
		if newest := h.Bars[len(h.Bars)-1].Date.Format(time.DateOnly); newest != tc.newest {
			t.Errorf("%s: the newest bar is of %s, want %s", tc.fact, newest, tc.newest)
		}
	}
}

// The drawn figures pass through splits, single precision and the parser unchanged, to the cent; returns computed from them have no jump
// at a split.
func TestSandboxPricesComeBackAsTheyWereDrawn(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-07-23T22:00:00Z")
	until := day(t, "2026-07-23")
	splits, dividends := 0, 0
	for _, share := range s.shares()[:34] {
		h, err := s.history(t, share, series.Window{})
		if err != nil {
			t.Fatal(err)
		}
		company := s.market.Fund
		if !share.Fund {
			company = s.market.Companies[int(share.CIK-equity.CIK(s.market.Companies[0].CIK))]
		}
		drawn := map[time.Time]synth.Session{}
		trading := 0
		for _, d := range company.Sessions(until) {
			drawn[d.Day] = d
			if calendar.IsTradingDay(d.Day) {
				trading++
			}
		}
		for _, b := range h.Bars {
			d := drawn[b.Date]
			if !calendar.IsTradingDay(b.Date) || math.Abs(b.Close.Float()-d.Close) > 1e-9 || math.Abs(b.High.Float()-d.High) > 0.0101 || b.Volume != d.Volume {
				t.Fatalf("%s of %s: %+v, drawn %+v", company.Name, b.Date.Format(time.DateOnly), b, d)
			}
		}
		levels := h.Levels(until, true)
		for i := 1; i < len(levels); i++ {
			if step := math.Log(levels[i].Level / levels[i-1].Level); math.Abs(step) > 0.2 {
				t.Errorf("%s moves by %.0f %% on %s", share.Ticker, 100*step, levels[i].Date.Format(time.DateOnly))
			}
		}
		if missing := trading - len(h.Bars); missing < 0 || missing > 12 || share.Fund && missing > 0 {
			t.Errorf("%s: %d of %d days are missing", company.Name, missing, trading)
		}
		for _, a := range h.Actions {
			switch a.Kind {
			case equity.Split:
				splits++
			case equity.Dividend:
				dividends++
			}
		}
	}
	if splits < 3 || dividends < 300 {
		t.Errorf("%d splits and %d dividends in eight years", splits, dividends)
	}
}

func TestSandboxTickersComeAndGo(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-07-23T22:00:00Z")
	renamed, ended := 0, 0
	for _, c := range s.market.Companies {
		first := prices.Share{CIK: equity.CIK(c.CIK), Ticker: c.Ticker(c.Listed)}
		if !c.Renamed.IsZero() && c.Listed.Before(c.Renamed) && (c.Ended.IsZero() || c.Renamed.Before(c.Ended)) {
			renamed++
			s.now = c.Renamed.AddDate(0, 0, 20).Add(22 * time.Hour)
			second := prices.Share{CIK: first.CIK, Ticker: c.Ticker(s.now.Truncate(24 * time.Hour))}
			if answer := s.get(t, ask(t, first)); answer.Code != http.StatusNotFound {
				t.Errorf("%s still answers under %s", c.Name, first.Ticker)
			}
			h, err := s.history(t, second, series.Window{From: c.Renamed.AddDate(0, 0, -30)})
			if err != nil || len(h.Bars) < 20 || h.Bars[0].Date.After(c.Renamed) {
				t.Errorf("%s: under its new ticker there are %d bars: %v", c.Name, len(h.Bars), err)
			}
		}
		if !c.Ended.IsZero() {
			ended++
			last := prices.Share{CIK: first.CIK, Ticker: c.Ticker(c.Ended)}
			s.now = c.Ended.Add(22 * time.Hour)
			if _, err := s.history(t, last, series.Window{From: c.Ended.AddDate(0, 0, -30)}); err != nil {
				t.Errorf("%s on its last day: %v", c.Name, err)
			}
			s.now = s.now.AddDate(0, 0, 1)
			answer := s.get(t, ask(t, last))
			var told struct {
				Chart struct {
					Error struct{ Description string }
				}
			}
			if err := json.Unmarshal(answer.Body.Bytes(), &told); err != nil || answer.Code != http.StatusNotFound || told.Chart.Error.Description == "" {
				t.Errorf("%s after its last day: status %d %s", c.Name, answer.Code, answer.Body)
			}
		}
	}
	if renamed < 4 || ended < 4 {
		t.Errorf("%d renamed, %d ended", renamed, ended)
	}
}

func ask(t *testing.T, share prices.Share) ingest.Request {
	t.Helper()
	requests, err := prices.Yahoo([]prices.Share{share}).Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	return requests[0]
}

// The whole path: engine, sandbox, archive. One day's history of earlier days stays true.
func TestSandboxThroughTheEngine(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2025-08-15T22:00:00Z")
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	e := &ingest.Engine{
		Transport: world.Sandbox(s.mux, world.SandboxOptions{}), Now: func() time.Time { return s.now }, Ledger: &ingesttest.FetchLog{}, Archive: store, Offline: true,
	}
	kept := map[equity.CIK]map[time.Time]equity.Price{}
	restated := 0
	for range 3 { // some of the companies split their shares in between
		shares := s.shares()[:30]
		got, err := e.Collect(t.Context(), prices.Yahoo(shares), series.Window{From: day(t, "2025-01-02")}, 1)
		if err != nil || len(got) != len(shares) {
			t.Fatalf("%d answers for %d shares: %v", len(got), len(shares), err)
		}
		for _, f := range got {
			if !f.Fetch.Synthetic {
				t.Errorf("%s is not marked as synthetic", f.Fetch.URL)
			}
			for _, a := range f.Batch.Actions {
				if a.Kind == equity.Split {
					restated++
				}
			}
			for _, b := range f.Batch.Bars {
				if kept[b.CIK] == nil {
					kept[b.CIK] = map[time.Time]equity.Price{}
				}
				if was, ok := kept[b.CIK][b.Date]; ok && was != b.Close {
					t.Errorf("the close of %s on %s was %s and is %s", b.CIK, b.Date.Format(time.DateOnly), was, b.Close)
				}
				kept[b.CIK][b.Date] = b.Close
			}
		}
		s.now = s.now.AddDate(0, 5, 0)
		for !calendar.IsTradingDay(s.now) {
			s.now = s.now.AddDate(0, 0, 1)
		}
	}
	if restated == 0 {
		t.Error("no split in between: the test shows nothing")
	}
}

func TestSandboxOfOneSeedIsOneHistory(t *testing.T) {
	t.Parallel()
	one, two := newFixture(t, 5, "2026-07-23T22:00:00Z"), newFixture(t, 5, "2021-02-03T22:00:00Z")
	share := one.shares()[7]
	if _, err := two.history(t, two.shares()[3], series.Window{}); err != nil {
		t.Fatal(err)
	}
	two.now = one.now // after other questions
	want, err := one.history(t, share, series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := two.history(t, share, series.Window{})
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("another history: %v (-want +got):\n%s", err, diff)
	}
	other := newFixture(t, 6, "2026-07-23T22:00:00Z")
	if h, err := other.history(t, prices.Benchmark(), series.Window{}); err != nil || cmp.Equal(h.Bars[:9], want.Bars[:9]) {
		t.Errorf("another seed: %v", err)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if h, err := one.history(t, share, series.Window{}); err != nil || !cmp.Equal(want, h) {
				t.Errorf("asked at once it has another history (%v)", err)
			}
		})
	}
	wg.Wait()
}

func TestSandboxRefusesWhatItDoesNotSpeak(t *testing.T) {
	t.Parallel()
	s := newFixture(t, 1, "2026-07-23T22:00:00Z")
	const base = "https://query1.finance.yahoo.com/v8/finance/chart/"
	for address, want := range map[string]int{
		base + "SPY?interval=1d&period1=0&period2=9999999999": http.StatusOK, base + "SPY?interval=5m&period1=0&period2=9999999999": http.StatusBadRequest,
		base + "SPY?interval=1d": http.StatusBadRequest, base + "AAPL?interval=1d&period1=0&period2=9999999999": http.StatusNotFound,
	} {
		if answer := s.get(t, ingest.Request{URL: address}); answer.Code != want {
			t.Errorf("%s: status %d, want %d", address, answer.Code, want)
		}
	}
}
