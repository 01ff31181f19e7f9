package chaos

import (
	"fmt"
	"strings"
	"time"

	"tidemark/internal/task"
	"tidemark/scheduler"
	"tidemark/test/program"
)

// notHourly excludes the hourly check of the token in which sellers are paid: its next run is always due.
const notHourly = "not (job = 'x402' and subject = 'terms' and status = 'due')"

// wrong are queries that must return no rows, with the requirement that each checks.
var wrong = []struct{ name, sql string }{
	{"no run has failed", `
		select job, subject, slot, attempt, failures, losses, left(error, 300) from runs where status = 'failed' order by slot`},
	{"no run is stuck", `
		select job, subject, slot, status, attempt, next_try_at, left(error, 300) from runs
		where status in ('due', 'queued', 'running') and slot <= world_now() and created_at < clock_timestamp() - interval '1 minute' and ` + notHourly},
	{"every signal that was computed for a slot has its snapshot", `
		select r.subject, r.slot from runs r left join snapshots s on s.signal = r.subject and s.at = r.slot
		where r.job = 'signal' and r.status = 'succeeded' and s.signal is null`},
	{"no vintage says what the one before it said", `
		select series, observed_at, before, vintage_at from (
			select series, observed_at, vintage_at, lag(vintage_at) over w as before,
				(value is not distinct from lag(value) over w) and (marker is not distinct from lag(marker) over w) as same
			from observations window w as (partition by series, observed_at order by vintage_at)) o
		where before is not null and same`},
	{"no day has two picks, or a pick and a gap", `
		select date, count(*) from (select date from picks union all select date from gaps) d group by date having count(*) > 1`},
	{"picks are announced in their order, none twice", `
		select seq, place from (select seq, row_number() over (order by seq) as place from announcements) a where seq <> place`},
	{"no pick is backdated or announced early", `
		select p.seq, p.date, p.appended_at, p.announce_at, a.announced_at from picks p left join announcements a using (seq)
		where to_char(p.appended_at at time zone 'America/New_York', 'YYYY-MM-DD') <> p.date or a.announced_at < p.announce_at`},
	{"every pick that was to be announced is", `
		select p.seq, p.date, p.announce_at from picks p left join announcements a using (seq)
		where a.seq is null and p.announce_at < world_now() - interval '2 minutes'`},
	{"no request is charged twice", `
		select key_id, request_id, count(*) from ledger where kind = 'charge' group by key_id, request_id having count(*) > 1`},
	{"a balance is the sum of its ledger", `
		select k.id, k.balance, coalesce(l.sum, 0) from keys k
		left join (select key_id, sum(amount) as sum from ledger group by key_id) l on l.key_id = k.id
		where k.balance <> coalesce(l.sum, 0) or k.balance < 0`},
}

// check looks at everything once the work is done.
func (s *cluster) check(p past, saw *seen) {
	s.t.Helper()
	ctx := s.t.Context()
	// While its clock is in the past, a sandbox postpones its witnesses.
	if _, err := s.db.AddRun(ctx, task.Ledger, task.SubjectLedger, time.Now().UTC().Truncate(time.Second), "the present is reached"); err != nil {
		s.t.Fatal(err)
	}
	for _, u := range s.units {
		if err := there(ctx, []*unit{u}); err != nil {
			s.t.Error(err)
		}
	}
	program.Until(s.t, 5*time.Minute, "all work is done", func() (bool, string) {
		now := time.Now()
		if missing, err := unrecorded(ctx, s.db, now); err != nil || missing != "" {
			return false, fmt.Sprint("not recorded: ", missing, err)
		}
		open := s.query(`
			select job, subject, slot, status, attempt, next_try_at, left(error, 200) from runs
			where status in ('due', 'queued', 'running') and slot <= $1 and `+notHourly, now)
		return len(open) == 0, strings.Join(open, "\n")
	})
	for _, w := range wrong {
		if lines := s.query(w.sql); len(lines) > 0 {
			s.t.Errorf("it does not hold that %s: %d times otherwise, as %s", w.name, len(lines), strings.Join(lines[:min(3, len(lines))], "; "))
		}
	}
	s.checkSlots(p)
	s.checkCharges(saw)
	for _, line := range saw.wrong {
		s.t.Errorf("a client saw: %s", line)
	}
	s.checkRecord()
	if s.query(`select count(*) from announcements`)[0] == "0" {
		s.t.Error("no pick was announced")
	}
}

// checkRecord verifies the record from the outside, at each API, once that knows all of it.
func (s *cluster) checkRecord() {
	s.t.Helper()
	for _, u := range s.apis {
		base := u.now().base
		program.Until(s.t, program.Timeout, u.name+" shows every announced pick", func() (bool, string) {
			var said struct {
				Length int `json:"chain_length"`
			}
			err := program.Get(s.t.Context(), base+"/api/v1/verify/picks", &said)
			announced := s.query(`select count(*) from announcements`)[0]
			return err == nil && fmt.Sprint(said.Length) == announced, fmt.Sprint(said.Length, " of ", announced, ", ", err)
		})
		program.Until(s.t, program.Timeout, "the record verifies, with its ledger", func() (bool, string) {
			status, out := program.Run(s.t, s.options(), "verify", "--no-remember", "--url", base, "--ledger", "file://"+s.ledger())
			if status != 0 { // nothing is allowed to be wrong at any time
				s.t.Fatalf("tidemark verify of %s ends with %d:\n%s", base, status, out)
			}
			return !strings.Contains(out, "pending") && strings.Contains(out, "Witnessed:"), out
		})
	}
}

// checkSlots computes the logical times of every schedule by its cron expression, and looks for each in the run log.
func (s *cluster) checkSlots(p past) {
	s.t.Helper()
	list, err := s.db.Schedules(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var jobs, subjects []string
	var at []time.Time
	for _, e := range list {
		c, err := scheduler.Parse(e)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, slot := range slots(c, p.begin, *e.LastSlot) {
			jobs, subjects, at = append(jobs, e.Job), append(subjects, e.Subject), append(at, slot)
		}
	}
	missing := s.query(`
		select t.job, t.subject, t.at from unnest($1::text[], $2::text[], $3::timestamptz[]) as t (job, subject, at)
		left join runs r on r.job = t.job and r.subject = t.subject and r.slot = t.at
		where r.id is null order by t.at`, jobs, subjects, at)
	if len(missing) > 0 {
		s.t.Errorf("%d of %d logical times are missing from the run log, the first: %s", len(missing), len(at), missing[0])
	}
	if len(at) < 50 {
		s.t.Errorf("only %d logical times have come", len(at))
	}
}

// checkCharges compares the deliveries that the buyers received with the charges in the database, request by request.
func (s *cluster) checkCharges(saw *seen) {
	s.t.Helper()
	charged := map[string]int{}
	for _, line := range s.query(`select request_id, -amount from ledger where kind = 'charge'`) {
		var id string
		var amount int
		if _, err := fmt.Sscan(line, &id, &amount); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		charged[id] += amount
	}
	for id, price := range saw.bought {
		if charged[id] != price {
			s.t.Errorf("%s was delivered for %d and charged %d", id, price, charged[id])
		}
	}
	for id, amount := range charged {
		if _, ok := saw.bought[id]; !ok {
			s.t.Errorf("%s was charged %d and not delivered", id, amount)
		}
	}
	if len(saw.bought) == 0 {
		s.t.Error("nothing was bought")
	}
}
