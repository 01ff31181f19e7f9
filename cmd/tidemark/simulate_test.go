package main

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/simulate"
)

// Two runs of one seed agree in every decision and in every row of the database.
func TestASeedDecidesEverythingThatHappensInASimulation(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	server, err := simulate.StartServer(t.Context(), []string{filepath.Join(root, ".cache", "debian", "bin")}, "", log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(t.Context()) })
	p := &program{log: log, now: time.Now, stdout: t.Output()}
	live := func(seed uint64) (string, string) {
		var lines strings.Builder
		r, err := simulate.Run(t.Context(), simulate.Options{
			Server: server, Build: p.simulated(log, 40), Seed: seed, Trace: &lines,
			From: time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC), To: time.Date(2020, 1, 8, 0, 0, 0, 0, time.UTC),
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Faults == 0 || r.Picks == 0 {
			t.Errorf("nothing went wrong in two days, or nothing was picked: %+v", r)
		}
		return r.Trace, lines.String()
	}
	first, lines := live(1)
	again, linesAgain := live(1)
	if again != first {
		t.Errorf("seed 1 has two traces:\n%s", cmp.Diff(lines, linesAgain))
	}

	// A calm run has no faults, and reports the cost so far for each day.
	var costs []simulate.Cost
	r, err := simulate.Run(t.Context(), simulate.Options{
		Server: server, Build: p.simulated(log, 40), Seed: 1, FaultFree: true, Costs: func(_ time.Time, c simulate.Cost) { costs = append(costs, c) },
		From: time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC), To: time.Date(2020, 1, 8, 0, 0, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Faults != 0 || r.Picks != 2 || len(costs) != 2 {
		t.Fatalf("a calm run of two days: %+v with %d costs", r, len(costs))
	}
	if a, b := costs[0], costs[1]; a.Picks != 1 || b.Picks != 2 || a.Statements == 0 || b.Statements <= a.Statements || a.Bodies < 50 || a.Archive < 50_000 || b.Archive <= a.Archive || b.Program <= a.Program {
		t.Errorf("the days cost %+v and %+v", a, b)
	}
}

func TestGrowthIsToldAsATable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	g := growth{p: &program{stdout: &out, now: func() time.Time { return at }}, every: measuredEvery, days: measuredDays}
	for day := range 120 {
		n := time.Duration(day)
		g.day(at, simulate.Cost{Picks: day, Program: n * time.Second, Postgres: n * time.Second / 2, Git: n * 10 * time.Millisecond, Statements: int64(day * 900), Rows: int64(day * 100), Resident: 2e8, Archive: int64(day) * 250_000, Bodies: int64(day * 90)})
		at = at.Add(3 * time.Second)
	}
	want := "| 50 | 1.00 s | 0.50 s | 0.01 s | 900 | 100 | 3.0 s | 200 MB | 90 | 250 kB |\n| 100 | 1.00 s | 0.50 s | 0.01 s | 900 | 100 | 3.0 s | 200 MB | 90 | 250 kB |\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got) %s", d)
	}
}
