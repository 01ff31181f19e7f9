// Command record turns a folder of recorded upstream files into an archive folder that a replay world can answer from. It reads
// the workbooks and tables that somebody saved, and writes around their numbers the pages that the publisher would have served
// when they were saved: the recorded figures are true, the bytes around them are constructed, and every entry says so.
//
//	go run ./test/record --from DIR --to DIR
//
// --from is the folder with the recordings (that of EIA is its subfolder eia), --to the archive folder to make, which must not
// hold an archive yet. The tool prints what it wrote, and what it left out and why. It is no part of the product, and holds no
// byte of the data.
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

	"tidemark/ingest/archive"
	"tidemark/series"
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
	recordings, omissions, err := survey(*from)
	if err != nil {
		return err
	}
	fetches, err := write(ctx, *to, recordings)
	if err != nil {
		return err
	}
	report(stdout, recordings, fetches, omissions)
	return nil
}

// write makes the archive folder, the oldest recording first.
func write(ctx context.Context, dir string, recordings []recording) ([]series.Fetch, error) {
	if _, err := os.Stat(filepath.Join(dir, archive.ManifestName)); err == nil {
		return nil, fmt.Errorf("write the archive: %s holds one already", dir)
	}
	if len(recordings) == 0 {
		return nil, errors.New("write the archive: nothing was recorded that a source reads")
	}
	w, err := archive.NewWriter(dir)
	if err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	var fetches []series.Fetch
	for _, r := range recordings {
		fetch, body, err := r.exchange()
		if err == nil {
			err = w.Add(ctx, fetch, body)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("write the archive: %s: %w", r.file, err), w.Abort())
		}
		fetches = append(fetches, fetch)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the archive: %w", err)
	}
	return fetches, nil
}

func report(out io.Writer, recordings []recording, fetches []series.Fetch, omissions []omission) {
	p := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	for i, r := range recordings {
		first, last := r.readings[0].ObservedAt, r.readings[len(r.readings)-1].ObservedAt
		p("wrote %s  %-33s %6d values  %s to %s  from %s\n", fetches[i].FetchedAt.Format("2006-01-02T15:04:05Z"),
			r.series, len(r.readings), first.Format("2006-01-02"), last.Format("2006-01-02"), r.file)
	}
	for _, o := range omissions {
		p("left out %s: %s\n", o.what, o.why)
	}
	p("%d answers written, all constructed around recorded figures; %d things left out\n", len(recordings), len(omissions))
}
