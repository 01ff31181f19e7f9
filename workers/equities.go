package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"tidemark/ingest"
	"tidemark/ingest/companies"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// Equities is the job that follows companies: their identities, their filings, and the prices of their shares. Its subjects are four
// sources.
//
// The list of all companies has the new members of the universe and changed tickers; the list of the newest filings shows which companies
// have filed. Only those companies are then requested singly: their submissions, and the figures of their reports. After the close, each
// share's missing bars are requested. So a day costs a few requests, and the next attempt repeats only the failed ones.
type Equities struct {
	DB     *postgres.DB
	Engine *ingest.Engine
	// Now is the world's clock.
	Now      func() time.Time
	Universe companies.Universe
	// Companies and Current are the two sources that tell whom to ask about. Without an ID they are not run.
	Companies, Current ingest.Source
	// Submissions and Facts are asked about companies.
	Submissions, Facts func([]equity.CIK) ingest.Source
	// Documents is asked for reports of companies that were picked.
	Documents func([]equity.Filing) ingest.Source
	Prices    Prices
	// Second is another publisher whose closes are compared with the first's; the zero value means none.
	Second Prices
}

// Run brings one of the sources up to date.
func (e Equities) Run(ctx context.Context, t task.Task) error {
	switch t.Subject {
	case "":
	case e.Companies.ID:
		return e.companies(ctx, t)
	case e.Current.ID:
		return e.current(ctx, t)
	case e.Prices.ID:
		return e.prices(ctx, t)
	case e.documentsID():
		return e.documents(ctx, t)
	case e.Second.ID:
		return e.second(ctx, t)
	}
	return Permanent(fmt.Errorf("unknown source %q of companies", t.Subject))
}

// companies reads the list of all companies, adds new members of the universe, and requests each company whose tickers in the list differ
// from ours.
func (e Equities) companies(ctx context.Context, t task.Task) error {
	answers, trouble := e.Engine.Collect(ctx, e.Companies, series.Window{}, t.RunID)
	if len(answers) == 0 {
		return trouble
	}
	list := companies.Merged(answers)
	known, err := e.DB.Companies(ctx, e.Now())
	if err != nil {
		return err
	}
	if err := companies.WholeList(list, known); err != nil {
		return errors.Join(trouble, &ingest.Error{Kind: ingest.Layout, Source: e.Companies.ID, Err: err})
	}
	if err := e.admit(ctx, t, answers, list, known); err != nil {
		return errors.Join(trouble, err)
	}
	asked, err := e.DB.AskedEquities(ctx, e.Submissions(nil).ID)
	if err != nil {
		return errors.Join(trouble, err)
	}
	ask, unlisted := companies.ToAsk(list, known, asked, e.Now())
	return errors.Join(trouble, e.makePricesDue(ctx, t, known), e.refresh(ctx, t, ask, unlisted))
}

// admit stores the universe's companies that are not known yet, and adds them to known.
func (e Equities) admit(ctx context.Context, t task.Task, answers []ingest.Fetched, list []equity.Company, known companies.Known) error {
	newcomers, missing := e.Universe.Newcomers(list, known)
	if err := e.keepFindings(ctx, t, companies.NotListed(missing)); err != nil {
		return err
	}
	if len(newcomers) == 0 {
		return nil
	}
	ids := make([]equity.CIK, len(newcomers))
	for i, c := range newcomers {
		ids[i] = c.CIK
	}
	if _, err := e.DB.StoreEquities(ctx, t.Fence, choose(answers, postgres.EquityChoice{Newcomers: ids})); err != nil {
		return err
	}
	for _, c := range newcomers {
		known[c.CIK] = c
	}
	return nil
}

// makePricesDue has the prices asked at once where a company has a ticker and never was asked for.
func (e Equities) makePricesDue(ctx context.Context, t task.Task, known companies.Known) error {
	if e.Prices.ID == "" {
		return nil
	}
	asked, err := e.DB.AskedEquities(ctx, e.Prices.ID)
	if err != nil || !companies.NeverPriced(known, asked) {
		return err
	}
	return e.DB.MakeDue(ctx, t.Fence, task.Equities, e.Prices.ID, e.Now().UTC().Truncate(time.Microsecond))
}

// current reads the newest filings of all companies and requests our companies that have filed.
func (e Equities) current(ctx context.Context, t task.Task) error {
	known, err := e.DB.Companies(ctx, e.Now())
	if err != nil || len(known) == 0 {
		return err
	}
	last, _, err := e.DB.LastSucceeded(ctx, t.Job, t.Subject, t.Slot)
	if err != nil {
		return err
	}
	from, all := companies.FilingsFrom(t.Slot, last)
	if all {
		return e.refresh(ctx, t, slices.Sorted(maps.Keys(known)), nil)
	}
	answers, trouble := e.Engine.Collect(ctx, e.Current, series.Window{From: from}, t.RunID)
	filed, err := e.filed(ctx, companies.Filed(answers, known))
	if err != nil {
		return errors.Join(trouble, err)
	}
	return errors.Join(trouble, e.refresh(ctx, t, filed, nil))
}

// filed lists the companies with a filing that is not stored yet.
func (e Equities) filed(ctx context.Context, filings companies.NewFilings) ([]equity.CIK, error) {
	ids := filings.Companies()
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := e.DB.FilingsOf(ctx, ids, filings.First, filings.Last, e.Now())
	if err != nil {
		return nil, err
	}
	return filings.Without(stored).Companies(), nil
}

func (e Equities) keepFindings(ctx context.Context, t task.Task, findings []series.Finding) error {
	if len(findings) == 0 {
		return nil
	}
	return e.DB.AddFindings(ctx, t.Fence, findings)
}
