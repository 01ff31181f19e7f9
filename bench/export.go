package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
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
// it is DuckDB's own export of the same rows. It also compares the bytes of a row with CSV, and with CSV under zstd.
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
func (s *fixture) againstDuckDB(ctx context.Context, m *meter, then time.Time, file string) error {
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
	var ours []time.Duration
	for i := range m.rounds + 1 {
		took, err := m.once(func() error { return encode(rows, filepath.Join(s.dir, "ours.parquet")) })
		if err != nil {
			return err
		}
		if i > 0 {
			ours = append(ours, took)
		}
	}
	script := filepath.Join(s.dir, "export.mjs")
	if err := os.WriteFile(script, duckDBExport, 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, node, script, packages, file, strconv.Itoa(m.rounds)).CombinedOutput() //nolint:gosec // our own
	if err != nil {
		return fmt.Errorf("DuckDB: %w: %s", err, out)
	}
	theirs, size, err := readExport(string(out))
	if err != nil {
		return err
	}
	m.ratio("Parquet from memory, against DuckDB's", len(rows), median(ours), median(theirs), 1)
	m.say("  %-38s DuckDB's Parquet with gzip %.1f", "bytes a row", float64(size)/float64(len(rows)))
	return nil
}

// encode writes points to a file as the API does to its clients.
func encode(rows []postgres.Point, file string) (err error) {
	out, err := os.Create(file) //nolint:gosec // in our own folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w := columns.New(columns.Parquet, out, postgres.PointColumns(false))
	for _, p := range rows {
		postgres.PutPoint(w, p, postgres.HistoryQuery{})
	}
	return w.Close()
}

// readExport reads the lines of export.mjs: milliseconds, and at the end a size.
func readExport(out string) (took []time.Duration, size int64, err error) {
	lines := strings.Fields(out)
	for i, line := range lines {
		f, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, 0, fmt.Errorf("DuckDB says %q", out)
		}
		if i == len(lines)-1 {
			size = int64(f)
			continue
		}
		took = append(took, time.Duration(f*float64(time.Millisecond)))
	}
	if len(took) == 0 || slices.Min(took) <= 0 {
		return nil, 0, fmt.Errorf("DuckDB says %q", out)
	}
	return took, size, nil
}
