// Command record turns a folder of recorded upstream files into an archive folder that a replay world can answer from. It reads the
// workbooks and tables that were saved by hand, and writes around their numbers the pages that the publisher would have served when they
// were saved. The recorded figures are true, the bytes around them are constructed, and every entry says so. A file that was saved as the
// publisher sent it is archived unchanged.
//
//	go run ./test/record --from DIR --to DIR
//
// --from is the folder with the recordings (its subfolders eia, worldbank, portwatch and nass are read), --to the archive folder to make,
// which must not hold an archive yet. The tool prints what it wrote, and what it left out and why. It does not belong to the product, and
// holds no byte of the data.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"tidemark/ingest/archive"
	"tidemark/internal/series"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

// run is the program. It returns flag.ErrHelp when it only explained itself.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	flags.SetOutput(stderr)
	from := flags.String("from", "", "the `folder` with the recorded upstream files")
	to := flags.String("to", "", "the archive `folder` to make")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from == "" || *to == "" || flags.NArg() > 0 {
		flags.Usage()
		return errors.New("want --from and --to and nothing else")
	}
	entries, omissions, err := gather(*from)
	if err != nil {
		return err
	}
	if err := write(ctx, *to, entries); err != nil {
		return err
	}
	report(stdout, entries, omissions)
	return nil
}

// gather reads all recordings and sorts the answers by the time they were saved.
func gather(from string) ([]entry, []omission, error) {
	recordings, omissions, err := survey(from)
	if err != nil {
		return nil, nil, err
	}
	var entries []entry
	for _, r := range recordings {
		fetch, body, err := r.exchange()
		if err != nil {
			return nil, nil, fmt.Errorf("write the answer to %s: %w", r.file, err)
		}
		entries = append(entries, entry{file: r.file, fetch: fetch, body: body, readings: r.readings})
	}
	sheets, err := readPinkSheets(from)
	if err != nil {
		return nil, nil, err
	}
	transits, left, err := readTransits(from)
	if err != nil {
		return nil, nil, err
	}
	corn, other, err := readCorn(from)
	if err != nil {
		return nil, nil, err
	}
	entries = slices.Concat(entries, sheets, transits, corn)
	slices.SortStableFunc(entries, func(a, b entry) int { return a.fetch.FetchedAt.Compare(b.fetch.FetchedAt) })
	return entries, slices.Concat(omissions, left, other), nil
}

// write makes the archive folder, the oldest recording first.
func write(ctx context.Context, dir string, entries []entry) error {
	if _, err := os.Stat(filepath.Join(dir, archive.ManifestName)); err == nil {
		return fmt.Errorf("write the archive: %s holds one already", dir)
	}
	if len(entries) == 0 {
		return errors.New("write the archive: nothing was recorded that a source reads")
	}
	w, err := archive.NewWriter(dir)
	if err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	for _, e := range entries {
		if err := w.Add(ctx, e.fetch, e.body); err != nil {
			return errors.Join(fmt.Errorf("write the archive: %s: %w", e.file, err), w.Abort())
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("write the archive: %w", err)
	}
	return nil
}

func report(out io.Writer, entries []entry, omissions []omission) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	constructed := 0
	for _, e := range entries {
		if e.fetch.Constructed {
			constructed++
		}
		if len(e.readings) == 0 {
			continue // a step on the way to the figures
		}
		first, last := e.readings[0].ObservedAt, e.readings[0].ObservedAt
		ids := map[series.ID]bool{}
		for _, r := range e.readings {
			ids[r.Series] = true
			if r.ObservedAt.Before(first) {
				first = r.ObservedAt
			}
			if r.ObservedAt.After(last) {
				last = r.ObservedAt
			}
		}
		what := string(e.readings[0].Series)
		if len(ids) > 1 {
			what = fmt.Sprintf("%d series of %s", len(ids), e.fetch.Source)
		}
		p("wrote %s  %-33s %6d values  %s to %s  from %s\n", e.fetch.FetchedAt.Format("2006-01-02T15:04:05Z"),
			what, len(e.readings), first.Format("2006-01-02"), last.Format("2006-01-02"), e.file)
	}
	for _, o := range omissions {
		p("left out %s: %s\n", o.what, o.why)
	}
	p("%d answers written, %d of them constructed around recorded figures; %d things left out\n", len(entries), constructed, len(omissions))
}
