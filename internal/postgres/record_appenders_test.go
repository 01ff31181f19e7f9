package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	process "os/exec"
	"testing"
	"time"

	"tidemark/chain"
	"tidemark/internal/calendar"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// appenderURL tells a copy of this test's process that it is an appender.
const appenderURL = "TIDEMARK_TEST_APPENDER"

// TestAppenderChild is the process that TestAppendersThatAreKilledMakeOneChain starts and kills. It appends a separate pick for the world's
// current day, and announces, as fast as it can.
func TestAppenderChild(t *testing.T) {
	url := os.Getenv(appenderURL)
	if url == "" {
		t.Skip("it runs only as a process of TestAppendersThatAreKilledMakeOneChain")
	}
	db := as(t, url, postgres.RoleWorker)
	for {
		w, err := db.World(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		day := calendar.DayOf(*w.ClockAt).Format(time.DateOnly)
		n := newPick(fmt.Sprintf("P%d", os.Getpid()), "100.00", day)
		n.AnnounceAt = calendar.At(calendar.DayOf(*w.ClockAt), 17*time.Hour)
		if _, _, err := db.AppendPick(t.Context(), task.Fence{}, n); err != nil {
			continue // the day has ended
		}
		if _, err := db.AnnounceDue(t.Context(), task.Fence{}, *w.ClockAt); err != nil {
			t.Log(err)
		}
	}
}

// Eight processes append at once, day after day. Each is killed with SIGKILL at some time and replaced.
func TestAppendersThatAreKilledMakeOneChain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts and kills processes for some seconds")
	}
	const appenders, days = 8, 30
	r := newRecord(t, "2026-01-02")
	random := rand.New(rand.NewPCG(5, 8))
	var running []*process.Cmd
	start := func() *process.Cmd {
		c := process.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAppenderChild$")
		c.Env = append(os.Environ(), appenderURL+"="+r.url)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	kill := func(c *process.Cmd) {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	for range appenders {
		running = append(running, start())
	}
	defer func() {
		for _, c := range running {
			kill(c)
		}
	}()
	kills := 0
	day := date(t, "2026-01-02")
	for i := range days {
		if i > 0 {
			day = calendar.Next(day)
			r.clock(day.Format(time.DateOnly), 17*time.Hour+30*time.Minute)
		}
		for deadline := time.Now().Add(time.Minute); ; {
			if random.IntN(3) == 0 {
				j := random.IntN(appenders)
				kill(running[j])
				running[j] = start()
				kills++
			}
			list, err := r.db.AnnouncedPicks(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == i+1 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("no pick of %s after 30 seconds; the record has %d", day.Format(time.DateOnly), len(list))
			}
			<-time.After(time.Duration(random.IntN(5)) * time.Millisecond) // a kill comes at a random moment
		}
	}
	var v chain.Verifier
	if err := r.db.StreamChain(context.WithoutCancel(t.Context()), v.AddBytes); err != nil {
		t.Fatal(err)
	}
	winners := map[string]bool{}
	for _, p := range r.picks() {
		winners[p.Ticker] = true
	}
	if got := v.Checkpoint(); got.Length != days || got.Date != day.Format(time.DateOnly) {
		t.Errorf("the chain ends at %+v, want %d links up to %s", got, days, day.Format(time.DateOnly))
	}
	if kills < 10 || len(winners) < 3 {
		t.Errorf("%d kills and %d processes with a pick: it shows little", kills, len(winners))
	}
	t.Logf("%d days, %d kills, picks of %d processes", days, kills, len(winners))
}
