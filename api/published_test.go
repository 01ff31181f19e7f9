package api_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/pages"
	"tidemark/api/view"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/locale"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

// The companies of the tests. Acme is picked twice, Borl has a two-for-one split, and Coro is never picked.
const acme, borl, coro equity.CIK = 1001, 1002, 1003

// closes are the closes from Monday, 2 March 2026, on. Borl's last two are after its split.
var closes = map[equity.CIK][]equity.Price{
	acme:             {"100.00", "102.00", "104.00", "103.00", "110.00"},
	borl:             {"49.00", "50.00", "51.00", "25.75", "26.00"},
	equity.Benchmark: {"500.00", "505.00", "506.00", "507.00", "510.00"},

	equity.EqualWeightFund: {"180.00", "181.80", "182.70", "183.60", "185.436"},
}

var tickers = map[equity.CIK]string{acme: "ACME", borl: "BORL", coro: "CORO"}

func date(t testing.TB, day string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// published is a system with four announced picks and all texts about them. Requests use a key.
type published struct {
	*system

	publications *view.Publications
	db           *postgres.DB // with the API's role
	key          string
	// free reports that the pages show only free data.
	free bool
	// early reports that readers who pay see a sealed pick before its announcement.
	early bool
	// pagesRate is the hourly limit of pages per address. 0 means no limit.
	pagesRate int
	// site are the pages of the running server.
	site *pages.Pages
}

// publish starts a system that sells by a billing model. The record covers the week from 2 to 6 March 2026. The clock is on Friday evening,
// after the announcement.
func publish(t *testing.T, model accounts.Model) *published {
	t.Helper()
	p := &published{system: start(t, setup{world: view.WorldSandbox})}
	p.fill()
	db := p.open(postgres.RoleAPI)
	p.db = db
	tariff, err := endpoint.NewTariff(model, "")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.url = "http://" + ln.Addr().String()
	friday := calendar.At(date(t, "2026-03-06"), 19*time.Hour)
	p.publications, err = view.NewPublications(view.PublicationsOptions{
		Store: db, PublicURL: "https://tidemark.example/", World: view.WorldSandbox, Now: func() time.Time { return friday },
		Info: view.InfoOptions{Version: "1.2.3", Commit: "3f2c1a", Tariff: tariff}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := api.New(api.Options{
		View: p.view, Publications: p.publications, Data: api.Data(p.publications), Log: slog.New(slog.DiscardHandler),
		Accounts: &api.Accounts{DB: db, Tariff: tariff, Now: time.Now},
	})
	p.run(func(ctx context.Context) error { return server.Serve(ctx, ln) })
	p.run(server.Run)
	p.run(p.publications.Run)
	p.eventually("the first load", func() bool { return p.publications.State() != nil })
	p.key = p.newKey(db, 30)
	return p
}

// fill simulates the week: prices, picks, announcements and the texts about them.
func (p *published) fill() {
	t, ctx := p.t, p.t.Context()
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := calendar.At(date(t, "2026-03-02"), 9*time.Hour)
	_, err := p.worker.EnsureWorld(ctx, "sandbox", &at)
	must(err)
	clock := func(day string, of time.Duration) time.Time {
		t.Helper()
		at := calendar.At(date(t, day), of)
		must(p.worker.SetClock(ctx, &at))
		return at
	}
	for cik, list := range closes {
		p.trade(cik, list)
	}
	for n, pick := range []struct {
		day, price string
		cik        equity.CIK
	}{{"2026-03-02", "100.00", acme}, {"2026-03-03", "50.00", borl}, {"2026-03-05", "103.00", acme}, {"2026-03-06", "26.00", borl}} {
		clock(pick.day, 17*time.Hour+30*time.Minute)
		_, added, err := p.worker.RecordPick(ctx, task.Fence{}, postgres.NewPick{
			Ticker: tickers[pick.cik], Price: pick.price, Date: pick.day, CIK: pick.cik, Name: tickers[pick.cik] + " Inc.", Exchange: "XNAS",
			Sector: "Technology", Region: "North America", Country: "US", Currency: "USD", Origin: "method", Reason: "the best score of the day",
		}, card(t, pick.cik, pick.day, n+1), 0)
		must(err)
		if !added {
			t.Fatalf("no pick of %s", pick.day)
		}
		_, err = p.worker.AnnounceDue(ctx, task.Fence{}, clock(pick.day, 18*time.Hour))
		must(err)
	}
	_, err = p.worker.AddResearch(ctx, task.Fence{}, []postgres.Research{card(t, coro, "2026-03-06", 0)})
	must(err)
	asOf := clock("2026-03-06", 18*time.Hour+30*time.Minute)
	portfolio := portfolioOf(t)
	_, err = p.worker.SavePortfolio(ctx, task.Fence{}, portfolio, asOf)
	must(err)
	for day, pct := range map[string]*float64{"2026-03-03": nil, "2026-03-05": new(1.0), "2026-03-06": new(-0.4)} {
		u := postgres.UniverseDay{Day: date(t, day), Companies: []int64{int64(acme), int64(borl)}, ReturnPct: pct}
		if pct != nil {
			u.Measured = 2
		}
		must(p.worker.SaveUniverseDay(ctx, task.Fence{}, u, asOf))
	}
	events := p.happened()
	_, err = p.worker.AddPortfolioEvents(ctx, task.Fence{}, events[:2])
	must(err)
	_, err = p.worker.AddPortfolioEvents(ctx, task.Fence{}, events[2:])
	must(err)
	economic := printed()
	_, err = p.worker.AddEconomicEvents(ctx, task.Fence{}, economic)
	must(err)
	_, err = p.worker.AddDigest(ctx, task.Fence{}, picks.NewDigest(picks.DigestInput{
		Portfolio: portfolio, Events: events, Economic: economic,
		Picks:   []picks.DigestPick{{Seq: 1, Ticker: "ACME", Date: date(t, "2026-03-02")}, {Seq: 4, Ticker: "BORL", Date: date(t, "2026-03-06")}},
		Signals: []picks.SignalState{{ID: "crack-spread-321", Z: 1.8742742927358453, Live: true}},
	}, date(t, "2026-03-06")), map[string]*float64{"crack-spread-321": new(12.530977401987492)}, asOf)
	must(err)
}

// trade stores the prices of a company, as one response on Monday would contain them.
func (p *published) trade(cik equity.CIK, list []equity.Price) {
	p.t.Helper()
	l := postgres.EquityLoad{}
	monday := date(p.t, "2026-03-02")
	if ticker := tickers[cik]; ticker != "" {
		l.Companies = []equity.Company{{CIK: cik, Name: ticker + " Inc.", Listings: []equity.Listing{{Ticker: ticker, Exchange: "XNAS"}}}}
	}
	for i, c := range list {
		l.Bars = append(l.Bars, equity.Bar{CIK: cik, Date: monday.AddDate(0, 0, i), Close: c, Volume: 1000, Source: "drop"})
	}
	if cik == borl {
		l.Actions = []equity.Action{{CIK: borl, Kind: equity.Split, Date: monday.AddDate(0, 0, 3), New: 2, Old: 1, Source: "drop"}}
	}
	l.Fetch = series.Fetch{
		Source: "prices", URL: fmt.Sprintf("https://upstream.example/%d", cik), Status: 200, FetchedAt: calendar.At(monday, 9*time.Hour),
		SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, l))), Bytes: 1,
	}
	var err error
	if l.Fetch.ID, err = p.worker.RecordFetch(p.t.Context(), l.Fetch, 0); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.worker.StoreEquities(p.t.Context(), task.Fence{}, l); err != nil {
		p.t.Fatal(err)
	}
}

// card returns a card whose texts contain their language and the number of the pick.
func card(t testing.TB, cik equity.CIK, day string, n int) postgres.Research {
	t.Helper()
	r := postgres.Research{
		CIK: cik, Day: date(t, day), Ticker: tickers[cik], Name: tickers[cik] + " Inc.", Exchange: "XNAS", Sector: "Technology",
		Region: "North America", Country: "US", AsOf: calendar.At(date(t, day), 17*time.Hour), Texts: map[picks.Lang]postgres.ResearchText{},
		Fundamentals: postgres.Fundamentals{PE: new(38.2), AsOf: "2025-12-31"},
		Facts: postgres.DataOf(picks.Data{
			{ID: "price", Value: "12.50", Unit: locale.Dollars, AsOf: date(t, day), Source: -1},
			{ID: "net_margin", Value: "21.3", Unit: locale.Percent, AsOf: date(t, "2025-12-31"), Source: 0},
		}),
		Sources: postgres.DocumentsOf([]picks.Source{{Title: "Form 10-K", URL: "https://example.com/10k"}}),
	}
	for _, lang := range picks.Langs() {
		say := func(what string) string { return fmt.Sprintf("%s %d, %s", what, n, lang) }
		r.Texts[lang] = postgres.ResearchTextOf(picks.Texts{
			Lang: lang, SummaryWhy: say("summary"), WhatItDoes: say("business"), WhyChosen: say("reasons"), MainRisk: say("risk"), FullResearch: say("research"),
		}, "rules")
	}
	return r
}

// portfolioOf returns a portfolio of three sessions: Acme is held, Borl was sold.
func portfolioOf(t testing.TB) picks.Portfolio {
	t.Helper()
	nan := math.NaN()
	return picks.Portfolio{
		Inception: date(t, "2026-03-03"), CashPct: 94.87,
		Snapshots: []picks.Snapshot{
			{Date: date(t, "2026-03-03"), BenchmarkReturnPct: 0, DailyReturnPct: 0, BenchmarkDailyReturnPct: nan, Positions: 1, CashPct: 95},
			{Date: date(t, "2026-03-05"), ReturnPct: -0.126, BenchmarkReturnPct: 0.4, DailyReturnPct: -0.126, BenchmarkDailyReturnPct: 0.4, DrawdownPct: -0.126, Positions: 2, CashPct: 90, StakedPct: 2, LostPct: 0.6},
			{Date: date(t, "2026-03-06"), ReturnPct: 0.3915, BenchmarkReturnPct: 0.99009, DailyReturnPct: 0.5182, BenchmarkDailyReturnPct: 0.5917, Positions: 1, CashPct: 94.871},
		},
		Positions: []picks.Position{
			{
				Seq: 1, CIK: acme, Holding: acme, Ticker: "ACME", Name: "ACME Inc.", Sector: picks.Technology, Region: picks.NorthAmerica, Country: "US",
				EntryDate: date(t, "2026-03-03"), WeightPct: 5.13, ReturnPct: 7.8431, ContributionPct: 0.3922, PricedOn: date(t, "2026-03-06"),
			},
			{
				Seq: 2, CIK: borl, Holding: borl, Ticker: "BORL", Name: "BORL Inc.", Sector: picks.Technology, Region: picks.Europe, Country: "FR",
				EntryDate: date(t, "2026-03-04"), ExitDate: date(t, "2026-03-05"), Reason: picks.ClosedReplaced, ReturnPct: 0.98, ContributionPct: -0.0007,
				PricedOn: date(t, "2026-03-05"),
			},
		},
		Doubts: []picks.Doubt{{Seq: 1, Close: "110.00", Other: "111.25", Source: "alphavantage"}},
	}
}

// happened returns three announcements in the order of their days.
func (p *published) happened() []picks.Event {
	var list []picks.Event
	for _, e := range []struct {
		cik equity.CIK
		day string
	}{{acme, "2026-03-02"}, {borl, "2026-03-03"}, {acme, "2026-03-05"}} {
		c := equity.Company{CIK: e.cik, Name: tickers[e.cik] + " Inc.", Listings: []equity.Listing{{Ticker: tickers[e.cik]}}}
		list = append(list, picks.AnnouncedEvent(c, date(p.t, e.day), "12.50", calendar.At(date(p.t, e.day), 18*time.Hour)))
	}
	return list
}

// printed returns two macro figures of one day.
func printed() []picks.EconomicEvent {
	var list []picks.EconomicEvent
	day := time.Date(2026, time.March, 6, 13, 30, 0, 0, time.UTC)
	for id, levels := range map[string][]float64{"unemployment": {4.4, 4.3}, "payrolls": {158_000, 158_100, 158_278}} {
		defs := picks.Indicators()
		def := defs[slices.IndexFunc(defs, func(d picks.Indicator) bool { return d.ID == id })]
		var all []series.Observation
		for i, v := range levels {
			month := time.Date(2026, time.February-time.Month(len(levels)-1-i), 1, 0, 0, 0, 0, time.UTC)
			all = append(all, series.Observation{Series: def.Series, ObservedAt: month, VintageAt: day.AddDate(0, i+1-len(levels), 0), Value: v})
		}
		events := def.Events(all)
		list = append(list, events[len(events)-1])
	}
	return list
}

// newKey registers a key, with proDays of the Pro plan if that is not 0.
func (p *published) newKey(db *postgres.DB, proDays int) string {
	t, ctx := p.t, p.t.Context()
	t.Helper()
	key, err := accounts.NewTestKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Register(ctx, postgres.Registration{PublicID: "key_" + strings.ToLower(rand.Text()), Name: "tester", Key: key}, nil,
		func(r postgres.Registered) ([]byte, error) {
			return fmt.Append(nil, r.ID), nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if proDays > 0 {
		c, err := pgx.Connect(ctx, p.dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close(ctx) }()
		_, err = c.Exec(ctx, `
			insert into plan_changes (key_id, kind, period, by, reason)
			select key_id, 'grant', make_interval(days => $1), 'tester', 'a test' from key_secrets where hash = $2`, proDays, hashOf(key))
		if err != nil {
			t.Fatal(err)
		}
	}
	return key.Reveal()
}

func hashOf(key accounts.Key) []byte {
	h := key.Hash()
	return h[:]
}

// paid sends a GET with the key.
func (p *published) paid(path string, header ...string) answer {
	p.t.Helper()
	return p.ask(http.MethodGet, "/api/v1"+path, append([]string{"Authorization", "Bearer " + p.key}, header...)...)
}

// body returns the response at a path, which must be 200 and JSON.
func (p *published) body(path string) map[string]any {
	p.t.Helper()
	a := p.paid(path)
	if a.StatusCode != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		p.t.Fatalf("GET %s: %s %s: %s", path, a.Status, a.Header.Get("Content-Type"), a.body)
	}
	return p.object(a)
}

// rows returns the rows at a path.
func (p *published) rows(path string) []map[string]any {
	p.t.Helper()
	var rows []map[string]any
	for _, r := range p.body(path)["data"].([]any) {
		rows = append(rows, r.(map[string]any))
	}
	return rows
}

// column returns a member of each row.
func column(rows []map[string]any, member string) []any {
	list := []any{}
	for _, r := range rows {
		list = append(list, r[member])
	}
	return list
}
