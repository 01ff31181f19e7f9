package workers

import (
	"context"
	"errors"
	"slices"

	"tidemark/ingest"
	"tidemark/ingest/companies"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Prices is the publisher of prices that the operator has chosen. The zero value means no publisher.
type Prices struct {
	// ID is the id of its source.
	ID string
	// Funds are asked for like a company's share, the benchmark first.
	Funds []companies.Share
	// Ask fetches the bars and actions of shares, archives and records each response, and returns the good ones. The error joins the
	// errors of the others. A share without data is not an error.
	Ask func(ctx context.Context, shares []companies.Share, w series.Window, runID int64) ([]ingest.Fetched, error)
	// SplitBetween finds the split that a publisher has worked into its history without saying so, from the bars as they are known and
	// as they are stated now. Nil for a publisher that states splits.
	SplitBetween func(known, now []equity.Bar) (equity.Action, bool)
}

// sharesAtOnce is how many shares are asked for before what came is stored.
const sharesAtOnce = 25

// prices requests the bars that each share lacks, up to the newest close. Single shares may lack theirs, for example after a trading
// halt. The run is done when the benchmark and nearly all shares have them, and is tried again otherwise.
func (e Equities) prices(ctx context.Context, t task.Task) error {
	p, err := e.pricing(ctx)
	if err != nil {
		return err
	}
	var troubles []error
	for _, q := range p.Questions() {
		for some := range slices.Chunk(q.Shares, sharesAtOnce) {
			answers, err := e.Prices.Ask(ctx, some, series.Window{From: q.From}, t.RunID)
			troubles = append(troubles, errorsOf(err)...)
			loads := make([]postgres.EquityLoad, len(answers))
			for i, a := range answers {
				good := p.Inspect(a)
				loads[i] = choose([]ingest.Fetched{a}, postgres.EquityChoice{Unbelieved: good.None, Without: good.Without, Splits: good.Splits})
			}
			if err := e.store(ctx, t, loads); err != nil {
				return err
			}
			if later(err) || ctx.Err() != nil {
				return errors.Join(append(troubles, e.keepFindings(ctx, t, p.Findings))...)
			}
		}
	}
	standing := p.Judge(troubles)
	return errors.Join(e.keepFindings(ctx, t, p.Findings), standing)
}

// pricing reads what is known of the shares.
func (e Equities) pricing(ctx context.Context) (*companies.Pricing, error) {
	now := e.Now()
	known, err := e.DB.Companies(ctx, now)
	if err != nil {
		return nil, err
	}
	p := companies.NewPricing(e.Prices.Funds, known, now)
	p.SplitBetween = e.Prices.SplitBetween
	histories, err := e.DB.HistoriesFrom(ctx, p.CIKs(), p.Day.Add(-companies.Lookback), p.Day, now)
	if err != nil {
		return nil, err
	}
	loaded, err := e.DB.AskedEquities(ctx, e.Prices.ID)
	if err != nil {
		return nil, err
	}
	bars := make(map[equity.CIK][]equity.Bar, len(histories))
	for id, h := range histories {
		bars[id] = h.Bars
	}
	p.Start(bars, loaded)
	return p, nil
}

// errorsOf takes joined errors apart.
func errorsOf(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	if _, leaf := err.(*ingest.Error); leaf { //nolint:errorlint // the node itself, not what it wraps
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, errorsOf(e)...)
	}
	return list
}
