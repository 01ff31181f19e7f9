package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/backfill"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/simulate"
	"tidemark/workers"
)

type simulateCommand struct {
	config.State

	From     time.Time `required:"" format:"2006-01-02" help:"The first day, of the exchange. Synthetic prices begin in 2018; a pick needs two years of them."`
	To       time.Time `required:"" format:"2006-01-02" help:"The day after the last one."`
	Seed     uint64    `default:"1" help:"What decides everything that happens."`
	Seeds    int       `default:"1" help:"How many seeds, from the first one on, are run."`
	Parallel int       `default:"1" help:"How many of them run at once."`
	Follow   bool      `help:"Print every line of the trace."`
	// A run for measurements.
	FaultFree bool `name:"calm" help:"Nothing goes wrong, and only the end is checked: lines say what a day costs as the record grows. For one seed."`
	Record    int  `help:"With --calm: the record begins with so many picks that are made up, of the days before the second day. The first day must not be a trading day."`
	// The default is enough for a pick on most days, because no company is picked again within sixty days. A day's work grows with the
	// number of companies, but the possible faults do not.
	Companies int `default:"40" help:"How many companies are followed. The synthetic market has 65, and makes up more if more are asked for."`
}

// measuredEvery is the number of picks between two lines of a calm run. measuredDays is the number of days over which each line is a mean.
const measuredEvery, measuredDays = 50, 14

// Run simulates the seeds. It prints broken invariants when they occur, and then fails.
func (c simulateCommand) Run(ctx context.Context, p *program) error {
	days := int(c.To.Sub(c.From).Hours() / 24)
	if days < 1 || c.Seeds < 1 || c.Parallel < 1 || c.Companies < 1 {
		return usageError{errors.New("--to is after --from, and --seeds, --parallel and --companies are 1 at least")}
	}
	if c.Record > 0 && !c.FaultFree {
		return usageError{errors.New("--record is for --calm: what was made up does not stand up to every check")}
	}
	if c.FaultFree && c.Seeds > 1 {
		return usageError{errors.New("--calm measures one seed: what several spend cannot be told apart")}
	}
	log := slog.New(slog.DiscardHandler)
	if p.settings.LogLevel == "debug" {
		log = p.log
	}
	began := p.now()
	debug.SetGCPercent(workers.HeapGrowth)
	server, err := simulate.StartServer(ctx, nil, filepath.Join(p.settings.StateDir, "cache"), log)
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop(context.WithoutCancel(ctx)) }()

	measured := growth{p: p, every: measuredEvery, days: measuredDays}
	if c.Record > 0 {
		measured = growth{p: p, last: c.To.AddDate(0, 0, -1), days: 7}
	}
	if c.FaultFree {
		_, _ = fmt.Fprintf(p.stdout, "What one of the last %d days cost, on average, with %d companies at most:\n\n"+
			"| picks | CPU of the program | of Postgres | of git | statements | rows read | elapsed | memory of the program | new bodies of the archive | their files |\n"+
			"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
			measured.days, c.Companies)
	}
	progress := progress{p: p, began: began, total: days * c.Seeds, silent: c.FaultFree}
	var mu sync.Mutex
	var broken []error
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(c.Parallel)
	for n := range c.Seeds {
		seed := c.Seed + uint64(n) //nolint:gosec // it is not negative
		g.Go(func() error {
			o := simulate.Options{
				Server: server, From: c.From, To: c.To, Seed: seed, Record: c.Record, Companies: marketOf(c.Companies), Build: p.simulated(log, c.Companies), Day: progress.day, FaultFree: c.FaultFree, Log: log,
				Command: fmt.Sprintf("tidemark simulate --from %s --to %s --seed %d", c.From.Format(time.DateOnly), c.To.Format(time.DateOnly), seed),
			}
			if c.Follow {
				o.Trace = p.stdout
			}
			if c.FaultFree {
				o.Costs = measured.day
			}
			r, err := simulate.Run(ctx, o)
			mu.Lock()
			defer mu.Unlock()
			if failure, ok := errors.AsType[*simulate.Failure](err); ok {
				_, _ = fmt.Fprintf(p.stdout, "BROKEN  %v\n", failure)
				broken = append(broken, fmt.Errorf("seed %d: %s", seed, failure.Invariant))
				return nil
			}
			if err != nil {
				return err
			}
			_, _ = fmt.Fprintf(p.stdout, "ok      seed %d: %d days, %d deliveries, %d faults, %d picks, %d gaps, %d observations, %d charges; trace %.16s\n",
				seed, r.Days, r.Deliveries, r.Faults, r.Picks, r.Gaps, r.Observations, r.Charges, r.Trace)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(p.stdout, "%d simulated days in %s\n", days*c.Seeds, p.now().Sub(began).Round(time.Second))
	return errors.Join(broken...)
}

// progress prints the progress of the seeds, every 15 seconds.
type progress struct {
	p      *program
	total  int
	silent bool

	mu          sync.Mutex
	began, told time.Time
	done        int
}

func (g *progress) day(day time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done++
	now := g.p.now()
	if g.silent || now.Sub(g.told) < 15*time.Second {
		return
	}
	g.told = now
	took := now.Sub(g.began)
	left := time.Duration(float64(took) / float64(g.done) * float64(g.total-g.done))
	_, _ = fmt.Fprintf(g.p.stdout, "        %d of %d days (%s), about %s left\n", g.done, g.total, day.Format(time.DateOnly), left.Round(time.Second))
}

// growth measures the cost of days as the record grows. It prints a table.
type growth struct {
	p *program
	// days is the number of days over which each line is a mean. There is a line after every picks, and after each further every picks. If
	// every is zero, there is only a line for the last day.
	days, every int
	last        time.Time
	seen        []measured
	next        int
}

type measured struct {
	at   time.Time
	cost simulate.Cost
}

// day records the cost up to the end of a day.
func (m *growth) day(day time.Time, c simulate.Cost) {
	m.seen = append(m.seen, measured{m.p.now(), c})
	if len(m.seen) <= m.days || c.Picks < max(m.next, m.every) || m.every == 0 && day.Before(m.last) {
		return
	}
	if m.every > 0 {
		m.next = c.Picks/m.every*m.every + m.every
	}
	then, now := m.seen[len(m.seen)-1-m.days], m.seen[len(m.seen)-1]
	per := func(d time.Duration) float64 { return d.Seconds() / float64(m.days) }
	a, b := then.cost, now.cost
	_, _ = fmt.Fprintf(m.p.stdout, "| %d | %.2f s | %.2f s | %.2f s | %d | %d | %.1f s | %d MB | %d | %d kB |\n", b.Picks, per(b.Program-a.Program),
		per(b.Postgres-a.Postgres), per(b.Git-a.Git), (b.Statements-a.Statements)/int64(m.days), (b.Rows-a.Rows)/int64(m.days),
		per(now.at.Sub(then.at)), b.Resident/1e6, (b.Bodies-a.Bodies)/int64(m.days), (b.Archive-a.Archive)/int64(m.days)/1e3)
}

// marketOf returns the size of a market in which the given number of companies can be followed: some companies come late, and some end.
func marketOf(followed int) int {
	if followed <= 60 {
		return 0 // the usual market has as many
	}
	return followed + followed/4
}

// simulated returns a function that builds the program from the parts of a simulation. It is a sandbox with few companies and a git ledger
// that is pushed to a folder. It has no L2, because an L2's blocks follow no virtual clock.
func (p *program) simulated(log *slog.Logger, companies int) func(context.Context, simulate.Parts) (simulate.Program, error) {
	return func(ctx context.Context, parts simulate.Parts) (out simulate.Program, err error) {
		q := *p
		if q.settings, err = config.Defaults(); err != nil { // the result of a seed must not depend on the operator's settings
			return out, err
		}
		q.log, q.stdout, q.now, q.metrics = log, io.Discard, parts.Now, nil
		q.settings.World, q.settings.StateDir, q.settings.DatabaseURL = "sandbox", parts.Dir, parts.DatabaseURL
		q.settings.SandboxSeed, q.settings.Universe = parts.Seed, fmt.Sprintf("top %d", companies)
		q.settings.LedgerRemote, q.settings.LedgerBranch = parts.Remote, "main"
		q.settings.LedgerAuthorName, q.settings.LedgerAuthorEmail = "Simulation", "ledger@tidemark.invalid"
		if parts.Seed%2 == 1 { // every other world has keys to the upstreams that give them, and so reads other wire formats
			q.settings.EIAAPIKey, q.settings.NASSAPIKey = strings.Repeat("5a", 20), "5A5A5A5A-5A5A-35BB-B266-5A5A5A5A5A5A"
			q.settings.FREDAPIKey = strings.Repeat("5a", 16)
		}
		w := &worldRuntime{name: "sandbox", transport: parts.Transport, now: parts.Now}
		store, err := archive.Open(ctx, parts.Archive)
		if err != nil {
			return out, err
		}
		defer func() {
			if err != nil {
				_ = store.Close()
			}
		}()
		store.DisableSync()
		engine := q.newEngine(parts.DB, w, store)
		engine.Wait, engine.Serial = parts.Wait, true
		j, err := q.newJobs(parts.DB, w, engine, store, log)
		if err != nil {
			return out, err
		}
		j.backfills.TimeSlice = time.Hour
		return simulate.Program{
			Schedules: q.schedule(), Handlers: j.handlers(), Signals: j.signals, Picks: j.picks,
			Planner: func(now time.Time) backfill.Planner {
				return backfill.Planner{
					DB: parts.DB, Definitions: q.definitions(), Sources: q.sources(), Compute: j.signals.Snapshot, Now: now,
					CodeVersion: codeVersion(),
				}
			},
			VerifyLedger: func(ctx context.Context) error {
				var said strings.Builder
				v := q
				v.stdout = &said
				if err := v.verifyLedger(ctx, parts.DB, v.ledgerDir()); err != nil {
					return fmt.Errorf("%w: %s", err, said.String())
				}
				return nil
			},
			Close: store.Close,
		}, nil
	}
}
