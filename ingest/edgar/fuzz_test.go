package edgar_test

import (
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/ingest/edgar"
	"tidemark/ingest/ingesttest"
	"tidemark/internal/series"
)

// Each parser gets bytes that an upstream could send: the cases, and the fuzzer's variations of them.

func FuzzCompanies(f *testing.F) {
	fuzz(f, "edgar-companies", "https://www.sec.gov/files/company_tickers.json", "https://www.sec.gov/files/company_tickers_exchange.json")
}

func FuzzSubmissions(f *testing.F) {
	const base = "https://data.sec.gov/submissions/CIK0000320193"
	fuzz(f, "edgar-submissions", base+".json", base+".json?tidemark_from=2010-01-01", base+"-submissions-001.json?tidemark_more=002")
}

func FuzzFacts(f *testing.F) {
	fuzz(f, "edgar-facts", "https://data.sec.gov/api/xbrl/companyfacts/CIK0000320193.json")
}

func FuzzCurrent(f *testing.F) {
	fuzz(f, "edgar-current", "https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent&output=atom&start=0")
}

// Every document is parsed to a batch.
func FuzzDocument(f *testing.F) {
	for _, shape := range shapes {
		f.Add([]byte(shape.page))
	}
	src := edgar.Documents(agent, nil)
	const link = "https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/report.htm"
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := src.Parse(ingest.Response{Request: ingest.Request{URL: link}, Body: body}); err != nil {
			return
		}
		if _, err := ingest.Parse(src, series.Fetch{URL: link, Status: http.StatusOK, Header: map[string]string{"Content-Type": "text/html"}}, body); err != nil {
			t.Errorf("the engine refuses what the parser takes: %v", err)
		}
	})
}

// fuzz reads bodies as answers of all the addresses. What is taken must hold what a batch promises, which ingest.Parse checks: a
// body is either an error or a good batch, never a batch that the engine would refuse.
func fuzz(f *testing.F, id string, addresses ...string) {
	for _, dir := range ingesttest.Dirs(f) {
		if c := ingesttest.Load(f, dir); c.Source == id {
			f.Add(c.Response.Body)
		}
	}
	src := source(f, id)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, a := range addresses {
			batch, err := src.Parse(ingest.Response{Request: ingest.Request{URL: a}, Body: body})
			if err != nil {
				if !batch.Empty() || batch.Next != nil {
					t.Errorf("an error comes with a batch: %v", err)
				}
				continue
			}
			_, err = ingest.Parse(src, series.Fetch{URL: a, Status: http.StatusOK, Header: map[string]string{"Content-Type": src.Limits.ContentTypes[0]}}, body)
			// The same fact of one filing twice is for the engine to see, and no fault of the parser.
			if err != nil && !strings.Contains(err.Error(), "two values of the") {
				t.Errorf("the engine refuses what the parser takes: %v", err)
			}
			for _, fact := range batch.Facts {
				if math.IsInf(fact.Value, 0) || fact.CIK != apple {
					t.Errorf("%+v", fact)
				}
			}
			for _, filing := range batch.Filings {
				u, err := url.Parse(filing.URL)
				if id == "edgar-submissions" && (err != nil || u.Host != "www.sec.gov" || !strings.HasPrefix(filepath.Clean(u.Path), "/Archives/")) {
					t.Errorf("the page of %s is %q", filing.Accession, filing.URL)
				}
			}
			if batch.Next != nil {
				if u, err := url.Parse(batch.Next.URL); err != nil || !strings.HasSuffix(u.Host, ".sec.gov") {
					t.Errorf("leads to %q", batch.Next.URL)
				}
			}
		}
	})
}
