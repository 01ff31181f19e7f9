package workers

import (
	"context"
	"slices"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/picks"
	"tidemark/picks/evaluation"
)

// measureUniverse stores which companies are scored on the day of a ranking, and what those of the day before returned since, at equal weight. The
// prices are those of the market, which begin a year before.
func (p Picks) measureUniverse(ctx context.Context, f task.Fence, m picks.Market, r picks.Ranking, asOf time.Time) error {
	if len(r.Scores) == 0 {
		return nil
	}
	today := postgres.UniverseDay{Day: r.Day}
	for _, s := range r.Scores {
		today.Companies = append(today.Companies, int64(s.CIK))
	}
	slices.Sort(today.Companies)
	before, known, err := p.DB.LastUniverseDay(ctx, r.Day)
	if err != nil {
		return err
	}
	if known {
		prices := picks.Prices{}
		for _, c := range m.Candidates {
			prices[c.Company.CIK] = c.History
		}
		ciks := make([]equity.CIK, len(before.Companies))
		for i, cik := range before.Companies {
			ciks[i] = equity.CIK(cik)
		}
		if mean, n := evaluation.EqualWeight(ciks, prices, before.Day, r.Day); n > 0 {
			pct := 100 * mean
			today.Measured, today.ReturnPct = n, &pct
		}
	}
	return p.DB.SaveUniverseDay(ctx, f, today, asOf)
}
