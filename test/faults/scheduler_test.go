package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/test/program"
)

// TestTwoSchedulers is R3: two at once, after a downtime, one of them killed: one run for each slot, and one effect of each.
func TestTwoSchedulers(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	first := s.start("scheduler")
	program.Until(t, program.Timeout, "the schedule is recorded", func() (bool, string) {
		n := len(s.query(`select 1 from schedules where last_slot is not null`))
		return n >= 4, fmt.Sprint(n)
	})
	first.Kill()
	// Nine days without a scheduler.
	s.admin(`delete from runs`)
	if err := s.redisClient().FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	s.admin(`update schedules set last_slot = now() - interval '9 days', catch_up = 'all' where job = 'signal'`)
	s.admin(`update schedules set last_slot = now() - interval '9 days' where job = 'ingest'`)
	s.admin(`create function keep_policy() returns trigger language plpgsql as $$ begin new.catch_up := old.catch_up; return new; end $$;
		create trigger keep_policy before update on schedules for each row execute function keep_policy()`)
	a, b := s.start("scheduler"), s.start("scheduler")
	s.start("worker")
	s.start("worker")
	program.Until(t, program.Timeout, "slots are recorded", func() (bool, string) {
		n := len(s.runs(postgres.RunFilter{}))
		return n > 10, fmt.Sprint(n)
	})
	a.Kill()
	program.Until(t, program.Timeout, "every run is over", func() (bool, string) {
		open := s.query(`select count(*) from runs where status in ('due', 'queued', 'running')`)[0]
		return open == "0", open
	})
	_ = b
	if n := s.query(`select count(*) from runs where status = 'failed'`)[0]; n != "0" {
		t.Errorf("%s runs have failed", n)
	}
	// Weekdays at 17:00 in nine days: six to eight slots for each signal, every one of them run, and a snapshot of each. None has numbers,
	// because the first data came after them.
	for _, line := range s.query(`
		select r.subject, count(*), count(*) filter (where r.status = 'succeeded' and r.attempt = 1),
			(select count(*) from snapshots p where p.signal = r.subject
				and p.at in (select slot from runs q where q.job = 'signal' and q.subject = r.subject and q.trigger <> 'data')),
			(select count(p.observed_at) from snapshots p where p.signal = r.subject
				and p.at in (select slot from runs q where q.job = 'signal' and q.subject = r.subject and q.trigger <> 'data'))
		from runs r
		where r.job = 'signal' and r.trigger <> 'data'
		group by r.subject`) {
		var subject string
		var slots, once, snapshots, numbers int
		if _, err := fmt.Sscan(line, &subject, &slots, &once, &snapshots, &numbers); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if slots < 5 || slots > 9 || once != slots || snapshots != slots || numbers != 0 {
			t.Errorf("%s: %d slots, %d run once, %d snapshots, %d with numbers: want 6 to 8, as many, as many and 0", subject, slots, once, snapshots, numbers)
		}
	}
	// The policy of a source is to run only the latest missed slot.
	all := 0
	for _, line := range s.query(`
		select subject, count(*) filter (where status = 'succeeded'), count(*) filter (where status = 'skipped')
		from runs where job = 'ingest' group by subject`) {
		var subject string
		var done, skipped int
		if _, err := fmt.Sscan(line, &subject, &done, &skipped); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all += skipped
		if done != 1 {
			t.Errorf("%s: %d runs and %d skipped slots, want 1 run", subject, done, skipped)
		}
	}
	if all < 20 {
		t.Errorf("%d missed slots of sources are recorded as skipped, want each of nine days'", all)
	}
}

// TestSchedulersLiveThroughASandbox: separately started roles continue a sandbox that has not reached the present. When the scheduler that
// steps the clock dies, another one takes over.
func TestSchedulersLiveThroughASandbox(t *testing.T) {
	t.Parallel()
	begin := time.Now().UTC().Add(-36 * time.Hour).Truncate(time.Hour)
	s := newFixtureAt(t, &begin, "LOG_LEVEL=info")
	first, second := s.start("scheduler"), s.start("scheduler")
	s.start("worker")
	steps := func(p *program.Process) bool { return strings.Contains(p.Output(), "lives through the sandbox's past") }
	program.Until(t, program.Timeout, "the clock moves", func() (bool, string) {
		w, err := s.db.World(t.Context())
		return err == nil && (w.ClockAt == nil || w.ClockAt.After(begin.Add(time.Hour))), fmt.Sprintf("%+v, %v", w, err)
	})
	if steps(first) == steps(second) {
		t.Fatalf("who steps the clock: the first %t, the second %t", steps(first), steps(second))
	}
	if steps(second) {
		first, second = second, first
	}
	past, err := s.db.ClockBehind(t.Context())
	if err != nil || !past {
		t.Fatalf("the past was over before the scheduler died: %v", err)
	}
	first.Kill()
	program.Until(t, program.Timeout, "the sandbox has reached the present", func() (bool, string) {
		past, err := s.db.ClockBehind(t.Context())
		return err == nil && !past, fmt.Sprint(err)
	})
	if !steps(second) {
		t.Error("the scheduler that is left did not step the clock")
	}
}
