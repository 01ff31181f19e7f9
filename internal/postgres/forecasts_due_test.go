package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"tidemark/internal/pgtest"
	"tidemark/signals/forecast"
)

// A new figure, or another schedule, needs a migration that replaces forecast_figures.
func TestTheDatabaseAndTheForecastsHaveTheSamePrints(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	var figures int
	if err := pool.QueryRow(t.Context(), `select count(distinct (signal, figure)) from forecast_figures()`).Scan(&figures); err != nil || figures != len(forecast.All()) {
		t.Errorf("the database knows %d figures (%v), want %d", figures, err, len(forecast.All()))
	}
	var periods []string
	for day := time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 2036; day = day.AddDate(0, 0, 1) {
		periods = append(periods, day.Format(time.DateOnly))
		if day.Day() == 1 {
			periods = append(periods, day.Format("2006-01"))
		}
		if day.YearDay() == 1 {
			periods = append(periods, day.Format("2006-final"), day.Format("2006"))
		}
	}
	for _, target := range forecast.All() {
		rows, err := pool.Query(t.Context(), `
			select p, d.series, d.observed_at, d.scheduled_at, d.void_at, d.decimals, d.series = any(d.prints)
			from unnest($3::text[]) with ordinality as u (p, n) left join lateral forecast_due($1, $2, p) d on true order by n`,
			target.Signal, target.Figure, periods)
		if err != nil {
			t.Fatal(err)
		}
		n, prints := 0, 0
		for ; rows.Next(); n++ {
			var period string
			var id *string
			var observed, due, void *time.Time
			var decimals *int
			var listed *bool
			if err := rows.Scan(&period, &id, &observed, &due, &void, &decimals, &listed); err != nil {
				t.Fatal(err)
			}
			r, ok := target.ReleaseOf(period)
			if ok != (id != nil) || period != periods[n] {
				t.Fatalf("%s: the database has a print: %v, the forecasts: %v", target.ID(forecast.Release{Period: period}), id != nil, ok)
			}
			if !ok {
				continue
			}
			prints++
			if *id != string(r.Series) || !observed.Equal(r.ObservedAt) || !due.Equal(r.ScheduledAt) || !void.Equal(target.VoidAt(r)) ||
				*decimals != target.Decimals || !*listed {
				t.Fatalf("%s: the database says %s, %s, %s, %s, %d decimals; the forecasts %+v", target.ID(r), *id, observed, due, void, *decimals, r)
			}
		}
		if rows.Err() != nil || n != len(periods) || prints < 21*5 {
			t.Errorf("%s/%s: %d periods, %d prints, %v", target.Signal, target.Figure, n, prints, rows.Err())
		}
	}
}
