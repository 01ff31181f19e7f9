package workers_test

import (
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/workers"
)

// says fails unless the record's lines begin as wanted.
func (m *picksFixture) says(want ...string) {
	m.t.Helper()
	got := m.record()
	for i := range got {
		if date, rest, _ := strings.Cut(got[i], " "); !strings.HasPrefix(rest, "gap: ") {
			got[i] = date + " pick"
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		m.t.Errorf("record (-want +got):\n%s", d)
	}
}

const missedDay = " gap: no pick was made on the day"

func TestEveryTradingDayHasItsPick(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2025-11-25")
	// Thanksgiving, the half day after it, and a weekend.
	m.live("2025-11-26")
	closed := func(day string) {
		t.Helper()
		m.clock(day, pickClock)
		run := m.begin(task.Pick, task.Daily, calendar.At(on(t, day), pickClock))
		if reason, skipped := workers.Skipped(m.picks.Run(t.Context(), run)); !skipped || !strings.HasPrefix(reason, "no trading day: ") {
			t.Errorf("on %s: %q, want it skipped", day, reason)
		}
	}
	closed("2025-11-27")
	m.live("2025-11-28")
	closed("2025-11-29")
	m.live("2025-12-01")
	m.says("2025-11-26 pick", "2025-11-28 pick", "2025-12-01 pick")

	made, err := m.api.AnnouncedPicks(t.Context())
	if err != nil || len(made) != 3 {
		t.Fatalf("%d picks are announced (%v)", len(made), err)
	}
	closes := m.bars(on(t, "2025-11-28"))
	for _, b := range closes {
		if b.CIK == made[1].CIK && made[1].Price != string(b.Close) {
			t.Errorf("the pick of the half day has the price %s, its close is %s", made[1].Price, b.Close)
		}
	}
	m.wantUniverse("2025-11-26", "2025-11-28", "2025-12-01")
}

// wantUniverse fails unless each of some days has the mean return, since the one before, of the companies scored on that.
func (m *picksFixture) wantUniverse(days ...string) {
	m.t.Helper()
	list, err := m.api.UniverseDays(m.t.Context(), on(m.t, days[0]))
	if err != nil || len(list) != len(days) || list[0].ReturnPct != nil || list[0].Measured != 0 {
		m.t.Fatalf("the days of the universe are %+v (%v)", list, err)
	}
	for i, u := range list {
		if u.Day.Format(time.DateOnly) != days[i] || len(u.Companies) != len(m.ciks) {
			m.t.Errorf("%s has %d companies, want %d on %s", u.Day.Format(time.DateOnly), len(u.Companies), len(m.ciks), days[i])
		}
		if i == 0 {
			continue
		}
		before, mean := m.bars(on(m.t, days[i-1])), 0.0
		for j, b := range m.bars(u.Day) {
			if b.CIK != equity.Benchmark {
				mean += 100 * (b.Close.Float()/before[j].Close.Float() - 1) / float64(len(m.ciks))
			}
		}
		if u.ReturnPct == nil || math.Abs(*u.ReturnPct-mean) > 1e-9 || u.Measured != len(m.ciks) {
			m.t.Errorf("the companies of %s returned %v by %d, want %v", days[i-1], u.ReturnPct, u.Measured, mean)
		}
	}
}

func TestAPickStaysUnseenUntilItsAnnouncement(t *testing.T) {
	t.Parallel()
	// The clocks of New York go forward on 8 March 2026.
	m := newMarket(t, "2026-03-05")
	m.live("2026-03-06")
	m.trade("2026-03-09")
	m.pick("2026-03-09")
	slot := calendar.At(on(t, "2026-03-09"), announceClock)
	if slot.UTC().Hour() != 22 {
		t.Fatalf("six in the evening is %s", slot.UTC())
	}
	m.clock("2026-03-09", announceClock-time.Second)
	if err := m.run(task.Announce, task.Daily, slot); err != nil {
		t.Fatal(err)
	}
	if made, err := m.api.AnnouncedPicks(t.Context()); err != nil || len(made) != 1 {
		t.Errorf("%d picks are public a second before (%v)", len(made), err)
	}
	m.clock("2026-03-09", announceClock)
	if err := m.run(task.Announce, task.Daily, slot.Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	made, err := m.api.AnnouncedPicks(t.Context())
	if err != nil || len(made) != 2 || !made[1].AnnouncedAt.Equal(slot) {
		t.Errorf("picks %+v (%v)", made, err)
	}
	for seq := range int64(2) {
		if _, err := m.api.ResearchOfPick(t.Context(), seq+1); err != nil {
			t.Error(err)
		}
	}
}

func TestADayWithoutPricesIsAGap(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.live("2026-03-03")
	m.trade("2026-03-04", m.ciks[3:]...)
	slot := calendar.At(on(t, "2026-03-04"), pickClock)
	m.clock("2026-03-04", pickClock)
	run := m.begin(task.Pick, task.Daily, slot)
	err := m.picks.Run(t.Context(), run)
	if err == nil || !strings.HasPrefix(err.Error(), "3 of 12 closing prices of 2026-03-04 are there; among the missing ones COD, COE") {
		t.Fatalf("before the cutoff: %v", err)
	}
	m.says("2026-03-03 pick")
	m.clock("2026-03-04", cutoffClock)
	if err := m.picks.Run(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	const gap = "2026-03-04 gap: no pick: 3 of 12 closing prices of 2026-03-04 are there; among the missing ones COD, COE, COF, COG, COH"
	m.says("2026-03-03 pick", gap)
	// The prices come, too late.
	m.store(calendar.At(on(t, "2026-03-04"), cutoffClock+time.Minute), postgres.EquityLoad{Bars: m.bars(on(t, "2026-03-04"))})
	m.clock("2026-03-04", cutoffClock+10*time.Minute)
	if reason, skipped := workers.Skipped(m.picks.Run(t.Context(), run)); !skipped {
		t.Errorf("after the cutoff: %q, want it skipped", reason)
	}
	m.live("2026-03-05")
	m.says("2026-03-03 pick", gap, "2026-03-05 pick")
}

func TestAPickIsNeverMadeLater(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.trade("2026-03-03")
	// Before the first pick there is no record that could have a gap.
	m.clock("2026-03-04", pickClock)
	if reason, skipped := workers.Skipped(m.picks.Run(t.Context(), m.begin(task.Pick, task.Daily, calendar.At(on(t, "2026-03-03"), pickClock)))); !skipped {
		t.Errorf("a day that has passed: %q", reason)
	}
	m.says()
	m.live("2026-03-04")
	m.trade("2026-03-05")
	m.trade("2026-03-06")
	m.trade("2026-03-09")
	// Down since Thursday, up on Monday morning: the slots come late, and Friday's was lost altogether.
	m.clock("2026-03-09", 9*time.Hour)
	if err := m.run(task.Pick, task.Daily, calendar.At(on(t, "2026-03-05"), pickClock)); err != nil {
		t.Fatal(err)
	}
	m.says("2026-03-04 pick", "2026-03-05"+missedDay, "2026-03-06"+missedDay)
	if err := m.picks.Run(t.Context(), m.begin(task.Pick, task.Daily, calendar.At(on(t, "2026-03-09"), 9*time.Hour))); err == nil || !strings.Contains(err.Error(), "the exchange is open until") {
		t.Errorf("before the close: %v", err)
	}
	m.pick("2026-03-09")
	m.says("2026-03-04 pick", "2026-03-05"+missedDay, "2026-03-06"+missedDay, "2026-03-09 pick")
}

func TestWorkersThatRunAtOnceMakeOnePick(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.trade("2026-03-03")
	m.clock("2026-03-03", pickClock)
	var runs []task.Task
	for i := range 4 {
		runs = append(runs, m.begin(task.Pick, task.Daily, calendar.At(on(t, "2026-03-03"), pickClock+time.Duration(i)*time.Second)))
	}
	var wg sync.WaitGroup
	for _, r := range runs {
		wg.Go(func() {
			if err := m.picks.Run(t.Context(), r); err != nil {
				t.Errorf("run %d: %v", r.RunID, err)
			}
		})
	}
	wg.Wait()
	m.says("2026-03-03 pick")
	if links, err := m.db.RecordedPicks(t.Context()); err != nil || len(links) != 1 {
		t.Errorf("%d links (%v)", len(links), err)
	}
}

func TestAKilledPickIsGoneOnWith(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.live("2026-03-03")
	m.trade("2026-03-04")
	slot := calendar.At(on(t, "2026-03-04"), pickClock)

	// Killed before anything is stored, then after the pick is, late in the evening, before the announcement is made due.
	m.clock("2026-03-04", announceClock+time.Hour)
	first := m.begin(task.Pick, task.Daily, slot)
	second := m.again(first)
	if err := m.picks.Run(t.Context(), first); err == nil {
		t.Error("an attempt that was given up recorded a pick")
	}
	m.says("2026-03-03 pick")
	if err := m.picks.Run(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	before, err := m.db.RecordedPicks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.finish(m.again(second)); err != nil {
		t.Fatal(err)
	}
	after, err := m.db.RecordedPicks(t.Context())
	if d := cmp.Diff(before, after); d != "" || err != nil {
		t.Errorf("the picks changed (%v) (-before +after):\n%s", err, d)
	}
	due, err := m.db.HandOut(t.Context(), 10)
	if err != nil || len(due) != 1 || due[0].Job != task.Announce {
		t.Fatalf("due are %v (%v), want the announcement that did not wait for the pick", due, err)
	}
	announce := m.claim(due[0])
	if err := m.handler(task.Announce)(t.Context(), announce); err != nil {
		t.Fatal(err)
	}
	if err := m.finish(m.again(announce)); err != nil {
		t.Fatal(err)
	}
	if made, err := m.api.AnnouncedPicks(t.Context()); err != nil || len(made) != 2 {
		t.Errorf("%d picks are announced (%v)", len(made), err)
	}
}

func TestAnEditorsChoiceGoesByTheRules(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.live("2026-03-03")
	first := strings.Fields(m.record()[0])[1]
	choose := func(day, ticker string, price *string) {
		t.Helper()
		c := postgres.EditorChoice{Date: on(t, day), Ticker: ticker, Price: price, Reason: "A strong quarter.", By: "me"}
		if _, err := m.db.AddEditorChoice(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	wrong := "1.00"
	choose("2026-03-04", first, nil)    // picked yesterday
	choose("2026-03-05", "COA", &wrong) // not its close
	choose("2026-03-06", "COA", nil)
	for _, day := range []string{"2026-03-04", "2026-03-05", "2026-03-06"} {
		m.live(day)
	}
	made, err := m.api.AnnouncedPicks(t.Context())
	if err != nil || len(made) != 4 {
		t.Fatal(made, err)
	}
	var got []string
	for _, p := range made {
		got = append(got, p.Origin)
	}
	if d := cmp.Diff([]string{"method", "method", "method", "editor"}, got); d != "" || made[3].Ticker != "COA" || made[3].Reason != "A strong quarter." {
		t.Errorf("origins (-want +got):\n%s\nthe last is %+v", d, made[3])
	}
	card, err := m.api.ResearchOfPick(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	if text := card.Texts[picks.English].SummaryWhy; !strings.Contains(text, "An editor chose it; the method ranked it") {
		t.Errorf("the card of an editor's pick says %q", text)
	}
}

func TestADayOnWhichNoCompanyCanBePickedIsAGapAtOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2026-03-02")
	m.live("2026-03-03")
	// Every share becomes a penny stock.
	day := on(t, "2026-03-04")
	var bars []equity.Bar
	for _, b := range m.bars(day) {
		b.Open, b.High, b.Low, b.Close = "1.00", "1.00", "1.00", "1.00"
		bars = append(bars, b)
	}
	m.store(calendar.At(day, priceClock), postgres.EquityLoad{Bars: bars})
	m.pick("2026-03-04")
	m.says("2026-03-03 pick", "2026-03-04 gap: no pick: no company could be scored")
}

// In winter six in the evening in New York is an hour later in UTC than in summer (TestAPickStaysUnseenUntilItsAnnouncement).
func TestWorkersThatAnnounceAtOnceAnnounceOnce(t *testing.T) {
	t.Parallel()
	m := newMarket(t, "2025-11-25")
	m.live("2025-11-26")
	m.trade("2025-11-28")
	m.pick("2025-11-28")
	slot := calendar.At(on(t, "2025-11-28"), announceClock)
	if slot.UTC().Hour() != 23 {
		t.Fatalf("six in the evening is %s", slot.UTC())
	}
	m.clock("2025-11-28", announceClock)
	var runs []task.Task
	for i := range 4 {
		runs = append(runs, m.begin(task.Announce, task.Daily, slot.Add(time.Duration(i)*time.Second)))
	}
	var wg sync.WaitGroup
	for _, r := range runs {
		wg.Go(func() {
			if err := m.handler(task.Announce)(t.Context(), r); err != nil {
				t.Errorf("run %d: %v", r.RunID, err)
			}
		})
	}
	wg.Wait()
	made, err := m.api.AnnouncedPicks(t.Context())
	if err != nil || len(made) != 2 || !made[1].AnnouncedAt.Equal(slot) {
		t.Fatalf("picks %+v (%v), want two, the second announced at %s", made, err, slot)
	}
	m.says("2025-11-26 pick", "2025-11-28 pick")
}
