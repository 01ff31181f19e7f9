package edgar_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/edgar"
	"tidemark/ingest/world/synth"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

// fixture is a sandbox with a clock that the test sets.
type fixture struct {
	mux    *http.ServeMux
	market *synth.Market
	now    time.Time
}

func newFixture(seed uint64, now string) *fixture {
	at, err := time.Parse(time.RFC3339, now)
	if err != nil {
		panic(err)
	}
	s := &fixture{mux: http.NewServeMux(), now: at}
	w := synth.World{Seed: seed, Now: func() time.Time { return s.now }}
	s.market = w.Market()
	edgar.Sandbox(s.mux, w)
	return s
}

// universe are all companies that have a ticker now or had one.
func (s *fixture) universe() []equity.CIK {
	list := make([]equity.CIK, len(s.market.Companies))
	for i, c := range s.market.Companies {
		list[i] = equity.CIK(c.CIK)
	}
	return list
}

func (s *fixture) get(t testing.TB, r ingest.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	asked := httptest.NewRequestWithContext(t.Context(), http.MethodGet, r.URL, http.NoBody)
	asked.Header = r.Header
	s.mux.ServeHTTP(w, asked)
	return w
}

// collect asks everything that a source asks and puts it together.
func (s *fixture) collect(t testing.TB, src ingest.Source) ingest.Batch {
	t.Helper()
	requests, err := src.Request(series.Window{})
	if err != nil {
		t.Fatal(err)
	}
	var all ingest.Batch
	for _, first := range requests {
		for r := &first; r != nil; {
			answer := s.get(t, *r)
			if slices.Contains(r.Absent, answer.Code) {
				break
			}
			batch, err := ingest.Parse(src, series.Fetch{
				URL: r.URL, Status: answer.Code, Header: map[string]string{"Content-Type": answer.Header().Get("Content-Type")}, FetchedAt: s.now,
			}, answer.Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			all.Companies = append(all.Companies, batch.Companies...)
			all.Filings = append(all.Filings, batch.Filings...)
			all.Facts = append(all.Facts, batch.Facts...)
			all.Risks = append(all.Risks, batch.Risks...)
			if r = batch.Next; r != nil {
				r.Header = http.Header{"User-Agent": {agent}} // read from the archive, the answer does not know in whose name
			}
		}
	}
	return all
}

var whole struct {
	once  sync.Once
	stand *fixture
	facts []equity.Fact
}

// midsummer is one sandbox at one time with the figures of half its companies, which more than one test looks at.
func midsummer(t *testing.T) (*fixture, []equity.Fact) {
	whole.once.Do(func() {
		whole.stand = newFixture(1, "2026-06-12T22:30:00Z")
		companies := whole.stand.market.Companies
		whole.stand.market.Companies = append(companies[:30:30], companies[49], companies[len(companies)-1]) // a foreign company, and a company without books
		whole.facts = whole.stand.collect(t, edgar.Facts(agent, whole.stand.universe())).Facts
	})
	return whole.stand, whole.facts
}

// key names a fact.
func key(f equity.Fact) string {
	return fmt.Sprintf("%s %s:%s %s %s %s %s", f.CIK, f.Taxonomy, f.Tag, f.Unit, f.Start.Format(time.DateOnly), f.End.Format(time.DateOnly), f.Accession)
}
