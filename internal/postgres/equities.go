package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/equity"
	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/picks"
)

// EquityStore keeps companies: listings, filings, facts, prices and actions.
//
// It reads actions, bars, companies, equity_watermarks, facts, fetches, filings, listings, load_fetches, loads, rebuilding, risk_factors, runs,
// second_closes. It writes actions, bars, companies, equity_watermarks, facts, filings, listings, load_fetches, loads, news, rebuilding,
// risk_factors, runs, second_closes.
type EquityStore struct{ *connections }

// EquityLoad is the content of one response about companies. Its lists satisfy what package ingest guarantees for a batch: values in a list
// are valid and have distinct identities.
type EquityLoad struct {
	// Fetch is the response's row in the fetch log. Its ID, Source and FetchedAt are read.
	Fetch series.Fetch
	// Notice means that the response only names companies, as a list of all companies does. It adds unknown companies and changes no known
	// ones. Other sources provide the rest.
	Notice bool
	// Asked lists companies that the source was asked about, even if the response says nothing about them.
	Asked []equity.CIK
	// Unlisted lists companies that have no ticker any more on the day of the response.
	Unlisted []equity.CIK

	// Companies have their tickers at the time of the response in Listings, without dates. An empty field, including empty Listings,
	// changes nothing.
	Companies []equity.Company
	Filings   []equity.Filing
	// Facts that no rule of package picks reads are dropped.
	Facts []equity.Fact
	// Bars and Actions are of one publisher and company. The response has all splits and dividends between its first and its last bar.
	Bars    []equity.Bar
	Actions []equity.Action
	News    []equity.NewsItem
	Risks   []equity.RiskFactors

	// Choice holds decisions that do not follow from the bytes of the response. Beside holds further responses of the same load.
	Choice EquityChoice
	Beside []series.Fetch
}

// EquityChoice holds the decisions about a response that do not follow from its bytes. It is stored with the step: responses and choice
// produce the same load again. The zero value decides nothing.
type EquityChoice struct {
	// Answers is the number of responses in the load. Zero means one, less than zero means none.
	Answers int `json:"answers,omitempty"`
	// Newcomers are the companies of a list that were accepted.
	Newcomers []equity.CIK `json:"newcomers,omitempty"`
	// FiledFrom is the first day whose filings were wanted; zero means all days.
	FiledFrom time.Time `json:"filed_from,omitzero"`
	// Asked and Unlisted are the load's fields. At is the load's time if it has no response.
	Asked    []equity.CIK `json:"asked,omitempty"`
	Unlisted []equity.CIK `json:"unlisted,omitempty"`
	At       time.Time    `json:"at,omitzero"`
	// Unbelieved means that no price was stored. Without lists the days whose bars were not stored. Splits lists splits that the prices
	// already include but that the publisher did not state.
	Unbelieved bool            `json:"unbelieved,omitempty"`
	Without    []time.Time     `json:"without,omitempty"`
	Splits     []equity.Action `json:"splits,omitempty"`
	// Day is the day whose close is compared with another publisher's close.
	Day time.Time `json:"day,omitzero"`
}

// equityStep returns the step that records how loads were stored.
func equityStep(loads []EquityLoad) (s series.Step, err error) {
	choices := make([]json.RawMessage, len(loads))
	decided := false
	for i, l := range loads {
		c := l.Choice
		c.Asked, c.Unlisted = l.Asked, l.Unlisted
		if s.Source == "" {
			s.Source = l.Fetch.Source
		}
		answers := append([]series.Fetch{l.Fetch}, l.Beside...)
		if l.Fetch.ID == 0 {
			answers, c.Answers, c.At = nil, -1, l.Fetch.FetchedAt
		} else if len(answers) > 1 {
			c.Answers = len(answers)
		}
		for _, a := range answers {
			s.Answers = append(s.Answers, series.StepAnswer{Fetch: a.ID, KnownAt: a.FetchedAt})
		}
		choice, err := json.Marshal(c)
		if err != nil {
			return s, err
		}
		decided = decided || string(choice) != "{}"
		choices[i] = choice
	}
	if decided {
		s.Choices, err = json.Marshal(choices)
	}
	return s, err
}

// StoreEquities compares responses with the stored data and adds each difference as an edition. It returns the number of added rows;
// storing the same responses again adds none.
//
// All values, including history, became known when they were fetched. The universe begins at the first fetch, and reads as of an earlier
// time find nothing. The publication time is a separate date. Data older than the stored data changes nothing. StoreEquities withdraws a
// stored split or dividend between the first and the last bar of a response if the publisher no longer states it. It stores all or nothing,
// and only while the attempt in f is current.
func (db EquityStore) StoreEquities(ctx context.Context, f task.Fence, loads ...EquityLoad) (added int64, err error) {
	return db.storeEquities(ctx, f, 0, loads)
}

// StoreEquitiesAgain repeats a step that stored loads.
func (db EquityStore) StoreEquitiesAgain(ctx context.Context, step int64, loads []EquityLoad) (added int64, err error) {
	return db.storeEquities(ctx, task.Fence{}, step, loads)
}

func (db EquityStore) storeEquities(ctx context.Context, f task.Fence, again int64, loads []EquityLoad) (added int64, err error) {
	step, err := equityStep(loads)
	if err != nil {
		return 0, fmt.Errorf("store equities: %w", err)
	}
	groups := groupEquities(loads)
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		// Copy the rows before the transaction begins: a slow client then holds no lock.
		if err := stageEquities(ctx, c.Conn(), loads, groups); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) error {
			var err error
			if added, err = mergeEquities(ctx, tx, loads, groups); err != nil {
				return err
			}
			if err := checkFence(ctx, tx, f, added); err != nil {
				return err
			}
			return noteLoad(ctx, tx, step, again)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("store equities: %w", err)
	}
	return added, nil
}

// groupEquities splits loads into ranges. Each company occurs in at most one load of a range, so one step can compare all of them with the
// stored data.
func groupEquities(loads []EquityLoad) []loadRange {
	var groups []loadRange
	spoken := map[equity.CIK]bool{}
	for i, l := range loads {
		about := l.about()
		if len(groups) == 0 || slices.ContainsFunc(about, func(c equity.CIK) bool { return spoken[c] }) {
			groups = append(groups, loadRange{from: i})
			clear(spoken)
		}
		groups[len(groups)-1].to = i + 1
		for _, c := range about {
			spoken[c] = true
		}
	}
	return groups
}

// about lists the companies that the load is about, each once.
func (l EquityLoad) about() []equity.CIK {
	ids := slices.Concat(l.Asked, l.Unlisted)
	for _, c := range l.Companies {
		ids = append(ids, c.CIK)
	}
	for _, f := range l.Filings {
		ids = append(ids, f.CIK)
	}
	for _, f := range l.Facts {
		ids = append(ids, f.CIK)
	}
	for _, b := range l.Bars {
		ids = append(ids, b.CIK)
	}
	for _, a := range l.Actions {
		ids = append(ids, a.CIK)
	}
	for _, r := range l.Risks {
		ids = append(ids, r.CIK)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// read returns the facts that a rule reads.
func (l EquityLoad) read() []equity.Fact {
	return slices.DeleteFunc(slices.Clone(l.Facts), func(f equity.Fact) bool { return !picks.Reads(f) })
}

// Only one store of company data runs at a time, because each compares with all stored data.
const lockEquitiesSQL = `select pg_advisory_xact_lock(hashtextextended('equities', 0))`

const confirmEquitiesSQL = `
	insert into equity_watermarks as w (source, cik, confirmed_at)
	select source, cik, max(at)
	from unnest(@sources::text[], @ciks::bigint[], @ats::timestamptz[]) as t (source, cik, at)
	group by source, cik
	on conflict (source, cik) do update set confirmed_at = greatest(w.confirmed_at, excluded.confirmed_at)`

func mergeEquities(ctx context.Context, tx pgx.Tx, loads []EquityLoad, groups []loadRange) (added int64, err error) {
	if _, err := tx.Exec(ctx, lockEquitiesSQL); err != nil {
		return 0, fmt.Errorf("wait for other stores: %w", err)
	}
	if added, err = mergeCompanies(ctx, tx, loads); err != nil {
		return 0, err
	}
	var sources []string
	var ciks []int64
	var ats []time.Time
	for g, s := range groups {
		n, err := mergeStage(ctx, tx, g)
		if err != nil {
			return 0, err
		}
		added += n
		for _, l := range loads[s.from:s.to] {
			n, err := addNews(ctx, tx, l)
			if err != nil {
				return 0, err
			}
			added += n
			if n, err = addRisks(ctx, tx, l); err != nil {
				return 0, err
			}
			added += n
			if l.Notice {
				continue
			}
			for _, c := range l.about() {
				sources, ciks, ats = append(sources, l.Fetch.Source), append(ciks, int64(c)), append(ats, l.Fetch.FetchedAt)
			}
		}
	}
	_, err = tx.Exec(ctx, confirmEquitiesSQL, pgx.NamedArgs{"sources": nonNil(sources), "ciks": nonNil(ciks), "ats": nonNil(ats)})
	if err != nil {
		return 0, fmt.Errorf("confirm: %w", err)
	}
	return added, nil
}

const addNewsSQL = `
	insert into news (source, id, known_at, companies, title, summary, url, published_at, fetch_id)
	values (@source, @id, @known_at, @companies, @title, @summary, @url, @published_at, @fetch_id)
	on conflict do nothing`

func addNews(ctx context.Context, tx pgx.Tx, l EquityLoad) (added int64, err error) {
	var batch pgx.Batch
	for _, n := range l.News {
		batch.Queue(addNewsSQL, pgx.NamedArgs{
			"source": n.Source, "id": n.ID, "known_at": l.Fetch.FetchedAt, "companies": numbers(n.Companies), "title": n.Title, "summary": n.Summary,
			"url": n.URL, "published_at": n.PublishedAt, "fetch_id": l.Fetch.ID,
		}).Exec(func(t pgconn.CommandTag) error { added += t.RowsAffected(); return nil })
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return 0, fmt.Errorf("add news: %w", err)
	}
	return added, nil
}

// numbers returns CIKs in the database's type.
func numbers(ids []equity.CIK) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}
