package faults

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/test/program"
)

const crack = "crack-spread-321"

// command runs a tidemark command to its end and returns its exit status and what it wrote.
func (s *fixture) command(args ...string) (int, string) {
	s.t.Helper()
	return program.Run(s.t, program.Options{Dir: s.dir, Env: s.env}, args...)
}

// backfill is a command line that is to succeed.
func (s *fixture) backfill(args ...string) string {
	s.t.Helper()
	status, out := s.command(append([]string{"backfill"}, args...)...)
	if status != 0 {
		s.t.Fatalf("tidemark backfill %s: status %d\n%s", strings.Join(args, " "), status, out)
	}
	return out
}

// said returns all that a backfill of 2024 says to readers, except what differs between two fixtures: ids, and the times of work and of fetches.
// The promise is that the history as of each instant is the same in whichever order the slots were computed. Rows are only added, so a slot
// that was resumed after later slots can leave rows that repeat the row before. Readers do not see these rows.
func (s *fixture) said() []string {
	s.t.Helper()
	said := s.query(`select (to_jsonb(p) - '{run_id,loads_seen,computed_at,served_at,inputs,backtest,first_ingested_at}'::text[])::text, (backtest - 'code_version' #- '{assumed_vintages,recorded_from}')::text from snapshots p where at < '2025-01-01' order by signal, at`)
	end := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	// Each version says from when to when it is in force, so all versions tell the history as of each instant.
	for p, err := range s.db.History(s.t.Context(), postgres.HistoryQuery{Signal: crack, AsOf: end.Add(-time.Microsecond), Versions: true}) {
		if err != nil {
			s.t.Fatal(err)
		}
		said = append(said, fmt.Sprintf("%+v", p))
	}
	return said
}

// rows returns every bit that a backfill may not change.
func (s *fixture) rows() []string {
	s.t.Helper()
	return append(append(s.query(`select to_jsonb(p)::text from snapshots p order by signal, at`),
		s.query(`select to_jsonb(e)::text from estimates e order by id`)...),
		s.query(`select md5(string_agg(to_jsonb(o)::text, '' order by series, observed_at, vintage_at)) from observations o`)...)
}

func (s *fixture) backfillState() (state string, done int) {
	s.t.Helper()
	lines := s.query(`select b.status, b.finished_at is not null, count(s.slot) filter (where s.status = 'done')
		from backfills b left join backfill_slots s on s.backfill_id = b.id group by b.id order by b.id desc limit 1`)
	if len(lines) == 0 {
		return "none", 0
	}
	var over bool
	if _, err := fmt.Sscan(lines[0], &state, &over, &done); err != nil {
		s.t.Fatalf("%q: %v", lines[0], err)
	}
	if over {
		state += " and over"
	}
	return state, done
}

// TestBackfillKilledAtAnyMoment kills the worker, the scheduler and the following command again and again. The result is the same as after
// an undisturbed backfill.
func TestBackfillKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	span := []string{"run", "--signal=" + crack, "--from=2024-01-01", "--to=2024-06-30"}
	const slots = 130

	calm := newFixture(t)
	calm.pauseSchedule()
	calm.start("scheduler")
	calm.start("worker")
	if out := calm.backfill(span...); !strings.Contains(out, fmt.Sprintf("done. %d added", slots)) {
		t.Fatalf("an undisturbed backfill says\n%s", out)
	}
	want := calm.said()

	s := newFixture(t)
	s.pauseSchedule()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	sched, worker := s.start("scheduler"), s.start("worker")
	follower := s.start(append([]string{"backfill"}, span...)...)
	program.Until(t, program.Timeout, "the backfill has begun", func() (bool, string) {
		state, _ := s.backfillState()
		return state == "running", state
	})
	follower.Kill()
	for round := range 5 {
		pause(t, time.Duration(random.Int64N(int64(1500*time.Millisecond))))
		worker.Kill()
		if round%2 == 0 {
			sched.Kill()
			sched = s.start("scheduler")
		}
		_, before := s.backfillState()
		worker = s.start("worker")
		program.Until(t, program.Timeout, "the work goes on", func() (bool, string) {
			state, done := s.backfillState()
			return done > before || strings.HasSuffix(state, "over"), fmt.Sprint(state, done)
		})
	}
	program.Until(t, program.Timeout, "the backfill is over", func() (bool, string) {
		state, done := s.backfillState()
		return strings.HasSuffix(state, "over"), fmt.Sprint(state, done)
	})
	if got := s.query(`select status, outcome, count(*) from backfill_slots group by 1, 2`); !cmp.Equal(got, []string{fmt.Sprintf("done added %d", slots)}) {
		t.Errorf("the slots are %q, want all of them added", got)
	}
	if d := cmp.Diff(want, s.said()); d != "" {
		t.Errorf("what is there differs from an undisturbed backfill (-want +got):\n%s", d)
	}
}

// TestBackfillDoesNotStarveTheSchedule: with a concurrency of one, a long backfill yields to scheduled runs.
func TestBackfillDoesNotStarveTheSchedule(t *testing.T) {
	t.Parallel()
	s := newFixture(t, "CONCURRENCY=1")
	s.pauseSchedule()
	s.start("scheduler")
	s.start("worker")
	s.awaitStatus(s.ingest(), "succeeded")
	// Forty years of weekdays.
	out := s.backfill("run", "--signal="+crack, "--from=1986-01-01", "--to=2025-12-31", "--parallelism=3", "--from-archive", "--wait=false")
	if !strings.Contains(out, "10436 slots, ") || !strings.Contains(out, "left alone: nothing was known by then") {
		t.Fatalf("planned:\n%s", out)
	}
	inspector := asynq.NewInspector(s.asynqOpt())
	defer func() { _ = inspector.Close() }()
	for range 4 {
		_, before := s.backfillState()
		program.Until(t, program.Timeout, "the backfill is in the middle of it", func() (bool, string) {
			state, done := s.backfillState()
			return done > before, fmt.Sprint(state, done)
		})
		id, err := s.db.AddRun(t.Context(), task.Signal, crack, time.Now().UTC().Truncate(time.Microsecond), t.Name())
		if err != nil {
			t.Fatal(err)
		}
		r := s.awaitStatus(id, "succeeded")
		waited := r.StartedAt.Sub(r.CreatedAt)
		t.Logf("a due run waited %s", waited.Round(time.Millisecond))
		if waited > 30*time.Second {
			t.Errorf("a due run waited %s for the backfill", waited)
		}
		q, err := inspector.GetQueueInfo(task.Low)
		if err != nil {
			t.Fatal(err)
		}
		if n := q.Pending + q.Active + q.Scheduled + q.Retry; n > 3 {
			t.Errorf("the queue holds %d tasks of the backfill, want 3 at most", n)
		}
	}
}

func TestBackfillFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pauseSchedule()
	s.start("scheduler")
	s.start("worker")
	march := []string{"--signal=" + crack, "--from=2024-03-01", "--to=2024-03-29"}

	for want, args := range map[string][]string{
		"--from 2024-03-29 is after --to 2024-03-01": {"--signal=" + crack, "--from=2024-03-29", "--to=2024-03-01"},
		"--to 2100-01-01 lies in the future":         {"--signal=" + crack, "--from=2024-03-29", "--to=2100-01-01"},
		`--signal: unknown signal "gold"`:            {"--signal=gold", "--from=2024-03-01", "--to=2024-03-29"},
		"--parallelism 0 is less than 1":             append([]string{"--parallelism=0"}, march...),
		`--existing "some" is none of`:               append([]string{"--existing=some"}, march...),
		"--from":                                     {"--signal=" + crack, "--from=yesterday", "--to=2024-03-29"},
	} {
		if status, out := s.command(append([]string{"backfill", "plan"}, args...)...); status != 2 || !strings.Contains(out, want) {
			t.Errorf("plan %s: status %d, %q\nwant status 2 and %q", args, status, out, want)
		}
	}

	// A plan from before the first load is another world's.
	s.backfill(append([]string{"plan"}, march...)...)
	s.awaitStatus(s.ingest(), "succeeded")
	if status, out := s.command("backfill", "apply", "1"); status != 1 || !strings.Contains(out, "the world has changed since the plan was made") ||
		!strings.Contains(out, "the observations of eia.RWTC: was none, not loaded whole, is ") {
		t.Errorf("apply after a load: status %d, %q", status, out)
	}

	// A plan predicts the result.
	plan := s.backfill(append([]string{"plan", "--diff"}, march...)...)
	s.backfill("apply", "2")
	shown := 0
	for _, line := range s.query(`select extract(epoch from at)::bigint, value from snapshots where at < '2025-01-01' order by at`) {
		var at int64
		var value float64
		if _, err := fmt.Sscan(line, &at, &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		want := fmt.Sprintf("%s  -    ->  %.6g\n", time.Unix(at, 0).UTC().Format(time.RFC3339), value)
		if !strings.Contains(plan, want) {
			t.Errorf("the plan does not show %q", want)
		}
		shown++
	}
	if shown != 21 {
		t.Errorf("%d snapshots, want one for each of the 21 weekdays", shown)
	}

	// The same range again changes no bit, with any options.
	before := s.rows()
	for _, flags := range [][]string{nil, {"--existing=all"}, {"--existing=failed", "--from-archive"}, {"--as-of=2024-06-30T00:00:00Z"}} {
		s.backfill(append(append([]string{"run"}, flags...), march...)...)
		if d := cmp.Diff(before, s.rows()); d != "" {
			t.Errorf("the same range again with %q changed rows (-before +after):\n%s", flags, d)
		}
	}

	// Two slots fail; the others do not mind, and the two are tried alone.
	s.admin(`
		create function refuse() returns trigger language plpgsql as $$
		begin
			if extract(day from new.at) in (9, 10) then
				raise check_violation using message = 'not on this day';
			end if;
			return new;
		end
		$$;
		create trigger refuse before insert or update on snapshots for each row execute function refuse()`)
	status, out := s.command("backfill", "run", "--signal="+crack, "--from=2024-04-08", "--to=2024-04-12")
	if status != 1 || !strings.Contains(out, "3 added, 2 failed") || strings.Count(out, "not on this day") != 2 || !strings.Contains(out, "retry-failed") {
		t.Errorf("with two slots that fail: status %d\n%s", status, out)
	}
	id := s.query(`select max(id) from backfills`)[0]
	s.admin(`drop trigger refuse on snapshots`)
	kept := s.query(`select to_jsonb(p)::text from snapshots p where at between '2024-04-01' and '2024-05-01' order by at`)
	if out := s.backfill("retry-failed", id); !strings.Contains(out, "2 slots and 0 sources are tried again") || !strings.Contains(out, "5 added") {
		t.Errorf("tried again:\n%s", out)
	}
	if d := cmp.Diff(kept, s.query(`select to_jsonb(p)::text from snapshots p where at between '2024-04-01' and '2024-05-01' and extract(day from at) not in (9, 10) order by at`)); d != "" {
		t.Errorf("the other slots were done again (-before +after):\n%s", d)
	}
	if out := s.backfill("show", id, "--slots"); strings.Count(out, "done") < 6 || !strings.Contains(out, "2024-04-09T21:00:00Z") {
		t.Errorf("show:\n%s", out)
	}
}

func TestBackfillsOfSeveralSignalsAndWhatTheyChange(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pauseSchedule()
	s.start("scheduler")
	s.start("worker")
	s.awaitStatus(s.ingest(), "succeeded")
	days := []string{"--from=2024-03-04", "--to=2024-03-08"}
	if status, out := s.command(append([]string{"backfill", "plan", "--signal=" + crack + ",gold"}, days...)...); status != 2 || !strings.Contains(out, `"gold"`) {
		t.Errorf("a signal that is not there: status %d, %s", status, out)
	}
	if n := s.query(`select count(*) from backfills`)[0]; n != "0" {
		t.Errorf("of two signals one is unknown, and %s plans are stored", n)
	}
	both := append([]string{"--signal=" + crack + ",eia-weekly-petroleum," + crack}, days...) // a signal named twice has one plan
	if out := s.backfill(append([]string{"plan"}, both...)...); !strings.Contains(out, "tidemark backfill apply 1 2`") {
		t.Errorf("the plans: %s", out)
	}
	if out := s.backfill("apply", "1", "2"); !strings.Contains(out, "backfill 1 of "+crack+": done") || !strings.Contains(out, "backfill 2 of eia-weekly-petroleum: done") {
		t.Errorf("both: %s", out)
	}
	// An older program computed another interval for one slot, and another value for the next.
	s.admin(`update snapshots set lo = -1, hi = 1, code_version = 'older' where signal = 'eia-weekly-petroleum' and at = (select min(at) from snapshots where signal = 'eia-weekly-petroleum')`)
	s.admin(`update snapshots set value = value + 1, z_score = 9, code_version = 'older' where signal = $1 and at = (select min(at) from snapshots where signal = $1)`, crack)
	out := s.backfill(append([]string{"compare"}, both...)...)
	if !strings.Contains(out, "2 otherwise; what stands was computed by 2 versions of the program") || !strings.Contains(out, "9 -> ") || !strings.Contains(out, "-1..1 -> ") {
		t.Errorf("compared: %s", out)
	}
	read := func(args ...string) [][]string {
		t.Helper()
		rows, err := csv.NewReader(strings.NewReader(s.backfill(append(args, "--csv", "--log-level=error")...))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	rows := read(append([]string{"compare"}, both...)...)
	column := func(row []string, name string) string { return row[slices.Index(rows[0], name)] }
	if len(rows) != 3 || column(rows[1], "signal") != crack || column(rows[1], "z_score_old") != "9" || column(rows[1], "z_score_new") == "9" ||
		column(rows[1], "code_old") != "older" || column(rows[2], "lo_old") != "-1" || column(rows[2], "value_old") != column(rows[2], "value_new") {
		t.Errorf("as CSV: %q", rows)
	}
	// A backfill of all slots keeps differing results next to the served ones, and shows both.
	s.backfill(append([]string{"run", "--existing=all"}, both...)...)
	rows = read("diff", "3")
	if len(rows) != 2 || column(rows[1], "outcome") != "differs" || column(rows[1], "z_score_old") != "9" || column(rows[1], "value_old") == column(rows[1], "value_new") {
		t.Errorf("the backfill's differences: %q", rows)
	}
	if rows = read("diff", "1", "--all"); len(rows) != 6 || column(rows[1], "outcome") != "added" || column(rows[1], "value_old") != "" || column(rows[1], "value_new") == "" {
		t.Errorf("what was added: %q", rows)
	}
}

func TestBackfillIsLeftPausedAndCancelled(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.pauseSchedule()
	s.start("scheduler")
	s.start("worker")
	follower := s.start("backfill", "run", "--signal="+crack, "--from=2010-01-01", "--to=2024-12-31")
	program.Until(t, program.Timeout, "slots are done", func() (bool, string) {
		state, done := s.backfillState()
		return done > 0, state
	})
	follower.Signal(syscall.SIGINT)
	select {
	case <-follower.Done:
	case <-time.After(program.Timeout):
		t.Fatal("the follower does not stop")
	}
	if out := follower.Output(); follower.Status() != 1 || !strings.Contains(out, "backfill 1 continues in the workers") || !strings.Contains(out, "tidemark backfill pause 1") {
		t.Errorf("interrupted: status %d\n%s", follower.Status(), out)
	}
	_, left := s.backfillState()
	program.Until(t, program.Timeout, "the backfill goes on", func() (bool, string) {
		state, done := s.backfillState()
		return done > left, state
	})

	if out := s.backfill("pause", "1"); !strings.Contains(out, "paused") {
		t.Errorf("pause: %s", out)
	}
	program.Until(t, program.Timeout, "no run is at work", func() (bool, string) {
		open := s.query(`select count(*) from runs where job = 'backfill' and status in ('due', 'queued', 'running')`)[0]
		return open == "0", open
	})
	_, paused := s.backfillState()
	pause(t, 3*time.Second)
	if _, done := s.backfillState(); done != paused {
		t.Errorf("%d slots were done while it was paused", done-paused)
	}
	if status, out := s.command("backfill", "pause", "1"); status != 1 || !strings.Contains(out, "it is paused") {
		t.Errorf("paused twice: status %d, %s", status, out)
	}
	s.backfill("resume", "1")
	program.Until(t, program.Timeout, "it goes on", func() (bool, string) {
		state, done := s.backfillState()
		return done > paused, state
	})
	if out := s.backfill("show", "1"); !strings.Contains(out, "slots/s, ") || !strings.Contains(out, " left") {
		t.Errorf("show without a pace:\n%s", out)
	}
	if out := s.backfill("cancel", "1"); !strings.Contains(out, "cancelled") || !strings.Contains(out, "snapshots that it made stay") {
		t.Errorf("cancel: %s", out)
	}
	program.Until(t, program.Timeout, "no run is at work", func() (bool, string) {
		open := s.query(`select count(*) from runs where job = 'backfill' and status in ('due', 'queued', 'running')`)[0]
		return open == "0", open
	})
	if rest := s.query(`select count(*) from backfill_slots where status = 'pending'`)[0]; rest != "0" {
		t.Errorf("%s slots are left", rest)
	}
	if out := s.backfill("list"); !strings.Contains(out, "cancelled") {
		t.Errorf("list:\n%s", out)
	}
	made := s.query(`select count(*) from backfill_slots where outcome = 'added'`)[0]
	if out := s.backfill("show", "1"); !strings.Contains(out, made+" snapshots that it made stay") || !strings.Contains(out, "tidemark backfill run --signal=") {
		t.Errorf("it does not say what it leaves, which are %s snapshots:\n%s", made, out)
	}
}
