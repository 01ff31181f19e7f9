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

// Two runs of one seed are the same in every decision and in every row that they leave.
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
			Server: server, Build: p.simulated(log), Seed: seed, Trace: &lines,
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
}
