package pages

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
)

// portfolioBody is what the page of the portfolio shows. Portfolio is nil before the inception.
type portfolioBody struct {
	local

	Portfolio    *view.Portfolio
	Return       template.HTML
	Drawdown     template.HTML
	Days         []view.HistorySnapshot
	Open, Closed []view.Position
	Sectors      []view.Sector
	Regions      []view.Region
}

// portfolio shows the model portfolio against the benchmark.
func (p *Pages) portfolio(_ context.Context, r request) (*view.Document, error) {
	st := r.published
	if st == nil {
		return nil, nil
	}
	body := portfolioBody{local: local{"en"}}
	l := p.layout(r.site, r.path)
	l.Title = "Portfolio" + suffix
	l.Description = "The model portfolio of all picks against its benchmark: return, drawdown, positions, sectors and regions. Percentages only."
	var err error
	if body.Portfolio, _, err = data[view.Portfolio](st.Portfolio()); err != nil {
		return nil, err
	}
	history, _, err := list[view.HistorySnapshot](st.History(view.ListQuery{}))
	if err != nil {
		return nil, err
	}
	if body.Open, _, err = list[view.Position](st.Positions(view.ListQuery{Status: view.StatusOpen})); err != nil {
		return nil, err
	}
	if body.Closed, _, err = list[view.Position](st.Positions(view.ListQuery{Status: view.StatusClosed})); err != nil {
		return nil, err
	}
	if body.Sectors, _, err = list[view.Sector](st.Sectors(view.ListQuery{})); err != nil {
		return nil, err
	}
	if body.Regions, _, err = list[view.Region](st.Regions(view.ListQuery{})); err != nil {
		return nil, err
	}
	body.plot(history)
	for i := len(history) - 1; i >= 0 && len(body.Days) < newest; i-- {
		body.Days = append(body.Days, history[i])
	}
	l.Body = body
	return p.document("portfolio", l, time.Time{}), nil
}

// plot draws the history: returns since the inception, and below it how far the portfolio stood under its highest value.
func (b *portfolioBody) plot(history []view.HistorySnapshot) {
	if len(history) == 0 || b.Portfolio == nil {
		return
	}
	n := len(history)
	x, ours, theirs, drawdown := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var days []time.Time
	for i, s := range history {
		day, err := time.Parse(time.DateOnly, s.Date)
		if err != nil { // the view writes dates only
			return
		}
		days = append(days, day)
		x[i], ours[i], theirs[i], drawdown[i] = float64(day.Unix()), orNaN(s.ReturnPct), orNaN(s.BenchmarkReturnPct), orNaN(s.DrawdownPct)
	}
	from, to := days[0], days[n-1]
	b.Return = template.HTML(plot.Figure{
		ID: "plot-return", Title: "Return of the model portfolio and of " + b.Portfolio.Benchmark.Symbol + " since " + history[0].Date,
		Description: fmt.Sprintf("Percent since the inception. On %s the portfolio stood at %s %%, the benchmark at %s %%.", history[n-1].Date,
			signed(history[n-1].ReturnPct), signed(history[n-1].BenchmarkReturnPct)),
		Height: 280, From: from, To: to, Suffix: "%", Rules: []float64{0},
		Marks: []plot.Mark{plot.Line{Class: "second", X: x, Y: theirs}, plot.Line{X: x, Y: ours}},
	}.SVG())
	b.Drawdown = template.HTML(plot.Figure{
		ID: "plot-drawdown", Title: "Drawdown of the model portfolio",
		Description: "Percent below the highest value until then. The deepest was " + signed(b.Portfolio.MaxDrawdownPct) + " %.",
		Height:      130, From: from, To: to, Suffix: "%", Rules: []float64{0}, Ticks: 3,
		Marks: []plot.Mark{plot.Area{Class: "bad", X: x, Y: drawdown}, plot.Line{Class: "thin bad", X: x, Y: drawdown}},
	}.SVG())
}

func orNaN(f *float64) float64 {
	if f == nil {
		return math.NaN()
	}
	return *f
}
