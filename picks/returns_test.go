package picks

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"testing"
	"time"

	"tidemark/internal/equity"
)

func bar(date string, price string) equity.Bar {
	return equity.Bar{Date: day(date), Close: equity.Price(price)}
}

func split(date string, fresh, old float64) equity.Action {
	return equity.Action{Kind: equity.Split, Date: day(date), New: fresh, Old: old}
}

func dividend(date, amount string) equity.Action {
	return equity.Action{Kind: equity.Dividend, Date: day(date), Cash: equity.Price(amount)}
}

func TestReturnSinceAPick(t *testing.T) {
	t.Parallel()
	const company, buyer equity.CIK = 1, 2
	bars := []equity.Bar{bar("2025-03-03", "100.00"), bar("2025-03-04", "110.00"), bar("2025-03-05", "55.00")}
	for _, c := range []struct {
		name    string
		actions []equity.Action
		bars    []equity.Bar
		price   equity.Price
		to      string
		want    float64
		last    equity.Price
		ended   bool
	}{
		{"nothing later is known", nil, nil, "100.00", "2025-03-10", 0, "100.00", false},
		{"the price rose", nil, bars[:2], "100.00", "2025-03-10", 10, "110.00", false},
		{"what is after the date is not read", nil, bars, "100.00", "2025-03-04", 10, "110.00", false},
		{"two for one is no loss", []equity.Action{split("2025-03-05", 2, 1)}, bars, "100.00", "2025-03-10", 10, "55.00", false},
		{"a split on the pick's date is in the price already", []equity.Action{split("2025-03-03", 2, 1)}, bars[:2], "100.00", "2025-03-10", 10, "110.00", false},
		{"a dividend on the pick's date is not paid to the buyer", []equity.Action{dividend("2025-03-03", "5.00")}, bars[:2], "100.00", "2025-03-10", 10, "110.00", false},
		{"a dividend counts", []equity.Action{dividend("2025-03-04", "5.00")}, bars[:2], "100.00", "2025-03-10", 15, "110.00", false},
		// (2 * 55 + 2 * 1) / 110 * 1.1
		{"a dividend of the split's date is for new shares", []equity.Action{split("2025-03-05", 2, 1), dividend("2025-03-05", "1.00")}, bars, "100.00", "2025-03-10", 12, "55.00", false},
		{"listed in another order it is the same", []equity.Action{dividend("2025-03-05", "1.00"), split("2025-03-05", 2, 1)}, bars, "100.00", "2025-03-10", 12, "55.00", false},
		{"the dividend is put to work", []equity.Action{dividend("2025-03-04", "11.00")}, []equity.Bar{bar("2025-03-03", "100.00"), bar("2025-03-04", "110.00"), bar("2025-03-05", "121.00")}, "100.00", "2025-03-10", 33.1, "121.00", false},
		{"the return is measured from the pick's price, not from a corrected bar", nil, bars[:2], "88.00", "2025-03-10", 25, "110.00", false},
		{"days without a bar are bridged", []equity.Action{split("2025-03-04", 4, 1)}, []equity.Bar{bar("2025-03-03", "100.00"), bar("2025-03-07", "30.00")}, "100.00", "2025-03-10", 20, "30.00", false},
		{"one for eight", []equity.Action{split("2025-03-04", 1, 8)}, []equity.Bar{bar("2025-03-03", "1.00"), bar("2025-03-04", "8.00")}, "1.00", "2025-03-10", 0, "8.00", false},
		{"bought for cash", []equity.Action{{Kind: equity.Merger, Date: day("2025-03-05"), Cash: "120.00"}}, bars[:2], "100.00", "2025-03-10", 20, "110.00", true},
		// One share is half a share of the buyer, 300 at first and 330 at last, and 10 in cash.
		{
			"bought for shares and cash",
			[]equity.Action{{Kind: equity.Merger, Date: day("2025-03-05"), Cash: "10.00", Successor: buyer, New: 1, Old: 2}},
			bars[:2], "100.00", "2025-03-10", 75, "330.00", true,
		},
		{"bought for shares that have no price yet", []equity.Action{{Kind: equity.Merger, Date: day("2025-03-05"), Successor: buyer, New: 1, Old: 2}}, bars[:2], "100.00", "2025-03-05", 10, "110.00", true},
		{"delisted at a known worth", []equity.Action{{Kind: equity.Delisting, Date: day("2025-03-05"), Cash: "1.00"}}, bars[:2], "100.00", "2025-03-10", -99, "110.00", true},
		{"delisted, the worth unknown", []equity.Action{{Kind: equity.Delisting, Date: day("2025-03-05")}}, bars[:2], "100.00", "2025-03-10", 10, "110.00", true},
		{"bars after the end are another company's", []equity.Action{{Kind: equity.Delisting, Date: day("2025-03-05"), Cash: "90.00"}}, bars, "100.00", "2025-03-10", -10, "110.00", true},
	} {
		p := Prices{
			company: {Bars: c.bars, Actions: c.actions},
			buyer:   {Bars: []equity.Bar{bar("2025-03-04", "290.00"), bar("2025-03-06", "300.00"), bar("2025-03-07", "330.00")}},
		}
		got := p.ReturnSince(company, c.price, day("2025-03-03"), day(c.to))
		if math.Abs(got.Pct-c.want) > 1e-9 || got.LastPrice != c.last || got.Ended != c.ended {
			t.Errorf("%s: %+v, want %v %% at %s, ended %v", c.name, got, c.want, c.last, c.ended)
		}
	}
}

func TestALoopOfMergersEnds(t *testing.T) {
	t.Parallel()
	merger := func(into equity.CIK, date string) equity.Action {
		return equity.Action{Kind: equity.Merger, Date: day(date), Successor: into}
	}
	p := Prices{
		1: {Bars: []equity.Bar{bar("2025-03-03", "10.00"), bar("2025-03-05", "10.00")}, Actions: []equity.Action{merger(2, "2025-03-04"), merger(2, "2025-03-06")}},
		2: {Bars: []equity.Bar{bar("2025-03-04", "10.00"), bar("2025-03-06", "10.00")}, Actions: []equity.Action{merger(1, "2025-03-05")}},
	}
	if got := p.ReturnSince(1, "10.00", day("2025-03-03"), day("2025-03-10")); got.Pct != 0 {
		t.Errorf("%+v", got)
	}
}

// Apple's history has a split of seven for one, one of four for one and a dividend every quarter. The recorded closes are adjusted for
// the splits. The test reverses that, so that the code gets the raw prices, the splits and the dividends. The result is compared with the
// publisher's own adjusted column, which no code reads.
func TestAdjustedSeriesOfAppleAgreesWithAPublishersColumn(t *testing.T) {
	t.Parallel()
	const file = "../../shared/upstream/prices-yahoo/ohlcv-2010-2022/AAPL.csv"
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the recorded data is not here: " + file)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	h := History{Actions: appleActions()}
	var adjusted []float64
	for _, row := range rows[1:] {
		date := day(row[0][:10])
		closing, err1 := strconv.ParseFloat(row[4], 64)
		adj, err2 := strconv.ParseFloat(row[5], 64)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		switch {
		case date.Before(day("2014-06-09")):
			closing *= 28
		case date.Before(day("2020-08-31")):
			closing *= 4
		}
		price, err := equity.PriceOf(closing, 4)
		if err != nil {
			t.Fatal(err)
		}
		h.Bars = append(h.Bars, equity.Bar{Date: date, Close: price})
		adjusted = append(adjusted, adj)
	}
	levels := h.Levels(day("2022-12-31"), true)
	worst := 0.0
	for i, l := range levels {
		worst = max(worst, math.Abs(l.Level/(adjusted[i]/adjusted[0])-1))
	}
	// The publisher rounds its factors; over twelve years of dividends that comes to a twentieth of a percent.
	if worst > 5e-4 {
		t.Errorf("the series differ by up to %.4f %%", 100*worst)
	}
	last := len(levels) - 1
	price := h.Levels(day("2022-12-31"), false)[last].Level
	t.Logf("total return factor %.3f, price %.3f, largest difference %.5f %%", levels[last].Level, price, 100*worst)
	if gain := levels[last].Level/price - 1; gain < 0.15 || gain > 0.25 {
		t.Errorf("dividends added %.1f %%", 100*gain)
	}
}

// appleActions are Apple's dividends and splits from 2012 to 2022, per share at that time, from its own dividend history.
func appleActions() []equity.Action {
	var all []equity.Action
	for _, d := range []struct{ dates, amount string }{
		{"2012-08-09 2012-11-07 2013-02-07", "2.65"},
		{"2013-05-09 2013-08-08 2013-11-06 2014-02-06", "3.05"},
		{"2014-05-08", "3.29"},
		{"2014-08-07 2014-11-06 2015-02-05", "0.47"},
		{"2015-05-07 2015-08-06 2015-11-05 2016-02-04", "0.52"},
		{"2016-05-05 2016-08-04 2016-11-03 2017-02-09", "0.57"},
		{"2017-05-11 2017-08-10 2017-11-10 2018-02-09", "0.63"},
		{"2018-05-11 2018-08-10 2018-11-08 2019-02-08", "0.73"},
		{"2019-05-10 2019-08-09 2019-11-07 2020-02-07", "0.77"},
		{"2020-05-08 2020-08-07", "0.82"},
		{"2020-11-06 2021-02-05", "0.205"},
		{"2021-05-07 2021-08-06 2021-11-05 2022-02-04", "0.22"},
		{"2022-05-06 2022-08-05 2022-11-04", "0.23"},
	} {
		var date string
		for rest := d.dates; rest != ""; {
			if _, err := fmt.Sscan(rest, &date); err != nil {
				panic(err)
			}
			all = append(all, dividend(date, d.amount))
			rest = rest[min(len(rest), len(date)+1):]
		}
		switch d.dates[:10] {
		case "2014-05-08":
			all = append(all, split("2014-06-09", 7, 1))
		case "2020-05-08":
			all = append(all, split("2020-08-31", 4, 1))
		}
	}
	return all
}

func TestLevelsReadNothingAfterTheirDate(t *testing.T) {
	t.Parallel()
	h := History{
		Bars:    []equity.Bar{bar("2025-03-03", "10.00"), bar("2025-03-04", "11.00"), bar("2025-03-05", "12.10")},
		Actions: []equity.Action{split("2025-03-06", 2, 1)},
	}
	levels := h.Levels(day("2025-03-04"), true)
	if len(levels) != 2 || levels[1].Level != 1.1 {
		t.Errorf("levels %v", levels)
	}
	if got := levelAt(levels, day("2025-03-03").Add(12*time.Hour)); got != 1 {
		t.Errorf("at noon of the first day %v", got)
	}
	if got := levelAt(levels, day("2025-03-02")); !math.IsNaN(got) {
		t.Errorf("before the first day %v", got)
	}
}

func TestRound2(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]float64{1.385: 1.39, -0.001: 0, 1.005: 1.0, -2.345: -2.35, 12.3456: 12.35} {
		if got := Round2(in); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%v rounds to %v, want %v", in, got, want)
		}
	}
}
