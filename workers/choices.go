package workers

import (
	"slices"

	"tidemark/ingest"
	"tidemark/ingest/companies"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
)

// choose returns the wanted data of some responses about companies in the form of the database. A step that is rebuilt from the archive
// uses the same path as a new one: c has the data that are not in the bytes. Only lists of companies have more than one response.
func choose(answers []ingest.Fetched, c postgres.EquityChoice) postgres.EquityLoad {
	if c.Answers < 0 || len(answers) == 0 {
		return postgres.EquityLoad{Fetch: series.Fetch{FetchedAt: c.At}, Asked: c.Asked, Choice: c}
	}
	if c.Newcomers != nil {
		l := postgres.EquityLoad{Fetch: answers[0].Fetch, Notice: true, Choice: c}
		for _, a := range answers[1:] {
			l.Beside = append(l.Beside, a.Fetch)
		}
		byID := map[equity.CIK]equity.Company{}
		for _, company := range companies.Merged(answers) {
			byID[company.CIK] = company
		}
		for _, id := range c.Newcomers {
			if company, ok := byID[id]; ok {
				l.Companies = append(l.Companies, company)
			}
		}
		return l
	}
	l := equityLoad(answers[0])
	l.Asked, l.Unlisted, l.Choice = c.Asked, c.Unlisted, c
	if !c.FiledFrom.IsZero() {
		l.Filings = slices.DeleteFunc(slices.Clone(l.Filings), func(f equity.Filing) bool {
			return !companies.FollowedForm(f.Form) || f.Filed.Before(c.FiledFrom)
		})
	}
	if c.Unbelieved {
		l.Bars, l.Actions = nil, nil // the actions of a rejected history belong to it
		return l
	}
	if len(c.Without) > 0 {
		l.Bars = slices.DeleteFunc(slices.Clone(l.Bars), func(b equity.Bar) bool {
			return slices.ContainsFunc(c.Without, b.Date.Equal)
		})
	}
	l.Actions = append(slices.Clone(l.Actions), c.Splits...)
	return l
}
