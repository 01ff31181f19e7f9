package view

import (
	"fmt"
	"math"
	"time"

	"tidemark/accounts"
	"tidemark/internal/locale/languages"
	"tidemark/internal/postgres"
	"tidemark/picks"
)

// Pick is an announced pick with its result. Percentages are rounded to two decimals. Unknown values are null.
type Pick struct {
	ID       string `json:"id"`
	Seq      int64  `json:"seq"`
	Ticker   string `json:"ticker"`
	Name     string `json:"name"`
	Exchange string `json:"exchange"`
	Sector   string `json:"sector"`
	Region   string `json:"region"`
	Country  string `json:"country"`
	// Date is a trading day of New York. Price is exactly what was hashed: the close of that day.
	Date        string     `json:"date" column:"date"`
	AnnouncedAt *time.Time `json:"announced_at"`
	Price       string     `json:"price"`
	Currency    string     `json:"currency"`
	// LastPrice is the newest close that is known, after splits of the shares held then; LastPriceAt its instant.
	LastPrice   *string    `json:"last_price"`
	LastPriceAt *time.Time `json:"last_price_at"`
	// ReturnFromEntryPct is the return that a reader could have had: from the close of EntryDate, the first after the announcement, to
	// LastPrice, with splits and dividends. It is null before that close. BenchmarkReturnFromEntryPct is the return of Benchmark in the same
	// time, ExcessReturnFromEntryPct the difference in percentage points.
	EntryDate                   *string  `json:"entry_date" column:"date"`
	ReturnFromEntryPct          *float64 `json:"return_from_entry_pct"`
	BenchmarkReturnFromEntryPct *float64 `json:"benchmark_return_from_entry_pct"`
	ExcessReturnFromEntryPct    *float64 `json:"excess_return_from_entry_pct"`
	// ReturnPct is the return from Price to LastPrice with splits and dividends. Price is a close before the announcement, at which no reader
	// could buy. BenchmarkReturnPct is the return of Benchmark in the same time. ExcessReturnPct is the difference in percentage points.
	ReturnPct          *float64 `json:"return_pct"`
	Benchmark          string   `json:"benchmark"`
	BenchmarkReturnPct *float64 `json:"benchmark_return_pct"`
	ExcessReturnPct    *float64 `json:"excess_return_pct"`
	// Origin is "method" if the method chose the pick, "editor" if a person did.
	Origin string `json:"origin"`
	// Status is "open", or "closed" since the portfolio sold it at ClosedAt.
	Status   string     `json:"status"`
	ClosedAt *time.Time `json:"closed_at"`
	// SummaryWhy is in Lang; null if no card was written.
	SummaryWhy        *string    `json:"summary_why"`
	Lang              picks.Lang `json:"lang"`
	Hash              string     `json:"hash"`
	PreviousHash      string     `json:"previous_hash"`
	AttestationStatus string     `json:"attestation_status"`
	Links             PickLinks  `json:"links"`
}

// PickLinks lead on from a pick.
type PickLinks struct {
	Research string `json:"research"`
	Verify   string `json:"verify"`
	Page     string `json:"page"`
}

// The benchmark for all comparisons.
const (
	benchmarkSymbol = "SPY"
	benchmarkName   = "US large-cap index"
)

func (st *PublicationsState) pick(p *pricedPick, lang picks.Lang) Pick {
	out := Pick{
		ID: fmt.Sprintf("pick_%d", p.Seq), Seq: p.Seq, Ticker: p.Ticker, Name: p.Name, Exchange: p.Exchange, Sector: p.Sector, Region: p.Region,
		Country: p.Country, Date: p.Date, AnnouncedAt: p.AnnouncedAt, Price: p.Price, Currency: p.Currency, ReturnPct: p.returnPct,
		Benchmark: benchmarkSymbol, BenchmarkReturnPct: p.benchmark, ExcessReturnPct: p.excess, Status: StatusOpen, ClosedAt: p.closed,
		EntryDate: p.entry, ReturnFromEntryPct: p.fromEntry, BenchmarkReturnFromEntryPct: p.benchmarkFromEntry,
		ExcessReturnFromEntryPct: p.excessFromEntry, Origin: p.Origin,
		Lang: lang, Hash: p.Hash, PreviousHash: p.PreviousHash, AttestationStatus: p.attested,
		Links: PickLinks{
			Research: st.o.PublicURL + "/api/v1/research/" + p.Ticker, Verify: st.o.PublicURL + "/api/v1/verify/pick/" + p.Ticker,
			Page: st.o.PublicURL + "/research/" + p.Ticker,
		},
	}
	if p.lastPrice != "" {
		out.LastPrice, out.LastPriceAt = &p.lastPrice, &p.lastAt
	}
	if p.closed != nil {
		out.Status = StatusClosed
	}
	if texts := st.summaries[p.Seq]; len(texts) > 0 {
		var text string
		text, out.Lang = languages.Choose(texts, lang)
		out.SummaryWhy = &text
	}
	return out
}

// The states of picks and positions.
const (
	StatusOpen   = "open"
	StatusClosed = "closed"
)

// newestFirst returns a key for a non-negative number. Larger numbers sort first.
func newestFirst(n int64) string { return fmt.Sprintf("%019d", math.MaxInt64-n) }

// Picks lists the announced picks, newest first. The Free plan sees only the latest few.
func (st *PublicationsState) Picks(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("picks"+q.name(), func() (*Document, string, error) {
		rows := make([]*pricedPick, len(st.priced))
		for i := range st.priced {
			rows[i] = &st.priced[i]
		}
		if q.Free && len(rows) > accounts.FreePicks {
			rows = rows[:accounts.FreePicks]
		}
		l := listing[*pricedPick, Pick]{
			order: "picks", rows: rows,
			key: func(p *pricedPick) string { return newestFirst(p.Seq) },
			keep: func(p *pricedPick) bool {
				status := StatusOpen
				if p.closed != nil {
					status = StatusClosed
				}
				return q.within(p.Date) && q.about(p.Ticker, p.Sector, p.Region) && (q.Status == "" || q.Status == status)
			},
			show: func(p *pricedPick) Pick { return st.pick(p, q.Lang) },
		}
		l.meta, l.modified = st.picksMeta()
		return l.page(q, canonicalQuery)
	})
}

func (st *PublicationsState) picksMeta() (PublicationMeta, time.Time) {
	known := []time.Time{st.pricedAt}
	if len(st.priced) > 0 {
		known = append(known, *st.priced[0].AnnouncedAt)
	}
	return st.meta(known...)
}

// LatestPick returns the newest pick, or nil before the first.
func (st *PublicationsState) LatestPick(lang picks.Lang) (*Document, error) {
	if len(st.priced) == 0 {
		return nil, nil
	}
	doc, _, err := st.answers.getOrBuild("latest"+string(lang), func() (*Document, string, error) {
		meta, modified := st.picksMeta()
		doc, err := one(st.pick(&st.priced[0], lang), meta, modified)
		return doc, "", err
	})
	return doc, err
}

// Research is the research about a company in one language.
type Research struct {
	Ticker         string       `json:"ticker"`
	Name           string       `json:"name"`
	Exchange       string       `json:"exchange"`
	Sector         string       `json:"sector"`
	Region         string       `json:"region"`
	Country        string       `json:"country"`
	Lang           picks.Lang   `json:"lang"`
	AvailableLangs []picks.Lang `json:"available_langs"`
	SummaryWhy     string       `json:"summary_why"`
	WhatItDoes     string       `json:"what_it_does"`
	WhyChosen      string       `json:"why_chosen"`
	MainRisk       string       `json:"main_risk"`
	// FullResearch is Markdown.
	FullResearch string       `json:"full_research"`
	Writer       string       `json:"writer"`
	Fundamentals Fundamentals `json:"fundamentals"`
	// Facts contains every number in the texts. Source is an index into Sources, null for calculated numbers.
	Facts   []Fact           `json:"facts"`
	Sources []SourceDocument `json:"sources"`
	// Pick is the company's newest announced pick, null if it was never picked.
	Pick *ResearchPick `json:"pick"`
	// RiskFactors is what changed in the risk factors of the company's reports. It is null in research as it was announced with a pick, because
	// reports are read after the announcement.
	RiskFactors *RiskFactors `json:"risk_factors"`
	// ContentSHA256 is the SHA-256 of the five texts in their order, each followed by a line feed.
	ContentSHA256 string    `json:"content_sha256"`
	UpdatedAt     time.Time `json:"updated_at"`
	Disclaimer    string    `json:"disclaimer"`
}

// Fundamentals are the figures next to a card.
type Fundamentals struct {
	MarketCapUSDBn   *float64 `json:"market_cap_usd_bn"`
	PE               *float64 `json:"pe"`
	RevenueGrowthPct *float64 `json:"revenue_growth_pct"`
	AsOf             *string  `json:"as_of"`
}

// Fact is one number or name that a text may name.
type Fact struct {
	ID     string  `json:"id"`
	Value  string  `json:"value"`
	Unit   string  `json:"unit"`
	AsOf   *string `json:"as_of"`
	Source *int    `json:"source"`
}

// ResearchPick is the pick next to a card.
type ResearchPick struct {
	Seq   int64  `json:"seq"`
	Date  string `json:"date"`
	Price string `json:"price"`
	// ReturnFromEntryPct is from the close of EntryDate, the first after the announcement. ReturnPct is from Price, a close before it.
	EntryDate          *string  `json:"entry_date"`
	ReturnFromEntryPct *float64 `json:"return_from_entry_pct"`
	ReturnPct          *float64 `json:"return_pct"`
	Hash               string   `json:"hash"`
}

// Research returns the newest card of the company with a ticker, or nil if it has no card.
func (st *PublicationsState) Research(ticker string, lang picks.Lang) (*Document, error) {
	cik, _ := st.Company(ticker)
	card := st.cards[cik]
	if card == nil {
		return nil, nil
	}
	doc, _, err := st.answers.getOrBuild(fmt.Sprintf("research %d %s", cik, lang), func() (*Document, string, error) {
		out := st.card(card, lang)
		out.RiskFactors = st.riskFactors(cik)
		meta, modified := st.meta(out.ChangedAt())
		doc, err := one(out, meta, modified)
		return doc, "", err
	})
	return doc, err
}

func (st *PublicationsState) card(c *postgres.Research, lang picks.Lang) Research {
	t, lang := languages.Choose(c.Texts, lang)
	out := Research{
		Ticker: c.Ticker, Name: c.Name, Exchange: c.Exchange, Sector: c.Sector, Region: c.Region, Country: c.Country, Lang: lang,
		AvailableLangs: languages.Of(c.Texts), SummaryWhy: t.SummaryWhy, WhatItDoes: t.WhatItDoes, WhyChosen: t.WhyChosen, MainRisk: t.MainRisk,
		FullResearch: t.FullResearch, Writer: t.Writer, Facts: facts(c.Facts), Sources: documents(c.Sources), ContentSHA256: t.ContentSHA256,
		UpdatedAt: c.RecordedAt.UTC(), Disclaimer: st.disclaimer,
		Fundamentals: Fundamentals{
			MarketCapUSDBn: c.Fundamentals.MarketCapUSDBn, PE: c.Fundamentals.PE, RevenueGrowthPct: c.Fundamentals.RevenueGrowthPct,
			AsOf: stated(c.Fundamentals.AsOf),
		},
	}
	if p := st.byCIK[c.CIK]; p != nil {
		out.Pick = st.researchPick(p)
	}
	return out
}

// ChangedAt is when the newest part of research was recorded.
func (r Research) ChangedAt() time.Time {
	if r.RiskFactors != nil && r.RiskFactors.ReadAt != nil && r.RiskFactors.ReadAt.After(r.UpdatedAt) {
		return *r.RiskFactors.ReadAt
	}
	return r.UpdatedAt
}

func (st *PublicationsState) researchPick(p *pricedPick) *ResearchPick {
	return &ResearchPick{p.Seq, p.Date, p.Price, p.entry, p.fromEntry, p.returnPct, p.Hash}
}

// stated returns a pointer to a text, or nil if the text is empty.
func stated(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func facts(list []postgres.Datum) []Fact {
	out := make([]Fact, len(list))
	for i, d := range list {
		out[i] = Fact{ID: d.ID, Value: d.Value, Unit: d.Unit, AsOf: stated(d.AsOf)}
		if d.Source >= 0 {
			out[i].Source = &list[i].Source
		}
	}
	return out
}

// SourceDocument is a document that contains facts.
type SourceDocument struct {
	Title       string     `json:"title"`
	URL         *string    `json:"url"`
	RetrievedAt *time.Time `json:"retrieved_at"`
}

func documents(list []postgres.Document) []SourceDocument {
	out := make([]SourceDocument, len(list))
	for i, d := range list {
		out[i] = SourceDocument{d.Title, stated(d.URL), d.RetrievedAt}
	}
	return out
}

// Stock is a company that research was written about.
type Stock struct {
	Ticker        string       `json:"ticker"`
	Name          string       `json:"name"`
	Exchange      string       `json:"exchange"`
	Sector        string       `json:"sector"`
	Region        string       `json:"region"`
	Country       string       `json:"country"`
	Picked        bool         `json:"picked"`
	FirstPickedOn *string      `json:"first_picked_on" column:"date"`
	ResearchedAt  time.Time    `json:"researched_at"`
	Langs         []picks.Lang `json:"langs"`
	Links         StockLinks   `json:"links"`
}

// StockLinks lead on from a stock.
type StockLinks struct {
	Research string `json:"research"`
}

// BasicStock is a stock as the Free plan shows it.
type BasicStock struct {
	Ticker   string `json:"ticker"`
	Name     string `json:"name"`
	Exchange string `json:"exchange"`
	Sector   string `json:"sector"`
	Region   string `json:"region"`
	Country  string `json:"country"`
	Picked   bool   `json:"picked"`
}

// Stocks lists the companies with research, by ticker.
func (st *PublicationsState) Stocks(q ListQuery) (*Document, string, error) {
	return st.answers.getOrBuild("stocks"+q.name(), func() (*Document, string, error) {
		var newest time.Time
		for _, s := range st.stocks {
			if s.ResearchedAt.After(newest) {
				newest = s.ResearchedAt
			}
		}
		meta, modified := st.meta(newest)
		keep := func(s postgres.Stock) bool {
			return q.about(s.Ticker, s.Sector, s.Region) && (!q.Picked || s.FirstPickedOn != nil)
		}
		basic := func(s postgres.Stock) BasicStock {
			return BasicStock{s.Ticker, s.Name, s.Exchange, s.Sector, s.Region, s.Country, s.FirstPickedOn != nil}
		}
		if q.Free {
			return listing[postgres.Stock, BasicStock]{"stocks", st.stocks, stockKey, keep, basic, meta, modified}.page(q, canonicalQuery)
		}
		whole := func(s postgres.Stock) Stock {
			langs := []picks.Lang{}
			if card := st.cards[s.CIK]; card != nil {
				langs = languages.Of(card.Texts)
			}
			return Stock{
				Ticker: s.Ticker, Name: s.Name, Exchange: s.Exchange, Sector: s.Sector, Region: s.Region, Country: s.Country,
				Picked: s.FirstPickedOn != nil, FirstPickedOn: s.FirstPickedOn, ResearchedAt: s.ResearchedAt.UTC(), Langs: langs,
				Links: StockLinks{st.o.PublicURL + "/api/v1/research/" + s.Ticker},
			}
		}
		return listing[postgres.Stock, Stock]{"stocks", st.stocks, stockKey, keep, whole, meta, modified}.page(q, canonicalQuery)
	})
}

func stockKey(s postgres.Stock) string { return s.Ticker + " " + s.CIK.String() }
