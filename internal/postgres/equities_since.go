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

const barsSinceSQL = `
	select b.cik, b.date, b.close::text, b.volume, b.source
	from bars b
	where b.known_at > @since and b.known_at <= @as_of and b.date between @from and @to and b.cik = any(@ciks)
	order by b.cik, b.date, b.edition` // index bars_known

// An action can be known before its date, so actions with a date after since count, too.
const actionsSinceSQL = `
	select distinct a.cik
	from actions a
	where a.cik = any(@ciks) and a.date between @from and @to and a.known_at <= @as_of and (a.known_at > @since or a.date > @since::date)`

// HistoriesSince extends earlier prices to a later day and instant. have is the result of HistoriesFrom with the same from, as known at
// since. The result equals a new call of HistoriesFrom for the same companies, but only reads the data that became known since. If a
// company has more than new or restated bars, it is read completely. HistoriesSince does not modify have.
func (db EquityStore) HistoriesSince(ctx context.Context, have picks.Prices, from, to, since, asOf time.Time) (picks.Prices, error) {
	ids := slices.Sorted(maps.Keys(have))
	args := pgx.NamedArgs{"ciks": numbers(ids), "from": orFirstDay(from), "to": to, "since": since.Add(-lateStored), "as_of": asOf}
	rows, err := db.reads.Query(ctx, actionsSinceSQL, args)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	acted, err := pgx.CollectRows(rows, pgx.RowTo[equity.CIK])
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	again := map[equity.CIK]bool{}
	for _, cik := range acted {
		again[cik] = true
	}
	for cik, h := range have {
		if slices.ContainsFunc(h.Actions, func(a equity.Action) bool { return a.Kind == equity.Unexplained || picks.MayBeSpinOff(a) }) {
			again[cik] = true // a filing since may explain it
		}
	}
	all := maps.Clone(have)
	if rows, err = db.reads.Query(ctx, barsSinceSQL, args); err != nil {
		return nil, fmt.Errorf("read bars: %w", err)
	}
	var b equity.Bar
	if _, err := pgx.ForEachRow(rows, []any{&b.CIK, &b.Date, &b.Close, &b.Volume, &b.Source}, func() error {
		h := all[b.CIK]
		last := len(h.Bars) - 1
		switch {
		case again[b.CIK]:
		case last < 0 || h.Bars[last].Source != b.Source: // another publisher may be the newest now
			again[b.CIK] = true
		case b.Date.After(h.Bars[last].Date):
			h.Bars = append(h.Bars[:last+1:last+1], b)
		default:
			i, found := slices.BinarySearchFunc(h.Bars, b.Date, func(b equity.Bar, t time.Time) int { return b.Date.Compare(t) })
			switch {
			case !found:
				h.Bars = slices.Insert(slices.Clone(h.Bars), i, b)
			case h.Bars[i].Source != b.Source: // another publisher has stated this day before
				again[b.CIK] = true
			case h.Bars[i] != b:
				h.Bars = slices.Clone(h.Bars)
				h.Bars[i] = b
			}
		}
		all[b.CIK] = h
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read bars: %w", err)
	}
	if len(again) == 0 {
		return all, nil
	}
	whole, err := db.HistoriesFrom(ctx, slices.Sorted(maps.Keys(again)), from, to, asOf)
	maps.Copy(all, whole)
	return all, err
}
