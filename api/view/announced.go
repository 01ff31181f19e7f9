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
	// Research is nil where no card was written.
	Research *Research
	// Older and Newer are the dates of the picks before and after, empty where there is none.
	Older, Newer string
}

// AnnouncedOn returns the pick of a date, written YYYY-MM-DD, as it was announced; nil where no announced pick has the date. It reads the
// database: a card is too long to keep all of them in memory.
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

// PickDates are the dates of the announced picks, the newest first.
func (st *PublicationsState) PickDates() []string {
	list := make([]string, len(st.priced))
	for i := range st.priced {
		list[i] = st.priced[i].Date
	}
	return list
}

// PickDatesOf are the dates of a company's announced picks by any of its tickers, the newest first.
func (st *PublicationsState) PickDatesOf(ticker string) (list []string) {
	cik, known := st.Company(ticker)
	for i := range st.priced {
		if known && st.priced[i].CIK == cik {
			list = append(list, st.priced[i].Date)
		}
	}
	return list
}
