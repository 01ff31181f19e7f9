package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"tidemark/internal/config"
	"tidemark/internal/devchain"
	"tidemark/internal/redisurl"
	"tidemark/internal/telemetry"
)

// commands is the command line. Every setting is a flag of every command.
type commands struct {
	config.Settings

	Up         upCommand         `cmd:"" help:"Run everything in one process, with a private Postgres and Redis where none is given."`
	Scheduler  schedulerCommand  `cmd:"" help:"Run a scheduler: any number may run at once."`
	Worker     workerCommand     `cmd:"" help:"Run a worker: any number may run at once."`
	API        apiCommand        `cmd:"" name:"api" help:"Run the public read-only API: any number may run at once."`
	Doctor     doctorCommand     `cmd:"" help:"Look at everything that an installation needs; a line for each, with the repair."`
	Alerts     alertsCommand     `cmd:"" help:"Print the alerts."`
	Health     healthCommand     `cmd:"" help:"Ask the process at OPS_ADDR whether it is ready."`
	Queue      queueCommand      `cmd:"" help:"Serve the queue's own monitor at OPS_ADDR, to look at."`
	Migrate    migrateCommand    `cmd:"" help:"Bring the database to this program's schema."`
	Runs       runsCommand       `cmd:"" help:"Print the run log."`
	Schedule   scheduleCommand   `cmd:"" help:"Print the schedule; run, pause, resume one of its jobs."`
	Backfill   backfillCommand   `cmd:"" help:"Compute a signal for days of the past: plan, apply, follow."`
	Signals    signalsCommand    `cmd:"" help:"Print the states of the signals; deprecate or restore one."`
	Explain    explainCommand    `cmd:"" help:"Follow a served number back to the archived bytes, and compute it again."`
	Verify     verifyCommand     `cmd:"" help:"Recompute a server's public chain and ask its witnesses, trusting the server for nothing."`
	Quarantine quarantineCommand `cmd:"" help:"Look at the answers that a check refused, and decide about them."`
	Payments   paymentsCommand   `cmd:"" help:"Look at the payments by request, and reconcile them with the chain."`
	Ledger     ledgerCommand     `cmd:"" help:"Look at the git ledger of the picks."`
	Chain      chainCommand      `cmd:"" help:"Look at the attestations on the L2; set them up."`
	Keys       keysCommand       `cmd:"" help:"Look at the API keys; revoke, credit, upgrade one, move what it has."`
	Archive    archiveCommand    `cmd:"" help:"Move archived upstream bytes in and out."`
	Reparse    reparseCommand    `cmd:"" help:"Rebuild observations from the archive alone."`
	Picks      picksCommand      `cmd:"" help:"The daily picks: list, explain, choose, correct."`
	Portfolio  portfolioCommand  `cmd:"" help:"The model portfolio: rebuild it, print its events and the weekly digest."`
	Simulate   simulateCommand   `cmd:"" help:"Live through months under faults on a virtual clock, and check the invariants after each day."`
	Help       helpCommand       `cmd:"" help:"Explain the settings."`
	Version    versionCommand    `cmd:"" help:"Print the version."`
	Completion completionCommand `cmd:"" help:"Print the script by which a shell completes commands and flags."`

	CompleteWords completeWordsCommand `cmd:"" hidden:"" help:"Complete words."`
}

// program is what a command works with.
type program struct {
	settings config.Settings
	stdout   io.Writer
	log      *slog.Logger
	// now is the wall clock.
	now func() time.Time
	// metrics are those of this process.
	metrics *telemetry.Metrics
	// tracer is nil where no collector is set.
	tracer *telemetry.Tracer
	// dev is the development chain that `up` runs in a sandbox, nil elsewhere.
	dev *devchain.Chain
}

// usageError is a mistake in the command line or the settings: exit status 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run is the program as a function: it parses args, runs one command until it is done or ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := command(ctx, args, stdout, stderr)
	switch ue := (usageError{}); {
	case err == nil:
		return 0
	case errors.As(err, &ue):
		_, _ = fmt.Fprintf(stderr, "tidemark: %v\n", err)
		return 2
	default:
		_, _ = fmt.Fprintf(stderr, "tidemark: %v\n", err)
		return 1
	}
}

func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if err := config.LoadEnvFile(".env"); err != nil {
		return usageError{err}
	}
	var c commands
	exited := false
	parser, err := kong.New(&c,
		kong.Name("tidemark"),
		kong.Description("Market signals from free public sources, one stock pick per business day, and a record that anyone can verify."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { exited = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return fmt.Errorf("read the command line: %w", err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited {
		return nil // help was printed
	}
	if err != nil {
		return usageError{fmt.Errorf("%w (see `tidemark --help`)", err)}
	}
	if err := c.Validate(); err != nil {
		return usageError{err}
	}
	p := &program{
		settings: c.Settings,
		stdout:   stdout,
		log:      telemetry.Logger(stderr, c.LogFormat, c.LogLevel),
		now:      time.Now,
		metrics:  telemetry.NewMetrics(version, commit(), time.Now),
	}
	redisurl.LogTo(p.log)
	if p.tracer, err = p.newTracer(ctx); err != nil {
		return usageError{err}
	}
	defer p.endTraces(ctx)
	return parsed.Run(ctx, p)
}

type migrateCommand struct{}

type helpCommand struct {
	Topic string `arg:"" optional:"" enum:"settings," default:"settings" help:"settings"`
}

type versionCommand struct{}
