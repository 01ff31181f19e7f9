package columns

import (
	"encoding/binary"
	"io"
)

// parquetFile writes a Parquet file. Each column of a row group is one page, compressed with zstd, after its dictionary if it has one.
type parquetFile struct {
	w     io.Writer
	about []Pair

	// at is the number of bytes written. groups are the finished row groups.
	at, rows int
	groups   []rowGroup
}

type rowGroup struct {
	rows, plain, packed int
	chunks              []chunk
}

// chunk is the footer's entry for a column in a row group.
type chunk struct {
	encodings []int
	// begin is where the chunk begins, and data where its values do, after a dictionary if it has one.
	begin, data, plain, packed, values, nulls int
	min, max                                  []byte
}

const magic = "PAR1"

// The enumerations of parquet.thrift.
const (
	encodingPlain      = 0
	encodingRLE        = 3
	encodingDelta      = 5
	encodingDictionary = 8
	encodingSplit      = 9

	codecZstd = 6

	pageData       = 0
	pageDictionary = 2
)

// physical is how a kind is stored: Parquet's physical type, and its older name of the meaning, or -1.
var physical = [...]struct{ kind, converted int }{
	Text: {6, 0}, Number: {5, -1}, Integer: {2, 18}, Bool: {0, -1}, Date: {1, 6}, Instant: {2, 10},
}

func (f *parquetFile) write(b []byte) error {
	n, err := f.w.Write(b)
	f.at += n
	return err
}

func (f *parquetFile) begin() error {
	if f.at > 0 {
		return nil
	}
	return f.write([]byte(magic))
}

func (f *parquetFile) group(columns []vector, rows int) error {
	if err := f.begin(); err != nil {
		return err
	}
	e := pages.Get().(*pageEncoder)
	defer e.release()
	g := rowGroup{rows: rows}
	for i := range columns {
		c := e.chunk(&columns[i], rows)
		c.begin, c.data = c.begin+f.at, c.data+f.at
		if err := f.write(e.out); err != nil {
			return err
		}
		g.plain, g.packed = g.plain+c.plain, g.packed+c.packed
		g.chunks = append(g.chunks, c)
	}
	f.groups, f.rows = append(f.groups, g), f.rows+rows
	return nil
}

func (f *parquetFile) end(columns []vector) error {
	if err := f.begin(); err != nil {
		return err
	}
	var t thrift
	t.element(func() {
		t.i32(1, 2) // the version of the format
		t.list(2, thriftStruct, 1+len(columns))
		t.element(func() {
			t.bytes(4, []byte("schema"))
			t.i32(5, len(columns))
		})
		for i := range columns {
			t.element(func() { describe(&t, &columns[i]) })
		}
		t.i64(3, f.rows)
		t.list(4, thriftStruct, len(f.groups))
		for _, g := range f.groups {
			t.element(func() { g.describe(&t, columns) })
		}
		if len(f.about) > 0 {
			t.list(5, thriftStruct, len(f.about))
			for _, p := range f.about {
				t.element(func() {
					t.bytes(1, []byte(p.Key))
					t.bytes(2, []byte(p.Value))
				})
			}
		}
		t.bytes(6, []byte("tidemark version 1.0.0"))
		t.list(7, thriftStruct, len(columns))
		for range columns { // the bounds are ordered as the type is
			t.element(func() { t.within(1, func() {}) })
		}
	})
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)))
	return f.write(append(t.b, magic...))
}

// describe writes the schema of a column.
func describe(t *thrift, v *vector) {
	t.i32(1, physical[v.Kind].kind)
	repetition := 0
	if v.Nullable {
		repetition = 1
	}
	t.i32(3, repetition)
	t.bytes(4, []byte(v.Name))
	if c := physical[v.Kind].converted; c >= 0 {
		t.i32(6, c)
	}
	switch v.Kind {
	case Text:
		t.within(10, func() { t.within(1, func() {}) })
	case Date:
		t.within(10, func() { t.within(6, func() {}) })
	case Instant:
		t.within(10, func() {
			t.within(8, func() {
				t.bool(1, true)                                // in UTC
				t.within(2, func() { t.within(2, func() {}) }) // microseconds
			})
		})
	case Integer:
		t.within(10, func() {
			t.within(10, func() {
				t.field(1, thriftByte)
				t.b = append(t.b, 64)
				t.bool(2, true)
			})
		})
	}
}

func (g rowGroup) describe(t *thrift, columns []vector) {
	t.list(1, thriftStruct, len(g.chunks))
	for i, c := range g.chunks {
		t.element(func() {
			t.i64(2, c.begin)
			t.within(3, func() {
				t.i32(1, physical[columns[i].Kind].kind)
				t.list(2, thriftI32, len(c.encodings))
				for _, e := range c.encodings {
					t.b = appendZigZag(t.b, int64(e))
				}
				t.list(3, thriftBinary, 1)
				t.bytes(0, []byte(columns[i].Name))
				t.i32(4, codecZstd)
				t.i64(5, c.values)
				t.i64(6, c.plain)
				t.i64(7, c.packed)
				t.i64(9, c.data)
				if c.begin < c.data {
					t.i64(11, c.begin)
				}
				t.within(12, func() {
					t.i64(3, c.nulls)
					if c.max != nil {
						t.bytes(5, c.max)
						t.bytes(6, c.min)
					}
				})
			})
		})
	}
	t.i64(2, g.plain)
	t.i64(3, g.rows)
	t.i64(6, g.packed)
}
