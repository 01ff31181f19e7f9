package workers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/ingest"
	"tidemark/ingest/archive"
	"tidemark/ingest/companies"
	"tidemark/ingest/edgar"
	shareprices "tidemark/ingest/prices"
	"tidemark/ingest/sources"
	"tidemark/ingest/world"
	"tidemark/ingest/world/synth"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/workers"
)

// equitiesFixture is the sandbox's market, followed by the job in its own database.
type equitiesFixture struct {
	t     *testing.T
	db    *postgres.DB
	clock *world.Stepped
	job   workers.Equities
	// asked counts requests. before, where set, is called before each.
	asked  atomic.Int64
	before func(nth int64)
	// fault spoils what its URL holds.
	fault func(url string) (world.Fault, bool)
}

const agent = "Tidemark tests@tidemark.example"

// carrier is a transport that is a function.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

// newYork is an instant by the clocks of New York.
func newYork(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return calendar.At(at, time.Duration(at.Hour())*time.Hour+time.Duration(at.Minute())*time.Minute)
}

func newExchange(t *testing.T, universe, begin string) *equitiesFixture {
	t.Helper()
	db, err := postgres.Open(t.Context(), pgtest.New(t), postgres.RoleWorker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	store, err := archive.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return exchangeOn(t, db, store, universe, begin)
}

// exchangeOn is an exchange that is recorded in a database and an archive.
func exchangeOn(t *testing.T, db *postgres.DB, store *archive.Store, universe, begin string) *equitiesFixture {
	t.Helper()
	x := &equitiesFixture{t: t, db: db, clock: world.NewStepped(newYork(t, begin))}
	sandbox := world.Sandbox(sources.Sandbox(synth.World{Seed: 1, Now: x.clock.Now}, calendar.IsTradingDay), world.SandboxOptions{
		Now: x.clock.Now, Fault: func(r *http.Request, _ int) (world.Fault, bool) {
			if x.fault == nil {
				return world.Fault{}, false
			}
			return x.fault(r.URL.String())
		},
	})
	engine := &ingest.Engine{
		Transport: carrier(func(r *http.Request) (*http.Response, error) {
			if n := x.asked.Add(1); x.before != nil {
				x.before(n)
			}
			return sandbox.RoundTrip(r)
		}),
		Now: x.clock.Now, Ledger: db, Archive: store, Offline: true, Attempts: 1,
	}
	u, err := companies.ParseUniverse(universe)
	if err != nil {
		t.Fatal(err)
	}
	x.job = workers.Equities{
		DB: db, Engine: engine, Now: x.clock.Now, Universe: u, Companies: edgar.Companies(agent), Current: edgar.Current(agent),
		Submissions: func(ids []equity.CIK) ingest.Source { return edgar.Submissions(agent, ids) },
		Facts:       func(ids []equity.CIK) ingest.Source { return edgar.Facts(agent, ids) },
		Prices: workers.Prices{
			ID: "prices-yahoo", Funds: []companies.Share{{CIK: equity.Benchmark, Ticker: "SPY"}},
			Ask: func(ctx context.Context, shares []companies.Share, w series.Window, runID int64) ([]ingest.Fetched, error) {
				var list []shareprices.Share
				for _, s := range shares {
					list = append(list, shareprices.Share{CIK: s.CIK, Ticker: s.Ticker})
				}
				return engine.Collect(ctx, shareprices.Yahoo(list), w, runID)
			},
		},
	}
	return x
}

// at moves the clock and makes a run of a source for that time. It returns the first attempt.
func (x *equitiesFixture) at(when, subject string) task.Task {
	x.t.Helper()
	x.clock.AdvanceTo(newYork(x.t, when))
	id, err := x.db.AddRun(x.t.Context(), task.Equities, subject, x.clock.Now(), "test")
	if err != nil {
		x.t.Fatal(err)
	}
	attempt := task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: task.Equities, Subject: subject, Slot: x.clock.Now()}
	x.claim(attempt)
	return attempt
}

func (x *equitiesFixture) claim(attempt task.Task) {
	x.t.Helper()
	if ok, err := x.db.Claim(x.t.Context(), attempt.Fence, "worker"); err != nil || !ok {
		x.t.Fatal(ok, err)
	}
}

// run does a run that must succeed, and returns how many rows it added and how many questions it asked.
func (x *equitiesFixture) run(when, subject string) (rows, asked int64) {
	x.t.Helper()
	before := x.asked.Load()
	attempt := x.at(when, subject)
	if err := x.job.Run(x.t.Context(), attempt); err != nil {
		x.t.Fatalf("%s at %s: %v", subject, when, err)
	}
	if err := x.db.Succeed(x.t.Context(), attempt.Fence); err != nil {
		x.t.Fatal(err)
	}
	list, err := x.db.Runs(x.t.Context(), postgres.RunFilter{ID: attempt.RunID, Limit: 1})
	if err != nil {
		x.t.Fatal(err)
	}
	return *list[0].RowsAdded, x.asked.Load() - before
}

// candidate returns a company as a candidate of a day, as known in the evening.
func (x *equitiesFixture) candidate(cik equity.CIK, day string) picks.Candidate {
	x.t.Helper()
	at := newYork(x.t, day+" 23:00")
	list, err := x.db.Candidates(x.t.Context(), calendar.DayOf(at), at)
	if err != nil {
		x.t.Fatal(err)
	}
	for _, c := range list {
		if c.Company.CIK == cik {
			return c
		}
	}
	x.t.Fatalf("%s is no candidate on %s", cik, day)
	return picks.Candidate{}
}

// The companies of the sandbox's first market that these tests follow.
const (
	prairie    = 9900000035 // Prairie Mains Gas, PMGSYN, from 2025-08-08 on PRMSYN
	northlight = 9900000001 // Northlight Ledger Software, NLSSYN, traded until 2026-06-03
	siltstone  = 9900000004
)

func TestACompanyIsFollowedThroughAChangeOfTicker(t *testing.T) {
	t.Parallel()
	x := newExchange(t, "PMGSYN SMDSYN", "2025-08-06 07:20")
	if rows, asked := x.run("2025-08-06 07:20", "edgar-companies"); rows < 500 || asked > 12 {
		t.Errorf("the first run adds %d rows by %d questions, want two companies with their filings and figures by a few", rows, asked)
	}
	due, err := x.db.HandOut(t.Context(), 10)
	if err != nil || len(due) != 1 || due[0].Subject != "prices-yahoo" {
		t.Errorf("after that %v is due (%v), want the newcomers' prices", due, err)
	}
	if rows, asked := x.run("2025-08-06 16:20", "prices-yahoo"); rows < 3*700 || asked != 3 {
		t.Errorf("the first prices are %d rows by %d questions, want three years of two companies and the benchmark by 3", rows, asked)
	}
	if rows, asked := x.run("2025-08-06 18:20", "prices-yahoo"); rows != 0 || asked != 0 {
		t.Errorf("the same evening again: %d rows by %d questions, want none: no bar is lacking", rows, asked)
	}
	if rows, asked := x.run("2025-08-07 07:20", "edgar-companies"); rows != 0 || asked != 2 {
		t.Errorf("a quiet morning: %d rows by %d questions, want the two lists and nothing new", rows, asked)
	}
	x.run("2025-08-07 16:20", "prices-yahoo")
	if _, asked := x.run("2025-08-08 07:20", "edgar-companies"); asked > 4 {
		t.Errorf("a new ticker costs %d questions, want those about one company", asked)
	}
	if rows, _ := x.run("2025-08-08 16:20", "prices-yahoo"); rows != 6 {
		t.Errorf("the day of the new ticker adds %d rows, want a bar of each share and, as it is the second Friday of August, a dividend", rows)
	}
	c := x.candidate(prairie, "2025-08-08")
	for day, want := range map[string]string{"2025-08-07": "PMGSYN", "2025-08-08": "PRMSYN"} {
		at, _ := time.Parse(time.DateOnly, day)
		if got := c.Company.Ticker(at); got != want {
			t.Errorf("on %s the ticker is %s, want %s", day, got, want)
		}
	}
	if l, _ := c.Company.Listing(calendar.DayOf(x.clock.Now())); l.Exchange != "XNYS" || c.Company.SIC != 4924 || c.Company.Location != "MO" {
		t.Errorf("it is %+v", c.Company)
	}
	days := calendar.Between(c.History.Bars[0].Date, newYork(t, "2025-08-08 00:00"))
	if n := len(c.History.Bars); n < len(days)-3 || n > len(days) {
		t.Errorf("%d bars over %d trading days, want one a day across the change", n, len(days))
	}
	for _, f := range c.Facts {
		if !f.Filed.Before(calendar.DayOf(x.clock.Now())) {
			t.Errorf("a fact filed on %s is known for a pick of 2025-08-08", f.Filed)
		}
	}
	r := picks.Rank(picks.Market{Day: newYork(t, "2025-08-08 00:00").Truncate(24 * time.Hour), Candidates: []picks.Candidate{c}}, picks.DefaultRules())
	if len(r.Scores) != 1 {
		t.Errorf("the company cannot be scored: %v", r.Excluded)
	}
}

func TestACompanyThatIsGoneKeepsItsHistory(t *testing.T) {
	t.Parallel()
	x := newExchange(t, "NLSSYN SMDSYN", "2026-06-02 07:20")
	x.run("2026-06-02 07:20", "edgar-companies")
	x.run("2026-06-03 16:20", "prices-yahoo")
	x.run("2026-06-04 07:20", "edgar-companies")
	if rows, asked := x.run("2026-06-04 16:20", "prices-yahoo"); rows != 2 || asked != 2 {
		t.Errorf("the day after: %d rows by %d questions, want those of the other share and the benchmark", rows, asked)
	}
	if _, asked := x.run("2026-06-05 07:20", "edgar-companies"); asked != 2 {
		t.Errorf("the morning after that costs %d questions, want the two lists", asked)
	}
	c := x.candidate(northlight, "2026-06-05")
	bar, _ := c.History.BarAt(calendar.DayOf(x.clock.Now()))
	l, listed := c.Company.Listing(newYork(t, "2026-06-04 00:00").Truncate(24 * time.Hour))
	if listed || bar.Date.Format(time.DateOnly) != "2026-06-03" || len(c.Facts) == 0 {
		t.Errorf("listed %v (%+v), last bar %s, %d facts: want it unlisted, with all its history", listed, l, bar.Date, len(c.Facts))
	}
	if l, ok := c.Company.Listing(bar.Date); !ok || l.Ticker != "NLSSYN" {
		t.Errorf("on its last day it was %+v", l)
	}
}

func TestOnlyThoseWhoFiledAreAskedAgain(t *testing.T) {
	t.Parallel()
	x := newExchange(t, "top 12", "2026-02-02 07:20")
	x.run("2026-02-02 07:20", "edgar-companies")
	companies, err := x.db.Companies(t.Context(), x.clock.Now())
	if err != nil || len(companies) != 12 {
		t.Fatalf("%d companies are followed (%v), want 12", len(companies), err)
	}
	var ids []equity.CIK
	for id := range companies {
		ids = append(ids, id)
	}
	first := x.clock.Now()
	var asked int64
	for _, day := range []string{"02-02", "02-03", "02-04", "02-05", "02-06", "02-09"} {
		for _, hour := range []string{" 08:05", " 17:05"} {
			_, n := x.run("2026-"+day+hour, "edgar-current")
			asked += n - 7 // the forms
		}
	}
	since := newYork(t, "2026-02-02 00:00").Truncate(24 * time.Hour)
	filed, err := x.db.FilingsOf(t.Context(), ids, since, since.AddDate(0, 0, 7), x.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	// All filings that the sandbox has accepted since the beginning, by its own books, company by company.
	truth, err := x.job.Engine.Collect(t.Context(), edgar.Submissions(agent, ids), series.Window{From: first}, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, a := range truth {
		for _, f := range a.Batch.Filings {
			if !f.Filed.Before(since) && f.Form != "DEF 14A" { // which nothing is made of
				want[f.Accession] = true
			}
		}
	}
	got := map[string]bool{}
	for _, f := range filed {
		got[f.Accession] = true
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("filings of the week (-filed +known):\n%s", diff)
	}
	if asked > 3*int64(len(want)) {
		t.Errorf("%d filings cost %d questions about companies", len(want), asked)
	}
	for _, f := range filed {
		if f.Form == "10-K" || f.Form == "10-Q" {
			n := 0
			for _, k := range x.candidate(f.CIK, "2026-02-10").Facts {
				if k.Accession == f.Accession {
					n++
				}
			}
			if n == 0 {
				t.Errorf("nothing is known of the figures of the %s %s", f.Form, f.Accession)
			}
		}
	}
}

// TestARunThatIsKilledIsDoneByTheNextAttempt gives the run up in the middle of its questions, and lets a second attempt do it.
func TestARunThatIsKilledIsDoneByTheNextAttempt(t *testing.T) {
	t.Parallel()
	known := func(x *equitiesFixture) []picks.Candidate {
		list, err := x.db.Candidates(t.Context(), newYork(t, "2025-08-06 00:00").Truncate(24*time.Hour), newYork(t, "2025-08-06 23:00"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	// The facts of a candidate come in the order in which the database finds them.
	anyOrder := cmpopts.SortSlices(func(a, b equity.Fact) bool { return fmt.Sprint(a) < fmt.Sprint(b) })
	whole := newExchange(t, "PMGSYN SMDSYN", "2025-08-06 07:20")
	_, questions := whole.run("2025-08-06 07:20", "edgar-companies")
	whole.run("2025-08-06 16:20", "prices-yahoo")
	want := known(whole)
	for _, nth := range []int64{1, 3, questions} {
		t.Run(fmt.Sprintf("before question %d of %d", nth, questions), func(t *testing.T) {
			t.Parallel()
			x := newExchange(t, "PMGSYN SMDSYN", "2025-08-06 07:20")
			first := x.at("2025-08-06 07:20", "edgar-companies")
			x.before = func(n int64) {
				if n == nth {
					if _, err := x.db.Fail(t.Context(), first.Fence, "lost", 0, false, false); err != nil {
						t.Error(err)
					}
				}
			}
			if err := x.job.Run(t.Context(), first); !errors.Is(err, postgres.ErrFenced) {
				t.Errorf("the attempt that was given up ends with %v", err)
			}
			second := first
			second.Attempt = 2
			x.claim(second)
			if err := x.job.Run(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			x.run("2025-08-06 16:20", "prices-yahoo")
			if diff := cmp.Diff(want, known(x), anyOrder); diff != "" {
				t.Errorf("what is known (-whole +killed):\n%s", diff)
			}
		})
	}
}

func TestPricesThatAreMissing(t *testing.T) {
	t.Parallel()
	x := newExchange(t, "top 6", "2026-03-02 07:20")
	x.run("2026-03-02 07:20", "edgar-companies")
	x.run("2026-03-02 16:20", "prices-yahoo")
	spoil := func(ticker string, f world.Fault) {
		x.fault = func(url string) (world.Fault, bool) { return f, strings.Contains(url, "/"+ticker+"?") }
	}
	// A single failing share does not cause repeated retries.
	spoil("SMDSYN", world.ErrorPage(404))
	attempt := x.at("2026-03-03 16:20", "prices-yahoo")
	if err := x.job.Run(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	found, err := x.db.Findings(t.Context(), attempt.RunID)
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Observed, "SMDSYN") {
		t.Errorf("the run says %+v (%v), want why one share has no bar", found, err)
	}
	if b, _ := x.candidate(siltstone, "2026-03-03").History.BarAt(calendar.DayOf(x.clock.Now())); b.Date.Format(time.DateOnly) != "2026-03-02" {
		t.Errorf("its newest bar is of %s", b.Date)
	}
	// The next day brings both.
	x.fault = nil
	if err := x.db.Succeed(t.Context(), attempt.Fence); err != nil {
		t.Fatal(err)
	}
	if rows, _ := x.run("2026-03-04 16:20", "prices-yahoo"); rows != 8 {
		t.Errorf("the next day adds %d rows, want a bar of seven shares and the one that was missing", rows)
	}
	// Without the benchmark, or when it is only busy, the day is not done.
	for _, c := range []struct {
		at, ticker string
		fault      world.Fault
		want       string
	}{
		{"2026-03-05 16:20", "SPY", world.ErrorPage(404), "no bar of 2026-03-05"},
		{"2026-03-06 16:20", "SMDSYN", world.Fault{Status: http.StatusTooManyRequests}, "status 429"},
	} {
		spoil(c.ticker, c.fault)
		attempt := x.at(c.at, "prices-yahoo")
		err := x.job.Run(t.Context(), attempt)
		if again, _ := ingest.Retryable(err); err == nil || !again || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: %v, want it to be tried again because of %q", c.ticker, err, c.want)
		}
		if _, err := x.db.Fail(t.Context(), attempt.Fence, "test", 0, true, false); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAListWithoutOurCompaniesIsNotBelieved(t *testing.T) {
	t.Parallel()
	x := newExchange(t, "top 12", "2026-03-02 07:20")
	x.run("2026-03-02 07:20", "edgar-companies")
	x.fault = func(url string) (world.Fault, bool) {
		return world.Fault{Body: []byte(`{"0":{"cik_str":9900000004,"ticker":"SMDSYN","title":"Siltstone"}}`)}, strings.Contains(url, "company_tickers.json")
	}
	before, err := x.db.Companies(t.Context(), newYork(t, "2026-03-03 12:00"))
	if err != nil {
		t.Fatal(err)
	}
	err = x.job.Run(t.Context(), x.at("2026-03-03 07:20", "edgar-companies"))
	if err == nil || !strings.Contains(err.Error(), "lacks 11 of the 12 companies") {
		t.Errorf("a list of one company: %v", err)
	}
	after, err := x.db.Companies(t.Context(), newYork(t, "2026-03-03 12:00"))
	if diff := cmp.Diff(before, after); err != nil || diff != "" {
		t.Errorf("companies changed (%v):\n%s", err, diff)
	}
	if err := x.job.Run(t.Context(), x.at("2026-03-03 08:05", "edgar-nonsense")); err == nil || !strings.Contains(err.Error(), `"edgar-nonsense"`) {
		t.Errorf("an unknown source: %v", err)
	}
}
