package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/task"
)

// RecordGap records that a trading day has no pick and never will. If the gap is already recorded, it keeps its reason and added is false.
// It returns ErrRefused if the day has a pick, is in the future, or is not a trading day.
func (db RecordStore) RecordGap(ctx context.Context, f task.Fence, g chain.Gap) (added bool, err error) {
	if err := checkGap(g); err != nil {
		return false, fmt.Errorf("record a gap: %w", err)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `insert into gaps (date, reason) values (@date, @reason) on conflict (date) do nothing`,
			pgx.NamedArgs{"date": g.Date, "reason": g.Reason})
		if err != nil {
			return err
		}
		if added = tag.RowsAffected() == 1; added {
			if err := witness(ctx, tx, nil); err != nil {
				return err
			}
		}
		return checkFence(ctx, tx, f, tag.RowsAffected())
	})
	if err != nil {
		return false, fmt.Errorf("record the gap of %s: %w", g.Date, refused(err))
	}
	return added, nil
}

func checkGap(g chain.Gap) error {
	if err := g.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	day, err := time.Parse(time.DateOnly, g.Date)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if !calendar.IsTradingDay(day) {
		return fmt.Errorf("%w: %s is not a trading day, so it needs no pick", ErrRefused, g.Date)
	}
	return nil
}

// Gaps returns the recorded gaps by date.
func (db RecordStore) Gaps(ctx context.Context) ([]chain.Gap, error) { return db.GapsFrom(ctx, "") }

// GapsFrom is Gaps without the gaps before a date, YYYY-MM-DD.
func (db RecordStore) GapsFrom(ctx context.Context, from string) ([]chain.Gap, error) {
	rows, err := db.reads.Query(ctx, `select date, reason from gaps where date >= @from order by date`, pgx.NamedArgs{"from": from}) // primary key
	list, err := collect[chain.Gap](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the gaps: %w", asUnavailable(err))
	}
	return list, nil
}

// Correct records that an announced pick was wrong; by is the operator's name. The same correction again adds nothing. It returns
// ErrNotFound if no announced pick has this seq, and ErrRefused if the correction's date is not today by the world's clock.
func (db RecordStore) Correct(ctx context.Context, c chain.Correction, by string) error {
	if err := c.Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	if by == "" {
		return errors.New("a correction names who makes it")
	}
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			insert into corrections (seq, what, evidence, date, by) values (@seq, @what, @evidence, @date, @by) on conflict do nothing`,
			pgx.NamedArgs{"seq": c.Seq, "what": c.What, "evidence": c.Evidence, "date": c.Date, "by": by})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return witness(ctx, tx, nil)
	})
	if code(err) == "23503" {
		return fmt.Errorf("correct pick %d: an announced pick of that number: %w", c.Seq, ErrNotFound)
	}
	if err != nil {
		return fmt.Errorf("correct pick %d: %w", c.Seq, refused(err))
	}
	return nil
}

// Corrections returns the corrections in the order in which they were recorded.
func (db RecordStore) Corrections(ctx context.Context) ([]chain.Correction, error) {
	rows, err := db.reads.Query(ctx, `select seq, what, evidence, date from corrections order by id`)
	list, err := collect[chain.Correction](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the corrections: %w", asUnavailable(err))
	}
	return list, nil
}
