package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/series"
	"tidemark/internal/task"
	"tidemark/signals/forecast"
)

// ForecastStore keeps the forecasts of signals and their grades.
//
// It reads forecast_grades, forecasts, forecasts_brought, log_entries, log_heads, observations. It writes forecast_grades, forecasts, forecasts_brought.
type ForecastStore struct{ *connections }

// Forecast is a recorded forecast with its grade. The quantiles are 23 decimals joined with ";", which is the form that is hashed.
type Forecast struct {
	Seq                        int64
	ID, Signal, Figure, Period string
	// Series and ObservedAt identify the value that is forecast (the print). ScheduledAt is its earliest time of publication.
	Series                    series.ID
	ObservedAt, ScheduledAt   time.Time
	IssuedAt                  time.Time
	Quantiles, Naive1, Naive2 string
	Label                     string
	ModelVersion, InputsHash  string
	PreviousHash, Hash        string
	Synthetic                 bool
	// LogIndex is the number of its leaf in the transparency log. It is nil until a signed checkpoint contains the leaf.
	LogIndex *int64
	// Grade is nil until the print arrives.
	Grade *ForecastGrade
}

// ForecastGrade is the grade of a forecast. Outcome and the scores are empty if the print never came.
type ForecastGrade struct {
	Outcome               string
	PublishedAt, GradedAt time.Time
	Score, Score1, Score2 string
	Flags                 []string
	PreviousHash, Hash    string
	LogIndex              *int64
}

// Release returns the release that is forecast.
func (f Forecast) Release() forecast.Release {
	return forecast.Release{Period: f.Period, ObservedAt: f.ObservedAt, ScheduledAt: f.ScheduledAt, Series: f.Series}
}

// Record returns the recorded form of the forecast.
func (f Forecast) Record() forecast.Record {
	return forecast.Record{
		ID: f.ID, Signal: f.Signal, Figure: f.Figure, Period: f.Period, IssuedAt: f.IssuedAt,
		Quantiles: Decimals(f.Quantiles), Naive1: Decimals(f.Naive1), Naive2: Decimals(f.Naive2),
		ModelVersion: f.ModelVersion, InputsHash: f.InputsHash, PreviousHash: f.PreviousHash,
	}
}

// GradeRecord returns the recorded form of the grade. f.Grade must not be nil.
func (f Forecast) GradeRecord() forecast.Grade {
	g := f.Grade
	return forecast.Grade{
		ID: f.ID, Outcome: forecast.Decimal(g.Outcome), PublishedAt: g.PublishedAt, Score: forecast.Decimal(g.Score),
		Score1: forecast.Decimal(g.Score1), Score2: forecast.Decimal(g.Score2), Flags: g.Flags, PreviousHash: g.PreviousHash,
	}
}

// Graded returns the forecast in the form that scorecards use. It reports false if there is no outcome yet.
func (f Forecast) Graded() (forecast.Graded, bool) {
	if f.Grade == nil || f.Grade.Outcome == "" {
		return forecast.Graded{}, false
	}
	number := func(text string) float64 { return forecast.Decimal(text).Float() }
	return forecast.Graded{
		Period: f.ObservedAt, Quantiles: quantilesOf(f.Quantiles), Naive1: quantilesOf(f.Naive1), Naive2: quantilesOf(f.Naive2),
		Outcome: number(f.Grade.Outcome), Score: number(f.Grade.Score), Score1: number(f.Grade.Score1), Score2: number(f.Grade.Score2),
	}, true
}

// Decimals splits recorded quantiles.
func Decimals(joined string) []forecast.Decimal {
	var out []forecast.Decimal
	for text := range strings.SplitSeq(joined, ";") {
		out = append(out, forecast.Decimal(text))
	}
	return out
}

func quantilesOf(joined string) (q forecast.Quantiles) {
	for i, d := range Decimals(joined) {
		if i < len(q) {
			q[i] = d.Float()
		}
	}
	return q
}

const (
	forecastLockSQL = `select forecast_lock()`
	forecastHeadSQL = `select seq, hash from forecasts order by seq desc limit 1`       // primary key
	gradeHeadSQL    = `select seq, hash from forecast_grades order by seq desc limit 1` // primary key
)

// RecordForecast appends a forecast to the chain and reports whether it did: a recorded forecast with the same id stays. The database
// rejects a forecast whose print is due or known; the error is then ErrRefused. It stores all or nothing, and only while the attempt in
// fence is current.
func (db ForecastStore) RecordForecast(ctx context.Context, fence task.Fence, r forecast.Record, of forecast.Release, label string, synthetic bool) (added bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		added = false
		if _, err := tx.Exec(ctx, forecastLockSQL); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, `select exists (select from forecasts where id = @id)`, pgx.NamedArgs{"id": r.ID}).Scan(&there); err != nil || there {
			return err
		}
		seq, previous, err := chainHead(ctx, tx, forecastHeadSQL)
		if err != nil {
			return err
		}
		r.PreviousHash = previous
		_, err = tx.Exec(ctx, `
			insert into forecasts (seq, id, signal, figure, period, series, observed_at, scheduled_at, issued_at, quantiles, naive1, naive2, label,
				model_version, inputs_hash, previous_hash, hash, synthetic, run_id)
			values (@seq, @id, @signal, @figure, @period, @series, @observed_at, @scheduled_at, @issued_at, @quantiles, @naive1, @naive2, @label,
				@model_version, @inputs_hash, @previous_hash, @hash, @synthetic, nullif(@run_id, 0))`,
			pgx.NamedArgs{
				"seq": seq + 1, "id": r.ID, "signal": r.Signal, "figure": r.Figure, "period": r.Period, "series": of.Series,
				"observed_at": of.ObservedAt, "scheduled_at": of.ScheduledAt, "issued_at": r.IssuedAt,
				"quantiles": forecast.Joined(r.Quantiles), "naive1": forecast.Joined(r.Naive1), "naive2": forecast.Joined(r.Naive2), "label": label,
				"model_version": r.ModelVersion, "inputs_hash": r.InputsHash, "previous_hash": r.PreviousHash, "hash": r.Hash(),
				"synthetic": synthetic, "run_id": fence.RunID,
			})
		if err != nil {
			return err
		}
		added = true
		return checkFence(ctx, tx, fence, 1)
	})
	if err != nil {
		return false, fmt.Errorf("record the forecast %s: %w", r.ID, refused(err))
	}
	return added, nil
}

// FigurePrinted reports whether a release of a figure was published.
func (db ForecastStore) FigurePrinted(ctx context.Context, t forecast.Target, r forecast.Release) (printed bool, err error) {
	err = db.reads.QueryRow(ctx, `
		select exists (select from observations where series = any(@series) and observed_at = @at and value is not null)`,
		pgx.NamedArgs{"series": t.PrintedIn(r), "at": r.ObservedAt}).Scan(&printed)
	if err != nil {
		return false, fmt.Errorf("look for the print of a forecast: %w", asUnavailable(err))
	}
	return printed, nil
}

// RecordGrade appends a grade to its chain and reports whether it did: a forecast is graded once. Errors are as in RecordForecast.
func (db ForecastStore) RecordGrade(ctx context.Context, fence task.Fence, g forecast.Grade) (added bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		added = false
		if _, err := tx.Exec(ctx, forecastLockSQL); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, `select exists (select from forecast_grades where id = @id)`, pgx.NamedArgs{"id": g.ID}).Scan(&there); err != nil || there {
			return err
		}
		seq, previous, err := chainHead(ctx, tx, gradeHeadSQL)
		if err != nil {
			return err
		}
		g.PreviousHash = previous
		_, err = tx.Exec(ctx, `
			insert into forecast_grades (seq, id, outcome, published_at, score, score1, score2, flags, previous_hash, hash, run_id)
			values (@seq, @id, @outcome, @published_at, @score, @score1, @score2, @flags, @previous_hash, @hash, nullif(@run_id, 0))`,
			pgx.NamedArgs{
				"seq": seq + 1, "id": g.ID, "outcome": g.Outcome, "published_at": g.PublishedAt, "score": g.Score, "score1": g.Score1,
				"score2": g.Score2, "flags": strings.Join(g.Flags, ","), "previous_hash": g.PreviousHash, "hash": g.Hash(), "run_id": fence.RunID,
			})
		if err != nil {
			return err
		}
		added = true
		return checkFence(ctx, tx, fence, 1)
	})
	if err != nil {
		return false, fmt.Errorf("record the grade of %s: %w", g.ID, refused(err))
	}
	return added, nil
}

// chainHead returns the number and hash of the newest row of a chain, or 0 and forecast.NoRecord if the chain is empty.
func chainHead(ctx context.Context, tx pgx.Tx, sql string) (seq int64, hash string, err error) {
	err = tx.QueryRow(ctx, sql).Scan(&seq, &hash)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, forecast.NoRecord, nil
	}
	return seq, hash, err
}

const forecastsSQL = `
	select f.seq, f.id, f.signal, f.figure, f.period, f.series, f.observed_at, f.scheduled_at, f.issued_at, f.quantiles, f.naive1, f.naive2,
		f.label, f.model_version, f.inputs_hash, f.previous_hash, f.hash, f.synthetic,
		g.outcome, g.published_at, g.graded_at, g.score, g.score1, g.score2, g.flags, g.previous_hash as grade_previous, g.hash as grade_hash,
		le.idx, lg.idx as grade_idx
	from forecasts f left join forecast_grades g on g.id = f.id and g.graded_at <= @as_of
	left join log_heads h on h.log = 'record'
	left join log_entries le on le.log = h.log and le.key = 'forecast:' || f.seq and le.idx < h.size
	left join log_entries lg on lg.log = h.log and lg.key = 'grade:' || g.seq and lg.idx < h.size
	where f.signal = @signal and f.issued_at <= @as_of and (@before::bigint = 0 or f.seq < @before::bigint)
	order by f.seq desc
	limit nullif(@limit, 0)` // index forecasts_of; unique (log, key)

// Forecasts returns a signal's forecasts as known at an instant, newest first. If before is not 0, it returns only forecasts with a smaller
// number in the chain. limit bounds the result; 0 means no limit.
func (db ForecastStore) Forecasts(ctx context.Context, signal string, asOf time.Time, before int64, limit int) ([]Forecast, error) {
	rows, err := db.reads.Query(ctx, forecastsSQL, pgx.NamedArgs{"signal": signal, "as_of": asOf, "before": before, "limit": limit})
	if err != nil {
		return nil, fmt.Errorf("read the forecasts of %s: %w", signal, asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, scanForecast)
	if err != nil {
		return nil, fmt.Errorf("read the forecasts of %s: %w", signal, asUnavailable(err))
	}
	return list, nil
}

// ForecastScores returns the graded forecasts of a figure as known at an instant, oldest first, with nothing set but the scores. Void ones
// are left out.
func (db ForecastStore) ForecastScores(ctx context.Context, signal, figure string, asOf time.Time) ([]forecast.Graded, error) {
	rows, err := db.reads.Query(ctx, `
		select g.score, g.score1, g.score2 from forecasts f join forecast_grades g on g.id = f.id
		where f.signal = @signal and f.figure = @figure and g.graded_at <= @as_of and g.outcome <> ''
		order by f.seq`, pgx.NamedArgs{"signal": signal, "figure": figure, "as_of": asOf}) // index forecasts_of; unique (id)
	type scores struct{ Score, Score1, Score2 forecast.Decimal }
	list, err := collect[scores](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the scores of %s/%s: %w", signal, figure, asUnavailable(err))
	}
	out := make([]forecast.Graded, len(list))
	for i, s := range list {
		out[i] = forecast.Graded{Score: s.Score.Float(), Score1: s.Score1.Float(), Score2: s.Score2.Float()}
	}
	return out, nil
}

func scanForecast(row pgx.CollectableRow) (f Forecast, err error) {
	var published, graded *time.Time
	var outcome, score, score1, score2, flags, previous, hash *string
	var gradeIndex *int64
	err = row.Scan(&f.Seq, &f.ID, &f.Signal, &f.Figure, &f.Period, &f.Series, &f.ObservedAt, &f.ScheduledAt, &f.IssuedAt, &f.Quantiles, &f.Naive1,
		&f.Naive2, &f.Label, &f.ModelVersion, &f.InputsHash, &f.PreviousHash, &f.Hash, &f.Synthetic,
		&outcome, &published, &graded, &score, &score1, &score2, &flags, &previous, &hash, &f.LogIndex, &gradeIndex)
	f.ObservedAt, f.ScheduledAt, f.IssuedAt = f.ObservedAt.UTC(), f.ScheduledAt.UTC(), f.IssuedAt.UTC()
	if err != nil || outcome == nil {
		return f, err
	}
	f.Grade = &ForecastGrade{
		Outcome: *outcome, PublishedAt: published.UTC(), GradedAt: graded.UTC(), Score: *score, Score1: *score1, Score2: *score2,
		PreviousHash: *previous, Hash: *hash, LogIndex: gradeIndex,
		Flags: slices.DeleteFunc(strings.Split(*flags, ","), func(s string) bool { return s == "" }),
	}
	return f, nil
}
