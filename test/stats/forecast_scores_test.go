package stats

import (
	"math"
	"slices"
	"testing"
	"time"

	"tidemark/internal/series"
	"tidemark/signals/forecast"
)

// measuredForecasts are the figures with recorded prints, and the results of an independent program for them. The results are the mean CRPS
// of both naive forecasts and of the published one, and the share of outcomes in the central 80 %. Zero means that it was measured on other origins or
// with other inputs; the test checks a range instead.
var measuredForecasts = []struct {
	figure               string
	in                   func(testing.TB) series.Set
	from, to             string
	naive1, naive2, crps float64
	leastSkill, most     float64 // against the first naive forecast, in percent
	cover80              float64
}{
	{"crude_stocks_change", weeklyPetroleum, "1998-05-01", "2025-05-16", 2435, 2407, 2200, 9, 10, 80},
	{"gasoline_stocks_change", weeklyPetroleum, "1998-05-01", "2025-05-16", 0, 0, 0, 15, 17, 80},
	{"distillate_stocks_change", weeklyPetroleum, "1998-05-01", "2025-05-16", 0, 0, 0, 16, 20, 80},
	{"ships_week", portWatch, "2020-07-01", "2026-06-30", 7.42, 12.4, 6.74, 8.5, 10.5, 79},
	{"spread", spotPrices, "2013-06-01", "2025-12-31", 1.591, 6.02, 1.546, 2, 4, 81},
	{"margin_europe", pinkSheets, "2018-06-01", "2026-02-28", 2.173, 6.16, 0, 10, 18, 84},
	{"next_print", illinoisCorn, "1992-01-01", "2025-12-31", 3.706, 9.94, 3.696, -1, 2, 81},
}

func pinkSheets(tb testing.TB) series.Set { tb.Helper(); return pinkSheet(tb, "2026-03-03") }

// The forecasts of the past, made again from recorded data, each from the prints before its own.
func TestForecastsOfRecordedPrintsScoreAsMeasured(t *testing.T) {
	t.Parallel()
	for _, c := range measuredForecasts {
		t.Run(c.figure, func(t *testing.T) {
			t.Parallel()
			in := c.in(t)
			target := figure(t, c.figure)
			all := slices.DeleteFunc(again(t, target, in), func(g forecast.Graded) bool {
				return g.Period.Before(date(c.from)) || g.Period.After(date(c.to))
			})
			s := forecast.NewScorecard(all)
			vs1, vs2 := s.Against[0], s.Against[1]
			t.Logf("%d prints: CRPS %.4g, naive %.4g and %.4g; skill %.1f [%.1f, %.1f] (p %.4f) and %.1f [%.1f, %.1f] percent; of 50, 80 and 90 percent held %.0f, %.0f and %.0f; PIT p %.2f",
				s.N, s.CRPS, vs1.CRPS, vs2.CRPS, 100*vs1.Skill, 100*vs1.Lo, 100*vs1.Hi, vs1.P, 100*vs2.Skill, 100*vs2.Lo, 100*vs2.Hi,
				percent(s, 0), percent(s, 1), percent(s, 2), s.PITP)
			for _, n := range []struct {
				what            string
				got, want, room float64
			}{
				{"CRPS of the first naive forecast", vs1.CRPS, c.naive1, 0.03},
				{"CRPS of the second", vs2.CRPS, c.naive2, 0.03},
				{"CRPS", s.CRPS, c.crps, 0.03},
			} {
				if n.want != 0 && math.Abs(n.got/n.want-1) > n.room {
					t.Errorf("%s: %.4g, another program measured %.4g", n.what, n.got, n.want)
				}
			}
			if skill := 100 * vs1.Skill; skill < c.leastSkill || skill > c.most {
				t.Errorf("the skill is %.1f percent, want %g to %g", skill, c.leastSkill, c.most)
			}
			if got := percent(s, 1); math.Abs(got-c.cover80) > 3 {
				t.Errorf("the central 80 percent held %.0f percent of the prints, want about %g", got, c.cover80)
			}
		})
	}
}

func percent(s forecast.Scorecard, i int) float64 {
	return 100 * float64(s.Coverage[i].Hits) / float64(s.N)
}

// A print changes nothing about the forecasts before it. The test multiplies all values after a cut by 1.5 and compares the forecasts
// before the cut.
func TestNoForecastSeesWhatCameLater(t *testing.T) {
	t.Parallel()
	for _, c := range measuredForecasts {
		t.Run(c.figure, func(t *testing.T) {
			t.Parallel()
			in := c.in(t)
			target := figure(t, c.figure)
			r, at := nextRelease(t, target, in)
			whole := again(t, target, in)
			for _, share := range []int{3, 7, 9} {
				cut := whole[len(whole)*share/10].Period
				bent := series.Set{}
				for id, points := range in {
					for _, p := range points {
						if p.ObservedAt.Time().After(cut) {
							p.Value *= 1.5
						}
						bent[id] = append(bent[id], p)
					}
				}
				_, again, err := target.Forecast(bent, r, at)
				if err != nil {
					t.Fatal(err)
				}
				n := slices.IndexFunc(whole, func(g forecast.Graded) bool { return g.Period.After(cut) })
				if n < 0 || len(again) < n {
					t.Fatalf("%d forecasts were made again of %d", len(again), n)
				}
				for i := range n {
					if again[i] != whole[i] {
						t.Fatalf("the forecast of %s changed with values after %s", whole[i].Period.Format(time.DateOnly), cut.Format(time.DateOnly))
					}
				}
			}
		})
	}
}

func TestARecordedForecastHasTwentyThreeAscendingQuantilesOfTheDocumentedForm(t *testing.T) {
	t.Parallel()
	for _, c := range measuredForecasts {
		t.Run(c.figure, func(t *testing.T) {
			t.Parallel()
			in := c.in(t)
			target := figure(t, c.figure)
			r, at := nextRelease(t, target, in)
			f, _, err := target.Forecast(in, r, at)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]forecast.Decimal{f.Quantiles, f.Naive1, f.Naive2} {
				if len(list) != len(forecast.Levels) || !slices.IsSortedFunc(list, func(a, b forecast.Decimal) int { return int(math.Copysign(1, a.Float()-b.Float())) }) {
					t.Errorf("the quantiles %v are not %d ascending numbers", list, len(forecast.Levels))
				}
			}
			if len(f.InputsHash) != 64 || !at.Before(r.ScheduledAt) {
				t.Errorf("inputs %q, issued %s for a release on %s", f.InputsHash, at, r.ScheduledAt)
			}
			if _, ok := target.Next(in, r.ScheduledAt); ok {
				t.Error("a forecast may be issued at the time of its print")
			}
		})
	}
}

func figure(tb testing.TB, name string) forecast.Target {
	tb.Helper()
	for _, t := range forecast.All() {
		if t.Figure == name {
			return t
		}
	}
	tb.Fatalf("there is no figure %s", name)
	return forecast.Target{}
}

// nextRelease is the first release that may be forecast once everything recorded is known, and when.
func nextRelease(tb testing.TB, target forecast.Target, in series.Set) (forecast.Release, time.Time) {
	tb.Helper()
	var at time.Time
	for _, id := range target.Inputs {
		for _, p := range in[id] {
			if p.VintageAt.Time().After(at) {
				at = p.VintageAt.Time()
			}
		}
	}
	for range 40 {
		if r, ok := target.Next(in, at); ok {
			return r, at
		}
		at = at.AddDate(0, 0, 7).Truncate(24 * time.Hour).Add(23 * time.Hour)
	}
	tb.Fatalf("no release of %s may be forecast", target.Figure)
	return forecast.Release{}, at
}

// again are the forecasts of the past, made again with the newest one.
func again(tb testing.TB, target forecast.Target, in series.Set) []forecast.Graded {
	tb.Helper()
	r, at := nextRelease(tb, target, in)
	_, all, err := target.Forecast(in, r, at)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}
