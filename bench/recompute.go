package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"tidemark/internal/series"
	"tidemark/signals"
)

// The scripts of the peers: compiled.py takes its inputs from reference.py.
var (
	//go:embed reference.py
	pandasScript []byte
	//go:embed compiled.py
	numbaScript []byte
)

// peers are the libraries that compute the same columns in Python, each with its script, how it works, and the ratio that is the target.
var peers = []struct {
	library, script, how string
	target               float64
}{
	{"pandas", "reference.py", "columns in memory beforehand, dates taken apart once, means and spreads as differences of running sums found by " +
		"binary search, rolling quantiles and ranks of its own, no loop over rows; both on one core", 7},
	{"numba", "compiled.py", "the same columns by loops that are compiled for this machine before the clock starts: one pass for joins and " +
		"windows, running sums, sorted windows, dates by arithmetic; both on one core", 1},
}

// reference are the signals that the peers compute, too, with their backtests. They hold nearly all points: the others are monthly or yearly.
var reference = []string{"crack-spread-321", "hormuz-transit", "eia-weekly-petroleum"}

// recompute measures Compute, and the backtests, on made-up inputs of 40 years, and on twice as many.
func recompute(ctx context.Context, m *meter) error {
	at := now.Add(17 * time.Hour)
	in, twice := inputs(now, 40), inputs(now, 80)
	all := func(in series.Set, f func(signals.Definition, series.Set)) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			return m.processor(func() error {
				for _, d := range signals.All() {
					f(d, in)
				}
				return nil
			})
		}
	}
	compute := func(d signals.Definition, in series.Set) { d.Compute(in, at) }
	backtest := func(d signals.Definition, in series.Set) { d.RunBacktest(in, at, signals.Arrivals{}) }
	for _, c := range []struct {
		what string
		f    func(signals.Definition, series.Set)
	}{{"values and intervals", compute}, {"backtests", backtest}} {
		once, two, err := m.turns(all(in, c.f), all(twice, c.f))
		if err != nil {
			return err
		}
		r := two.Seconds() / once.Seconds()
		m.say("  %-38s %d signals, 40 years %.1f ms, 80 years %.1f ms: ratio %.2f  target <= 2.2  %s", c.what, len(signals.All()),
			1e3*once.Seconds(), 1e3*two.Seconds(), r, verdict(r <= 2.2))
	}
	if err := onAllCores(ctx, m, in, at); err != nil {
		return err
	}
	for _, peer := range peers {
		p, err := startPython(ctx, peer.library, peer.script, in, at)
		if err != nil {
			m.say("  no comparison with %s: %v", peer.library, err)
			continue
		}
		m.say("  %s: %s", p.version, peer.how)
		err = p.compare(m, in, at, peer.target)
		p.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

// onAllCores compares one goroutine that computes all signals and their backtests with one per core.
func onAllCores(ctx context.Context, m *meter, in series.Set, at time.Time) error {
	cores := runtime.GOMAXPROCS(0)
	on := func(goroutines int) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			return m.once(func() error {
				group, _ := errgroup.WithContext(ctx)
				group.SetLimit(goroutines)
				for _, d := range signals.All() {
					group.Go(func() error { d.RunBacktest(in, at, signals.Arrivals{}); return nil })
					group.Go(func() error { d.Compute(in, at); return nil })
				}
				return group.Wait()
			})
		}
	}
	one, all, err := m.turns(on(1), on(cores))
	if err != nil {
		return err
	}
	m.say("  %-38s one core %.1f ms, %d cores %.1f ms: %.2f times as fast", "values and backtests", 1e3*one.Seconds(), cores, 1e3*all.Seconds(),
		one.Seconds()/all.Seconds())
	return nil
}

// inputs makes up a random walk for every input of every signal, for some years up to an instant. The dates follow the publisher's cadence:
// every weekday, day, Friday, month or year. Now and then a day is missing.
func inputs(until time.Time, years int) series.Set {
	set := series.Set{}
	for _, d := range signals.All() {
		for _, id := range d.BacktestInputs() {
			if set[id] == nil {
				set[id] = walk(id, rhythm(d, id), until.AddDate(-years, 0, 0), until)
			}
		}
	}
	return set
}

// rhythm is how often an input is published: as the signal is, but for the daily prices that others are held to.
func rhythm(d signals.Definition, id series.ID) string {
	if !slices.Contains(d.Inputs, id) {
		return "weekdays"
	}
	if d.ID == "crack-spread-321" {
		return "weekdays"
	}
	return d.Frequency
}

func walk(id series.ID, rhythm string, from, until time.Time) []series.Point {
	seed := uint64(14695981039346656037)
	for _, c := range []byte(id) {
		seed = (seed ^ uint64(c)) * 1099511628211
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	v := 100.0
	var out []series.Point
	for at := from; at.Before(until); at = at.AddDate(0, 0, 1) {
		var due bool
		switch rhythm {
		case "daily":
			due = true
		case "weekdays":
			due = at.Weekday() != time.Saturday && at.Weekday() != time.Sunday
		case "weekly":
			due = at.Weekday() == time.Friday
		case "monthly":
			due = at.Day() == 1
		default:
			due = at.Day() == 1 && at.Month() == time.August
		}
		if !due {
			continue
		}
		v = max(20, v+rng.NormFloat64())
		if rhythm != "weekly" && rng.IntN(100) == 0 {
			continue
		}
		out = append(out, series.Point{ObservedAt: at, VintageAt: release(at), Value: math.Round(v*100) / 100})
	}
	return out
}

// release is the first Wednesday, at 15:30 UTC, that is at least two days after a day.
func release(day time.Time) time.Time {
	ahead := 2 + (int(time.Wednesday)-int(day.Weekday())+5)%7
	return day.AddDate(0, 0, ahead).Add(15*time.Hour + 30*time.Minute)
}

// python is a running script of a peer. version names the peer.
type python struct {
	dir, library, version string
	cmd                   *exec.Cmd
	in                    io.WriteCloser
	out                   *bufio.Scanner
}

// startPython starts a script with the first python3 that has its library, on a folder with the inputs.
func startPython(ctx context.Context, library, script string, in series.Set, at time.Time) (*python, error) {
	var program, version string
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(ctx, candidate, "-c", "import pandas, "+library+"; print("+library+".__version__)").Output()
		if err == nil {
			program, version = candidate, library+" "+strings.TrimSpace(string(out))
			break
		}
	}
	if program == "" {
		return nil, fmt.Errorf("no python3 on this machine has pandas and it (Debian: apt-get install python3-pandas python3-%s)", library)
	}
	dir, err := os.MkdirTemp("", "tidemark-bench-"+library)
	if err != nil {
		return nil, err
	}
	p := &python{dir: dir, library: library, version: version}
	if err := p.start(ctx, program, script, in, at); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return p, nil
}

func (p *python) start(ctx context.Context, program, script string, in series.Set, at time.Time) error {
	for id, points := range in {
		var days, values, known []byte
		for _, pt := range points {
			days = binary.LittleEndian.AppendUint64(days, uint64(pt.ObservedAt.Unix()/86400))
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(pt.Value))
			known = binary.LittleEndian.AppendUint64(known, uint64(pt.VintageAt.Unix()))
		}
		for ext, b := range map[string][]byte{"days": days, "values": values, "known": known} {
			if err := os.WriteFile(filepath.Join(p.dir, string(id)+"."+ext), b, 0o600); err != nil {
				return err
			}
		}
	}
	for name, text := range map[string][]byte{"reference.py": pandasScript, "compiled.py": numbaScript} {
		if err := os.WriteFile(filepath.Join(p.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	p.cmd = exec.CommandContext(ctx, program, filepath.Join(p.dir, script), p.dir, strconv.FormatInt(at.Unix(), 10))
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.in, p.out = stdin, bufio.NewScanner(stdout)
	return p.cmd.Start()
}

func (p *python) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
	_ = os.RemoveAll(p.dir)
}

// ask lets the peer compute a signal, or its backtest, and returns how long that took by its own clock.
func (p *python) ask(what string) (time.Duration, error) {
	if _, err := fmt.Fprintln(p.in, what); err != nil {
		return 0, fmt.Errorf("ask %s: %w", p.library, err)
	}
	if !p.out.Scan() {
		return 0, fmt.Errorf("%s gave no answer for %s: %w", p.library, what, errors.Join(p.out.Err(), io.ErrUnexpectedEOF))
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(p.out.Text()), 64)
	return time.Duration(seconds * float64(time.Second)), err
}

// compare lets the peer and Go take turns at the signals that the peer knows and at their backtests, and compares their numbers.
func (p *python) compare(m *meter, in series.Set, at time.Time, target float64) error {
	var ours, theirs time.Duration
	rows := 0
	for _, id := range reference {
		d, ok := signals.ByID(id)
		if !ok {
			return fmt.Errorf("unknown signal %s", id)
		}
		var track signals.Track
		a, b, err := m.turns(
			func() (time.Duration, error) {
				return m.processor(func() error { track = d.Compute(in, at); return nil })
			},
			func() (time.Duration, error) { return p.ask(id) },
		)
		if err != nil {
			return err
		}
		if err := p.report(m, id, trackColumns(track), len(track), a, b, target); err != nil {
			return err
		}
		var result signals.BacktestResult
		c, e, err := m.turns(
			func() (time.Duration, error) {
				return m.processor(func() error { result = d.RunBacktest(in, at, signals.Arrivals{}); return nil })
			},
			func() (time.Duration, error) { return p.ask("backtest " + id) },
		)
		if err != nil {
			return err
		}
		if err := p.report(m, id+", backtest", resultColumns(result), len(track), c, e, target); err != nil {
			return err
		}
		ours, theirs, rows = ours+a+c, theirs+b+e, rows+2*len(track)
	}
	m.ratio("the three with their backtests", rows, ours, theirs, target)
	return nil
}

// report prints a ratio, and how far the columns are from the columns of the peer.
func (p *python) report(m *meter, what string, columns [][]float64, rows int, ours, theirs time.Duration, target float64) error {
	id, _, _ := strings.Cut(what, ",")
	apart, err := p.apart(id, columns)
	if err != nil {
		return err
	}
	m.ratio(what, rows, ours, theirs, target)
	m.say("  %-38s the two differ by at most %.1e of the scale of a column  target <= 1e-9  %s", "", apart, verdict(apart <= 1e-9))
	return nil
}

// trackColumns are the columns of a track in the order in which the peers write them.
func trackColumns(track signals.Track) [][]float64 {
	columns := make([][]float64, 5)
	for _, e := range track {
		for i, x := range []float64{e.Value, e.Lo, e.Hi, e.Baseline, e.Scale} {
			columns[i] = append(columns[i], x)
		}
	}
	return columns
}

func resultColumns(r signals.BacktestResult) [][]float64 {
	return [][]float64{
		{float64(r.N)},
		{r.RankIC},
		{r.T},
		{r.P},
		{r.HitRatePct},
		{float64(r.OutOfSample.N)},
		{r.OutOfSample.RankIC},
		{r.OutOfSample.T},
		{r.NaiveRankIC},
	}
}

// apart is the largest difference between columns and what the peer wrote, as a share of the larger of the number and its column's mean
// size. A number that only one of the two knows is infinitely far.
func (p *python) apart(id string, columns [][]float64) (float64, error) {
	raw, err := os.ReadFile(filepath.Join(p.dir, id+".out"))
	if err != nil {
		return 0, err
	}
	rows := len(columns[0])
	if len(raw) != 8*len(columns)*rows {
		return math.Inf(1), nil
	}
	worst := 0.0
	for c, column := range columns {
		size, n := 0.0, 0
		for _, x := range column {
			if !math.IsNaN(x) {
				size, n = size+math.Abs(x), n+1
			}
		}
		for i, x := range column {
			y := math.Float64frombits(binary.LittleEndian.Uint64(raw[8*(len(columns)*i+c):]))
			if math.IsNaN(x) != math.IsNaN(y) {
				return math.Inf(1), nil
			}
			if x != y && !math.IsNaN(x) {
				worst = max(worst, math.Abs(x-y)/max(math.Abs(x), size/float64(n)))
			}
		}
	}
	return worst, nil
}
