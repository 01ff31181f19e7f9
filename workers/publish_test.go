package workers_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/workers"
)

// exec runs SQL as the superuser.
func (m *picksFixture) exec(sql string) {
	m.t.Helper()
	c, err := pgx.Connect(m.t.Context(), m.url)
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = c.Close(m.t.Context()) }()
	if _, err := c.Exec(m.t.Context(), sql); err != nil {
		m.t.Fatal(err)
	}
}

func (m *picksFixture) rebuild() workers.Rebuilt {
	m.t.Helper()
	r, err := workers.Publications{Picks: m.picks, Log: m.picks.Log}.Rebuild(m.t.Context(), nil)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func TestThePortfolioIsReckonedAgainBitForBit(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-02-24")
	days := []string{"2026-02-25", "2026-02-26", "2026-02-27", "2026-03-02", "2026-03-03"}
	for _, day := range days {
		m.live(day)
	}
	history, err := m.api.PortfolioHistory(t.Context())
	if err != nil || len(history) != 4 {
		t.Fatalf("%d snapshots (%v), want one of each session after the first pick", len(history), err)
	}
	if r := m.rebuild(); r.Snapshots != 4 || len(r.Differences) > 0 {
		t.Errorf("rebuilt: %+v", r)
	}

	// A dividend of last week is told late, of a company that is held.
	made, err := m.api.AnnouncedPicks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bars := slices.DeleteFunc(m.bars(on(t, "2026-03-04")), func(b equity.Bar) bool { return b.CIK == made[0].CIK })
	load := postgres.EquityLoad{Bars: bars, Actions: []equity.Action{{CIK: made[0].CIK, Kind: equity.Dividend, Date: on(t, "2026-02-27"), Cash: "3.00", Source: "test"}}}
	for _, day := range calendar.Between(on(t, "2026-02-20"), on(t, "2026-03-04")) {
		for _, b := range m.bars(day) {
			if b.CIK == made[0].CIK {
				load.Bars = append(load.Bars, b)
			}
		}
	}
	m.store(calendar.At(on(t, "2026-03-04"), priceClock), load)
	m.pick("2026-03-04")
	m.clock("2026-03-04", announceClock)
	if err := m.run(task.Announce, task.Daily, calendar.At(on(t, "2026-03-04"), announceClock)); err != nil {
		t.Fatal(err)
	}
	all, err := m.api.PortfolioSnapshots(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s %d", s.Date.Format("01-02"), s.Edition))
	}
	want := []string{"02-26 1", "02-27 1", "02-27 2", "03-02 1", "03-02 2", "03-03 1", "03-03 2", "03-04 1"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("editions (-want +got):\n%s", d)
	}
	if all[1].ReturnPct >= all[2].ReturnPct {
		t.Errorf("with the dividend the return is %v, without it %v", all[2].ReturnPct, all[1].ReturnPct)
	}
	if r := m.rebuild(); r.Snapshots != len(want) || len(r.Differences) > 0 {
		t.Errorf("rebuilt: %+v", r)
	}

	m.exec(`alter table portfolio_snapshots disable trigger all;
		update portfolio_snapshots set return_pct = return_pct + 1e-14 where date = '2026-03-02' and edition = 2`)
	if r := m.rebuild(); len(r.Differences) != 1 || !strings.HasPrefix(r.Differences[0], "2026-03-02 (edition 2): stored return ") {
		t.Errorf("one bit was changed: %v", r.Differences)
	}
}

func TestAPortfolioWaitsForItsPrices(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.live("2026-03-03")
	m.live("2026-03-04")
	m.clock("2026-03-05", announceClock)
	run := m.begin(task.Publish, task.Portfolio, calendar.At(on(t, "2026-03-05"), announceClock))
	job := m.handler(task.Publish)
	if err := job(t.Context(), run); err == nil || !strings.HasPrefix(err.Error(), "0 of 2 closing prices of 2026-03-05 are there") {
		t.Errorf("before the cutoff: %v", err)
	}
	m.clock("2026-03-05", cutoffClock)
	if err := job(t.Context(), run); err != nil {
		t.Errorf("after the cutoff: %v", err)
	}
	m.store(calendar.At(on(t, "2026-03-05"), cutoffClock+time.Minute), postgres.EquityLoad{Bars: m.bars(on(t, "2026-03-05"))})
	m.clock("2026-03-06", 8*time.Hour)
	if err := job(t.Context(), m.again(run)); err != nil {
		t.Error(err)
	}
	history, err := m.api.PortfolioHistory(t.Context())
	if err != nil || len(history) != 2 || history[1].Date.Format(time.DateOnly) != "2026-03-05" {
		t.Errorf("history %+v (%v)", history, err)
	}
}

func TestALatePickIsBoughtAfterItsAnnouncement(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.trade("2026-03-03")
	m.pick("2026-03-03")
	// The announcement comes a day late: after the close of Wednesday.
	m.trade("2026-03-04")
	m.clock("2026-03-04", 17*time.Hour)
	if err := m.run(task.Announce, task.Daily, calendar.At(on(t, "2026-03-03"), announceClock)); err != nil {
		t.Fatal(err)
	}
	m.live("2026-03-05")
	state, err := m.api.PortfolioState(t.Context())
	if err != nil || len(state.Positions) != 1 || state.Positions[0].EntryDate != "2026-03-05" {
		t.Errorf("positions %+v (%v), want the entry at the close of the 5th", state.Positions, err)
	}
}

func TestNothingFiledOnTheDayIsRead(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.trade("2026-03-03")
	at := settledAt(t, "2026-03-03")
	before, err := m.picks.Market(t.Context(), on(t, "2026-03-03"), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	var load postgres.EquityLoad
	for i := range m.ciks {
		facts, _ := books(i)
		for _, f := range facts {
			f.Filed, f.Accession, f.Value = on(t, "2026-03-03"), f.Accession+"9", f.Value*float64(1+i)
			load.Facts = append(load.Facts, f)
		}
	}
	m.store(calendar.At(on(t, "2026-03-03"), 12*time.Hour), load)
	after, err := m.picks.Market(t.Context(), on(t, "2026-03-03"), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := picks.Rank(before, picks.DefaultRules()), picks.Rank(after, picks.DefaultRules())
	if len(first.Scores) != 12 {
		t.Fatalf("%d companies are scored: %v", len(first.Scores), first.Excluded)
	}
	for i := range first.Scores {
		if d := cmp.Diff(first.Scores[i].Explain(), second.Scores[i].Explain()); d != "" {
			t.Errorf("what was filed on the day changed the score (-before +after):\n%s", d)
		}
	}
	next, err := m.picks.Market(t.Context(), on(t, "2026-03-04"), at, nil)
	if err != nil || len(next.Candidates[0].Facts) <= len(after.Candidates[0].Facts) {
		t.Errorf("on the next day %d facts are read, on the day %d (%v)", len(next.Candidates[0].Facts), len(after.Candidates[0].Facts), err)
	}
}

func settledAt(t *testing.T, day string) time.Time {
	t.Helper()
	return calendar.At(on(t, day), pickClock-2*time.Minute)
}

// figures returns the numbers of a text, read as its language writes them, each once. An amount with a word for its size, in any language,
// is converted to units.
func figures(lang picks.Lang, text string) []string {
	text = strings.Map(func(r rune) rune {
		if r >= '०' && r <= '९' {
			return '0' + r - '०'
		}
		return r
	}, regexp.MustCompile(`https?://\S+`).ReplaceAllString(text, ""))
	var all []string
	for _, at := range regexp.MustCompile(`\d+(?:[.,\x{00A0}\x{202F}]\d+)*`).FindAllStringIndex(text, -1) {
		n := text[at[0]:at[1]]
		if lang == "es" || lang == "pt" {
			n = strings.ReplaceAll(strings.NewReplacer(".", "", "\u00a0", "", "\u202f", "").Replace(n), ",", ".")
		} else {
			n = strings.ReplaceAll(n, ",", "")
		}
		word := append(strings.Fields(text[at[1]:]), "")[0]
		if power := locale.Powers[languages.Find(lang).Sizes[strings.TrimRight(word, ".,;:)।")]]; power > 0 {
			n = locale.Shifted(n, power)
			if whole, fraction, found := strings.Cut(n, "."); found && strings.Trim(fraction, "0") == "" {
				n = whole
			}
		}
		all = append(all, n)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// data are stored facts as package picks has them.
func data(t *testing.T, stored []postgres.Datum) (d picks.Data) {
	t.Helper()
	for _, s := range stored {
		one := picks.Datum{ID: s.ID, Value: s.Value, Unit: picks.Unit(s.Unit), Source: s.Source}
		if s.AsOf != "" {
			one.AsOf = on(t, s.AsOf)
		}
		d = append(d, one)
	}
	return d
}

func TestAWeekIsPublishedInFourLanguages(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-02-27")
	m.inflation()
	for _, day := range []string{"2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"} {
		m.live(day)
		if day == "2026-03-04" {
			m.report(day)
		}
		m.clock(day, 20*time.Hour)
		for _, subject := range []string{task.Economy, task.Events} {
			if err := m.run(task.Publish, subject, calendar.At(on(t, day), 20*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	saturday := time.Date(2026, 3, 7, 6, 0, 0, 0, time.UTC)
	if err := m.db.SetClock(t.Context(), &saturday); err != nil {
		t.Fatal(err)
	}
	// Everything twice, the first attempt stopped after its commit.
	for _, subject := range []string{task.Research, task.Digest, task.Events, task.Economy, task.Portfolio} {
		run := m.begin(task.Publish, subject, saturday)
		if err := m.handler(task.Publish)(t.Context(), run); err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		once := m.published()
		if err := m.finish(m.again(run)); err != nil {
			t.Fatalf("%s again: %v", subject, err)
		}
		if d := cmp.Diff(once, m.published()); d != "" {
			t.Errorf("%s twice (-once +twice):\n%s", subject, d)
		}
	}

	types := map[string]int{}
	for _, e := range m.published().Events {
		types[e.Type]++
	}
	if types["pick_announced"] != 5 || types["filing"] != 1 || types["dividend"] != 1 {
		t.Errorf("events %v, want five announcements, the report and the dividend of a company that is held", types)
	}
	all := m.published()
	if len(all.Research) != 12 || len(all.Economic) != 1 || len(all.Digests) != 1 {
		t.Fatalf("%d cards, %d macro events, %d digests", len(all.Research), len(all.Economic), len(all.Digests))
	}
	digest := all.Digests[0]
	if digest.Week != "2026-W10" || len(digest.Picks) != 5 || len(digest.Economic) != 1 || len(digest.Events) < 5 || digest.Delta.ReturnPct == nil {
		t.Errorf("digest %+v", digest)
	}
	if e := all.Economic[0]; e.ID != "us-cpi-2026-01" || e.Actual != "0.5" || *e.Expected != "0.2" || *e.Previous != "0.2" {
		t.Errorf("macro event %+v", e)
	}

	check := func(what string, facts []postgres.Datum, text func(picks.Lang) string) {
		t.Helper()
		english := figures(picks.English, text(picks.English))
		for _, lang := range picks.Langs() {
			if err := picks.CheckNumbers(text(lang), lang, data(t, facts)); err != nil {
				t.Errorf("%s in %s: %v", what, lang, err)
			}
			if d := cmp.Diff(english, figures(lang, text(lang))); d != "" {
				t.Errorf("%s: numbers in %s (-en +%s):\n%s", what, lang, lang, d)
			}
		}
	}
	for _, c := range all.Research {
		check("card of "+c.Ticker, c.Facts, func(l picks.Lang) string { return c.Texts[l].FullResearch + "\n" + c.Texts[l].SummaryWhy })
	}
	for _, e := range all.Events {
		check("event "+e.Type, e.Facts, func(l picks.Lang) string { return e.Texts[l].Title + "\n" + e.Texts[l].Body })
	}
	for _, e := range all.Economic {
		check("macro event", e.Facts, func(l picks.Lang) string { return e.Texts[l].Summary + "\n" + e.Texts[l].Analysis })
	}
	check("digest", digest.Facts, func(l picks.Lang) string { return digest.Texts[l].Body })
}

// archiveFixture is all that is published.
type archiveFixture struct {
	Research  []postgres.Research
	Events    []postgres.PortfolioEvent
	Economic  []postgres.EconomicEvent
	Digests   []postgres.Digest
	Snapshots []postgres.PortfolioSnapshot
	State     postgres.PortfolioState
}

func (m *picksFixture) published() (s archiveFixture) {
	m.t.Helper()
	var errs [6]error
	ctx := m.t.Context()
	s.Research, errs[0] = m.api.LatestResearch(ctx)
	s.Events, errs[1] = m.api.PortfolioEvents(ctx, postgres.EventFilter{})
	s.Economic, errs[2] = m.api.EconomicEvents(ctx, 0)
	s.Digests, errs[3] = m.api.Digests(ctx, 0)
	s.Snapshots, errs[4] = m.api.PortfolioSnapshots(ctx)
	s.State, errs[5] = m.api.PortfolioState(ctx)
	for _, err := range errs {
		if err != nil {
			m.t.Fatal(err)
		}
	}
	return s
}

// report lets a company that is held file an annual report and pay a dividend.
func (m *picksFixture) report(day string) {
	m.t.Helper()
	made, err := m.api.AnnouncedPicks(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	cik := made[0].CIK
	// One more came in before the company was picked: no event of the portfolio.
	load := postgres.EquityLoad{
		Filings: []equity.Filing{
			{
				CIK: cik, Accession: "0000009999-26-000001", Form: "10-K", Filed: on(m.t, day), AcceptedAt: calendar.At(on(m.t, day), 17*time.Hour),
				URL: "https://www.sec.gov/x",
			},
			{
				CIK: cik, Accession: "0000009999-26-000002", Form: "10-Q", Filed: on(m.t, made[0].Date), AcceptedAt: calendar.At(on(m.t, made[0].Date), 12*time.Hour),
				URL: "https://www.sec.gov/y",
			},
		},
		Actions: []equity.Action{{CIK: cik, Kind: equity.Dividend, Date: on(m.t, day), Cash: "0.55", Source: "test"}},
	}
	for _, d := range calendar.Between(on(m.t, "2026-02-27"), on(m.t, day)) {
		for _, b := range m.bars(d) {
			if b.CIK == cik {
				load.Bars = append(load.Bars, b)
			}
		}
	}
	m.store(calendar.At(on(m.t, day), 19*time.Hour), load)
}

// inflation stores consumer prices that rose by 0.2 percent a month, and by 0.5 in the last, which was published on 4 March 2026.
func (m *picksFixture) inflation() {
	m.t.Helper()
	load := postgres.Load{FetchedAt: calendar.At(on(m.t, "2026-02-27"), 12*time.Hour).UTC(), Published: func(_ series.ID, month time.Time) time.Time {
		return month.AddDate(0, 1, 12)
	}}
	level := 300.0
	months := []series.Reading{}
	for month := on(m.t, "2022-01-01"); month.Before(on(m.t, "2026-01-01")); month = month.AddDate(0, 1, 0) {
		months = append(months, series.Reading{Series: "fred.CPIAUCSL", ObservedAt: month, Value: level})
		level *= 1.002
	}
	load.Readings = months
	store := func(l postgres.Load) {
		m.t.Helper()
		id, err := m.db.RecordFetch(m.t.Context(), series.Fetch{
			Source: "fred-cpi", URL: "https://upstream.example/cpi", Status: 200, FetchedAt: l.FetchedAt, SHA256: fmt.Sprintf("%064x", len(l.Readings)), Bytes: 1,
		}, 0)
		if err != nil {
			m.t.Fatal(err)
		}
		l.FetchID = id
		if _, err := m.db.StoreLoads(m.t.Context(), task.Fence{}, []postgres.Load{l}, nil); err != nil {
			m.t.Fatal(err)
		}
	}
	store(load)
	load.FetchedAt = calendar.At(on(m.t, "2026-03-04"), 9*time.Hour).UTC()
	load.Readings = append(slices.Clone(months), series.Reading{Series: "fred.CPIAUCSL", ObservedAt: on(m.t, "2026-01-01"), Value: level / 1.002 * 1.005})
	load.Published = func(series.ID, time.Time) time.Time { return load.FetchedAt }
	store(load)
}
