package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"tidemark/internal/ops"
	"tidemark/internal/telemetry"
)

// welcome is the output of `up` for the person who started it. On a terminal, it shows a bar for the simulated history of a sandbox, and
// the addresses when everything is ready. Elsewhere, it logs both.
type welcome struct {
	p  *program
	w  *worldRuntime
	on listeners

	began, from time.Time
	drawn       time.Time
	present     chan struct{}
	reached     sync.Once
}

func (p *program) welcome(w *worldRuntime, on listeners) *welcome {
	return &welcome{p: p, w: w, on: on, began: p.now(), from: w.now(), present: make(chan struct{})}
}

// begin says what the program starts: in words on a terminal, and elsewhere in a line on the standard output, in the
// log's format, with the addresses.
func (g *welcome) begin(ctx context.Context) {
	var words []string
	switch g.w.name {
	case "sandbox":
		words = append(words, "This is the sandbox: every number is made up, and marked so.")
		if g.w.catchingUp {
			words = append(words, fmt.Sprintf("It begins on %s and lives through the days until now in some minutes.", g.from.Format(time.DateOnly)))
		}
		if g.w.old && g.p.settings.SandboxDays != defaultSandboxDays {
			words = append(words, "It was here before and goes on. SANDBOX_DAYS counts for a new one only.")
		}
	case "replay":
		words = append(words, fmt.Sprintf("This is a replay of %s, at %s.", g.p.settings.ReplayArchive, g.from.Format(time.RFC3339)))
	}
	if g.p.terminal != nil {
		for _, line := range words {
			_, _ = fmt.Fprintln(g.p.terminal, line)
		}
		return
	}
	base := g.p.settings.BaseURL()
	attrs := []any{"world", g.w.name, "pages", base + "/", "signals", base + "/api/signals"}
	if l := g.on["OPS_ADDR"]; l != nil {
		attrs = append(attrs, "operators", "http://"+l.Addr().String()+"/")
	}
	if len(words) > 0 {
		attrs = append(attrs, "notice", strings.Join(words, " "))
	}
	// The person who starts the program needs the addresses at every level of the log.
	telemetry.Logger(g.p.stdout, g.p.settings.LogFormat, "info").InfoContext(ctx, "starting", attrs...)
}

// redraw is the interval at which the bar is drawn.
const redraw = 200 * time.Millisecond

// step shows that the sandbox's clock has reached an instant. A nil welcome shows nothing.
func (g *welcome) step(at time.Time) {
	if g == nil {
		return
	}
	now := g.p.now()
	if g.p.terminal == nil || now.Sub(g.drawn) < redraw {
		return
	}
	g.drawn = now
	g.p.terminal.Progress(historyLine(g.from, at, now, now.Sub(g.began), g.p.terminal.Columns()))
}

// arrive records that the sandbox has reached the present. A nil welcome does nothing.
func (g *welcome) arrive() {
	if g == nil {
		return
	}
	g.reached.Do(func() { close(g.present) })
}

// ready waits until all parts answer and a sandbox is in the present, and then prints the addresses. If the output is not a terminal, it
// logs a line.
func (g *welcome) ready(ctx context.Context, parts []ops.Readiness) error {
	if g.w.catchingUp {
		select {
		case <-ctx.Done():
		case <-g.present:
		}
		if g.p.terminal != nil {
			g.p.terminal.Progress("")
		}
	}
	// A stopped program is not ready, although its parts may still answer.
	if ctx.Err() != nil {
		return nil
	}
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for _, part := range parts {
		for !part.OK() {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	}
	if g.p.terminal == nil {
		g.p.log.InfoContext(ctx, "ready", "address", g.p.settings.BaseURL(), "took", g.p.now().Sub(g.began))
		return nil
	}
	_, _ = fmt.Fprintf(g.p.terminal, "\nReady after %s.\n", telemetry.Duration(g.p.now().Sub(g.began)))
	g.where(g.p.terminal)
	return nil
}

// where prints the addresses, and commands to try.
func (g *welcome) where(out io.Writer) {
	base, world := g.p.settings.BaseURL(), g.p.settings.World
	rows := [][2]string{{base + "/", "the signals, to look at"}, {base + "/api/signals", "the same for programs"}}
	if l := g.on["OPS_ADDR"]; l != nil {
		rows = append(rows, [2]string{"http://" + l.Addr().String() + "/", "for its operator"})
	}
	tidemark, at := programName(os.Args[0]), " --world="+world
	if dir := g.p.settings.StateDir; dir != defaultStateDir {
		at += " --state-dir=" + dir
	}
	rows = append(rows,
		[2]string{tidemark + " verify --url " + base, "check the record yourself"},
		[2]string{tidemark + " runs" + at, "the run log"},
		[2]string{tidemark + " doctor" + at, "check the installation"})
	var b strings.Builder
	b.WriteString("\n")
	for _, r := range rows {
		_, _ = fmt.Fprintf(&b, "  %-46s  %s\n", r[0], r[1])
	}
	b.WriteString("\nCtrl-C stops everything.\n")
	_, _ = io.WriteString(out, b.String())
}

// The defaults of STATE_DIR and SANDBOX_DAYS.
const (
	defaultStateDir    = ".tidemark"
	defaultSandboxDays = 120
)

// programName is how the person who started this program can call it again. go run builds it into a folder that it deletes afterwards.
func programName(started string) string {
	if strings.Contains(started, "/go-build") {
		return "go run ./cmd/tidemark"
	}
	return started
}

// historyLine returns the progress of a simulated history: a bar, the days, the date, and the estimated time left. It fits in width
// characters.
func historyLine(from, at, until time.Time, took time.Duration, width int) string {
	const day = 24 * time.Hour
	total, done := max(until.Sub(from), day), min(max(at.Sub(from), 0), until.Sub(from))
	part := float64(done) / float64(total)
	text := fmt.Sprintf(" %d of %d days, %s", int(done/day), int(total/day), at.UTC().Format(time.DateOnly))
	longest := len(fmt.Sprintf(" %[1]d of %[1]d days, %s, about 59m59s left", int(total/day), time.DateOnly)) // the bar keeps its width
	if done > 0 {
		text += fmt.Sprintf(", about %s left", telemetry.Duration(time.Duration(float64(took)*(1-part)/part).Round(time.Second)))
	}
	cells := min(width-max(longest, len(text))-len("History []")-1, 40)
	if cells < 5 {
		return fmt.Sprintf("%.*s", max(width-1, 0), "History:"+text)
	}
	full := int(part * float64(cells))
	return "History [" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "]" + text
}
