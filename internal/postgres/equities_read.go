package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/picks"
)

// The history that a candidate carries. A score reads three fiscal years and one year of prices; the newest fiscal year may have ended 520
// days ago. Older data changes no score.
const (
	factsBack  = 6 * 366 * 24 * time.Hour
	pricesBack = 500 * 24 * time.Hour
)

// Candidates returns every company that was known at asOf, with the facts filed before day and its prices up to day, all as known at asOf.
// The day's pick is made from these. Bars go back 500 days and facts six years; see Histories for all bars. The result is ordered by CIK. The
// caller must not change what the result refers to, because the next result may share it.
func (db EquityStore) Candidates(ctx context.Context, day, asOf time.Time) ([]picks.Candidate, error) {
	companies, err := db.Companies(ctx, asOf)
	if err != nil {
		return nil, err
	}
	ids := slices.Sorted(maps.Keys(companies))
	facts, prices, err := db.market(ctx, ids, day, asOf)
	if err != nil {
		return nil, err
	}
	list := make([]picks.Candidate, len(ids))
	for i, id := range ids {
		list[i] = picks.Candidate{Company: companies[id], Facts: facts[id], History: prices[id]}
	}
	return list, nil
}

const factsSQL = `
	select f.cik, f.taxonomy, f.tag, f.unit, f.period_end, f.days, f.accession, f.form, f.filed, f.value, coalesce(f.fy, 0), coalesce(f.fp, '')
	from facts f
	where f.cik = any(@ciks) and f.period_end >= @from and f.filed < @before and f.known_at <= @as_of
		and not exists (
			select from facts n
			where n.edition > 0 and n.cik = f.cik and n.tag = f.tag and n.period_end = f.period_end and n.days = f.days
				and n.accession = f.accession and n.unit = f.unit and n.taxonomy = f.taxonomy and n.edition > f.edition and n.known_at <= @as_of)` // primary key, facts_restated; in no order, which spares a sort of them all

// facts returns the facts of periods that ended on a day or later, filed before another day, as known at an instant.
func (db EquityStore) facts(ctx context.Context, ids []equity.CIK, from, before, asOf time.Time) (map[equity.CIK][]equity.Fact, error) {
	all := make(map[equity.CIK][]equity.Fact, len(ids))
	if len(ids) == 0 {
		return all, nil
	}
	rows, err := db.reads.Query(ctx, factsSQL, pgx.NamedArgs{
		"ciks": numbers(ids), "from": from, "before": before, "as_of": asOf,
	})
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	words := map[string]string{} // each text is held once
	one := func(text *string) {
		if known, ok := words[*text]; ok {
			*text = known
		} else {
			words[*text] = *text
		}
	}
	var f equity.Fact
	var days int
	_, err = pgx.ForEachRow(rows, []any{
		&f.CIK, &f.Taxonomy, &f.Tag, &f.Unit, &f.End, &days, &f.Accession, &f.Form,
		&f.Filed, &f.Value, &f.FY, &f.FP,
	}, func() error {
		f.Start = time.Time{}
		if days > 0 {
			f.Start = f.End.AddDate(0, 0, 1-days)
		}
		for _, text := range []*string{&f.Taxonomy, &f.Tag, &f.Unit, &f.Accession, &f.Form, &f.FP} {
			one(text)
		}
		all[f.CIK] = append(all[f.CIK], f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	return all, nil
}

// Histories returns all bars and actions of companies up to a day, as known at an instant. Bars have only the fields that returns need:
// date, close, volume and source. If several publishers have prices of a company, each day has the bar, and the splits and dividends, of the
// publisher that was the first to state its close. A company without bars and actions is not in the map.
func (db EquityStore) Histories(ctx context.Context, ids []equity.CIK, to, asOf time.Time) (picks.Prices, error) {
	return db.HistoriesFrom(ctx, ids, time.Time{}, to, asOf)
}

// Selects the publishers of each company's prices. The recursive query steps through the primary key from one publisher to the next and
// skips all bars between.
const publishersSQL = `
	select t.cik, s.source
	from unnest(@ciks::bigint[]) as t (cik)
	cross join lateral (
		with recursive s as (
			(select source from bars where cik = t.cik order by source limit 1)
			union all
			select (select b.source from bars b where b.cik = t.cik and b.source > s.source order by b.source limit 1) from s where s.source is not null
		)
		select source from s where source is not null
	) s
	order by t.cik, s.source`

// Reads all editions of a restated bar, the current one last. Such bars are few, and a search for a later edition of every bar takes longer
// than the whole query.
const barsSQL = `
	select b.cik, b.date, b.close::text, b.volume, b.source
	from unnest(@ciks::bigint[], @sources::text[]) as t (cik, source)
	join bars b on b.cik = t.cik and b.source = t.source
	where b.date between @from and @to and b.known_at <= @as_of
	order by b.cik, b.date, b.edition` // primary key

// Reads the bars of companies with several publishers. For each day, it reads the bars of the first publisher that stated a close. A later
// statement of another publisher changes nothing, so a change of publisher never changes a return of the past.
const firstBarsSQL = `
	with first as (
		select distinct on (cik, date) cik, date, source
		from bars
		where cik = any(@several) and date between @from and @to and edition = 0 and known_at <= @as_of
		order by cik, date, known_at, source
	)
	select b.cik, b.date, b.close::text, b.volume, b.source
	from first f
	join bars b on b.cik = f.cik and b.source = f.source and b.date = f.date
	where b.known_at <= @as_of
	order by b.cik, b.date, b.edition` // primary key

// Mergers and delistings come from a separate file without bars, so they count for every publisher of the bars.
const actionsSQL = `
	select a.cik, a.date, a.kind, coalesce(a.new_shares, 0), coalesce(a.old_shares, 0), coalesce(a.cash::text, ''), coalesce(a.successor, 0), a.source
	from actions a
	left join unnest(@ciks::bigint[], @sources::text[]) as t (cik, source) on t.cik = a.cik
	where a.cik = any(@all) and (a.source = t.source or a.kind in ('merger', 'delisting') or a.cik = any(@several)) and a.date between @from and @to
		and a.known_at <= @as_of and not a.withdrawn
		and not exists (
			select from actions n
			where n.edition > 0 and n.cik = a.cik and n.source = a.source and n.date = a.date and n.kind = a.kind and n.edition > a.edition
				and n.known_at <= @as_of)
	order by a.cik, a.date, a.kind desc, a.source` // primary key, actions_restated; of one day splits before dividends

// HistoriesFrom is Histories without data older than from.
func (db EquityStore) HistoriesFrom(ctx context.Context, ids []equity.CIK, from, to, asOf time.Time) (picks.Prices, error) {
	args := pgx.NamedArgs{"all": numbers(ids), "from": orFirstDay(from), "to": to, "as_of": asOf}
	publishers, err := db.publishers(ctx, ids)
	if err != nil {
		return nil, err
	}
	ciks, sources, several := []int64{}, []string{}, []int64{}
	for _, cik := range slices.Sorted(maps.Keys(publishers)) {
		if all := publishers[cik]; len(all) == 1 {
			ciks, sources = append(ciks, int64(cik)), append(sources, all[0])
		} else {
			several = append(several, int64(cik))
		}
	}
	args["ciks"], args["sources"], args["several"] = ciks, sources, several

	all := picks.Prices{}
	if err := db.readBars(ctx, all, barsSQL, args); err != nil {
		return nil, err
	}
	if len(several) > 0 {
		if err := db.readBars(ctx, all, firstBarsSQL, args); err != nil {
			return nil, err
		}
	}
	rows, err := db.reads.Query(ctx, actionsSQL, args)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	var a equity.Action
	if _, err := pgx.ForEachRow(rows, []any{&a.CIK, &a.Date, &a.Kind, &a.New, &a.Old, &a.Cash, &a.Successor, &a.Source}, func() error {
		h := all[a.CIK]
		if len(publishers[a.CIK]) < 2 || a.Ends() || a.Source == speaker(h.Bars, a.Date) {
			h.Actions = append(h.Actions, a)
			all[a.CIK] = h
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	return all, db.readSplits(ctx, all, asOf)
}

// readBars adds the bars of a query.
func (db EquityStore) readBars(ctx context.Context, all picks.Prices, sql string, args pgx.NamedArgs) error {
	rows, err := db.reads.Query(ctx, sql, args)
	if err != nil {
		return fmt.Errorf("read bars: %w", err)
	}
	var b equity.Bar
	if _, err := pgx.ForEachRow(rows, []any{&b.CIK, &b.Date, &b.Close, &b.Volume, &b.Source}, func() error {
		h := all[b.CIK]
		if last := len(h.Bars) - 1; last >= 0 && h.Bars[last].Date.Equal(b.Date) {
			h.Bars[last] = b
		} else {
			h.Bars = append(h.Bars, b)
		}
		all[b.CIK] = h
		return nil
	}); err != nil {
		return fmt.Errorf("read bars: %w", err)
	}
	return nil
}

// speaker returns the publisher whose splits and dividends of a date count. It is the publisher of the first close from the date on, or
// else of the newest close.
func speaker(bars []equity.Bar, date time.Time) string {
	i, _ := slices.BinarySearchFunc(bars, date, func(b equity.Bar, t time.Time) int { return b.Date.Compare(t) })
	if i = min(i, len(bars)-1); i < 0 {
		return ""
	}
	return bars[i].Source
}

// readSplits tells splits and spin-offs apart, by the filings of the companies with splits that may be spin-offs.
func (db EquityStore) readSplits(ctx context.Context, all picks.Prices, asOf time.Time) error {
	var ids []equity.CIK
	var from, to time.Time
	for _, cik := range slices.Sorted(maps.Keys(all)) {
		for _, a := range all[cik].Actions {
			if !picks.MayBeSpinOff(a) {
				continue
			}
			first, last := picks.SpinOffFilings(a)
			if len(ids) == 0 || first.Before(from) {
				from = first
			}
			if last.After(to) {
				to = last
			}
			ids = append(ids, cik)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	filings, err := db.FilingsOf(ctx, slices.Compact(ids), from, to, asOf)
	if err != nil {
		return err
	}
	by := map[equity.CIK][]equity.Filing{}
	for _, f := range filings {
		if picks.ShowsSpinOff(f) {
			by[f.CIK] = append(by[f.CIK], f)
		}
	}
	for _, cik := range slices.Compact(ids) {
		h := all[cik]
		h.Actions = picks.ReadSplits(h.Actions, by[cik])
		all[cik] = h
	}
	return nil
}

// publishers returns the publishers that have stated prices of each company. A company without any is not in the map.
func (db EquityStore) publishers(ctx context.Context, ids []equity.CIK) (map[equity.CIK][]string, error) {
	rows, err := db.reads.Query(ctx, publishersSQL, pgx.NamedArgs{"ciks": numbers(ids)})
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	all := map[equity.CIK][]string{}
	var cik equity.CIK
	var source string
	if _, err := pgx.ForEachRow(rows, []any{&cik, &source}, func() error { all[cik] = append(all[cik], source); return nil }); err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	return all, nil
}

// orFirstDay returns day, or a date before all stored data if day is zero.
func orFirstDay(day time.Time) time.Time {
	if day.IsZero() {
		return time.Date(1800, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return day
}

const filingsSQL = `
	select f.cik, f.accession, f.form, f.filed, f.accepted_at, f.period, f.items, f.url
	from filings f
	where f.cik = any(@ciks) and f.filed between @from and @to and f.known_at <= @as_of
		and not exists (
			select from filings n
			where n.edition > 0 and n.cik = f.cik and n.accession = f.accession and n.edition > f.edition and n.known_at <= @as_of)
	order by f.filed, f.cik, f.accession` // indexes filings_by_date, filings_restated

// FilingsOf returns the filings of companies between two dates, both included, as known at an instant. They are ordered by filing date.
func (db EquityStore) FilingsOf(ctx context.Context, ids []equity.CIK, from, to, asOf time.Time) ([]equity.Filing, error) {
	rows, err := db.reads.Query(ctx, filingsSQL, pgx.NamedArgs{"ciks": numbers(ids), "from": from, "to": to, "as_of": asOf})
	if err != nil {
		return nil, fmt.Errorf("read filings: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (f equity.Filing, err error) {
		var acceptedAt, period *time.Time
		err = r.Scan(&f.CIK, &f.Accession, &f.Form, &f.Filed, &acceptedAt, &period, &f.Items, &f.URL)
		f.AcceptedAt, f.Period = orZero(acceptedAt), orZero(period)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("read filings: %w", err)
	}
	return list, nil
}
