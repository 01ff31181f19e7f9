package ingest_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest"
	"tidemark/internal/equity"
	"tidemark/internal/series"
)

var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// Values of each kind that a batch may hold.
var (
	goodCompany = equity.Company{CIK: 320193, Name: "Apple Inc.", Listings: []equity.Listing{{Ticker: "AAPL", Exchange: "XNAS"}}}
	goodFiling  = equity.Filing{CIK: 320193, Accession: "0000320193-25-000079", Form: "10-K", Filed: monday}
	goodFact    = equity.Fact{
		CIK: 320193, Taxonomy: "us-gaap", Tag: "Assets", Unit: "USD", End: monday, Value: 1, Accession: "0000320193-25-000079", Form: "10-K", Filed: monday,
	}
	goodBar      = equity.Bar{CIK: 320193, Date: monday, Close: "182.50", Volume: 1, Source: "yahoo"}
	goodSplit    = equity.Action{CIK: 320193, Kind: equity.Split, Date: monday, New: 4, Old: 1, Source: "yahoo"}
	goodDividend = equity.Action{CIK: 320193, Kind: equity.Dividend, Date: monday, Cash: "0.25", Source: "yahoo"}
	goodNews     = equity.NewsItem{Source: "feed", ID: "1", Title: "A headline", PublishedAt: monday}
)

// with is a value with a change.
func with[V any](v V, change func(*V)) V {
	change(&v)
	return v
}

// parsed reads a batch as the engine does, from a source that has no series.
func parsed(b ingest.Batch) (ingest.Batch, error) {
	src := ingest.Source{ID: "companies", Parse: func(ingest.Response) (ingest.Batch, error) { return b, nil }}
	return ingest.Parse(src, series.Fetch{URL: "https://upstream.example/", Status: http.StatusOK}, nil)
}

func TestABatchMaySpeakOfCompaniesAlone(t *testing.T) {
	t.Parallel()
	other := with(goodFact, func(f *equity.Fact) { f.Start = monday.AddDate(0, -3, 0) })
	b := ingest.Batch{
		Companies: []equity.Company{goodCompany},
		Filings:   []equity.Filing{goodFiling, with(goodFiling, func(f *equity.Filing) { f.CIK = 1 })},
		Facts:     []equity.Fact{goodFact, other, with(goodFact, func(f *equity.Fact) { f.Unit = "EUR" })},
		Bars:      []equity.Bar{goodBar, with(goodBar, func(b *equity.Bar) { b.Source = "nasdaq" })},
		Actions:   []equity.Action{goodSplit, goodDividend},
		News:      []equity.NewsItem{goodNews},
	}
	got, err := parsed(b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("(-yielded +parsed):\n%s", diff)
	}
	for _, part := range []ingest.Batch{
		{Companies: b.Companies}, {Filings: b.Filings}, {Facts: b.Facts}, {Bars: b.Bars}, {Actions: b.Actions}, {News: b.News},
	} {
		if part.Empty() {
			t.Errorf("%+v counts as empty", part)
		}
	}
	if !(ingest.Batch{Next: &ingest.Request{}}).Empty() {
		t.Error("a batch that only leads on does not count as empty")
	}
}

func TestWhatABatchMustNotHoldOfCompanies(t *testing.T) {
	t.Parallel()
	local := time.FixedZone("here", 3600)
	for _, tc := range []struct {
		fact, want string
		batch      ingest.Batch
	}{
		{"a company twice", "two values of the company 0000320193", ingest.Batch{Companies: []equity.Company{goodCompany, {CIK: 320193, Name: "APPLE INC"}}}},
		{"a company without a number", "no CIK", ingest.Batch{Companies: []equity.Company{{Name: "Nobody"}}}},
		{"a listing without a ticker", "without a ticker", ingest.Batch{Companies: []equity.Company{{CIK: 1, Listings: []equity.Listing{{}}}}}},
		{
			"a listing from an hour on", "bounds that are not dates",
			ingest.Batch{Companies: []equity.Company{{CIK: 1, Listings: []equity.Listing{{Ticker: "A", From: monday.Add(time.Hour)}}}}},
		},
		{
			"a filing twice", "two values of the filing {0000320193 0000320193-25-000079}",
			ingest.Batch{Filings: []equity.Filing{goodFiling, with(goodFiling, func(f *equity.Filing) { f.Form = "8-K" })}},
		},
		{"a filing without a date", "expected a date", ingest.Batch{Filings: []equity.Filing{with(goodFiling, func(f *equity.Filing) { f.Filed = time.Time{} })}}},
		{"a filing without a form", "expected both", ingest.Batch{Filings: []equity.Filing{with(goodFiling, func(f *equity.Filing) { f.Form = "" })}}},
		{
			"a period in another zone", "expected a date",
			ingest.Batch{Filings: []equity.Filing{with(goodFiling, func(f *equity.Filing) { f.Period = monday.In(local) })}},
		},
		{
			"a fact twice", "two values of the fact",
			ingest.Batch{Facts: []equity.Fact{goodFact, with(goodFact, func(f *equity.Fact) { f.Value = 2 })}},
		},
		{"a fact without an end", "expected dates", ingest.Batch{Facts: []equity.Fact{with(goodFact, func(f *equity.Fact) { f.End = time.Time{} })}}},
		{"a fact nobody filed", "expected dates", ingest.Batch{Facts: []equity.Fact{with(goodFact, func(f *equity.Fact) { f.Filed = time.Time{} })}}},
		{"a fact without a unit", "expected a taxonomy", ingest.Batch{Facts: []equity.Fact{with(goodFact, func(f *equity.Fact) { f.Unit = "" })}}},
		{"a fact that is no number", "finite", ingest.Batch{Facts: []equity.Fact{with(goodFact, func(f *equity.Fact) { f.Value = math.NaN() })}}},
		{
			"a period that ends before it begins", "ends before it begins",
			ingest.Batch{Facts: []equity.Fact{with(goodFact, func(f *equity.Fact) { f.Start = monday.AddDate(0, 0, 1) })}},
		},
		{
			"a bar twice", "two values of the bar {0000320193 2026-03-02 yahoo",
			ingest.Batch{Bars: []equity.Bar{goodBar, with(goodBar, func(b *equity.Bar) { b.Close = "182.51" })}},
		},
		{"a bar without a close", "expected a price", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.Close = "" })}}},
		{"a close of zero", "expected a price", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.Close = "0.00" })}}},
		{"a price not written as prices are", "expected a price", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.Close = "182.5" })}}},
		{"a high that is none", "not a price", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.High = "-1" })}}},
		{"a negative volume", "a volume of -1", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.Volume = -1 })}}},
		{"a bar of nobody", "a source", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.Source = "" })}}},
		{"a bar of an instant", "expected a date", ingest.Batch{Bars: []equity.Bar{with(goodBar, func(b *equity.Bar) { b.Date = monday.Add(time.Hour) })}}},
		{"a split twice", "two values of the action", ingest.Batch{Actions: []equity.Action{goodSplit, goodSplit}}},
		{"a split without terms", "without terms", ingest.Batch{Actions: []equity.Action{with(goodSplit, func(a *equity.Action) { a.New, a.Old = 0, 0 })}}},
		{"half the terms", "expected both", ingest.Batch{Actions: []equity.Action{with(goodSplit, func(a *equity.Action) { a.Old = 0 })}}},
		{"terms without bounds", "expected both", ingest.Batch{Actions: []equity.Action{with(goodSplit, func(a *equity.Action) { a.New = math.Inf(1) })}}},
		{"a dividend of nothing", "of nothing", ingest.Batch{Actions: []equity.Action{with(goodDividend, func(a *equity.Action) { a.Cash = "" })}}},
		{"an action of another kind", "unknown", ingest.Batch{Actions: []equity.Action{with(goodDividend, func(a *equity.Action) { a.Kind = "gift" })}}},
		{"a headline twice", "two values of the news item {feed 1}", ingest.Batch{News: []equity.NewsItem{goodNews, goodNews}}},
		{"a headline without a time", "no time", ingest.Batch{News: []equity.NewsItem{with(goodNews, func(n *equity.NewsItem) { n.PublishedAt = time.Time{} })}}},
	} {
		b, err := parsed(tc.batch)
		failure(t, err, ingest.Layout)
		wantText(t, err, tc.want)
		if !b.Empty() {
			t.Errorf("%s: an error comes with a batch", tc.fact)
		}
	}
}

// A source without series requests one company at a time. Some companies have no data.
func TestASourceWithoutSeriesMayComeToNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_, _ = w.Write([]byte(`{}`))
	})
	src := ingest.Source{
		ID: "companies",
		Request: func(series.Window) ([]ingest.Request, error) {
			return []ingest.Request{{URL: s.URL + "/gone", Absent: []int{http.StatusNotFound}}, {URL: s.URL + "/silent"}}, nil
		},
		Parse: func(ingest.Response) (ingest.Batch, error) { return ingest.Batch{}, nil },
	}
	r := newRig(s.Client().Transport)
	got, err := r.collect(t, src)
	if err != nil || len(got) != 1 || !got[0].Batch.Empty() {
		t.Errorf("%d answers, %v, want the silent one and no error", len(got), err)
	}
	if diff := cmp.Diff([]int{http.StatusNotFound, http.StatusOK}, r.ledger.statuses()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}
	if _, err := parsed(ingest.Batch{}); err != nil {
		t.Errorf("read again from the archive: %v", err)
	}
}
