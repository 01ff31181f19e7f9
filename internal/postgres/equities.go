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

// EquityLoad is what one answer said of companies. Its lists are as package ingest promises those of a batch: no two values of one
// identity in a list, every value well formed.
type EquityLoad struct {
	// Fetch is the answer's row in the ledger. Its ID, Source and FetchedAt are read.
	Fetch series.Fetch
	// Notice tells that the answer only names companies, as a list of all does: it adds those that are unknown and changes nothing that
	// is known. What it leaves open is asked of another source.
	Notice bool
	// Asked lists companies that the answer is about although it may hold nothing of them: the source has been asked about them.
	Asked []equity.CIK
	// Unlisted lists companies that no longer have any ticker on the day of the answer.
	Unlisted []equity.CIK

	// Companies with the tickers that they have at the time of the answer, in Listings without dates. An empty field says nothing
	// and takes nothing back, empty Listings included.
	Companies []equity.Company
	Filings   []equity.Filing
	// Facts that no rule of package picks reads are left out.
	Facts []equity.Fact
	// Bars and Actions of one publisher and company. The answer has all splits and dividends between its first and its last bar.
	Bars    []equity.Bar
	Actions []equity.Action
	News    []equity.NewsItem

	// Choice is what was decided beside the bytes of the answer, and Beside further answers that it is of.
	Choice EquityChoice
	Beside []series.Fetch
}

// EquityChoice is what was decided about an answer beside its bytes, as it is kept with the step that stored it: answers and choice make the
// same load again. The zero value decides nothing.
type EquityChoice struct {
	// Answers is how many answers the load is of; zero is one, and less than zero none.
	Answers int `json:"answers,omitempty"`
	// Newcomers are the companies of a list that were taken in.
	Newcomers []equity.CIK `json:"newcomers,omitempty"`
	// FiledFrom is the first day whose filings were wanted, zero for all.
	FiledFrom time.Time `json:"filed_from,omitzero"`
	// Asked and Unlisted are those of the load, At is its time where it is of no answer.
	Asked    []equity.CIK `json:"asked,omitempty"`
	Unlisted []equity.CIK `json:"unlisted,omitempty"`
	At       time.Time    `json:"at,omitzero"`
	// Unbelieved tells that nothing of the prices was stored; Without lists the days whose bars were not, and Splits what was worked into
	// the prices without being stated.
	Unbelieved bool            `json:"unbelieved,omitempty"`
	Without    []time.Time     `json:"without,omitempty"`
	Splits     []equity.Action `json:"splits,omitempty"`
	// Day is the day whose close is held against that of another publisher.
	Day time.Time `json:"day,omitzero"`
}

// equityStep is the step of storing loads.
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

// StoreEquities compares what answers said with what is known and adds each difference as an edition. It returns how many rows were
// added; the same answers stored again add none.
//
// Everything became known when it was fetched, history included: the universe begins when it is first seen, and nothing is read as of
// before. When it was published is in its own date. What is older than what is known changes nothing. A split or dividend that its
// publisher stated once and has no longer, between the first and the last bar of the answer, is withdrawn. All or nothing is stored,
// and only while the attempt that f names is the current one.
func (db *DB) StoreEquities(ctx context.Context, f task.Fence, loads ...EquityLoad) (added int64, err error) {
	return db.storeEquities(ctx, f, 0, loads)
}

// StoreEquitiesAgain does a step again that stored loads.
func (db *DB) StoreEquitiesAgain(ctx context.Context, step int64, loads []EquityLoad) (added int64, err error) {
	return db.storeEquities(ctx, task.Fence{}, step, loads)
}

func (db *DB) storeEquities(ctx context.Context, f task.Fence, again int64, loads []EquityLoad) (added int64, err error) {
	step, err := equityStep(loads)
	if err != nil {
		return 0, fmt.Errorf("store equities: %w", err)
	}
	groups := groupEquities(loads)
	err = db.session(ctx, func(c *pgxpool.Conn) error {
		// The rows travel before the transaction begins: no lock is held while a client could be slow.
		if err := stageEquities(ctx, c.Conn(), loads, groups); err != nil {
			return err
		}
		return inTx(ctx, c, func(tx pgx.Tx) error {
			var err error
			if added, err = mergeEquities(ctx, tx, loads, groups); err != nil {
				return err
			}
			if err := noteLoad(ctx, tx, step, again); err != nil {
				return err
			}
			return checkFence(ctx, tx, f, added)
		})
	})
	if err != nil {
		return 0, fmt.Errorf("store equities: %w", err)
	}
	return added, nil
}

// equityBatch is loads[from:to], of which no two speak of one company: they are compared with what is known in one step.
type equityBatch struct{ from, to int }

func groupEquities(loads []EquityLoad) []equityBatch {
	var groups []equityBatch
	spoken := map[equity.CIK]bool{}
	for i, l := range loads {
		about := l.about()
		if len(groups) == 0 || slices.ContainsFunc(about, func(c equity.CIK) bool { return spoken[c] }) {
			groups = append(groups, equityBatch{from: i})
			clear(spoken)
		}
		groups[len(groups)-1].to = i + 1
		for _, c := range about {
			spoken[c] = true
		}
	}
	return groups
}

// about lists the companies that the answer is about, each once.
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
	slices.Sort(ids)
	return slices.Compact(ids)
}

// read lists the facts that a rule reads.
func (l EquityLoad) read() []equity.Fact {
	return slices.DeleteFunc(slices.Clone(l.Facts), func(f equity.Fact) bool { return !picks.Reads(f) })
}

// Stores of companies' data follow one after the other: each compares with all that is stored.
const lockEquitiesSQL = `select pg_advisory_xact_lock(hashtextextended('equities', 0))`

const confirmEquitiesSQL = `
	insert into equity_watermarks as w (source, cik, confirmed_at)
	select source, cik, max(at)
	from unnest(@sources::text[], @ciks::bigint[], @ats::timestamptz[]) as t (source, cik, at)
	group by source, cik
	on conflict (source, cik) do update set confirmed_at = greatest(w.confirmed_at, excluded.confirmed_at)`

func mergeEquities(ctx context.Context, tx pgx.Tx, loads []EquityLoad, groups []equityBatch) (added int64, err error) {
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

// numbers are CIKs as the database takes them.
func numbers(ids []equity.CIK) []int64 {
	list := make([]int64, len(ids))
	for i, id := range ids {
		list[i] = int64(id)
	}
	return list
}
