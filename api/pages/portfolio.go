package pages

import (
	"context"
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"tidemark/api/pages/plot"
	"tidemark/api/view"
	"tidemark/picks"
)

// portfolioBody is the content of the portfolio page. Portfolio is nil before the inception.
type portfolioBody struct {
	localizer

	Portfolio    *view.Portfolio
	Return       template.HTML
	Drawdown     template.HTML
	Days         []view.HistorySnapshot
	Open, Closed []view.Position
	// LastReturn and LastBenchmark are the labels of the last returns in Return.
	LastReturn, LastBenchmark string
	// held are all open positions, also where the visitor does not see them.
	held []view.Position
	// Doubts are the closes in doubt, for a visitor who sees the positions.
	Doubts  []view.PriceInDoubt
	Sectors []view.Sector
	Regions []view.Region
	// Points are the points of the plots as JSON, for the script.
	Points template.JS
	// Small reports that the plot of the return is small and stands alone, as on the home page.
	Small bool
	// Weekly reports that the plot has weekly points and that daily data are not shown.
	Weekly bool
}

// Week is the number of sessions that the return of a week is over.
func (portfolioBody) Week() int { return picks.SessionsOfWeek }

// Month is the number of sessions that the return of a month is over.
func (portfolioBody) Month() int { return picks.SessionsOfMonth }

// portfolio shows the model portfolio and its benchmark.
func (p *Pages) portfolio(_ context.Context, r request) (*view.Document, error) {
	st := r.published
	if st == nil {
		return nil, nil
	}
	lang, err := r.lang()
	if err != nil {
		return nil, err
	}
	body := portfolioBody{localizer: r.local(lang)}
	l := p.layoutIn(body.localizer, r.site, r.path)
	l.Title = l.T("portfolio") + suffix
	l.Description = l.T("portfolio.about")
	if body.Portfolio, _, err = data[view.Portfolio](st.Portfolio()); err != nil {
		return nil, err
	}
	if body.Portfolio != nil {
		if err := body.fill(r); err != nil {
			return nil, err
		}
	}
	if err := p.annotate(&l, r, "note.portfolio", pricedPositions, pricedHistory, pricedSectors, pricedRegions); err != nil {
		return nil, err
	}
	l.Body = body
	l.Scripts = []string{p.staticAddress("plot.js")}
	p.inLanguages(&l, r)
	return p.document("portfolio", l, time.Time{}), nil
}

// fill reads the data that the visitor sees in addition to the summary.
func (b *portfolioBody) fill(r request) error {
	st := r.published
	history, _, err := list[view.HistorySnapshot](st.History(view.ListQuery{}))
	if err != nil {
		return err
	}
	if b.Weekly = !r.whole(pricedHistory); b.Weekly {
		history = weekly(history)
	}
	b.plot(history)
	for i := len(history) - 1; i >= 0 && len(b.Days) < newest && !b.Weekly; i-- {
		b.Days = append(b.Days, history[i])
	}
	if b.held, _, err = list[view.Position](st.Positions(view.ListQuery{Status: view.StatusOpen})); err != nil {
		return err
	}
	if r.whole(pricedPositions) {
		b.Doubts, b.Open = b.Portfolio.PricesInDoubt, b.held
		if b.Closed, _, err = list[view.Position](st.Positions(view.ListQuery{Status: view.StatusClosed})); err != nil {
			return err
		}
	}
	if r.whole(pricedSectors) {
		if b.Sectors, _, err = list[view.Sector](st.Sectors(view.ListQuery{})); err != nil {
			return err
		}
	}
	if r.whole(pricedRegions) {
		if b.Regions, _, err = list[view.Region](st.Regions(view.ListQuery{})); err != nil {
			return err
		}
	}
	return nil
}

// Waits reports whether a sector or a region has no return yet, because all of its positions were bought at the newest close.
func (b portfolioBody) Waits(sector, region string) bool {
	positions := 0
	for _, p := range b.held {
		if sector != "" && p.Sector != sector || region != "" && p.Region != region {
			continue
		}
		if p.EntryDate != b.Portfolio.AsOf {
			return false
		}
		positions++
	}
	return positions > 0
}

// weekly keeps the first session, the start of all returns, and the last session of each week.
func weekly(history []view.HistorySnapshot) (kept []view.HistorySnapshot) {
	var before string
	for _, s := range history {
		day, err := time.Parse(time.DateOnly, s.Date)
		if err != nil { // the view writes valid dates only
			continue
		}
		year, week := day.ISOWeek()
		if name := fmt.Sprint(year, week); name == before && len(kept) > 1 {
			kept[len(kept)-1] = s
		} else {
			kept, before = append(kept, s), name
		}
	}
	return kept
}

// plot draws the history: the returns since inception, and below them the drawdown from the highest value.
func (b *portfolioBody) plot(history []view.HistorySnapshot) {
	if len(history) == 0 || b.Portfolio == nil {
		return
	}
	n := len(history)
	x, ours, theirs, drawdown := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	var days []time.Time
	for i, s := range history {
		day, err := time.Parse(time.DateOnly, s.Date)
		if err != nil { // the view writes valid dates only
			return
		}
		days = append(days, day)
		x[i], ours[i], theirs[i], drawdown[i] = float64(day.Unix()), orNaN(s.ReturnPct), orNaN(s.BenchmarkReturnPct), orNaN(s.DrawdownPct)
	}
	b.Points = embedJSON(shownPoints(history, b.Weekly || b.Small))
	from, to := days[0], days[n-1]
	last, symbol := history[n-1], b.Portfolio.Benchmark.Symbol
	b.LastReturn, b.LastBenchmark = b.Pct(last.ReturnPct), b.Pct(last.BenchmarkReturnPct)
	height := 280.
	if b.Small {
		height = 170
	}
	returns := plot.Figure{
		ID: "plot-return", Title: b.Say("portfolio.plot", symbol, b.Date(history[0].Date)),
		Description: b.Say("portfolio.plot text", b.Date(last.Date), b.Pct(last.ReturnPct), b.Pct(last.BenchmarkReturnPct)),
		Height:      height, From: from, To: to, Suffix: b.PercentSign(), Rules: []float64{0}, Words: b.figureWords(),
		Marks: []plot.Mark{
			plot.Line{Class: "second", X: x, Y: theirs, Label: b.LastBenchmark},
			plot.Line{X: x, Y: ours, Label: b.LastReturn},
		},
	}
	below := plot.Figure{
		ID: "plot-drawdown", Title: b.T("portfolio.drawdown plot"), Description: b.Say("portfolio.drawdown text", b.Pct(b.Portfolio.MaxDrawdownPct)),
		Height: 130, From: from, To: to, Suffix: b.PercentSign(), Rules: []float64{0}, Ticks: 3, Words: b.figureWords(),
		Marks: []plot.Mark{plot.Area{Class: "bad", X: x, Y: drawdown}, plot.Line{Class: "thin bad", X: x, Y: drawdown}},
	}
	if !b.Weekly && !b.Small {
		plot.Align(&returns, &below)
		b.Drawdown = template.HTML(below.SVG())
	}
	b.Return = template.HTML(returns.SVG())
}

// smallReturn plots the return of the portfolio and of its benchmark. Where the days are priced, it has the points that are free, so that no
// visitor pays for a look at it. It is nil without a portfolio.
func (l localizer) smallReturn(r request, portfolio *view.Portfolio) (*portfolioBody, error) {
	history, _, err := list[view.HistorySnapshot](r.published.History(view.ListQuery{}))
	if err != nil || portfolio == nil || len(history) == 0 {
		return nil, err
	}
	b := &portfolioBody{localizer: l, Portfolio: portfolio, Weekly: !r.all, Small: true}
	if b.Weekly {
		history = weekly(history)
	}
	b.plot(visible(history))
	return b, nil
}

// visible keeps the days that a small plot can show. Of a long history that are the extremes of each stretch of both lines.
func visible(history []view.HistorySnapshot) (kept []view.HistorySnapshot) {
	x, ours, theirs := make([]float64, len(history)), make([]float64, len(history)), make([]float64, len(history))
	for i, s := range history {
		x[i], ours[i], theirs[i] = float64(i), orNaN(s.ReturnPct), orNaN(s.BenchmarkReturnPct)
	}
	shown := append(plot.Reduce(x, ours, smallStretches), plot.Reduce(x, theirs, smallStretches)...)
	slices.Sort(shown)
	for _, i := range slices.Compact(shown) {
		kept = append(kept, history[i])
	}
	return kept
}

// smallStretches is how many stretches the small plot of the return has.
const smallStretches = 80

// shownPoint is a point of the plots for the script, with the API's names.
type shownPoint struct {
	ObservedAt         string   `json:"observed_at"`
	ReturnPct          *float64 `json:"return_pct"`
	BenchmarkReturnPct *float64 `json:"benchmark_return_pct"`
	DrawdownPct        *float64 `json:"drawdown_pct,omitempty"`
}

// shownPoints returns the points of the plots. It omits the drawdown if the return stands alone.
func shownPoints(history []view.HistorySnapshot, alone bool) []shownPoint {
	list := make([]shownPoint, len(history))
	for i, s := range history {
		list[i] = shownPoint{s.Date, s.ReturnPct, s.BenchmarkReturnPct, nil}
		if !alone {
			list[i].DrawdownPct = s.DrawdownPct
		}
	}
	return list
}

func orNaN(f *float64) float64 {
	if f == nil {
		return math.NaN()
	}
	return *f
}
