package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"tidemark/internal/postgres"
)

// copier has psql read the rows of a COPY as CSV and write them to nowhere. One session serves all rounds, so no round contains the start of a
// program.
type copier struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	said bytes.Buffer
}

func startCopier(ctx context.Context, dsn string) (c *copier, err error) {
	c = &copier{cmd: exec.CommandContext(ctx, "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", dsn)} //nolint:gosec // our own
	c.cmd.Stderr = &c.said
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

// copy copies the rows of a query to nowhere.
func (c *copier) copy(query string) error { return c.copyTo(query, os.DevNull) }

// copyTo copies the rows of a query to a file.
func (c *copier) copyTo(query, file string) error {
	const done = "copied"
	// \copy is one line.
	_, err := fmt.Fprintf(c.in, "\\copy (%s) to '%s' csv header\nselect '%s';\n", strings.Join(strings.Fields(query), " "), file, done)
	if err == nil && c.out.Scan() && c.out.Text() == done {
		return nil
	}
	return errors.Join(err, c.out.Err(), fmt.Errorf("psql: %s", c.said.Bytes()))
}

func (c *copier) close() error { return errors.Join(c.in.Close(), c.cmd.Wait()) }

// copiedColumns are what the rows of a history have in an answer, as the database writes them and with nothing computed besides.
const copiedColumns = `observed_at, input_known_at as ingested_at, value, lo as uncertainty_lo, hi as uncertainty_hi, baseline as baseline_value,
	delta_pct as delta_vs_baseline_pct, z_score, vintage`

// copied is the query of a signal's history as of an instant, with all digits.
func copied(signal string, asOf time.Time) string {
	return postgres.HistoryQuery{Signal: signal, AsOf: asOf}.SQL(copiedColumns, func(v any) string {
		if at, ok := v.(time.Time); ok {
			v = at.UTC().Format(time.RFC3339Nano)
		}
		return "'" + strings.ReplaceAll(fmt.Sprint(v), "'", "''") + "'"
	})
}
