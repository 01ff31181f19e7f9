package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/picks"
	"tidemark/picks/backtest"
	"tidemark/workers"
)

type picksBacktest struct {
	format

	From   time.Time `format:"2006-01-02" help:"The first day to score. Default: a year after the first close of the benchmark."`
	To     time.Time `format:"2006-01-02" help:"The last day whose closes are read. Default: the last session."`
	Every  int       `default:"5" help:"How many sessions lie between two days that are scored. On each of them a pick is made."`
	Random int       `default:"1000" help:"How many random portfolios the picks are compared with."`
	Seed   uint64    `default:"1" help:"Seed of the random portfolios."`
}

// Validate refuses what cannot be run.
func (c picksBacktest) Validate() error {
	switch {
	case c.Every < 1:
		return fmt.Errorf("--every: %d is not a number of sessions", c.Every)
	case c.Random < 0 || c.Random > 100_000:
		return fmt.Errorf("--random: %d is not between 0 and 100000", c.Random)
	}
	return nil
}

// Run runs the method on the stored history. The trial is recorded before any result is shown.
func (c picksBacktest) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	in, window, err := c.input(ctx, db)
	if err != nil {
		return err
	}
	if in.Trials, err = workers.RecordPicksBacktest(ctx, db, window); err != nil {
		return err
	}
	show := p.meter()
	if !c.JSON {
		in.Progress = show.scored
	}
	r, err := backtest.Run(in)
	show.end()
	if err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(p.stdout, r)
	}
	return writeBacktest(p.stdout, r, len(in.Prices)-1)
}

// usualEvery is the default of --every.
const usualEvery = 5

// input reads what the backtest runs on, as it is known now. window names the days if they are not the usual ones.
func (c picksBacktest) input(ctx context.Context, db *postgres.DB) (in backtest.Input, window string, err error) {
	in = backtest.Input{Rules: picks.DefaultRules(), Holding: picks.DefaultPortfolioRules(), Random: c.Random, Seed: c.Seed, To: c.To}
	now, err := db.Now(ctx)
	if err != nil {
		return in, "", err
	}
	var parts []string
	if last := calendar.LastClosed(now); in.To.IsZero() || !in.To.Before(last) {
		in.To = last
	} else {
		parts = append(parts, "to-"+in.To.Format(time.DateOnly))
	}
	companies, err := db.Companies(ctx, now)
	if err != nil {
		return in, "", err
	}
	ids := append(slices.Sorted(maps.Keys(companies)), equity.Benchmark)
	slices.Sort(ids)
	if in.Prices, err = db.Histories(ctx, slices.Compact(ids), in.To, now); err != nil {
		return in, "", err
	}
	filings, err := db.FilingsOf(ctx, slices.Compact(ids), time.Time{}, in.To, now)
	if err != nil {
		return in, "", err
	}
	in.Departures = map[equity.CIK][]equity.Filing{}
	for _, f := range filings {
		if picks.Departs(f) {
			in.Departures[f.CIK] = append(in.Departures[f.CIK], f)
		}
	}
	bars := in.Prices[equity.Benchmark].Bars
	if len(bars) == 0 {
		return in, "", fmt.Errorf("the benchmark has no price up to %s", in.To.Format(time.DateOnly))
	}
	const year = 253
	from := calendar.Add(bars[0].Date, year)
	if c.From.After(from) {
		from = c.From
		parts = append([]string{"from-" + from.Format(time.DateOnly)}, parts...)
	}
	if c.Every != usualEvery {
		parts = append(parts, fmt.Sprintf("every-%d", c.Every))
	}
	for i, day := range calendar.Between(from, in.To) {
		if i%c.Every == 0 {
			in.Days = append(in.Days, day)
		}
	}
	in.Market = func(day time.Time) ([]picks.Candidate, error) { return db.Candidates(ctx, day, now) }
	return in, strings.Join(parts, "."), nil
}

// scored shows on a terminal how many days are scored.
func (m *meter) scored(done, all int) {
	if !m.tty {
		return
	}
	if m.bar == nil {
		m.bar = progressbar.NewOptions(all, progressbar.OptionSetWriter(m.out), progressbar.OptionSetWidth(30), progressbar.OptionShowCount(),
			progressbar.OptionSetDescription("days scored"))
	}
	_ = m.bar.Set(done)
}

// writeBacktest prints the result for people. known is how many companies the database has prices of.
func writeBacktest(out io.Writer, r backtest.Result, known int) error {
	number := func(decimals int, n backtest.Number) string {
		if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
			return fmt.Sprintf("%+.*f", decimals, v)
		}
		return dash("")
	}
	share := func(n backtest.Number) string { return strings.TrimPrefix(number(3, n), "+") }
	var f format
	_, _ = fmt.Fprintf(out, "%s to %s: %s scored, %d skipped; %.0f to %.0f companies a day, %.0f on average\n", r.From, r.To, counted(r.Days, "day"), r.Skipped,
		float64(r.Companies[0]), float64(r.Companies[2]), float64(r.Companies[1]))
	_, _ = fmt.Fprintf(out, "method %.12s, backtest %.12s, %s of the method so far, digest %.16s\n\n", r.Method, r.Code, counted(r.Picks.Trials, "trial"), r.Digest)

	t := newTable("rank correlation with the return of", "mean", "t", "months")
	for _, c := range r.IC {
		t.add(fmt.Sprintf("month %d", c.Month), number(3, c.Mean), number(2, c.T), c.Months)
	}
	for _, g := range []picks.Group{picks.Quality, picks.Value, picks.Momentum, picks.Risk} {
		c := r.Groups[string(g)]
		t.add(fmt.Sprintf("month 1, %s alone", g), number(3, c.Mean), number(2, c.T), c.Months)
	}
	if err := f.list(out, t); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)

	t = newTable("percent a month of the fifths, best first", "2", "3", "4", "5", "1 less 5", "t", "new in 1")
	cells := make([]any, 0, 8)
	for _, v := range r.Fifths.ReturnPct {
		cells = append(cells, number(2, v))
	}
	t.add(append(cells, number(2, r.Fifths.SpreadPct), number(2, r.Fifths.T), strings.TrimPrefix(number(1, r.Fifths.TurnoverPct), "+"))...)
	if err := f.list(out, t); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)

	t = newTable("picks", strconv.Itoa(r.Picks.Picks))
	t.add("percent a year over the benchmark", number(2, r.Picks.ExcessOverBenchmarkPct))
	t.add("percent a year over all companies scored", number(2, r.Picks.ExcessOverUniversePct))
	t.add("information ratio, t", number(2, r.Picks.InformationRatio)+", "+number(2, r.Picks.T))
	t.add("probabilistic, deflated Sharpe ratio", share(r.Picks.Probabilistic)+", "+share(r.Picks.Deflated))
	t.add("turnover, percent a year", strings.TrimPrefix(number(0, r.Picks.TurnoverPct), "+"))
	t.add(fmt.Sprintf("%d random portfolios: mean, 5 and 95 percent", r.Random.N), number(2, r.Random.MeanPct)+", "+number(2, r.Random.RangePct[0])+" to "+number(2, r.Random.RangePct[1]))
	t.add("share of them that did as well", share(r.Random.P))
	t.add(fmt.Sprintf("probability that a choice among %d weightings is overfitted", len(r.Overfitting.Trials)), share(r.Overfitting.Probability))
	t.add("probability that the chosen one then loses", share(r.Overfitting.Loss))
	t.add("best weighting over all sessions", dash(r.Overfitting.Best()))
	if err := f.list(out, t); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out)

	for _, test := range r.Tests {
		_, _ = fmt.Fprintf(out, "%-3s %s\n", map[bool]string{true: "yes", false: "no"}[test.Passed], test.Name)
	}
	_, _ = fmt.Fprintf(out, "%s; %s\n", map[bool]string{true: "The scores say something about later returns", false: "Nothing shows that the scores say anything about later returns"}[r.ScoresFound],
		map[bool]string{true: "the picks did better than luck.", false: "nothing shows that the picks did better than luck."}[r.PicksFound])
	d := r.Delisted
	_, err := fmt.Fprintf(out, "Facts count from the day they were filed; prices are those known today. Of %d companies with prices, %d that were scored have stopped\n"+
		"trading, %d of them in a merger: the fewer, the more companies that failed are missing, and the better the result looks. The others are taken to\n"+
		"lose 30 percent (NYSE) or 55 percent (Nasdaq) after their last close: %s percent a year over the benchmark. It would be %s if they lost nothing, %s if\n"+
		"they lost all. Costs are not in it.\n", known, d.Mergers+d.Performance, d.Mergers, number(2, d.Published), number(2, d.Nothing), number(2, d.All))
	return err
}
