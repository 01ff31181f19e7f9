package view

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Announced is a pick with the research that was announced with it. Later research about the company does not change it.
type Announced struct {
	Pick Pick
	// Research is nil if no card was written.
	Research *Research
	// Older and Newer are the dates of the previous and the next pick. They are empty if there is no such pick.
	Older, Newer string
}

// AnnouncedOn returns the pick of a date (YYYY-MM-DD) as it was announced, or nil if no announced pick has the date. It reads the database,
// because all cards together are too long for memory.
func (st *PublicationsState) AnnouncedOn(ctx context.Context, date string, lang picks.Lang) (*Announced, error) {
	i, found := slices.BinarySearchFunc(st.priced, date, func(p pricedPick, date string) int { return strings.Compare(date, p.Date) }) // newest first
	if !found {
		return nil, nil
	}
	p := &st.priced[i]
	out := &Announced{Pick: st.pick(p, lang)}
	if i > 0 {
		out.Newer = st.priced[i-1].Date
	}
	if i+1 < len(st.priced) {
		out.Older = st.priced[i+1].Date
	}
	card, err := st.o.Store.ResearchOfPick(ctx, p.Seq)
	if errors.Is(err, postgres.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	research := st.card(&card, lang)
	research.Pick = st.researchPick(p)
	out.Research = &research
	return out, nil
}

// PickDates returns the dates of the announced picks, newest first.
func (st *PublicationsState) PickDates() []string {
	list := make([]string, len(st.priced))
	for i := range st.priced {
		list[i] = st.priced[i].Date
	}
	return list
}

// PickDatesOf returns the dates of a company's announced picks by any of its tickers, newest first.
func (st *PublicationsState) PickDatesOf(ticker string) (list []string) {
	cik, known := st.Company(ticker)
	for i := range st.priced {
		if known && st.priced[i].CIK == cik {
			list = append(list, st.priced[i].Date)
		}
	}
	return list
}
