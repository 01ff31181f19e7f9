package workers_test

import (
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/workers"
)

// picksFixture is a sandbox with a dozen invented companies, whose clock a test moves and whose jobs it runs by hand.
type picksFixture struct {
	t   *testing.T
	url string
	db  *postgres.DB // as the worker's role
	api *postgres.DB // as the API's
	// ciks are the companies, without the benchmark.
	ciks  []equity.CIK
	picks workers.Picks
}

const (
	pickClock     = 17*time.Hour + 30*time.Minute
	announceClock = 18 * time.Hour
	priceClock    = 16*time.Hour + 35*time.Minute
	cutoffClock   = 22 * time.Hour
)

func on(t *testing.T, day string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newMarket begins in the evening of a day, with the prices up to it.
func newMarket(t *testing.T, day string) *picksFixture {
	t.Helper()
	m := &picksFixture{t: t, url: pgtest.New(t)}
	for _, c := range []struct {
		db   **postgres.DB
		role string
	}{{&m.db, postgres.RoleWorker}, {&m.api, postgres.RoleAPI}} {
		db, err := postgres.Open(t.Context(), m.url, c.role)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		*c.db = db
	}
	at := calendar.At(on(t, day), 20*time.Hour)
	if _, err := m.db.EnsureWorld(t.Context(), "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	m.picks = workers.Picks{
		DB: m.db, Cards: workers.Cards{DB: m.db, Log: log}, Announce: announceClock, Cutoff: cutoffClock, Log: log,
	}
	var load postgres.EquityLoad
	for i := range 12 {
		c := company(i)
		m.ciks = append(m.ciks, c.CIK)
		load.Companies = append(load.Companies, c)
		facts, filings := books(i)
		load.Facts, load.Filings = append(load.Facts, facts...), append(load.Filings, filings...)
	}
	for _, b := range calendar.Between(on(t, "2024-11-01"), on(t, day)) {
		load.Bars = append(load.Bars, m.bars(b)...)
	}
	m.store(calendar.At(on(t, day), priceClock), load)
	return m
}

// company is the i-th. They are of three industries.
func company(i int) equity.Company {
	sic := []int{7372, 2834, 5311}[i%3]
	return equity.Company{
		CIK: equity.CIK(1000 + i), Name: fmt.Sprintf("Company %c Inc.", 'A'+i), SIC: sic, Location: "CA", FiscalYearEnd: "1231",
		Listings: []equity.Listing{{Ticker: fmt.Sprintf("CO%c", 'A'+i), Exchange: "XNYS"}},
	}
}

// books are the annual reports of the i-th company for three years. The better a company is the higher its number.
func books(i int) (facts []equity.Fact, filings []equity.Filing) {
	for year := 2022; year <= 2024; year++ {
		end := time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)
		filed := time.Date(year+1, 2, 20, 0, 0, 0, 0, time.UTC)
		f := equity.Fact{
			CIK: equity.CIK(1000 + i), Taxonomy: "us-gaap", Unit: "USD", End: end, Filed: filed, Form: "10-K", FY: year, FP: "FY",
			Accession: fmt.Sprintf("%010d-%02d-000001", 1000+i, year%100+1),
		}
		filings = append(filings, equity.Filing{
			CIK: f.CIK, Accession: f.Accession, Form: f.Form, Filed: filed, AcceptedAt: filed.Add(21 * time.Hour), Period: end,
			URL: fmt.Sprintf("https://www.sec.gov/Archives/edgar/data/%d/%s/report.htm", 1000+i, strings.ReplaceAll(f.Accession, "-", "")),
		})
		scale := 1e9 * (1 + float64(year-2022)/10)
		for tag, v := range map[string]float64{
			"Revenues": 10, "GrossProfit": 4 + float64(i)/10, "OperatingIncomeLoss": 2 + float64(i)/10, "NetIncomeLoss": 1 + float64(i)/10,
			"NetCashProvidedByUsedInOperatingActivities": 1.5 + float64(i)/8, "PaymentsToAcquirePropertyPlantAndEquipment": 0.4,
		} {
			one := f
			one.Tag, one.Start, one.Value = tag, end.AddDate(-1, 0, 1), v*scale
			facts = append(facts, one)
		}
		for tag, v := range map[string]float64{
			"Assets": 12, "StockholdersEquity": 6, "AssetsCurrent": 4, "LiabilitiesCurrent": 2, "LongTermDebtNoncurrent": 3 - float64(i)/8,
			"CashAndCashEquivalentsAtCarryingValue": 1,
		} {
			one := f
			one.Tag, one.Value = tag, v*scale
			facts = append(facts, one)
		}
		shares := f
		shares.Taxonomy, shares.Tag, shares.Unit, shares.Value = "dei", "EntityCommonStockSharesOutstanding", "shares", 2e8
		facts = append(facts, shares)
	}
	return facts, filings
}

// bars are the closes of a day of all companies and the benchmark.
func (m *picksFixture) bars(day time.Time) []equity.Bar {
	m.t.Helper()
	n := float64(day.Unix() / 86400)
	var list []equity.Bar
	for i, cik := range append(slices.Clone(m.ciks), equity.Benchmark) {
		price, err := equity.PriceOf(100*(1+0.1*math.Sin(n/40+float64(i)))*(1+0.01*math.Sin(n*float64(3+i))), 2)
		if err != nil {
			m.t.Fatal(err)
		}
		list = append(list, equity.Bar{CIK: cik, Date: day, Open: price, High: price, Low: price, Close: price, Volume: 2_000_000, Source: "test"})
	}
	return list
}

// store records what was fetched at an instant.
func (m *picksFixture) store(at time.Time, load postgres.EquityLoad) {
	m.t.Helper()
	load.Fetch = series.Fetch{
		Source: "test", URL: "https://upstream.example/", Status: 200, FetchedAt: at.UTC(), Bytes: 1, SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, at, load))),
	}
	var err error
	if load.Fetch.ID, err = m.db.RecordFetch(m.t.Context(), load.Fetch, 0); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.db.StoreEquities(m.t.Context(), task.Fence{}, load); err != nil {
		m.t.Fatal(err)
	}
}

// clock moves the world to a clock time in New York.
func (m *picksFixture) clock(day string, clock time.Duration) {
	m.t.Helper()
	at := calendar.At(on(m.t, day), clock)
	if err := m.db.SetClock(m.t.Context(), &at); err != nil {
		m.t.Fatal(err)
	}
}

// trade adds a day's prices, except for some companies.
func (m *picksFixture) trade(day string, without ...equity.CIK) {
	m.t.Helper()
	bars := slices.DeleteFunc(m.bars(on(m.t, day)), func(b equity.Bar) bool { return slices.Contains(without, b.CIK) })
	m.store(calendar.At(on(m.t, day), priceClock), postgres.EquityLoad{Bars: bars})
}

func (m *picksFixture) handler(job string) workers.Handler {
	return map[string]workers.Handler{
		task.Pick: m.picks.Run, task.Announce: workers.Announcements{DB: m.db, Log: m.picks.Log}.Run,
		task.Publish: workers.Publications{Picks: m.picks, Log: m.picks.Log}.Run,
	}[job]
}

// begin claims the first attempt of a run.
func (m *picksFixture) begin(job, subject string, slot time.Time) task.Task {
	m.t.Helper()
	id, err := m.db.AddRun(m.t.Context(), job, subject, slot, m.t.Name())
	if err != nil {
		m.t.Fatal(err)
	}
	return m.claim(task.Task{Fence: task.Fence{RunID: id, Attempt: 1}, Job: job, Subject: subject, Slot: slot})
}

func (m *picksFixture) claim(t task.Task) task.Task {
	m.t.Helper()
	if ok, err := m.db.Claim(m.t.Context(), t.Fence, "w"); err != nil || !ok {
		m.t.Fatalf("claim %v: %v %v", t.Fence, ok, err)
	}
	return t
}

// again takes a run from its worker, as if that had died, and claims the next attempt.
func (m *picksFixture) again(t task.Task) task.Task {
	m.t.Helper()
	lost, err := m.db.Reclaim(m.t.Context(), -time.Second)
	if err != nil {
		m.t.Fatal(err)
	}
	i := slices.IndexFunc(lost, func(l task.Task) bool { return l.RunID == t.RunID })
	if i < 0 {
		m.t.Fatalf("run %d is not lost: %v", t.RunID, lost)
	}
	return m.claim(lost[i])
}

// run runs a job for a slot in the world's present, and what it makes due. A run that has nothing to do ends well.
func (m *picksFixture) run(job, subject string, slot time.Time) error {
	m.t.Helper()
	if err := m.finish(m.begin(job, subject, slot)); err != nil {
		return err
	}
	due, err := m.db.HandOut(m.t.Context(), 100)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, next := range due {
		if err := m.finish(m.claim(next)); err != nil {
			return fmt.Errorf("%s: %w", next.ID(), err)
		}
	}
	return nil
}

// finish runs an attempt and records how it ended.
func (m *picksFixture) finish(t task.Task) error {
	m.t.Helper()
	err := m.handler(t.Job)(m.t.Context(), t)
	var ferr error
	if reason, skipped := workers.Skipped(err); skipped {
		err, ferr = nil, m.db.Skip(m.t.Context(), t.Fence, reason)
	} else if err != nil {
		_, ferr = m.db.Fail(m.t.Context(), t.Fence, err.Error(), 0, true, false)
	} else {
		ferr = m.db.Succeed(m.t.Context(), t.Fence)
	}
	if ferr != nil {
		m.t.Fatal(ferr)
	}
	return err
}

// live runs through a trading day: prices, pick, announcement and the publications after it.
func (m *picksFixture) live(day string) {
	m.t.Helper()
	m.trade(day)
	m.pick(day)
	m.clock(day, announceClock)
	if err := m.run(task.Announce, task.Daily, calendar.At(on(m.t, day), announceClock)); err != nil {
		m.t.Fatalf("announce on %s: %v", day, err)
	}
}

func (m *picksFixture) pick(day string) {
	m.t.Helper()
	m.clock(day, pickClock)
	if err := m.run(task.Pick, task.Daily, calendar.At(on(m.t, day), pickClock)); err != nil {
		m.t.Fatalf("pick of %s: %v", day, err)
	}
}

// record is every pick and gap as one line each.
func (m *picksFixture) record() (lines []string) {
	m.t.Helper()
	made, err := m.db.RecordedPicks(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, p := range made {
		lines = append(lines, p.Date+" "+p.Ticker)
	}
	gaps, err := m.db.Gaps(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	for _, g := range gaps {
		lines = append(lines, g.Date+" gap: "+g.Reason)
	}
	slices.Sort(lines)
	return lines
}
