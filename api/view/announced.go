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
	i, found := st.find(date)
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

// PickBefore returns the date of the newest announced pick before a date, and the date of the first pick. Empty means that there is none.
func (st *PublicationsState) PickBefore(date string) (before, first string) {
	i, found := st.find(date)
	if found {
		i++
	}
	if i < len(st.priced) {
		before = st.priced[i].Date
	}
	if n := len(st.priced); n > 0 {
		first = st.priced[n-1].Date
	}
	return before, first
}

// find returns the place of the pick of a date, and whether there is one. The newest pick is the first.
func (st *PublicationsState) find(date string) (int, bool) {
	return slices.BinarySearchFunc(st.priced, date, func(p pricedPick, date string) int { return strings.Compare(date, p.Date) })
}

// PublicResearch returns the free research about a picked company. This is the newest research if the company is among the newest
// PublicPicks. Otherwise it is the research that was announced with its pick, without a return. Newer research states the newest close, and
// with it the return. It returns nil if the company was never picked, or nothing was announced with its pick.
func (st *PublicationsState) PublicResearch(ctx context.Context, ticker string, lang picks.Lang) (*Research, error) {
	cik, _ := st.Company(ticker)
	p := st.byCIK[cik]
	if p == nil {
		return nil, nil
	}
	if st.public(p.Seq) {
		if stored := st.cards[cik]; stored != nil {
			return new(st.card(stored, lang)), nil
		}
		return nil, nil
	}
	announced, err := st.AnnouncedOn(ctx, p.Date, lang)
	if err != nil || announced == nil || announced.Research == nil {
		return nil, err
	}
	r := *announced.Research
	pick := *r.Pick
	pick.ReturnPct, pick.ReturnFromEntryPct, pick.EntryDate = nil, nil, nil
	r.Pick = &pick
	return &r, nil
}

// public reports whether the result of a pick is free.
func (st *PublicationsState) public(seq int64) bool {
	return slices.ContainsFunc(st.priced[:min(PublicPicks, len(st.priced))], func(p pricedPick) bool { return p.Seq == seq })
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
