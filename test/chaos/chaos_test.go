// Package chaos injects faults into a whole installation for some minutes and checks the result. The installation consists of real
// processes on a real Postgres and a real Redis: two schedulers, three workers, two APIs, readers and buyers. A seed decides which fault
// strikes which process, and when. `make chaos` runs it on one Redis, on Sentinels and on a Cluster; `go test` alone tests only its parts.
package chaos

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"tidemark/internal/devstack/redisgroup"
	"tidemark/test/program"
)

var (
	secondsFlag = flag.Int("seconds", 0, "how long things go wrong; 0: not at all")
	seedFlag    = flag.Uint64("seed", 0, "what decides the faults; 0: any")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *secondsFlag > 0 {
		defer program.Build()()
	}
	m.Run()
}

// secondsOfADay is how long a day of the world takes, or somewhat less, so that the past lasts for as long as things go wrong.
const secondsOfADay = 4

// wholeWindow is how long faults occur if the machine has no other work.
const wholeWindow = 5 * time.Minute

// siegeLasts is how long is measured without the attacker, and how long with it, before anything breaks.
const siegeLasts = 6 * time.Second

func TestChaos(t *testing.T) {
	if *secondsFlag == 0 {
		t.Skip("make chaos runs this: it takes minutes, and the whole machine")
	}
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	window := time.Duration(*secondsFlag) * time.Second
	if window < minWindow {
		t.Fatalf("in less than %s there is no time for each kind of fault", minWindow)
	}
	for _, c := range []struct {
		name  string
		start func(ctx context.Context, dir string) (store, error)
		// away is how long a Redis is.
		away span
	}{
		{"plain", startSingle, span{200 * time.Millisecond, 4 * time.Second}},
		{"sentinel", startGroup(redisgroup.StartSentinel), span{3 * time.Second, 8 * time.Second}},
		{"cluster", startGroup(redisgroup.StartCluster), span{4 * time.Second, 9 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Logf("%s of chaos, seed %d", window, seed)
			run(t, window, newPlan(seed, window, c.away), c.start)
		})
	}
}

// run is the chaos of one set-up.
func run(t *testing.T, window time.Duration, plan []fault, start func(ctx context.Context, dir string) (store, error)) {
	t.Helper()
	now := time.Now().UTC()
	begin := now.Truncate(24*time.Hour).AddDate(0, 0, -max(4, int(window.Seconds())/secondsOfADay))
	s := newFixture(t, begin, start)
	s.start("scheduler", schedulers)
	s.start("worker", workers)
	program.Until(t, 5*time.Minute, "the first work is done", func() (bool, string) {
		missing, err := unrecorded(t.Context(), s.db, begin)
		if err != nil || missing != "" {
			return false, fmt.Sprint(missing, err)
		}
		open, err := s.db.Unfinished(t.Context(), begin)
		return err == nil && !open, fmt.Sprint(s.query(`select status, count(*) from runs group by 1`), err)
	})
	s.apis = s.start("api", apis)

	saw := &seen{bought: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var clients, buyers sync.WaitGroup
	defer clients.Wait()
	defer cancel()
	stop := make(chan struct{})
	for i := range apis {
		key := s.register(i + 1)
		buyers.Go(func() { saw.buy(ctx, stop, i+1, key, s.apis) })
		clients.Go(func() { saw.read(ctx, s.apis, i) })
	}
	attack, calmed := context.WithCancel(ctx)
	defer calmed()
	var attacks sync.WaitGroup
	siege := s.besiege(attack, saw, siegeLasts, &attacks)
	lived := past{db: s.db, begin: begin, end: now}
	present := make(chan error, 1)
	clients.Go(func() { present <- lived.lived(ctx) })

	began := time.Now()
	done := s.disturb(plan, began)
	_ = sleep(ctx, time.Until(began.Add(window)))
	calmed()
	attacks.Wait()
	s.forget()
	close(stop)
	late := time.AfterFunc(3*time.Minute, cancel)
	buyers.Wait()
	late.Stop()
	// After the faults the world continues to the present.
	select {
	case err := <-present:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(10*time.Minute + window):
		t.Fatal("the world's clock does not reach the present")
	}
	took := time.Since(began)
	cancel()
	clients.Wait()
	s.check(lived, saw)
	s.checkSiege(siege, window >= wholeWindow)
	t.Log(s.report(plan, done, lived, saw, began, took), "\nthe attacker: ", siege)
}

// broken is the outcome of the faults.
type broken struct{ replaced int }

// disturb does the faults at their times, and repairs each.
func (s *cluster) disturb(plan []fault, began time.Time) (b broken) {
	s.t.Helper()
	type act struct {
		at     time.Duration
		fault  fault
		repair bool
	}
	var acts []act
	for _, f := range plan {
		acts = append(acts, act{f.at, f, false}, act{f.at + f.lasts, f, true})
	}
	slices.SortStableFunc(acts, func(a, b act) int { return int(a.at - b.at) })
	for _, a := range acts {
		if err := sleep(s.t.Context(), time.Until(began.Add(a.at))); err != nil {
			s.t.Fatal(err)
		}
		if !a.repair {
			if err := s.do(a.fault); err != nil {
				s.t.Fatalf("%s of %s: %v", a.fault.what, a.fault.victim, err)
			}
			continue
		}
		replaced, err := s.repair(a.fault)
		if err != nil {
			s.t.Fatalf("repair of %s of %s: %v", a.fault.what, a.fault.victim, err)
		}
		if replaced {
			b.replaced++
		}
	}
	return b
}

// report lists the faults, with their victims, and the observations.
func (s *cluster) report(plan []fault, b broken, p past, saw *seen, began time.Time, took time.Duration) string {
	s.t.Helper()
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 4, 2, ' ', 0)
	line := func(what string, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...))
	}
	_, _ = fmt.Fprintln(w)
	for _, what := range slices.Sorted(slices.Values(kinds)) {
		n, total := 0, time.Duration(0)
		for _, f := range plan {
			if f.what == what {
				n, total = n+1, total+f.lasts
			}
		}
		line(what, "%d times, %s in all", n, total.Round(100*time.Millisecond))
	}
	line("primaries replaced", "%d", b.replaced)
	line("the world's time", "%s to %s in %s", p.begin.Format(time.DateOnly), p.end.Format(time.DateOnly), took.Round(time.Second))
	again := 0
	for _, u := range s.units {
		again += u.restarted()
	}
	line("processes that found no Postgres", "%d, started again", again)
	line("public reads", "%d, none failed: %t; %d marked, %d passed on to the other API, the slowest %s",
		saw.reads, len(saw.wrong) == 0, saw.degraded, saw.passed, saw.slowest.Round(time.Millisecond))
	total := 0
	for _, price := range saw.bought {
		total += price
	}
	line("purchases", "%d delivered for $%.3f in %d tries; %d put off, %d unanswered, %d too early",
		len(saw.bought), float64(total)/1e6, saw.tries, saw.refused, saw.unanswered, saw.nothing)
	line("runs", "%s", strings.Join(s.query(`select status || ' ' || count(*) from runs group by status order by status`), ", "))
	line("attempts", "%s", s.query(`select format('%s, %s lost with their worker, %s failed', sum(attempt), sum(losses), sum(failures)) from runs`)[0])
	line("longest time without a run that ended", "%s", s.query(`
		select coalesce(max(gap), interval '0')::text from (
			select finished_at - lag(finished_at) over (order by finished_at) as gap from runs where finished_at between $1 and $2) g`,
		began, began.Add(took))[0])
	for _, slow := range s.query(`
		select format('%s after it was recorded: %s %s of %s, %s attempts', date_trunc('milliseconds', finished_at - created_at), job, subject, slot, attempt)
		from runs where finished_at is not null and created_at > $1 order by finished_at - created_at desc limit 3`, began) {
		line("slowest runs", "%s", slow)
	}
	line("picks", "%s", s.query(`select format('%s, %s announced, %s days without one', (select count(*) from picks),
		(select count(*) from announcements), (select count(*) from gaps))`)[0])
	_ = w.Flush()
	return out.String()
}
