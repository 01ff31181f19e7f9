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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/series"
	"tidemark/signals"
)

// The scripts of the peers: compiled.py takes its inputs from reference.py, the two in JavaScript have peer.mjs in common.
var (
	//go:embed reference.py
	pandasScript []byte
	//go:embed compiled.py
	numbaScript []byte
	//go:embed peer.mjs
	nodeScript []byte
	//go:embed duckdb.mjs
	duckDBScript []byte
	//go:embed polars.mjs
	polarsScript []byte
)

// peer is a library that computes the same columns, with its script and how that works.
type peer struct {
	library, script, how string
	// npm is its package in npm, and folder where `make conformance` puts it. They are empty for a library of Python.
	npm, folder string
	// threaded reports whether it can use all cores.
	threaded bool
	// target is how many times its speed on one core ours should be at least.
	target float64
}

var peers = []peer{
	{library: "pandas", script: "reference.py", target: 7, how: "columns in memory beforehand, dates taken apart once, means and spreads as " +
		"differences of running sums found by binary search, rolling quantiles and ranks of its own, no loop over rows; a backtest makes the baselines that it reads, and no interval"},
	{library: "numba", script: "compiled.py", target: 1, threaded: true, how: "the same columns by loops that are compiled for this machine before " +
		"the clock starts: one pass for joins and windows, running sums, sorted windows, dates by arithmetic; a backtest " +
		"makes the baselines that it reads, and no interval; on all cores, the six beside each other"},
	{library: "DuckDB", script: "duckdb.mjs", npm: "@duckdb/node-api", folder: ".cache/conformance/columns", target: 1, threaded: true, how: "tables in " +
		"memory, joins, window functions on a calendar of all days; without t and p-values"},
	{library: "polars", script: "polars.mjs", npm: "nodejs-polars", folder: ".cache/conformance/polars", target: 1, threaded: true, how: "columns in " +
		"memory, plans made beforehand, running sums on a calendar of all days, rolling windows and ranks of its own; without t and p-values"},
}

// running is a peer's script that answers. version names the peer.
type running struct {
	peer

	dir, version string
	cmd          *exec.Cmd
	in           io.WriteCloser
	out          *bufio.Scanner
}

// start starts a peer's script on a folder with the inputs. It may use so many cores.
func (p peer) start(ctx context.Context, in series.Set, at time.Time, cores int) (*running, error) {
	program, version, before, err := p.program(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "tidemark-bench-"+p.library)
	if err != nil {
		return nil, err
	}
	r := &running{peer: p, dir: dir, version: p.library + " " + version}
	if err := r.begin(ctx, program, append(before, dir, strconv.FormatInt(at.Unix(), 10), strconv.Itoa(cores)), in); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

// program returns what runs the script, the version of the library, and the arguments of the script before its folder.
func (p peer) program(ctx context.Context) (program, version string, before []string, err error) {
	if p.npm != "" {
		return p.node(ctx)
	}
	for _, candidate := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(ctx, candidate, "-c", "import pandas, "+p.library+"; print("+p.library+".__version__)").Output() //nolint:gosec // our own
		if err == nil {
			return candidate, strings.TrimSpace(string(out)), nil, nil
		}
	}
	return "", "", nil, fmt.Errorf("no python3 on this machine has pandas and it (Debian: apt-get install python3-pandas python3-%s)", p.library)
}

func (p peer) node(ctx context.Context) (program, version string, before []string, err error) {
	program, err = exec.LookPath("node")
	if err != nil {
		return "", "", nil, err
	}
	for _, folder := range []string{p.folder, filepath.Join("..", p.folder)} { // from the root, and from the folder of this package
		folder, err = filepath.Abs(folder)
		if err != nil {
			return "", "", nil, err
		}
		manifest := filepath.Join(folder, "node_modules", p.npm, "package.json")
		out, err := exec.CommandContext(ctx, program, "-p", "require(process.argv[1]).version", manifest).Output() //nolint:gosec // our own
		if err == nil {
			return program, strings.TrimSpace(string(out)), []string{folder}, nil
		}
	}
	return "", "", nil, fmt.Errorf("its package is not in %s, where make conformance puts it", p.folder)
}

func (r *running) begin(ctx context.Context, program string, args []string, in series.Set) error {
	for id, points := range in {
		var days, values, known []byte
		for _, pt := range points {
			days = binary.LittleEndian.AppendUint64(days, uint64(pt.ObservedAt.Time().Unix()/86400))
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(pt.Value))
			known = binary.LittleEndian.AppendUint64(known, uint64(pt.VintageAt.Time().Unix()))
		}
		for ext, b := range map[string][]byte{"days": days, "values": values, "known": known} {
			if err := os.WriteFile(filepath.Join(r.dir, string(id)+"."+ext), b, 0o600); err != nil {
				return err
			}
		}
	}
	for name, text := range map[string][]byte{
		"reference.py": pandasScript, "compiled.py": numbaScript, "peer.mjs": nodeScript, "duckdb.mjs": duckDBScript, "polars.mjs": polarsScript,
	} {
		if err := os.WriteFile(filepath.Join(r.dir, name), text, 0o600); err != nil {
			return err
		}
	}
	r.cmd = exec.CommandContext(ctx, program, append([]string{filepath.Join(r.dir, r.script)}, args...)...)
	r.cmd.Stderr = os.Stderr
	stdin, err := r.cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := r.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	r.in, r.out = stdin, bufio.NewScanner(stdout)
	return r.cmd.Start()
}

func (r *running) stop() {
	_ = r.in.Close()
	_ = r.cmd.Wait()
	_ = os.RemoveAll(r.dir)
}

// ask lets the peer compute a signal, its backtest, or all of them, and returns the processor time that it took and the time that went by.
func (r *running) ask(what string) (used, elapsed time.Duration, err error) {
	if _, err := fmt.Fprintln(r.in, what); err != nil {
		return 0, 0, fmt.Errorf("ask %s: %w", r.library, err)
	}
	if !r.out.Scan() {
		return 0, 0, fmt.Errorf("%s gave no answer for %s: %w", r.library, what, errors.Join(r.out.Err(), io.ErrUnexpectedEOF))
	}
	var u, e float64
	if _, err := fmt.Sscan(r.out.Text(), &u, &e); err != nil {
		return 0, 0, fmt.Errorf("%s answers %q: %w", r.library, r.out.Text(), err)
	}
	return time.Duration(u * float64(time.Second)), time.Duration(e * float64(time.Second)), nil
}

// compare lets the peer and Go take turns at the signals that the peer knows and at their backtests, and compares their numbers.
func (r *running) compare(m *meter, in series.Set, at time.Time) error {
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
				return m.average(func() { track = d.Compute(in, at) })
			},
			func() (time.Duration, error) { used, _, err := r.ask(id); return used, err },
		)
		if err != nil {
			return err
		}
		if err := r.report(m, id, trackColumns(track), len(track), a, b); err != nil {
			return err
		}
		var result signals.BacktestResult
		c, e, err := m.turns(
			func() (time.Duration, error) {
				return m.average(func() { result = d.RunBacktest(in, at, signals.Arrivals{}) })
			},
			func() (time.Duration, error) { used, _, err := r.ask("backtest " + id); return used, err },
		)
		if err != nil {
			return err
		}
		if err := r.report(m, id+", backtest", r.resultColumns(result), len(track), c, e); err != nil {
			return err
		}
		ours, theirs, rows = ours+a+c, theirs+b+e, rows+2*len(track)
	}
	m.ratio("the three with their backtests", rows, ours, theirs, r.target)
	return nil
}

// report prints a ratio, and how far the columns are from the columns of the peer.
func (r *running) report(m *meter, what string, columns [][]float64, rows int, ours, theirs time.Duration) error {
	id, _, _ := strings.Cut(what, ",")
	apart, err := r.apart(id, columns)
	if err != nil {
		return err
	}
	if apart > 1e-9 {
		return fmt.Errorf("%s: the numbers differ from those of %s by %.1e of the scale of a column, want at most 1e-9", what, r.version, apart)
	}
	m.ratio(what, rows, ours, theirs, r.target)
	m.say("  %-38s the two differ by at most %.1e of the scale of a column", "", apart)
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

// resultColumns are the numbers of a backtest in the order in which the peers write them.
func (p peer) resultColumns(r signals.BacktestResult) [][]float64 {
	if p.npm != "" { // it leaves out t and p-values
		return [][]float64{{float64(r.N)}, {r.RankIC}, {r.HitRatePct}, {float64(r.OutOfSample.N)}, {r.OutOfSample.RankIC}, {r.NaiveRankIC}}
	}
	return [][]float64{
		{float64(r.N)}, {r.RankIC}, {r.T}, {r.P}, {r.HitRatePct}, {float64(r.OutOfSample.N)}, {r.OutOfSample.RankIC}, {r.OutOfSample.T}, {r.NaiveRankIC},
	}
}

// apart is the largest difference between columns and what the peer wrote, as a share of the larger of the number and its column's mean
// size. A number that only one of the two knows is infinitely far.
func (r *running) apart(id string, columns [][]float64) (float64, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, id+".out"))
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
