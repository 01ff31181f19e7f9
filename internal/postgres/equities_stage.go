package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
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

// emptyStage returns a statement that empties temporary tables. A truncate makes new files for the table, its long values and its indexes, so
// small tables are deleted from. Nothing vacuums temporary tables, so grown tables are truncated.
func emptyStage(tables ...string) string {
	return `
	do $$ declare t text; begin
		foreach t in array '{` + strings.Join(tables, ",") + `}'::text[] loop
			if pg_relation_size(t::regclass) > 65536 then execute 'truncate ' || t;
			elsif pg_relation_size(t::regclass) > 0 then execute 'delete from ' || t;
			end if;
		end loop;
	end $$`
}

// stageEquities copies loads into the connection's temporary tables.
func stageEquities(ctx context.Context, c *pgx.Conn, loads []EquityLoad, groups []equityBatch) error {
	if _, err := c.Exec(ctx, stageEquitiesSQL+emptyStage("stage_answers", "stage_filings", "stage_facts", "stage_bars", "stage_actions")); err != nil {
		return fmt.Errorf("stage: %w", err)
	}
	var answers, filings, facts, bars, actions binaryCopy
	for _, r := range []*binaryCopy{&answers, &filings, &facts, &bars, &actions} {
		r.reset()
	}
	for g, s := range groups {
		for i := s.from; i < s.to; i++ {
			l := loads[i]
			answers.row(5)
			answers.int4(int32(i))
			answers.int4(int32(g))
			answers.text(l.Fetch.Source)
			answers.int8(l.Fetch.ID)
			answers.time(l.Fetch.FetchedAt)
			for _, f := range l.Filings {
				filings.filing(i, f)
			}
			for _, f := range l.read() {
				facts.fact(i, f)
			}
			for _, b := range l.Bars {
				bars.bar(i, b)
			}
			for _, a := range l.Actions {
				actions.action(i, a)
			}
		}
	}
	for _, t := range []struct {
		rows           *binaryCopy
		table, columns string
	}{
		{&answers, "stage_answers", "load, grp, source, fetch_id, fetched_at"},
		{&filings, "stage_filings", "load, cik, accession, form, filed, accepted_at, period, items, url"},
		{&facts, "stage_facts", "load, cik, taxonomy, tag, unit, period_end, days, accession, form, filed, value, fy, fp"},
		{&bars, "stage_bars", "load, cik, source, date, open, high, low, close, volume"},
		{&actions, "stage_actions", "load, cik, source, date, kind, new_shares, old_shares, cash, successor"},
	} {
		if _, err := t.rows.send(ctx, c, t.table, t.columns); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
	}
	return nil
}

func (c *binaryCopy) filing(load int, f equity.Filing) {
	c.row(9)
	c.int4(int32(load))
	c.int8(int64(f.CIK))
	c.text(f.Accession)
	c.text(f.Form)
	c.date(f.Filed)
	if f.AcceptedAt.IsZero() {
		c.null()
	} else {
		c.time(f.AcceptedAt)
	}
	c.dateOrNull(f.Period)
	c.text(strings.Join(f.Items, ","))
	c.text(f.URL)
}

func (c *binaryCopy) fact(load int, f equity.Fact) {
	c.row(13)
	c.int4(int32(load))
	c.int8(int64(f.CIK))
	c.text(f.Taxonomy)
	c.text(f.Tag)
	c.text(f.Unit)
	c.date(f.End)
	c.int4(int32(f.Days()))
	c.text(f.Accession)
	c.text(f.Form)
	c.date(f.Filed)
	c.float8(f.Value)
	if f.FY == 0 {
		c.null()
	} else {
		c.int4(int32(f.FY))
	}
	c.textOrNull(f.FP)
}

func (c *binaryCopy) bar(load int, b equity.Bar) {
	c.row(9)
	c.int4(int32(load))
	c.int8(int64(b.CIK))
	c.text(b.Source)
	c.date(b.Date)
	c.textOrNull(string(b.Open))
	c.textOrNull(string(b.High))
	c.textOrNull(string(b.Low))
	c.text(string(b.Close))
	c.int8(b.Volume)
}

func (c *binaryCopy) action(load int, a equity.Action) {
	c.row(9)
	c.int4(int32(load))
	c.int8(int64(a.CIK))
	c.text(a.Source)
	c.date(a.Date)
	c.text(string(a.Kind))
	if a.New == 0 {
		c.null()
		c.null()
	} else {
		c.float8(a.New)
		c.float8(a.Old)
	}
	c.textOrNull(string(a.Cash))
	if a.Successor == 0 {
		c.null()
	} else {
		c.int8(int64(a.Successor))
	}
}

func (c *binaryCopy) textOrNull(s string) {
	if s == "" {
		c.null()
		return
	}
	c.text(s)
}

// date writes a date, which must be midnight in UTC.
func (c *binaryCopy) date(t time.Time) { c.int4(int32(t.Unix()/86400 - epoch2000/86_400_000_000)) }

func (c *binaryCopy) dateOrNull(t time.Time) {
	if t.IsZero() {
		c.null()
		return
	}
	c.date(t)
}
