package picks

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

var exxon = equity.Company{CIK: 34088, Name: "Exxon Mobil Corp", SIC: 2911, Listings: []equity.Listing{{Ticker: "XOM", Exchange: "XNYS"}}}

// steady is a history whose daily returns alternate between plus and minus one percent, and end with one of a given size.
func steady(last float64) (History, time.Time) {
	var h History
	price := 100.0
	days := calendar.Between(day("2026-01-02"), day("2026-06-12"))
	for i, d := range days {
		switch {
		case i == len(days)-1:
			price *= 1 + last
		case i%2 == 0:
			price *= 1.01
		default:
			price /= 1.01
		}
		text, err := equity.PriceOf(price, 4)
		if err != nil {
			panic(err)
		}
		h.Bars = append(h.Bars, equity.Bar{Date: d, Close: text})
	}
	return h, days[len(days)-1]
}

func TestPriceMovesAreMeasuredByTheSharesOwnMovement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		last float64
		want Severity // the usual movement is one percent
	}{
		{"an ordinary day", 0.012, 0},
		{"just below twice the usual", 0.0198, 0},
		{"two and a half times", 0.025, Low},
		{"down as well as up", -0.025, Low},
		{"three and a half times", 0.035, Notable},
		{"five times", -0.05, High},
		{"eight times", -0.08, Critical},
	} {
		h, d := steady(c.last)
		e, ok := MoveEvent(exxon, h, d)
		if ok != (c.want > 0) || e.Severity != c.want {
			t.Errorf("%s: severity %d (%v), want %d", c.name, e.Severity, ok, c.want)
		}
		if ok && math.Abs(e.ChangePct-100*c.last) > 0.01 {
			t.Errorf("%s: change %v", c.name, e.ChangePct)
		}
	}
	h, d := steady(0.08)
	h.Actions = []equity.Action{split(d.Format(time.DateOnly), 2, 1)}
	h.Bars[len(h.Bars)-1].Close = h.Bars[len(h.Bars)-2].Close[:2] + ".00"
	if e, ok := MoveEvent(exxon, h, d.AddDate(0, 0, 1)); ok {
		t.Errorf("a day without trading moves: %+v", e)
	}
	calm, d := steady(0.015)
	for i := range calm.Bars[:len(calm.Bars)-1] {
		calm.Bars[i].Close = []equity.Price{"100.00", "100.05"}[i%2]
	}
	calm.Bars[len(calm.Bars)-1].Close = "101.50"
	if _, ok := MoveEvent(exxon, calm, d); ok {
		t.Error("one and a half percent is an event because the share is calm")
	}
	short := History{Bars: calm.Bars[len(calm.Bars)-40:]}
	short.Bars[39].Close = "150.00"
	if _, ok := MoveEvent(exxon, short, d); ok {
		t.Error("a share without three months of prices has a usual movement")
	}
}

func TestASplitIsNoPriceMove(t *testing.T) {
	t.Parallel()
	h, d := steady(-0.5)
	if _, ok := MoveEvent(exxon, h, d); !ok {
		t.Fatal("half the price is no move")
	}
	h.Actions = []equity.Action{split(d.Format(time.DateOnly), 2, 1)}
	if e, ok := MoveEvent(exxon, h, d); ok {
		t.Errorf("a split of two for one is a move of %v %%", e.ChangePct)
	}
}

func TestFilingEvents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form  string
		items []string
		kind  EventType
		want  Severity
	}{
		{"10-K", nil, FilingMade, Notable},
		{"10-Q", nil, FilingMade, Low},
		{"10-Q/A", nil, FilingMade, Notable},
		{"NT 10-K", nil, FilingMade, High},
		{"8-K", []string{"2.02", "9.01"}, Earnings, Notable},
		{"8-K", []string{"7.01"}, FilingMade, Note},
		{"8-K", []string{"5.02", "9.01"}, FilingMade, Notable},
		{"8-K", []string{"1.03"}, FilingMade, Critical},
		{"8-K", []string{"4.02", "2.02"}, Earnings, Critical},
		{"8-K/A", []string{"4.01"}, FilingMade, High},
		{"4", nil, "", 0},
		{"424B2", nil, "", 0},
	} {
		f := equity.Filing{CIK: exxon.CIK, Accession: "0000034088-26-000001", Form: c.form, Items: c.items, Filed: day("2026-05-01"), URL: "https://www.sec.gov/x"}
		e, ok := FilingEvent(exxon, f)
		if ok != (c.want > 0) || e.Severity != c.want || ok && e.Type != c.kind {
			t.Errorf("%s %v: %s of severity %d (%v), want %s of %d", c.form, c.items, e.Type, e.Severity, ok, c.kind, c.want)
		}
	}
	// An acceptance in the evening is an event of that evening, regardless of the SEC's filing date.
	f := equity.Filing{CIK: exxon.CIK, Accession: "x", Form: "8-K", Filed: day("2026-05-04"), AcceptedAt: time.Date(2026, 5, 1, 22, 5, 0, 0, time.UTC)}
	if e, _ := FilingEvent(exxon, f); !e.OccurredAt.Equal(f.AcceptedAt) {
		t.Errorf("occurred at %s", e.OccurredAt)
	}
}

func TestActionEvents(t *testing.T) {
	t.Parallel()
	h := History{Actions: []equity.Action{
		dividend("2026-02-10", "1.00"), dividend("2026-05-12", "0.60"), split("2026-06-01", 2, 1), dividend("2026-08-11", "0.30"),
		split("2026-09-01", 1, 10), split("2026-10-01", 3, 2),
	}}
	for _, c := range []struct {
		day      string
		kind     EventType
		severity Severity
		title    string
	}{
		{"2026-02-10", DividendPaid, Note, "XOM: dividend of $1.00 a share"},
		{"2026-05-12", DividendPaid, Notable, "XOM cuts its dividend to $0.60 a share"},
		{"2026-06-01", SharesSplit, Low, "XOM splits its shares: 2 for 1"},
		{"2026-08-11", DividendPaid, Note, "XOM: dividend of $0.30 a share"}, // half the old one, for half a share
		{"2026-09-01", SharesSplit, Notable, "XOM combines its shares: 1 for 10 (reverse split)"},
		{"2026-10-01", SharesSplit, Low, "XOM splits its shares: 3 for 2"},
	} {
		events := ActionEvents(exxon, h, day(c.day))
		if len(events) != 1 || events[0].Type != c.kind || events[0].Severity != c.severity {
			t.Errorf("%s: %+v", c.day, events)
			continue
		}
		if got, err := events[0].Text(English); err != nil || got.Title != c.title {
			t.Errorf("%s: %q (%v), want %q", c.day, got.Title, err, c.title)
		}
	}
	if events := ActionEvents(exxon, h, day("2026-02-11")); len(events) != 0 {
		t.Errorf("a day on which nothing happens: %v", events)
	}
}

func TestSignalsAreNewsWhenTheyCrossABorder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		before, z float64
		want      Severity
		phrase    string
	}{
		{"still within", 1.2, 1.9, 0, ""},
		{"out", 1.9, 2.1, Notable, "event.signal_change"},
		{"out on the other side", -1.9, -2.1, Notable, "event.signal_change"},
		{"stays out", 2.1, 2.4, 0, ""},
		{"further out", 2.4, 3.2, High, "event.signal_change"},
		{"all at once", 0, 3.5, High, "event.signal_change"},
		{"from one side to the other", -2.5, 2.5, Notable, "event.signal_change"},
		{"back in", 2.5, 1.5, 0, ""},
		{"unknown before", math.NaN(), 2.5, 0, ""},
	} {
		events := SignalEvents(exxon, []SignalReading{{"crack-spread-321", c.before, c.z, time.Date(2026, 5, 1, 21, 0, 0, 0, time.UTC)}})
		if (len(events) == 1) != (c.want > 0) {
			t.Errorf("%s: %v", c.name, events)
			continue
		}
		if c.want > 0 && (events[0].Severity != c.want || events[0].phrase != c.phrase) {
			t.Errorf("%s: severity %d, %s", c.name, events[0].Severity, events[0].phrase)
		}
	}
	if events := SignalEvents(exxon, []SignalReading{{"iowa-corn-yield", 0, 5, day("2026-05-01")}}); len(events) != 0 {
		t.Errorf("a refiner hears of corn: %v", events)
	}
}

func TestIDsFollowFromWhatHappened(t *testing.T) {
	t.Parallel()
	h, d := steady(0.08)
	a, _ := MoveEvent(exxon, h, d)
	h.Bars[5].Close = "99.99" // a corrected bar of long ago
	b, _ := MoveEvent(exxon, h, d)
	other := exxon
	other.CIK = 1
	c, _ := MoveEvent(other, h, d)
	if a.ID != b.ID || a.ID == c.ID || len(a.ID) != 29 || !strings.HasPrefix(a.ID, "ev_") {
		t.Errorf("ids %s, %s, %s", a.ID, b.ID, c.ID)
	}
	// Events that are stored must be found again by later versions: the id is part of the record.
	if want := "ev_wlzcmpuomf7dkprn6asodiind5"; a.ID != want {
		t.Errorf("id %s, want %s", a.ID, want)
	}
}

func TestFeedOrderAndKeys(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 12, 20, 0, 0, 0, time.UTC)
	events := []Event{
		{ID: "ev_c", Severity: 2, OccurredAt: at},
		{ID: "ev_a", Severity: 2, OccurredAt: at},
		{ID: "ev_b", Severity: 5, OccurredAt: at},
		{ID: "ev_d", Severity: 1, OccurredAt: at.Add(time.Hour)},
		{ID: "ev_a", Severity: 4, OccurredAt: at},
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		rng.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		var got []string
		for _, e := range SortEvents(events) {
			got = append(got, e.ID)
		}
		// Of two events with one id, the first in the sorted order stays.
		if want := []string{"ev_d", "ev_b", "ev_a", "ev_c"}; !slices.Equal(got, want) {
			t.Fatalf("order %v, want %v", got, want)
		}
	}
	e := Event{ID: "ev_a"}
	keys := []string{
		e.Key(at.Add(-time.Microsecond)), e.Key(at), (Event{ID: "ev_b"}).Key(at), e.Key(at.Add(time.Microsecond)), e.Key(at.Add(10 * time.Hour)),
	}
	if !slices.IsSorted(keys) {
		t.Errorf("keys do not sort as their times: %v", keys)
	}
}

func TestPortfolioEvents(t *testing.T) {
	t.Parallel()
	in := stormyMarket(1, 130)
	p := Simulate(in, DefaultPortfolioRules())
	count := 0
	for _, s := range p.Snapshots {
		for _, e := range ClosedEvents(p, in.Companies, s.Date) {
			count++
			if e.Type != PickClosed || e.Ticker == "" {
				t.Errorf("%+v", e)
			}
			texts := map[Lang]string{}
			for _, lang := range Langs() {
				x, err := e.Text(lang)
				if err != nil {
					t.Fatal(err)
				}
				texts[lang] = x.Title + "\n" + x.Body
			}
			wantSameNumbers(t, e.ID, e.Facts, texts)
		}
	}
	closed := 0
	for _, q := range p.Positions {
		if !q.Open() {
			closed++
		}
	}
	if count != closed {
		t.Errorf("%d events of %d closed positions", count, closed)
	}
	severities := map[string]Severity{ClosedReplaced: Low, ClosedMerger: Notable, ClosedDelisted: High, ClosedSilent: High}
	for reason, want := range severities {
		if got := closedTerms[reason].severity; got != want {
			t.Errorf("%s has severity %d, want %d", reason, got, want)
		}
	}
	a := AnnouncedEvent(exxon, day("2026-06-12"), "110.25", time.Date(2026, 6, 12, 22, 0, 0, 0, time.UTC))
	if x, err := a.Text(English); err != nil || x.Title != "New pick: Exxon Mobil Corp (XOM)" || !strings.Contains(x.Body, "$110.25") || a.Severity != Notable {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestEventTextsNameTheSameNumbers(t *testing.T) {
	t.Parallel()
	h, d := steady(-0.08)
	move, _ := MoveEvent(exxon, h, d)
	rise, _ := steady(0.08)
	up, _ := MoveEvent(exxon, rise, d)
	filing, _ := FilingEvent(exxon, equity.Filing{Accession: "a", Form: "8-K", Items: []string{"5.02", "9.01"}, Filed: day("2026-05-01")})
	report, _ := FilingEvent(exxon, equity.Filing{Accession: "b", Form: "10-Q", Filed: day("2026-05-01")})
	results, _ := FilingEvent(exxon, equity.Filing{Accession: "c", Form: "8-K", Items: []string{"2.02"}, Filed: day("2026-05-01")})
	events := append(SignalEvents(exxon, []SignalReading{{"crack-spread-321", 1.5, 2.2, day("2026-05-01")}}), move, up, filing, report, results)
	events = append(events, SignalEvents(exxon, []SignalReading{{"crack-spread-321", 0.5, -3.2, day("2026-05-01")}})...)
	events = append(events, AnnouncedEvent(exxon, day("2026-06-12"), "110.25", time.Date(2026, 6, 12, 22, 0, 0, 0, time.UTC)))
	actions := History{Actions: []equity.Action{dividend("2026-02-10", "1.00"), dividend("2026-05-12", "0.60"), split("2026-06-01", 1, 1.5)}}
	for _, on := range []string{"2026-02-10", "2026-05-12", "2026-06-01"} {
		events = append(events, ActionEvents(exxon, actions, day(on))...)
	}
	for _, e := range events {
		texts := map[Lang]string{}
		for _, lang := range Langs() {
			x, err := e.Text(lang)
			if err != nil {
				t.Fatal(err)
			}
			texts[lang] = x.Title + "\n" + x.Body
		}
		wantSameNumbers(t, string(e.Type), e.Facts, texts)
	}
	if len(events) != 11 {
		t.Errorf("%d events", len(events))
	}
}
