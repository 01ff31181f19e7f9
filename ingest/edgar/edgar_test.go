package edgar_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/ingest/edgar"
	"tidemark/ingest/ingesttest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

func day(t testing.TB, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// reports are a report of each company.
func reports(universe []equity.CIK) []equity.Filing {
	list := make([]equity.Filing, len(universe))
	for i, c := range universe {
		list[i] = equity.Filing{CIK: c, URL: fmt.Sprintf("https://www.sec.gov/Archives/edgar/data/%d/000032019325000079/report.htm", int64(c))}
	}
	return list
}

// all are the sources of an operator who calls himself that.
func all(agent string, universe ...equity.CIK) []ingest.Source {
	return []ingest.Source{edgar.Companies(agent), edgar.Submissions(agent, universe), edgar.Facts(agent, universe), edgar.Current(agent), edgar.Documents(agent, reports(universe))}
}

func TestWhoDoesNotSayWhoAsksIsRefused(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"", " ", "@", "Example Research", "Example\r\nX-Evil: admin@example.com"} {
		for _, src := range all(agent, apple) {
			e := &ingest.Engine{}
			_, err := e.Collect(t.Context(), src, series.Window{}, 1)
			if !errors.Is(err, ingest.Refused) || !strings.Contains(err.Error(), "SEC_USER_AGENT") {
				t.Errorf("%s for %q: %v, want a refusal that names the setting", src.ID, agent, err)
			}
			if again, _ := ingest.Retryable(err); again {
				t.Errorf("%s for %q: would be asked again", src.ID, agent)
			}
		}
	}
}

func TestAnEmptyUniverseIsRefused(t *testing.T) {
	t.Parallel()
	for _, src := range []ingest.Source{edgar.Submissions(agent, nil), edgar.Facts(agent, nil), edgar.Facts(agent, []equity.CIK{0})} {
		if _, err := src.Request(series.Window{}); err == nil || !strings.Contains(err.Error(), "universe") {
			t.Errorf("%s: %v", src.ID, err)
		}
	}
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	since := series.Window{From: day(t, "2024-05-01").Add(13 * time.Hour)}
	current := "https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent&count=100&output=atom&owner=include&start=0"
	for _, tc := range []struct {
		src    ingest.Source
		window series.Window
		want   []string
	}{
		{edgar.Companies(agent), series.Window{}, []string{
			"https://www.sec.gov/files/company_tickers.json", "https://www.sec.gov/files/company_tickers_exchange.json",
		}},
		{edgar.Submissions(agent, []equity.CIK{apple, 1067983}), series.Window{}, []string{
			"https://data.sec.gov/submissions/CIK0000320193.json", "https://data.sec.gov/submissions/CIK0001067983.json",
		}},
		{edgar.Submissions(agent, []equity.CIK{apple}), since, []string{"https://data.sec.gov/submissions/CIK0000320193.json?tidemark_from=2024-05-01"}},
		{
			edgar.Documents(agent, append(reports([]equity.CIK{apple}), equity.Filing{URL: "https://www.sec.gov/Archives/edgar/data/320193/000032019325000080/0000320193-25-000080-index.htm"})),
			since,
			[]string{"https://www.sec.gov/Archives/edgar/data/320193/000032019325000079/report.htm"},
		},
		{edgar.Facts(agent, []equity.CIK{apple}), since, []string{"https://data.sec.gov/api/xbrl/companyfacts/CIK0000320193.json"}},
		{edgar.Current(agent), since, []string{current + "&tidemark_from=2024-05-01T13%3A00%3A00Z&type=8-K"}},
	} {
		requests, err := tc.src.Request(tc.window)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range requests {
			got = append(got, r.URL)
			if r.Header.Get("User-Agent") != agent {
				t.Errorf("%s asks as %q", r.URL, r.Header.Get("User-Agent"))
			}
			if may := tc.src.ID == "edgar-facts" || tc.src.ID == "edgar-documents"; slices.Contains(r.Absent, http.StatusNotFound) != may {
				t.Errorf("%s: allows for %v", r.URL, r.Absent)
			}
		}
		if tc.src.ID == "edgar-current" { // one for each form
			got = got[:1]
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s asks (-want +got):\n%s", tc.src.ID, diff)
		}
	}
}

// The SEC allows ten requests a second to its two hosts together.
func TestTenQuestionsASecondOverBothHosts(t *testing.T) {
	t.Parallel()
	hosts := map[string]time.Duration{}
	for _, src := range all(agent, apple) {
		requests, err := src.Request(series.Window{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range requests {
			u, err := url.Parse(r.URL)
			if err != nil {
				t.Fatal(err)
			}
			if was, ok := hosts[u.Host]; !ok || src.Limits.Interval < was {
				hosts[u.Host] = src.Limits.Interval
			}
		}
	}
	perSecond := 0.0
	for _, interval := range hosts {
		perSecond += float64(time.Second) / float64(interval)
	}
	if len(hosts) != 2 || perSecond > 10 {
		t.Errorf("%v questions a second to %v", perSecond, hosts)
	}
}

// Full pages of the newest filings lead on, until one goes back before the window, is not full, or is the twentieth.
func TestNewestFilingsArePagedThrough(t *testing.T) {
	t.Parallel()
	page := func(entries int) []byte {
		var b strings.Builder
		b.WriteString(`<?xml version="1.0" encoding="ISO-8859-1" ?><feed xmlns="http://www.w3.org/2005/Atom">`)
		for i := range entries {
			fmt.Fprintf(&b, `<entry><title>8-K - X (%010d) (Filer)</title><link href="https://www.sec.gov/x"/><summary type="html">&lt;b&gt;Filed:&lt;/b&gt; 2026-06-12</summary>`+
				`<updated>2026-06-12T17:%02d:00-04:00</updated><category term="8-K"/><id>urn:tag:sec.gov,2008:accession-number=0000000001-26-%06d</id></entry>`, i+1, 59-i%60, i)
		}
		b.WriteString(`</feed>`)
		return []byte(b.String())
	}
	const list = "https://www.sec.gov/cgi-bin/browse-edgar?action=getcurrent&count=100&output=atom&owner=include&type=8-K&start="
	for _, tc := range []struct {
		fact, address string
		entries       int
		next          string
	}{
		{"a full page", list + "0", 100, "start=100&type=8-K"},
		{"a page that is not full", list + "0", 99, ""},
		{"a later page", list + "1800", 100, "start=1900&type=8-K"},
		{"the twentieth page", list + "1900", 100, ""},
		{"within the window", list + "0&tidemark_from=2026-06-12T21%3A00%3A00Z", 100, "start=100&tidemark_from=2026-06-12T21%3A00%3A00Z&type=8-K"},
		{"back before the window", list + "0&tidemark_from=2026-06-12T22%3A00%3A00Z", 100, ""},
	} {
		batch, err := edgar.Current(agent).Parse(ingest.Response{
			Request: ingest.Request{URL: tc.address, Header: http.Header{"User-Agent": {agent}}}, Body: page(tc.entries),
		})
		if err != nil || len(batch.Filings) != tc.entries {
			t.Errorf("%s: %d filings, %v", tc.fact, len(batch.Filings), err)
			continue
		}
		switch {
		case (batch.Next != nil) != (tc.next != ""):
			t.Errorf("%s: leads to %v", tc.fact, batch.Next)
		case batch.Next != nil && (!strings.HasSuffix(batch.Next.URL, tc.next) || batch.Next.Header.Get("User-Agent") != agent):
			t.Errorf("%s: leads to %s as %q, want %s", tc.fact, batch.Next.URL, batch.Next.Header.Get("User-Agent"), tc.next)
		}
	}
}

func TestWhenTheSECTookAFiling(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ fact, form, filed, text, want string }{
		{"after the close in winter, in true UTC", "8-K", "2026-01-02", "2026-01-02T21:30:52.000Z", "2026-01-02T21:30:52Z"},
		{"after the close in summer, in true UTC", "8-K", "2025-10-30", "2025-10-30T20:30:35.000Z", "2025-10-30T20:30:35Z"},
		// Measured by others against the header of the filing: 07:30:32 in New York.
		{"before six in the morning it would be closed", "8-K", "2025-04-30", "2025-04-30T07:30:32.000Z", "2025-04-30T11:30:32Z"},
		{"an evening whose filing has the day's date", "10-Q", "2025-08-01", "2025-08-01T19:00:00.000Z", "2025-08-01T19:00:00Z"},
		{"after half past five the next day's date is given", "8-K", "2025-08-04", "2025-08-01T18:05:00.000Z", "2025-08-01T22:05:00Z"},
		{"insiders have until ten", "4", "2025-11-12", "2025-11-13T02:30:10.000Z", "2025-11-13T02:30:10Z"},
		{"noon here or there", "8-K", "2025-05-01", "2025-05-01T16:21:59.000Z", ""},
		{"no hour that the SEC has", "EFFECT", "2021-03-04", "2021-03-05T05:15:22.000Z", ""},
		{"not stated", "8-K", "2021-03-04", "", ""},
	} {
		c := ingesttest.Load(t, "testdata/company")
		body := fmt.Sprintf(`{"cik":"0000320193","name":"Apple Inc.","filings":{"recent":{"accessionNumber":["0000320193-25-000001"],"filingDate":[%q],"form":[%q],"acceptanceDateTime":[%q]},"files":[]}}`,
			tc.filed, tc.form, tc.text)
		c.Response.Body = []byte(body)
		batch, err := ingesttest.Parse(source(t, c.Source), c)
		if err != nil || len(batch.Filings) != 1 {
			t.Fatalf("%s: %v", tc.fact, err)
		}
		got := batch.Filings[0].AcceptedAt
		if text := got.Format(time.RFC3339); tc.want == "" != got.IsZero() || tc.want != "" && text != tc.want {
			t.Errorf("%s: %s of %s is %s, want %q", tc.fact, tc.text, tc.filed, text, tc.want)
		}
	}
}
