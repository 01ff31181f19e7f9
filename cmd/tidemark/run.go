package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"tidemark/internal/config"
	"tidemark/internal/devchain"
	"tidemark/internal/nearest"
	"tidemark/internal/plain"
	"tidemark/internal/postgres"
	"tidemark/internal/redisurl"
	"tidemark/internal/telemetry"
)

// commands is the command line. Each command embeds the groups of settings that it reads. Each of these settings is a flag of the command.
type commands struct {
	config.Logging

	Up        upCommand        `cmd:"" group:"run" help:"Run everything in one process: the way to try it"`
	Scheduler schedulerCommand `cmd:"" group:"run" help:"Run a scheduler; any number may run at once"`
	Worker    workerCommand    `cmd:"" group:"run" help:"Run a worker; any number may run at once"`
	API       apiCommand       `cmd:"" group:"run" name:"api" help:"Run the public API and pages; any number may run at once"`
	Queue     queueCommand     `cmd:"" group:"run" help:"Serve the queue's own monitor at OPS_ADDR, to look at"`
	Monitor   monitorCommand   `cmd:"" group:"run" help:"Follow transparency logs from outside, and alert"`
	Migrate   migrateCommand   `cmd:"" group:"run" help:"Bring the database to this program's schema"`
	Backup    backupCommand    `cmd:"" group:"run" help:"Write a backup of the installation, or verify one"`
	Restore   restoreCommand   `cmd:"" group:"run" help:"Bring an installation back from a backup"`

	Doctor   doctorCommand   `cmd:"" group:"look" help:"Check the installation and print a fix for each problem"`
	Health   healthCommand   `cmd:"" group:"look" help:"Ask the process at OPS_ADDR whether it is ready"`
	Alerts   alertsCommand   `cmd:"" group:"look" help:"Print the alerts"`
	Workers  workersCommand  `cmd:"" group:"look" help:"Print the workers, what each does and since when"`
	Actions  actionsCommand  `cmd:"" group:"look" help:"Print what operators did on the private pages"`
	Runs     runsCommand     `cmd:"" group:"look" help:"Print the run log, or one run in full"`
	Schedule scheduleCommand `cmd:"" group:"look" help:"Print the schedule; run, pause or resume a job"`

	Signals    signalsCommand    `cmd:"" group:"data" help:"Print the states of the signals; deprecate or restore one"`
	Explain    explainCommand    `cmd:"" group:"data" help:"Follow a number to its archived bytes, compute it again"`
	Backfill   backfillCommand   `cmd:"" group:"data" help:"Compute a signal for past days: plan, apply, follow"`
	Quarantine quarantineCommand `cmd:"" group:"data" help:"Print answers that a check refused; accept or reject one"`
	Reparse    reparseCommand    `cmd:"" group:"data" help:"Rebuild observations from the archive alone"`
	Archive    archiveCommand    `cmd:"" group:"data" help:"Export and import archived upstream bytes"`
	Publish    publishCommand    `cmd:"" group:"data" help:"Copy the daily data sets to a folder or bucket"`

	Picks     picksCommand     `cmd:"" group:"record" help:"The daily picks: list, explain, choose, correct"`
	Portfolio portfolioCommand `cmd:"" group:"record" help:"The model portfolio: days, events, digest, rebuild"`
	Ledger    ledgerCommand    `cmd:"" group:"record" help:"Look at the git ledger of the picks"`
	Chain     chainCommand     `cmd:"" group:"record" help:"Look at the attestations on the L2; set them up"`
	Log       logCommand       `cmd:"" group:"record" help:"The transparency log: its state and its keys"`
	Witness   witnessCommand   `cmd:"" group:"record" help:"Cosign logs of others: make a witness, add a log, serve"`
	Verify    verifyCommand    `cmd:"" group:"record" help:"Check a server's public record without trusting it"`
	Scorecard scorecardCommand `cmd:"" group:"record" help:"Recompute the scores of a server's forecasts"`

	Keys     keysCommand     `cmd:"" group:"clients" help:"Print the API keys; revoke, credit, grant or move one"`
	Payments paymentsCommand `cmd:"" group:"clients" help:"Print payments by request; reconcile them with the chain"`

	Sandbox    sandboxCommand    `cmd:"" group:"more" help:"Let upstreams of a sandbox misbehave, to see what follows"`
	Simulate   simulateCommand   `cmd:"" group:"more" help:"Run months under faults on a virtual clock, and check them"`
	Completion completionCommand `cmd:"" group:"more" help:"Print the script that completes commands in a shell"`
	Help       helpCommand       `cmd:"" group:"more" help:"Explain a command, or all settings"`
	Version    versionCommand    `cmd:"" group:"more" help:"Print the version"`

	CompleteWords completeWordsCommand `cmd:"" hidden:"" help:"Complete words."`
}

// program holds what all commands use: the settings, the outputs, the clock and the telemetry.
type program struct {
	settings config.Settings
	stdout   io.Writer
	log      *slog.Logger
	// terminal is the user's terminal, nil if the output is not a terminal.
	terminal *telemetry.Terminal
	// now is the wall clock.
	now func() time.Time
	// metrics are the metrics of this process.
	metrics *telemetry.Metrics
	// made lists the settings of logins that were not set, and that this process has made.
	made []string
	// tracer is nil if no collector is set.
	tracer *telemetry.Tracer
	// tasks is how many tasks this process runs at once, 0 if it is not a worker.
	tasks int
	// dev is the development chain that `up` runs in a sandbox, otherwise nil.
	dev *devchain.Chain
	// cancel ends the context of the command with a cause, which is then its error.
	cancel context.CancelCauseFunc
	// answers is COMMAND_TIMEOUT; 0 for roles, which do not read it.
	answers time.Duration
	// urgent is the second signal. It may be nil.
	urgent *urgency
}

// usageError is a mistake in the command line or the settings. Its exit status is 2.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run parses args, runs one command until it is done or ctx ends, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	say := lastLine(stderr, "")
	err := command(ctx, args, stdout, stderr, &say)
	if err == nil {
		return 0
	}
	say(plain.Error(err))
	switch ue := (usageError{}); {
	case errors.As(err, &ue), errors.Is(err, errNoVerdict):
		return 2
	case errors.Is(err, errNotWitnessed):
		return 3
	default:
		return 1
	}
}

// roles are the commands that run until they are stopped. Their errors are read where their log is.
var roles = []string{"up", "scheduler", "worker", "api", "queue", "monitor", "witness"}

// lastLine returns the function that writes the error with which a command ends: as a line of the log if its format is JSON, otherwise as
// text.
func lastLine(stderr io.Writer, format string) func(text string) {
	if format == telemetry.FormatJSON {
		return func(text string) { telemetry.Logger(stderr, format, "").Error("tidemark has ended", "err", text) }
	}
	return func(text string) { _, _ = fmt.Fprintf(stderr, "tidemark: %s\n", printableLines(text)) }
}

// wantedFormat returns the format of the last line of a command line that may have errors: the log format for a role, text for others.
func wantedFormat(args []string) (format string) {
	if !slices.ContainsFunc(args, func(a string) bool { return slices.Contains(roles, a) }) {
		return telemetry.FormatText
	}
	const variable, flag = "LOG_FORMAT=", "--log-format"
	for _, v := range config.Environ() {
		if value, ok := strings.CutPrefix(v, variable); ok {
			format = value
		}
	}
	for i, a := range args {
		if value, ok := strings.CutPrefix(a, flag+"="); ok {
			format = value
		} else if a == flag && i+1 < len(args) {
			format = args[i+1]
		}
	}
	return format
}

// command runs one command. It sets say to the function that writes the command's error.
func command(ctx context.Context, args []string, stdout, stderr io.Writer, say *func(text string)) error {
	file, err := config.LoadEnvFile(".env")
	*say = lastLine(stderr, wantedFormat(args))
	if err != nil {
		return usageError{err}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var c commands
	exited := false
	parser, err := kong.New(&c,
		kong.Name("tidemark"),
		kong.Description("Market signals from public sources, a daily stock pick, a verifiable record."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { exited = true }),
		kong.Help(printHelp),
		kong.ExplicitGroups(purposes),
		commandVars(),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return fmt.Errorf("read the command line: %w", err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(hoisted(parser.Model.Node, args))
	if exited {
		return nil // help was printed
	}
	if err != nil {
		return usageError{fmt.Errorf("%s%s (see `tidemark --help`)", ofSetting(err, plainly(err.Error())), meant(err, args))}
	}
	settings, doubts, err := settingsOf(parsed, file)
	if err != nil {
		return usageError{err}
	}
	if slices.Contains(roles, strings.Fields(parsed.Command())[0]) {
		*say = lastLine(stderr, settings.LogFormat)
	}
	urgencyOf(ctx).sayWith(*say)
	p := &program{
		settings: settings,
		stdout:   stdout,
		log:      telemetry.Logger(stderr, settings.LogFormat, settings.LogLevel),
		now:      time.Now,
		cancel:   cancel,
		answers:  settings.CommandTimeout,
		urgent:   urgencyOf(ctx),
		metrics:  telemetry.NewMetrics(version, commit(), time.Now),
	}
	if t := telemetry.NewTerminal(stderr); t != nil && settings.LogFormat == telemetry.FormatAuto {
		p.terminal, p.log = t, t.Logger(settings.LogLevel)
	}
	for _, d := range doubts {
		p.log.WarnContext(ctx, "the environment has a name that is not a setting; ignore this if it belongs to another program", "name", d.Name, "nearest", d.Setting)
	}
	redisurl.LogTo(p.log)
	redisurl.CountTo(p.metrics.RedisTransient)
	if p.tracer, err = p.newTracer(ctx); err != nil {
		return usageError{err}
	}
	defer p.flushTraces(ctx)
	err = parsed.Run(ctx, p)
	if cause := context.Cause(ctx); err != nil && errors.As(cause, new(*postgres.SilentError)) {
		return cause
	}
	return p.named(err)
}

// named adds the setting of the database to an error of the server that does not name it.
func (p *program) named(err error) error {
	if err == nil || strings.Contains(err.Error(), "DATABASE_") {
		return err
	}
	switch postgres.Transient(err) {
	case postgres.ClassConnection, postgres.ClassShutdown, postgres.ClassReadOnly:
	default:
		return err
	}
	return fmt.Errorf("%s: %w", p.databaseSetting(postgres.RoleWorker), err)
}

// meant returns the end of a message about a word that is not a command: the closest command. The library compares it with the commands of
// the program only, and not with the subcommands of a command such as schedule.
func meant(err error, args []string) string {
	fault, ok := errors.AsType[*kong.ParseError](err)
	if !ok || strings.Contains(err.Error(), "did you mean") {
		return ""
	}
	for node := fault.Context.Selected(); node != nil; node = node.Parent {
		var commands []string
		for _, c := range node.Children {
			if !c.Hidden {
				commands = append(commands, c.Name)
			}
		}
		at := slices.Index(args, node.Name) + 1
		if len(commands) == 0 || at >= len(args) || slices.Contains(commands, args[at]) {
			continue
		}
		if near := nearest.Of(args[at], commands...); near != "" && !strings.HasPrefix(args[at], "-") {
			return fmt.Sprintf("; did you mean `%s %s`?", node.FullPath(), near)
		}
		if strings.HasSuffix(err.Error(), "unexpected argument "+args[at]) {
			return "; there are " + strings.Join(commands, ", ")
		}
	}
	return ""
}

// Parts of the library's messages about invalid values, which are written for programmers.
var (
	layouts    = regexp.MustCompile(`(?:parsing time )?"([^"]*)" as "(2006[^"]*)": .*`)
	outOfRange = regexp.MustCompile(`parsing time "([^"]*)": (year|month|day|hour|minute|second) out of range`)
	durations  = regexp.MustCompile(`expected duration but got "([^"]*)": .*`)
	choices    = regexp.MustCompile(`^(\S+) must be one of ((?:"[^"]*",?)+) but got (".*")$`)
	fromEnv    = regexp.MustCompile(` \(from envar [A-Z0-9_]+="(?s:.*)"\)$`)
	numbers64  = regexp.MustCompile(`expected a (?:valid \d+ bit (u?)int|valid \d+ bit float|float) but got ("[^"]*")(?: \([a-z0-9]+\))?`)
)

// ofSetting adds to the flag at the beginning of a library's error the setting whose value the flag takes: the value may come from the
// environment.
func ofSetting(err error, text string) string {
	fault, ok := errors.AsType[*kong.ParseError](err)
	if !ok || fault.Context == nil {
		return text
	}
	for _, f := range fault.Context.Flags() {
		if rest, ok := strings.CutPrefix(text, "--"+f.Name+":"); ok && len(f.Envs) > 0 {
			return fmt.Sprintf("%s (--%s):%s", f.Envs[0], f.Name, rest)
		}
	}
	return text
}

// plainly replaces the format in an error of the library with an example, and names the choice that is closest to an invalid value.
func plainly(text string) string {
	text = fromEnv.ReplaceAllString(text, "") // ofSetting names the setting
	if m := choices.FindStringSubmatch(text); m != nil {
		known := slices.DeleteFunc(strings.Split(strings.ReplaceAll(m[2], `"`, ""), ","), func(s string) bool { return s == "" })
		given, _ := strconv.Unquote(m[3])
		text = fmt.Sprintf("%s: %s is not one of %s%s", m[1], m[3], strings.Join(known, ", "), nearest.Suggest(given, known...))
	}
	text = layouts.ReplaceAllStringFunc(text, func(found string) string {
		m := layouts.FindStringSubmatch(found)
		example := "a date such as 2026-11-20"
		if len(m[2]) > len(time.DateOnly) {
			example = "a time such as 2026-11-20T18:00:00Z"
		}
		return fmt.Sprintf("%q is not %s", m[1], example)
	})
	text = outOfRange.ReplaceAllString(text, `"$1" does not exist: its $2 is out of range`)
	text = durations.ReplaceAllString(text, `"$1" is not a duration such as 90s, 30m or 48h`)
	return numbers64.ReplaceAllStringFunc(text, func(found string) string {
		m := numbers64.FindStringSubmatch(found)
		kind := "a whole number"
		switch {
		case m[1] == "u":
			kind += " from 0 on"
		case strings.Contains(found, "float"):
			kind = "a number"
		}
		return m[2] + " is not " + kind
	})
}

// settingsOf returns the checked settings of the chosen command. All others are zero: no code reads them. file has the names in .env.
// doubts tells of names in the environment that may be meant as settings.
func settingsOf(parsed *kong.Context, file []string) (s config.Settings, doubts []config.Doubt, err error) {
	var names []string
	for n := parsed.Selected(); n != nil; n = n.Parent {
		names = append(names, s.Take(n.Target)...)
	}
	if faults := config.Mistyped(config.Environ(), file); len(faults) > 0 && slices.Contains(names, "STATE_DIR") {
		return s, nil, errors.New(strings.Join(faults, "\n"))
	}
	return s, config.Doubtful(config.Environ(), file, names), s.Validate(names...)
}

type versionCommand struct{}
