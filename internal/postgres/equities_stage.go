package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

const stageEquitiesSQL = `
	create temporary table if not exists stage_answers (
		load int not null, grp int not null, source text not null, fetch_id bigint not null, fetched_at timestamptz not null);
	create temporary table if not exists stage_filings (
		load int not null, cik bigint not null, accession text not null, form text not null, filed date not null,
		accepted_at timestamptz, period date, items text not null, url text not null);
	create temporary table if not exists stage_facts (
		load int not null, cik bigint not null, taxonomy text not null, tag text not null, unit text not null, period_end date not null,
		days int not null, accession text not null, form text not null, filed date not null,
		value double precision not null, fy int, fp text);
	create temporary table if not exists stage_bars (
		load int not null, cik bigint not null, source text not null, date date not null,
		open text, high text, low text, close text not null, volume bigint not null);
	create temporary table if not exists stage_actions (
		load int not null, cik bigint not null, source text not null, date date not null, kind text not null,
		new_shares double precision, old_shares double precision, cash text, successor bigint);`

// stageEquities copies loads into the connection's temporary tables.
func stageEquities(ctx context.Context, c *pgx.Conn, loads []EquityLoad, groups []loadRange) error {
	if _, err := c.Exec(ctx, stageEquitiesSQL+emptyStage("stage_answers", "stage_filings", "stage_facts", "stage_bars", "stage_actions")); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	return copyLoads(ctx, c, loads, groups, []stagedTable[EquityLoad]{
		{"stage_answers", "load, grp, source, fetch_id, fetched_at", func(g, i int, l EquityLoad) (int, func(int) []any) {
			return 1, func(int) []any { return []any{i, g, l.Fetch.Source, l.Fetch.ID, l.Fetch.FetchedAt} }
		}},
		{"stage_filings", "load, cik, accession, form, filed, accepted_at, period, items, url", func(_, i int, l EquityLoad) (int, func(int) []any) {
			return len(l.Filings), func(n int) []any {
				f := &l.Filings[n]
				return []any{i, int64(f.CIK), f.Accession, f.Form, f.Filed, timeOrNull(f.AcceptedAt), timeOrNull(f.Period), strings.Join(f.Items, ","), f.URL}
			}
		}},
		{"stage_facts", "load, cik, taxonomy, tag, unit, period_end, days, accession, form, filed, value, fy, fp", func(_, i int, l EquityLoad) (int, func(int) []any) {
			facts := l.read()
			return len(facts), func(n int) []any {
				f := &facts[n]
				return []any{i, int64(f.CIK), f.Taxonomy, f.Tag, f.Unit, f.End, f.Days(), f.Accession, f.Form, f.Filed, f.Value, orNull(f.FY), orNull(f.FP)}
			}
		}},
		{"stage_bars", "load, cik, source, date, open, high, low, close, volume", func(_, i int, l EquityLoad) (int, func(int) []any) {
			return len(l.Bars), func(n int) []any {
				b := &l.Bars[n]
				return []any{i, int64(b.CIK), b.Source, b.Date, text(b.Open), text(b.High), text(b.Low), string(b.Close), b.Volume}
			}
		}},
		{"stage_actions", "load, cik, source, date, kind, new_shares, old_shares, cash, successor", func(_, i int, l EquityLoad) (int, func(int) []any) {
			return len(l.Actions), func(n int) []any {
				a := &l.Actions[n]
				return []any{i, int64(a.CIK), a.Source, a.Date, string(a.Kind), orNull(a.New), orNull(a.Old), text(a.Cash), orNull(int64(a.Successor))}
			}
		}},
	})
}
