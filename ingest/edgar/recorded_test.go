package edgar_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/picks"
)

// recorded is the folder of SEC responses saved by others, if the recorded publisher data is available outside the repository.
const recorded = "../../../shared/upstream/sec-edgar"

func readRecorded(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(recorded, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("no recorded answers at ../shared/upstream/sec-edgar, beside the repository: nothing to check against")
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// parseRecorded reads a recorded answer as if it had just come from an address.
func parseRecorded(t testing.TB, id, address, contentType, name string) ingest.Batch {
	t.Helper()
	batch, err := ingest.Parse(source(t, id), series.Fetch{
		URL: address, Status: http.StatusOK, Header: map[string]string{"Content-Type": contentType}, FetchedAt: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
	}, readRecorded(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return batch
}

func recordedFacts(t testing.TB, id equity.CIK) []equity.Fact {
	t.Helper()
	file := "CIK" + id.String() + ".json"
	return parseRecorded(t, "edgar-facts", "https://data.sec.gov/api/xbrl/companyfacts/"+file, "application/json", "companyfacts/"+file).Facts
}

func TestRecordedTickers(t *testing.T) {
	t.Parallel()
	batch := parseRecorded(t, "edgar-companies", "https://www.sec.gov/files/company_tickers.json", "application/json", "company_tickers.json")
	rows := 0
	byTicker := map[string]equity.CIK{}
	for _, c := range batch.Companies {
		rows += len(c.Listings)
		for _, l := range c.Listings {
			byTicker[l.Ticker] = c.CIK
		}
	}
	if len(batch.Companies) != 8029 || rows != 10391 || len(byTicker) != 10391 {
		t.Errorf("%d companies with %d tickers, want 8,029 with 10,391", len(batch.Companies), rows)
	}
	for ticker, id := range map[string]equity.CIK{"AAPL": 320193, "GOOGL": 1652044, "GOOG": 1652044, "BRK-A": 1067983, "BRK-B": 1067983, "SPY": 884394, "META": 1326801} {
		if byTicker[ticker] != id {
			t.Errorf("%s belongs to %s, want %s", ticker, byTicker[ticker], id)
		}
	}
	i := slices.IndexFunc(batch.Companies, func(c equity.Company) bool { return c.CIK == 1652044 })
	if main := batch.Companies[i].Ticker(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)); main != "GOOGL" {
		t.Errorf("%s stands for Alphabet, want GOOGL", main)
	}
}

func TestRecordedSubmissions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		company        equity.Company
		filings        int
		newest, oldest string
		next           string
	}{
		{
			equity.Company{CIK: 320193, Name: "Apple Inc.", SIC: 3571, Location: "CA", FiscalYearEnd: "0926"},
			1005, "2026-01-22", "2015-02-03",
			"https://data.sec.gov/submissions/CIK0000320193-submissions-001.json",
		},
		{
			equity.Company{CIK: 789019, Name: "MICROSOFT CORP", SIC: 7372, Location: "WA", FiscalYearEnd: "0630"},
			1006, "2026-01-28", "2019-09-13",
			"https://data.sec.gov/submissions/CIK0000789019-submissions-001.json?tidemark_more=002",
		},
	} {
		file := "submissions/CIK" + tc.company.CIK.String() + ".json"
		batch := parseRecorded(t, "edgar-submissions", "https://data.sec.gov/"+file, "application/json", file)
		c := batch.Companies[0]
		if c.CIK != tc.company.CIK || c.Name != tc.company.Name || c.SIC != tc.company.SIC || c.Location != tc.company.Location || c.FiscalYearEnd != tc.company.FiscalYearEnd {
			t.Errorf("the company is %+v, want %+v", c, tc.company)
		}
		if len(c.Listings) != 1 || c.Listings[0].Exchange != "XNAS" {
			t.Errorf("%s is listed as %+v", c.Name, c.Listings)
		}
		n := len(batch.Filings)
		if n != tc.filings || batch.Filings[0].Filed.Format(time.DateOnly) != tc.newest || batch.Filings[n-1].Filed.Format(time.DateOnly) != tc.oldest {
			t.Errorf("%s: %d filings from %s to %s, want %d from %s to %s", c.Name, n, batch.Filings[n-1].Filed, batch.Filings[0].Filed, tc.filings, tc.oldest, tc.newest)
		}
		if batch.Next == nil || batch.Next.URL != tc.next {
			t.Errorf("%s: leads to %+v, want %s", c.Name, batch.Next, tc.next)
		}
		known, late := 0, 0
		for _, f := range batch.Filings {
			if !f.AcceptedAt.IsZero() {
				known++
			}
			if f.AcceptedAt.Sub(f.Filed) > 32*time.Hour {
				late++
			}
		}
		if share := float64(known) / float64(n); share < 0.8 || late > 0 {
			t.Errorf("%s: of %.0f %% of the filings it is known when they were accepted, of %d after their date", c.Name, 100*share, late)
		}
	}
}

func TestRecordedFilingOfApple(t *testing.T) {
	t.Parallel()
	file := "submissions/CIK0000320193.json"
	batch := parseRecorded(t, "edgar-submissions", "https://data.sec.gov/"+file, "application/json", file)
	find := func(accession string) equity.Filing {
		i := slices.IndexFunc(batch.Filings, func(f equity.Filing) bool { return f.Accession == accession })
		if i < 0 {
			t.Fatalf("no filing %s", accession)
		}
		return batch.Filings[i]
	}
	annual := find("0000320193-25-000079")
	if annual.Form != "10-K" || annual.Period.Format(time.DateOnly) != "2025-09-27" || annual.Items != nil ||
		annual.URL != "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/aapl-20250927.htm" {
		t.Errorf("the annual report of 2025 is %+v", annual)
	}
	news := find("0001140361-26-000199")
	if news.Form != "8-K" || !slices.Equal(news.Items, []string{"5.02"}) || news.AcceptedAt.Format(time.RFC3339) != "2026-01-02T21:30:52Z" {
		t.Errorf("the report of a director's departure is %+v", news)
	}
}

// Of the 330 statements of net income 22 are from current reports. The other 308 are about 119 periods; five periods were restated.
func TestRecordedFactsOfApple(t *testing.T) {
	t.Parallel()
	facts := recordedFacts(t, apple)
	type period struct{ start, end time.Time }
	incomes, forms := map[period]map[float64]bool{}, map[string]int{}
	total := 0
	for _, f := range facts {
		if f.Tag != "NetIncomeLoss" {
			continue
		}
		total++
		forms[f.Form]++
		p := period{f.Start, f.End}
		if incomes[p] == nil {
			incomes[p] = map[float64]bool{}
		}
		incomes[p][f.Value] = true
	}
	restated := 0
	for _, values := range incomes {
		if len(values) > 1 {
			restated++
		}
	}
	if total != 308 || len(incomes) != 119 || restated != 5 {
		t.Errorf("%d statements of net income about %d periods, %d restated; want 308, 119 and 5", total, len(incomes), restated)
	}
	if forms["10-Q"] != 166 || forms["10-K"] != 139 || forms["10-K/A"] != 3 || len(forms) != 3 {
		t.Errorf("by form: %v, want 166 of 10-Q, 139 of 10-K, 3 of 10-K/A", forms)
	}

	want := map[string]float64{"0001193125-09-214859 10-K 2009-10-27": 4834e6, "0001193125-10-012091 10-K/A 2010-01-25": 6119e6, "0001193125-10-238044 10-K 2010-10-27": 6119e6}
	for _, f := range facts {
		if f.Tag == "NetIncomeLoss" && f.Start.Equal(day(t, "2007-09-30")) && f.End.Equal(day(t, "2008-09-27")) {
			key := f.Accession + " " + f.Form + " " + f.Filed.Format(time.DateOnly)
			if want[key] != f.Value || f.Unit != "USD" || f.Taxonomy != "us-gaap" {
				t.Errorf("net income of fiscal 2008 by %s is %v %s", key, f.Value, f.Unit)
			}
			delete(want, key)
		}
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// The parts of a response that the rules of picks read are kept, and of these four nothing else.
func TestRecordedFactsAreThoseThatPicksRead(t *testing.T) {
	t.Parallel()
	for _, id := range []equity.CIK{apple, 1326801, 1640147, 1997711} {
		read := 0
		for _, f := range rawFacts(t, readRecorded(t, "companyfacts/CIK"+id.String()+".json"), id) {
			if picks.Reads(f) {
				read++
			}
		}
		kept, other := 0, 0
		for _, f := range recordedFacts(t, id) {
			if picks.Reads(f) {
				kept++
			} else {
				other++
			}
		}
		if kept != read || other != 0 || kept == 0 {
			t.Errorf("of company %s %d facts are kept that are read, and %d that are not; the answer has %d that are read", id, kept, other, read)
		}
	}
}

func TestRecordedNewestFilings(t *testing.T) {
	t.Parallel()
	batch := parseRecorded(t, "edgar-current", "https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent&output=atom&start=0", "application/atom+xml", "edgar_atom_current.xml")
	if len(batch.Filings) != 2 || batch.Next != nil {
		t.Fatalf("%d filings, want 2", len(batch.Filings))
	}
	f := batch.Filings[0]
	if f.CIK != 1678105 || f.Form != "8-K" || f.Accession != "0001640334-26-001043" || !slices.Equal(f.Items, []string{"1.01", "3.02", "9.01"}) ||
		!f.AcceptedAt.Equal(time.Date(2026, 6, 12, 21, 29, 46, 0, time.UTC)) || !f.Filed.Equal(day(t, "2026-06-12")) || !strings.HasSuffix(f.URL, "-index.htm") {
		t.Errorf("the newest filing is %+v", f)
	}
}

// The large answer is read as a stream, and fast: the nightly run reads hundreds.
func BenchmarkFactsOfApple(b *testing.B) {
	body := readRecorded(b, "companyfacts/CIK0000320193.json")
	src := source(b, "edgar-facts")
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		batch, err := src.Parse(ingest.Response{Request: ingest.Request{URL: "https://data.sec.gov/api/xbrl/companyfacts/CIK0000320193.json"}, Body: bytes.Clone(body)})
		if err != nil || len(batch.Facts) == 0 {
			b.Fatal(err)
		}
	}
}
