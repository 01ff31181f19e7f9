package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/scheduler"
	"tidemark/test/contention"
)

var (
	contentionDays  = flag.Int("contention.days", 0, "how many days all roles live through beside each other; 0: not at all")
	contentionSeed  = flag.Uint64("contention.seed", 0, "what draws the pauses; 0: any")
	contentionSeeds = flag.Int("contention.seeds", 1, "how many seeds, from the first one on")
)

// The longest pause before a statement, the share of changed rows at which the server pauses, and the maximum duration of a day of such a
// world.
const (
	contentionPause = 20 * time.Millisecond
	contentionRows  = .5
	contentionDay   = 5 * time.Minute
)

// TestRolesBesideEachOther runs days of the sandbox with all roles in parallel on one Postgres and one Redis, on an uneven machine. There
// are pauses before statements, pauses of the server at locked rows, different plans by connection, one to four processors, and busy loops.
// A seed decides what it can; the machine decides the rest.
func TestRolesBesideEachOther(t *testing.T) {
	if *contentionDays == 0 {
		t.Skip("make contention runs this: it takes minutes, and the whole machine")
	}
	seed := *contentionSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	s := startContended(t)
	for n := range *contentionSeeds {
		if !t.Run(fmt.Sprintf("seed %d", seed+uint64(n)), func(t *testing.T) { besideEachOther(t, s, seed+uint64(n)) }) { //nolint:gosec // it is not negative
			t.Logf("again: make contention CONTENTION_DAYS=%d CONTENTION_SEED=%d", *contentionDays, seed+uint64(n)) //nolint:gosec // as above
			return
		}
	}
}

func besideEachOther(t *testing.T, s *contendedServers, seed uint64) {
	t.Logf("%d days, seed %d", *contentionDays, seed)
	began := time.Now()
	before := len(s.log())
	begin := began.UTC().Truncate(24*time.Hour).AddDate(0, 0, -*contentionDays)
	w := newContended(t, s, begin, *contentionDays, contention.Options{Seed: seed, Pause: contentionPause, Rows: contentionRows, Plans: true})
	w.deadlocked = func() string { return deadlocks(s.log()[before:]) }
	said := w.logTo(t)
	unrest := startUnrest(seed)
	var asked atomic.Int64
	var readers sync.WaitGroup
	var trouble error
	reading, stop := context.WithCancel(t.Context())
	err := w.live(t.Context(), time.Duration(*contentionDays)*contentionDay, func(ctx context.Context) error {
		stop()
		readers.Wait()
		return errors.Join(trouble, w.holds(ctx), w.verifies(ctx))
	}, func() {
		for i := range 2 {
			readers.Go(func() { asked.Add(w.read(reading, i)) })
		}
		readers.Go(func() { trouble = w.trade(reading) })
	})
	stop()
	readers.Wait()
	unrest()
	if found := w.deadlocked(); found != "" {
		err = errors.Join(err, fmt.Errorf("Postgres met a deadlock:\n%s", found))
	}
	if err != nil {
		t.Errorf("seed %d: after %s: %v", seed, time.Since(began).Round(time.Second), err)
		t.Logf("the last lines of the log:\n%s", said.last(40))
	}
	all := 0
	for _, seen := range w.tap.Statements() {
		all += seen.All
	}
	t.Logf("%d days in %s: %d statements, %d of them distinct, %d requests beside them", *contentionDays,
		time.Since(began).Round(time.Second), all, len(w.tap.Statements()), asked.Load())
}

// startUnrest makes the machine uneven until the returned function is called: busy loops, and a changing number of processors.
func startUnrest(seed uint64) (stop func()) {
	dice := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // it is to be the same again
	procs := runtime.GOMAXPROCS(0)
	over := make(chan struct{})
	var all sync.WaitGroup
	var sink atomic.Uint64
	for range 2 {
		all.Go(func() {
			for n := uint64(0); ; n++ {
				select {
				case <-over:
					sink.Add(n)
					return
				default:
				}
				if n%1024 == 0 { // leave something to the others
					time.Sleep(50 * time.Microsecond) //nolint:forbidigo // it waits for nothing
				}
			}
		})
	}
	all.Go(func() {
		for {
			runtime.GOMAXPROCS(1 + dice.IntN(4))
			select {
			case <-over:
				return
			case <-time.After(time.Duration(200+dice.IntN(1500)) * time.Millisecond):
			}
		}
	})
	return func() {
		close(over)
		all.Wait()
		runtime.GOMAXPROCS(procs)
	}
}

// deadlocks returns the lines of a server's log about deadlocks.
func deadlocks(log string) string {
	if !strings.Contains(log, "deadlock detected") {
		return ""
	}
	var out []string
	lines := strings.Split(log, "\n")
	for i, line := range lines {
		if strings.Contains(line, "deadlock detected") && !strings.Contains(line, "contention") {
			out = append(out, lines[i:min(i+24, len(lines))]...)
		}
		if len(out) > 60 {
			break
		}
	}
	return strings.Join(out, "\n")
}

// read sends public requests until ctx ends.
func (w *contended) read(ctx context.Context, first int) (asked int64) {
	for i := first; ctx.Err() == nil; i++ {
		_, _, _ = answered(ctx, http.MethodGet, w.base+contendedReads[i%len(contendedReads)], "", "", "")
		asked++
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return asked
}

// trade does the work of clients and an operator once a day of the world, in parallel with all other work, until ctx ends.
func (w *contended) trade(ctx context.Context) error {
	last := w.begin
	for ctx.Err() == nil {
		var now time.Time
		if err := w.db.QueryRow(ctx, `select world_now()`).Scan(&now); err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
		if day := now.UTC().Truncate(24 * time.Hour); day.After(last) {
			last = day
			if err := trading(ctx, w, day); err != nil && ctx.Err() == nil {
				return fmt.Errorf("clients on %s: %w", day.Format(time.DateOnly), err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// contendedWrong are queries for violations after a world in which nothing has failed, each with the name of its invariant.
var contendedWrong = []struct{ name, sql string }{
	{"no run has failed", `select job, subject, slot, attempt, failures, losses, left(error, 300) from runs where status = 'failed' order by slot`},
	{"no worker is believed lost", `select job, subject, slot, attempt, losses, left(error, 300) from runs where losses > 0 order by slot`},
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
	{"every pick that was to be announced is", `
		select p.seq, p.date, p.announce_at from picks p left join announcements a using (seq)
		where a.seq is null and p.announce_at < world_now() - interval '1 day'`},
	{"no request is charged twice", `
		select key_id, request_id, count(*) from ledger where kind = 'charge' group by key_id, request_id having count(*) > 1`},
	{"nothing is credited twice", `select ref, count(*) from ledger where kind = 'credit' group by ref having count(*) > 1`},
	{"a balance is the sum of its ledger", `
		select k.id, k.balance, coalesce(l.sum, 0) from keys k
		left join (select key_id, sum(amount) as sum from ledger group by key_id) l on l.key_id = k.id
		where k.balance <> coalesce(l.sum, 0) or k.balance < 0`},
	{"every backfill is over", `select id, status, note from backfills where status in ('running', 'paused') and finished_at is null`},
}

// holds checks the content of the world.
func (w *contended) holds(ctx context.Context) error {
	var errs []error
	for _, q := range contendedWrong {
		if lines := w.lines(ctx, q.sql); len(lines) > 0 {
			errs = append(errs, fmt.Errorf("it does not hold that %s: %d times otherwise, as %s", q.name, len(lines), strings.Join(lines[:min(3, len(lines))], "; ")))
		}
	}
	w.finished.Range(func(run, n any) bool {
		if times := n.(*atomic.Int64).Load(); times > 1 { //nolint:forcetypeassert // it is ours
			errs = append(errs, fmt.Errorf("run %d was done %d times: %s", run, times, w.lines(ctx, `select job, subject, slot, attempt, failures, losses, error from runs where id = $1`, run)))
		}
		return true
	})
	var jobs, subjects []string
	var at []time.Time
	for _, e := range w.program("schedules").schedule() {
		c, err := scheduler.Parse(e)
		if err != nil {
			return err
		}
		for slot := c.Next(w.begin); slot.Before(w.end); slot = c.Next(slot) {
			jobs, subjects, at = append(jobs, e.Job), append(subjects, e.Subject), append(at, slot.UTC())
		}
	}
	if missing := w.lines(ctx, `
		select t.job, t.subject, t.at from unnest($1::text[], $2::text[], $3::timestamptz[]) as t (job, subject, at)
		left join runs r on r.job = t.job and r.subject = t.subject and r.slot = t.at
		where r.id is null order by t.at`, jobs, subjects, at); len(missing) > 0 {
		errs = append(errs, fmt.Errorf("%d of %d slots have no run, the first: %s", len(missing), len(at), missing[0]))
	}
	return errors.Join(errs...)
}

// verifies waits for the git ledger, and verifies the record from outside.
func (w *contended) verifies(ctx context.Context) error {
	return again(ctx, func() error {
		if left := w.lines(ctx, `select id from ledger_entries where commit_id is null or pushed_at is null`); len(left) > 0 {
			return fmt.Errorf("%d entries of the ledger are not pushed: %s", len(left), w.lines(ctx, `select status, attempt, error from runs where job = 'ledger' order by id desc limit 1`))
		}
		var out bytes.Buffer
		status := run(ctx, []string{"verify", "--no-remember", "--url", w.base, "--ledger", "file://" + w.remote()}, &out, &out)
		if status != 0 || strings.Contains(out.String(), "pending") {
			return fmt.Errorf("tidemark verify ends with %d:\n%s", status, out.String())
		}
		return nil
	})
}

// said stores the log of the program.
type said struct {
	mu    sync.Mutex
	lines []string
}

// Write implements io.Writer.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, string(b))
	if len(s.lines) > 4000 {
		s.lines = s.lines[2000:]
	}
	return len(b), nil
}

func (s *said) last(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines[max(0, len(s.lines)-n):], "")
}

// logTo collects the warnings of the program.
func (w *contended) logTo(t *testing.T) *said {
	t.Helper()
	s := &said{}
	w.log = slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return s
}
