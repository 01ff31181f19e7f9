package view

import (
	"context"
	"slices"
	"strings"
	"time"

	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// The responses of the MCP tools that have no equal in the Picks API. They show free data only: announced picks, public cards and
// percentages.

// Editorial is the end of every answer to an agent.
type Editorial struct {
	// Environment is "live" or "demo".
	Environment string `json:"environment"`
	Disclaimer  string `json:"disclaimer"`
}

func (st *PublicationsState) editorial() Editorial { return Editorial{st.environment, st.disclaimer} }

// LatestPicks are the newest announced picks, the newest first.
type LatestPicks struct {
	Picks []Pick `json:"picks"`
	// AsOf is when the newest of it became known; null while there is no pick.
	AsOf *time.Time `json:"as_of"`
	Editorial
}

// LatestPicks returns the newest n picks, or fewer if there are fewer.
func (st *PublicationsState) LatestPicks(n int, lang picks.Lang) LatestPicks {
	meta, _ := st.picksMeta()
	out := LatestPicks{Picks: []Pick{}, AsOf: meta.AsOf, Editorial: st.editorial()}
	for i := range st.priced[:min(n, len(st.priced))] {
		out.Picks = append(out.Picks, st.pick(&st.priced[i], lang))
	}
	return out
}

// Card is the public card of a company that was picked, in one language.
type Card struct {
	Ticker     string     `json:"ticker"`
	Name       string     `json:"name"`
	Language   picks.Lang `json:"language"`
	Summary    string     `json:"summary"`
	WhatItDoes string     `json:"what_it_does"`
	WhyChosen  string     `json:"why_chosen"`
	MainRisk   string     `json:"main_risk"`
	// FullResearch is Markdown.
	FullResearch string           `json:"full_research"`
	Sources      []SourceDocument `json:"sources"`
	// Pick is the company's newest announced pick.
	Pick      ResearchPick `json:"pick"`
	UpdatedAt time.Time    `json:"updated_at"`
	Editorial
}

// Card returns the public card of the company with a ticker. The result is false if the company was never picked or has no card.
func (st *PublicationsState) Card(ctx context.Context, ticker string, lang picks.Lang) (Card, bool, error) {
	r, err := st.PublicResearch(ctx, ticker, lang)
	if r == nil || err != nil {
		return Card{}, false, err
	}
	return Card{
		Ticker: r.Ticker, Name: r.Name, Language: r.Lang, Summary: r.SummaryWhy, WhatItDoes: r.WhatItDoes, WhyChosen: r.WhyChosen,
		MainRisk: r.MainRisk, FullResearch: r.FullResearch, Sources: r.Sources, Pick: *r.Pick, UpdatedAt: r.UpdatedAt, Editorial: st.editorial(),
	}, true, nil
}

// PickedTickers returns the tickers of the announced picks in alphabetical order, without duplicates.
func (st *PublicationsState) PickedTickers() []string {
	list := make([]string, len(st.priced))
	for i := range st.priced {
		list[i] = st.priced[i].Ticker
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// PortfolioSummary is the model portfolio against its benchmark.
type PortfolioSummary struct {
	Portfolio
	Editorial
}

// PortfolioSummary returns the summary at the close of the portfolio's last session, and whether the portfolio exists yet.
func (st *PublicationsState) PortfolioSummary() (PortfolioSummary, bool) {
	if st.portfolio == nil {
		return PortfolioSummary{}, false
	}
	return PortfolioSummary{st.summary(), st.editorial()}, true
}

// EconomicHeadlines list macro events, the newest day first and of each day the most relevant first.
type EconomicHeadlines struct {
	Events   []EconomicHeadline `json:"events"`
	Language picks.Lang         `json:"language"`
	// NextCursor leads on to older events; null at the end.
	NextCursor *string `json:"next_cursor"`
	Editorial
}

// EconomicHeadline names a macro event.
type EconomicHeadline struct {
	ID         string `json:"id"`
	Date       string `json:"date"`
	Title      string `json:"title"`
	Region     string `json:"region"`
	Importance int    `json:"importance"`
}

// EconomicHeadlines returns a page of the headlines. It uses q's Limit, Cursor and Lang. The error is ErrCursor.
func (st *PublicationsState) EconomicHeadlines(q ListQuery) (EconomicHeadlines, error) {
	out := EconomicHeadlines{Language: q.Lang, Editorial: st.editorial()}
	shown, next, err := listing[postgres.EconomicEvent, EconomicHeadline]{
		order: economicOrder, rows: st.economicRows(), key: economicKey,
		keep: func(postgres.EconomicEvent) bool { return true },
		show: func(e postgres.EconomicEvent) EconomicHeadline {
			text, _ := languages.Choose(e.Texts, q.Lang)
			return EconomicHeadline{e.ID, e.Date.Format(time.DateOnly), text.Title, e.Region, e.Importance}
		},
	}.part(q)
	if err != nil {
		return EconomicHeadlines{}, err
	}
	out.Events = shown
	if next != "" {
		out.NextCursor = &next
	}
	return out, nil
}

// EconomicAnalysis is one macro event with its analysis.
type EconomicAnalysis struct {
	EconomicEvent
	Editorial
}

// EconomicAnalysis returns the event with an id, and whether it exists.
func (st *PublicationsState) EconomicAnalysis(id string, lang picks.Lang) (EconomicAnalysis, bool) {
	i := slices.IndexFunc(st.economic, func(e postgres.EconomicEvent) bool { return strings.EqualFold(e.ID, id) })
	if i < 0 {
		return EconomicAnalysis{}, false
	}
	return EconomicAnalysis{economicEvent(st.economic[i], lang, true), st.editorial()}, true
}
