package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/columns"
	"tidemark/internal/postgres"
)

// npmPackages has DuckDB for Node once `make conformance` has run.
const npmPackages = ".cache/conformance/columns"

//go:embed export.mjs
var duckDBExport []byte

// exports measures P12: the export of a history as Parquet. From the database, the peer is COPY of the same query to nowhere. From memory,
// it is DuckDB's own export of the same rows: with zstd, as ours, with snappy, its default, and with gzip. It also compares the bytes of a
// row with CSV, and with CSV under zstd.
func exports(ctx context.Context, m *meter) error {
	return withServed(ctx, fortyYears, func(ctx context.Context, s *fixture) error {
		then := now.AddDate(0, 0, -revisions/2).Add(time.Hour)
		past := "as_of=" + then.Format(time.RFC3339)
		if err := s.against(ctx, m, "Parquet, from the database", "/history?format=parquet&"+past, then, 0.9); err != nil {
			return err
		}
		files := map[string]string{}
		for _, format := range []string{"parquet", "csv"} {
			files[format] = filepath.Join(s.dir, "history."+format)
			if err := s.save(ctx, "/history?format="+format+"&"+past, files[format]); err != nil {
				return err
			}
		}
		if err := m.exportSizes(ctx, files["csv"], files["parquet"]); err != nil {
			return err
		}
		return s.againstDuckDB(ctx, m, then, files["parquet"])
	})
}

// save writes a response to a file.
func (s *fixture) save(ctx context.Context, path, file string) error {
	var body bytes.Buffer
	if _, err := s.copyTo(ctx, path, &body); err != nil {
		return err
	}
	return os.WriteFile(file, body.Bytes(), 0o600)
}

// exportSizes prints the bytes of a row in each format.
func (m *meter) exportSizes(ctx context.Context, csv, parquet string) error {
	size := func(file string) (float64, error) {
		info, err := os.Stat(file)
		if err != nil {
			return 0, err
		}
		return float64(info.Size()) / fortyYears, nil
	}
	text, err := size(csv)
	if err != nil {
		return err
	}
	ours, err := size(parquet)
	if err != nil {
		return err
	}
	m.say("  %-38s Parquet %.1f, CSV %.1f  ratio %6.2f  target <= 0.25  %s", "bytes a row", ours, text, ours/text, verdict(ours <= text/4))
	zstd, err := exec.LookPath("zstd")
	if err != nil {
		m.say("  CSV with zstd is not measured: there is no zstd on this machine; on Debian: apt-get install zstd")
		return nil //nolint:nilerr // it is said, and the others go on
	}
	for _, level := range []string{"-3", "-19"} {
		out, err := exec.CommandContext(ctx, zstd, level, "-c", csv).Output() //nolint:gosec // our own
		if err != nil {
			return fmt.Errorf("zstd: %w", err)
		}
		packed := float64(len(out)) / fortyYears
		m.say("  %-38s CSV with zstd %s %.1f  ratio %6.2f", "", level, packed, ours/packed)
	}
	return nil
}

// againstDuckDB encodes rows in memory, as DuckDB does with its table.
func (s *fixture) againstDuckDB(ctx context.Context, m *meter, then time.Time, file string) (err error) {
	node, err := exec.LookPath("node")
	packages, absolute := filepath.Abs(npmPackages)
	if _, there := os.Stat(packages); errors.Join(err, absolute, there) != nil {
		m.say("  DuckDB is not measured: it needs node, and its package in %s, where `make conformance` puts it", npmPackages)
		return nil //nolint:nilerr // it is said, and the others go on
	}
	var rows []postgres.Point
	for p, err := range s.db.History(ctx, postgres.HistoryQuery{Signal: s.def.ID, AsOf: then}) {
		if err != nil {
			return err
		}
		rows = append(rows, p)
	}
	script := filepath.Join(s.dir, "export.mjs")
	if err := os.WriteFile(script, duckDBExport, 0o600); err != nil {
		return err
	}
	like := postgres.HistoryQuery{Interval: postgres.IntervalOf(s.def, nil)}
	ours := filepath.Join(s.dir, "ours.parquet")
	if err := encode(rows, like, ours); err != nil {
		return err
	}
	peer, err := startDuckDB(ctx, node, script, packages, file, ours)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, peer.close()) }()
	if err := peer.same(rows); err != nil {
		return fmt.Errorf("the Parquet file that the API made: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	size := float64(info.Size()) / float64(len(rows))
	for _, compression := range []string{"zstd", "snappy", "gzip"} { // ours is zstd; snappy is DuckDB's default
		took, theirs, err := m.turns(
			func() (time.Duration, error) {
				return m.once(func() error { return encode(rows, like, ours) })
			},
			func() (time.Duration, error) { return peer.export(compression) },
		)
		if err != nil {
			return err
		}
		m.ratio("Parquet from memory, DuckDB's "+compression, len(rows), took, theirs, 1)
		packed := float64(peer.size) / float64(len(rows))
		m.say("  %-38s ours with zstd %.1f, DuckDB's with %s %.1f  ratio %6.2f", "bytes a row", size, compression, packed, size/packed)
	}
	return nil
}

// duckDB is a process that exports the rows of a file when it is asked to.
type duckDB struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	said bytes.Buffer
	// sums has the number of rows, then the sum of each column that export.mjs names, and then its counts. size is that of the newest export in bytes.
	sums []float64
	size int64
}

// startDuckDB starts DuckDB with the rows of a file. It reads another file, too, and refuses one with other rows.
func startDuckDB(ctx context.Context, node, script, packages, file, other string) (*duckDB, error) {
	d := &duckDB{cmd: exec.CommandContext(ctx, node, script, packages, file, other)} //nolint:gosec // our own
	d.cmd.Stderr = &d.said
	in, err := d.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	d.in, d.out = in, bufio.NewScanner(out)
	if err := d.cmd.Start(); err != nil {
		return nil, err
	}
	if d.sums, err = d.line(); err != nil {
		return nil, errors.Join(err, d.close())
	}
	if again, err := d.line(); err != nil || !slices.Equal(again, d.sums) {
		return nil, errors.Join(fmt.Errorf("the API's file has the sums and counts %v, and the one that is measured %v", d.sums, again), err, d.close())
	}
	return d, nil
}

// line reads numbers.
func (d *duckDB) line() (numbers []float64, err error) {
	if !d.out.Scan() {
		return nil, fmt.Errorf("DuckDB: %w: %s", errors.Join(io.ErrUnexpectedEOF, d.out.Err()), d.said.Bytes())
	}
	for word := range strings.FieldsSeq(d.out.Text()) {
		f, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("DuckDB says %q", d.out.Text())
		}
		numbers = append(numbers, f)
	}
	return numbers, nil
}

// export returns how long DuckDB took to write its rows to a file.
func (d *duckDB) export(compression string) (time.Duration, error) {
	if _, err := fmt.Fprintln(d.in, compression); err != nil {
		return 0, err
	}
	took, err := d.line()
	if err != nil {
		return 0, err
	}
	if len(took) != 2 || took[0] <= 0 {
		return 0, fmt.Errorf("DuckDB says %v", took)
	}
	d.size = int64(took[1])
	return time.Duration(took[0] * float64(time.Millisecond)), nil
}

// same compares the rows that DuckDB has read from the file with the rows of the database. It compares their number and the sums of their columns.
func (d *duckDB) same(rows []postgres.Point) error {
	want := make([]float64, 9)
	const counts = 4 // which are the API's to say
	want[0] = float64(len(rows))
	for _, p := range rows {
		for i, v := range []float64{
			p.Value, p.Lo, p.Hi, p.Baseline, p.Z, float64(p.Vintage), float64(p.ObservedAt.UnixMicro()), float64(p.PublishedAt.UnixMicro()),
		} {
			if !math.IsNaN(v) { // unknown
				want[1+i] += v
			}
		}
	}
	if len(d.sums) != len(want)+counts {
		return fmt.Errorf("DuckDB says %v", d.sums)
	}
	for i, w := range want {
		if math.Abs(d.sums[i]-w) > 1e-9*max(math.Abs(w), float64(len(rows))) {
			return fmt.Errorf("number of rows and sums of columns are %v, and of the rows in the database %v", d.sums, want)
		}
	}
	return nil
}

func (d *duckDB) close() error { return errors.Join(d.in.Close(), d.cmd.Wait()) }

// encode writes points to a file as the API does to its clients.
func encode(rows []postgres.Point, like postgres.HistoryQuery, file string) (err error) {
	out, err := os.Create(file) //nolint:gosec // in our own folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := columns.New(columns.Parquet, out, postgres.PointColumns(false))
	for _, p := range rows {
		postgres.PutPoint(w, p, like)
	}
	return w.Close()
}
