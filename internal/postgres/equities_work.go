package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/internal/task"
)

// AskedEquities returns when a source (by its id) was last asked about each company. Companies that it was never asked about are absent.
func (db EquityStore) AskedEquities(ctx context.Context, source string) (map[equity.CIK]time.Time, error) {
	rows, err := db.reads.Query(ctx, `select cik, confirmed_at from equity_watermarks where source = @source`, pgx.NamedArgs{"source": source}) // primary key
	if err != nil {
		return nil, fmt.Errorf("read what %s was asked: %w", source, err)
	}
	all := map[equity.CIK]time.Time{}
	var id equity.CIK
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&id, &at}, func() error { all[id] = at; return nil }); err != nil {
		return nil, fmt.Errorf("read what %s was asked: %w", source, err)
	}
	return all, nil
}

const awaitedFactsSQL = `
	select f.cik, max(f.filed)
	from filings f
	where f.filed >= @since and f.form = any(@forms)
		and not exists (select from facts x where x.cik = f.cik and x.accession = f.accession)
	group by f.cik` // primary key of facts

// AwaitedFacts lists companies that filed a report of one of the forms since a day, but whose figures have not arrived. The value is the
// date of the company's newest such report.
func (db EquityStore) AwaitedFacts(ctx context.Context, since time.Time, forms []string) (map[equity.CIK]time.Time, error) {
	rows, err := db.reads.Query(ctx, awaitedFactsSQL, pgx.NamedArgs{"since": since, "forms": forms})
	if err != nil {
		return nil, fmt.Errorf("look for reports without figures: %w", err)
	}
	all := map[equity.CIK]time.Time{}
	var id equity.CIK
	var filed time.Time
	if _, err := pgx.ForEachRow(rows, []any{&id, &filed}, func() error { all[id] = filed; return nil }); err != nil {
		return nil, fmt.Errorf("look for reports without figures: %w", err)
	}
	return all, nil
}

// LastSucceeded returns the newest slot before an instant with a successful run of a job and subject, and whether one exists.
func (db EquityStore) LastSucceeded(ctx context.Context, job, subject string, before time.Time) (slot time.Time, ok bool, err error) {
	err = db.reads.QueryRow(ctx, `
		select slot from runs
		where job = @job and subject = @subject and slot < @before and status = 'succeeded'
		order by slot desc
		limit 1`, // unique (job, subject, slot)
		pgx.NamedArgs{"job": job, "subject": subject, "before": before}).Scan(&slot)
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, fmt.Errorf("look up the last run of %s %s: %w", job, subject, err)
	}
	return slot, true, nil
}

// MakeDue makes a job due for an instant because another job stored data for it. It does so only while the attempt in f is current. If the
// run for that instant has ended or is running, it starts again.
func (db EquityStore) MakeDue(ctx context.Context, f task.Fence, job, subject string, at time.Time) error {
	p := task.Policies[job]
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, dependentsSQL, pgx.NamedArgs{
			"job": job, "subjects": []string{subject}, "at": at, "queue": p.Queue, "max_attempts": p.MaxAttempts,
		})
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return fmt.Errorf("make %s %s due: %w", job, subject, err)
	}
	return nil
}
