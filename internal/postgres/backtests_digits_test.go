package postgres

import (
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/internal/series"

	"tidemark/signals"
)

// A statistic that readers see has six significant digits, and what a backtest concludes follows from those.
func TestStatisticsHaveSixDigits(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	edge := signals.Edge{N: 300, RankIC: 0.3130956193766224, T: 7.523872622924824, P: 0.0012091898428053204, Lo: 0.2062529392145371, Hi: 0.41827637842661661}
	r := signals.BacktestResult{
		From: day, To: day.AddDate(0, 6, 0), Edge: edge, HitRatePct: 47.88334901222954, NaiveRankIC: -0.12499240809029516, BestRuleIC: 0.12499240809029516,
		OutOfSample: edge, OutOfSampleFrom: day, RecordedFrom: day, Assumed: edge, Recorded: edge, LookAhead: signals.LookAheadRecorded, At: day,
		Skill:    []signals.ForecastSkill{{Stage: "trend", N: 7, RMSE: 1.2345678901, MAE: 123456.789, Bias: -0.000123456789, Coverage90Pct: 90.693257359924, BaselineRMSE: 2.0 / 3, Skill: 1.0 / 3, SourceRMSE: math.Pi}},
		Examples: []signals.Case{{Known: series.InstantOf(day), Start: series.InstantOf(day), End: series.InstantOf(day), Predicted: -0.4199999999999875, Happened: 3.3920000000000137, Naive: math.NaN()}},
	}
	made := NewBacktest(signals.All()[0], r.Allow(12), "dev")
	for what, number := range map[string]struct {
		got  *float64
		want float64
	}{
		"rank_ic": {made.RankIC, 0.313096}, "t_stat": {made.T, 7.52387}, "p_value": {made.P, 0.00120919}, "adjusted_p": {made.Trials.AdjustedP, 0.0145103},
		"hit_rate_pct": {made.HitRatePct, 47.8833}, "mae": {made.Skill[0].MAE, 123457}, "bias": {made.Skill[0].Bias, -0.000123457},
		"predicted": {made.Examples[0].Predicted, -0.42}, "happened": {made.Examples[0].Happened, 3.392},
	} {
		if number.got == nil || *number.got != number.want {
			t.Errorf("%s is %v, want %v", what, number.got, number.want)
		}
	}
	body, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range regexp.MustCompile(`[:\[,]-?[0-9.e+-]+`).FindAllString(string(body), -1) {
		digits := strings.TrimLeft(regexp.MustCompile(`[^0-9]|e.*`).ReplaceAllString(number, ""), "0")
		if len(digits) > StatisticDigits {
			t.Errorf("%s has more than %d significant digits", number[1:], StatisticDigits)
		}
	}
	older := *made
	older.RankIC, older.P, older.Examples = new(0.3130956193766224), new(0.0012091898428053204), []BacktestCase{{Predicted: new(-0.4199999999999875)}}
	if served := older.Rounded(); *served.RankIC != 0.313096 || *served.P != 0.00120919 || *served.Examples[0].Predicted != -0.42 || *older.RankIC == 0.313096 {
		t.Errorf("a backtest of an older program is served as %+v", served)
	}
	record := NewUncertainty(signals.BasisMeasured, &signals.IntervalRecord{Coverage: signals.Coverage{Cases: 1053, Hits: 955, Share: 955.0 / 1053, Lo: 0.8877539184582329, Hi: 0.9237983745019024}}).Record
	if *record.Share != 0.906933 || *record.CI95 != [2]float64{0.887754, 0.923798} {
		t.Errorf("a record is %v in %v", *record.Share, *record.CI95)
	}
}
