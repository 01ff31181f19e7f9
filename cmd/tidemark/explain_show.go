package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"tidemark/internal/postgres"
	"tidemark/signals"
)

// print writes the chain, from the number that was served down to the files.
func (e *explanation) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	s, d := e.snapshot, e.def
	line("SNAPSHOT")
	line("signal\t%s, %s", d.ID, d.Name)
	line("as of\t%s", s.At.UTC().Format(time.RFC3339Nano))
	line("status\t%s (%s)", s.Status, dash(s.Cause))
	line("value\t%s %s", decimal(s.Value), d.Unit)
	line("observed\t%s", instantOf(s.ObservedAt))
	line("known\t%s", instantOf(s.KnownAt))
	basis := signals.BasisAssumed
	if s.Uncertainty != nil {
		basis = s.Uncertainty.Basis
	}
	line("interval\t%s to %s (%s, %s), bounds %s", decimal(s.Lo), decimal(s.Hi), d.IntervalMethod, basis, d.Interval.Truth)
	line("computed by\trun %s, code %s", count(s.RunID), s.CodeVersion)
	if s.Synthetic {
		line("synthetic\tthe sandbox made the bytes that this rests on")
	}

	line("\nPOINTS AND BASELINE")
	line("points\t%d", len(e.points))
	if n := len(e.points); n > 0 {
		line("from\t%s to %s", e.points[0].ObservedAt.Format(time.RFC3339), e.points[n-1].ObservedAt.Format(time.RFC3339))
	}
	line("formula\t%s", d.Technique)
	line("baseline\t%s, of %d values, scale %s (%s)", decimal(s.Baseline), s.N, decimal(s.Scale), d.BaselineMethod)
	line("difference\t%s %%, z-score %s", decimal(s.DeltaPct), decimal(s.Z))

	line("\nOBSERVATIONS, THE NEWEST OF EACH INPUT")
	line("SERIES\tOBSERVED\tVALUE\tKNOWN\tVINTAGE\tFETCH")
	for _, o := range e.newest {
		known := o.VintageAt.UTC().Format(time.RFC3339Nano)
		if o.Assumed {
			known += " (assumed)"
		}
		line("%s\t%s\t%s\t%s\t%d\t%d", o.Series, o.ObservedAt.UTC().Format(time.RFC3339), decimal(&o.Value), known, o.Vintages, o.FetchID)
	}

	line("\nALL OBSERVATIONS, BY FETCH")
	line("SERIES\tFETCH\tOBSERVATIONS\tASSUMED\tFROM\tTO")
	for _, c := range e.sources {
		line("%s\t%d\t%d\t%d\t%s\t%s", c.Series, c.FetchID, c.N, c.Assumed, c.From.UTC().Format(time.DateOnly), c.To.UTC().Format(time.DateOnly))
	}

	line("\nFETCHES AND THE ARCHIVE")
	for i, f := range e.fetches {
		line("fetch %d\t%s of %s, status %d", f.ID, f.Source, f.FetchedAt.UTC().Format(time.RFC3339Nano), f.Status)
		line("\t%s", f.URL)
		line("\tSHA-256 %s", f.SHA256)
		line("\t%s", e.archived[i])
	}

	line("\nCOMPUTED AGAIN")
	if len(e.differs) == 0 {
		line("snapshot and %d points\tequal, bit for bit, from the stored observations (--url also reads them from the bytes)", len(e.points))
	}
	for _, what := range e.differs {
		line("DIFFERS\t%s", what)
	}
	return w.Flush()
}

// json returns the chain as a JSON object.
func (e *explanation) json() object {
	s, d := e.snapshot, e.def
	fetches := make([]object, len(e.fetches))
	for i, f := range e.fetches {
		fetches[i] = one("fetch", f.ID, "source", f.Source, "fetched", f.FetchedAt, "status", f.Status, "url", f.URL, "sha256", f.SHA256, "archived", e.archived[i])
	}
	return one("signal", d.ID, "name", d.Name, "unit", d.Unit, "as of", s.At, "status", s.Status, "cause", s.Cause, "value", s.Value, "lo", s.Lo, "hi", s.Hi,
		"interval method", d.IntervalMethod, "observed", s.ObservedAt, "known", s.KnownAt, "run", s.RunID, "code", s.CodeVersion, "synthetic", s.Synthetic,
		"points", len(e.points), "formula", d.Technique, "baseline", s.Baseline, "baseline values", s.N, "scale", s.Scale, "baseline method", d.BaselineMethod,
		"delta pct", s.DeltaPct, "z score", s.Z,
		"newest", each(e.newest, func(o postgres.KnownObservation) object {
			return one("series", o.Series, "observed", o.ObservedAt, "value", o.Value, "known", o.VintageAt, "assumed", o.Assumed, "vintages", o.Vintages, "fetch", o.FetchID)
		}),
		"observations", each(e.sources, func(c postgres.Source) object {
			return one("series", c.Series, "fetch", c.FetchID, "observations", c.N, "assumed", c.Assumed, "from", c.From, "to", c.To)
		}),
		"fetches", fetches, "complete", !e.broken, "differs", append([]string{}, e.differs...))
}
