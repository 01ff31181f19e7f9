package workers

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Cards writes research cards.
type Cards struct {
	DB *postgres.DB
	// Writer writes the texts, which are otherwise written by rule; Name is its name in the texts. Writer may be nil.
	Writer picks.Writer
	Name   string
	// Timeout bounds the time that the writer takes for one card.
	Timeout time.Duration
	Log     *slog.Logger
}

// byRule is the name of the writer that is always there.
const byRule = "rules"

// citedBack is how far back the filings go that a card may cite.
const citedBack = 6

// rangeBack is how many years of prices the range of a company's valuations looks at, with a month to spare.
const rangeBack = 5

// Write writes a card about a company of a ranking, from the data known at an instant.
func (c Cards) Write(ctx context.Context, r picks.Ranking, s picks.Score, asOf time.Time) (postgres.Research, error) {
	background, err := c.backgrounds(ctx, r, []equity.CIK{s.CIK}, asOf)
	if err != nil {
		return postgres.Research{}, err
	}
	return c.write(ctx, r, s, background[s.CIK], asOf)
}

// backgrounds are, by company, the filings before the day of a ranking that cards may cite, and the prices of five years.
func (c Cards) backgrounds(ctx context.Context, r picks.Ranking, ciks []equity.CIK, asOf time.Time) (map[equity.CIK]picks.Background, error) {
	list, err := c.DB.FilingsOf(ctx, ciks, r.Day.AddDate(-citedBack, 0, 0), r.Day.AddDate(0, 0, -1), asOf)
	if err != nil {
		return nil, err
	}
	prices, err := c.DB.HistoriesFrom(ctx, ciks, r.Day.AddDate(-rangeBack, -1, 0), r.Day.AddDate(0, 0, -1), asOf)
	if err != nil {
		return nil, err
	}
	of := map[equity.CIK]picks.Background{}
	for _, cik := range ciks {
		of[cik] = picks.Background{History: prices[cik]}
	}
	for _, f := range list {
		b := of[f.CIK]
		b.Filings = append(b.Filings, f)
		of[f.CIK] = b
	}
	return of, nil
}

func (c Cards) write(ctx context.Context, r picks.Ranking, s picks.Score, background picks.Background, asOf time.Time) (postgres.Research, error) {
	brief := picks.NewBrief(r, s, background)
	card := postgres.Research{
		CIK: s.CIK, Day: r.Day, Ticker: s.Ticker, Name: s.Name, Exchange: s.Exchange, Sector: string(s.Sector), Region: string(s.Region),
		Country: s.Country, AsOf: asOf, Fundamentals: postgres.FundamentalsOf(s.Fundamentals()), Facts: postgres.DataOf(brief.Facts),
		Sources: postgres.DocumentsOf(brief.Sources), Texts: map[picks.Lang]postgres.ResearchText{},
	}
	if c.Writer != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, c.Timeout)
		defer stop()
	}
	var mu sync.Mutex
	var g errgroup.Group
	for _, lang := range picks.Langs() {
		g.Go(func() error {
			texts, refused, err := picks.Compose(ctx, c.Writer, brief, lang)
			if err != nil {
				return err
			}
			writer := byRule
			switch {
			case refused != nil:
				c.Log.WarnContext(ctx, "a writer's texts are not taken, they are written by rule", "lang", string(lang), "err", refused)
			case c.Writer != nil:
				writer = c.Name
			}
			mu.Lock()
			defer mu.Unlock()
			card.Texts[lang] = postgres.ResearchTextOf(texts, writer)
			return nil
		})
	}
	err := g.Wait()
	return card, err
}
