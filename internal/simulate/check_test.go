package simulate

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/task"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// Each check must find a planted violation, which bypasses the database's own guards, and must find nothing before it is planted.
func TestChecksSeeWhatMustNotBe(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 1, 17, 0, 0, 0, 0, time.UTC)
	own, err := pgx.Connect(t.Context(), pgtest.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close(context.Background()) })
	if _, err := own.Exec(t.Context(), `set session_replication_role = replica`); err != nil { // no triggers
		t.Fatal(err)
	}
	r := &run{Options: Options{From: now.AddDate(0, 0, -9)}, clock: newClock(now), own: own, lastTick: now, trace: newTrace(nil)}
	r.program.Schedules = []task.Schedule{{Job: task.Signal, Subject: "s", Cron: "0 6 * * *", Zone: "UTC", CatchUp: "all"}}
	for _, c := range []struct {
		what, plant string
		check       func(*checks) func(context.Context) (string, error)
	}{
		{
			"a run that nobody ends", `insert into runs (job, subject, slot, trigger, queue, status, max_attempts, created_at)
				values ('signal', 's', '2025-01-15 06:00Z', 'cron', 'c', 'due', 8, '2025-01-15 06:00Z')`,
			func(c *checks) func(context.Context) (string, error) { return c.stuckRuns },
		},
		{
			"a signal that failed", `insert into runs (job, subject, slot, trigger, queue, status, max_attempts)
				values ('signal', 's', '2025-01-15 06:00Z', 'cron', 'c', 'failed', 8)`,
			func(c *checks) func(context.Context) (string, error) { return c.failedRuns },
		},
		{
			"a run without its snapshot", `insert into runs (job, subject, slot, trigger, queue, status, max_attempts)
				values ('signal', 's', '2025-01-15 06:00Z', 'cron', 'c', 'succeeded', 8)`,
			func(c *checks) func(context.Context) (string, error) { return c.missingSnapshots },
		},
		{
			"trading days without anything", `insert into picks values (1, 'A', '1.00', '2025-01-08', repeat('0', 64), repeat('1', 64),
				1, 'A', 'X', 'S', 'R', 'US', 'USD', 'method', 'r', '2025-01-08 23:00Z', '2025-01-08 22:30Z')`,
			func(c *checks) func(context.Context) (string, error) { return c.tradingDays },
		},
		{
			"a gap on a Saturday", `insert into picks values (1, 'A', '1.00', '2025-01-15', repeat('0', 64), repeat('1', 64),
				1, 'A', 'X', 'S', 'R', 'US', 'USD', 'method', 'r', '2025-01-15 23:00Z', '2025-01-15 22:30Z');
				insert into gaps values ('2025-01-18', 'r', '2025-01-18')`,
			func(c *checks) func(context.Context) (string, error) { return c.tradingDays },
		},
		{
			"a backdated pick", `insert into picks values (1, 'A', '1.00', '2025-01-15', repeat('0', 64), repeat('1', 64),
				1, 'A', 'X', 'S', 'R', 'US', 'USD', 'method', 'r', '2025-01-15 23:00Z', '2025-01-16 22:30Z')`,
			func(c *checks) func(context.Context) (string, error) { return c.pickTimes },
		},
		{
			"a wrong link", `insert into picks values (1, 'A', '1.00', '2025-01-15', repeat('0', 64), repeat('1', 64),
				1, 'A', 'X', 'S', 'R', 'US', 'USD', 'method', 'r', '2025-01-15 23:00Z', '2025-01-15 22:30Z')`,
			func(c *checks) func(context.Context) (string, error) { return c.chain },
		},
		{
			"an observation that says what the one before said", `insert into observations (series, observed_at, vintage_at, value, fetch_id)
				values ('a', '2025-01-01', '2025-01-02', 1, 1), ('a', '2025-01-01', '2025-01-03', 1, 1)`,
			func(c *checks) func(context.Context) (string, error) { return c.twice },
		},
		{
			"a slot without a run", ``,
			func(c *checks) func(context.Context) (string, error) { return c.missingRuns },
		},
		{
			"an event before the place that readers have passed", `insert into portfolio_events
				values ('ev_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'news', 1, 1, 'A', '2025-01-01', '2025-01-01', null, '', '[]', '{"es":1,"en":1,"pt":1,"hi":1}')`,
			func(c *checks) func(context.Context) (string, error) {
				c.feed.at = now
				return c.events
			},
		},
		{
			"a balance that is not its ledger's", `insert into keys (public_id, name, created_at, balance) values ('key_00000000000000000000000001', 'n', now(), 5)`,
			func(c *checks) func(context.Context) (string, error) { return c.balances },
		},
		{
			"a request that was paid twice", `insert into ledger (key_id, kind, amount, at, endpoint, request_id)
				values (1, 'charge', -5, now(), '/e', 'req_1'), (1, 'charge', -5, now(), '/e', 'req_1')`,
			func(c *checks) func(context.Context) (string, error) { return c.charges },
		},
	} {
		r.crons = nil
		if err := r.parse(); err != nil {
			t.Fatal(err)
		}
		r.customers = newCustomers(r)
		if c.plant != "" {
			if seen, err := c.check(newChecks(r))(t.Context()); seen != "" || err != nil {
				t.Errorf("before %s there was %q (%v)", c.what, seen, err)
			}
		}
		if _, err := own.Exec(t.Context(), `begin`); err != nil {
			t.Fatal(err)
		}
		if _, err := own.Exec(t.Context(), c.plant); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if seen, err := c.check(newChecks(r))(t.Context()); seen == "" || err != nil {
			t.Errorf("%s is not seen (%v)", c.what, err)
		}
		if _, err := own.Exec(t.Context(), `rollback`); err != nil {
			t.Fatal(err)
		}
	}
}
