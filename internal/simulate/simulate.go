// Package simulate runs the whole product through months in minutes, in one goroutine and in an order that only a seed decides. It uses the
// real scheduler, the real jobs and the real database code, on a virtual clock, with the sandbox's upstreams. It injects all faults that it
// can: processes end at any statement, freeze and resume, tasks are lost and repeated, upstreams fail, publishers stop updating, clocks
// jump, operators interfere. After each simulated day it checks the invariants (see check.go). A seed that breaks an invariant breaks it
// again.
//
// Main passes in the parts of the program that it needs, the jobs and the schedule. Start at Run.
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

// Parts are the parts of the program that main passes to a simulation.
type Parts struct {
	// DatabaseURL is the run's database.
	DatabaseURL string
	DB          *postgres.DB
	Transport   http.RoundTripper
	// Now is the clock of the machine that the jobs run on.
	Now func() time.Time
	// Wait is the engine's sleep function.
	Wait func(ctx context.Context, d time.Duration) error
	// Dir is a folder for files, Archive one below it for the archive. Remote is the address of an empty git repository.
	Dir, Archive, Remote string
	Seed                 uint64
}

// Program is the program that main builds from Parts.
type Program struct {
	Schedules []task.Schedule
	Handlers  map[string]workers.Handler
	Signals   workers.Signals
	Picks     workers.Picks
	Planner   func(now time.Time) backfill.Planner
	// VerifyLedger compares the git ledger with the database, and recomputes both chains.
	VerifyLedger func(ctx context.Context) error
	// Close releases what was opened. It may be nil.
	Close func() error
}

// Options describe a run. Server, Build, From and To are required.
type Options struct {
	Server *Server
	Build  func(ctx context.Context, parts Parts) (Program, error)
	// From and To limit the simulated days; only their dates count.
	From, To time.Time
	Seed     uint64
	// Command is the command that reproduces the run; a failure shows it.
	Command string
	// Day is called after each simulated day. It may be nil.
	Day func(day time.Time)
	// FaultFree means a run without faults and without operators. The invariants are checked only after its last day, so that only the cost
	// of the days remains.
	FaultFree bool
	// Record is the length of a fictitious record (MakeUpRecord), which the world has from the second day on. The first day must not be a
	// trading day then.
	Record int
	// Companies is the minimum number of companies in the synthetic market. Zero means the usual number.
	Companies int
	// Costs receives the cost since the run began, after each simulated day and before any check. It may be nil.
	Costs func(day time.Time, c Cost)
	// Trace receives every line of the trace. It may be nil.
	Trace io.Writer
	// Log receives the program's log. It may be nil.
	Log *slog.Logger
}

// Result is the result of a run without a failure.
type Result struct {
	// Trace is the SHA-256 of the trace, and Lines its number of lines.
	Trace string
	Lines int
	// The counts of events.
	Days, Deliveries, Faults, Charges, Picks, Gaps, Observations int
}

// Failure is a broken invariant.
type Failure struct {
	Seed uint64
	Day  time.Time
	// Invariant is its name, Observed describes the violation.
	Invariant, Observed string
	// Faults are the last faults before it, the newest last.
	Faults  []string
	Command string
}

// Error returns all fields on several lines.
func (f *Failure) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s: %s\n  seen: %s", f.Seed, f.Day.Format(time.DateOnly), f.Invariant, f.Observed)
	for _, line := range f.Faults {
		b.WriteString("\n  fault: " + line)
	}
	if f.Command != "" {
		b.WriteString("\n  again: " + f.Command)
	}
	return b.String()
}

// Run simulates the days from o.From to o.To with a seed. A broken invariant is a *Failure. The same options give the same trace.
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
