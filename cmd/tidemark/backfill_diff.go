package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"tidemark/backfill"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
)

// differing is the output format of differences.
type differing struct {
	format

	CSV bool `name:"csv" help:"Print CSV: every number, old and new."`
	All bool `help:"Also print the slots without a difference."`
}

type backfillDiff struct {
	differing

	ID int64 `arg:"" help:"The backfill."`
}

// Run prints the results of a backfill next to the current values: values, intervals, z-scores.
func (c backfillDiff) Run(ctx context.Context, p *program) error {
	return p.withDB(ctx, func(db *postgres.DB) error {
		list, err := backfill.Differences(ctx, db, c.ID)
		if err != nil {
			return err
		}
		return c.print(p, list)
	})
}

type backfillCompare struct {
	config.Licences
	differing

	Signal []string  `required:"" help:"The signal, or several separated by commas."`
	From   time.Time `required:"" format:"2006-01-02" help:"The first day, in the zone of the signal's schedule."`
	To     time.Time `required:"" format:"2006-01-02" help:"The last day, included."`
}

// Run computes past snapshots with this program and compares them with the current ones, which other versions may have computed.
func (c backfillCompare) Run(ctx context.Context, p *program) error {
	return p.withPlanner(ctx, func(_ *postgres.DB, planner backfill.Planner) error {
		var all []backfill.Difference
		for _, id := range distinct(c.Signal) {
			list, err := planner.Compare(ctx, backfill.Request{Signal: id, From: c.From, To: c.To})
			if fault := (backfill.RequestError{}); errors.As(err, &fault) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			all = append(all, list...)
		}
		return c.print(p, all)
	})
}

// print prints differences. The form for people ends with a line of counts.
func (c differing) print(p *program, all []backfill.Difference) error {
	list, unchanged, loaded, codes := all[:0:0], 0, 0, map[string]bool{}
	for _, d := range all {
		switch d.Outcome {
		case postgres.OutcomeUnchanged:
			unchanged++
		case backfill.LoadedLater:
			loaded++
		}
		if d.Old != nil {
			codes[d.Old.CodeVersion] = true
		}
		if c.All || d.Outcome != postgres.OutcomeUnchanged {
			list = append(list, d)
		}
	}
	switch {
	case c.CSV:
		return writeDifferences(p.stdout, list)
	case c.JSON:
		return writeJSON(p.stdout, each(list, func(d backfill.Difference) object {
			return one("signal", d.Signal, "slot", d.Slot, "outcome", d.Outcome, "old", d.Old, "new", d.New)
		}))
	}
	t := newTable("signal", "slot", "outcome", "value", "interval", "z", "code")
	for _, d := range list {
		old, is := orNone(d.Old), orNone(d.New)
		lo, isLo := change(old.Lo, is.Lo)
		hi, isHi := change(old.Hi, is.Hi)
		t.add(d.Signal, d.Slot, d.Outcome, both(change(old.Value, is.Value)), both(interval(lo, hi), interval(isLo, isHi)), both(change(old.Z, is.Z)),
			both(dash(old.CodeVersion), dash(is.CodeVersion)))
	}
	if err := c.list(p.stdout, t); err != nil {
		return err
	}
	later, by := "", ""
	if loaded > 0 {
		later = fmt.Sprintf(", %d from before the first load of their data", loaded)
	}
	if len(codes) > 0 {
		by = fmt.Sprintf("; what stands was computed by %s of the program, this is %s", counted(len(codes), "version"), codeVersion())
	}
	_, err := fmt.Fprintf(p.stdout, "%s: %d as they stand%s, %d otherwise%s.\n", counted(len(all), "slot"), unchanged, later, len(all)-unchanged-loaded, by)
	return err
}

func orNone(r *backfill.Result) backfill.Result {
	if r == nil {
		return backfill.Result{}
	}
	return *r
}

// interval returns both ends of an interval, a dash if it is unknown.
func interval(lo, hi string) string {
	if lo == dash("") && hi == dash("") {
		return lo
	}
	return lo + ".." + hi
}

// both returns an old and a new text, or one text if they are equal.
func both(old, is string) string {
	if old == is {
		return is
	}
	return old + " -> " + is
}

// exact returns a number with all its digits, empty if it is unknown.
func exact(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// writeDifferences writes CSV, with a column for each old and each new number. Unknown numbers are empty.
func writeDifferences(out io.Writer, list []backfill.Difference) error {
	w := csv.NewWriter(out)
	numbers := []struct {
		name string
		of   func(backfill.Result) *float64
	}{
		{"value", func(r backfill.Result) *float64 { return r.Value }},
		{"lo", func(r backfill.Result) *float64 { return r.Lo }},
		{"hi", func(r backfill.Result) *float64 { return r.Hi }},
		{"baseline", func(r backfill.Result) *float64 { return r.Baseline }},
		{"scale", func(r backfill.Result) *float64 { return r.Scale }},
		{"z_score", func(r backfill.Result) *float64 { return r.Z }},
		{"delta_pct", func(r backfill.Result) *float64 { return r.DeltaPct }},
	}
	head := []string{"signal", "slot", "outcome", "observed_at_old", "observed_at_new", "code_old", "code_new"}
	for _, n := range numbers {
		head = append(head, n.name+"_old", n.name+"_new")
	}
	rows := [][]string{head}
	at := func(r backfill.Result) string {
		if r.ObservedAt == nil {
			return ""
		}
		return r.ObservedAt.UTC().Format(time.RFC3339)
	}
	for _, d := range list {
		old, is := orNone(d.Old), orNone(d.New)
		row := []string{d.Signal, d.Slot.Format(time.RFC3339), d.Outcome, at(old), at(is), old.CodeVersion, is.CodeVersion}
		for _, n := range numbers {
			row = append(row, exact(n.of(old)), exact(n.of(is)))
		}
		rows = append(rows, row)
	}
	if err := w.WriteAll(rows); err != nil {
		return fmt.Errorf("write the differences: %w", err)
	}
	return nil
}
