package columns

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/bits"
	"slices"
)

// parquetFile writes a Parquet file. Each column of a row group is one page, compressed with gzip, after its dictionary if it has one.
type parquetFile struct {
	w     io.Writer
	about []Pair

	// at is the number of bytes written. groups are the finished row groups.
	at, rows int
	groups   []rowGroup
	gz       *gzip.Writer
	plain    []byte
	packed   bytes.Buffer
}

type rowGroup struct {
	rows, plain, packed int
	chunks              []chunk
}

// chunk is the footer's entry for a column in a row group.
type chunk struct {
	encodings []int
	// dictionary and data are where the pages begin. dictionary is 0 if the chunk has none.
	dictionary, data, plain, packed, values, nulls int
	min, max                                       []byte
}

const magic = "PAR1"

// The enumerations of parquet.thrift.
const (
	encodingPlain      = 0
	encodingRLE        = 3
	encodingDelta      = 5
	encodingDictionary = 8
	encodingSplit      = 9

	codecGzip = 2

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
	g := rowGroup{rows: rows}
	for i := range columns {
		c, err := f.chunk(&columns[i])
		if err != nil {
			return err
		}
		g.plain, g.packed = g.plain+c.plain, g.packed+c.packed
		g.chunks = append(g.chunks, c)
	}
	f.groups, f.rows = append(f.groups, g), f.rows+rows
	return nil
}

func (f *parquetFile) chunk(v *vector) (chunk, error) {
	c := chunk{values: len(v.known), nulls: v.nulls(), encodings: []int{encodingRLE}}
	c.min, c.max = bounds(v)
	f.plain = f.plain[:0]
	if v.Nullable {
		f.plain = appendLevels(f.plain, v.known)
	}
	encoding := encodingPlain
	dictionary, indices := dictionaryOf(v)
	switch {
	case indices != nil:
		n := len(dictionary.ends) + len(dictionary.number)
		c.dictionary = f.at
		err := f.page(&c, appendPlain(nil, &dictionary), func(t *thrift) {
			t.within(7, func() {
				t.i32(1, n)
				t.i32(2, encodingPlain)
			})
		}, pageDictionary)
		if err != nil {
			return c, err
		}
		encoding = encodingDictionary
		width := max(1, bits.Len(uint(n-1))) // some readers do not know a width of 0
		f.plain = append(f.plain, byte(width))
		f.plain = appendHybrid(f.plain, width, indices)
		c.encodings = append(c.encodings, encodingPlain)
	case v.Kind == Number && f.splitPays(v.number):
		encoding = encodingSplit
		f.plain = appendSplit(f.plain, v.number)
	case v.Kind == Integer || v.Kind == Instant || v.Kind == Date:
		encoding = encodingDelta
		f.plain = appendDelta(f.plain, v.whole)
	default:
		f.plain = appendPlain(f.plain, v)
	}
	c.encodings, c.data = append(c.encodings, encoding), f.at
	err := f.page(&c, f.plain, func(t *thrift) {
		t.within(5, func() {
			t.i32(1, c.values)
			t.i32(2, encoding)
			t.i32(3, encodingRLE)
			t.i32(4, encodingRLE)
		})
	}, pageData)
	return c, err
}

// page compresses and writes a page.
func (f *parquetFile) page(c *chunk, content []byte, header func(*thrift), kind int) error {
	f.compress(content)
	var t thrift
	t.element(func() {
		t.i32(1, kind)
		t.i32(2, len(content))
		t.i32(3, f.packed.Len())
		header(&t)
	})
	c.plain += len(t.b) + len(content)
	c.packed += len(t.b) + f.packed.Len()
	if err := f.write(t.b); err != nil {
		return err
	}
	return f.write(f.packed.Bytes())
}

func (f *parquetFile) compress(content []byte) {
	f.packed.Reset()
	if f.gz == nil {
		f.gz = gzip.NewWriter(nil)
	}
	f.gz.Reset(&f.packed)
	_, _ = f.gz.Write(content) // writing to memory cannot fail
	_ = f.gz.Close()
}

// sampled is the number of values that decide between two encodings.
const sampled = 1 << 12

// splitPays reports whether numbers are smaller split by bytes. Numbers with few digits, such as prices, are smaller as they are, because
// whole values repeat.
func (f *parquetFile) splitPays(numbers []float64) bool {
	numbers = numbers[:min(len(numbers), sampled)]
	f.compress(appendPlain(nil, &vector{number: numbers, Column: Column{Kind: Number}}))
	plain := f.packed.Len()
	f.compress(appendSplit(nil, numbers))
	return f.packed.Len() < plain
}

// appendLevels appends for each row whether it is known.
func appendLevels(b []byte, known []bool) []byte {
	levels := make([]uint64, len(known))
	for i, k := range known {
		if k {
			levels[i] = 1
		}
	}
	from := len(b)
	b = appendHybrid(append(b, 0, 0, 0, 0), 1, levels)
	binary.LittleEndian.PutUint32(b[from:], uint32(len(b)-from-4))
	return b
}

// appendPlain appends texts, numbers or truth values as they are.
func appendPlain(b []byte, v *vector) []byte {
	for i := range v.ends {
		text := v.text(i)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	for _, n := range v.number {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
	}
	if v.Kind == Bool {
		b = appendBits(b, v.whole)
	}
	return b
}

// dictionaryOf returns the different values of texts or numbers, and the place of each value among them. The places are nil if less than
// half of the values repeat.
func dictionaryOf(v *vector) (different vector, places []uint64) {
	n := len(v.ends) + len(v.number)
	if n == 0 {
		return vector{}, nil
	}
	different.Column = v.Column
	places = make([]uint64, 0, n)
	texts, numbers := map[string]uint64{}, map[uint64]uint64{}
	for i := range v.ends {
		text := v.text(i)
		place, ok := texts[string(text)]
		if !ok {
			place = uint64(len(texts))
			texts[string(text)] = place
			different.bytes = append(different.bytes, text...)
			different.ends = append(different.ends, len(different.bytes))
		}
		if places = append(places, place); len(texts) > n/2 {
			return vector{}, nil
		}
	}
	for _, f := range v.number {
		place, ok := numbers[math.Float64bits(f)]
		if !ok {
			place = uint64(len(numbers))
			numbers[math.Float64bits(f)] = place
			different.number = append(different.number, f)
		}
		if places = append(places, place); len(numbers) > n/2 {
			return vector{}, nil
		}
	}
	return different, places
}

// bounds returns the smallest and the largest value of a column of times or numbers, or nil. Readers skip groups with them.
func bounds(v *vector) (minimum, maximum []byte) {
	switch {
	case len(v.number) > 0:
		lo, hi := slices.Min(v.number), slices.Max(v.number)
		if lo == 0 { // the format wants the signs of zeros so that readers of either sign find them
			lo = math.Copysign(0, -1)
		}
		if hi == 0 {
			hi = 0
		}
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(lo)), binary.LittleEndian.AppendUint64(nil, math.Float64bits(hi))
	case len(v.whole) == 0 || v.Kind == Bool:
		return nil, nil
	}
	lo, hi := uint64(slices.Min(v.whole)), uint64(slices.Max(v.whole))
	if v.Kind == Date {
		return binary.LittleEndian.AppendUint32(nil, uint32(lo)), binary.LittleEndian.AppendUint32(nil, uint32(hi))
	}
	return binary.LittleEndian.AppendUint64(nil, lo), binary.LittleEndian.AppendUint64(nil, hi)
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
		begin := c.data
		if c.dictionary > 0 {
			begin = c.dictionary
		}
		t.element(func() {
			t.i64(2, begin)
			t.within(3, func() {
				t.i32(1, physical[columns[i].Kind].kind)
				t.list(2, thriftI32, len(c.encodings))
				for _, e := range c.encodings {
					t.b = appendZigZag(t.b, int64(e))
				}
				t.list(3, thriftBinary, 1)
				t.bytes(0, []byte(columns[i].Name))
				t.i32(4, codecGzip)
				t.i64(5, c.values)
				t.i64(6, c.plain)
				t.i64(7, c.packed)
				t.i64(9, c.data)
				if c.dictionary > 0 {
					t.i64(11, c.dictionary)
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
