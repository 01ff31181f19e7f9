package api_test

import (
	"crypto/sha256"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// morePicks are announced after the week of the fixture, each for another company, so that there are 20 picks.
const (
	morePicks = 16
	secretCIK = equity.CIK(4001) // researched but never picked
	secretSay = "Wexquoll"
)

// paidFacts are the data that only holders of keys may see. The two databases differ only in them.
type paidFacts struct {
	// gain is the base of the older picks' gains. weight is the weight of a position. mid is a return in the middle of a week.
	gain, weight, mid float64
	text              string
	// sold reports that one of the older picks was sold.
	sold bool
}

func ticker(i int) string           { return fmt.Sprintf("Q%cXZ", 'A'+i) }
func company(i int) equity.CIK      { return equity.CIK(2000 + i) }
func lastClose(gain float64) string { return fmt.Sprintf("%.2f", 100+gain) }

// gainOf returns the gain of the i-th pick. Gains of older picks are paid facts. The latest five are always the same.
func (f paidFacts) gainOf(i int) float64 {
	if i >= morePicks-view.PublicPicks {
		return 3 + 0.11*float64(i)
	}
	return f.gain + 1.17*float64(i)
}

// needles returns the texts of the paid facts on a page.
func (f paidFacts) needles() (list []string) {
	for i := range morePicks - view.PublicPicks {
		text := fmt.Sprintf("%.2f", f.gainOf(i))
		list = append(list, text, strings.ReplaceAll(text, ".", ","), lastClose(f.gainOf(i)))
	}
	for _, v := range []float64{f.weight, f.mid} {
		text := fmt.Sprintf("%.2f", math.Abs(v))
		list = append(list, text, strings.ReplaceAll(text, ".", ","))
	}
	return append(list, f.text, secretSay)
}

// publishMany is a system with 20 announced picks whose pages show only free data.
func publishMany(t *testing.T, model accounts.Model, f paidFacts) *published {
	t.Helper()
	p := publish(t, model)
	p.free = true
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	day, last := date(t, "2026-03-09"), date(t, "2026-03-30")
	var portfolio picks.Portfolio
	portfolio.Inception, portfolio.CashPct = day, 10
	for i := range morePicks {
		at := calendar.At(day, 17*time.Hour+30*time.Minute)
		must(p.worker.SetClock(ctx, &at))
		end := lastClose(f.gainOf(i))
		bars := []equity.Bar{{CIK: company(i), Date: day, Close: "100.00", Volume: 1, Source: "drop"}}
		if day.Before(last) {
			bars = append(bars, equity.Bar{CIK: company(i), Date: last, Close: equity.Price(end), Volume: 1, Source: "drop"})
		}
		p.store(postgres.EquityLoad{
			Companies: []equity.Company{{CIK: company(i), Name: ticker(i) + " Inc.", Listings: []equity.Listing{{Ticker: ticker(i), Exchange: "XNAS"}}}}, Bars: bars,
		}, at)
		c := card(t, company(i), day.Format(time.DateOnly), 100+i)
		c.Ticker, c.Name = ticker(i), ticker(i)+" Inc."
		c.Facts = postgres.DataOf(picks.Data{{ID: "note_" + strings.ToLower(f.text), Value: "12.50", Unit: locale.Dollars, AsOf: day, Source: -1}})
		_, added, err := p.worker.RecordPick(ctx, task.Fence{}, postgres.NewPick{
			Ticker: ticker(i), Price: "100.00", Date: day.Format(time.DateOnly), CIK: company(i), Name: c.Name, Exchange: "XNAS", Sector: "Technology",
			Region: "North America", Country: "US", Currency: "USD", Origin: "method", Reason: "the best score of the day",
		}, c, 0)
		must(err)
		if !added {
			t.Fatalf("no pick of %s", day)
		}
		at = calendar.At(day, 18*time.Hour)
		must(p.worker.SetClock(ctx, &at))
		_, err = p.worker.AnnounceDue(ctx, task.Fence{}, at)
		must(err)
		s := picks.Snapshot{Date: day, BenchmarkDailyReturnPct: math.NaN(), Positions: morePicks, CashPct: 10, ReturnPct: 0.5 * float64(i)}
		if day.Weekday() == time.Wednesday {
			s.ReturnPct = f.mid
		}
		portfolio.Snapshots = append(portfolio.Snapshots, s)
		q := picks.Position{
			Seq: 5 + i, CIK: company(i), Holding: company(i), Ticker: ticker(i), Name: ticker(i) + " Inc.", Sector: picks.Technology, Region: picks.NorthAmerica,
			Country: "US", EntryDate: day, WeightPct: 5, ReturnPct: float64(i), ContributionPct: f.weight / 10, PricedOn: last,
		}
		switch i {
		case 7:
			q.WeightPct, q.Sector, q.Region = f.weight, picks.Energy, picks.Europe
			portfolio.Doubts = append(portfolio.Doubts, picks.Doubt{Seq: q.Seq, Close: equity.Price(lastClose(f.gainOf(i))), Other: "1.00", Source: "other"})
		case 8:
			q.WeightPct = 20 - f.weight
			if f.sold {
				q.WeightPct += 5 // the weight of the next position
			}
		case 9:
			if f.sold {
				q.ExitDate, q.Reason, q.WeightPct = last, picks.ClosedReplaced, 0
			}
		}
		portfolio.Positions = append(portfolio.Positions, q)
		for day = day.AddDate(0, 0, 1); day.Weekday() == time.Saturday || day.Weekday() == time.Sunday; {
			day = day.AddDate(0, 0, 1)
		}
	}
	at := calendar.At(last, 18*time.Hour+30*time.Minute)
	must(p.worker.SetClock(ctx, &at))
	_, err := p.worker.SavePortfolio(ctx, task.Fence{}, portfolio, at)
	must(err)
	c := card(t, secretCIK, "2026-03-30", 900)
	c.Ticker, c.Name = "UNPK", secretSay+" "+f.text
	for _, lang := range picks.Langs() {
		say := secretSay + " " + f.text
		c.Texts[lang] = postgres.ResearchTextOf(picks.Texts{Lang: lang, SummaryWhy: say, WhatItDoes: say, WhyChosen: say, MainRisk: say, FullResearch: say}, "rules")
	}
	research := []postgres.Research{c}
	for i := range morePicks { // the weekly research states the close
		c := card(t, company(i), "2026-03-30", 100+i)
		c.Ticker, c.Name = ticker(i), ticker(i)+" Inc."
		for lang, text := range c.Texts {
			text.FullResearch += ". At the close of $" + lastClose(f.gainOf(i)) + " on March 30."
			text.SummaryWhy += ", at " + lastClose(f.gainOf(i))
			c.Texts[lang] = text
		}
		research = append(research, c)
	}
	_, err = p.worker.AddResearch(ctx, task.Fence{}, research)
	must(err)
	fresh := picks.AnnouncedEvent(equity.Company{CIK: secretCIK, Name: f.text + " Inc.", Listings: []equity.Listing{{Ticker: "UNPK"}}}, last, "12.50", at)
	_, err = p.worker.AddPortfolioEvents(ctx, task.Fence{}, []picks.Event{fresh})
	must(err)
	which := 2
	if f.sold {
		which = 3
	}
	moved := picks.AnnouncedEvent(equity.Company{CIK: company(which), Name: ticker(which) + " Inc.", Listings: []equity.Listing{{Ticker: ticker(which)}}}, last, "12.50", at)
	moved.ChangePct, moved.Severity = f.mid, picks.Severity(which)
	_, err = p.worker.AddPortfolioEvents(ctx, task.Fence{}, []picks.Event{moved})
	must(err)
	_, err = p.worker.AddDigest(ctx, task.Fence{}, picks.NewDigest(picks.DigestInput{
		Portfolio: portfolio, Events: []picks.Event{fresh}, Signals: []picks.SignalState{{ID: "crack-spread-321", Z: 1.8, Live: true}},
	}, date(t, "2026-04-03")), nil, at)
	must(err)
	return p
}

// store stores a publisher's response at an instant.
func (p *published) store(l postgres.EquityLoad, at time.Time) {
	p.t.Helper()
	l.Fetch = series.Fetch{
		Source: "prices", URL: "https://upstream.example/" + l.Companies[0].Name, Status: 200, FetchedAt: at,
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

// offer starts new servers with a billing model and the current data of the database.
func (p *published) offer(model accounts.Model) {
	t := p.t
	t.Helper()
	tariff, err := endpoint.NewTariff(model, "/events=0.001")
	if err != nil {
		t.Fatal(err)
	}
	at := calendar.At(date(t, "2026-03-30"), 19*time.Hour)
	p.clock.Store(&at)
	now := func() time.Time { return at }
	p.publications, err = view.NewPublications(view.PublicationsOptions{
		Store: p.db, PublicURL: "https://tidemark.example/", World: view.WorldSandbox, Now: now, Log: quiet,
		Info: view.InfoOptions{Version: "1", Tariff: tariff},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.url = "https://tidemark.example"
	o := p.everything()
	limiter, err := api.NewLimiter("", time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	o.Accounts.Tariff, o.Accounts.Limiter = tariff, limiter
	if p.pagesRate > 0 {
		o.Accounts.PagesRate = api.Rate{N: p.pagesRate, Per: time.Hour}
	}
	p.run(p.publications.Run)
	p.run(o.Record.Run)
	p.serve(o)
	p.site = o.Pages.(*pages.Pages)
	p.eventually("the first load", func() bool { return p.publications.State() != nil && o.Record.State() != nil })
}

// freeAddresses returns all pages about picks with all their variants, and guessed addresses.
func (p *published) freeAddresses() (list []string) {
	paths := []string{"/sitemap.xml", "/llms.txt", "/llms-full.txt", "/.well-known/api-catalog", "/api/stream/atom", "/api/stream/atom?topics=event"}
	for _, t := range []string{"UNPK", "unpk", "CORO", ticker(0), strings.ToLower(ticker(0)), ticker(morePicks - 1), "ACME"} {
		paths = append(paths, "/research/"+t, "/research/"+t+"/card.png")
	}
	for _, day := range []string{"2026-03-02", "2026-03-05", "2026-03-09", "2026-03-20", "2026-03-31"} {
		paths = append(paths, "/picks/"+day, "/picks/"+day+"/card.png")
	}
	for _, path := range p.site.Paths() {
		if !strings.HasSuffix(path, "/") || path == "/" {
			paths = append(paths, path)
		}
	}
	cursor := func() string {
		_, next, err := p.publications.State().Picks(view.ListQuery{Lang: picks.English, Limit: 7})
		if err != nil || next == "" {
			p.t.Fatal(err)
		}
		return next
	}()
	for _, path := range paths {
		for _, q := range []string{
			"", "?lang=es", "?lang=pt", "?lang=hi", "?status=closed", "?status=open", "?status=maybe", "?min_severity=5", "?min_severity=9", "?cursor=x", "?cursor=" + cursor,
			"?as_of=2026-03-11", "?range=all", "?format=json", "?limit=500",
		} {
			list = append(list, path+q)
		}
	}
	return list
}

// look requests addresses without a key, and returns the trace of each response and where paid facts appear.
func (p *published) look(addresses, needles []string) (all map[string]trace, found []string) {
	p.t.Helper()
	all = map[string]trace{}
	for _, address := range addresses {
		for who, ask := range map[string][]string{
			"GET": nil, "HEAD": nil, "a browser": {"Accept", "text/html"}, "gzip": {"Accept-Encoding", "gzip"},
			"a made-up cookie": {"Cookie", "tidemark-session=AAAA"}, "a key without a session": {"Authorization", "Bearer " + p.key},
			"whoever has anything": {"If-None-Match", "*"},
		} {
			if strings.Contains(address, "?") && who != "GET" && who != "HEAD" {
				continue
			}
			method := http.MethodGet
			if who == "HEAD" {
				method = who
			}
			a := p.ask(method, address, ask...)
			text := string(a.body)
			if a.Header.Get("Content-Encoding") == "gzip" {
				text = string(plainOf(p.t, a.body))
			}
			for name, values := range a.Header {
				text += "\n" + name + ": " + strings.Join(values, ", ")
			}
			for _, n := range needles {
				if strings.Contains(text, n) {
					found = append(found, fmt.Sprintf("%s, %s: %s", address, who, n))
				}
			}
			if a.Header.Get("X-Request-Cost") != "" {
				found = append(found, fmt.Sprintf("%s, %s: it cost %s", address, who, a.Header.Get("X-Request-Cost")))
			}
			one := trace{a.StatusCode, len(a.body), a.Header.Get("ETag") + a.Header.Get("Last-Modified")}
			if a.StatusCode >= 400 {
				one.length = 0 // every request has its own id
			}
			all[who+" "+address] = one
		}
	}
	return all, found
}

// With PAGES=free no page, image, feed or header field contains anything that is sold. Without a key, two databases that differ only in
// paid facts look the same in every byte.
func TestFreePagesHaveNothingThatIsSold(t *testing.T) {
	t.Parallel()
	facts := []paidFacts{{gain: 40.71, weight: 7.93, mid: -17.37, text: "Plimbax"}, {gain: 60.29, weight: 3.89, mid: 22.43, text: "Grovnik", sold: true}}
	var traces [2]map[string]trace
	var feeds [2]string
	local := regexp.MustCompile(`http://127\.0\.0\.1:\d+`) // the changes name the server
	for i, f := range facts {
		p := publishMany(t, accounts.ModelBalance, f)
		p.offer(accounts.ModelBalance)
		addresses := slices.DeleteFunc(p.freeAddresses(), func(a string) bool {
			return restless.MatchString(a) || strings.HasPrefix(a, "/docs") || strings.HasPrefix(a, "/terms") || strings.HasPrefix(a, "/llms") || strings.HasPrefix(a, "/?") || a == "/"
		})
		var found []string
		traces[i], found = p.look(addresses, f.needles())
		for _, f := range found {
			t.Error(f)
		}
		// The pages about signals name the server, so they are searched but not compared.
		if _, found := p.look([]string{"/", "/docs", "/terms", "/status", "/verify", "/llms.txt", "/llms-full.txt", "/sitemap.xml", "/signals/crack-spread-321"}, f.needles()); len(found) > 0 {
			t.Error(found)
		}
		if len(traces[i]) < 500 {
			t.Fatalf("only %d answers were looked at", len(traces[i]))
		}
		// Free data are shown.
		for address, want := range map[string][]string{
			"/picks":                    {ticker(15), "4.54%", ticker(0), "Older picks, in the chain", `href="/dashboard"`, "0.005 USD"},
			"/research/" + ticker(0):    {"research 100, en", "SHA-256", "0.01 USD", "as announced on"},
			"/research/" + ticker(14):   {"research 114, en", "4.54%"},
			"/portfolio":                {"Return since March 9, 2026", `id="plot-return"`, ticker(14), "one point a week", "0.01 USD"},
			"/economic-events":          {"unemployment"},
			"/events":                   {"ACME", "0.001 USD"},
			"/digest":                   {"Week 14 of 2026", "crack-spread-321"},
			"/picks.atom":               {ticker(15) + " Inc.", ticker(0) + " at 100.00"},
			"/research/UNPK":            {"Research on other companies requires a key"},
			"/research/NONE":            {"Research on other companies requires a key"},
			"/research/UNPK/card.png":   {"No announced pick"},
			"/research/QAXZ/card.png":   {"PNG"},
			"/picks?lang=hi":            {"शृंखला"},
			"/events?min_severity=nine": {"ACME"},
		} {
			text := string(p.ask(http.MethodGet, address, "Accept", "text/html").body)
			for _, w := range want {
				if !strings.Contains(strings.ToLower(text), strings.ToLower(w)) {
					t.Errorf("%s lacks %q", address, w)
				}
			}
		}
		if strings.Contains(string(p.ask(http.MethodGet, "/research/UNPK").body), "UNPK Inc") {
			t.Error("the research is named")
		}
		feed := string(p.ask(http.MethodGet, "/api/stream/atom?topics=event").body)
		listed := strings.Count(feed, "<title>Event: portfolio</title>")
		feeds[i] = local.ReplaceAllString(string(p.ask(http.MethodGet, "/api/stream/atom").body), "")
		if listed < 3 {
			t.Fatalf("the feed lists %d events", listed)
		}
		events, stop := p.listenTo("?after=0&seconds=600&topics=event")
		for range listed {
			e := p.next(events)
			for _, n := range append(f.needles(), "severity", "change_pct", "UNPK") {
				if strings.Contains(e.data, n) {
					t.Errorf("the stream tells %s: %s", n, e.data)
				}
			}
			if !strings.Contains(e.data, `"subject":"portfolio"`) {
				t.Errorf("the stream tells of an event %s", e.data)
			}
		}
		stop()
		// Check the needles: if everything is shown, each one is found.
		p.free = false
		p.offer(accounts.ModelBalance)
		_, shown := p.look([]string{"/picks", "/portfolio", "/events", "/digest", "/research/UNPK", "/research/" + ticker(0)}, f.needles())
		for _, n := range f.needles() {
			if !slices.ContainsFunc(shown, func(s string) bool { return strings.HasSuffix(s, ": "+n) }) && !strings.Contains(n, ",") {
				t.Errorf("nobody would find %s: it stands on no page with PAGES=full", n)
			}
		}
	}
	if feeds[0] != feeds[1] {
		t.Errorf("the feed of changes differs by what is sold:\n%s\n%s", feeds[0], feeds[1])
	}
	for address, a := range traces[0] {
		if strings.Contains(address, "/api/stream/") {
			continue
		}
		if b := traces[1][address]; a != b {
			t.Errorf("%s differs by what is sold: %+v and %+v", address, a, b)
		}
	}
}
