package postgres

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// knownCompany is a company's newest edition.
type knownCompany struct {
	company equity.Company
	edition int
	knownAt time.Time
}

// querier is the common interface of a pool and a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

const companiesSQL = `
	select c.cik, c.edition, c.known_at, c.name, coalesce(c.sic, 0), coalesce(c.location, ''), coalesce(c.fiscal_year_end, ''),
		l.ticker, coalesce(l.exchange, ''), l.valid_from, l.valid_to
	from (
		select distinct on (cik) cik, edition, known_at, name, sic, location, fiscal_year_end
		from companies
		where known_at <= @as_of and (@all or cik = any(@ciks))
		order by cik, edition desc
	) c
	left join listings l on l.cik = c.cik and l.edition = c.edition
	order by c.cik, l.place` // primary keys

// companiesAsOf returns companies as known at an instant. If ciks is nil, it returns all.
func companiesAsOf(ctx context.Context, from querier, ciks []equity.CIK, asOf time.Time) (map[equity.CIK]knownCompany, error) {
	rows, err := from.Query(ctx, companiesSQL, pgx.NamedArgs{"as_of": asOf, "all": ciks == nil, "ciks": numbers(ciks)})
	if err != nil {
		return nil, fmt.Errorf("read companies: %w", err)
	}
	all := map[equity.CIK]knownCompany{}
	var k knownCompany
	var ticker *string
	var l equity.Listing
	var validFrom, validTo *time.Time
	c := &k.company
	_, err = pgx.ForEachRow(rows, []any{
		&c.CIK, &k.edition, &k.knownAt, &c.Name, &c.SIC, &c.Location, &c.FiscalYearEnd, &ticker, &l.Exchange, &validFrom, &validTo,
	}, func() error {
		k.company.Listings = all[c.CIK].company.Listings
		if ticker != nil {
			l.Ticker, l.From, l.To = *ticker, orZero(validFrom), orZero(validTo)
			k.company.Listings = append(k.company.Listings, l)
		}
		all[c.CIK] = k
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read companies: %w", err)
	}
	return all, nil
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// Companies returns all companies as known at an instant, with their tickers through time. A company stays in the result permanently from
// the instant when it was first seen.
func (db EquityStore) Companies(ctx context.Context, asOf time.Time) (map[equity.CIK]equity.Company, error) {
	known, err := companiesAsOf(ctx, db.pool, nil, asOf)
	if err != nil {
		return nil, err
	}
	all := make(map[equity.CIK]equity.Company, len(known))
	for id, k := range known {
		all[id] = k.company
	}
	return all, nil
}

const addCompanySQL = `
	insert into companies (cik, edition, known_at, name, sic, location, fiscal_year_end, fetch_id)
	values (@cik, @edition, @known_at, @name, nullif(@sic, 0), nullif(@location, ''), nullif(@fiscal_year_end, ''), @fetch_id)`

const addListingsSQL = `
	insert into listings (cik, edition, place, ticker, exchange, valid_from, valid_to)
	select @cik, @edition, t.place, t.ticker, nullif(t.exchange, ''), t.valid_from, t.valid_to
	from unnest(@tickers::text[], @exchanges::text[], @from::date[], @to::date[]) with ordinality as t (ticker, exchange, valid_from, valid_to, place)`

// mergeCompanies adds an edition for each company whose description in a load differs from the stored one. It processes the loads in order.
// The caller holds the lock.
func mergeCompanies(ctx context.Context, tx pgx.Tx, loads []EquityLoad) (added int64, err error) {
	ids := []equity.CIK{}
	for _, l := range loads {
		ids = append(ids, l.Unlisted...)
		for _, c := range l.Companies {
			ids = append(ids, c.CIK)
		}
	}
	if len(ids) == 0 {
		return 0, nil
	}
	known, err := companiesAsOf(ctx, tx, ids, endOfTime)
	if err != nil {
		return 0, err
	}
	var batch pgx.Batch
	for _, l := range loads {
		for _, next := range l.changes(known) {
			known[next.company.CIK] = next
			added += next.queue(&batch, l.Fetch.ID)
		}
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return 0, fmt.Errorf("add companies: %w", err)
	}
	return added, nil
}

// endOfTime is later than every stored instant.
var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// changes returns the new editions that a load causes, ordered by CIK.
func (l EquityLoad) changes(known map[equity.CIK]knownCompany) []knownCompany {
	said := map[equity.CIK]equity.Company{}
	for _, c := range l.Companies {
		said[c.CIK] = c
	}
	for _, id := range l.Unlisted {
		said[id] = known[id].company
	}
	day := calendar.DayOf(l.Fetch.FetchedAt)
	var list []knownCompany
	for _, id := range slices.Sorted(maps.Keys(said)) {
		now := said[id]
		before, ok := known[id]
		if ok && (l.Notice || before.knownAt.After(l.Fetch.FetchedAt)) || now.CIK == 0 {
			continue
		}
		if ok && before.knownAt.Equal(l.Fetch.FetchedAt) { // neither of two responses of one instant is newer: this one fills gaps
			filled := overlaid(now, before.company)
			if len(before.company.Listings) == 0 {
				filled.Listings = now.Listings
			}
			now = filled
		}
		next := knownCompany{company: overlaid(before.company, now), knownAt: l.Fetch.FetchedAt}
		if ok {
			next.edition = before.edition + 1
		}
		tickers := now.Listings
		if slices.Contains(l.Unlisted, id) {
			tickers = nil
		} else if len(tickers) == 0 {
			tickers = current(before.company.Listings)
		}
		next.company.Listings = equity.Listings(before.company.Listings, tickers, day)
		if !ok || !same(before.company, next.company) {
			list = append(list, next)
		}
	}
	return list
}

// overlaid returns known with the fields of now. Empty fields of now keep the known value.
func overlaid(known, now equity.Company) equity.Company {
	return equity.Company{
		CIK: now.CIK, Name: cmp.Or(now.Name, known.Name), SIC: cmp.Or(now.SIC, known.SIC), Location: cmp.Or(now.Location, known.Location),
		FiscalYearEnd: cmp.Or(now.FiscalYearEnd, known.FiscalYearEnd),
	}
}

// current returns the listings that have not ended.
func current(all []equity.Listing) []equity.Listing {
	return slices.DeleteFunc(slices.Clone(all), func(l equity.Listing) bool { return !l.To.IsZero() })
}

func same(a, b equity.Company) bool {
	listings := slices.EqualFunc(a.Listings, b.Listings, func(x, y equity.Listing) bool {
		return x.Ticker == y.Ticker && x.Exchange == y.Exchange && x.From.Equal(y.From) && x.To.Equal(y.To)
	})
	a.Listings, b.Listings = nil, nil
	return listings && a.CIK == b.CIK && a.Name == b.Name && a.SIC == b.SIC && a.Location == b.Location && a.FiscalYearEnd == b.FiscalYearEnd
}

// queue adds the rows of an edition to a batch, and returns their number.
func (k knownCompany) queue(batch *pgx.Batch, fetchID int64) int64 {
	c := k.company
	batch.Queue(addCompanySQL, pgx.NamedArgs{
		"cik": int64(c.CIK), "edition": k.edition, "known_at": k.knownAt, "name": c.Name, "sic": c.SIC, "location": c.Location,
		"fiscal_year_end": c.FiscalYearEnd, "fetch_id": fetchID,
	})
	n := len(c.Listings)
	if n == 0 {
		return 1
	}
	tickers, exchanges, from, to := make([]string, n), make([]string, n), make([]any, n), make([]any, n)
	for i, l := range c.Listings {
		tickers[i], exchanges[i], from[i], to[i] = l.Ticker, l.Exchange, orNull(l.From), orNull(l.To)
	}
	batch.Queue(addListingsSQL, pgx.NamedArgs{
		"cik": int64(c.CIK), "edition": k.edition, "tickers": tickers, "exchanges": exchanges, "from": from, "to": to,
	})
	return 1 + int64(n)
}
