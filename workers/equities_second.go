package workers

import (
	"context"
	"errors"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/companies"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

// second requests the day's close of each share from another publisher, and stores it with the first one's. Shares whose closes differ
// are in doubt: the run records them, and the pick of the day leaves them out. Nothing waits for this source.
func (e Equities) second(ctx context.Context, t task.Task) error {
	p, err := e.pricing(ctx)
	if err != nil {
		return err
	}
	told, err := e.DB.SecondCloses(ctx, p.Day, e.Now())
	if err != nil {
		return err
	}
	shares := slices.DeleteFunc(slices.Clone(p.Shares), func(s companies.Share) bool { _, ok := told[s.CIK]; return ok })
	var troubles []error
	lacking := len(shares)
	for some := range slices.Chunk(shares, sharesAtOnce) {
		answers, err := e.Second.Ask(ctx, some, series.Window{From: p.Day.Add(-companies.Overlap)}, t.RunID)
		troubles = append(troubles, errorsOf(err)...)
		closes := closesOn(answers, p.Day)
		lacking -= len(closes)
		for _, c := range closes {
			compare(p, c.Bar)
		}
		if _, err := e.DB.AddSecondCloses(ctx, t.Fence, closes); err != nil {
			return err
		}
		if later(err) || ctx.Err() != nil {
			break
		}
	}
	if err := e.keepFindings(ctx, t, p.Findings); err != nil {
		return err
	}
	if err := p.SecondLacking(e.Second.ID, lacking); err != nil {
		return errors.Join(append(troubles, err)...)
	}
	return nil
}

// closesOn returns the bars of a day in responses, at most one a share.
func closesOn(answers []ingest.Fetched, day time.Time) []postgres.SecondClose {
	var list []postgres.SecondClose
	have := map[equity.CIK]bool{}
	for _, a := range answers {
		for _, b := range a.Batch.Bars {
			if b.Date.Equal(day) && !have[b.CIK] {
				have[b.CIK] = true
				list = append(list, postgres.SecondClose{Fetch: a.Fetch, Bar: b})
			}
		}
	}
	return list
}

// compare records it where a share's close is in doubt.
func compare(p *companies.Pricing, second equity.Bar) {
	first, ok := p.Bar(second.CIK)
	if !ok {
		return
	}
	tolerance := picks.DefaultRules().CloseTolerance
	if doubt := (picks.SecondClose{Close: second.Close, Source: second.Source}).Disputes(first.Close, tolerance); doubt != "" {
		p.Doubt(second.CIK, doubt, tolerance)
	}
}
