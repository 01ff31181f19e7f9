// Package simulate drives the whole product through months in minutes, in one goroutine and in an order that a seed alone decides: the
// real scheduler, the real jobs and the real database code, on a virtual clock, against the sandbox's upstreams. Everything goes wrong
// that can be made to: processes end at any statement, freeze and come back, tasks are lost and repeated, upstreams fail, publishers stand
// still, clocks jump, operators interfere. After each simulated day the invariants are checked (see check.go). A seed that breaks one
// does so again.
//
// What it needs of the program, its jobs and its schedule, is handed in by main. Start at Run.
package simulate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"tidemark/backfill"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/workers"
)

// Parts are what the program is built on in a simulation.
type Parts struct {
	// DatabaseURL is the run's database.
	DatabaseURL string
	DB          *postgres.DB
	Transport   http.RoundTripper
	// Now is the clock of the machine that the jobs run on.
	Now func() time.Time
	// Wait is the engine's sleep.
	Wait func(ctx context.Context, d time.Duration) error
	// Dir is a folder for files, Remote the address of an empty git repository.
	Dir, Remote string
	Seed        uint64
}

// Program is what main builds on them.
type Program struct {
	Schedules []task.Schedule
	Handlers  map[string]workers.Handler
	Signals   workers.Signals
	Picks     workers.Picks
	Planner   func(now time.Time) backfill.Planner
	// VerifyLedger compares the git ledger with the database, and recomputes the chain of both.
	VerifyLedger func(ctx context.Context) error
	// Close releases what was opened. It may be nil.
	Close func() error
}

// Options describe a run. Server, Build, From and To are required.
type Options struct {
	Server *Server
	Build  func(ctx context.Context, parts Parts) (Program, error)
	// From and To bound the simulated days; their dates count.
	From, To time.Time
	Seed     uint64
	// Command reproduces the run; it is told with a failure.
	Command string
	// Day is called after each simulated day. It may be nil.
	Day func(day time.Time)
	// Calm is a run in which nothing goes wrong and nobody interferes. The invariants are checked after its last day alone, so that what is
	// left is what the days cost.
	Calm bool
	// Record is the length of a record that nobody lived through (MakeUpRecord), which the world has from the second day on. The first day must
	// be none of trading then.
	Record int
	// Companies is how many companies the synthetic market has at least; zero: as many as usual.
	Companies int
	// Costs is told after each simulated day, before anything is checked, what was spent since the run began. It may be nil.
	Costs func(day time.Time, c Cost)
	// Trace gets every line of the trace. It may be nil.
	Trace io.Writer
	// Log gets what the program logs. Nil: nowhere.
	Log *slog.Logger
}

// Result is what a run without a failure came to.
type Result struct {
	// Trace is the SHA-256 of the trace, and Lines what it covers.
	Trace string
	Lines int
	// Counts of what happened.
	Days, Deliveries, Faults, Charges, Picks, Gaps, Observations int
}

// Failure is an invariant that was broken.
type Failure struct {
	Seed uint64
	Day  time.Time
	// Invariant is its name, Seen what was seen.
	Invariant, Seen string
	// Faults are the last ones before it, the newest last.
	Faults  []string
	Command string
}

// Error tells all of it, on several lines.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: %s\n  seen: %s", f.Seed, f.Day.Format(time.DateOnly), f.Invariant, f.Seen)
	for _, line := range f.Faults {
		b.WriteString("\n  fault: " + line)
	}
	if f.Command != "" {
		b.WriteString("\n  again: " + f.Command)
	}
	return b.String()
}

// Run simulates the days from o.From to o.To under a seed. A broken invariant is a *Failure. The same options give the same trace.
func Run(ctx context.Context, o Options) (res Result, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.From, o.To = o.From.UTC().Truncate(24*time.Hour), o.To.UTC().Truncate(24*time.Hour)
	if !o.From.Before(o.To) {
		return res, errors.New("a simulation ends after it begins")
	}
	dir, err := os.MkdirTemp(o.Server.dir, "run-")
	if err != nil {
		return res, fmt.Errorf("make a folder for the run: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	name := fmt.Sprintf("seed_%d_%d", o.Seed, os.Getpid())
	if err := o.Server.drop(ctx, name); err != nil {
		return res, err
	}
	url, err := o.Server.create(ctx, name)
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, o.Server.drop(context.WithoutCancel(ctx), name)) }()
	r, err := newRun(ctx, o, url, dir)
	if err != nil {
		return res, err
	}
	defer r.close()
	err = r.live(ctx)
	r.result.Trace, r.result.Lines = r.trace.sum(), r.trace.lines
	return r.result, err
}
