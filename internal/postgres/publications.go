package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/internal/task"
	"tidemark/picks"
)

// PublicationStore keeps the texts and figures about picks and the portfolio.
//
// It reads actions, announcements, bars, companies, digests, economic_events, editor_choices, filings, first_picks, newest_research, picks,
// portfolio_checkpoints, portfolio_events, portfolio_snapshots, portfolio_state, published_research, research, snapshots, universe_days, world. It writes
// digests, economic_events, editor_choices, picks, portfolio_checkpoints, portfolio_events, portfolio_snapshots, portfolio_state, research,
// universe_days.
type PublicationStore struct{ *connections }

// Datum is one number or name that a stored text may mention.
type Datum struct {
	ID    string `json:"id"`
	Value string `json:"value"`
	Unit  string `json:"unit"`
	// AsOf is the date of the value, YYYY-MM-DD. It is empty if the value has none.
	AsOf string `json:"as_of,omitempty"`
	// Source is the index of the source that states the value, or -1 for a computed value.
	Source int `json:"source"`
}

// DataOf returns the stored form of a text's facts.
func DataOf(data picks.Data) []Datum {
	facts := make([]Datum, len(data))
	for i, d := range data {
		facts[i] = Datum{ID: d.ID, Value: d.Value, Unit: string(d.Unit), Source: d.Source}
		if !d.AsOf.IsZero() {
			facts[i].AsOf = d.AsOf.Format(time.DateOnly)
		}
	}
	return facts
}

// Document is a document that facts were taken from.
type Document struct {
	Title string `json:"title"`
	URL   string `json:"url"`
	// RetrievedAt is when its content was known, in UTC. It is nil if that is unknown.
	RetrievedAt *time.Time `json:"retrieved_at"`
}

// DocumentsOf returns the stored form of a text's sources.
func DocumentsOf(list []picks.Source) []Document {
	sources := make([]Document, len(list))
	for i, s := range list {
		sources[i] = Document{Title: s.Title, URL: s.URL}
		if !s.RetrievedAt.IsZero() {
			sources[i].RetrievedAt = new(s.RetrievedAt.UTC())
		}
	}
	return sources
}

// Research is a research card. A company has one card for each day on which it was written about; the newest is in force.
type Research struct {
	ID  int64
	CIK equity.CIK
	// Day is the trading day whose closing prices it uses.
	Day time.Time
	// PickSeq is the number of its pick, nil for a company that was not picked that day.
	PickSeq                                         *int64
	Ticker, Name, Exchange, Sector, Region, Country string
	// AsOf is the instant whose knowledge it was written from. RecordedAt is when it was stored, in the world's time.
	AsOf, RecordedAt time.Time
	Fundamentals     Fundamentals
	// Facts has every number that the texts mention. Sources are the documents that the facts refer to.
	Facts   []Datum
	Sources []Document
	// Texts has the languages that existed when it was written, always including English.
	Texts map[picks.Lang]ResearchText
}

// Fundamentals are the key figures of a card. Unknown figures are nil.
type Fundamentals struct {
	MarketCapUSDBn   *float64 `json:"market_cap_usd_bn"`
	PE               *float64 `json:"pe"`
	RevenueGrowthPct *float64 `json:"revenue_growth_pct"`
	// AsOf is the end of the newest report behind the figures, YYYY-MM-DD. It is empty if unknown.
	AsOf string `json:"as_of,omitempty"`
}

// FundamentalsOf returns the stored form of fundamentals.
func FundamentalsOf(f picks.Fundamentals) Fundamentals {
	out := Fundamentals{MarketCapUSDBn: Known(f.MarketCapUSDBn), PE: Known(f.PE), RevenueGrowthPct: Known(f.RevenueGrowthPct)}
	if !f.AsOf.IsZero() {
		out.AsOf = f.AsOf.Format(time.DateOnly)
	}
	return out
}

// ResearchText is the text of a card in one language. FullResearch is Markdown.
type ResearchText struct {
	SummaryWhy   string `json:"summary_why"`
	WhatItDoes   string `json:"what_it_does"`
	WhyChosen    string `json:"why_chosen"`
	MainRisk     string `json:"main_risk"`
	FullResearch string `json:"full_research"`
	// Writer is "rules", or the name of the language model that chose the words.
	Writer string `json:"writer"`
	// ContentSHA256 is the SHA-256 of the five texts in the order above, each followed by a line feed, in lower-case hex.
	ContentSHA256 string `json:"content_sha256"`
}

// ResearchTextOf returns the stored form of the texts in one language.
func ResearchTextOf(t picks.Texts, writer string) ResearchText {
	h := sha256.New()
	for _, text := range []string{t.SummaryWhy, t.WhatItDoes, t.WhyChosen, t.MainRisk, t.FullResearch} {
		h.Write([]byte(text))
		h.Write([]byte{'\n'})
	}
	return ResearchText{
		SummaryWhy: t.SummaryWhy, WhatItDoes: t.WhatItDoes, WhyChosen: t.WhyChosen, MainRisk: t.MainRisk, FullResearch: t.FullResearch,
		Writer: writer, ContentSHA256: hex.EncodeToString(h.Sum(nil)),
	}
}

const addResearchSQL = `
	insert into research (cik, day, pick_seq, ticker, name, exchange, sector, region, country, as_of, fundamentals, facts, sources, texts)
	values (@cik, @day, @pick_seq, @ticker, @name, @exchange, @sector, @region, @country, @as_of, @fundamentals, @facts, @sources, @texts)
	on conflict (cik, day) do nothing`

func addResearch(b *pgx.Batch, r Research) error {
	for _, lang := range picks.Langs() {
		if _, ok := r.Texts[lang]; !ok {
			return fmt.Errorf("research about %s is not there in %s", r.Ticker, lang)
		}
	}
	fundamentals, err1 := json.Marshal(r.Fundamentals)
	facts, err2 := json.Marshal(nonNil(r.Facts))
	sources, err3 := json.Marshal(nonNil(r.Sources))
	texts, err4 := json.Marshal(r.Texts)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return fmt.Errorf("research about %s: %w", r.Ticker, err)
	}
	b.Queue(addResearchSQL, pgx.NamedArgs{
		"cik": r.CIK, "day": r.Day, "pick_seq": r.PickSeq, "ticker": r.Ticker, "name": r.Name, "exchange": r.Exchange, "sector": r.Sector,
		"region": r.Region, "country": r.Country, "as_of": r.AsOf, "fundamentals": fundamentals, "facts": facts, "sources": sources, "texts": texts,
	})
	return nil
}

// AddResearch stores cards. A company that has a card for the day keeps it. It returns the number of added cards. It stores all or nothing,
// and only while the attempt in f is current. Listeners on ChannelPublications are notified.
func (db PublicationStore) AddResearch(ctx context.Context, f task.Fence, cards []Research) (added int64, err error) {
	var b pgx.Batch
	for _, r := range cards {
		if err := addResearch(&b, r); err != nil {
			return 0, err
		}
	}
	if added, err = db.publish(ctx, f, &b); err != nil {
		return 0, fmt.Errorf("store research: %w", err)
	}
	return added, nil
}

// RecordPick records the pick of the day as the next link of the chain, stores its card, and marks the editor's choice behind it as taken,
// in one transaction. A choice of 0 means none. Several processes can call it at the same time: the first pick is the day's, and the other
// callers receive it with added false. ErrRefused says why the record rejects the pick. The text of an error names the day and never the
// pick, because errors can be read before the announcement.
func (db PublicationStore) RecordPick(ctx context.Context, f task.Fence, n NewPick, card Research, choice int64) (p Pick, added bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) (err error) {
		if p, added, err = appendPick(ctx, tx, n); err != nil || !added {
			return err
		}
		card.PickSeq = &p.Seq
		var b pgx.Batch
		if err := addResearch(&b, card); err != nil {
			return err
		}
		cards, err := runBatch(ctx, tx, &b)
		if err != nil {
			return err
		}
		if cards != 1 {
			return fmt.Errorf("%w: the company has a card for the day already", ErrRefused)
		}
		if choice != 0 {
			if err := settleChoice(ctx, tx, choice, ChoiceTaken, ""); err != nil {
				return err
			}
		}
		return checkFence(ctx, tx, f, 1+cards)
	})
	if err != nil {
		return Pick{}, false, fmt.Errorf("record the pick of %s: %w", n.Date, refused(err))
	}
	return p, added, nil
}

// publish runs a batch of inserts in one transaction while the attempt in f is current, and returns the number of rows.
func (db PublicationStore) publish(ctx context.Context, f task.Fence, b *pgx.Batch) (added int64, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		if added, err = runBatch(ctx, tx, b); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, added)
	})
	return added, err
}

// runBatch runs a copy of a batch. The batch may have run in an earlier transaction, and it keeps statements that were prepared on that
// connection.
func runBatch(ctx context.Context, tx pgx.Tx, b *pgx.Batch) (added int64, err error) {
	var fresh pgx.Batch
	for _, q := range b.QueuedQueries {
		fresh.Queue(q.SQL, q.Arguments...)
	}
	results := tx.SendBatch(ctx, &fresh)
	defer func() { err = errors.Join(err, results.Close()) }()
	for range b.Len() {
		tag, err := results.Exec()
		if err != nil {
			return 0, err
		}
		added += tag.RowsAffected()
	}
	return added, nil
}

const researchColumns = `id, cik, day, pick_seq, ticker, name, exchange, sector, region, country, as_of, fundamentals, facts, sources,
	texts, recorded_at`

// Selects the newest card of each company without reading the cards, which are long.
const latestResearchSQL = `
	select id from newest_research order by ticker, cik` // index (cik, day)

// LatestResearch returns the newest public card of each company, by ticker. Cards never change, so cards in known are not read again.
func (db PublicationStore) LatestResearch(ctx context.Context, known ...Research) ([]Research, error) {
	rows, err := db.reads.Query(ctx, latestResearchSQL)
	if err != nil {
		return nil, fmt.Errorf("read research: %w", asUnavailable(err))
	}
	newest, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("read research: %w", asUnavailable(err))
	}
	cards := make(map[int64]Research, len(newest))
	for _, c := range known {
		cards[c.ID] = c
	}
	var missing []int64
	for _, id := range newest {
		if _, ok := cards[id]; !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		read, err := db.research(ctx, `select `+researchColumns+` from published_research where id = any(@ids)`, pgx.NamedArgs{"ids": missing})
		if err != nil {
			return nil, err
		}
		for _, c := range read {
			cards[c.ID] = c
		}
	}
	list := make([]Research, 0, len(newest))
	for _, id := range newest {
		if c, ok := cards[id]; ok {
			list = append(list, c)
		}
	}
	return list, nil
}

// ResearchOfPick returns the card of an announced pick, as it was announced. It returns ErrNotFound if none exists.
func (db PublicationStore) ResearchOfPick(ctx context.Context, seq int64) (Research, error) {
	list, err := db.research(ctx, `select `+researchColumns+` from published_research where pick_seq = @seq`, pgx.NamedArgs{"seq": seq})
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("read the research of pick %d: %w", seq, ErrNotFound)
	}
	if err != nil {
		return Research{}, err
	}
	return list[0], nil
}

func (db PublicationStore) research(ctx context.Context, sql string, args pgx.NamedArgs) ([]Research, error) {
	rows, err := db.reads.Query(ctx, sql, args)
	list, err := collect[Research](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read research: %w", asUnavailable(err))
	}
	return list, nil
}

// PickSummaries returns the summary of each announced pick's card in every language, by pick number. It omits picks up to the number after.
// Callers can cache those, because cards never change and picks are announced in order.
func (db PublicationStore) PickSummaries(ctx context.Context, after int64) (map[int64]map[picks.Lang]string, error) {
	rows, err := db.reads.Query(ctx, `
		select r.pick_seq, t.key, t.value ->> 'summary_why'
		from published_research r, jsonb_each(r.texts) t
		where r.pick_seq > @after`, pgx.NamedArgs{"after": after}) // the index of the unique column
	if err != nil {
		return nil, fmt.Errorf("read the summaries of the picks: %w", asUnavailable(err))
	}
	all := map[int64]map[picks.Lang]string{}
	var seq int64
	var lang picks.Lang
	var text string
	if _, err := pgx.ForEachRow(rows, []any{&seq, &lang, &text}, func() error {
		if all[seq] == nil {
			all[seq] = map[picks.Lang]string{}
		}
		all[seq][lang] = text
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read the summaries of the picks: %w", asUnavailable(err))
	}
	return all, nil
}

// PickBasis returns the as-of instant of a day's pick. It returns ErrNotFound if no card belongs to a pick of that day. The API's role has
// no right to read this.
func (db PublicationStore) PickBasis(ctx context.Context, day time.Time) (asOf time.Time, err error) {
	err = db.reads.QueryRow(ctx, `select as_of from research where pick_seq = (select seq from picks where date = @date)`,
		pgx.NamedArgs{"date": day.Format(time.DateOnly)}).Scan(&asOf) // indexes of the unique columns
	if errors.Is(err, pgx.ErrNoRows) {
		return asOf, fmt.Errorf("a pick of %s: %w", day.Format(time.DateOnly), ErrNotFound)
	}
	if err != nil {
		return asOf, fmt.Errorf("read the inputs of the pick of %s: %w", day.Format(time.DateOnly), err)
	}
	return asOf.UTC(), nil
}

// Stock is a company with a research card.
type Stock struct {
	CIK                                             equity.CIK
	Ticker, Name, Exchange, Sector, Region, Country string
	// FirstPickedOn is the date of its first announced pick, YYYY-MM-DD. It is nil if the company was never picked.
	FirstPickedOn *string
	// ResearchedAt is when its newest card was stored.
	ResearchedAt time.Time
}

const stocksSQL = `
	select r.cik, r.ticker, r.name, r.exchange, r.sector, r.region, r.country, r.recorded_at as researched_at, p.date as first_picked_on
	from newest_research r
	left join first_picks p on p.cik = r.cik
	order by r.ticker, r.cik` // indexes (cik, day), picks_of

// Stocks lists the companies with a public card, by ticker.
func (db PublicationStore) Stocks(ctx context.Context) ([]Stock, error) {
	rows, err := db.reads.Query(ctx, stocksSQL)
	list, err := collect[Stock](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the stocks: %w", asUnavailable(err))
	}
	return list, nil
}
