package columns_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/internal/columns"
)

var npm = flag.String("npm", "", "a folder with the packages @duckdb/node-api, hyparquet, hyparquet-compressors and apache-arrow, installed")

var all = []columns.Column{
	{Name: "text", Kind: columns.Text},
	{Name: "maybe_text", Kind: columns.Text, Nullable: true},
	{Name: "number", Kind: columns.Number, Nullable: true},
	{Name: "few_numbers", Kind: columns.Number},
	{Name: "integer", Kind: columns.Integer},
	{Name: "maybe_integer", Kind: columns.Integer, Nullable: true},
	{Name: "flag", Kind: columns.Bool},
	{Name: "maybe_flag", Kind: columns.Bool, Nullable: true},
	{Name: "day", Kind: columns.Date},
	{Name: "at", Kind: columns.Instant},
	{Name: "maybe_at", Kind: columns.Instant, Nullable: true},
	{Name: "nothing", Kind: columns.Number, Nullable: true},
	{Name: "one", Kind: columns.Text},
}

// cells returns the i-th row, with values at the ends of their ranges.
func cells(i int) []any {
	row := []any{
		fmt.Sprintf("row %d, नमस्ते \"quoted\"\n", i), nil, nil, float64(i % 7), int64(i), nil, i%3 == 0, nil, "2026-11-23",
		time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC).Add(time.Duration(i) * time.Hour), nil, nil, "same",
	}
	if i%5 != 0 {
		row[1], row[2], row[5], row[7] = "", math.Sqrt(float64(i)), int64(-i*i*1_000_003), i%2 == 0
		row[10] = time.Date(1969, 12, 31, 23, 59, 59, 999_999_000, time.UTC).AddDate(0, 0, -i)
	}
	switch i {
	case 1:
		row[2], row[4], row[5], row[8] = math.Inf(-1), int64(math.MaxInt64), int64(math.MinInt64), "1899-12-31"
	case 2:
		row[2], row[4], row[5], row[8] = math.MaxFloat64, int64(math.MinInt64), int64(math.MaxInt64), "9999-12-31"
	case 3:
		row[2] = math.SmallestNonzeroFloat64
	case 4:
		row[2], row[1] = math.Copysign(0, -1), "ends in zero byte\x00"
	case 6: // no number is unknown; an instant of another zone is the same instant
		row[2], row[9] = math.NaN(), time.Date(2026, 3, 29, 2, 30, 0, 123_456_000, time.FixedZone("", 5*3600+1800))
	case 7: // sums of decimals, and the whole numbers that a double no longer tells apart
		row[2], row[4], row[5], row[9] = 0.30000000000000004, int64(1)<<53+1, -(int64(1)<<53 + 1), time.Date(2026, 10, 25, 2, 30, 0, 0, time.FixedZone("", -3*3600))
	case 8:
		row[2], row[1] = 1e-7, "0.10"
	}
	return row
}

func encode(t *testing.T, format string, rows int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := columns.New(format, &out, all, columns.Pair{Key: "license", Value: "none"})
	for i := range rows {
		for c, v := range cells(i) {
			switch v := v.(type) {
			case nil:
				w.Null()
			case string:
				if all[c].Kind == columns.Date {
					w.Date(v)
				} else {
					w.Text(v)
				}
			case float64:
				w.Number(v)
			case int64:
				w.Integer(v)
			case bool:
				w.Bool(v)
			case time.Time:
				w.Instant(v)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// want returns the rows as the scripts in testdata print them.
func want(rows int) [][]any {
	out := [][]any{}
	for i := range rows {
		row := cells(i)
		for c, v := range row {
			switch v := v.(type) {
			case float64:
				if row[c] = fmt.Sprintf("%016x", math.Float64bits(v)); math.IsNaN(v) {
					row[c] = nil
				}
			case int64:
				row[c] = fmt.Sprint(v)
			case time.Time:
				row[c] = fmt.Sprint(v.UnixMicro())
			}
		}
		out = append(out, row)
	}
	return out
}

// TestOtherImplementationsReadTheSameValues reads files with DuckDB, hyparquet and Arrow's own library. 0 rows, one row, rows within one
// block of differences, and more than one group.
func TestOtherImplementationsReadTheSameValues(t *testing.T) {
	t.Parallel()
	if *npm == "" {
		t.Skip("make conformance runs this, with packages of npm")
	}
	for _, reader := range []struct{ name, format string }{{"duckdb", columns.Parquet}, {"hyparquet", columns.Parquet}, {"arrow", columns.Arrow}} {
		for _, rows := range []int{0, 1, 2, 9, 300, 70_000} {
			t.Run(fmt.Sprint(reader.name, " ", rows), func(t *testing.T) {
				t.Parallel()
				file := filepath.Join(t.TempDir(), "file."+reader.format)
				if err := os.WriteFile(file, encode(t, reader.format, rows), 0o600); err != nil {
					t.Fatal(err)
				}
				compare(t, reader.name, file, want(rows))
			})
		}
	}
}

func compare(t *testing.T, reader, file string, want [][]any) {
	t.Helper()
	script, err := filepath.Abs("testdata/read.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script, *npm, reader, file)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", reader, err, &complaint)
	}
	var got [][]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%s: %v in %.300s", reader, err, out)
	}
	if len(got) != len(want) {
		t.Fatalf("%s reads %d rows, want %d", reader, len(got), len(want))
	}
	for i := range want {
		if d := cmp.Diff(want[i], got[i]); d != "" {
			t.Fatalf("%s: row %d (-want +got):\n%s", reader, i, d)
		}
	}
}

// TestTheSameRowsHaveTheSameBytes makes files one after the other and beside each other, so that they use memory which others used. The hash is
// that of the newest edition.
func TestTheSameRowsHaveTheSameBytes(t *testing.T) {
	t.Parallel()
	const edition, hash = "zstd 1.20.3", "e312715db41080177d7e507fa8e400bde9d0212a683e2f2cdfc4118aeab2e47e"
	first := encode(t, columns.Parquet, 300)
	if got := fmt.Sprintf("%x", sha256.Sum256(first)); got != hash || columns.Edition(columns.Parquet) != edition {
		t.Errorf("the hash is %s, and of the edition %s it is %s: the same rows have other bytes, so the edition must be another one", got, edition, hash)
	}
	long := encode(t, columns.Parquet, 70_000)
	for i := range 4 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			if !bytes.Equal(encode(t, columns.Parquet, 300), first) || !bytes.Equal(encode(t, columns.Parquet, 70_000), long) {
				t.Error("the same rows have other bytes")
			}
		})
	}
}

// TestTheStatisticsCountUnknownValues reads the footer of files of one group and of several. The numbers of the fields are those of
// parquet.thrift.
func TestTheStatisticsCountUnknownValues(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1, 9, 70_000} {
		file, expected := encode(t, columns.Parquet, rows), want(rows)
		tail := file[len(file)-8:]
		if string(tail[4:]) != "PAR1" {
			t.Fatalf("%d rows: the file ends in %q", rows, tail)
		}
		footer := compact{b: file[len(file)-8-int(binary.LittleEndian.Uint32(tail)) : len(file)-8]}
		groups := footer.structure()[4].([]any)
		if rows > 1<<16 && len(groups) < 2 {
			t.Errorf("%d rows: %d groups", rows, len(groups))
		}
		from := 0
		for g, group := range groups {
			group := group.(map[int]any)
			to := from + int(group[3].(int64))
			for i, chunk := range group[1].([]any) {
				nulls := int64(0)
				for _, row := range expected[from:to] {
					if row[i] == nil {
						nulls++
					}
				}
				statistics := chunk.(map[int]any)[3].(map[int]any)[12].(map[int]any)
				if got := statistics[3]; got != nulls {
					t.Errorf("%d rows, group %d, %s: the statistics say %v unknown values, the rows have %d", rows, g, all[i].Name, got, nulls)
				}
			}
			from = to
		}
		if from != rows {
			t.Errorf("the groups have %d rows, want %d", from, rows)
		}
	}
}

// compact reads Thrift's compact protocol: a struct is a map by field numbers, and an integer an int64.
type compact struct{ b []byte }

func (c *compact) byte() byte {
	first := c.b[0]
	c.b = c.b[1:]
	return first
}

func (c *compact) unsigned() uint64 {
	v, n := binary.Uvarint(c.b)
	c.b = c.b[n:]
	return v
}

func (c *compact) signed() int64 {
	v, n := binary.Varint(c.b)
	c.b = c.b[n:]
	return v
}

func (c *compact) structure() map[int]any {
	fields, number := map[int]any{}, 0
	for {
		head := c.byte()
		if head == 0 {
			return fields
		}
		if step := int(head >> 4); step > 0 {
			number += step
		} else {
			number = int(c.signed())
		}
		fields[number] = c.value(head & 15)
	}
}

func (c *compact) value(kind byte) any {
	switch kind {
	case 1, 2:
		return kind == 1
	case 3:
		return int64(int8(c.byte()))
	case 4, 5, 6:
		return c.signed()
	case 8:
		n := c.unsigned()
		text := c.b[:n]
		c.b = c.b[n:]
		return string(text)
	case 9:
		head := c.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = c.unsigned()
		}
		list := make([]any, n)
		for i := range list {
			list[i] = c.value(head & 15)
		}
		return list
	case 12:
		return c.structure()
	}
	panic(fmt.Sprint("no value of kind ", kind, " is expected"))
}

func TestAFailedWriteIsReported(t *testing.T) {
	t.Parallel()
	for _, format := range []string{columns.Parquet, columns.Arrow} {
		w := columns.New(format, full{}, []columns.Column{{Name: "n", Kind: columns.Integer}})
		for i := range 200_000 {
			w.Integer(int64(i))
		}
		if !errors.Is(w.Err(), errFull) || !errors.Is(w.Close(), errFull) {
			t.Errorf("%s: %v", format, w.Err())
		}
	}
}

func TestNothingIsWrittenBeforeTheFirstGroupIsComplete(t *testing.T) {
	t.Parallel()
	for _, format := range []string{columns.Parquet, columns.Arrow} {
		var out bytes.Buffer
		w := columns.New(format, &out, []columns.Column{{Name: "n", Kind: columns.Integer}})
		for i := range 1000 {
			w.Integer(int64(i))
		}
		if out.Len() > 0 {
			t.Errorf("%s: %d bytes after 1,000 rows", format, out.Len())
		}
	}
}

func TestAnUnknownValueInAColumnWithoutUnknownsPanics(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("it did not panic")
		}
	}()
	columns.New(columns.Parquet, &bytes.Buffer{}, []columns.Column{{Name: "n", Kind: columns.Number}}).Number(math.NaN())
}

var errFull = errors.New("the disk is full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// BenchmarkWriter writes rows like those of a signal's history: two times, six numbers of twelve digits, a count and two flags.
func BenchmarkWriter(b *testing.B) {
	list := []columns.Column{{Name: "observed_at", Kind: columns.Instant}, {Name: "published_at", Kind: columns.Instant}}
	for i := range 6 {
		list = append(list, columns.Column{Name: fmt.Sprint("number_", i), Kind: columns.Number, Nullable: true})
	}
	list = append(list, columns.Column{Name: "vintage", Kind: columns.Integer}, columns.Column{Name: "revised", Kind: columns.Bool})
	at := time.Date(2006, 6, 14, 0, 0, 0, 0, time.UTC)
	for _, format := range []string{columns.Parquet, columns.Arrow} {
		b.Run(format, func(b *testing.B) {
			const rows = 200_000
			size := 0
			for b.Loop() {
				var out bytes.Buffer
				w := columns.New(format, &out, list)
				for i := range rows {
					day := at.AddDate(0, 0, i)
					w.Instant(day)
					w.Instant(day.Add(40 * time.Hour))
					for k := range 6 {
						w.Number(math.Round(1e9*math.Sin(float64(i*(k+1)))) / 1e8)
					}
					w.Integer(int64(1 + i%50/49))
					w.Bool(i%50 == 49)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
				size = out.Len()
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(size)/rows, "bytes/row")
		})
	}
}
