package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// UniverseDay is the return, at equal weight, of the companies that the method scored on the day before.
type UniverseDay struct {
	Day time.Time `db:"day"`
	// Companies are the CIKs of the companies scored on the day.
	Companies []int64 `db:"companies"`
	// Measured counts the companies of the row before with a close on its day. ReturnPct is their mean total return since; nil if there is no row
	// before.
	Measured  int      `db:"measured"`
	ReturnPct *float64 `db:"return_pct"`
}

const universeDaysSQL = `
	select day, companies, measured, return_pct
	from universe_days
	where day >= @from
	order by day` // primary key

// UniverseDays returns the days from a date on, oldest first.
func (db PublicationStore) UniverseDays(ctx context.Context, from time.Time) ([]UniverseDay, error) {
	rows, err := db.reads.Query(ctx, universeDaysSQL, pgx.NamedArgs{"from": from})
	list, err := collect[UniverseDay](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the days of the universe: %w", asUnavailable(err))
	}
	return list, nil
}

const lastUniverseDaySQL = `
	select day, companies, measured, return_pct
	from universe_days
	where day < @before
	order by day desc
	limit 1` // primary key

// LastUniverseDay returns the newest day before a date, and whether there is one.
func (db PublicationStore) LastUniverseDay(ctx context.Context, before time.Time) (UniverseDay, bool, error) {
	rows, err := db.reads.Query(ctx, lastUniverseDaySQL, pgx.NamedArgs{"before": before})
	list, err := collect[UniverseDay](rows, err)
	if err != nil {
		return UniverseDay{}, false, fmt.Errorf("read the last day of the universe: %w", asUnavailable(err))
	}
	if len(list) == 0 {
		return UniverseDay{}, false, nil
	}
	return list[0], true, nil
}

// SaveUniverseDay stores a day that was computed as known at an instant. A stored day stays as it is. It stores only while the attempt in f is
// current.
func (db PublicationStore) SaveUniverseDay(ctx context.Context, f task.Fence, u UniverseDay, asOf time.Time) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			insert into universe_days (day, companies, measured, return_pct, as_of)
			values (@day, @companies, @measured, @return_pct, @as_of)
			on conflict (day) do nothing`, pgx.NamedArgs{
			"day": u.Day, "companies": u.Companies, "measured": u.Measured, "return_pct": u.ReturnPct, "as_of": asOf,
		})
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, tag.RowsAffected())
	})
	if err != nil {
		return fmt.Errorf("store the universe of %s: %w", u.Day.Format(time.DateOnly), err)
	}
	return nil
}
