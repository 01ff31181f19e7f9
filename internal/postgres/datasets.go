package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// DatasetStore keeps the daily data sets with their files.
//
// It reads announced_picks, dataset_files, datasets, log_entries, log_heads. It writes dataset_files, datasets.
type DatasetStore struct{ *connections }

// Dataset is a published set of tables: everything public, as of an instant.
type Dataset struct {
	// Day is the day of the set, YYYY-MM-DD in UTC.
	Day         string
	AsOf        time.Time
	Tables      []DatasetTable
	PublishedAt time.Time
	// Contents is the set's description of itself. Its leaf in the transparency log has the hash of these bytes. It is nil for sets from
	// before there were leaves. LogIndex is the number of the leaf, nil until a signed checkpoint contains it. SaveDataset writes Contents,
	// the log writes LogIndex.
	Contents *string
	LogIndex *int64
}

// datasetContents is the form of a set's contents.
type datasetContents struct {
	Date  string             `json:"date"`
	AsOf  time.Time          `json:"as_of"`
	Files []DatasetFileFacts `json:"files"`
}

// DatasetFileFacts are a table of a set with the name of its file.
type DatasetFileFacts struct {
	Path string `json:"path"`
	DatasetTable
}

// Facts returns the tables of a set with the names of their files.
func (d Dataset) Facts() []DatasetFileFacts {
	out := make([]DatasetFileFacts, len(d.Tables))
	for i, t := range d.Tables {
		out[i] = DatasetFileFacts{t.Name + ".parquet", t}
	}
	return out
}

// contents writes what a set says of itself.
func (d Dataset) contents() (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(datasetContents{d.Day, d.AsOf.UTC(), d.Facts()}); err != nil {
		return "", fmt.Errorf("write the contents of the data set: %w", err)
	}
	return b.String(), nil
}

// DatasetTable is a table of a set, with the file that contains it.
type DatasetTable struct {
	Name      string          `json:"name"`
	Title     string          `json:"title"`
	Unit      string          `json:"unit,omitempty"`
	License   string          `json:"license,omitempty"`
	Source    string          `json:"source,omitempty"`
	Synthetic bool            `json:"synthetic"`
	SHA256    string          `json:"sha256"`
	Bytes     int64           `json:"bytes"`
	Rows      int64           `json:"rows"`
	Columns   []DatasetColumn `json:"columns"`
}

// DatasetColumn is a column of a table. Type is a type of Frictionless' Table Schema.
type DatasetColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Nullable bool   `json:"nullable"`
}

// keptDatasets is how many of the newest sets are kept, besides the first of each month.
const keptDatasets = 7

// SaveDataset publishes a set with the bytes of its files, all or nothing, and deletes the sets that are not kept. It reports false if the
// day has a set already: a published set never changes. files are by SHA-256.
func (db DatasetStore) SaveDataset(ctx context.Context, f task.Fence, d Dataset, files map[string][]byte) (added bool, err error) {
	contents, err := d.contents()
	if err != nil {
		return false, err
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		// One process at a time, so that no file is deleted that another set is about to use.
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock(hashtextextended('datasets', 0))`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `insert into datasets (day, as_of, tables, contents) values (@day::date, @as_of, @tables, @contents) on conflict (day) do nothing`,
			pgx.NamedArgs{"day": d.Day, "as_of": d.AsOf, "tables": d.Tables, "contents": contents})
		if err != nil {
			return err
		}
		if added = tag.RowsAffected() > 0; !added {
			return checkFence(ctx, tx, f, 0)
		}
		for _, sum := range slices.Sorted(keysOf(files)) {
			if _, err := tx.Exec(ctx, `insert into dataset_files (sha256, content) values (@sha256, @content) on conflict (sha256) do nothing`,
				pgx.NamedArgs{"sha256": sum, "content": files[sum]}); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, forgetDatasetsSQL, pgx.NamedArgs{"keep": keptDatasets}); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, forgetDatasetFilesSQL); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, int64(len(d.Tables)))
	})
	if err != nil {
		return false, fmt.Errorf("publish the data set of %s: %w", d.Day, err)
	}
	return added, nil
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

const forgetDatasetsSQL = `
	delete from datasets d
	where d.day not in (select n.day from datasets n order by n.day desc limit @keep)
		and d.day > (select min(m.day) from datasets m where date_trunc('month', m.day) = date_trunc('month', d.day))`

const forgetDatasetFilesSQL = `
	delete from dataset_files f
	where not exists (select from datasets d, jsonb_array_elements(d.tables) t where t ->> 'sha256' = f.sha256)`

// DatasetOf returns the set of a day, or the newest set if day is empty. The error is ErrNotFound if no such set exists.
func (db DatasetStore) DatasetOf(ctx context.Context, day string) (Dataset, error) {
	rows, err := db.reads.Query(ctx, `
		select to_char(d.day, 'YYYY-MM-DD') as day, d.as_of, d.tables, d.published_at, d.contents, e.idx as log_index
		from datasets d
		left join log_heads h on h.log = 'record' and d.contents is not null
		left join log_entries e on e.log = h.log and e.key = 'dataset:' || to_char(d.day, 'YYYY-MM-DD') and e.idx < h.size
		where @day = '' or d.day = nullif(@day, '')::date order by d.day desc limit 1`, pgx.NamedArgs{"day": day}) // primary key
	if err != nil {
		return Dataset{}, fmt.Errorf("read a data set: %w", asUnavailable(err))
	}
	d, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[Dataset])
	if errors.Is(err, pgx.ErrNoRows) {
		return Dataset{}, fmt.Errorf("the data set of %q: %w", day, ErrNotFound)
	}
	if err != nil {
		return Dataset{}, fmt.Errorf("read a data set: %w", asUnavailable(err))
	}
	d.AsOf, d.PublishedAt = d.AsOf.UTC(), d.PublishedAt.UTC()
	return d, nil
}

// SkipsDataset reports whether the set of a slot is left out, because many days of a sandbox pass in a minute. It is, if a set was made within
// pause and the slot lies more than a day in the past, both by the wall clock.
func (db DatasetStore) SkipsDataset(ctx context.Context, slot time.Time, pause time.Duration) (skip bool, err error) {
	err = db.reads.QueryRow(ctx, `
		select @slot < clock_timestamp() - interval '1 day'
			and exists (select from datasets where created_at > clock_timestamp() - @pause::interval)`,
		pgx.NamedArgs{"slot": slot, "pause": pause}).Scan(&skip)
	if err != nil {
		return false, fmt.Errorf("look for a recent data set: %w", asUnavailable(err))
	}
	return skip, nil
}

// DatasetDays returns the days that have a set, the newest first.
func (db DatasetStore) DatasetDays(ctx context.Context) ([]string, error) {
	rows, err := db.reads.Query(ctx, `select to_char(day, 'YYYY-MM-DD') from datasets order by datasets.day desc`)
	if err != nil {
		return nil, fmt.Errorf("list the data sets: %w", asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the data sets: %w", asUnavailable(err))
	}
	return list, nil
}

// DatasetFile returns the bytes of a file of a set. The error is ErrNotFound if no kept set has it.
func (db DatasetStore) DatasetFile(ctx context.Context, sha256 string) ([]byte, error) {
	var b []byte
	err := db.reads.QueryRow(ctx, `select content from dataset_files where sha256 = @sha256`, pgx.NamedArgs{"sha256": sha256}).Scan(&b)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("the file %s: %w", sha256, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read a file of a data set: %w", asUnavailable(err))
	}
	return b, nil
}

// datasetBytesSQL reads a part of a file (primary key). Postgres stores the content in pieces, uncompressed, and reads only the pieces of the part.
const datasetBytesSQL = `select substring(content from @from::int + 1 for @n::int) from dataset_files where sha256 = @sha256`

// DatasetBytes returns n bytes of a file of a set from a position on, fewer if the file ends before. The error is ErrNotFound if no kept set has the
// file.
func (db DatasetStore) DatasetBytes(ctx context.Context, sha256 string, from, n int64) ([]byte, error) {
	var b []byte
	err := db.reads.QueryRow(ctx, datasetBytesSQL, pgx.NamedArgs{"sha256": sha256, "from": from, "n": n}).Scan(&b)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("the file %s: %w", sha256, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read a part of a file of a data set: %w", asUnavailable(err))
	}
	return b, nil
}

// AnnouncedLink is a link of the chain that was announced.
type AnnouncedLink struct {
	Seq                                     int64
	Ticker, Price, Date, PreviousHash, Hash string
	AnnouncedAt                             time.Time
}

// AnnouncedLinks returns the links of the chain that were announced by an instant, in their order.
func (db DatasetStore) AnnouncedLinks(ctx context.Context, asOf time.Time) ([]AnnouncedLink, error) {
	rows, err := db.reads.Query(ctx, `
		select seq, ticker, price, date, previous_hash, hash, announced_at from announced_picks where announced_at <= @as_of order by seq`,
		pgx.NamedArgs{"as_of": asOf})
	list, err := collect[AnnouncedLink](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the announced links: %w", asUnavailable(err))
	}
	return list, nil
}
