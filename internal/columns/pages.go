package columns

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"math/bits"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// pageEncoder encodes the pages of one column after the other. Its memory is used again.
type pageEncoder struct {
	// out is the finished chunk, and content the page that is made.
	out, content []byte
	// other is a page in another encoding, and packed a page in compressed form.
	other, packed []byte
	levels        []uint32
	dictionary    dictionary
	// numbers compresses numbers, and texts all else. The blocks of numbers are short: where they are split by bytes, a block has the bytes of
	// one place, and a code of its own.
	numbers, texts *zstd.Encoder
}

// keptBytes is the maximum size of a column in memory that is kept for the next file.
const keptBytes = 1 << 20

// release keeps the memory for the next file, unless a column of long texts has made it large.
func (e *pageEncoder) release() {
	if max(cap(e.out), cap(e.content), cap(e.other), cap(e.packed), cap(e.dictionary.different.bytes)) <= keptBytes {
		pages.Put(e)
	}
}

var pages = sync.Pool{New: func() any {
	return &pageEncoder{
		numbers: compressor(zstd.SpeedFastest, 1<<13), texts: compressor(zstd.SpeedDefault, 1<<18), dictionary: dictionary{seed: maphash.MakeSeed()},
	}
}}

func compressor(level zstd.EncoderLevel, window int) *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithZeroFrames(true),
		zstd.WithEncoderLevel(level), zstd.WithWindowSize(window), zstd.WithAllLitEntropyCompression(level > zstd.SpeedFastest))
	if err != nil {
		panic(err) // the options are valid
	}
	return z
}

// chunk encodes a column into out. The places of its pages are relative to the chunk.
func (e *pageEncoder) chunk(v *vector, rows int) chunk {
	e.out = e.out[:0]
	c := chunk{values: rows, nulls: v.unknown, encodings: []int{encodingRLE}}
	c.min, c.max = bounds(v)
	e.content = e.content[:0]
	if v.Nullable {
		e.appendLevels(v)
	}
	encoding, z := encodingPlain, e.texts
	if v.Kind != Text {
		z = e.numbers
	}
	d := &e.dictionary
	few := d.find(v)
	if v.Kind == Integer || v.Kind == Instant || v.Kind == Date {
		few = few && e.dictionaryPays(v.whole)
		encoding = encodingDelta
	}
	switch {
	case few:
		encoding = encodingDictionary
		n := d.count()
		e.other = appendPlain(e.other[:0], &d.different)
		e.page(&c, z, e.other, func(t *thrift) {
			t.within(7, func() {
				t.i32(1, n)
				t.i32(2, encodingPlain)
			})
		}, pageDictionary)
		e.content = d.appendPlaces(e.content)
		c.encodings = append(c.encodings, encodingPlain)
	case encoding == encodingDelta:
		e.content = appendDelta(e.content, v.whole)
	case v.Kind == Number && e.splitPays(v.number):
		encoding = encodingSplit
		e.content = appendSplit(e.content, v.number)
	default:
		e.content = appendPlain(e.content, v)
	}
	c.encodings, c.data = append(c.encodings, encoding), len(e.out)
	e.page(&c, z, e.content, func(t *thrift) {
		t.within(5, func() {
			t.i32(1, c.values)
			t.i32(2, encoding)
			t.i32(3, encodingRLE)
			t.i32(4, encodingRLE)
		})
	}, pageData)
	return c
}

// page compresses a page and appends it to the chunk.
func (e *pageEncoder) page(c *chunk, z *zstd.Encoder, content []byte, header func(*thrift), kind int) {
	e.packed = z.EncodeAll(content, e.packed[:0])
	var t thrift
	t.element(func() {
		t.i32(1, kind)
		t.i32(2, len(content))
		t.i32(3, len(e.packed))
		header(&t)
	})
	c.plain += len(t.b) + len(content)
	c.packed += len(t.b) + len(e.packed)
	e.out = append(append(e.out, t.b...), e.packed...)
}

// sampled is the number of values that decide between two encodings.
const sampled = 1 << 12

// splitPays reports whether numbers are smaller split by bytes, or at most by a tenth larger: they are compressed in a fraction of the time.
// Numbers with few digits, such as prices, are smaller as they are, because whole values repeat.
func (e *pageEncoder) splitPays(numbers []float64) bool {
	numbers = numbers[:min(len(numbers), sampled)]
	e.other = appendPlain(e.other[:0], &vector{number: numbers, Column: Column{Kind: Number}})
	plain := e.packedSize(e.numbers)
	e.other = appendSplit(e.other[:0], numbers)
	return e.packedSize(e.numbers)*10 <= plain*11
}

// dictionaryPays reports whether whole numbers are smaller in the dictionary than as differences. Times at regular intervals are not.
func (e *pageEncoder) dictionaryPays(numbers []int64) bool {
	e.other = appendDelta(e.other[:0], numbers)
	differences := e.packedSize(e.numbers)
	e.other = e.dictionary.appendPlaces(appendPlain(e.other[:0], &e.dictionary.different))
	return e.packedSize(e.numbers) < differences
}

// packedSize is the compressed size of what is in other.
func (e *pageEncoder) packedSize(z *zstd.Encoder) int {
	e.packed = z.EncodeAll(e.other, e.packed[:0])
	return len(e.packed)
}

// appendLevels appends for each row whether it is known.
func (e *pageEncoder) appendLevels(v *vector) {
	e.levels = e.levels[:0]
	for _, k := range v.known {
		level := uint32(0)
		if k {
			level = 1
		}
		e.levels = append(e.levels, level)
	}
	from := len(e.content)
	e.content = appendHybrid(append(e.content, 0, 0, 0, 0), 1, e.levels)
	binary.LittleEndian.PutUint32(e.content[from:], uint32(len(e.content)-from-4))
}

// appendPlain appends the values of a vector as they are.
func appendPlain(b []byte, v *vector) []byte {
	for i := range v.ends {
		text := v.text(i)
		b = append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
	}
	for _, n := range v.number {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n))
	}
	switch v.Kind {
	case Bool:
		return appendBits(b, v.whole)
	case Date:
		for _, n := range v.whole {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
	default:
		for _, n := range v.whole {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return b
}

// dictionary is the different values of a column in the order in which they first appear, and the place of each value among them.
type dictionary struct {
	different vector
	places    []uint32
	// slots is a hash table of the places, each plus 1.
	slots []uint32
	seed  maphash.Seed
}

// find fills the dictionary. It reports false if less than half of the values repeat.
func (d *dictionary) find(v *vector) bool {
	n := len(v.ends) + len(v.number) + len(v.whole)
	if n == 0 || v.Kind == Bool {
		return false
	}
	old := &d.different
	d.different = vector{Column: v.Column, whole: old.whole[:0], number: old.number[:0], ends: old.ends[:0], bytes: old.bytes[:0]}
	d.places = d.places[:0]
	size := 1 << bits.Len(uint(n))
	if cap(d.slots) < size {
		d.slots = make([]uint32, size)
	}
	d.slots = d.slots[:size]
	clear(d.slots)
	switch v.Kind {
	case Text:
		return d.texts(v)
	case Number:
		return fill(d, v.number, &d.different.number, math.Float64bits)
	default:
		return fill(d, v.whole, &d.different.whole, func(n int64) uint64 { return uint64(n) })
	}
}

// fill fills the dictionary of numbers.
func fill[N int64 | float64](d *dictionary, values []N, different *[]N, bitsOf func(N) uint64) bool {
	shift := 65 - bits.Len(uint(len(d.slots)))
	mask := uint64(len(d.slots) - 1)
	places, found := d.places, *different
	var last uint64
	for i, value := range values {
		key := bitsOf(value)
		if i > 0 && key == last {
			places = append(places, places[i-1])
			continue
		}
		last = key
		at := key * 0x9e3779b97f4a7c15 >> shift
		for d.slots[at] > 0 && bitsOf(found[d.slots[at]-1]) != key {
			at = (at + 1) & mask
		}
		if d.slots[at] == 0 {
			if tooMany(len(found), i, len(values)) {
				return false
			}
			found = append(found, value)
			d.slots[at] = uint32(len(found))
		}
		places = append(places, d.slots[at]-1)
	}
	d.places, *different = places, found
	return true
}

func (d *dictionary) texts(v *vector) bool {
	mask := uint64(len(d.slots) - 1)
	var last []byte
	for i := range v.ends {
		text := v.text(i)
		if i > 0 && bytes.Equal(text, last) {
			d.places = append(d.places, d.places[i-1])
			continue
		}
		last = text
		at := maphash.Bytes(d.seed, text) & mask
		for d.slots[at] > 0 && !bytes.Equal(d.different.text(int(d.slots[at]-1)), text) {
			at = (at + 1) & mask
		}
		if d.slots[at] == 0 {
			if tooMany(len(d.different.ends), i, len(v.ends)) {
				return false
			}
			d.different.bytes = append(d.different.bytes, text...)
			d.different.ends = append(d.different.ends, len(d.different.bytes))
			d.slots[at] = uint32(len(d.different.ends))
		}
		d.places = append(d.places, d.slots[at]-1)
	}
	return true
}

// tooMany reports whether a dictionary is given up before another value, the i-th of n: half of all have come, or of the first thousand none
// came twice.
func tooMany(different, i, n int) bool { return different == n/2 || i == 1000 && different == i }

func (d *dictionary) count() int {
	return len(d.different.ends) + len(d.different.number) + len(d.different.whole)
}

// appendPlaces appends the places of all values.
func (d *dictionary) appendPlaces(b []byte) []byte {
	width := max(1, bits.Len(uint(d.count()-1))) // some readers do not know a width of 0
	return appendHybrid(append(b, byte(width)), width, d.places)
}

// bounds returns the smallest and the largest value of a column of times or numbers, or nil. Readers skip groups with them.
func bounds(v *vector) (minimum, maximum []byte) {
	switch {
	case len(v.number) > 0:
		lo, hi := extremes(v.number)
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
	least, most := extremes(v.whole)
	lo, hi := uint64(least), uint64(most)
	if v.Kind == Date {
		return binary.LittleEndian.AppendUint32(nil, uint32(lo)), binary.LittleEndian.AppendUint32(nil, uint32(hi))
	}
	return binary.LittleEndian.AppendUint64(nil, lo), binary.LittleEndian.AppendUint64(nil, hi)
}

// extremes returns the smallest and the largest of values, none of which is NaN.
func extremes[N int64 | float64](values []N) (lo, hi N) {
	lo, hi = values[0], values[0]
	for _, v := range values {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
	}
	return lo, hi
}
