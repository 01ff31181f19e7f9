package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
)

const recordedForecastsSQL = `
	select at, record from (
		select issued_at as at, 1 as kind, seq, jsonb_build_object('forecast', to_jsonb(f) - 'run_id' - 'restored') as record from forecasts f
		union all
		select graded_at, 2, seq, jsonb_build_object('grade', to_jsonb(g) - 'run_id' - 'restored') from forecast_grades g
	) all_records
	order by at, kind, seq` // whole tables

// recordedForecasts yields the forecasts and the grades, as steps, in the order in which they were recorded.
func (db ForecastStore) recordedForecasts(ctx context.Context, yield func(series.Step, error) bool) (bool, error) {
	rows, err := db.reads.Query(ctx, recordedForecastsSQL)
	if err != nil {
		return false, fmt.Errorf("read the recorded forecasts: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (s series.Step, err error) {
		return s, r.Scan(&s.At, &s.Record)
	})
	if err != nil {
		return false, fmt.Errorf("read the recorded forecasts: %w", err)
	}
	for _, s := range list {
		if !yield(s, nil) {
			return false, nil
		}
	}
	return true, nil
}

// broughtRecord names a forecast or a grade in an archive.
type broughtRecord struct {
	Forecast, Grade *struct {
		ID   string `json:"id"`
		Hash string `json:"hash"`
	}
}

// bringRecord keeps a forecast or a grade of an imported archive until a rebuild records it. It reports whether it was not here before. The
// error is ErrRefused if this database has recorded another one of that name.
func bringRecord(ctx context.Context, tx pgx.Tx, s series.Step) (added int64, err error) {
	var r broughtRecord
	if err := json.Unmarshal(s.Record, &r); err != nil || (r.Forecast == nil) == (r.Grade == nil) {
		return 0, fmt.Errorf("a record of the archive is neither a forecast nor a grade: %w", errors.Join(ErrRefused, err))
	}
	kind, table, named := "forecast", "forecasts", r.Forecast
	if r.Grade != nil {
		kind, table, named = "grade", "forecast_grades", r.Grade
	}
	var hash string
	err = tx.QueryRow(ctx, `select hash from `+table+` where id = @id`, pgx.NamedArgs{"id": named.ID}).Scan(&hash) // unique (id)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
	case err != nil:
		return 0, fmt.Errorf("look up the %s of %s: %w", kind, named.ID, err)
	case hash != named.Hash:
		return 0, fmt.Errorf("the archive has another %s of %s than this database: %w", kind, named.ID, ErrRefused)
	default:
		return 0, nil
	}
	tag, err := tx.Exec(ctx, `insert into forecasts_brought (key, at, record) values (@key, @at, @record::jsonb) on conflict do nothing`,
		pgx.NamedArgs{"key": kind + ":" + named.Hash, "at": s.At, "record": string(s.Record)})
	if err != nil {
		return 0, fmt.Errorf("keep the %s of %s: %w", kind, named.ID, err)
	}
	return tag.RowsAffected(), nil
}

const (
	nextBroughtSQL = `select key, record from forecasts_brought where at <= @until order by at, n limit 1`
	restoreSQL     = `
		with f as (
			insert into forecasts
			select r.* from jsonb_populate_record(null::forecasts, @record::jsonb -> 'forecast' || '{"restored": true}') r
			where @record::jsonb ? 'forecast'
		)
		insert into forecast_grades
		select r.* from jsonb_populate_record(null::forecast_grades, @record::jsonb -> 'grade' || '{"restored": true}') r
		where @record::jsonb ? 'grade'`
)

// RestoreForecasts records what an import brought up to an instant, in the original order, and returns how much. The database checks each link,
// hash, print, date and score, and refuses what does not fit: the error is then ErrRefused, and what follows stays to be recorded. It can be
// run again.
func (db ForecastStore) RestoreForecasts(ctx context.Context, until time.Time) (n int64, err error) {
	for {
		var done bool
		err := db.tx(ctx, func(tx pgx.Tx) error {
			done = false
			if _, err := tx.Exec(ctx, forecastLockSQL); err != nil {
				return err
			}
			var key, record string
			err := tx.QueryRow(ctx, nextBroughtSQL, pgx.NamedArgs{"until": until}).Scan(&key, &record)
			if errors.Is(err, pgx.ErrNoRows) {
				done = true
				return nil
			}
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, restoreSQL, pgx.NamedArgs{"record": record}); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, `delete from forecasts_brought where key = @key`, pgx.NamedArgs{"key": key})
			return err
		})
		if err != nil {
			return n, fmt.Errorf("record the forecasts of an archive: %w", refused(err))
		}
		if done {
			return n, nil
		}
		n++
	}
}
