package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tidemark/api/view"
	"tidemark/ingest/archive"
	"tidemark/internal/config"
	"tidemark/internal/postgres"
)

type publishCommand struct {
	config.Stored
	config.Address

	To   string `arg:"" help:"A folder, or a bucket (s3://bucket?region=eu-central-1&prefix=data/), as ARCHIVE_URL."`
	Date string `help:"The day of the set, YYYY-MM-DD. Default: the newest."`
}

// Run writes a daily data set to a folder or bucket, in the layout of /data/. It writes the files of the day, then its manifest, and last
// the manifest of the newest set. So a reader of a manifest finds every file that it names. Run does not change an existing set.
func (c publishCommand) Run(ctx context.Context, p *program) error {
	if _, err := time.Parse(time.DateOnly, c.Date); c.Date != "" && err != nil {
		return usageError{fmt.Errorf("--date: %q is not a day such as 2026-11-20", c.Date)}
	}
	return p.withDB(ctx, func(db *postgres.DB) error {
		set, err := db.DatasetOf(ctx, c.Date)
		if errors.Is(err, postgres.ErrNotFound) {
			return fmt.Errorf("there is no data set%s: a worker makes one each day, or `tidemark schedule run publish dataset` at once", onDay(c.Date))
		}
		if err != nil {
			return err
		}
		days, err := db.DatasetDays(ctx)
		if err != nil {
			return err
		}
		w, err := db.World(ctx)
		if err != nil {
			return err
		}
		v, err := view.New(view.Options{
			Store: db, Definitions: p.definitions(), PublicURL: p.settings.BaseURL(), World: w.Name, Now: p.now, Log: p.log,
		})
		if err != nil {
			return err
		}
		bucket, err := archive.OpenBucket(ctx, c.To)
		if err != nil {
			return usageError{err}
		}
		written, err := publishSet(ctx, db, v, bucket, set, days)
		if err = errors.Join(err, bucket.Close()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "the data set of %s: %s written to %s\n", set.Day, counted(written, "file"), strings.SplitN(c.To, "?", 2)[0])
		return err
	})
}

func onDay(day string) string {
	if day == "" {
		return ""
	}
	return " of " + day
}

// publishSet writes what is not there yet, and returns how many files it wrote.
func publishSet(ctx context.Context, db *postgres.DB, v *view.View, to *archive.Bucket, set postgres.Dataset, days []string) (written int, err error) {
	put := func(name, mediaType, cache string, content []byte) error {
		have, there, err := to.Get(ctx, name)
		if err != nil || there && bytes.Equal(have, content) {
			return err
		}
		written++
		return to.Put(ctx, name, mediaType, cache, content)
	}
	for _, t := range set.Tables {
		content, err := db.DatasetFile(ctx, t.SHA256)
		if err != nil {
			return written, err
		}
		if err := put(set.Day+"/"+t.Name+".parquet", view.TypeParquet, view.CacheImmutable, content); err != nil {
			return written, err
		}
	}
	if err := putContents(set, put); err != nil {
		return written, err
	}
	for _, d := range []struct {
		name, cache string
		value       any
	}{
		{set.Day + "/datapackage.json", view.CacheImmutable, v.DataPackage(set)},
		{set.Day + "/croissant.json", view.CacheImmutable, v.Croissant(set)},
		{set.Day + "/manifest.json", view.CacheImmutable, v.DatasetManifest(set, nil)},
		{"manifest.json", view.CachePublic, v.DatasetManifest(set, days)},
	} {
		if d.name == "manifest.json" && (len(days) == 0 || days[0] != set.Day) {
			continue // an older set does not replace the newest manifest
		}
		content, err := view.Encode(d.value)
		if err != nil {
			return written, err
		}
		if err := put(d.name, view.TypeJSON, d.cache, content); err != nil {
			return written, err
		}
	}
	return written, nil
}

// putContents writes what a set says of itself. Its hash is in the transparency log.
func putContents(set postgres.Dataset, put func(name, mediaType, cache string, content []byte) error) error {
	if set.Contents == nil {
		return nil
	}
	return put(set.Day+"/contents.json", view.TypeJSON, view.CacheImmutable, []byte(*set.Contents))
}
