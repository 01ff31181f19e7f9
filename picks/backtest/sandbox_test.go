package backtest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/edgar"
	"tidemark/ingest/prices"
	"tidemark/ingest/sources"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/picks"
	"tidemark/picks/backtest"
)

// sandbox is a sandbox's market as the publishers' answers state it.
type sandbox struct {
	mux        *http.ServeMux
	now        time.Time
	candidates []picks.Candidate
	prices     picks.Prices
}

// newSandbox asks a sandbox for the books and prices of all its companies. Tickers without an answer have no prices.
func newSandbox(t testing.TB, seed uint64, kind synth.Prices) *sandbox {
	t.Helper()
	s := &sandbox{mux: http.NewServeMux(), now: time.Date(2026, 6, 30, 22, 0, 0, 0, time.UTC), prices: picks.Prices{}}
	w := synth.World{Seed: seed, Prices: kind, Now: func() time.Time { return s.now }}
	s.mux.Handle("/", sources.Sandbox(w, calendar.IsTradingDay))
	today := s.now.Truncate(24 * time.Hour)
	s.load(t, prices.Benchmark())
	for _, c := range w.Market().Companies {
		ticker := c.Ticker(today)
		if ticker == "" {
			continue
		}
		cik := equity.CIK(c.CIK)
		s.load(t, prices.Share{CIK: cik, Ticker: ticker})
		facts := s.ask(t, edgar.Facts("test admin@example.com", []equity.CIK{cik})).Facts
		s.candidates = append(s.candidates, picks.Candidate{
			Company: equity.Company{
				CIK: cik, Name: c.Name, SIC: c.SIC, Location: c.Location,
				Listings: []equity.Listing{{Ticker: ticker, Exchange: map[string]string{"NYSE": "XNYS", "Nasdaq": "XNAS"}[c.Exchange]}},
			},
			Facts: facts, History: s.prices[cik],
		})
	}
	return s
}

func (s *sandbox) load(t testing.TB, share prices.Share) {
	t.Helper()
	b := s.ask(t, prices.Yahoo([]prices.Share{share}))
	slices.SortFunc(b.Actions, func(a, b equity.Action) int { return a.Date.Compare(b.Date) })
	s.prices[share.CIK] = picks.History{Bars: b.Bars, Actions: b.Actions}
}

func (s *sandbox) ask(t testing.TB, src ingest.Source) ingest.Batch {
	t.Helper()
	requests, err := src.Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	r := requests[0]
	w := httptest.NewRecorder()
	asked := httptest.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody)
	asked.Header = r.Header
	s.mux.ServeHTTP(w, asked)
	if slices.Contains(r.Absent, w.Code) {
		return ingest.Batch{}
	}
	batch, err := ingest.Parse(src, series.Fetch{
		URL: r.URL, Status: w.Code, Header: map[string]string{"Content-Type": w.Header().Get("Content-Type")}, FetchedAt: s.now,
	}, w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func (s *sandbox) input(every int) backtest.Input {
	in := backtest.Input{
		To: s.now.Truncate(24 * time.Hour), Prices: s.prices, Rules: picks.DefaultRules(), Holding: picks.DefaultPortfolioRules(),
		Market: func(time.Time) ([]picks.Candidate, error) { return s.candidates, nil }, Trials: 1, Random: 100, Seed: 1,
	}
	all := calendar.Between(synth.FirstDay.AddDate(2, 1, 0), in.To)
	for i := 0; i < len(all); i += every {
		in.Days = append(in.Days, all[i])
	}
	return in
}

// worlds is how many worlds of each kind are tried. Six were, once.
const worlds = 1

// What is planted is found, and where nothing is planted nothing is: in each world, not on average.
func TestABacktestFindsWhatTheGeneratorPlantedAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, kind := range []synth.Prices{synth.Fair, synth.Planted} {
		for seed := range uint64(worlds) {
			t.Run(fmt.Sprintf("%s prices, seed %d", kind, seed+1), func(t *testing.T) {
				t.Parallel()
				s := newSandbox(t, seed+1, kind)
				done := 0
				in := s.input(backtest.MonthSessions)
				in.Progress = func(n, all int) {
					if done++; n != done || all != len(in.Days) {
						t.Errorf("day %d of %d is said to be %d of %d", done, len(in.Days), n, all)
					}
				}
				r, err := backtest.Run(in)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%+v", r)
				planted := kind == synth.Planted
				if r.ScoresFound != planted {
					t.Errorf("it is found: %v", r.ScoresFound)
				}
				if !planted && r.PicksFound {
					t.Error("picks without an effect are better than luck")
				}
				// One pick a month is six at a time, which may miss even a strong effect. They are better than the mean of random ones.
				if planted && !(r.Picks.ExcessOverUniversePct > r.Random.MeanPct) {
					t.Errorf("the picks have %v %% a year, random ones %v %%", r.Picks.ExcessOverUniversePct, r.Random.MeanPct)
				}
				if mean := r.Random.MeanPct; mean < -1 || mean > 1 {
					t.Errorf("random portfolios have an excess of %v %% a year", mean)
				}
				if r.Days < 60 || r.Companies[0] < 40 || r.Random.N != in.Random {
					t.Errorf("%d days, %v companies, %d random portfolios", r.Days, r.Companies, r.Random.N)
				}
			})
		}
	}
}
