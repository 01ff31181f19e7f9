package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"tidemark/internal/config"
	"tidemark/internal/telemetry"
)

func TestTheHistoryHasABar(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 7, 25, 0, 0, 0, 0, time.UTC)
	until := from.AddDate(0, 0, 120)
	for _, c := range []struct {
		days  int
		took  time.Duration
		width int
		want  string
	}{
		{0, 0, 120, "History [" + strings.Repeat("-", 40) + "] 0 of 120 days, 2026-07-25"},
		{30, 20 * time.Second, 120, "History [##########------------------------------] 30 of 120 days, 2026-08-24, about 1m0s left"},
		{0, 0, 80, "History [" + strings.Repeat("-", 22) + "] 0 of 120 days, 2026-07-25"},
		{60, time.Minute, 80, "History [" + strings.Repeat("#", 11) + strings.Repeat("-", 11) + "] 60 of 120 days, 2026-09-23, about 1m0s left"},
		{120, time.Minute, 120, "History [" + strings.Repeat("#", 40) + "] 120 of 120 days, 2026-11-22, about 0s left"},
		{60, time.Minute, 40, "History: 60 of 120 days, 2026-09-23, ab"},
	} {
		got := historyLine(from, from.AddDate(0, 0, c.days), until, c.took, c.width)
		if got != c.want || len(got) >= c.width {
			t.Errorf("%d days in %d columns:\n%s, want\n%s", c.days, c.width, got, c.want)
		}
	}
}

func TestTheWelcomeNamesTheProgramAsItWasCalled(t *testing.T) {
	t.Parallel()
	for started, want := range map[string]string{
		"/tmp/go-build2836031098/b001/exe/tidemark": "go run ./cmd/tidemark",
		"./tidemark":              "./tidemark",
		"/usr/local/bin/tidemark": "/usr/local/bin/tidemark",
	} {
		if got := programName(started); got != want {
			t.Errorf("%s is called by %q, want %q", started, got, want)
		}
	}
}

// What the ready block says to type finds the sandbox that says it.
func TestTheWelcomeNamesTheFolder(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{defaultStateDir: " runs --world=sandbox  ", "/tmp/other": " runs --world=sandbox --state-dir=/tmp/other  "} {
		p := &program{}
		p.settings.World, p.settings.StateDir = "sandbox", dir
		var out strings.Builder
		(&welcome{p: p}).where(&out)
		if !strings.Contains(out.String()+"  ", strings.TrimRight(want, " ")) {
			t.Errorf("in %s:\n%s\nwant%s", dir, out.String(), want)
		}
	}
}

// A length of the history that was asked for and is not read is said.
func TestASandboxThatWasThereSaysSo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old  bool
		days int
		want bool
	}{{true, 7, true}, {true, defaultSandboxDays, false}, {false, 7, false}} {
		var out strings.Builder
		p := &program{now: time.Now, stdout: &out}
		p.settings.LogFormat, p.settings.SandboxDays = telemetry.FormatJSON, c.days
		(&welcome{p: p, w: &worldRuntime{name: "sandbox", old: c.old}}).begin(t.Context())
		if strings.Contains(out.String(), "SANDBOX_DAYS counts for a new one only") != c.want {
			t.Errorf("%+v: it says %s", c, out.String())
		}
	}
}

// What is stopped during its history is not ready.
func TestAStoppedHistoryIsNotReady(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out strings.Builder
	p := &program{now: time.Now, log: telemetry.Logger(&out, telemetry.FormatJSON, "info")}
	for _, catchingUp := range []bool{true, false} {
		w := &worldRuntime{catchingUp: catchingUp}
		if err := (&welcome{p: p, w: w, present: make(chan struct{})}).ready(ctx, nil); err != nil || out.Len() > 0 {
			t.Errorf("stopped, it says %q (%v)", out.String(), err)
		}
	}
}

func TestTheDefaultsAreThoseOfTheSettings(t *testing.T) {
	t.Parallel()
	s, err := config.Defaults()
	if err != nil || s.StateDir != defaultStateDir || s.SandboxDays != defaultSandboxDays {
		t.Errorf("the settings' defaults are %q and %d (%v), want %q and %d", s.StateDir, s.SandboxDays, err, defaultStateDir, defaultSandboxDays)
	}
}
