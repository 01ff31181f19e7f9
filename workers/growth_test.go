package workers_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/simulate"
)

// rowsOfADay are the rows that Postgres reads for one day's pick, announcement, portfolio and events, after n picks that were made up and a few
// that were lived.
func rowsOfADay(t *testing.T, n int) (rows int64) {
	t.Helper()
	m := newMarket(t, "2026-03-02")
	super, err := pgx.Connect(t.Context(), m.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = super.Close(t.Context()) }()
	// So many closes that it pays to read some of them only.
	older := postgres.EquityLoad{}
	for _, day := range calendar.Between(on(t, "2018-01-02"), on(t, "2024-10-31")) {
		older.Bars = append(older.Bars, m.bars(day)...)
	}
	m.store(calendar.At(on(t, "2026-03-02"), priceClock+time.Minute), older)
	if err := simulate.MakeUpRecord(t.Context(), super, n, on(t, "2026-03-03")); err != nil {
		t.Fatal(err)
	}
	for _, day := range []string{"2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"} {
		m.live(day)
	}
	// Postgres would read the small tables by sequential scans. The test forces the plans of large tables.
	m.exec(`do $$ begin
		execute format('alter database %I set enable_seqscan = off', current_database());
		execute format('alter database %I set enable_hashjoin = off', current_database());
		execute format('alter database %I set enable_mergejoin = off', current_database());
	end $$; analyze`)
	read := func() (sum int64) {
		// A session has reported its reads when it has ended.
		for others := 1; others > 0; {
			if err := super.QueryRow(t.Context(), `
				select count(*) from pg_stat_activity
				where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`).Scan(&others); err != nil {
				t.Fatal(err)
			}
		}
		if err := super.QueryRow(t.Context(), `
			select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) from pg_stat_user_tables`).Scan(&sum); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	m.db.Close()
	m.api.Close()
	before := read()
	again := &picksFixture{t: t, url: m.url, ciks: m.ciks, picks: m.picks}
	if again.db, err = postgres.Open(t.Context(), m.url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	again.picks.DB, again.picks.Cards.DB = again.db, again.db
	again.live("2026-03-09")
	again.db.Close()
	rows = read() - before
	if again.db, err = postgres.Open(t.Context(), m.url, postgres.RoleWorker); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.db.Close)
	again.picks.DB = again.db
	made, err := again.db.RecordedPicks(t.Context())
	if err != nil || len(made) != n+5 {
		t.Fatalf("%d picks (%v), want %d", len(made), err, n+5)
	}
	if r := again.rebuild(); len(r.Differences) > 0 || r.Snapshots < n {
		t.Errorf("after %d picks: %+v", n, r)
	}
	return rows
}

// The cost of publishing a day depends on its new data, and not on the data published before.
func TestADayReadsAsMuchAfterFiveHundredPicksAsAfterFifty(t *testing.T) {
	t.Parallel()
	few, many := rowsOfADay(t, 50), rowsOfADay(t, 500)
	t.Logf("%d rows after 50 picks, %d after 500", few, many)
	if float64(many) > 1.2*float64(few) {
		t.Errorf("a day reads %d rows after 50 picks, and %d after 500", few, many)
	}
}
