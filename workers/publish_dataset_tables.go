package workers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tidemark/internal/columns"
	"tidemark/internal/postgres"
	"tidemark/signals"
	"tidemark/signals/forecast"
)

// buildDataset returns the set as of an instant: the manifest's tables and the bytes of their files by SHA-256. It is the same for the same
// instant, whenever it is built.
func buildDataset(ctx context.Context, db *postgres.DB, list []signals.Definition, asOf time.Time) ([]postgres.DatasetTable, map[string][]byte, error) {
	b := datasetBuilder{db: db, asOf: asOf, files: map[string][]byte{}}
	world, err := db.World(ctx)
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		return nil, nil, err
	}
	b.synthetic = world.Name == sandboxWorld
	for _, d := range list {
		if err := b.history(ctx, d); err != nil {
			return nil, nil, err
		}
	}
	if err := b.forecasts(ctx, list); err != nil {
		return nil, nil, err
	}
	if err := b.chain(ctx); err != nil {
		return nil, nil, err
	}
	return b.tables, b.files, nil
}

type datasetBuilder struct {
	db     *postgres.DB
	asOf   time.Time
	tables []postgres.DatasetTable
	files  map[string][]byte
	// synthetic reports that the whole world is generated.
	synthetic bool
}

// sandboxWorld is the name of the world whose data are generated.
const sandboxWorld = "sandbox"

// table writes a file with fill and adds it to the set.
func (b *datasetBuilder) table(t postgres.DatasetTable, list []columns.Column, fill func(*columns.Writer) (rows int64, err error)) error {
	t.Synthetic = t.Synthetic || b.synthetic
	var out bytes.Buffer
	about := []columns.Pair{{Key: "name", Value: t.Name}, {Key: "as_of", Value: b.asOf.UTC().Format(time.RFC3339Nano)}, {Key: "synthetic", Value: strconv.FormatBool(t.Synthetic)}}
	if t.License != "" {
		about = append(about, columns.Pair{Key: "license", Value: t.License})
	}
	w := columns.New(columns.Parquet, &out, list, about...)
	rows, err := fill(w)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("write the table %s: %w", t.Name, err)
	}
	sum := sha256.Sum256(out.Bytes())
	t.SHA256, t.Bytes, t.Rows = hex.EncodeToString(sum[:]), int64(out.Len()), rows
	for _, c := range list {
		t.Columns = append(t.Columns, postgres.DatasetColumn{Name: c.Name, Type: typeNames[c.Kind], Nullable: c.Nullable})
	}
	b.tables, b.files[t.SHA256] = append(b.tables, t), out.Bytes()
	return nil
}

// typeNames are the names of the kinds in the manifest, as in Frictionless' Table Schema.
var typeNames = [...]string{
	columns.Text: "string", columns.Number: "number", columns.Integer: "integer", columns.Bool: "boolean", columns.Date: "date", columns.Instant: "datetime",
}

// history adds every version of every point of a signal.
func (b *datasetBuilder) history(ctx context.Context, d signals.Definition) error {
	newest, err := b.db.SnapshotAsOf(ctx, d.ID, b.asOf)
	if errors.Is(err, postgres.ErrNotFound) {
		return nil // it has no value yet
	}
	if err != nil {
		return err
	}
	var first time.Time
	if newest.FirstIngestedAt != nil {
		first = *newest.FirstIngestedAt
	}
	t := postgres.DatasetTable{
		Name: d.ID, Title: d.Name + ", every version of every point", Unit: d.Unit, License: d.LicenseURL, Source: d.SourceURL, Synthetic: newest.Synthetic,
	}
	q := postgres.HistoryQuery{
		Signal: d.ID, AsOf: b.asOf, Versions: true, FirstIngested: first, Interval: postgres.IntervalOf(d, newest.Uncertainty),
	}
	return b.table(t, postgres.PointColumns(true), func(w *columns.Writer) (rows int64, err error) {
		for p, err := range b.db.History(ctx, q) {
			if err != nil {
				return 0, err
			}
			postgres.PutPoint(w, p, q)
			rows++
		}
		return rows, nil
	})
}

// forecastColumns returns the columns of the forecasts. Each quantile is a column, because every reader of Parquet has flat columns.
func forecastColumns() []columns.Column {
	out := []columns.Column{
		{Name: "seq", Kind: columns.Integer},
		{Name: "id", Kind: columns.Text},
		{Name: "signal", Kind: columns.Text},
		{Name: "figure", Kind: columns.Text},
		{Name: "name", Kind: columns.Text},
		{Name: "period", Kind: columns.Text},
		{Name: "unit", Kind: columns.Text},
		{Name: "release_at", Kind: columns.Instant},
		{Name: "issued_at", Kind: columns.Instant},
		{Name: "label", Kind: columns.Text},
		{Name: "model_version", Kind: columns.Text},
	}
	for _, p := range forecast.Levels {
		out = append(out, columns.Column{Name: quantileColumn(p), Kind: columns.Number})
	}
	return append(out, []columns.Column{
		{Name: "outcome", Kind: columns.Number, Nullable: true},
		{Name: "published_at", Kind: columns.Instant, Nullable: true},
		{Name: "graded_at", Kind: columns.Instant, Nullable: true},
		{Name: "crps", Kind: columns.Number, Nullable: true},
		{Name: "crps_naive_1", Kind: columns.Number, Nullable: true},
		{Name: "crps_naive_2", Kind: columns.Number, Nullable: true},
		{Name: "flags", Kind: columns.Text, Nullable: true}, // separated by spaces
		{Name: "line", Kind: columns.Text},
		{Name: "previous_hash", Kind: columns.Text},
		{Name: "hash", Kind: columns.Text},
		{Name: "grade_line", Kind: columns.Text, Nullable: true},
		{Name: "grade_hash", Kind: columns.Text, Nullable: true},
		{Name: "synthetic", Kind: columns.Bool},
	}...)
}

// quantileColumn names the column of a quantile: p05 for 5 %, p97_5 for 97.5 %.
func quantileColumn(p float64) string {
	digits := strings.TrimPrefix(strconv.FormatFloat(p, 'f', -1, 64), "0.")
	if len(digits) < 2 {
		digits += "0"
	}
	if percent, rest := digits[:2], digits[2:]; rest != "" {
		return "p" + percent + "_" + rest
	}
	return "p" + digits
}

// forecasts adds all forecasts with their grades. The lines contain all numbers exactly, also of the naive forecasts.
func (b *datasetBuilder) forecasts(ctx context.Context, list []signals.Definition) error {
	t := postgres.DatasetTable{Name: "forecasts", Title: "Forecasts of public figures before their publication, and their grades"}
	var all []postgres.Forecast
	for _, d := range list {
		of, err := b.db.Forecasts(ctx, d.ID, b.asOf, 0, 0)
		if err != nil {
			return err
		}
		for _, f := range of {
			t.Synthetic = t.Synthetic || f.Synthetic
		}
		all = append(all, of...)
	}
	return b.table(t, forecastColumns(), func(w *columns.Writer) (int64, error) {
		for _, f := range all {
			putForecast(w, f)
		}
		return int64(len(all)), nil
	})
}

// putForecast writes the row of a forecast.
func putForecast(w *columns.Writer, f postgres.Forecast) {
	target, record := forecast.Named(f.Signal, f.Figure), f.Record()
	w.Integer(f.Seq)
	for _, text := range [...]string{f.ID, f.Signal, f.Figure, target.Name, f.Period, target.Unit} {
		w.Text(text)
	}
	w.Instant(f.ScheduledAt)
	w.Instant(f.IssuedAt)
	w.Text(f.Label)
	w.Text(f.ModelVersion)
	for _, q := range record.Quantiles {
		w.Number(q.Float())
	}
	grade := cmp.Or(f.Grade, &postgres.ForecastGrade{})
	number := func(text string, digits func(float64) *float64) {
		if text == "" { // it is not graded, or the print never came
			w.Null()
			return
		}
		w.Number(*digits(forecast.Decimal(text).Float()))
	}
	known := func(text string) {
		if f.Grade == nil {
			w.Null()
			return
		}
		w.Text(text)
	}
	number(grade.Outcome, postgres.Known)
	w.Instant(grade.PublishedAt)
	w.Instant(grade.GradedAt)
	for _, score := range [...]string{grade.Score, grade.Score1, grade.Score2} {
		number(score, postgres.Statistic) // as the API shows them
	}
	known(strings.Join(grade.Flags, " "))
	for _, text := range [...]string{record.Line(), f.PreviousHash, f.Hash} {
		w.Text(text)
	}
	line := ""
	if f.Grade != nil {
		line = f.GradeRecord().Line()
	}
	known(line)
	known(grade.Hash)
	w.Bool(f.Synthetic)
}

var chainColumns = []columns.Column{
	{Name: "seq", Kind: columns.Integer},
	{Name: "ticker", Kind: columns.Text},
	{Name: "price", Kind: columns.Text},
	{Name: "date", Kind: columns.Date, Nullable: true},
	{Name: "previous_hash", Kind: columns.Text},
	{Name: "hash", Kind: columns.Text},
	{Name: "announced_at", Kind: columns.Instant},
}

// chain adds the announced picks. The price stays a text, because the hash covers its exact characters.
func (b *datasetBuilder) chain(ctx context.Context) error {
	links, err := b.db.AnnouncedLinks(ctx, b.asOf)
	if err != nil {
		return err
	}
	t := postgres.DatasetTable{Name: "chain", Title: "The hash chain of the announced picks"}
	return b.table(t, chainColumns, func(w *columns.Writer) (int64, error) {
		for _, l := range links {
			w.Integer(l.Seq)
			w.Text(l.Ticker)
			w.Text(l.Price)
			w.Date(l.Date)
			w.Text(l.PreviousHash)
			w.Text(l.Hash)
			w.Instant(l.AnnouncedAt)
		}
		return int64(len(links)), nil
	})
}
