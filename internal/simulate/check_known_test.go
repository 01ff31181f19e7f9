package simulate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
)

// Later data do not change what was known before. A vintage that is inserted into the past does, and the daily check or a thorough check
// finds it.
func TestChecksHoldWhatWasKnownAsOfEarlierInstants(t *testing.T) {
	t.Parallel()
	own, err := pgx.Connect(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close(context.Background()) })
	execute := func(sql string, args ...any) {
		t.Helper()
		if _, err := own.Exec(t.Context(), sql, args...); err != nil {
			t.Fatal(err)
		}
	}
	execute(`set session_replication_role = replica`) // no triggers, no foreign keys
	execute(`create schema simulation; create table simulation.clock (at timestamptz);
		create function simulation.now() returns timestamptz language sql as 'select at from simulation.clock'`)
	day := func(n int) time.Time { return time.Date(2025, 1, n, 12, 0, 0, 0, time.UTC) }
	observe := func(value float64, vintage time.Time, assumed bool) {
		t.Helper()
		execute(`insert into observations (series, observed_at, vintage_at, value, assumed, fetch_id) values ('s', '2024-12-31', $1, $2, $3, 1)`,
			vintage, value, assumed)
	}
	r := &run{Options: Options{From: day(1), Seed: 1}, own: own, clock: newClock(day(1)), trace: newTrace(nil)}
	c := newChecks(r)
	check := func(at time.Time, thorough bool) string {
		t.Helper()
		execute(`delete from simulation.clock`)
		execute(`insert into simulation.clock values ($1)`, at)
		c.thorough = thorough
		seen, err := c.knowledge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	for n := 1; n <= 6; n++ { // nothing is known on the first day, and two days pass without news
		if seen := check(day(n), n == 4); seen != "" {
			t.Fatalf("on day %d: %s", n, seen)
		}
		if n != 3 && n != 4 {
			observe(float64(n), day(n), false)
		}
		observe(-float64(n), day(1).Add(time.Duration(-n)*time.Hour), true) // a history loaded late
	}
	if sums, err := c.knownAt(t.Context(), []time.Time{day(5), day(2), day(2)}); err != nil || sums[1] != sums[2] || sums[0] == sums[1] ||
		!strings.HasPrefix(sums[0], "3 rows ") || !strings.HasPrefix(sums[1], "2 rows ") {
		t.Errorf("of days 5, 2 and 2 is known %q (%v), want 3 rows and twice the same 2", sums, err)
	}
	execute(`begin`)
	observe(9, day(6).Add(-time.Minute), false)
	if seen := check(day(7), false); !strings.Contains(seen, "as of 2025-01-06T11:59:56Z the observations were 3 rows") {
		t.Errorf("a vintage a minute before the last check: %q", seen)
	}
	execute(`rollback`)
	observe(9, day(2).Add(time.Minute), false)
	if seen := check(day(7), true); !strings.Contains(seen, "as of 2025-01-03T11:59:56Z the observations were 2 rows") {
		t.Errorf("a vintage in the middle of the past: %q", seen)
	}
}

func TestAllOfTheDatabaseIsGoneThroughOftenAtFirst(t *testing.T) {
	t.Parallel()
	from := time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC)
	var first, second, years int
	for day := from; day.Before(from.AddDate(2, 0, 0)); day = day.AddDate(0, 0, 1) {
		if !thorough(from, day) {
			continue
		}
		switch {
		case day.Before(from.AddDate(0, 0, 70)):
			first++
		case day.Before(from.AddDate(1, 0, 70)):
			second++
		}
		years++
	}
	if first != 10 || second != 12 || years != 32 {
		t.Errorf("%d times in ten weeks, %d in the year after them, %d in two years, want 10, 12 and 32", first, second, years)
	}
}
