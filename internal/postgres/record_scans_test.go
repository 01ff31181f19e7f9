package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/equity"
	"tidemark/internal/postgres"
)

// Three queries once scanned all picks and announcements for each company: the newest card, the first pick, and the public texts. They ran
// some thirty times a day and became slower as the record grew.
func TestTheListsOfTheDayReadNoWholeRecord(t *testing.T) {
	t.Parallel()
	r := newRecord(t, "2026-03-02")
	r.append("FIRST", "111.11", "2026-03-02")
	r.announce("2026-03-02")
	conn, err := pgx.Connect(t.Context(), r.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	// 3,000 made-up picks of 40 companies, the last not announced, with a card each.
	for _, sql := range []string{
		`set session_replication_role = replica`, `alter table research drop constraint research_texts_check`,
		`insert into picks select (json_populate_record(p, json_build_object('seq', n, 'hash', md5(n::text), 'previous_hash', md5('p' || n),
			'date', (date '2030-01-01' + n)::text, 'cik', 1000 + n % 40))).* from (select p from picks p where seq = 1) p (p), generate_series(2, 3000) n`,
		`insert into announcements select n, '2030-01-01'::timestamptz + n * interval '1 hour' from generate_series(2, 2999) n`,
		`insert into research overriding system value select n, 1000 + n % 40, date '2030-01-01' + n, n, 'T' || n % 40, 'name', 'NYSE', 's', 'r', 'c', now(), '{}', '[]', '[]',
			'{}', now() from generate_series(2, 3000) n`,
		`vacuum analyze picks`, `vacuum analyze announcements`, `vacuum analyze research`,
	} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	// scanned returns how many rows were read without an index, once all other sessions are over.
	scanned := func() (n int64) {
		for others := 1; others > 0; {
			err := conn.QueryRow(t.Context(), `select count(*) from pg_stat_activity
				where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()`).Scan(&others)
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.QueryRow(t.Context(), `select sum(seq_tup_read)::bigint from pg_stat_user_tables
			where relname in ('announcements', 'picks', 'research')`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	r.db.Close()
	before := scanned()
	for _, role := range []string{postgres.RoleAPI, postgres.RoleWorker} {
		db, err := postgres.Open(t.Context(), r.url, role)
		if err != nil {
			t.Fatal(err)
		}
		stocks, err := db.Stocks(t.Context())
		if err != nil || len(stocks) != 40 || stocks[0].FirstPickedOn == nil {
			t.Errorf("as %s: %d stocks, %v", role, len(stocks), err)
		}
		cards, err := db.LatestResearch(t.Context())
		if err != nil || len(cards) != 40 {
			t.Errorf("as %s: %d cards, %v", role, len(cards), err)
		}
		for _, c := range cards {
			if c.ID == 3000 {
				t.Errorf("as %s: the card of a pick that is not announced", role)
			}
		}
		if _, err := db.PickSummaries(t.Context(), 2990); err != nil {
			t.Error(err)
		}
		first, err := db.FirstAnnounced(t.Context(), []equity.CIK{1002, 5})
		if want := time.Date(2030, 1, 1, 2, 0, 0, 0, time.UTC); role == postgres.RoleWorker && (err != nil || !first[1002].Equal(want) || len(first) != 1) {
			t.Errorf("the first announcement was %v, want %s: %v", first, want, err)
		}
		db.Close()
	}
	if n := scanned() - before; n > 0 {
		t.Errorf("%d rows of the record were read without an index", n)
	}
}
