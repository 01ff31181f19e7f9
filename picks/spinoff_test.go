package picks

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/equity"
)

func TestASplitThatIsNoneIsReadByItsTermsAndTheFilings(t *testing.T) {
	t.Parallel()
	disposed := func(date string) equity.Filing {
		return equity.Filing{Form: "8-K", Items: []string{"2.01", "9.01"}, Filed: day(date)}
	}
	for _, c := range []struct {
		name          string
		gained, given float64
		filings       []equity.Filing
		want          equity.ActionKind
	}{
		{"four for one", 4, 1, []equity.Filing{disposed("2022-04-11")}, equity.Split},
		{"three for two as a decimal", 1.5, 1, []equity.Filing{disposed("2022-04-11")}, equity.Split},
		{"four for three with four decimals", 1.3333, 1, nil, equity.Split},
		{"one for eight", 1, 8, []equity.Filing{disposed("2022-04-11")}, equity.Split},
		{"one for a hundred and fifty", 1, 150, nil, equity.Split},
		{"AT&T, on the day", 1324, 1000, []equity.Filing{disposed("2022-04-11")}, equity.SpinOff},
		{"AT&T, days later", 1.324, 1, []equity.Filing{disposed("2022-04-14")}, equity.SpinOff},
		{"AT&T, by its registration", 1324, 1000, []equity.Filing{{Form: "10-12B/A", Filed: day("2022-02-01")}}, equity.SpinOff},
		{"AT&T, and a sale of months ago", 1324, 1000, []equity.Filing{disposed("2022-01-11")}, equity.Unexplained},
		{"AT&T, and a filing about something else", 1324, 1000, []equity.Filing{{Form: "8-K", Items: []string{"2.02"}, Filed: day("2022-04-11")}}, equity.Unexplained},
		{"AT&T, without filings", 1324, 1000, nil, equity.Unexplained},
		{"three percent in shares", 103, 100, nil, equity.Split},
		{"three percent near a disposal", 103, 100, []equity.Filing{disposed("2022-04-08")}, equity.SpinOff},
	} {
		actions := []equity.Action{{Kind: equity.Split, Date: day("2022-04-11"), New: c.gained, Old: c.given}}
		if got := ReadSplits(actions, c.filings)[0].Kind; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if actions[0].Kind != equity.Split {
			t.Errorf("%s: the argument was changed", c.name)
		}
	}
}

// The publisher states the whole history for the shares of today; the closes of the day follow from its ratios. Its adjusted column tells
// the return to hold ours against.
func TestASpinOffChangesReturnsAndNoShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ticker, before, exDate, filed, after string
		ratio                                float64 // as the publisher states it: "1,324 for 1,000"
		wrong                                float64 // by how much the number of shares was too high
	}{
		{"T", "2022-04-08", "2022-04-11", "2022-04-11", "2022-04-12", 1.324, 1.32},
		{"IBM", "2021-11-03", "2021-11-04", "2021-11-04", "2021-11-04", 1.046, 1.04},
		{"PFE", "2020-11-16", "2020-11-17", "2020-11-16", "2020-11-19", 1.054, 1.05},
	} {
		file := recordedFacts + "../../prices-yahoo/ohlcv-2010-2022/" + c.ticker + ".csv"
		facts := recorded(t, "../facts-trimmed/"+c.ticker+".json")
		h := History{Bars: recordedBars(t, file, facts[0].CIK)}
		for i, b := range h.Bars {
			if b.Date.Before(day(c.exDate)) {
				h.Bars[i].Close = must(equity.PriceOf(b.Close.Float()*c.ratio, 2))
			}
		}
		stated := []equity.Action{{CIK: facts[0].CIK, Kind: equity.Split, Date: day(c.exDate), New: c.ratio * 1000, Old: 1000}}
		filings := []equity.Filing{{CIK: facts[0].CIK, Form: "8-K", Items: []string{"2.01"}, Filed: day(c.filed)}}
		book := NewBook(facts, day(c.after))
		shares := func(actions []equity.Action) Figure {
			return sharesOutstanding(book, facts[0].CIK, History{Bars: h.Bars, Actions: actions}, day(c.after))
		}
		as := ReadSplits(stated, filings)
		if got, want := shares(as), book.newestAverage(); !got.Known() || math.Abs(got.Value/want.Value-1) > 0.03 {
			t.Errorf("%s: %.0f shares, and %.0f on average in the newest report", c.ticker, got.Value, want.Value)
		}
		if was := shares(stated).Value / shares(as).Value; was < c.wrong {
			t.Errorf("%s: as a split the number of shares is %.2f times the number now, want %v: the test shows nothing", c.ticker, was, c.wrong)
		}
		if unknown := shares(ReadSplits(stated, nil)); unknown.Known() {
			t.Errorf("%s: %.0f shares over a ratio that nothing explains", c.ticker, unknown.Value)
		}
		for _, read := range [][]equity.Action{as, ReadSplits(stated, nil)} {
			h.Actions = read
			from, _ := h.BarOn(day(c.before))
			got := Prices{facts[0].CIK: h}.ReturnSince(facts[0].CIK, from.Close, from.Date, day(c.after)).Pct
			if want := 100 * (adjusted(t, file, c.after)/adjusted(t, file, c.before) - 1); math.Abs(got-want) > 0.1 {
				t.Errorf("%s: a return of %.2f %%, the publisher's is %.2f %%", c.ticker, got, want)
			}
			if e := ActionEvents(equity.Company{CIK: facts[0].CIK}, h, day(c.exDate)); len(e) > 0 {
				t.Errorf("%s: a spin-off is told as %s", c.ticker, e[0].Type)
			}
		}
	}
}

// adjusted is a recorded close with splits and dividends worked in by its publisher.
func adjusted(t *testing.T, file, date string) float64 {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		if row := strings.Split(line, ","); row[0] == date {
			v, err := strconv.ParseFloat(row[5], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("%s has no %s", file, date)
	return 0
}

func must(p equity.Price, err error) equity.Price {
	if err != nil {
		panic(err)
	}
	return p
}

// From 2021-10-13 to 2022-09-13 the closes of IBM went from 140.76 to 127.69, 9.3 % lower. With the shares of Kyndryl that its holders received in
// November 2021 they lost 5.1 %. The card says that it counts them; a card of a company without a spin-off in this time says nothing of it.
func TestAReturnThatCountsASpinOffSaysSo(t *testing.T) {
	t.Parallel()
	pick := day("2022-10-14")
	m := bookMarket(t, pick)
	r := Rank(m, DefaultRules())
	said := map[string]bool{}
	for _, s := range r.Scores {
		of := r
		of.Pick = &s
		b := NewBrief(of, s, Background{})
		x, err := WriteResearch(b, English)
		if err != nil {
			t.Fatal(err)
		}
		said[s.Ticker] = strings.Contains(x.FullResearch, "the company spun off a business")
		spun := slices.ContainsFunc(splitsOf[s.Ticker], func(a equity.Action) bool {
			return a.Kind == equity.SpinOff && a.Date.After(s.metric(PriceMomentum).From) && !a.Date.After(s.metric(PriceMomentum).To)
		})
		tells := strings.Contains(x.FullResearch, "its sector ") || b.risk == "falling"
		if said[s.Ticker] != (spun && tells) {
			t.Errorf("%s, spun off %v, its return told %v: %s", s.Ticker, spun, tells, x.FullResearch)
		}
		if d, _ := b.Facts.Find("momentum"); s.Ticker == "IBM" && (d.Value != "-5.1" || strings.Contains(x.FullResearch, "the share price lost")) {
			t.Errorf("IBM: %s, %s", d.Value, x.FullResearch)
		}
	}
	if !said["IBM"] {
		t.Errorf("the card of IBM says nothing of its spin-off: %v", said)
	}
}
