package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/quality"
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
	told, err := e.DB.SecondCloses(ctx, p.day, e.Now())
	if err != nil {
		return err
	}
	shares := slices.DeleteFunc(slices.Clone(p.shares), func(s Share) bool { _, ok := told[s.CIK]; return ok })
	var troubles []error
	lacking := len(shares)
	for some := range slices.Chunk(shares, sharesAtOnce) {
		answers, err := e.Second.Ask(ctx, some, series.Window{From: p.day.Add(-overlap)}, t.RunID)
		troubles = append(troubles, errorsOf(err)...)
		closes := closesOn(answers, p.day)
		lacking -= len(closes)
		for _, c := range closes {
			p.compare(c.Bar)
		}
		if _, err := e.DB.AddSecondCloses(ctx, t.Fence, closes); err != nil {
			return err
		}
		if later(err) || ctx.Err() != nil {
			break
		}
	}
	if err := e.keepFindings(ctx, t, p); err != nil {
		return err
	}
	if lacking > 2+len(p.shares)/10 {
		troubles = append(troubles, fmt.Errorf("%s has no close of %s of %d of %d shares", e.Second.ID, p.day.Format(time.DateOnly), lacking, len(p.shares)))
		return errors.Join(troubles...)
	}
	return nil
}

// closesOn returns the bars of a day among responses, one for each share.
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

// compare says it where a share's close is in doubt.
func (p *pricing) compare(second equity.Bar) {
	first, ok := p.known[second.CIK].BarOn(p.day)
	if !ok {
		return
	}
	tolerance := picks.DefaultRules().CloseTolerance
	doubt := picks.SecondClose{Close: second.Close, Source: second.Source}.Disputes(first.Close, tolerance)
	if doubt == "" {
		return
	}
	p.findings = append(p.findings, postgres.Finding{
		Check: "second_close", Severity: string(quality.Warn), From: p.day, To: p.day, Observed: p.ticker(second.CIK) + ": " + doubt,
		Expected: fmt.Sprintf("closes within %.1f %% of each other", 100*tolerance),
	})
}

// ticker is the ticker of a requested share.
func (p *pricing) ticker(cik equity.CIK) string {
	i := slices.IndexFunc(p.shares, func(s Share) bool { return s.CIK == cik })
	if i < 0 {
		return cik.String()
	}
	return p.shares[i].Ticker
}
