package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"tidemark/api/view"
	"tidemark/chain/audit"
	"tidemark/signals"
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
	previous := forecast.NoRecord
	for i, period := range []string{"2026-05-08", "2026-05-15"} {
		r := forecast.Record{
			ID: signal + "/" + figure + "/" + period, Signal: signal, Figure: figure, Period: period,
			IssuedAt: time.Date(2026, 5, 6+7*i, 21, 5, 0, 0, time.UTC), Quantiles: text, Naive1: text, Naive2: text,
			ModelVersion: "1", InputsHash: forecast.NoRecord, PreviousHash: previous,
		}
		previous = r.Hash()
		f := view.Forecast{ID: r.ID, Seq: int64(i + 1), Label: forecast.LabelNoSkill, Line: r.Line(), Hash: r.Hash()}
		if i == 0 {
			g, err := forecast.NewGrade(r, "10.5", r.IssuedAt.AddDate(0, 0, 7), nil)
			if err != nil {
				t.Fatal(err)
			}
			g.PreviousHash = forecast.NoRecord
			f.Grade = &view.ForecastGrade{Line: g.Line(), Hash: g.Hash(), GradedAt: g.PublishedAt}
		}
		list = append(list, view.ForecastOfLines(f))
	}
	card := scorecardOf(list)
	lie(list, &card)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/signals/{id}/forecasts", func(w http.ResponseWriter, r *http.Request) {
		out := view.Forecasts{ID: r.PathValue("id"), Data: []view.Forecast{}}
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
		{"a release that is far off", func(l []view.Forecast, _ *view.Scorecards) {
			l[1].Target.ReleaseAt = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		}, "/target/release_at is 2030-01-01T00:00:00Z, 2026-05-20T14:30:00Z recomputed"},
		{"an outcome beside its line", func(l []view.Forecast, _ *view.Scorecards) { l[0].Grade.Outcome = new(1.0) }, "/grade/outcome"},
		{"a grade that is none", func(l []view.Forecast, _ *view.Scorecards) {
			l[0].Grade.Line = strings.Replace(l[0].Grade.Line, "10.5", "1e30", 1)
		}, "outcome"},
		{"a label that nothing earned", func(l []view.Forecast, c *view.Scorecards) {
			l[1].Label, c.Data[0].Label = forecast.LabelSkill, forecast.LabelSkill
		}, "has the label skill, and the 1 grades that were known when it was issued say otherwise"},
		{"a label that is none", func(l []view.Forecast, c *view.Scorecards) { l[1].Label, c.Data[0].Label = "best", "best" }, "unknown label"},
		{"a grade before its print", func(l []view.Forecast, _ *view.Scorecards) {
			l[0].Grade.GradedAt = l[0].Grade.PublishedAt.Add(-time.Second)
		}, "before its print"},
		{"that one of them is made up", func(l []view.Forecast, _ *view.Scorecards) { l[1].Synthetic = true }, "made up"},
		{"a gap", func(l []view.Forecast, _ *view.Scorecards) { l[1].Seq = 7 }, "has the number 7"},
		{"another signal's scorecard", func(_ []view.Forecast, c *view.Scorecards) { c.ID = "hormuz-transit" }, "is said to be that of"},
		{"an escape as the label", func(l []view.Forecast, c *view.Scorecards) {
			for i := range l {
				l[i].Label = "\x1b]0;owned\a"
			}
			c.Data[0].Label = "\x1b]0;owned\a"
		}, "unknown label"},
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

// Times are bounded on both sides: a print comes in time or the forecast is void, a record does not go on without either, and nothing is of
// tomorrow. The independent script says so, too.
func TestAServerThatWithholdsOrPostponesGradesIsContradicted(t *testing.T) {
	t.Parallel()
	rewrite := func(f *view.Forecast, change func(r *forecast.Record)) {
		r, err := forecast.ParseRecord(f.Line)
		if err != nil {
			t.Fatal(err)
		}
		change(&r)
		r.ID = r.Signal + "/" + r.Figure + "/" + r.Period
		f.ID, f.Line, f.Hash = r.ID, r.Line(), r.Hash()
		*f = view.ForecastOfLines(*f)
	}
	regrade := func(f *view.Forecast, change func(g *forecast.Grade)) {
		g, err := forecast.ParseGrade(f.Grade.Line)
		if err != nil {
			t.Fatal(err)
		}
		change(&g)
		f.Grade.Line, f.Grade.Hash, f.Grade.GradedAt = g.Line(), g.Hash(), g.PublishedAt
		*f = view.ForecastOfLines(*f)
	}
	later := func(f *view.Forecast, days int) { // the record goes on: its second forecast is of a later week
		rewrite(f, func(r *forecast.Record) {
			at, _ := time.Parse(time.DateOnly, r.Period)
			r.Period, r.IssuedAt = at.AddDate(0, 0, days).Format(time.DateOnly), r.IssuedAt.AddDate(0, 0, days)
		})
	}
	// The first print is due on 13 May 2026 at 14:30 UTC, so its forecast is void from 12 June on.
	due := time.Date(2026, 5, 13, 14, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		what string
		lie  func(l []view.Forecast)
		want string
	}{
		{"nothing", func([]view.Forecast) {}, ""},
		{"nothing, while a week for the grade is not over", func(l []view.Forecast) {
			l[0].Grade = nil
			later(&l[1], 28)
		}, ""},
		{"a grade that is withheld", func(l []view.Forecast) {
			l[0].Grade = nil
			later(&l[1], 42)
		}, "it has no grade and was not given up"},
		{"nothing, with a print at the last second", func(l []view.Forecast) {
			regrade(&l[0], func(g *forecast.Grade) { g.PublishedAt = due.AddDate(0, 0, 30).Add(-time.Second) })
		}, ""},
		{"a print that came too late", func(l []view.Forecast) {
			regrade(&l[0], func(g *forecast.Grade) { g.PublishedAt = due.AddDate(0, 0, 30) })
		}, "and it is void since"},
		{"a print that is still to come", func(l []view.Forecast) {
			regrade(&l[0], func(g *forecast.Grade) { g.PublishedAt = time.Now().AddDate(5, 0, 0).Truncate(time.Second) })
		}, "which is still to come"},
		{"a grade that is still to come", func(l []view.Forecast) { l[0].Grade.GradedAt = time.Now().AddDate(5, 0, 0) }, "which is still to come"},
		{"a forecast that is still to come", func(l []view.Forecast) { later(&l[1], 7*300) }, "which is still to come"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			url := forecastServer(t, func(list []view.Forecast, card *view.Scorecards) {
				c.lie(list)
				*card = scorecardOf(list)
			})
			holds := func(program string, err error, out string) {
				if (err == nil) != (c.want == "") || !strings.Contains(out, c.want) || (err == nil) != strings.Contains(out, "are the server's word") {
					t.Errorf("%s: %v, want %q in\n%s", program, err, c.want, out)
				}
			}
			var out strings.Builder
			holds("tidemark scorecard", scorecardCommand{URL: url}.Run(t.Context(), &program{stdout: &out}), out.String())
			python, err := exec.LookPath("python3")
			if err != nil {
				t.Skip("python3 is not installed: the independent script did not run")
			}
			script := exec.CommandContext(t.Context(), python, "../../examples/python/scorecard.py")
			script.Env = append(os.Environ(), "TIDEMARK_URL="+url)
			text, err := script.CombinedOutput()
			holds("scorecard.py", err, string(text))
		})
	}
}

// Unknown members are null, as docs/forecasts.md says: no grades have no mean width.
func TestAScorecardWithoutGradesKnowsNoWidth(t *testing.T) {
	t.Parallel()
	for _, c := range view.NewScorecards("lng-arbitrage", nil, nil, nil, nil).Data[0].All.Coverage {
		if c.Width != nil {
			t.Errorf("the mean width of %d %% is %v, want null", c.Percent, *c.Width)
		}
	}
}

// scorecardOf is the scorecard that follows from a list.
func scorecardOf(list []view.Forecast) view.Scorecards {
	lines, labels := make([]forecast.Published, len(list)), map[string]string{}
	for i, f := range list {
		lines[i], labels[f.ID] = forecast.Published{Line: f.Line, Hash: f.Hash}, f.Label
		if f.Grade != nil {
			lines[i].GradeLine, lines[i].GradeHash = f.Grade.Line, f.Grade.Hash
		}
	}
	records, graded, _ := forecast.Check(lines, time.Now())
	return view.NewScorecards("eia-weekly-petroleum", records, graded, lines, labels)
}

// A server that sends its readers elsewhere could make them ask addresses of their own network.
func TestScorecardAndExplainStayAtTheServerThatWasNamed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	inside := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	t.Cleanup(inside.Close)
	server := httptest.NewServer(http.RedirectHandler(inside.URL+"/metadata", http.StatusFound))
	t.Cleanup(server.Close)
	def, _ := signals.ByID("eia-weekly-petroleum")
	var out strings.Builder
	p := &program{stdout: &out}
	for name, err := range map[string]error{
		"scorecard": scorecardCommand{URL: server.URL}.Run(t.Context(), p), "explain": explainCommand{URL: server.URL}.fromOutside(t.Context(), p, def),
	} {
		if err == nil || !strings.Contains(err.Error(), "redirects to") {
			t.Errorf("%s: %v", name, err)
		}
	}
	select {
	case path := <-asked:
		t.Errorf("another server was asked for %s", path)
	default:
	}
}

// Pages without end, or with a label of megabytes, filled the memory of who reads them.
func TestScorecardReadsNoPageOfMegabytes(t *testing.T) {
	t.Parallel()
	label := strings.Repeat("x", 9<<20)
	url := forecastServer(t, func(l []view.Forecast, _ *view.Scorecards) { l[0].Label = label })
	err := scorecardCommand{URL: url}.Run(t.Context(), &program{stdout: &strings.Builder{}})
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a label of 9 MB: %.200v", err)
	}
}

func FuzzForecastsOfAServer(f *testing.F) {
	f.Add([]byte(`{"data":[{"id":"eia-weekly-petroleum/crude_stocks_change/2026-05-08","seq":1,"line":"a;b","hash":"c","grade":{"line":"d"}}]}`),
		[]byte(`{"id":"eia-weekly-petroleum","data":[{"figure":"x","label":"y","all":{"skill":[{"skill":1}],"coverage":[{"band":[1,2]}]}}]}`))
	f.Fuzz(func(t *testing.T, page, card []byte) {
		var list view.Forecasts
		var stated view.Scorecards
		if audit.Decode(page, &list) != nil || audit.Decode(card, &stated) != nil {
			return
		}
		cards, faults := judgeForecasts(list.Data, []view.Scorecards{stated}, time.Now())
		var out strings.Builder
		if err := printScorecards(&out, "https://a.example", list.Data, cards, faults); err != nil {
			t.Error(err)
		}
		if strings.ContainsFunc(out.String(), func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
			t.Errorf("the server commands the terminal: %q", out.String())
		}
	})
}
