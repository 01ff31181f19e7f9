package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What `sandbox fault` tells an operator to type is a run that the schedule has, for sources of companies and prices as well.
func TestAFaultNamesARunThatTheScheduleAccepts(t *testing.T) {
	t.Parallel()
	l := newLedger(t)
	p := &program{}
	p.settings.World = "sandbox"
	if err := l.db.SaveSchedules(t.Context(), p.schedule()); err != nil {
		t.Fatal(err)
	}
	state := t.TempDir()
	if err := os.MkdirAll(filepath.Join(state, "sandbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) (status int, said string) {
		var out strings.Builder
		args = append(args, "--world=sandbox", "--database-url="+l.url, "--state-dir="+state, "--log-level=error")
		return run(t.Context(), args, &out, &out), out.String()
	}
	sources := p.faultable()
	for _, id := range []string{"fred-cpi", "edgar-companies", "edgar-current", "edgar-submissions", "edgar-facts", "prices-yahoo"} {
		if !slices.Contains(sources, id) {
			t.Errorf("%s cannot have a fault, only %q", id, sources)
		}
	}
	begun := map[string]bool{}
	for _, id := range sources {
		status, said := command("sandbox", "fault", id, "away")
		_, see, _ := strings.Cut(said, "see it with `tidemark ")
		see, _, ok := strings.Cut(see, " --wait`")
		if status != 0 || !ok {
			t.Errorf("%s: status %d: %s", id, status, said)
			continue
		}
		if begun[see] { // one run requests several sources
			continue
		}
		begun[see] = true
		if status, said := command(strings.Fields(see)...); status != 0 || !strings.HasPrefix(said, "run ") {
			t.Errorf("%s: %s: status %d: %s", id, see, status, said)
		}
	}
	// A sandbox has one publisher of prices, and requests no other.
	if status, said := command("sandbox", "fault", "prices-nasdaq", "away"); status != 2 || !strings.Contains(said, `"prices-nasdaq" is not known`) {
		t.Errorf("a source that a sandbox does not request: status %d: %s", status, said)
	}
}
