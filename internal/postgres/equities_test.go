package postgres_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

const acme, borl equity.CIK = 1001, 1002

func newYorkDay(s string) time.Time {
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return d
}

// answer records a fetch of a source at an instant and sets it as the load's fetch.
func answer(t *testing.T, db *postgres.DB, source, fetched string, l postgres.EquityLoad) postgres.EquityLoad {
	t.Helper()
	l.Fetch = series.Fetch{
		Source: source, URL: "https://upstream.example/" + source, Status: 200, FetchedAt: instant(t, fetched),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, l))), Bytes: 1,
	}
	var err error
	if l.Fetch.ID, err = db.RecordFetch(t.Context(), l.Fetch, 0); err != nil {
		t.Fatal(err)
	}
	return l
}

// said stores a response and returns how many rows it added.
func said(t *testing.T, db *postgres.DB, source, fetched string, l postgres.EquityLoad) int64 {
	t.Helper()
	n, err := db.StoreEquities(t.Context(), task.Fence{}, answer(t, db, source, fetched, l))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func fact(cik equity.CIK, end, filed, accession string, value float64) equity.Fact {
	return equity.Fact{
		CIK: cik, Taxonomy: "us-gaap", Tag: "NetIncomeLoss", Unit: "USD", Start: newYorkDay(end).AddDate(-1, 0, 1), End: newYorkDay(end), Value: value,
		Accession: accession, Form: "10-K", Filed: newYorkDay(filed), FY: newYorkDay(end).Year(), FP: "FY",
	}
}

// bars returns closes of one company on successive dates from a date on, weekends included.
func bars(cik equity.CIK, source, from string, closes ...string) []equity.Bar {
	var list []equity.Bar
	for i, c := range closes {
		list = append(list, equity.Bar{CIK: cik, Date: newYorkDay(from).AddDate(0, 0, i), Close: equity.Price(c), Volume: 1000, Source: source})
	}
	return list
}

func company(cik equity.CIK, name string, tickers ...string) equity.Company {
	c := equity.Company{CIK: cik, Name: name}
	for _, t := range tickers {
		c.Listings = append(c.Listings, equity.Listing{Ticker: t, Exchange: "XNYS"})
	}
	return c
}

func TestAFactIsUnknownBeforeItWasFiled(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	said(t, db, "list", "2026-01-05T12:00:00Z", postgres.EquityLoad{Companies: []equity.Company{company(acme, "Acme", "ACM")}})
	first := postgres.EquityLoad{Facts: []equity.Fact{
		fact(acme, "2024-12-31", "2025-02-10", "a-25", 100),
		{CIK: acme, Taxonomy: "us-gaap", Tag: "Assets", Unit: "USD", End: newYorkDay("2024-12-31"), Value: 900, Accession: "a-25", Form: "10-K", Filed: newYorkDay("2025-02-10")},
		{CIK: acme, Taxonomy: "us-gaap", Tag: "NobodyReadsThis", Unit: "USD", End: newYorkDay("2024-12-31"), Value: 1, Accession: "a-25", Form: "10-K", Filed: newYorkDay("2025-02-10")},
	}}
	if n := said(t, db, "facts", "2026-01-05T13:00:00Z", first); n != 2 {
		t.Errorf("%d rows were added, want the 2 facts that a rule reads", n)
	}
	if n := said(t, db, "facts", "2026-01-06T13:00:00Z", first); n != 0 {
		t.Errorf("the same again adds %d rows", n)
	}
	// A later report restates the year; the old filing keeps its values.
	first.Facts = append(first.Facts, fact(acme, "2024-12-31", "2026-02-09", "a-26", 90), fact(acme, "2025-12-31", "2026-02-09", "a-26", 120))
	if n := said(t, db, "facts", "2026-02-09T23:00:00Z", first); n != 2 {
		t.Errorf("%d rows were added, want the 2 of the new report", n)
	}
	// The publisher corrects its data of the new report.
	first.Facts[4].Value = 121
	if n := said(t, db, "facts", "2026-03-01T23:00:00Z", first); n != 1 {
		t.Errorf("%d rows were added, want the one that was corrected", n)
	}
	for _, c := range []struct{ fact, day, asOf, want string }{
		{"nothing is known before the company was seen", "2026-01-05", "2026-01-05T11:00:00Z", "no company"},
		{"a filing of last year is known when it has come", "2026-01-06", "2026-01-05T12:59:00Z", ""},
		{"what was filed before the day counts", "2026-01-06", "2026-01-06T22:00:00Z", "a-25 100"},
		{"a fact of the day itself does not", "2025-02-10", "2026-01-06T22:00:00Z", ""},
		{"nor does one that was filed but had not come", "2026-02-10", "2026-02-09T22:00:00Z", "a-25 100"},
		{"the report of the day before counts when it has come", "2026-02-10", "2026-02-10T22:00:00Z", "a-25 100, a-26 90, a-26 120"},
		{"what was corrected later was not known then", "2026-03-01", "2026-03-01T22:00:00Z", "a-25 100, a-26 90, a-26 120"},
		{"and is known now", "2026-03-02", "2026-03-02T22:00:00Z", "a-25 100, a-26 90, a-26 121"},
	} {
		list, err := db.Candidates(t.Context(), newYorkDay(c.day), instant(t, c.asOf))
		if err != nil {
			t.Fatal(err)
		}
		got := "no company"
		for _, k := range list {
			var facts []string
			slices.SortFunc(k.Facts, func(a, b equity.Fact) int {
				return strings.Compare(a.Accession+a.End.String(), b.Accession+b.End.String())
			})
			for _, f := range k.Facts {
				if f.Tag == "NetIncomeLoss" {
					facts = append(facts, fmt.Sprint(f.Accession, " ", f.Value))
				}
			}
			got = strings.Join(facts, ", ")
		}
		if got != c.want {
			t.Errorf("%s: for %s as of %s: %q, want %q", c.fact, c.day, c.asOf, got, c.want)
		}
	}
	// Every field must be read as it was stored.
	list, err := db.Candidates(t.Context(), newYorkDay("2026-01-06"), instant(t, "2026-01-06T22:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first.Facts[:2], slices.SortedFunc(slices.Values(list[0].Facts), func(a, b equity.Fact) int { return strings.Compare(b.Tag, a.Tag) })); diff != "" {
		t.Errorf("facts read back (-want +got):\n%s", diff)
	}
}

func TestARestatedBarIsALaterEdition(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	said(t, db, "prices", "2026-03-05T21:20:00Z", postgres.EquityLoad{
		Bars:    bars(acme, "p", "2026-03-03", "182.50", "20.1000", "21.00"),
		Actions: []equity.Action{{CIK: acme, Kind: equity.Dividend, Date: newYorkDay("2026-03-04"), Cash: "0.25", Source: "p"}},
	})
	again := postgres.EquityLoad{
		Bars:    bars(acme, "p", "2026-03-04", "20.10", "21.50", "22.00"),
		Actions: []equity.Action{{CIK: acme, Kind: equity.Split, Date: newYorkDay("2026-03-06"), New: 2, Old: 1, Source: "p"}},
	}
	if n := said(t, db, "prices", "2026-03-06T21:20:00Z", again); n != 4 {
		t.Errorf("%d rows were added, want a restated close, a new one, a split and a dividend that is taken back", n)
	}
	if n := said(t, db, "prices", "2026-03-05T22:00:00Z", postgres.EquityLoad{Bars: bars(acme, "p", "2026-03-05", "23.00")}); n != 0 {
		t.Errorf("an answer that is older than what is known adds %d rows", n)
	}
	for asOf, want := range map[string]string{
		"2026-03-05T21:19:00Z": "",
		"2026-03-06T21:00:00Z": "03-03 182.50, 03-04 20.1000, 03-05 21.00, 03-04 dividend 0.25",
		"2026-03-06T21:20:00Z": "03-03 182.50, 03-04 20.1000, 03-05 21.50, 03-06 22.00, 03-06 split ",
	} {
		all, err := db.Histories(t.Context(), []equity.CIK{acme, borl}, newYorkDay("2026-03-06"), instant(t, asOf))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, b := range all[acme].Bars {
			got = append(got, b.Date.Format("01-02 ")+string(b.Close))
		}
		for _, a := range all[acme].Actions {
			got = append(got, a.Date.Format("01-02 ")+string(a.Kind)+" "+string(a.Cash))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("as of %s: %q, want %q", asOf, text, want)
		}
	}
	all, err := db.Histories(t.Context(), []equity.CIK{acme}, newYorkDay("2026-03-04"), instant(t, "2026-04-01T00:00:00Z"))
	if err != nil || len(all[acme].Bars) != 2 {
		t.Errorf("up to the fourth there are %d bars (%v), want 2", len(all[acme].Bars), err)
	}
}

// The operator changes the source of prices. The new publisher has other closes and another dividend in the past: what was told before stays.
func TestAChangeOfThePublisherOfPricesChangesNoPastReturn(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	said(t, db, "prices-old", "2026-03-05T21:20:00Z", postgres.EquityLoad{
		Bars: slices.Concat(bars(equity.Benchmark, "old", "2026-03-03", "500.00", "501.00", "502.00"), bars(acme, "old", "2026-03-03", "10.00", "10.50", "11.00")),
		Actions: []equity.Action{
			{CIK: acme, Kind: equity.Dividend, Date: newYorkDay("2026-03-04"), Cash: "0.25", Source: "old"},
			{CIK: borl, Kind: equity.Delisting, Date: newYorkDay("2026-03-04"), Source: "csv"},
		},
	})
	histories := func(asOf string) picks.Prices {
		all, err := db.Histories(t.Context(), []equity.CIK{acme, borl}, newYorkDay("2026-03-09"), instant(t, asOf))
		if err != nil {
			t.Fatal(err)
		}
		if len(all[borl].Actions) != 1 {
			t.Errorf("as of %s a delisting without bars is lost: %v", asOf, all[borl])
		}
		return all
	}
	told := func(all picks.Prices) (list []string) {
		for _, day := range []string{"2026-03-04", "2026-03-05"} {
			r := all.ReturnSince(acme, "10.00", newYorkDay("2026-03-03"), newYorkDay(day))
			list = append(list, fmt.Sprintf("%s %.4f", r.LastPrice, r.Pct))
		}
		return list
	}
	before := told(histories("2026-03-06T21:00:00Z"))
	said(t, db, "prices-new", "2026-03-06T21:20:00Z", postgres.EquityLoad{
		Bars: bars(acme, "new", "2026-03-01", "9.00", "9.10", "9.20", "20.00", "30.00", "12.00"),
		Actions: []equity.Action{
			{CIK: acme, Kind: equity.Dividend, Date: newYorkDay("2026-03-05"), Cash: "3.00", Source: "new"},
			{CIK: acme, Kind: equity.Dividend, Date: newYorkDay("2026-03-06"), Cash: "0.50", Source: "new"},
		},
	})
	said(t, db, "prices-old", "2026-03-06T22:20:00Z", postgres.EquityLoad{Bars: bars(acme, "old", "2026-03-06", "99.00")}) // one more of the first
	after := histories("2026-03-07T00:00:00Z")
	if got := told(after); !slices.Equal(got, before) {
		t.Errorf("the past is %v, was %v", got, before)
	}
	// The new day is the new publisher's, who was the first to state it, with its dividend: (12 + 0.50) / 11.
	r := after.ReturnSince(acme, "11.00", newYorkDay("2026-03-05"), newYorkDay("2026-03-09"))
	if got := fmt.Sprintf("%s %.4f", r.LastPrice, r.Pct); got != "12.00 13.6364" {
		t.Errorf("the day after the change is %s", got)
	}
	var sources []string
	for _, b := range after[acme].Bars {
		sources = append(sources, b.Date.Format("02 ")+b.Source)
	}
	if got := strings.Join(sources, ", "); got != "01 new, 02 new, 03 old, 04 old, 05 old, 06 new" {
		t.Errorf("the days are told by %s", got)
	}
	// A correction by the publisher of that day counts, the other's does not.
	said(t, db, "prices-old", "2026-03-08T21:20:00Z", postgres.EquityLoad{Bars: bars(acme, "old", "2026-03-05", "11.10")})
	said(t, db, "prices-new", "2026-03-08T21:20:00Z", postgres.EquityLoad{Bars: bars(acme, "new", "2026-03-04", "55.00")})
	bars := histories("2026-03-09T00:00:00Z")[acme].Bars
	if bars[3].Close != "10.50" || bars[4].Close != "11.10" {
		t.Errorf("after corrections the closes are %s and %s", bars[3].Close, bars[4].Close)
	}
	all, err := db.Histories(t.Context(), []equity.CIK{equity.Benchmark}, newYorkDay("2026-03-06"), instant(t, "2026-03-07T00:00:00Z"))
	if h := all[equity.Benchmark]; err != nil || len(h.Bars) != 3 || h.Bars[2].Close != "502.00" {
		t.Errorf("the benchmark: %v (%v)", h.Bars, err)
	}
}

func TestACompanyIsFollowedThroughItsTickers(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	notice := postgres.EquityLoad{Notice: true, Companies: []equity.Company{{CIK: acme, Name: "ACME CORP", Listings: []equity.Listing{{Ticker: "ACM"}}}}}
	said(t, db, "list", "2026-03-02T12:00:00Z", notice)
	described := company(acme, "Acme Corp.", "ACM")
	described.SIC, described.Location, described.FiscalYearEnd = 3571, "CA", "0926"
	if n := said(t, db, "submissions", "2026-03-02T12:05:00Z", postgres.EquityLoad{Companies: []equity.Company{described}}); n != 2 {
		t.Errorf("%d rows were added, want a company and its ticker", n)
	}
	for _, again := range []postgres.EquityLoad{notice, {Companies: []equity.Company{described}}, {Companies: []equity.Company{{CIK: acme}}}} {
		if n := said(t, db, "submissions", "2026-03-03T12:00:00Z", again); n != 0 {
			t.Errorf("%d rows were added by what was known: %+v", n, again.Companies)
		}
	}
	described.Listings[0].Ticker = "AKME"
	said(t, db, "submissions", "2026-04-01T12:05:00Z", postgres.EquityLoad{Companies: []equity.Company{described}})
	said(t, db, "submissions", "2026-05-04T12:05:00Z", postgres.EquityLoad{Unlisted: []equity.CIK{acme, borl}})
	for _, c := range []struct{ asOf, day, want string }{
		{"2026-03-02T11:00:00Z", "2026-03-02", "unknown"},
		{"2026-03-02T12:00:00Z", "2026-03-02", "ACME CORP ACM  0"},
		{"2026-03-31T12:00:00Z", "2026-03-31", "Acme Corp. ACM XNYS 3571"},
		{"2026-04-02T12:00:00Z", "2026-03-31", "Acme Corp. ACM XNYS 3571"},
		{"2026-04-02T12:00:00Z", "2026-04-01", "Acme Corp. AKME XNYS 3571"},
		{"2026-05-05T12:00:00Z", "2026-05-03", "Acme Corp. AKME XNYS 3571"},
		{"2026-05-05T12:00:00Z", "2026-05-04", "Acme Corp.   3571"},
	} {
		all, err := db.Companies(t.Context(), instant(t, c.asOf))
		if err != nil {
			t.Fatal(err)
		}
		got := "unknown"
		if k, ok := all[acme]; ok {
			l, _ := k.Listing(newYorkDay(c.day))
			got = fmt.Sprint(k.Name, " ", l.Ticker, " ", l.Exchange, " ", k.SIC)
		}
		if got != c.want || len(all) > 1 {
			t.Errorf("as of %s, on %s: %q of %d companies, want %q", c.asOf, c.day, got, len(all), c.want)
		}
	}
}

func TestAnswersOfOneInstantFillEachOtherIn(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	const at = "2026-01-05T12:00:00Z"
	said(t, db, "list", at, postgres.EquityLoad{Companies: []equity.Company{company(acme, "Acme Corp", "ACM")}})
	detail := postgres.EquityLoad{Companies: []equity.Company{{CIK: acme, Name: "ACME CORP /DE/", SIC: 1311, Location: "TX", FiscalYearEnd: "1231"}}}
	said(t, db, "submissions", at, detail)
	said(t, db, "list", at, postgres.EquityLoad{Companies: []equity.Company{company(acme, "Acme Corp", "ACM")}})
	if n := said(t, db, "submissions", at, detail); n != 0 {
		t.Errorf("the same again adds %d rows", n)
	}
	all, err := db.Companies(t.Context(), instant(t, at))
	if err != nil {
		t.Fatal(err)
	}
	want := company(acme, "Acme Corp", "ACM")
	want.SIC, want.Location, want.FiscalYearEnd = 1311, "TX", "1231"
	if diff := cmp.Diff(map[equity.CIK]equity.Company{acme: want}, all); diff != "" {
		t.Error(diff)
	}
}

func TestAFilingIsKnownWhenItHasCome(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	filing := func(accession, form, filed, accepted string) equity.Filing {
		f := equity.Filing{CIK: acme, Accession: accession, Form: form, Filed: newYorkDay(filed), URL: "https://sec.example/" + accession, Items: []string{}}
		if accepted != "" {
			f.AcceptedAt = instant(t, accepted)
		}
		return f
	}
	old := filing("a-1", "10-K", "2026-02-09", "2026-02-09T21:30:00Z")
	old.Period = newYorkDay("2025-12-31")
	undated := filing("a-2", "8-K", "2026-02-12", "")
	undated.Items = []string{"2.02", "9.01"}
	said(t, db, "submissions", "2026-03-01T12:00:00Z", postgres.EquityLoad{Filings: []equity.Filing{old, undated}})

	// A filing index gets its period a little later than the filing.
	announced := filing("a-3", "10-Q", "2026-04-20", "2026-04-20T20:30:00Z")
	said(t, db, "submissions", "2026-04-20T21:00:00Z", postgres.EquityLoad{Filings: []equity.Filing{announced, old}})
	listed := announced
	listed.Period, listed.URL = newYorkDay("2026-03-31"), "https://sec.example/a-3/report.htm"
	if n := said(t, db, "submissions", "2026-04-20T21:05:00Z", postgres.EquityLoad{Filings: []equity.Filing{listed, old, undated}}); n != 1 {
		t.Errorf("the list adds %d rows, want the one that says more", n)
	}
	for _, c := range []struct {
		asOf string
		want []equity.Filing
	}{
		{"2026-03-01T11:59:00Z", []equity.Filing{}},
		{"2026-03-01T12:00:00Z", []equity.Filing{old, undated}},
		{"2026-04-20T20:59:00Z", []equity.Filing{old, undated}},
		{"2026-04-20T21:00:00Z", []equity.Filing{old, undated, announced}},
		{"2026-04-20T21:05:00Z", []equity.Filing{old, undated, listed}},
	} {
		got, err := db.FilingsOf(t.Context(), []equity.CIK{acme}, newYorkDay("2026-02-09"), newYorkDay("2026-04-20"), instant(t, c.asOf))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("as of %s (-want +got):\n%s", c.asOf, diff)
		}
	}
}

func TestEquitiesOfASupersededAttemptAreNotStored(t *testing.T) {
	t.Parallel()
	db, _ := open(t, postgres.RoleWorker)
	id, err := db.AddRun(t.Context(), task.Ingest, "x", instant(t, "2026-03-02T12:00:00Z"), "test")
	if err != nil {
		t.Fatal(err)
	}
	first, second := task.Fence{RunID: id, Attempt: 1}, task.Fence{RunID: id, Attempt: 2}
	l := answer(t, db, "list", "2026-03-02T12:00:00Z", postgres.EquityLoad{
		Companies: []equity.Company{company(acme, "Acme", "ACM")}, Facts: []equity.Fact{fact(acme, "2024-12-31", "2025-02-10", "a-25", 100)},
		Bars: bars(acme, "p", "2026-02-27", "10.00"),
		News: []equity.NewsItem{{ID: "1", Source: "wire", Title: "Acme makes things", PublishedAt: instant(t, "2026-03-01T00:00:00Z"), Companies: []equity.CIK{acme}}},
	})
	if ok, err := db.Claim(t.Context(), first, "w1"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, err := db.Fail(t.Context(), first, "lost", 0, false, false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.StoreEquities(t.Context(), first, l); !errors.Is(err, postgres.ErrFenced) {
		t.Errorf("the attempt that was given up: %v, want it to be fenced off", err)
	}
	if all, err := db.Companies(t.Context(), instant(t, "2026-03-03T12:00:00Z")); err != nil || len(all) != 0 {
		t.Errorf("it stored %d companies (%v)", len(all), err)
	}
	if ok, err := db.Claim(t.Context(), second, "w2"); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if n, err := db.StoreEquities(t.Context(), second, l); err != nil || n != 5 {
		t.Errorf("the next attempt adds %d rows (%v), want company, ticker, fact, bar and news item", n, err)
	}
}

// Without the facts in filings the API's login cannot compute a pick before its announcement from this database.
func TestTheAPIsLoginReadsNoFactsOfCompanies(t *testing.T) {
	t.Parallel()
	_, url := open(t, postgres.RoleAPI)
	for _, table := range []string{"facts", "news", "equity_watermarks"} {
		if err := exec(t, url, postgres.RoleAPI, "select from "+table); err == nil || !strings.Contains(err.Error(), "permission denied for table "+table) {
			t.Errorf("the API's role reads %s: %v", table, err)
		}
	}
}

func TestEquitiesAreAppendOnly(t *testing.T) {
	t.Parallel()
	db, url := open(t, postgres.RoleWorker)
	said(t, db, "all", "2026-03-02T12:00:00Z", postgres.EquityLoad{
		Companies: []equity.Company{company(acme, "Acme", "ACM")}, Facts: []equity.Fact{fact(acme, "2024-12-31", "2025-02-10", "a-25", 100)},
		Filings: []equity.Filing{{CIK: acme, Accession: "a-25", Form: "10-K", Filed: newYorkDay("2025-02-10")}}, Bars: bars(acme, "p", "2026-02-27", "10.00"),
		Actions: []equity.Action{{CIK: acme, Kind: equity.Delisting, Date: newYorkDay("2026-02-28"), Source: "p"}},
		News:    []equity.NewsItem{{ID: "1", Source: "wire", Title: "Acme", PublishedAt: instant(t, "2026-03-01T00:00:00Z")}},
		Risks:   []equity.RiskFactors{{CIK: acme, Accession: "a-25", Reader: 1, State: equity.RisksUnchanged, Words: 20}},
	})
	for _, table := range []string{"companies", "listings", "filings", "facts", "bars", "actions", "news", "risk_factors"} {
		for _, sql := range []string{"update " + table + " set cik = cik", "delete from " + table, "truncate " + table + " cascade"} {
			if table == "news" {
				sql = strings.ReplaceAll(sql, "cik", "id")
			}
			for _, role := range []string{"", postgres.RoleWorker, postgres.RoleAPI} {
				if err := exec(t, url, role, sql); err == nil {
					t.Errorf("as %q: %s was done", role, sql)
				}
			}
		}
		if err := exec(t, url, postgres.RoleAPI, "insert into "+table+" select * from "+table); err == nil {
			t.Errorf("the API's role may insert into %s", table)
		}
	}
}
