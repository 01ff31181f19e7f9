package quality_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/ingest/quality"
	"tidemark/internal/series"
)

// history makes n readings around a level, by a walk that is the same every time. Each step adds at most a hundredth of the level, up or
// down, and takes back a twentieth of the distance from it. next returns the time after another.
func history(n int, level float64, from time.Time, next func(time.Time) time.Time) []series.Reading {
	list := make([]series.Reading, 0, n)
	state, value := uint32(1), level
	for at := from; len(list) < n; at = next(at) {
		list = append(list, series.Reading{ObservedAt: at, Value: math.Round(value*1000) / 1000})
		state = state*1664525 + 1013904223
		value += level * 0.01 * (float64(state>>8)/(1<<23) - 1)
		value += 0.05 * (level - value)
	}
	return list
}

func plus(days int) func(time.Time) time.Time {
	return func(t time.Time) time.Time { return t.AddDate(0, 0, days) }
}

// workday is the next one of a year with three holidays: the first Mondays of January, May and September.
func workday(t time.Time) time.Time {
	for {
		t = t.AddDate(0, 0, 1)
		holiday := t.Weekday() == time.Monday && t.Day() <= 7 && t.Month()%4 == 1
		if t.Weekday() != time.Saturday && t.Weekday() != time.Sunday && !holiday {
			return t
		}
	}
}

func nextMonth(t time.Time) time.Time { return t.AddDate(0, 1, 0) }

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

// say is an answer that has everything, about a series with a known history.
func say(frequency string, known, readings []series.Reading) quality.Answer {
	return quality.Answer{
		Info:     series.Info{ID: "test.a", Unit: "Dollars per Barrel", Frequency: frequency},
		Readings: readings,
		Covers:   []series.Window{{}},
		Newest:   readings[len(readings)-1].ObservedAt,
		Known:    series.Known{Readings: known, Complete: true},
	}
}

// after is a list with further readings: "2026-03-02 71.5", or "2026-03-02 W" for a withheld one.
func after(list []series.Reading, more ...string) []series.Reading {
	out := append([]series.Reading{}, list...)
	for _, m := range more {
		day, value, _ := strings.Cut(m, " ")
		r := series.Reading{ObservedAt: date(day)}
		if _, err := fmt.Sscan(value, &r.Value); err != nil {
			r.Marker = value
		}
		out = append(out, r)
	}
	return out
}

// with is a list in which some values are other ones.
func with(list []series.Reading, change func(i int, v float64) float64) []series.Reading {
	out := append([]series.Reading{}, list...)
	for i := range out {
		out[i].Value = change(i, out[i].Value)
	}
	return out
}

func without(list []series.Reading, drop func(i int) bool) []series.Reading {
	var out []series.Reading
	for i, r := range list {
		if !drop(i) {
			out = append(out, r)
		}
	}
	return out
}

func times(factor float64) func(int, float64) float64 {
	return func(_ int, v float64) float64 { return v * factor }
}

func between(lo, hi float64) func(*quality.Answer) {
	return func(a *quality.Answer) { a.Info.Min, a.Info.Max = &lo, &hi }
}

func estimated(a *quality.Answer) { a.Reestimates = true }

// brief is a finding in one line.
func brief(list []series.Finding) []string {
	var out []string
	for _, f := range list {
		out = append(out, fmt.Sprintf("%s %s %s..%s", f.Severity, f.Check, f.From.Format(time.DateOnly), f.To.Format(time.DateOnly)))
	}
	return out
}

func TestCheck(t *testing.T) {
	t.Parallel()
	var (
		// 494 working days, 2024-01-02 to 2025-11-28, a Friday. As in March 2020, one of the last brought a fall of ten dollars.
		crude = with(history(494, 70, date("2024-01-02"), workday), func(i int, v float64) float64 {
			if i >= 450 {
				return v - 10
			}
			return v
		})
		// 300 Fridays, 2020-01-03 to 2025-09-26.
		stocks = history(300, 450_000, date("2020-01-03"), plus(7))
		// 120 months, 2016-01 to 2025-12.
		gas = history(120, 8, date("2016-01-01"), nextMonth)
		// 800 days, 2023-09-01 to 2025-11-08.
		ships = with(history(800, 90, date("2023-09-01"), plus(1)), func(_ int, v float64) float64 { return math.Round(v) })
	)
	// The ratings of a crop: each week from April to November of six years.
	crop := without(history(320, 70, date("2019-04-07"), plus(7)), func(i int) bool { return i%52 >= 34 })
	if got := crude[493].ObservedAt.Format(time.DateOnly) + stocks[299].ObservedAt.Format(time.DateOnly) +
		gas[119].ObservedAt.Format(time.DateOnly) + ships[799].ObservedAt.Format(time.DateOnly); got != "2025-11-282025-09-262025-12-012025-11-08" {
		t.Fatalf("the histories end at %s", got)
	}
	for _, c := range []struct {
		name   string
		answer quality.Answer
		change func(*quality.Answer)
		want   []string
		seen   string
	}{
		{name: "what is known again has no findings", answer: say("daily", crude, crude)},
		{name: "a usual week has no findings", answer: say("daily", crude, after(crude, "2025-12-01 60.2", "2025-12-02 60.9", "2025-12-03 60.1"))},
		{name: "a withheld value has no findings", answer: say("daily", crude, after(crude, "2025-12-01 W", "2025-12-02 70.9"))},
		{name: "a first answer with good values has no findings", answer: say("daily", nil, crude), change: between(0, 200)},
		{
			name: "a first answer with a value beyond the bounds", answer: say("daily", nil, after(crude, "2025-12-01 7020")), change: between(0, 200),
			want: []string{"error bounds 2025-12-01..2025-12-01"}, seen: "7020 on 2025-12-01",
		},
		{
			name: "what is stored already is not held up for its bounds", change: between(60, 80),
			answer: say("daily", after(crude, "2025-12-01 99"), after(crude, "2025-12-01 99", "2025-12-02 77")),
		},
		{
			name: "a value beyond the bounds and beyond sight is only marked", answer: say("daily", crude[100:], with(crude, func(i int, v float64) float64 {
				if i == 50 {
					return 999
				}
				return v
			})), change: func(a *quality.Answer) { between(0, 200)(a); a.Known.Complete = false },
			want: []string{"warn bounds 2024-03-12..2024-03-12"},
		},

		{
			name: "crude oil at -36.98 is marked and not stopped", answer: say("daily", crude, after(crude, "2025-12-01 59.9", "2025-12-02 -36.98", "2025-12-03 58.9")), change: between(-100, 500),
			want: []string{"warn jump 2025-12-01..2025-12-02"},
		},
		{
			name: "a decimal point that slipped stops", answer: say("daily", crude, after(crude, "2025-12-01 601", "2025-12-02 60.2")),
			want: []string{"error jump 2025-11-28..2025-12-01"}, seen: "601 on 2025-12-01 after",
		},
		{
			name: "one known value with a slipped decimal point stops", answer: say("daily", crude, with(crude, func(i int, v float64) float64 {
				if i == 400 {
					return v * 10
				}
				return v
			})),
			want: []string{"error jump 2025-07-21..2025-07-21"}, seen: "on 2025-07-21, was",
		},
		{
			name: "a step of what mostly stands still is marked", answer: say("monthly", with(gas, func(i int, _ float64) float64 { return 2.03 + 0.01*float64(i/100) }), after(with(gas, func(i int, _ float64) float64 { return 2.03 + 0.01*float64(i/100) }), "2026-01-01 2.40")),
			want: []string{"warn jump 2025-12-01..2026-01-01"},
		},

		{
			name: "thousands for units", answer: say("weekly", stocks, with(stocks, times(1000))), change: between(100_000, 1_200_000),
			want: []string{"error bounds 2020-01-03..2025-09-26", "error unit 2020-01-03..2025-09-26"}, seen: "",
		},
		{
			name: "millions for thousands, rounded", answer: say("weekly", stocks, with(stocks, func(_ int, v float64) float64 { return math.Round(v) / 1000 })),
			want: []string{"error unit 2020-01-03..2025-09-26"}, seen: "300 of 300 known values are about 0.001 times what they were (thousands, perhaps)",
		},
		{
			name: "barrels for gallons", answer: say("daily", with(crude, times(1.0/42)), crude),
			want: []string{"error unit 2024-01-02..2025-11-28"}, seen: "about 42 times what they were (gallons to a barrel, perhaps)",
		},
		{
			name: "cents for dollars", answer: say("monthly", gas, with(gas, times(100))),
			want: []string{"error unit 2016-01-01..2025-12-01"}, seen: "about 100 times",
		},
		{
			name: "short tons for tons", answer: say("monthly", gas, with(gas, times(1.10231))),
			want: []string{"error unit 2016-01-01..2025-12-01"}, seen: "about 1.102 times",
		},
		{
			name:   "only new values come, and in another unit",
			answer: say("weekly", stocks, after(nil, "2025-10-03 449.1", "2025-10-10 450.3")), change: func(a *quality.Answer) { a.Covers = nil },
			want: []string{"error unit 2025-10-03..2025-10-10"}, seen: "2 new values about 0.00",
		},

		{
			name: "a whole history estimated anew is marked where that is usual", change: estimated,
			answer: say("daily", ships, with(ships, func(_ int, v float64) float64 { return math.Round(v * 0.83) })),
			want:   []string{"warn unit 2023-09-01..2025-11-08"}, seen: "about 0.83",
		},
		{
			name: "and stops where it is not", answer: say("daily", ships, with(ships, func(_ int, v float64) float64 { return math.Round(v * 0.83) })),
			want: []string{"error unit 2023-09-01..2025-11-08"},
		},
		{
			name: "small changes of the whole history are usual there", change: estimated,
			answer: say("daily", ships, with(ships, func(i int, v float64) float64 { return v + float64(i%3) - 1 })),
		},
		{
			name: "and stop elsewhere", answer: say("daily", ships, with(ships, func(i int, v float64) float64 { return v + float64(i%3) - 1 })),
			want: []string{"error revision 2023-09-01..2025-11-07"}, seen: "533 of 800 known values differ",
		},
		{
			name: "a change of unit stops there too", change: estimated, answer: say("daily", ships, with(ships, times(1000))),
			want: []string{"error unit 2023-09-01..2025-11-08"},
		},
		{
			name: "zeros are values", change: estimated,
			answer: say("daily", ships, after(with(ships, func(i int, v float64) float64 {
				if i >= 790 {
					return 0
				}
				return v
			}), "2025-11-09 0", "2025-11-10 2")),
		},
		{
			name: "a part of a history that is estimated anew is no release", change: func(a *quality.Answer) { a.Reestimates, a.Covers = true, nil },
			answer: say("daily", ships, after(ships[435:], "2025-11-09 88")),
			want:   []string{"error row_count 2023-09-01..2024-11-08"}, seen: "435 of 800",
		},

		{name: "rounding to two decimals is no revision", answer: say("monthly", gas, with(gas, func(_ int, v float64) float64 { return math.Round(v*100) / 100 }))},
		{
			name: "some revised values are marked", answer: say("weekly", stocks, with(stocks, func(i int, v float64) float64 {
				if i%20 == 0 {
					return v * 1.005
				}
				return v
			})),
			want: []string{"warn revision 2020-01-03..2025-05-16"}, seen: "15 of 300",
		},
		{
			// Henry Hub in October 2024: three values changed by up to 0.21, six Sunday rows withdrawn.
			name: "three revised values and six withdrawn rows are usual", answer: say("daily", crude, without(with(crude, func(i int, v float64) float64 {
				if i >= 460 && i < 463 {
					return v + 0.21
				}
				return v
			}), func(i int) bool { return i%10 == 0 && i > 430 && i < 500 && i != 460 })),
		},
		{
			name: "a page without a tenth of what is known", answer: say("daily", crude, without(crude, func(i int) bool { return i >= 200 && i < 250 })),
			want: []string{"error row_count 2024-10-10..2024-12-18"}, seen: "50 of 494 known observations are not there, the first that of 2024-10-10",
		},
		{
			name: "a page of the newest only, that does not claim to have all", answer: say("daily", crude, crude[490:]), change: func(a *quality.Answer) { a.Covers = nil },
		},

		{
			name: "the copy of last week's page", answer: say("weekly", stocks, stocks[:299]),
			want: []string{"error freshness 2025-09-19..2025-09-26"}, seen: "the newest observation is of 2025-09-19",
		},
		{
			name: "an old window that was asked for is no old copy", answer: say("weekly", stocks, stocks[10:60]),
			change: func(a *quality.Answer) {
				a.Newest, a.Covers = time.Time{}, []series.Window{{From: stocks[10].ObservedAt, To: stocks[59].ObservedAt}}
			},
		},

		{name: "a holiday is no gap", answer: say("daily", crude, after(crude, "2025-12-02 70.9", "2025-12-03 70.1"))},
		{
			name: "a week without prices is one", answer: say("daily", crude, after(crude, "2025-12-08 70.9", "2025-12-09 70.1")),
			want: []string{"warn gaps 2025-11-28..2025-12-08"},
		},
		{
			name: "a day without ships counted is one", answer: say("daily", ships, after(ships, "2025-11-09 88", "2025-11-11 90")), change: estimated,
			want: []string{"warn gaps 2025-11-09..2025-11-11"},
		},
		{
			name: "a week that was left out is one", answer: say("weekly", stocks, after(stocks, "2025-10-10 450300")),
			want: []string{"warn gaps 2025-09-26..2025-10-10"}, seen: "nothing between two observations in 1 places, the first after 2025-09-26",
		},
		{name: "two weeks that come together are none", answer: say("weekly", stocks, after(stocks, "2025-10-03 450300", "2025-10-10 450300"))},
		{name: "the winter of a crop is none", answer: say("weekly", crop[:170], crop)},
		{
			name: "a month that was left out is one", answer: say("monthly", gas, after(gas, "2026-02-01 8.01")),
			want: []string{"warn gaps 2025-12-01..2026-02-01"},
		},

		{
			name: "months that moved from their first to their last day", answer: say("monthly", gas, func() []series.Reading {
				moved := after(gas, "2026-01-01 8")
				for i := range moved {
					moved[i].ObservedAt = moved[i].ObservedAt.AddDate(0, 1, -1)
				}
				return append(after(gas), moved...)
			}()),
			want: []string{"error duplicates 2016-01-31..2025-11-30"},
		},
		{
			name: "two hours of one day", answer: say("daily", ships, func() []series.Reading {
				noon := ships[799]
				noon.ObservedAt = noon.ObservedAt.Add(12 * time.Hour)
				return append(after(ships), noon)
			}()),
			want: []string{"error duplicates 2025-11-08..2025-11-08"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := c.answer
			if c.change != nil {
				c.change(&a)
			}
			got := quality.Check(a)
			if d := cmp.Diff(c.want, brief(got)); d != "" {
				t.Fatalf("(-want +got):\n%s\n%+v", d, got)
			}
			if len(got) > 0 && !strings.Contains(got[0].Observed, c.seen) {
				t.Errorf("it was seen that %q, want it to say %q", got[0].Observed, c.seen)
			}
			for _, f := range got {
				if f.Series != "test.a" || f.Observed == "" || f.Expected == "" {
					t.Errorf("a finding that says too little: %+v", f)
				}
			}
		})
	}
}

func TestLate(t *testing.T) {
	t.Parallel()
	// As the weekly petroleum report: on the Wednesday after its Friday.
	wednesday := func(t time.Time) time.Time { return t.AddDate(0, 0, 5).Add(15*time.Hour + 30*time.Minute) }
	stocks := history(300, 450_000, date("2020-01-03"), plus(7)) // to 2025-09-26
	crop := without(history(320, 70, date("2019-04-07"), plus(7)), func(i int) bool { return i%52 >= 34 })
	for _, c := range []struct {
		name     string
		readings []series.Reading
		at       string
		late     bool
	}{
		{"on the day of the next release", stocks, "2025-10-08", false},
		{"when that is a holiday late", stocks, "2025-10-10", false},
		{"two weeks without a release", stocks, "2025-10-25", true},
		{"in the winter, when the crop is not rated", crop[:len(crop)-8], "2025-02-01", false},
		{"nothing was ever said", nil, "2025-10-25", false},
		{"a single value of long ago", stocks[:1], "2021-01-01", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			info := series.Info{ID: "test.a", Frequency: "weekly", Published: wednesday}
			got := quality.Late(info, c.readings, date(c.at))
			if late := len(got) == 1; late != c.late {
				t.Fatalf("%+v, want it late: %v", got, c.late)
			}
			if c.late && (got[0].Severity != series.SeverityWarn || got[0].Check != quality.Freshness) {
				t.Errorf("%+v, want a warning of freshness", got)
			}
		})
	}
	if got := quality.Late(series.Info{Frequency: "weekly"}, stocks, date("2030-01-01")); got != nil {
		t.Errorf("a series without a rhythm of publication: %+v", got)
	}
}

func TestAnAnswerIsNotChanged(t *testing.T) {
	t.Parallel()
	crude := history(200, 70, date("2024-01-01"), workday)
	mixed := after(crude, "2024-12-02 70", "2024-10-08 71", "2024-10-07 70")
	before := append([]series.Reading{}, mixed...)
	a := say("daily", crude, mixed)
	first := quality.Check(a)
	if d := cmp.Diff(before, mixed); d != "" {
		t.Errorf("the readings were changed:\n%s", d)
	}
	if d := cmp.Diff(first, quality.Check(a)); d != "" {
		t.Errorf("the same answer has other findings:\n%s", d)
	}
}
