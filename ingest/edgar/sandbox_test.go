package edgar_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/edgar"
	"tidemark/ingest/ingesttest"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/picks"
)

// The whole way: engine, sandbox, archive. A company that states no figures is answered with 404, which does not count as a failure.
func TestSandboxThroughTheEngine(t *testing.T) {
	t.Parallel()
	s := newFixture(1, "2026-06-12T22:30:00Z")
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	l := &ingesttest.FetchLog{}
	e := &ingest.Engine{
		Transport: world.Sandbox(s.mux, world.SandboxOptions{Now: func() time.Time { return s.now }}), Now: func() time.Time { return s.now },
		Ledger: l, Archive: store, Offline: true,
	}
	all68 := s.universe()
	universe := append(all68[:11:11], all68[len(all68)-1]) // the last has no books
	older := 0
	for id, want := range map[string]int{"edgar-companies": 2, "edgar-submissions": len(universe), "edgar-facts": len(universe) - 1, "edgar-current": 7} {
		i := slices.IndexFunc(all(agent, universe...), func(s ingest.Source) bool { return s.ID == id })
		got, err := e.Collect(t.Context(), all(agent, universe...)[i], series.Window{}, 1)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		for _, f := range got {
			if strings.Contains(f.Fetch.URL, "-submissions-001") {
				older++
			}
			if !f.Fetch.Synthetic {
				t.Errorf("%s is not marked as synthetic", f.Fetch.URL)
			}
		}
		if id == "edgar-submissions" {
			want += older
		}
		if len(got) != want {
			t.Errorf("%s: %d answers, want %d", id, len(got), want)
		}
	}
	if older < 8 {
		t.Errorf("%d of %d companies have older pages", older, len(universe))
	}
	asked := len(l.Rows)
	if _, err := e.Collect(t.Context(), edgar.Facts(agent, universe), series.Window{}, 2); err != nil {
		t.Fatal(err)
	}
	for _, f := range l.Rows[asked:] {
		if f.Status != http.StatusNotModified && f.Status != http.StatusNotFound {
			t.Errorf("%s is sent again with status %d though nothing was filed", f.URL, f.Status)
		}
	}
}

func TestSandboxRefusesWhoDoesNotSayWhoAsks(t *testing.T) {
	t.Parallel()
	s := newFixture(1, "2026-06-12T22:30:00Z")
	for _, a := range []string{"https://www.sec.gov/files/company_tickers.json", "https://data.sec.gov/submissions/CIK9900000001.json"} {
		if answer := s.get(t, ingest.Request{URL: a}); answer.Code != http.StatusForbidden || !strings.Contains(answer.Body.String(), "Undeclared Automated Tool") {
			t.Errorf("%s: status %d", a, answer.Code)
		}
	}
	for _, a := range []string{
		"https://data.sec.gov/submissions/CIK0000320193.json", "https://data.sec.gov/submissions/CIK9900000001-submissions-002.json",
		"https://data.sec.gov/api/xbrl/companyfacts/CIK0000320193.json", "https://data.sec.gov/api/xbrl/companyfacts/nobody",
		"https://www.sec.gov/cgi-bin/browse-edgar?action=getcompany",
	} {
		if answer := s.get(t, ingest.Request{URL: a, Header: http.Header{"User-Agent": {agent}}}); answer.Code != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404", a, answer.Code)
		}
	}
}

func TestSandboxCompaniesAreInventedAndSaySo(t *testing.T) {
	t.Parallel()
	s := newFixture(1, "2026-06-12T22:30:00Z")
	sectors, countries, ends := map[picks.Sector]int{}, map[string]int{}, map[string]int{}
	for _, c := range s.collect(t, edgar.Submissions(agent, s.universe())).Companies {
		if !strings.HasSuffix(c.Name, "(synthetic)") {
			t.Errorf("%q does not say that it is synthetic", c.Name)
		}
		if c.CIK < 9_900_000_000 {
			t.Errorf("%s has the CIK %s, which may be given", c.Name, c.CIK)
		}
		sectors[picks.SectorOf(c.SIC)]++
		countries[picks.CountryOf(c.Location)]++
		ends[c.FiscalYearEnd]++
	}
	for _, sector := range []picks.Sector{
		picks.Technology, picks.Communications, picks.HealthCare, picks.Finance, picks.RealEstate, picks.Energy, picks.Utilities, picks.Chemicals,
		picks.Materials, picks.Industry, picks.Transport, picks.EverydayGoods, picks.DurableGoods, picks.Trade, picks.Services,
	} {
		if sectors[sector] == 0 {
			t.Errorf("no company of the sector %s", sector)
		}
	}
	if sectors[picks.OtherSector] > 0 || countries[""] > 0 || len(countries) < 6 || len(ends) < 5 {
		t.Errorf("sectors %v, countries %v, fiscal years %v", sectors, countries, ends)
	}
}

func TestSandboxShowsAFilingFromItsAcceptanceOn(t *testing.T) {
	t.Parallel()
	s := newFixture(2, "2024-03-01T12:00:00Z")
	universe := s.universe()[:8]
	var filings map[string]equity.Filing
	var facts map[string]float64
	grew := 0
	for range 4 {
		today := s.now.Truncate(24 * time.Hour)
		nowFilings, nowFacts := map[string]equity.Filing{}, map[string]float64{}
		for _, f := range s.collect(t, edgar.Submissions(agent, universe)).Filings {
			nowFilings[f.Accession] = f
			if f.AcceptedAt.After(s.now) || f.Filed.After(today) {
				t.Fatalf("at %s a filing of %s is shown, accepted at %s", s.now, f.Filed, f.AcceptedAt)
			}
		}
		for _, f := range s.collect(t, edgar.Facts(agent, universe)).Facts {
			nowFacts[key(f)] = f.Value
			if _, filed := nowFilings[f.Accession]; !filed || f.Filed.After(today) {
				t.Fatalf("at %s a figure of the filing %s is shown, which is not", s.now, f.Accession)
			}
			if lag := f.Filed.Sub(f.End); f.Taxonomy == "us-gaap" && lag < 20*24*time.Hour {
				t.Fatalf("a figure of %s is filed on %s", f.End, f.Filed)
			}
		}
		for id, f := range filings {
			if diff := cmp.Diff(f, nowFilings[id]); diff != "" {
				t.Fatalf("a filing has changed (-was +is):\n%s", diff)
			}
		}
		for id, v := range facts {
			if got, ok := nowFacts[id]; !ok || got != v {
				t.Fatalf("what was filed has changed: %s from %v to %v", id, v, got)
			}
		}
		if len(nowFilings) > len(filings) && len(nowFacts) > len(facts) {
			grew++
		}
		filings, facts = nowFilings, nowFacts
		s.now = s.now.AddDate(0, 1, 9)
	}
	if grew != 4 {
		t.Errorf("in 4 steps of five weeks filings and figures grew %d times", grew)
	}
}

func TestSandboxRestatesNowAndThen(t *testing.T) {
	t.Parallel()
	type period struct {
		company    equity.CIK
		start, end time.Time
	}
	said := map[period][]equity.Fact{}
	years := 0
	_, facts := midsummer(t)
	for _, f := range facts {
		if f.Tag == "NetIncomeLoss" && f.Days() > 350 {
			p := period{f.CIK, f.Start, f.End}
			said[p] = append(said[p], f)
		}
	}
	restated := 0
	for p, list := range said {
		years++
		slices.SortFunc(list, func(a, b equity.Fact) int { return a.Filed.Compare(b.Filed) })
		for i, f := range list[1:] {
			if f.Value == list[i].Value {
				continue
			}
			restated++
			if f.Form != "10-K/A" || i != 0 {
				t.Errorf("%v is restated by %s of %s", p, f.Form, f.Filed)
			}
			if ratio := list[i].Value / f.Value; ratio < 1.05 || ratio > 1.25 {
				t.Errorf("%v: %v becomes %v", p, list[i].Value, f.Value)
			}
		}
	}
	if share := float64(restated) / float64(years); restated < 3 || share > 0.1 {
		t.Errorf("%d of %d years are restated", restated, years)
	}
}

// The books hold together as the rules of picks read them: fiscal years without gaps, scores that are known, share counts that follow
// the splits.
func TestSandboxBooksCanBeRead(t *testing.T) {
	t.Parallel()
	s, list := midsummer(t)
	facts := map[equity.CIK][]equity.Fact{}
	for _, f := range list {
		facts[f.CIK] = append(facts[f.CIK], f)
	}
	known, splits := 0, 0
	for _, c := range s.market.Companies {
		id := equity.CIK(c.CIK)
		book := picks.NewBook(facts[id], s.now)
		score := book.FScore()
		switch {
		case c.Books == synth.Foreign || c.Books == synth.Unreported:
			if len(book.Years()) != 0 {
				t.Errorf("%s has %d years by the rules of the United States", c.Name, len(book.Years()))
			}
			continue
		case c.Listed.IsZero() && c.Ended.IsZero() && len(book.Years()) < 9:
			t.Errorf("%s has %d fiscal years", c.Name, len(book.Years()))
		}
		if c.Books == synth.Commercial && score.Known == 9 {
			known++
		}
		for _, split := range c.Splits(s.now) {
			before, after := coverAround(facts[id], split.Day)
			if before == 0 || after == 0 {
				continue
			}
			splits++
			if got, want := after/before, float64(split.New)/float64(split.Old); got < 0.95*want || got > 1.05*want {
				t.Errorf("%s: the cover counts %v and then %v shares around a split of %d for %d", c.Name, before, after, split.New, split.Old)
			}
		}
	}
	if known < 18 || splits < 3 {
		t.Errorf("%d companies have a whole score, %d splits were seen on covers", known, splits)
	}
}

// coverAround is the number of shares on the last cover before a day and on the first one from it on.
func coverAround(facts []equity.Fact, split time.Time) (before, after float64) {
	covers := slices.DeleteFunc(slices.Clone(facts), func(f equity.Fact) bool { return f.Taxonomy != "dei" })
	slices.SortFunc(covers, func(a, b equity.Fact) int { return a.Filed.Compare(b.Filed) })
	for _, f := range covers {
		if f.Filed.Before(split) {
			before = f.Value
		} else if after == 0 {
			after = f.Value
		}
	}
	return before, after
}

func TestSandboxTickersComeAndGo(t *testing.T) {
	t.Parallel()
	s := newFixture(1, "2026-06-12T22:30:00Z")
	renamed, ended, came := 0, 0, 0
	history := map[equity.CIK][]equity.Listing{}
	for year := 2018; year < 2036; year++ {
		s.now = time.Date(year, 7, 2, 15, 0, 0, 0, time.UTC)
		batch := s.collect(t, edgar.Companies(agent))
		listed := map[equity.CIK][]equity.Listing{}
		for _, c := range batch.Companies {
			if len(c.Listings) == 1 && c.Listings[0].Exchange != "" { // the second list has the exchanges
				listed[c.CIK] = c.Listings
			}
		}
		for _, id := range s.universe() {
			was := len(history[id])
			if listed[id] != nil || was > 0 {
				history[id] = equity.Listings(history[id], listed[id], s.now.Truncate(24*time.Hour))
			}
			if year > 2018 && was == 0 && len(history[id]) > 0 {
				came++
			}
		}
	}
	for _, c := range s.market.Companies {
		list := history[equity.CIK(c.CIK)]
		if !c.Renamed.IsZero() && c.Renamed.Year() < 2035 && len(list) > 1 {
			renamed++
			if list[0].Ticker == list[1].Ticker || list[1].To.IsZero() {
				t.Errorf("%s was renamed on %s and has the listings %v", c.Name, c.Renamed, list)
			}
		}
		if len(list) > 0 && !list[0].To.IsZero() {
			ended++
			filings := s.collect(t, edgar.Submissions(agent, []equity.CIK{equity.CIK(c.CIK)})).Filings
			i := slices.IndexFunc(filings, func(f equity.Filing) bool { return f.Form == "25-NSE" })
			if i < 0 || !filings[i].Filed.Equal(c.Ended) {
				t.Errorf("%s ended on %s without the exchange's notice of it", c.Name, c.Ended)
			}
		}
	}
	if renamed < 4 || ended < 4 || came < 3 {
		t.Errorf("in 18 years %d companies took another ticker, %d went and %d came", renamed, ended, came)
	}
}

func TestSandboxOfOneSeedIsOneHistory(t *testing.T) {
	t.Parallel()
	one, two := newFixture(7, "2025-11-14T12:00:00Z"), newFixture(7, "2022-01-31T12:00:00Z")
	universe := one.universe()[:6]
	two.collect(t, edgar.Facts(agent, universe))
	two.now = one.now // after other questions
	want := one.collect(t, edgar.Submissions(agent, universe))
	if diff := cmp.Diff(want, two.collect(t, edgar.Submissions(agent, universe))); diff != "" {
		t.Errorf("another history (-want +got):\n%s", diff)
	}
	if cmp.Equal(want, newFixture(8, "2025-11-14T12:00:00Z").collect(t, edgar.Submissions(agent, universe))) {
		t.Error("another seed has the same history")
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if got := one.collect(t, edgar.Submissions(agent, universe)); !cmp.Equal(want, got) {
				t.Error("asked at once it has another history")
			}
		})
	}
	wg.Wait()
}

// The sandbox's answers have the members that the recorded ones have.
func TestSandboxSpeaksAsTheSECDoes(t *testing.T) {
	t.Parallel()
	s := newFixture(1, "2026-06-12T22:30:00Z")
	members := func(body []byte, path ...string) []string {
		t.Helper()
		for _, name := range path {
			var object map[string]json.RawMessage
			if err := json.Unmarshal(body, &object); err != nil {
				t.Fatal(err)
			}
			if body = object[name]; body == nil {
				t.Fatalf("no member %s", name)
			}
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(body, &object); err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(maps.Keys(object))
	}
	fetch := func(address string) []byte {
		return s.get(t, ingest.Request{URL: address, Header: http.Header{"User-Agent": {agent}}}).Body.Bytes()
	}
	facts, filings := fetch("https://data.sec.gov/api/xbrl/companyfacts/CIK9900000002.json"), fetch("https://data.sec.gov/submissions/CIK9900000002.json")
	for _, tc := range []struct {
		recorded string
		answer   []byte
		path     []string
	}{
		{"submissions/CIK0000320193.json", filings, nil},
		{"submissions/CIK0000320193.json", filings, []string{"filings"}},
		{"submissions/CIK0000320193.json", filings, []string{"filings", "recent"}},
		{"companyfacts/CIK0000320193.json", facts, nil},
		{"companyfacts/CIK0000320193.json", facts, []string{"facts"}},
		{"companyfacts/CIK0000320193.json", facts, []string{"facts", "us-gaap", "NetIncomeLoss"}},
		{"companyfacts/CIK0000320193.json", facts, []string{"facts", "dei", "EntityCommonStockSharesOutstanding"}},
		{"company_tickers.json", fetch("https://www.sec.gov/files/company_tickers.json"), []string{"0"}},
	} {
		if diff := cmp.Diff(members(readRecorded(t, tc.recorded), tc.path...), members(tc.answer, tc.path...)); diff != "" {
			t.Errorf("members of %s %v (-recorded +sandbox):\n%s", tc.recorded, tc.path, diff)
		}
	}
}

// The invented reports have risk factors in several shapes. Those of two years differ in some, and a few reports have no such section.
func TestSandboxReportsHaveRiskFactors(t *testing.T) {
	t.Parallel()
	s := newFixture(1, "2026-06-12T22:30:00Z")
	states, changed := map[string]int{}, map[picks.RiskComparison]int{}
	for _, id := range s.universe()[:24] {
		var wanted []equity.Filing
		for _, f := range s.collect(t, edgar.Submissions(agent, []equity.CIK{id})).Filings {
			if f.Form == "10-K" || f.Form == "10-Q" {
				wanted = append(wanted, f)
			}
		}
		slices.SortFunc(wanted, func(a, b equity.Filing) int { return a.Filed.Compare(b.Filed) })
		wanted = wanted[max(len(wanted)-9, 0):]
		if len(wanted) == 0 {
			continue
		}
		var reports []picks.RiskReport
		for i, r := range s.collect(t, edgar.Documents(agent, wanted)).Risks {
			if r.Accession != wanted[i].Accession || r.CIK != id {
				t.Errorf("%s of %s is read as %s", wanted[i].Accession, id, r.Accession)
			}
			states[wanted[i].Form+" "+string(r.State)]++
			reports = append(reports, picks.RiskReport{RiskFactors: r, Filing: wanted[i]})
		}
		c := picks.CompareRisks(reports)
		changed[c.State]++
		if n := len(c.Added) + len(c.Removed) + len(c.Reworded); c.State == picks.RisksCompared && (n == 0 && c.Same < 10 || n > 12 || c.Now.ByParagraph) {
			t.Errorf("%s: %d changes, %d the same", id, n, c.Same)
		}
	}
	if states["10-K read"] < 30 || states["10-Q unchanged"] < 60 || states["10-Q read"] < 10 || states["10-K not_found"] == 0 || states["10-Q elsewhere"] > 0 {
		t.Error(states)
	}
	if changed[picks.RisksCompared] < 15 || changed[picks.RisksNotRead] == 0 || changed[picks.RisksUnlike] > 0 {
		t.Error(changed)
	}
}
