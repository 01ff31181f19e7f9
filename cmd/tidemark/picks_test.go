package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
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

// editorFixture is a database in which a dozen companies file and trade, and an operator at its command line. Tests move its days forward.
type editorFixture struct {
	t   *testing.T
	url string
	db  *postgres.DB
	job workers.Picks
	log *slog.Logger
}

const (
	atPrices   = 16*time.Hour + 35*time.Minute
	atPick     = 17*time.Hour + 30*time.Minute
	atAnnounce = 18 * time.Hour
)

func dayOf(t *testing.T, day string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, day)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// newEditorClaimService begins in the evening of a day, with the prices up to it.
func newEditorClaimService(t *testing.T, day string) *editorFixture {
	t.Helper()
	e := &editorFixture{t: t, url: pgtest.New(t), log: slog.New(slog.DiscardHandler)}
	var err error
	if e.db, err = postgres.Open(t.Context(), e.url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.db.Close)
	at := calendar.At(dayOf(t, day), 20*time.Hour)
	if _, err := e.db.EnsureWorld(t.Context(), "sandbox", &at); err != nil {
		t.Fatal(err)
	}
	e.job = workers.Picks{
		DB: e.db, Cards: workers.Cards{DB: e.db, Log: e.log}, Announce: atAnnounce, Cutoff: 22 * time.Hour, Log: e.log,
	}
	var load postgres.EquityLoad
	for i := range 12 {
		load.Companies = append(load.Companies, equity.Company{
			CIK: equity.CIK(1000 + i), Name: fmt.Sprintf("Company %c Inc.", 'A'+i), SIC: []int{7372, 2834, 5311}[i%3], Location: "CA", FiscalYearEnd: "1231",
			Listings: []equity.Listing{{Ticker: fmt.Sprintf("CO%c", 'A'+i), Exchange: "XNYS"}},
		})
		facts, filing := annualReport(i)
		load.Facts, load.Filings = append(load.Facts, facts...), append(load.Filings, filing)
	}
	for _, d := range calendar.Between(dayOf(t, day).AddDate(-1, -3, 0), dayOf(t, day)) {
		load.Bars = append(load.Bars, e.bars(d)...)
	}
	e.store(calendar.At(dayOf(t, day), atPrices), load)
	return e
}

// annualReport returns the i-th company's report of 2024. Companies with higher numbers have better figures.
func annualReport(i int) (facts []equity.Fact, filing equity.Filing) {
	f := equity.Fact{
		CIK: equity.CIK(1000 + i), Taxonomy: "us-gaap", Unit: "USD", End: time.Date(2024, 12, 31, 0, 0, 0, 0, time.UTC), Form: "10-K", FY: 2024, FP: "FY",
		Filed: time.Date(2025, 2, 20, 0, 0, 0, 0, time.UTC), Accession: fmt.Sprintf("%010d-25-000001", 1000+i),
	}
	add := func(tag string, billions float64, year bool) {
		one := f
		one.Tag, one.Value = tag, billions*1e9
		if year {
			one.Start = f.End.AddDate(-1, 0, 1)
		}
		facts = append(facts, one)
	}
	n := float64(i)
	for tag, v := range map[string]float64{
		"Revenues": 10, "GrossProfit": 4 + n/10, "OperatingIncomeLoss": 2 + n/10, "NetIncomeLoss": 1 + n/10,
		"NetCashProvidedByUsedInOperatingActivities": 1.5 + n/8, "PaymentsToAcquirePropertyPlantAndEquipment": 0.4,
	} {
		add(tag, v, true)
	}
	for tag, v := range map[string]float64{
		"Assets": 12, "StockholdersEquity": 6, "AssetsCurrent": 4, "LiabilitiesCurrent": 2, "LongTermDebtNoncurrent": 3 - n/8,
		"CashAndCashEquivalentsAtCarryingValue": 1,
	} {
		add(tag, v, false)
	}
	shares := f
	shares.Taxonomy, shares.Tag, shares.Unit, shares.Value = "dei", "EntityCommonStockSharesOutstanding", "shares", 2e8
	return append(facts, shares), equity.Filing{
		CIK: f.CIK, Accession: f.Accession, Form: f.Form, Filed: f.Filed, AcceptedAt: f.Filed.Add(21 * time.Hour), Period: f.End,
		URL: "https://www.sec.gov/" + f.Accession,
	}
}

// bars returns the closes of all companies and the benchmark on a day.
func (e *editorFixture) bars(day time.Time) (list []equity.Bar) {
	e.t.Helper()
	n := float64(day.Unix() / 86400)
	for i := range 13 {
		cik := equity.CIK(1000 + i)
		if i == 12 {
			cik = equity.Benchmark
		}
		price, err := equity.PriceOf(100*(1+0.1*math.Sin(n/40+float64(i)))*(1+0.01*math.Sin(n*float64(3+i))), 2)
		if err != nil {
			e.t.Fatal(err)
		}
		list = append(list, equity.Bar{CIK: cik, Date: day, Close: price, Volume: 2_000_000, Source: "test"})
	}
	return list
}

func (e *editorFixture) store(at time.Time, load postgres.EquityLoad) {
	e.t.Helper()
	load.Fetch = series.Fetch{
		Source: "test", URL: "https://upstream.example/", Status: 200, FetchedAt: at.UTC(), Bytes: 1, SHA256: fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, at))),
	}
	var err error
	if load.Fetch.ID, err = e.db.RecordFetch(e.t.Context(), load.Fetch, 0); err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.db.StoreEquities(e.t.Context(), task.Fence{}, load); err != nil {
		e.t.Fatal(err)
	}
}

// clock moves the world to a time of day in New York.
func (e *editorFixture) clock(day string, clock time.Duration) time.Time {
	e.t.Helper()
	at := calendar.At(dayOf(e.t, day), clock)
	if err := e.db.SetClock(e.t.Context(), &at); err != nil {
		e.t.Fatal(err)
	}
	return at
}

// trade adds a day's prices.
func (e *editorFixture) trade(day string) {
	e.t.Helper()
	e.store(calendar.At(dayOf(e.t, day), atPrices), postgres.EquityLoad{Bars: e.bars(dayOf(e.t, day))})
}

func (e *editorFixture) did(what string, err error) {
	e.t.Helper()
	if _, skipped := workers.Skipped(err); err != nil && !skipped {
		e.t.Fatalf("%s: %v", what, err)
	}
}

// pick does the evening's work of a day with prices: the pick, the announcement, and the publications after it.
func (e *editorFixture) pick(day string) {
	e.t.Helper()
	ctx := e.t.Context()
	slot := e.clock(day, atPick)
	e.did("pick", e.job.Run(ctx, task.Task{Job: task.Pick, Subject: task.Daily, Slot: slot}))
	slot = e.clock(day, atAnnounce)
	e.did("announce", workers.Announcements{DB: e.db, Log: e.log}.Run(ctx, task.Task{Job: task.Announce, Subject: task.Daily, Slot: slot}))
	slot = e.clock(day, 21*time.Hour)
	for _, subject := range []string{task.Portfolio, task.Events} {
		e.publish(subject, slot)
	}
}

func (e *editorFixture) publish(subject string, slot time.Time) {
	e.t.Helper()
	job := workers.Publications{Picks: e.job, Log: e.log}
	e.did(subject, job.Run(e.t.Context(), task.Task{Job: task.Publish, Subject: subject, Slot: slot}))
}

// says runs a command. It fails unless the command ends with the exit status and prints all of the texts. It returns the output.
func (e *editorFixture) says(status int, want []string, args ...string) string {
	e.t.Helper()
	var out, complaint bytes.Buffer
	code := run(e.t.Context(), append(args, "--world=sandbox", "--database-url="+e.url), &out, &complaint)
	if code != status {
		e.t.Errorf("%v: exit %d, want %d: %s%s", args, code, status, &out, &complaint)
	}
	for _, w := range want {
		if !strings.Contains(out.String()+complaint.String(), w) {
			e.t.Errorf("%v lacks %q:\n%s%s", args, w, &out, &complaint)
		}
	}
	return out.String()
}

// file writes a choice.
func (e *editorFixture) file(text string) string {
	e.t.Helper()
	path := filepath.Join(e.t.TempDir(), "choice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
	return path
}

// noChoice fails if there is a choice for a day.
func (e *editorFixture) noChoice(day string) {
	e.t.Helper()
	if c, err := e.db.EditorChoice(e.t.Context(), dayOf(e.t, day)); !errors.Is(err, postgres.ErrNotFound) {
		e.t.Errorf("a choice stands: %+v (%v)", c, err)
	}
}

// first returns the ticker of the first pick.
func (e *editorFixture) first() string {
	e.t.Helper()
	made, err := e.db.RecordedPicks(e.t.Context())
	if err != nil || len(made) == 0 {
		e.t.Fatalf("%d picks (%v)", len(made), err)
	}
	return made[0].Ticker
}

func TestPicksOnTheCommandLine(t *testing.T) {
	t.Parallel()
	e := newEditorClaimService(t, "2026-03-02")
	e.says(0, []string{"SEQ", "ANNOUNCED"}, "picks", "list")
	e.says(1, []string{"no digest exists yet"}, "portfolio", "digest")
	e.says(0, []string{"0 snapshots"}, "portfolio", "rebuild")
	e.trade("2026-03-03")
	e.pick("2026-03-03")
	first := e.first()
	if out := e.says(0, []string{"2026-03-03", first, "method", "2026-03-03T23:00:00Z", "+0.00"}, "picks"); strings.Count(out, "\n") != 2 {
		t.Errorf("a header and a pick take\n%s", out)
	}
	e.says(0, []string{"12 companies scored, 0 left out", "the method's pick of the day", "10-K", "NetIncomeLoss"}, "picks", "explain", strings.ToLower(first), "--date=2026-03-03")
	var scored struct {
		Ticker, CIK string
		Picked      bool
		Rank        int
		Metrics     []struct {
			Metric string
			Facts  []struct{ Tag, Accession string }
		}
	}
	if out := e.says(0, nil, "picks", "explain", first, "--date=2026-03-03", "--json"); json.Unmarshal([]byte(out), &scored) != nil ||
		scored.Ticker != first || !scored.Picked || scored.Rank != 1 || len(scored.Metrics) < 5 || !strings.Contains(out, "NetIncomeLoss") {
		t.Errorf("the score as JSON: %+v\n%s", scored, out)
	}
	e.says(1, []string{"XYZ was not in the universe on 2026-03-03"}, "picks", "explain", "XYZ", "--json")
	e.says(1, []string{"XYZ was not in the universe on 2026-03-03"}, "picks", "explain", "XYZ")
	e.says(1, []string{"nothing is scored for 2026-03-01"}, "picks", "explain", first, "--date=2026-03-01")
	e.says(2, nil, "picks", "explain", first, "--date=yesterday")

	e.trade("2026-03-04")
	e.clock("2026-03-04", 17*time.Hour)
	e.says(1, []string{"a choice for 2026-03-04"}, "picks", "withdraw", "2026-03-04")
	good := e.file("date: 2026-03-04\nticker: coa\nreason: A strong quarter.\nby: ops@example.com\n")
	e.says(0, []string{"COA on 2026-03-04; by today's prices the rules speak for it, and the job at 17:30 New York takes it"}, "picks", "publish", good)
	e.says(1, []string{"there is a choice for 2026-03-04 already: `tidemark picks withdraw 2026-03-04` withdraws it"}, "picks", "publish", good)
	e.says(0, []string{"the choice of COA for 2026-03-04 is withdrawn"}, "picks", "withdraw", "2026-03-04")
	e.noChoice("2026-03-04")
	e.says(0, nil, "picks", "publish", good)
	e.pick("2026-03-04")
	e.says(0, []string{"COA", "editor"}, "picks", "list", "--limit=1")
	e.says(1, []string{"COA is the pick of 2026-03-04: a recorded pick stays"}, "picks", "withdraw", "2026-03-04")
	e.says(1, []string{"the pick of the day is made"}, "picks", "publish", good)

	e.says(2, []string{"--evidence"}, "picks", "correct", "1", "--what=the wrong price")
	e.says(1, []string{"correct pick 99: an announced pick of that number"}, "picks", "correct", "99", "--what=the wrong price", "--evidence=https://example.com")
	e.says(1, []string{"one line"}, "picks", "correct", "1", "--what=two\nlines", "--evidence=https://example.com")
	e.says(0, []string{"pick 1 stands as it is, with the correction beside it"}, "picks", "correct", "1", "--what=the wrong price", "--evidence=https://example.com", "--by=me")
	if list, err := e.db.Corrections(t.Context()); err != nil || len(list) != 1 || list[0].What != "the wrong price" || list[0].Date != "2026-03-05" && list[0].Date != "2026-03-04" {
		t.Errorf("corrections %+v (%v)", list, err)
	}

	e.trade("2026-03-05")
	e.pick("2026-03-05")
	e.says(0, []string{"2 snapshots: the same, bit for bit"}, "portfolio", "rebuild")
	if out := e.says(0, []string{"DATE", "2026-03-05"}, "portfolio"); strings.Count(out, "\n") != 3 {
		t.Errorf("two days of the portfolio are\n%s", out)
	}
	e.says(0, []string{`"date": "2026-03-05"`, `"positions": `}, "portfolio", "--json")
	e.says(0, []string{"OCCURRED", "New pick: ", "(COA)"}, "portfolio", "events")
	e.says(0, []string{"Nueva selección"}, "portfolio", "events", "--lang=es")
	if out := e.says(0, []string{"SEVERITY"}, "portfolio", "events", "--min-severity=5"); strings.Count(out, "\n") != 1 {
		t.Errorf("events of the highest severity:\n%s", out)
	}
	e.says(2, []string{"tlh"}, "portfolio", "events", "--lang=tlh")
	slot := e.clock("2026-03-07", 1*time.Hour)
	e.publish(task.Digest, slot)
	e.says(0, []string{"2026-W10: The week of March 2 to 6, 2026", "COA"}, "portfolio", "digest")
	e.says(0, []string{"2026-W10: La semana"}, "portfolio", "digest", "--lang=es")
	var digest struct{ Week, Lang, Title, Body string }
	if out := e.says(0, nil, "portfolio", "digest", "--lang=es", "--json"); json.Unmarshal([]byte(out), &digest) != nil || digest.Week != "2026-W10" || digest.Lang != "es" || !strings.Contains(digest.Body, "COA") {
		t.Errorf("the digest as JSON: %+v\n%s", digest, out)
	}
}

// The error names every fault of a file with its correction, and nothing is written.
func TestAChoiceThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	e := newEditorClaimService(t, "2026-03-02")
	e.trade("2026-03-03")
	e.pick("2026-03-03")
	e.trade("2026-03-04")
	e.clock("2026-03-04", 17*time.Hour)
	for _, c := range []struct {
		name, text string
		status     int
		want       []string
	}{
		{"nothing", "", 2, []string{`date: "" is not a date such as 2026-11-20`, "ticker is missing", "reason: one line of at most 2000 bytes"}},
		{"no YAML", "date: [", 2, []string{"choice.yaml", "yaml"}},
		{"a list", "- date: 2026-03-04\n", 2, []string{"choice.yaml"}},
		{"a member that does not exist", "date: 2026-03-04\nticker: COA\nreason: x\nweight: 5\n", 2, []string{"weight"}},
		{"another form of date", "date: 4 March 2026\nticker: COA\nreason: x\n", 2, []string{`"4 March 2026" is not a date such as 2026-11-20`}},
		{"a day that does not exist", "date: 2026-02-30\nticker: COA\nreason: x\n", 2, []string{"2026-02-30"}},
		{"no ticker", "date: 2026-03-04\nreason: x\n", 2, []string{"ticker is missing"}},
		{"no reason", "date: 2026-03-04\nticker: COA\nreason: '  '\n", 2, []string{"reason: one line"}},
		{"a reason of two lines", "date: 2026-03-04\nticker: COA\nreason: \"x\\ny\"\n", 2, []string{"reason: one line"}},
		{"a long reason", "date: 2026-03-04\nticker: COA\nreason: " + strings.Repeat("x", 2001) + "\n", 2, []string{"at most 2000 bytes"}},
		{"a price with a sign", "date: 2026-03-04\nticker: COA\nreason: x\nprice: -5\n", 2, []string{"price: "}},
		{"a price in words", "date: 2026-03-04\nticker: COA\nreason: x\nprice: ten\n", 2, []string{"price: "}},
		{"two faults at once", "date: tomorrow\nticker: COA\nreason: x\nprice: ten\n", 2, []string{"date: ", "price: "}},
		{"yesterday", "date: 2026-03-03\nticker: COA\nreason: x\n", 1, []string{"today is 2026-03-04: a pick is made on its day, never before or later"}},
		{"tomorrow", "date: 2026-03-05\nticker: COA\nreason: x\n", 1, []string{"today is 2026-03-04"}},
		{"nobody's ticker", "date: 2026-03-04\nticker: XYZ\nreason: x\n", 1, []string{"XYZ is not in the universe"}},
		{"what was picked yesterday", "date: 2026-03-04\nticker: " + e.first() + "\nreason: x\n", 1, []string{"picked on 2026-03-03"}},
		{"another close", "date: 2026-03-04\nticker: COA\nreason: x\nprice: '1.00'\n", 1, []string{"COA closed at ", "the choice expects 1.00"}},
	} {
		e.says(c.status, c.want, "picks", "publish", e.file(c.text))
		e.noChoice("2026-03-04")
	}
	e.says(2, []string{"does not exist"}, "picks", "publish", filepath.Join(t.TempDir(), "none.yaml"))
	e.says(2, nil, "picks", "publish")

	// No choice is possible on a day on which the exchange is closed.
	e.clock("2026-03-07", 12*time.Hour)
	e.says(1, []string{"no trading day: "}, "picks", "publish", e.file("date: 2026-03-07\nticker: COA\nreason: x\n"))
	e.noChoice("2026-03-07")
	// Before the close, only known data are checked.
	e.clock("2026-03-09", 12*time.Hour)
	e.says(1, []string{"it is not in the universe"}, "picks", "publish", e.file("date: 2026-03-09\nticker: XYZ\nreason: x\n"))
	e.says(0, []string{"it is checked again when the day's prices are there"}, "picks", "publish", e.file("date: 2026-03-09\nticker: COA\nreason: x\n"))
}
