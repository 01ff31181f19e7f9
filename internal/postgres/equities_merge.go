package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// In the statements below, a is a response, s a value in it, and k the newest stored edition of that value. Each value is looked up by the
// primary key.

const mergeFilingsSQL = `
	insert into filings (cik, accession, edition, known_at, form, filed, accepted_at, period, items, url, fetch_id)
	select s.cik, s.accession, coalesce(k.edition + 1, 0), a.fetched_at,
		s.form, s.filed, s.accepted_at, s.period, coalesce(string_to_array(nullif(s.items, ''), ','), '{}'), s.url, a.fetch_id
	from stage_answers a
	join stage_filings s on s.load = a.load
	left join lateral (
		select f.edition, f.known_at, f.form, f.filed, f.accepted_at, f.period, array_to_string(f.items, ',') as items, f.url
		from filings f
		where f.cik = s.cik and f.accession = s.accession
		order by f.edition desc
		limit 1
	) k on true
	where a.grp = @grp and (k.edition is null or k.known_at < a.fetched_at
		and (k.form, k.filed, k.accepted_at, k.period, k.items, k.url) is distinct from (s.form, s.filed, s.accepted_at, s.period, s.items, s.url))`

const mergeFactsSQL = `
	insert into facts (cik, taxonomy, tag, unit, period_end, days, accession, edition, known_at, form, filed, value, fy, fp, fetch_id)
	select s.cik, s.taxonomy, s.tag, s.unit, s.period_end, s.days, s.accession, coalesce(k.edition + 1, 0), a.fetched_at,
		s.form, s.filed, s.value, s.fy, s.fp, a.fetch_id
	from stage_answers a
	join stage_facts s on s.load = a.load
	left join lateral (
		select f.edition, f.known_at, f.form, f.filed, f.value
		from facts f
		where f.cik = s.cik and f.tag = s.tag and f.period_end = s.period_end and f.days = s.days and f.accession = s.accession
			and f.unit = s.unit and f.taxonomy = s.taxonomy
		order by f.edition desc
		limit 1
	) k on true
	where a.grp = @grp and (k.edition is null or k.known_at < a.fetched_at and (k.form, k.filed, k.value) is distinct from (s.form, s.filed, s.value))`

const mergeBarsSQL = `
	insert into bars (cik, source, date, edition, known_at, open, high, low, close, volume, fetch_id)
	select s.cik, s.source, s.date, coalesce(k.edition + 1, 0), a.fetched_at,
		s.open::numeric, s.high::numeric, s.low::numeric, s.close::numeric, s.volume, a.fetch_id
	from stage_answers a
	join stage_bars s on s.load = a.load
	left join lateral (
		select b.edition, b.known_at, b.open, b.high, b.low, b.close, b.volume
		from bars b
		where b.cik = s.cik and b.source = s.source and b.date = s.date
		order by b.edition desc
		limit 1
	) k on true
	where a.grp = @grp and (k.edition is null or k.known_at < a.fetched_at
		and (k.open, k.high, k.low, k.close, k.volume) is distinct from (s.open::numeric, s.high::numeric, s.low::numeric, s.close::numeric, s.volume))`

const mergeActionsSQL = `
	insert into actions (cik, source, date, kind, edition, known_at, new_shares, old_shares, cash, successor, fetch_id)
	select s.cik, s.source, s.date, s.kind, coalesce(k.edition + 1, 0), a.fetched_at,
		s.new_shares, s.old_shares, s.cash::numeric, s.successor, a.fetch_id
	from stage_answers a
	join stage_actions s on s.load = a.load
	left join lateral (
		select k.edition, k.known_at, k.new_shares, k.old_shares, k.cash, k.successor, k.withdrawn
		from actions k
		where k.cik = s.cik and k.source = s.source and k.date = s.date and k.kind = s.kind
		order by k.edition desc
		limit 1
	) k on true
	where a.grp = @grp and (k.edition is null or k.known_at < a.fetched_at
		and (k.new_shares, k.old_shares, k.cash, k.successor, k.withdrawn)
			is distinct from (s.new_shares, s.old_shares, s.cash::numeric, s.successor, false))`

// Withdraws stored actions between the first and the last bar of a response that the response does not state.
const withdrawActionsSQL = `
	insert into actions (cik, source, date, kind, edition, known_at, new_shares, old_shares, cash, successor, withdrawn, fetch_id)
	select k.cik, k.source, k.date, k.kind, k.edition + 1, a.fetched_at, k.new_shares, k.old_shares, k.cash, k.successor, true, a.fetch_id
	from (
		select s.load, s.cik, s.source, min(s.date) as first, max(s.date) as last
		from stage_bars s
		group by s.load, s.cik, s.source
	) c
	join stage_answers a on a.load = c.load
	cross join lateral (
		select distinct on (k.date, k.kind) k.cik, k.source, k.date, k.kind, k.edition, k.known_at, k.new_shares, k.old_shares, k.cash, k.successor,
			k.withdrawn
		from actions k
		where k.cik = c.cik and k.source = c.source and k.date between c.first and c.last and k.kind in ('split', 'dividend')
		order by k.date, k.kind, k.edition desc
	) k
	where a.grp = @grp and not k.withdrawn and k.known_at < a.fetched_at and not exists (
		select from stage_actions s where s.load = c.load and s.cik = k.cik and s.source = k.source and s.date = k.date and s.kind = k.kind)`

// mergeStage adds the new and changed values of a group's staged responses, and returns the number of added rows.
func mergeStage(ctx context.Context, tx pgx.Tx, grp int) (added int64, err error) {
	for _, m := range []struct{ what, sql string }{
		{"filings", mergeFilingsSQL},
		{"facts", mergeFactsSQL},
		{"bars", mergeBarsSQL},
		{"actions", mergeActionsSQL},
		{"withdrawals", withdrawActionsSQL},
	} {
		tag, err := tx.Exec(ctx, m.sql, pgx.NamedArgs{"grp": grp})
		if err != nil {
			return 0, fmt.Errorf("add %s: %w", m.what, err)
		}
		added += tag.RowsAffected()
	}
	return added, nil
}
