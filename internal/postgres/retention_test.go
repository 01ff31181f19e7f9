package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

func TestWhatIsOldIsForgottenAndTheRestIsKept(t *testing.T) {
	t.Parallel()
	pool := pgtest.Pool(t)
	db := as(t, pool.Config().ConnString(), postgres.RoleWorker)
	if _, err := pool.Exec(t.Context(), `
		insert into runs (job, subject, slot, trigger, queue, status, max_attempts, created_at, finished_at) values
			('signal', 'a', '2020-01-01', 'cron', 'critical', 'succeeded', 3, '2020-01-01', '2020-01-01'),
			('signal', 'a', '2020-01-02', 'cron', 'critical', 'failed', 3, '2020-01-02', '2020-01-02'),
			('signal', 'a', now(), 'cron', 'critical', 'succeeded', 3, now(), now()),
			('signal', 'a', '2020-01-03', 'cron', 'critical', 'due', 3, '2020-01-03', null),
			('signal', 'b', '2020-01-01', 'cron', 'critical', 'succeeded', 3, '2020-01-01', '2020-01-01');
		insert into keys (public_id, name, created_at) values ('key_' || repeat('a', 26), 'k', now());
		insert into usage select 1, current_date - days, '/picks', 1, 1, now() from unnest(array[0, 10, 900]) d (days);
		insert into payment_quotes (key_id, amount, held) select 1, 5000001, tstzrange(at, at + interval '1 day')
			from unnest(array[now() - interval '900 days', now() - interval '20 days', now()]) q (at);
		insert into alerts (kind, subject, severity, text, raised_at, resolved_at) values
			('a', '', 'error', 'x', '2020-01-01', '2020-01-02'), ('b', '', 'error', 'x', '2020-01-01', null);
		insert into alert_messages (alert_id, resolved, channel) select id, false, 'mail' from alerts`); err != nil {
		t.Fatal(err)
	}
	left := func() (s string) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `
			select concat_ws(' ', (select count(*) from runs), (select count(*) from usage), (select count(*) from payment_quotes), (select count(*) from alerts), (select count(*) from alert_messages))`).Scan(&s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	if gone, err := db.ApplyRetention(t.Context(), task.Fence{}, postgres.Retention{}); err != nil || gone != 0 || left() != "5 3 3 2 2" {
		t.Errorf("for ever: %d gone, left %s, %v", gone, left(), err)
	}
	year := 400 * 24 * time.Hour
	for _, want := range []int64{5, 0} {
		gone, err := db.ApplyRetention(t.Context(), task.Fence{}, postgres.Retention{Runs: year, Usage: year, Quotes: year, Alerts: year, Pushes: year})
		if err != nil || gone != want || left() != "3 2 2 1 1" {
			t.Errorf("%d gone, want %d; left %s, %v", gone, want, left(), err)
		}
	}
	r, _ := pool.Query(t.Context(), `select subject || ' ' || status from runs order by 1`) // CollectRows has the error
	if rows, err := pgx.CollectRows(r, pgx.RowTo[string]); err != nil || len(rows) != 3 || rows[0] != "a due" || rows[1] != "a succeeded" || rows[2] != "b succeeded" {
		t.Errorf("runs: %q, %v", rows, err)
	}
	// No role of the program can delete append-only data.
	for _, table := range postgres.AppendOnly {
		if err := exec(t, pool.Config().ConnString(), postgres.RoleWorker, "delete from "+table); err == nil {
			t.Errorf("the worker's role may delete from %s", table)
		}
	}
}
