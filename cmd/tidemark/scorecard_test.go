package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/signals/forecast"
)

// forecastServer serves two forecasts of crude oil stocks, the first with its grade, and their scorecard. lie can change the data.
func forecastServer(t *testing.T, lie func(list []view.Forecast, card *view.Scorecards)) string {
	t.Helper()
	var text []forecast.Decimal
	for i := range forecast.Levels {
		d, err := forecast.NewDecimal(float64(i), 1)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, d)
	}
	const signal, figure = "eia-weekly-petroleum", "crude_stocks_change"
	var list []view.Forecast
	var lines []forecast.Published
	labels := map[string]string{}
	previous := forecast.NoRecord
	for i, period := range []string{"2026-05-08", "2026-05-15"} {
		r := forecast.Record{
			ID: signal + "/" + figure + "/" + period, Signal: signal, Figure: figure, Period: period,
			IssuedAt: time.Date(2026, 5, 6+7*i, 21, 5, 0, 0, time.UTC), Quantiles: text, Naive1: text, Naive2: text,
			ModelVersion: "1", InputsHash: forecast.NoRecord, PreviousHash: previous,
		}
		previous = r.Hash()
		f := view.Forecast{ID: r.ID, Seq: int64(i + 1), Label: forecast.LabelNoSkill, Line: r.Line(), Hash: r.Hash()}
		p := forecast.Published{Line: f.Line, Hash: f.Hash}
		if i == 0 {
			g, err := forecast.NewGrade(r, "10.5", r.IssuedAt.AddDate(0, 0, 7), nil)
			if err != nil {
				t.Fatal(err)
			}
			g.PreviousHash = forecast.NoRecord
			f.Grade = &view.ForecastGrade{Line: g.Line(), Hash: g.Hash()}
			p.GradeLine, p.GradeHash = g.Line(), g.Hash()
		}
		labels[r.ID] = f.Label
		f = view.ForecastOfLines(f)
		list, lines = append(list, f), append(lines, p)
	}
	records, graded, faults := forecast.Check(lines)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	card := view.NewScorecards(signal, records, graded, lines, labels)
	lie(list, &card)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/signals/{id}/forecasts", func(w http.ResponseWriter, r *http.Request) {
		out := view.Forecasts{}
		if r.PathValue("id") == signal {
			out.Data = list
		}
		_ = writeJSON(w, out)
	})
	mux.HandleFunc("GET /api/signals/{id}/scorecard", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == signal {
			_ = writeJSON(w, card)
			return
		}
		_ = writeJSON(w, view.NewScorecards(r.PathValue("id"), nil, nil, nil, nil))
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func TestAServerThatLiesAboutItsForecastsIsContradicted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		lie  func(list []view.Forecast, card *view.Scorecards)
		want string
	}{
		{"nothing", func([]view.Forecast, *view.Scorecards) {}, ""},
		{"a quantile", func(l []view.Forecast, _ *view.Scorecards) {
			l[0].Line = strings.Replace(l[0].Line, ";7.0;", ";7.5;", 1)
		}, "the hash of its line"},
		{"a hash", func(l []view.Forecast, _ *view.Scorecards) { l[1].Hash = forecast.NoRecord }, "is stated"},
		{"an id", func(l []view.Forecast, _ *view.Scorecards) { l[1].ID = "other" }, "says beside its line"},
		{"a grade", func(l []view.Forecast, _ *view.Scorecards) {
			l[0].Grade.Line = strings.Replace(l[0].Grade.Line, "10.5", "12", 1)
		}, "grade"},
		{"a skill", func(_ []view.Forecast, c *view.Scorecards) { c.Data[0].All.Coverage[1].Hits = 0 }, "/0/all/coverage/1/hits is 0, 1 recomputed"},
		{"a score", func(_ []view.Forecast, c *view.Scorecards) { c.Data[0].All.CRPS = new(0.1) }, "/0/all/crps"},
		{"a number beside its line", func(l []view.Forecast, _ *view.Scorecards) { l[1].Quantiles[3].Value = 99 }, "/quantiles/3/value is 99"},
		{"a time beside its line", func(l []view.Forecast, _ *view.Scorecards) { l[1].IssuedAt = l[1].IssuedAt.AddDate(0, 0, -1) }, "/issued_at"},
		{"an outcome beside its line", func(l []view.Forecast, _ *view.Scorecards) { l[0].Grade.Outcome = new(1.0) }, "/grade/outcome"},
		{"a grade that is none", func(l []view.Forecast, _ *view.Scorecards) {
			l[0].Grade.Line = strings.Replace(l[0].Grade.Line, "10.5", "1e30", 1)
		}, "outcome"},
		{"a gap", func(l []view.Forecast, _ *view.Scorecards) { l[1].Seq = 7 }, "has the number 7"},
		{"another signal's scorecard", func(_ []view.Forecast, c *view.Scorecards) { c.ID = "hormuz-transit" }, "is said to be that of"},
		{"escapes", func(l []view.Forecast, _ *view.Scorecards) { l[1].Line = "\x1b[2J" + l[1].Line }, "MISMATCH"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			err := scorecardCommand{URL: forecastServer(t, c.lie)}.Run(t.Context(), &program{stdout: &out})
			switch {
			case c.want == "" && err != nil:
				t.Errorf("an honest server is contradicted: %v\n%s", err, out.String())
			case c.want != "" && (err == nil || !strings.Contains(out.String(), c.want)):
				t.Errorf("%v, want an error and %q in\n%s", err, c.want, out.String())
			case strings.Contains(out.String(), "\x1b"):
				t.Error("the server's escapes reach the terminal")
			}
		})
	}
}
