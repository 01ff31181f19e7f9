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
)

// The number of companies requested before the responses are stored: the next attempt does not request stored data again. The figures of
// one company are up to 15 MB.
const (
	submissionsAtOnce = 20
	factsAtOnce       = 8
)

// refresh requests the data and filings of companies, and then the missing figures. The list of all companies has no ticker for the
// companies in unlisted: if their own data have none either, their listings have ended.
func (e Equities) refresh(ctx context.Context, t task.Task, ids, unlisted []equity.CIK) error {
	asked, err := e.DB.AskedEquities(ctx, e.Submissions(nil).ID)
	if err != nil {
		return err
	}
	old, fresh, oldFrom, freshFrom := companies.From(ids, asked, e.Now())
	return errors.Join(
		e.submissions(ctx, t, old, unlisted, oldFrom),
		e.submissions(ctx, t, fresh, unlisted, freshFrom),
		e.facts(ctx, t),
	)
}

func (e Equities) submissions(ctx context.Context, t task.Task, ids, unlisted []equity.CIK, from time.Time) error {
	var troubles []error
	for some := range slices.Chunk(ids, submissionsAtOnce) {
		answers, err := e.Engine.Collect(ctx, e.Submissions(some), series.Window{From: from}, t.RunID)
		troubles = append(troubles, err)
		var loads []postgres.EquityLoad
		for _, a := range answers {
			choice := postgres.EquityChoice{FiledFrom: from, Unlisted: companies.WithoutTicker(a, unlisted)}
			loads = append(loads, choose([]ingest.Fetched{a}, choice))
		}
		if err := e.store(ctx, t, loads); err != nil {
			return errors.Join(append(troubles, err)...)
		}
		if later(err) || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(troubles...)
}

// facts requests the figures of companies that were never requested, and of companies that have filed a report without figures so far.
func (e Equities) facts(ctx context.Context, t task.Task) error {
	ids, err := e.lacking(ctx)
	if err != nil {
		return err
	}
	var troubles []error
	for some := range slices.Chunk(ids, factsAtOnce) {
		src := e.Facts(some)
		answers, err := e.Engine.Collect(ctx, src, series.Window{}, t.RunID)
		troubles = append(troubles, err)
		var loads []postgres.EquityLoad
		for _, a := range answers {
			loads = append(loads, choose([]ingest.Fetched{a}, postgres.EquityChoice{}))
		}
		if err == nil { // companies without a response file no figures
			loads = append(loads, postgres.EquityLoad{Fetch: series.Fetch{Source: src.ID, FetchedAt: e.Now()}, Asked: some})
		}
		if err := e.store(ctx, t, loads); err != nil {
			return errors.Join(append(troubles, err)...)
		}
		if later(err) || ctx.Err() != nil {
			break
		}
	}
	return errors.Join(troubles...)
}

// lacking lists the companies whose figures are requested next.
func (e Equities) lacking(ctx context.Context) ([]equity.CIK, error) {
	known, err := e.DB.Companies(ctx, e.Now())
	if err != nil {
		return nil, err
	}
	asked, err := e.DB.AskedEquities(ctx, e.Facts(nil).ID)
	if err != nil {
		return nil, err
	}
	awaited, err := e.DB.AwaitedFacts(ctx, companies.AwaitedFrom(e.Now()), companies.ReportForms)
	if err != nil {
		return nil, err
	}
	return companies.LackFigures(known, asked, awaited, e.Now()), nil
}

func (e Equities) store(ctx context.Context, t task.Task, loads []postgres.EquityLoad) error {
	if len(loads) == 0 {
		return nil
	}
	_, err := e.DB.StoreEquities(ctx, t.Fence, loads...)
	return err
}

// equityLoad returns a response's data about companies in the form of the database.
func equityLoad(a ingest.Fetched) postgres.EquityLoad {
	b := a.Batch
	return postgres.EquityLoad{
		Fetch: a.Fetch, Companies: b.Companies, Filings: b.Filings, Facts: b.Facts, Bars: b.Bars, Actions: b.Actions, News: b.News,
		Risks: b.Risks,
	}
}

// later reports whether a host asked for a pause: further requests would fail.
func later(err error) bool {
	_, after := ingest.Retryable(err)
	return err != nil && after > 0
}
