// Command bench measures the program's promises about its speed: `go run ./bench`. Every figure is a ratio of two things that are measured
// alternately in one run on one machine, so that a busy or a slow machine affects both. Where both sides answer the same question, the
// answers are compared first. It needs the programs of a PostgreSQL and, for some comparisons, others that it names where they are missing. It prints the
// results; nothing depends on them. Start at targets.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"tidemark/ingest/world"
	"tidemark/internal/devstack"
)

// targets lists what is measured, in order.
var targets = []struct {
	id, what string
	run      func(ctx context.Context, m *meter) error
}{
	{"P1", "the newest snapshot from an API process, against nginx with the same bytes in a file", latestSnapshot},
	{"P2", "how long after its commit a change is answered", changeVisible},
	{"P3", "the latest history as JSON, against COPY of the same query to nowhere", latestHistory},
	{"P4", "the history as of an instant as CSV, against COPY of the same query to nowhere", pastHistory},
	{"P5", "a history loaded page by page from a local server, against psql's \\copy of its rows; and P6, the same again", loads},
	{"P7", "40 years of all signals computed again, against pandas, loops that numba compiles, DuckDB and polars", recompute},
	{"P7-once", "a signal of 40 years after one new observation, from the database and back, against its whole history computed and stored first", recomputeOnce},
	{"P8", "a chain of a million links recomputed, against COPY of its columns and against SHA-256 alone", verifyChain},
	{"P9", "the same chain served as finished bytes, against nginx with the bytes in a file", serveChain},
	{"P10", "prices taken from keys, 64 at once, against pgbench -N", charges},
	{"P11", "how long after its commit a change has reached 5,000 listeners of the stream", streamVisible},
	{"P12", "a history as Parquet, against COPY of the same query and against DuckDB's export of the same rows; bytes a row", exports},
	{"P13", "leaves of the log appended, proven and checked, against INSERT, against hashing the tiles, and against SHA-256 alone", transparencyLog},
	{"P14", "how long an API process takes to be ready, and its memory: ten years of all signals and picks, and a chain of a million links", starts},
	{yearsID, "ten years of leaves: disk, the first look of a new process, and proofs", logYears},
	{scaleID, "1,000 signals of 40 years and 100,000 keys: time, disk, start and heap of an API, charges", scale},
}

// The measurements that run only if they are named: they compare nothing.
const (
	yearsID = "log-years"
	scaleID = "scale"
)

// usage says what can be named.
func usage() string {
	var out strings.Builder
	out.WriteString("Usage: go run ./bench [NAME...]. Without a name it measures all but log-years and scale.\n")
	for _, t := range targets {
		_, _ = fmt.Fprintf(&out, "  %-9s %s\n", t.id, t.what)
	}
	return out.String()
}

// chosen returns the names to measure; help is true if they ask what there is.
func chosen(args []string) (only []string, help bool, err error) {
	for _, name := range args {
		if slices.Contains([]string{"-h", "-help", "--help", "help"}, name) {
			return nil, true, nil
		}
		known := false
		for _, t := range targets {
			if strings.EqualFold(t.id, name) {
				only, known = append(only, t.id), true
			}
		}
		if !known {
			err = errors.Join(err, fmt.Errorf("unknown measurement %q", name))
		}
	}
	return only, false, err
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == recordStartName {
		if err := recordStart(context.Background(), os.Args[2], os.Stdout); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1) //nolint:forbidigo // this is main
		}
		return
	}
	only, help, err := chosen(os.Args[1:])
	switch {
	case err != nil:
		_, _ = fmt.Fprintf(os.Stderr, "bench: %v\n%s", err, usage())
		os.Exit(2) //nolint:forbidigo // this is main
	case help:
		_, _ = fmt.Fprint(os.Stdout, usage())
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err = run(ctx, only, os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// run measures the named targets, or all if only is empty. A measurement that fails does not stop the others.
func run(ctx context.Context, only []string, out io.Writer) (failed error) {
	_, _ = fmt.Fprintf(out, "With %s.\n", strings.Join(versions(ctx), ", "))
	for _, t := range targets {
		if len(only) > 0 && !slices.Contains(only, t.id) || len(only) == 0 && (t.id == yearsID || t.id == scaleID) {
			continue
		}
		m := &meter{out: out, now: world.Wall{}.Now, rounds: 15, counted: &[]int{}}
		m.say("%s: %s", t.id, t.what)
		before := readCPUTimes()
		err := t.run(ctx, m)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, devstack.ErrNotInstalled):
			err = fmt.Errorf("%w: `make deps` puts one into .cache, and `make bench` looks there", err)
		}
		if err != nil {
			m.say("  FAILED: %v", err)
			failed = errors.Join(failed, fmt.Errorf("%s: %w", t.id, err))
			continue
		}
		m.say("  %sthe host gave %.1f%% of this machine's time to others meanwhile: times are longer by that, the longest most of all",
			m.medians(), 100*readCPUTimes().stolenSince(before))
	}
	return failed
}

// meter takes times and prints them.
type meter struct {
	out    io.Writer
	now    func() time.Time
	rounds int
	// counted has the number of rounds of each median. Copies of a meter share it.
	counted *[]int
}

// count notes that a median is of so many rounds.
func (m *meter) count(rounds int) { *m.counted = append(*m.counted, rounds) }

// medians says of how many rounds the medians are.
func (m *meter) medians() string {
	if len(*m.counted) == 0 {
		return ""
	}
	least, most := slices.Min(*m.counted), slices.Max(*m.counted)
	if least == most {
		return fmt.Sprintf("medians of %d rounds; ", least)
	}
	return fmt.Sprintf("medians of %d to %d rounds; ", least, most)
}

func (m *meter) say(format string, args ...any) { _, _ = fmt.Fprintf(m.out, format+"\n", args...) }

// once is how long f takes.
func (m *meter) once(f func() error) (time.Duration, error) {
	begin := m.now()
	err := f()
	return m.now().Sub(begin), err
}

// processor is how much processor time of this process f takes, that of garbage collection included. What runs beside it on the machine adds
// little to it.
func (m *meter) processor(f func() error) (time.Duration, error) {
	return processorOf(syscall.RUSAGE_SELF, f)
}

// repeats is how often average calls f.
const repeats = 10

// average is the processor time of one of several calls of f, so that each bears its share of the garbage collections.
func (m *meter) average(f func()) (time.Duration, error) {
	took, err := m.processor(func() error {
		for range repeats {
			f()
		}
		return nil
	})
	return took / repeats, err
}

// processorOf is how much processor time f takes of this process or of its ended children.
func processorOf(who int, f func() error) (time.Duration, error) {
	begin, err := processorTime(who)
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	end, err := processorTime(who)
	return end - begin, err
}

func processorTime(who int) (time.Duration, error) {
	var used syscall.Rusage
	err := syscall.Getrusage(who, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), err
}

// turns lets ours and theirs take turns, after one of each that does not count, and returns the median time of either.
func (m *meter) turns(ours, theirs func() (time.Duration, error)) (a, b time.Duration, err error) {
	var as, bs []time.Duration
	m.count(m.rounds)
	for i := range m.rounds + 1 {
		a, err := ours()
		if err != nil {
			return 0, 0, err
		}
		b, err := theirs()
		if err != nil {
			return 0, 0, err
		}
		if i > 0 {
			as, bs = append(as, a), append(bs, b)
		}
	}
	return median(as), median(bs), nil
}

// onCores compares f on one goroutine with f on one per core, by elapsed time and by processor time. Where other work takes a core, only the
// second says whether the work divides: it is the same for both if it does.
func (m *meter) onCores(what string, f func(goroutines int) error) error {
	cores := runtime.GOMAXPROCS(0)
	for _, clock := range []struct {
		name string
		take func(func() error) (time.Duration, error)
	}{{"elapsed", m.once}, {"processor time", m.processor}} {
		one, all, err := m.turns(
			func() (time.Duration, error) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the garbage collector keeps to the one core, too
				return clock.take(func() error { return f(1) })
			},
			func() (time.Duration, error) { return clock.take(func() error { return f(cores) }) },
		)
		if err != nil {
			return err
		}
		m.say("  %-38s one core %.1f ms, %d cores %.1f ms: ratio %.2f", what+", "+clock.name, milliseconds(one), cores, milliseconds(all), one.Seconds()/all.Seconds())
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// ratio prints two speeds of one thing, their ratio, and what it should be at least.
func (m *meter) ratio(what string, rows int, ours, theirs time.Duration, target float64) {
	r := theirs.Seconds() / ours.Seconds()
	m.say("  %-38s %12s rows/s  against %12s rows/s  ratio %6.2f  target >= %.2f  %s", what, perSecond(rows, ours), perSecond(rows, theirs), r,
		target, verdict(r >= target))
}

func verdict(met bool) string {
	if met {
		return "met"
	}
	return "MISSED"
}

func perSecond(n int, d time.Duration) string {
	s := fmt.Sprintf("%.0f", float64(n)/d.Seconds())
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return strings.TrimSpace(s)
}

// cpuTimes are sums over all cores since the machine began, in any unit: all time, and what a host gave to others while this machine
// had work.
type cpuTimes struct{ all, stolen float64 }

// readCPUTimes reads Linux's /proc/stat, whose first line has user, nice, system, idle, iowait, irq, softirq and steal. Zero elsewhere.
func readCPUTimes() (t cpuTimes) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return t
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		switch {
		case err != nil || i > 8: // the name; guests are counted as users
			continue
		case i == 8:
			t.stolen = n
		}
		t.all += n
	}
	return t
}

// stolenSince is the share of the time since then that was stolen.
func (t cpuTimes) stolenSince(before cpuTimes) float64 {
	if t.all <= before.all {
		return 0
	}
	return (t.stolen - before.stolen) / (t.all - before.all)
}
