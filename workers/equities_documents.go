package workers

import (
	"context"
	"errors"
	"slices"

	"tidemark/ingest/companies"
	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// documentsAtOnce is how many documents are requested before they are stored, documentsARun how many a run requests at most. The rest is for
// the next run. A document has some megabytes.
const (
	documentsAtOnce = 5
	documentsARun   = 60
)

func (e Equities) documentsID() string {
	if e.Documents == nil {
		return ""
	}
	return e.Documents(nil).ID
}

// documents reads the risk factors in the reports of companies whose pick is announced, those of the newest picks first. It asks for no other
// company's: a document that is asked for before the announcement would tell the pick. What an older version of the reader has read is read again.
func (e Equities) documents(ctx context.Context, t task.Task) error {
	announced, err := e.DB.AnnouncedPicks(ctx)
	if err != nil {
		return err
	}
	var ids []equity.CIK
	for _, p := range slices.Backward(announced) {
		if !slices.Contains(ids, p.CIK) {
			ids = append(ids, p.CIK)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	today := calendar.DayOf(e.Now())
	filings, err := e.DB.FilingsOf(ctx, ids, companies.RisksFrom(today), today, e.Now())
	if err != nil {
		return err
	}
	read, err := e.DB.RiskReports(ctx, ids)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, list := range read {
		for _, r := range list {
			known[r.Accession] = r.Reader >= equity.RiskReader
		}
	}
	lacking := companies.LackRisks(ids, filings, known)
	lacking = lacking[:min(len(lacking), documentsARun)]
	var troubles []error
	for some := range slices.Chunk(lacking, documentsAtOnce) {
		answers, err := e.Engine.Collect(ctx, e.Documents(some), series.Window{}, t.RunID)
		troubles = append(troubles, err)
		var loads []postgres.EquityLoad
		for _, a := range answers {
			loads = append(loads, equityLoad(a))
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
