package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/config"
	"tidemark/internal/equity"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
	"tidemark/workers"
)

// newPicks makes the job of the daily pick from the settings.
func (p *program) newPicks(db *postgres.DB, log *slog.Logger) (workers.Picks, error) {
	at, err := p.settings.Clocks()
	if err != nil {
		return workers.Picks{}, usageError{err}
	}
	daily := workers.Picks{DB: db, Cards: workers.Cards{DB: db, Log: log}, Announce: at.Announce, Cutoff: at.Cutoff, Log: log}
	for _, d := range p.definitions() {
		daily.Signals = append(daily.Signals, d.ID)
	}
	return daily, nil
}

type picksCommand struct {
	config.Stored

	List     picksList     `cmd:"" default:"withargs" help:"Print the picks with their returns."`
	Explain  picksExplain  `cmd:"" help:"Print how a company was scored for a day: every number, and the filing it is from."`
	Backtest picksBacktest `cmd:"" help:"Run the method on the stored history, and report whether its scores say anything about later returns."`
	Publish  picksPublish  `cmd:"" help:"Choose today's pick: the day's job takes it in the place of the method's."`
	Withdraw picksWithdraw `cmd:"" help:"Take a choice back that the day's job has not taken yet."`
	Correct  picksCorrect  `cmd:"" help:"Correct an announced pick. The pick stays, and the correction is listed with it."`
}

type picksList struct {
	format

	Limit limit `default:"50" help:"How many, the newest first."`
}

// Run prints the picks.
func (c picksList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.RecordedPicks(ctx)
	if err != nil {
		return err
	}
	now, err := db.Now(ctx)
	if err != nil {
		return err
	}
	slices.Reverse(list)
	list = list[:min(len(list), int(c.Limit))]
	var ciks []equity.CIK
	from := calendar.DayOf(now)
	for _, q := range list {
		ciks = append(ciks, q.CIK)
		if day, err := time.Parse(time.DateOnly, q.Date); err == nil && day.Before(from) {
			from = day
		}
	}
	prices, err := db.HistoriesFrom(ctx, ciks, from, calendar.DayOf(now), now)
	if err != nil {
		return err
	}
	t := newTable("seq", "date", "ticker", "price", "last", "return percent", "sector", "origin", "announced")
	for _, q := range list {
		day, err := time.Parse(time.DateOnly, q.Date)
		if err != nil {
			return fmt.Errorf("read the date of pick %d: %w", q.Seq, err)
		}
		r := prices.ReturnSince(q.CIK, equity.Price(q.Price), day, calendar.DayOf(now))
		t.add(q.Seq, q.Date, q.Ticker, q.Price, fmt.Sprint(r.LastPrice), percent(picks.Round2(r.Pct)), q.Sector, q.Origin, q.AnnouncedAt)
	}
	return c.list(p.stdout, t)
}

type picksExplain struct {
	config.Clock
	format

	Ticker string    `arg:"" help:"The company's ticker on that day."`
	Date   time.Time `format:"2006-01-02" help:"A trading day. Default: the last session."`
}

// Run prints the scores of a company.
func (c picksExplain) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	daily, err := p.newPicks(db, p.log)
	if err != nil {
		return err
	}
	day, asOf, err := daily.Basis(ctx, c.Date)
	if err != nil {
		return err
	}
	made, err := db.RecordedPicks(ctx)
	if err != nil {
		return err
	}
	if err := workers.RecordPicksTrial(ctx, db); err != nil {
		return err
	}
	market, err := daily.Market(ctx, day, asOf, made)
	if err != nil {
		return err
	}
	ranking := picks.Rank(market, picks.DefaultRules())
	if c.JSON {
		return scoreJSON(p, ranking, day, asOf, c.Ticker)
	}
	_, _ = fmt.Fprintf(p.stdout, "%s, from what was known at %s: %d companies scored, %d left out\n", day.Format(time.DateOnly),
		asOf.Format(time.RFC3339), len(ranking.Scores), len(ranking.Excluded))
	ticker := strings.ToUpper(c.Ticker)
	for _, s := range ranking.Scores {
		if s.Ticker != ticker {
			continue
		}
		if ranking.Pick != nil && ranking.Pick.CIK == s.CIK {
			_, _ = fmt.Fprintln(p.stdout, "the method's pick of the day; with another weight it would be:")
			for _, v := range ranking.Variations {
				_, _ = fmt.Fprintf(p.stdout, "  %s\n", v)
			}
		}
		for _, e := range ranking.Passed {
			if e.CIK == s.CIK {
				_, _ = fmt.Fprintf(p.stdout, "passed over: %s\n", e.Reason)
			}
		}
		_, err := fmt.Fprint(p.stdout, s.Explain())
		return err
	}
	for _, e := range ranking.Excluded {
		if e.Ticker == ticker {
			_, err := fmt.Fprintf(p.stdout, "%s is left out: %s\n", ticker, e.Reason)
			return err
		}
	}
	return fmt.Errorf("%s was not in the universe on %s", ticker, day.Format(time.DateOnly))
}

type picksCorrect struct {
	Seq      int64  `arg:"" help:"The pick's number."`
	What     string `required:"" help:"What was wrong, and what would have been right, in one line."`
	Evidence string `required:"" help:"Where that can be seen, usually an address."`
	By       string `help:"Who says so. Default: the user of the operating system."`
}

// Run records a correction.
func (c picksCorrect) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	by, err := operatorName(c.By)
	if err != nil {
		return err
	}
	now, err := db.Now(ctx)
	if err != nil {
		return err
	}
	correction := chain.Correction{Seq: c.Seq, What: c.What, Evidence: c.Evidence, Date: calendar.DayOf(now).Format(time.DateOnly)}
	if err := db.Correct(ctx, correction, by); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "pick %d stands as it is, with the correction beside it\n", c.Seq)
	return err
}

// operatorName returns a given name, or the user of the operating system.
func operatorName(by string) (string, error) {
	if by = strings.TrimSpace(by); by != "" {
		return by, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", usageError{fmt.Errorf("the user name is unknown: name the operator with --by: %w", err)}
	}
	return u.Username, nil
}

type portfolioCommand struct {
	config.Stored

	List    portfolioList    `cmd:"" default:"withargs" help:"Print how the model portfolio stood at the close of each trading day."`
	Rebuild portfolioRebuild `cmd:"" help:"Compute all snapshots again from picks and prices, and compare them bit for bit with the stored ones."`
	Events  portfolioEvents  `cmd:"" help:"Print the newest events of the portfolio."`
	Digest  portfolioDigest  `cmd:"" help:"Print the newest weekly digest."`
}

type portfolioList struct {
	format

	Limit limit `default:"20" help:"How many days, the newest first."`
}

// Run prints the portfolio's days.
func (c portfolioList) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.PortfolioHistory(ctx)
	if err != nil {
		return err
	}
	slices.Reverse(list)
	known := func(v *float64) any {
		if v == nil {
			return (*string)(nil)
		}
		return percent(picks.Round2(*v))
	}
	t := newTable("date", "return percent", "benchmark percent", "day percent", "drawdown percent", "positions", "cash percent", "as of")
	for _, s := range list[:min(len(list), int(c.Limit))] {
		t.add(s.Date.Format(time.DateOnly), known(&s.ReturnPct), known(s.BenchmarkReturnPct), known(&s.DailyReturnPct), known(&s.DrawdownPct), s.Positions,
			known(&s.CashPct), s.AsOf)
	}
	return c.list(p.stdout, t)
}

type portfolioRebuild struct{}

// Run rebuilds the portfolio; a difference is an error.
func (portfolioRebuild) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	r, err := workers.Publications{Picks: workers.Picks{DB: db}, Log: p.log}.Rebuild(ctx, nil)
	if err != nil {
		return err
	}
	for _, d := range r.Differences {
		_, _ = fmt.Fprintln(p.stdout, d)
	}
	if n := len(r.Differences); n > 0 {
		return fmt.Errorf("%d of %d snapshots and lists differ from their recomputation", n, r.Snapshots)
	}
	_, err = fmt.Fprintf(p.stdout, "%d snapshots: the same, bit for bit\n", r.Snapshots)
	return err
}

type portfolioEvents struct {
	format

	Limit       limit  `default:"20" help:"How many."`
	MinSeverity int    `default:"1" help:"Only events of this severity (1 to 5) or more."`
	Lang        string `enum:"${languages}" default:"en" help:"${languages_or}."`
}

// Run prints events.
func (c portfolioEvents) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.PortfolioEvents(ctx, postgres.EventFilter{MinSeverity: c.MinSeverity, Limit: int(c.Limit)})
	if err != nil {
		return err
	}
	t := newTable("occurred", "severity", "type", "ticker", "title")
	for _, e := range list {
		text, _ := languages.Choose(e.Texts, picks.Lang(c.Lang))
		t.add(e.OccurredAt, e.Severity, e.Type, e.Ticker, text.Title)
	}
	return c.list(p.stdout, t)
}

type portfolioDigest struct {
	format

	Lang string `enum:"${languages}" default:"en" help:"${languages_or}."`
}

// Run prints the newest digest.
func (c portfolioDigest) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	list, err := db.Digests(ctx, 1)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no digest exists yet: the first is written on the Saturday after the first pick")
	}
	text, lang := languages.Choose(list[0].Texts, picks.Lang(c.Lang))
	if d := list[0]; c.JSON {
		return writeJSON(p.stdout, one("week", d.Week, "from", d.FromDate.Format(time.DateOnly), "to", d.ToDate.Format(time.DateOnly), "as of", d.AsOf,
			"recorded", d.RecordedAt, "lang", lang, "title", text.Title, "body", text.Body, "delta", d.Delta, "picks", append([]int64{}, d.Picks...),
			"events", append([]string{}, d.Events...), "economic events", append([]string{}, d.Economic...)))
	}
	_, err = fmt.Fprintf(p.stdout, "%s: %s\n\n%s", list[0].Week, text.Title, text.Body)
	return err
}

// commandVars returns the variables in the help texts of commands.
func commandVars() kong.Vars {
	var codes []string
	for _, l := range picks.Langs() {
		codes = append(codes, string(l))
	}
	return kong.Vars{
		"languages":    strings.Join(codes, ","),
		"languages_or": languages.Listed("or"),
	}
}
