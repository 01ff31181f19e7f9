package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"tidemark/internal/equity"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/series"
	"tidemark/internal/task"
)

// BenchmarkEquities stores and reads a universe of 100 companies: three years of bars, and 12 years of reports of 20 figures each
// quarter.
func BenchmarkEquities(b *testing.B) {
	db, err := postgres.Open(b.Context(), pgtest.New(b), postgres.RoleWorker)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	today := time.Date(2026, 6, 30, 0, 0, 0, 0, time.UTC)
	at := today.Add(20 * time.Hour)
	id, err := db.RecordFetch(b.Context(), series.Fetch{
		Source: "s", URL: "https://upstream.example/", Status: 200, FetchedAt: at, SHA256: fmt.Sprintf("%064d", 0),
	}, 0)
	if err != nil {
		b.Fatal(err)
	}
	var loads []postgres.EquityLoad
	rows := 0
	for n := range 100 {
		cik := equity.CIK(n + 1)
		l := postgres.EquityLoad{
			Fetch:     series.Fetch{ID: id, Source: "s", FetchedAt: at},
			Companies: []equity.Company{{CIK: cik, Name: "C", Listings: []equity.Listing{{Ticker: fmt.Sprint("T", n), Exchange: "XNYS"}}}},
		}
		for d := range 3 * 365 {
			if day := today.AddDate(0, 0, -d); day.Weekday()%6 != 0 {
				l.Bars = append(l.Bars, equity.Bar{CIK: cik, Date: day, Open: "10.00", High: "10.50", Low: "9.90", Close: "10.20", Volume: 1e6, Source: "s"})
			}
		}
		for q := range 48 {
			end := today.AddDate(0, -3*q, 0)
			for f := range 20 {
				l.Facts = append(l.Facts, equity.Fact{
					CIK: cik, Taxonomy: "us-gaap", Tag: "Assets", Unit: "USD", Start: end.AddDate(0, 0, -90-f), End: end, Value: float64(f), Form: "10-Q",
					Accession: fmt.Sprintf("%010d-%02d-%06d", n, q, f), Filed: end.AddDate(0, 1, 0),
				})
			}
		}
		rows += len(l.Bars) + len(l.Facts)
		loads = append(loads, l)
	}
	b.ReportMetric(float64(rows), "rows")
	store := func(b *testing.B) {
		for b.Loop() {
			if _, err := db.StoreEquities(b.Context(), task.Fence{}, loads...); err != nil {
				b.Fatal(err)
			}
		}
	}
	began := time.Now()
	if _, err := db.StoreEquities(b.Context(), task.Fence{}, loads...); err != nil {
		b.Fatal(err)
	}
	b.Logf("first load of %d rows: %s", rows, time.Since(began))
	b.Run("the same again", store)
	b.Run("candidates", func(b *testing.B) {
		for b.Loop() {
			if list, err := db.Candidates(b.Context(), today, at); err != nil || len(list) != 100 {
				b.Fatal(len(list), err)
			}
		}
	})
}
