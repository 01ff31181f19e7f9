package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
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
	Date string `help:"Write the set of this day alone, YYYY-MM-DD. Default: all that are kept, and the newest beside them."`
}

// Run writes the daily data sets to a folder or bucket, in the layout of /data/. The copy is complete: its addresses are relative, and the
// proofs of the log are beside the sets. Of each set it writes the files, then the manifest. Last are the files of the newest set without a
// day, and their manifest. So a reader of a manifest finds every file that it names. Run does not change an existing set.
func (c publishCommand) Run(ctx context.Context, p *program) error {
	if _, err := time.Parse(time.DateOnly, c.Date); c.Date != "" && err != nil {
		return usageError{fmt.Errorf("--date: %q is not a day such as 2026-11-20", c.Date)}
	}
	return p.withDB(ctx, func(db *postgres.DB) error {
		days := []string{c.Date}
		if c.Date == "" {
			var err error
			if days, err = db.DatasetDays(ctx); err != nil {
				return err
			}
		}
		if len(days) == 0 {
			return errNoSet("")
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
		to := &setCopy{db: db, view: v, to: bucket}
		err = to.days(ctx, days)
		if err == nil && c.Date == "" {
			err = to.newest(ctx, days)
		}
		if err = errors.Join(err, bucket.Close()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s up to the data set of %s: %s written to %s\n", counted(len(days), "day"), days[0], counted(to.written, "file"), strings.SplitN(c.To, "?", 2)[0])
		return err
	})
}

// errNoSet says that there is no set of a day, or none at all.
func errNoSet(day string) error {
	return fmt.Errorf("there is no data set%s: a worker makes one each day, or `tidemark schedule run publish dataset` at once", onDay(day))
}

func onDay(day string) string {
	if day == "" {
		return ""
	}
	return " of " + day
}

// setCopy writes sets to a folder or bucket. written is the number of files that it wrote.
type setCopy struct {
	db      *postgres.DB
	view    *view.View
	to      *archive.Bucket
	written int
}

// put writes a file unless it is there already.
func (c *setCopy) put(ctx context.Context, name, mediaType, cache string, content []byte) error {
	have, there, err := c.to.Get(ctx, name)
	if err != nil || there && bytes.Equal(have, content) {
		return err
	}
	c.written++
	return c.to.Put(ctx, name, mediaType, cache, content)
}

// days writes the sets of days, the oldest first.
func (c *setCopy) days(ctx context.Context, days []string) error {
	for _, day := range slices.Backward(days) {
		set, err := c.set(ctx, day)
		if err != nil {
			return err
		}
		if err := c.write(ctx, set, day+"/", "", false, nil); err != nil {
			return err
		}
	}
	return nil
}

// newest writes the files without a day: the newest set's files, and the manifest that names the days.
func (c *setCopy) newest(ctx context.Context, days []string) error {
	set, err := c.set(ctx, days[0])
	if err != nil {
		return err
	}
	return c.write(ctx, set, "", days[0]+"/", true, days)
}

func (c *setCopy) set(ctx context.Context, day string) (postgres.Dataset, error) {
	set, err := c.db.DatasetOf(ctx, day)
	if errors.Is(err, postgres.ErrNotFound) {
		return set, errNoSet(day)
	}
	return set, err
}

// proofName is the name of the proof of a set.
const proofName = "contents.tlog-proof"

// write writes the files of a set into a folder, its manifest last. prefix leads from the folder to the files of the set's day. days are for the
// manifest.
func (c *setCopy) write(ctx context.Context, set postgres.Dataset, folder, prefix string, newest bool, days []string) error {
	files, leads := view.SetCache(set, newest)
	for _, t := range set.Tables {
		content, err := c.db.DatasetFile(ctx, t.SHA256)
		if err != nil {
			return err
		}
		if err := c.put(ctx, folder+t.Name+".parquet", view.TypeParquet, files, content); err != nil {
			return err
		}
	}
	at := view.SetPlace{Prefix: prefix}
	if set.Contents != nil {
		if err := c.put(ctx, folder+"contents.json", view.TypeJSON, files, []byte(*set.Contents)); err != nil {
			return err
		}
		if set.LogIndex != nil {
			proof, witnessed, err := c.db.LogProof(ctx, postgres.LogRecord, *set.LogIndex, false)
			if err != nil {
				return err
			}
			cache := leads
			if !witnessed {
				cache = view.CachePublic // a better proof will replace it
			}
			if err := c.put(ctx, folder+proofName, "text/plain; charset=utf-8", cache, proof); err != nil {
				return err
			}
			at.Proof = new(prefix + proofName)
		}
	}
	for _, d := range []struct {
		name, cache string
		value       any
	}{
		{"datapackage.json", files, c.view.DataPackage(set, at)},
		{"croissant.json", leads, c.view.Croissant(set, at)},
		{"manifest.json", leads, c.view.DatasetManifest(set, at, days)},
	} {
		content, err := view.Encode(d.value)
		if err != nil {
			return err
		}
		if err := c.put(ctx, folder+d.name, view.TypeJSON, d.cache, content); err != nil {
			return err
		}
	}
	return nil
}
