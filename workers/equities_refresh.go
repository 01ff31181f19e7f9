package workers

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"tidemark/ingest"
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

// followedForms are prefixes of the names of the forms that are kept: news about a company, the reports of its figures, and the end of
// its listing. Insiders' trades, prospectuses and similar forms are most of the filings and are left out.
var followedForms = []string{"8-K", "10-K", "10-Q", "20-F", "40-F", "6-K", "NT 10-", "25", "15-"}

func followedForm(form string) bool {
	return slices.ContainsFunc(followedForms, func(f string) bool { return strings.HasPrefix(form, f) })
}

// reportForms are the forms that state figures.
var reportForms = []string{"10-K", "10-K/A", "10-KT", "10-KT/A", "10-Q", "10-Q/A", "20-F", "20-F/A", "40-F", "40-F/A"}

// Figures come minutes to a day after their filing, at times weeks. Every run requests the figures of the newest reports; older ones are
// requested once a day.
const (
	newReport    = 2 * 24 * time.Hour
	awaitReport  = 30 * 24 * time.Hour
	awaitAgainIn = 20 * time.Hour
)

// refresh requests the data and filings of companies, and then the missing figures. The list of all companies has no ticker for the
// companies in unlisted: if their own data have none either, their listings have ended.
func (e Equities) refresh(ctx context.Context, t task.Task, ids, unlisted []equity.CIK) error {
	asked, err := e.DB.AskedEquities(ctx, e.Submissions(nil).ID)
	if err != nil {
		return err
	}
	var fresh, known []equity.CIK
	for _, id := range ids {
		if _, ok := asked[id]; ok {
			known = append(known, id)
		} else {
			fresh = append(fresh, id)
		}
	}
	// The first of the month before: the same address for weeks, so that an answer that did not change is confirmed and not sent.
	now := e.Now().UTC()
	lately := time.Date(now.Year(), now.Month()-1, 1, 0, 0, 0, 0, time.UTC)
	return errors.Join(
		e.submissions(ctx, t, known, unlisted, lately),
		e.submissions(ctx, t, fresh, unlisted, now.Add(-history)),
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
			choice := postgres.EquityChoice{FiledFrom: from}
			for _, c := range a.Batch.Companies {
				if len(c.Listings) == 0 && slices.Contains(unlisted, c.CIK) {
					choice.Unlisted = append(choice.Unlisted, c.CIK)
				}
			}
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
	awaited, err := e.DB.AwaitedFacts(ctx, e.Now().Add(-awaitReport), reportForms)
	if err != nil {
		return nil, err
	}
	var ids []equity.CIK
	for id := range known {
		last, ok := asked[id]
		filed, waits := awaited[id]
		if !ok || waits && (filed.After(e.Now().Add(-newReport)) || last.Before(e.Now().Add(-awaitAgainIn))) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
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
	}
}

// later reports whether a host asked for a pause: further requests would fail.
func later(err error) bool {
	_, after := ingest.Retryable(err)
	return err != nil && after > 0
}
