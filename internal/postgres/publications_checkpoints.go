package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
)

// PortfolioBase is the state that a portfolio is continued from: the arguments of picks.Resume.
type PortfolioBase struct {
	Checkpoint picks.Checkpoint
	Past       []picks.Position
}

// lateStored is the longest delay between the time when data became known and the time when it was stored. Data from this stretch before
// the newest checkpoint is checked again.
const lateStored = 24 * time.Hour

const newestCheckpointSQL = `
	select c.date, c.known_until
	from portfolio_checkpoints c join portfolio_state s on s.date = c.date and s.as_of = c.known_until
	order by c.date desc
	limit 1`

// baseSQL reads the checkpoint and the positions of one moment. It returns no row if a newer portfolio was stored in the meantime.
const baseSQL = `
	select c.state, s.positions
	from portfolio_checkpoints c, portfolio_state s
	where c.date < @before and c.date <= @until and s.date = @date and s.as_of = @known_until
	order by c.date desc
	limit 1` // primary key

// PortfolioBase returns the newest checkpoint at or before a day that the portfolio can continue from, as known at an instant. It returns
// ErrNotFound if the portfolio must be computed from its first day. A checkpoint is usable if no data up to it was revised since, and if it
// was computed by the same rules.
func (db PublicationStore) PortfolioBase(ctx context.Context, rules picks.PortfolioRules, until, asOf time.Time) (base PortfolioBase, err error) {
	var date, known time.Time
	err = db.reads.QueryRow(ctx, newestCheckpointSQL).Scan(&date, &known)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && asOf.Before(known) {
		return base, fmt.Errorf("a checkpoint of the portfolio: %w", ErrNotFound)
	}
	if err != nil {
		return base, fmt.Errorf("read the portfolio's checkpoint: %w", err)
	}
	before, err := db.revisedFrom(ctx, date, known, asOf)
	if err != nil {
		return base, err
	}
	var state, positions []byte
	err = db.reads.QueryRow(ctx, baseSQL, pgx.NamedArgs{"before": before, "until": until, "date": date, "known_until": known}).Scan(&state, &positions)
	if errors.Is(err, pgx.ErrNoRows) {
		return base, fmt.Errorf("a checkpoint of the portfolio: %w", ErrNotFound)
	}
	if err != nil {
		return base, fmt.Errorf("read the portfolio's checkpoint: %w", err)
	}
	var past []Position
	if err := errors.Join(json.Unmarshal(state, &base.Checkpoint), json.Unmarshal(positions, &past)); err != nil {
		return base, fmt.Errorf("read the portfolio's checkpoint: %w", err)
	}
	if !base.Checkpoint.Usable(rules) {
		return base, fmt.Errorf("a checkpoint of the portfolio by the rules in force: %w", ErrNotFound)
	}
	for _, q := range past {
		p, err := q.position()
		if err != nil {
			return base, fmt.Errorf("read position %d of the portfolio: %w", q.Seq, err)
		}
		base.Past = append(base.Past, p)
	}
	return base, nil
}

// position converts a stored position. It returns an error if the return or the contribution is missing.
func (q Position) position() (p picks.Position, err error) {
	p = picks.Position{
		Seq: q.Seq, CIK: q.CIK, Holding: q.Holding, Ticker: q.Ticker, Name: q.Name, Sector: picks.Sector(q.Sector), Region: picks.Region(q.Region),
		Country: q.Country, Reason: q.Reason, WeightPct: q.WeightPct,
	}
	for _, n := range []struct {
		from *float64
		to   *float64
	}{{q.ReturnPct, &p.ReturnPct}, {q.ContributionPct, &p.ContributionPct}} {
		if n.from == nil {
			return p, errors.New("it has no return")
		}
		*n.to = *n.from
	}
	var err1, err2, err3 error
	p.EntryDate, err1 = time.Parse(time.DateOnly, q.EntryDate)
	p.PricedOn, err2 = time.Parse(time.DateOnly, q.PricedOn)
	if q.ExitDate != nil {
		p.ExitDate, err3 = time.Parse(time.DateOnly, *q.ExitDate)
	}
	return p, errors.Join(err1, err2, err3)
}

// A company may be in the portfolio if it is the benchmark, was picked, or is the successor of another company.
const inPortfolio = `(t.cik = @benchmark or exists (select from picks p where p.cik = t.cik) or exists (select from actions a where a.successor = t.cik))`

// Selects the first day whose data was revised between two instants.
const revisedSQL = `
	select min(day) from (
		select t.date from bars t where t.known_at > @since and t.known_at <= @as_of and t.date <= @date and ` + inPortfolio + `
		union all
		select t.date from actions t where t.known_at > @since and t.known_at <= @as_of and t.date <= @date and ` + inPortfolio + `
		union all
		select t.filed from filings t
		where t.known_at > @since and t.known_at <= @as_of and t.filed <= @date and (t.form like '25%' or t.form like '15%' or t.form like 'SC%' or '5.01' = any(t.items))
			and ` + inPortfolio + `
		union all
		select '-infinity' from companies t where t.known_at > @known and t.known_at <= @as_of and ` + inPortfolio + `
	) as r (day)` // indexes bars_known, actions_known, filings_known, companies_known, picks_of, actions_successor

// revisedFrom returns the first day up to date whose data was revised between two instants. It returns the day after date if no data was
// revised, and the zero time if the whole past changed.
func (db PublicationStore) revisedFrom(ctx context.Context, date, known, asOf time.Time) (time.Time, error) {
	dawn := time.Time{}
	args := pgx.NamedArgs{"benchmark": int64(equity.Benchmark), "since": known.Add(-lateStored), "known": known, "as_of": asOf, "date": date}
	var day *string
	if err := db.reads.QueryRow(ctx, `select d::text from (`+revisedSQL+`) as r (d)`, args).Scan(&day); err != nil {
		return dawn, fmt.Errorf("look for revisions: %w", err)
	}
	first := date.AddDate(0, 0, 1)
	if day != nil {
		var err error
		if first, err = time.Parse(time.DateOnly, *day); err != nil {
			return dawn, nil // '-infinity'
		}
	}
	return first, nil
}

// saveCheckpoints replaces the checkpoints after the session at which the portfolio was resumed. The caller holds the portfolio's lock.
func saveCheckpoints(ctx context.Context, tx pgx.Tx, p picks.Portfolio, asOf time.Time) error {
	var newer bool
	if err := tx.QueryRow(ctx, `select exists (select from portfolio_checkpoints where known_until > @as_of)`, pgx.NamedArgs{"as_of": asOf}).Scan(&newer); err != nil || newer {
		return err
	}
	if _, err := tx.Exec(ctx, `
		with gone as (select date from portfolio_checkpoints where date > @resumed_at order by date for update)
		delete from portfolio_checkpoints c using gone g where c.date = g.date`, pgx.NamedArgs{"resumed_at": p.ResumedAt}); err != nil || len(p.Checkpoints) == 0 {
		return err
	}
	var b pgx.Batch
	for _, c := range p.Checkpoints {
		state, err := json.Marshal(c)
		if err != nil {
			return err
		}
		b.Queue(`
			insert into portfolio_checkpoints (date, known_until, state) values (@date, @known_until, @state)
			on conflict (date) do update set known_until = excluded.known_until, state = excluded.state`,
			pgx.NamedArgs{"date": c.Date, "known_until": asOf, "state": state})
	}
	if _, err := runBatch(ctx, tx, &b); err != nil {
		return err
	}
	// Of the checkpoints before the newest ones, keep the last of each month.
	rows, err := tx.Query(ctx, `
		select date from portfolio_checkpoints
		where date < @oldest and date > @oldest - 62
		order by date`, pgx.NamedArgs{"oldest": calendar.Add(p.Checkpoints[len(p.Checkpoints)-1].Date, 1-picks.NewestCheckpoints)})
	if err != nil {
		return err
	}
	old, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	if err != nil {
		return err
	}
	old = slices.DeleteFunc(old, func(day time.Time) bool { return calendar.Next(day).Month() != day.Month() })
	_, err = tx.Exec(ctx, `
		with gone as (select date from portfolio_checkpoints where date = any(@dates) order by date for update)
		delete from portfolio_checkpoints c using gone g where c.date = g.date`, pgx.NamedArgs{"dates": old})
	return err
}
