// Package columns writes tables as Apache Parquet files and as Apache Arrow streams. It covers what this program publishes: flat tables of
// texts, numbers, dates and instants, with unknown values. It needs only the standard library and a compressor: the public libraries would
// add 54 packages (Parquet) or 77 (both formats) to the program. Start at Writer. parquet.go and arrow.go contain the two formats.
package columns

import (
	"fmt"
	"io"
	"math"
	"sync"
	"time"
)

// Kind is the type of a column's values.
type Kind int

// The kinds.
const (
	Text    Kind = iota // UTF-8
	Number              // a double; NaN is null
	Integer             // 64 bits, signed
	Bool
	Date    // a calendar day
	Instant // a time in UTC, in microseconds
)

// Column describes one column.
type Column struct {
	Name string
	Kind Kind
	// Nullable columns can contain unknown values.
	Nullable bool
}

// groupRows is the number of rows in a row group of Parquet and in a record batch of Arrow. A Writer holds one group in memory.
const groupRows = 1 << 16

// The formats.
const (
	Parquet = "parquet"
	Arrow   = "arrow"
)

// Edition names the bytes that a format gives to rows. It changes when the same rows get other bytes, so that the tags of files which are not
// made of their bytes change, too.
func Edition(format string) string {
	if format == Parquet {
		return "zstd 1.20.3"
	}
	return ""
}

// Pair is a text about the whole table, such as its license.
type Pair struct{ Key, Value string }

// Writer writes a table row by row. For each row, call one method for each column, in their order: Text, Number, Integer, Bool, Date,
// Instant or Null. After the last row, call Close. A Writer writes nothing before the first group is complete. It is not safe for
// concurrent use.
type Writer struct {
	columns []vector
	format  encoder
	// next is the column of the next value. rows is the number of complete rows in the group.
	next, rows int
	err        error
}

// encoder writes groups in a format.
type encoder interface {
	group(columns []vector, rows int) error
	end(columns []vector) error
}

// vector holds the values of a column in one group.
type vector struct {
	Column

	// known has an entry for each row of a Nullable column, and unknown is how many of them are false. The other slices only have entries
	// for known values: texts are ends in bytes.
	known   []bool
	unknown int
	whole   []int64
	number  []float64
	ends    []int
	bytes   []byte
}

// New returns a Writer of a table. It panics if format is unknown.
func New(format string, w io.Writer, list []Column, about ...Pair) *Writer {
	out := &Writer{columns: make([]vector, len(list))}
	for i, c := range list {
		v := vector{Column: c}
		if c.Nullable {
			v.known = borrow[bool](&knowns)
		}
		switch c.Kind {
		case Text:
			v.ends, v.bytes = borrow[int](&ends), borrow[byte](&texts)
		case Number:
			v.number = borrow[float64](&numbers)
		default:
			v.whole = borrow[int64](&wholes)
		}
		out.columns[i] = v
	}
	switch format {
	case Parquet:
		out.format = &parquetFile{w: w, about: about}
	case Arrow:
		out.format = &arrowStream{w: w, about: about}
	default:
		panic("columns: unknown format " + format)
	}
	return out
}

// The memory of the values goes from one Writer to the next.
var (
	knowns  sync.Pool
	wholes  sync.Pool
	numbers sync.Pool
	ends    sync.Pool
	texts   sync.Pool
)

// borrow returns memory that a Writer gave back, or none.
func borrow[T any](from *sync.Pool) []T {
	if b, ok := from.Get().(*[]T); ok {
		return *b
	}
	return nil
}

// giveBack keeps memory for the next Writer.
func giveBack[T any](to *sync.Pool, b []T) {
	if cap(b) > 0 {
		b = b[:0]
		to.Put(&b)
	}
}

// put marks the next value of the row as known, and returns its column.
func (w *Writer) put(kind Kind) *vector {
	v := &w.columns[w.next]
	if v.Kind != kind {
		v.refuse()
	}
	if v.Nullable {
		v.known = append(v.known, true)
	}
	return v
}

func (v *vector) refuse() {
	panic(fmt.Sprintf("columns: the column %s does not take this value", v.Name))
}

// step moves on to the next column, and ends the row after the last.
func (w *Writer) step() {
	if w.next++; w.next < len(w.columns) {
		return
	}
	w.next = 0
	if w.rows++; w.rows == groupRows {
		w.flush()
	}
}

func (w *Writer) flush() {
	if w.err == nil {
		w.err = w.format.group(w.columns, w.rows)
	}
	for i := range w.columns {
		v := &w.columns[i]
		v.known, v.whole, v.number, v.ends, v.bytes = v.known[:0], v.whole[:0], v.number[:0], v.ends[:0], v.bytes[:0]
		v.unknown = 0
	}
	w.rows = 0
}

// Text adds a text.
func (w *Writer) Text(s string) {
	v := w.put(Text)
	v.bytes = append(v.bytes, s...)
	v.ends = append(v.ends, len(v.bytes))
	w.step()
}

// Number adds a number. NaN is unknown.
func (w *Writer) Number(f float64) {
	if math.IsNaN(f) {
		w.Null()
		return
	}
	v := w.put(Number)
	v.number = append(v.number, f)
	w.step()
}

// Integer adds a whole number.
func (w *Writer) Integer(n int64) { w.integral(Integer, n) }

// Bool adds a truth value.
func (w *Writer) Bool(b bool) {
	n := int64(0)
	if b {
		n = 1
	}
	w.integral(Bool, n)
}

// Instant adds a time. The zero time is unknown.
func (w *Writer) Instant(t time.Time) {
	if t.IsZero() {
		w.Null()
		return
	}
	w.integral(Instant, t.UnixMicro())
}

// Date adds a day in the form YYYY-MM-DD. Any other text is unknown.
func (w *Writer) Date(day string) {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		w.Null()
		return
	}
	w.integral(Date, t.Unix()/(24*60*60))
}

func (w *Writer) integral(kind Kind, n int64) {
	v := w.put(kind)
	v.whole = append(v.whole, n)
	w.step()
}

// Null adds an unknown value. The column must be Nullable.
func (w *Writer) Null() {
	v := &w.columns[w.next]
	if !v.Nullable {
		v.refuse()
	}
	v.known = append(v.known, false)
	v.unknown++
	w.step()
}

// Err returns the first error of the writer below, or nil. A caller with many rows can stop early.
func (w *Writer) Err() error { return w.err }

// Close writes the rest and the end of the table. It does not close the writer below.
func (w *Writer) Close() error {
	if w.rows > 0 {
		w.flush()
	}
	for i := range w.columns {
		v := &w.columns[i]
		giveBack(&knowns, v.known)
		giveBack(&wholes, v.whole)
		giveBack(&numbers, v.number)
		giveBack(&ends, v.ends)
		if cap(v.bytes) <= keptBytes {
			giveBack(&texts, v.bytes)
		}
		v.known, v.whole, v.number, v.ends, v.bytes = nil, nil, nil, nil, nil
	}
	if w.err != nil {
		return w.err
	}
	return w.format.end(w.columns)
}

// has reports whether the value of a row is known.
func (v *vector) has(row int) bool { return !v.Nullable || v.known[row] }

// text returns the i-th known text.
func (v *vector) text(i int) []byte {
	from := 0
	if i > 0 {
		from = v.ends[i-1]
	}
	return v.bytes[from:v.ends[i]]
}
