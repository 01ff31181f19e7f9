package postgres_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/locale"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
)

func card(t *testing.T, cik equity.CIK, ticker, day string) postgres.Research {
	t.Helper()
	r := postgres.Research{
		CIK: cik, Day: date(t, day), Ticker: ticker, Name: ticker + " Inc.", Exchange: "XNAS", Sector: "Technology", Region: "North America",
		Country: "US", AsOf: calendar.At(date(t, day), 17*time.Hour), Texts: map[picks.Lang]postgres.ResearchText{},
		Facts:   postgres.DataOf(picks.Data{{ID: "price", Value: "12.50", Unit: locale.Dollars, AsOf: date(t, day), Source: -1}}),
		Sources: postgres.DocumentsOf([]picks.Source{{Title: "Form 10-K", URL: "https://example.com/10k"}}),
	}
	for _, lang := range picks.Langs() {
		r.Texts[lang] = postgres.ResearchTextOf(picks.Texts{Lang: lang, SummaryWhy: "a", WhatItDoes: "b", WhyChosen: "c", MainRisk: "d", FullResearch: "e"}, "rules")
	}
	return r
}

func TestACardIsPublicOnceItsPickIs(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	api := as(t, r.url, postgres.RoleAPI)
	pick, added, err := r.db.RecordPick(t.Context(), task.Fence{}, newPick("AAPL", "12.50", "2026-03-02"), card(t, 320193, "AAPL", "2026-03-02"), 0)
	if err != nil || !added || pick.Seq != 1 {
		t.Fatalf("pick %d, added %v, %v", pick.Seq, added, err)
	}
	if _, again, err := r.db.RecordPick(t.Context(), task.Fence{}, newPick("MSFT", "1.50", "2026-03-02"), card(t, 789019, "MSFT", "2026-03-02"), 0); again || err != nil {
		t.Errorf("a second pick of the day: added %v, %v", again, err)
	}
	if n, err := r.db.AddResearch(t.Context(), task.Fence{}, []postgres.Research{card(t, 320193, "AAPL", "2026-03-02"), card(t, 66740, "MMM", "2026-03-02")}); err != nil || n != 1 {
		t.Errorf("%d cards added (%v), want the one of the company that has none", n, err)
	}
	tickers := func() (list []string) {
		t.Helper()
		cards, err := api.LatestResearch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cards {
			list = append(list, c.Ticker)
		}
		return list
	}
	if d := cmp.Diff([]string{"MMM"}, tickers()); d != "" {
		t.Errorf("before the announcement (-want +got):\n%s", d)
	}
	if c, err := api.ResearchOfPick(t.Context(), 1); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("the card of the pick before its announcement: %+v (%v)", c, err)
	}
	if _, err := api.PickBasis(t.Context(), date(t, "2026-03-02")); err == nil {
		t.Error("the API's role learns that there is a pick")
	}
	r.announce("2026-03-02")
	if d := cmp.Diff([]string{"AAPL", "MMM"}, tickers()); d != "" {
		t.Errorf("after the announcement (-want +got):\n%s", d)
	}
	// Cached cards are not read again: known cards come back unchanged, and new cards are added.
	cards, err := api.LatestResearch(t.Context())
	if err != nil || len(cards) != 2 {
		t.Fatalf("%d cards, %v", len(cards), err)
	}
	known := cards[1]
	known.Name = "as the reader has it"
	if again, err := api.LatestResearch(t.Context(), known); err != nil || len(again) != 2 || again[1].Name != known.Name || cmp.Diff(again[0], cards[0]) != "" {
		t.Errorf("beside a known card: %+v, %v", again, err)
	}
	for after, want := range map[int64]int{0: 1, 1: 0} {
		if list, err := api.PickSummaries(t.Context(), after); err != nil || len(list) != want {
			t.Errorf("%d summaries of picks after %d (%v), want %d", len(list), after, err, want)
		}
	}
	stocks, err := api.Stocks(t.Context())
	if err != nil || len(stocks) != 2 || stocks[0].FirstPickedOn == nil || *stocks[0].FirstPickedOn != "2026-03-02" || stocks[1].FirstPickedOn != nil {
		t.Errorf("stocks %+v (%v)", stocks, err)
	}
	of, err := api.ResearchOfPick(t.Context(), 1)
	if err != nil || of.CIK != 320193 {
		t.Fatalf("card %+v (%v)", of, err)
	}
	// printf 'a\nb\nc\nd\ne\n' | sha256sum
	if got := of.Texts["hi"].ContentSHA256; got != "86dc03602dcf385217216784784a8ecf20e6400decc3208170b12fcb0afb6698" {
		t.Errorf("content %s", got)
	}
	missing := card(t, 1, "X", "2026-03-02")
	delete(missing.Texts, "hi")
	if _, err := r.db.AddResearch(t.Context(), task.Fence{}, []postgres.Research{missing}); err == nil {
		t.Error("a card without Hindi is taken")
	}
	// The database itself requires English; the program decides on the other languages.
	for texts, ok := range map[string]bool{
		`{"en": {}}`: true, `{"en": {}, "fr": {}}`: true, `{"fr": {}}`: false, `{"en": null}`: false, `{"en": {}, "Français": {}}`: false, `[]`: false, `{}`: false,
	} {
		err := exec(t, r.url, "", fmt.Sprintf(`do $$ begin if not written('%s') then raise 'refused'; end if; end $$`, texts))
		if (err == nil) != ok {
			t.Errorf("%s is taken: %t, %v", texts, err == nil, err)
		}
	}
}

// portfolio is a portfolio of two sessions with one position.
func portfolio(t *testing.T, second float64) picks.Portfolio {
	t.Helper()
	return picks.Portfolio{
		Inception: date(t, "2026-03-02"), CashPct: 95,
		Snapshots: []picks.Snapshot{
			{Date: date(t, "2026-03-02"), BenchmarkReturnPct: math.NaN(), BenchmarkDailyReturnPct: math.NaN(), Positions: 1, CashPct: 95},
			{Date: date(t, "2026-03-03"), ReturnPct: second, DailyReturnPct: second, BenchmarkReturnPct: math.NaN(), BenchmarkDailyReturnPct: math.NaN(), Positions: 1, CashPct: 94.9},
		},
		Positions: []picks.Position{{
			Seq: 1, CIK: 320193, Holding: 320193, Ticker: "AAPL", Sector: picks.Technology, Region: picks.NorthAmerica, Country: "US",
			EntryDate: date(t, "2026-03-02"), WeightPct: 5, ReturnPct: 2, ContributionPct: second, PricedOn: date(t, "2026-03-03"),
		}},
	}
}

func TestALateActionMakesANewEdition(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-03")
	third := 0.1 / 3
	first, later := calendar.At(date(t, "2026-03-03"), 18*time.Hour), calendar.At(date(t, "2026-03-04"), 18*time.Hour)
	for step, c := range []struct {
		second float64
		asOf   time.Time
		added  int64
	}{
		{third, first, 2}, {third, first, 0}, {third, later, 0}, {math.Nextafter(third, 1), later, 1}, {third, first, 0},
	} {
		if n, err := r.db.SavePortfolio(t.Context(), task.Fence{}, portfolio(t, c.second), c.asOf); err != nil || n != c.added {
			t.Errorf("step %d added %d snapshots (%v), want %d", step, n, err, c.added)
		}
	}
	api := as(t, r.url, postgres.RoleAPI)
	all, err := api.PortfolioSnapshots(t.Context())
	if err != nil || len(all) != 3 || all[1].Edition != 1 || all[2].Edition != 2 || all[1].ReturnPct != third || all[2].ReturnPct == third {
		t.Fatalf("snapshots %+v (%v)", all, err)
	}
	history, err := api.PortfolioHistory(t.Context())
	if err != nil || len(history) != 2 || history[1].Edition != 2 || history[0].BenchmarkReturnPct != nil {
		t.Errorf("history %+v (%v)", history, err)
	}
	state, err := api.PortfolioState(t.Context())
	if err != nil || !state.AsOf.Equal(later) || len(state.Positions) != 1 || *state.Positions[0].ReturnPct != 2 {
		t.Errorf("state %+v (%v)", state, err)
	}
	wrong := portfolio(t, 1)
	wrong.CashPct = 94
	if _, err := r.db.SavePortfolio(t.Context(), task.Fence{}, wrong, later.Add(time.Hour)); err == nil {
		t.Error("weights that do not add up to 100 are taken")
	}
}

func TestAnEventThatIsFoundLateIsRecordedLate(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-03") // its clock is stopped
	event := func(cik equity.CIK, day string) picks.Event {
		return picks.AnnouncedEvent(equity.Company{CIK: cik, Name: "Some Inc.", Listings: []equity.Listing{{Ticker: "SOME"}}}, date(t, day), "12.50", calendar.At(date(t, day), 18*time.Hour))
	}
	newer, older := []picks.Event{event(1, "2026-03-02"), event(2, "2026-03-02"), event(1, "2026-03-02")}, []picks.Event{event(3, "2026-02-02"), event(1, "2026-03-02")}
	for _, c := range []struct {
		events []picks.Event
		added  int64
	}{{newer, 2}, {older, 1}, {newer, 0}, {nil, 0}} {
		if n, err := r.db.AddPortfolioEvents(t.Context(), task.Fence{}, c.events); err != nil || n != c.added {
			t.Errorf("%d events added (%v), want %d", n, err, c.added)
		}
	}
	api := as(t, r.url, postgres.RoleAPI)
	feed, err := api.PortfolioEvents(t.Context(), postgres.EventFilter{})
	if err != nil || len(feed) != 3 || feed[0].CIK != 3 || len(feed[0].Texts) != len(picks.Langs()) {
		t.Fatalf("feed %+v (%v)", feed, err)
	}
	if feed[0].Key() <= feed[1].Key() || feed[1].Key() <= feed[2].Key() {
		t.Errorf("keys %s, %s, %s do not fall", feed[0].Key(), feed[1].Key(), feed[2].Key())
	}
	if rest, err := api.PortfolioEvents(t.Context(), postgres.EventFilter{Before: feed[0].Key(), Limit: 1}); err != nil || len(rest) != 1 || rest[0].ID != feed[1].ID {
		t.Errorf("after the first comes %+v (%v)", rest, err)
	}
	if fresh, err := api.PortfolioEvents(t.Context(), postgres.EventFilter{After: feed[1].Key()}); err != nil || len(fresh) != 1 || fresh[0].CIK != 3 {
		t.Errorf("since the second came %+v (%v)", fresh, err)
	}
	if _, err := api.PortfolioEvents(t.Context(), postgres.EventFilter{After: "now"}); err == nil {
		t.Error("a key that is none is taken")
	}
}

func TestAnEditorChoosesOncePerDay(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-03")
	choice := postgres.EditorChoice{Date: date(t, "2026-03-03"), Ticker: "AAPL", Reason: "because", By: "me"}
	id, err := r.db.AddEditorChoice(t.Context(), choice)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.AddEditorChoice(t.Context(), choice); !errors.Is(err, postgres.ErrUnderWay) {
		t.Errorf("a second choice: %v", err)
	}
	if err := r.db.SettleEditorChoice(t.Context(), task.Fence{}, id, postgres.ChoiceWithdrawn, "a slip"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.EditorChoice(t.Context(), choice.Date); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("a withdrawn choice: %v", err)
	}
	if id, err = r.db.AddEditorChoice(t.Context(), choice); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.db.RecordPick(t.Context(), task.Fence{}, newPick("AAPL", "12.50", "2026-03-03"), card(t, 320193, "AAPL", "2026-03-03"), id); err != nil {
		t.Fatal(err)
	}
	if got, err := r.db.EditorChoice(t.Context(), choice.Date); err != nil || got.State != postgres.ChoiceTaken {
		t.Errorf("the choice is %s (%v)", got.State, err)
	}
	if basis, err := r.db.PickBasis(t.Context(), choice.Date); err != nil || basis != calendar.At(choice.Date, 17*time.Hour) {
		t.Errorf("the pick was made as of %s (%v)", basis, err)
	}
}

func TestPublicationsStand(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-03")
	if _, err := r.db.AddResearch(t.Context(), task.Fence{}, []postgres.Research{card(t, 1, "A", "2026-03-02")}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.SavePortfolio(t.Context(), task.Fence{}, portfolio(t, 1), calendar.At(date(t, "2026-03-03"), 18*time.Hour)); err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		`update research set name = 'B'`, `delete from portfolio_snapshots`, `update portfolio_state set date = '2026-03-02'`,
		`truncate research`, `truncate portfolio_snapshots`, `truncate portfolio_events`, `truncate economic_events`, `truncate digests`,
	} {
		if err := exec(t, r.url, "", sql); err == nil {
			t.Errorf("%s is done", sql)
		}
	}
	for _, sql := range []string{
		`select from research`, `select from editor_choices`, `insert into digests default values`, `update portfolio_state set date = date`,
	} {
		if err := exec(t, r.url, postgres.RoleAPI, sql); err == nil {
			t.Errorf("the API's role can %s", sql)
		}
	}
}
