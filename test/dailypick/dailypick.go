// Package dailypick records picks for tests that are not about cards: each pick has a card whose texts say nothing.
package dailypick

import (
	"context"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
)

// Record records the pick of the world's day. The error is postgres.ErrRefused if the record rejects it. If the day has a pick, nothing is
// added and that pick is returned.
func Record(ctx context.Context, db *postgres.DB, n postgres.NewPick) (postgres.Pick, error) {
	day, err := time.Parse(time.DateOnly, n.Date)
	if err != nil {
		return postgres.Pick{}, err
	}
	card := postgres.Research{
		CIK: n.CIK, Day: day, Ticker: n.Ticker, Name: n.Name, Exchange: n.Exchange, Sector: n.Sector, Region: n.Region, Country: n.Country,
		AsOf: day, Texts: map[picks.Lang]postgres.ResearchText{},
	}
	for _, lang := range picks.Langs() {
		card.Texts[lang] = postgres.ResearchTextOf(picks.Texts{Lang: lang}, "rules")
	}
	p, _, err := db.RecordPick(ctx, task.Fence{}, n, card, 0)
	return p, err
}
