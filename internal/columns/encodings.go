package columns

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The encodings of values in Parquet pages (github.com/apache/parquet-format, Encodings.md).

// appendZigZag appends a signed number as a variable-length number.
func appendZigZag(b []byte, n int64) []byte {
	return binary.AppendUvarint(b, uint64(n<<1)^uint64(n>>63))
}

// appendPacked appends numbers with width bits each, the lowest bits first. The last byte is filled with zeros.
func appendPacked[N uint32 | uint64](b []byte, width int, numbers []N) []byte {
	var word uint64
	filled := 0
	for _, n := range numbers {
		word |= uint64(n) << filled
		if filled += width; filled >= 64 {
			b = binary.LittleEndian.AppendUint64(b, word)
			filled -= 64
			word = uint64(n) >> (width - filled)
		}
	}
	for ; filled > 0; filled -= 8 {
		b = append(b, byte(word))
		word >>= 8
	}
	return b
}

const (
	deltaBlock = 128
	deltaMini  = 32
)

// appendDelta appends numbers in DELTA_BINARY_PACKED: the first number, then blocks of differences. Each block states its smallest
// difference and, for each 32 of them, the bits of the rest.
func appendDelta(b []byte, numbers []int64) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaBlock/deltaMini)
	b = binary.AppendUvarint(b, uint64(len(numbers)))
	if len(numbers) == 0 {
		return appendZigZag(b, 0)
	}
	b = appendZigZag(b, numbers[0])
	var deltas [deltaBlock]int64
	var rest [deltaBlock]uint64
	for from := 1; from < len(numbers); from += deltaBlock {
		n := min(deltaBlock, len(numbers)-from)
		least := int64(math.MaxInt64)
		for i := range n {
			deltas[i] = numbers[from+i] - numbers[from+i-1] // it may wrap: the reader wraps, too
			least = min(least, deltas[i])
		}
		for i := range n {
			rest[i] = uint64(deltas[i]) - uint64(least)
		}
		clear(rest[n:])
		b = appendZigZag(b, least)
		var widths [deltaBlock / deltaMini]int
		for m := range widths {
			all := uint64(0)
			for _, r := range rest[m*deltaMini : (m+1)*deltaMini] {
				all |= r
			}
			widths[m] = bits.Len64(all)
			b = append(b, byte(widths[m]))
		}
		for m, width := range widths {
			if m*deltaMini < n {
				b = appendPacked(b, width, rest[m*deltaMini:(m+1)*deltaMini])
			}
		}
	}
	return b
}

// appendHybrid appends numbers in the RLE and bit-packing hybrid: runs of eight and more equal numbers once, the others packed in eights.
func appendHybrid(b []byte, width int, numbers []uint32) []byte {
	packedFrom := 0
	flush := func(to int) { // the numbers from packedFrom to to are a multiple of eight, except at the end
		if packedFrom == to {
			return
		}
		group := numbers[packedFrom:to]
		for len(group)%8 != 0 {
			group = append(slices.Clip(group), 0)
		}
		b = binary.AppendUvarint(b, uint64(len(group)/8)<<1|1)
		b = appendPacked(b, width, group)
	}
	for i := 0; i < len(numbers); {
		run := i + 1
		for run < len(numbers) && numbers[run] == numbers[i] {
			run++
		}
		if filled := (i - packedFrom) % 8; filled != 0 {
			i = min(run, i+8-filled) // these complete the eight before
		}
		if run-i < 8 {
			i = run
			continue
		}
		flush(i)
		b = binary.AppendUvarint(b, uint64(run-i)<<1)
		for shift := 0; shift < width; shift += 8 {
			b = append(b, byte(numbers[i]>>shift))
		}
		i, packedFrom = run, run
	}
	flush(len(numbers))
	return b
}

// appendSplit appends doubles in BYTE_STREAM_SPLIT: the first bytes of all, then the second ones. Equal signs and exponents then lie
// together, where a compressor finds them.
func appendSplit(b []byte, numbers []float64) []byte {
	n, from := len(numbers), len(b)
	b = slices.Grow(b, 8*n)[:from+8*n]
	var places [8][]byte
	for k := range places {
		places[k] = b[from+k*n:][:n]
	}
	i := 0
	for ; i+8 <= n; i += 8 {
		var rows [8]uint64
		for k, f := range numbers[i : i+8] {
			rows[k] = math.Float64bits(f)
		}
		transpose(&rows)
		for k, r := range rows {
			binary.LittleEndian.PutUint64(places[k][i:], r)
		}
	}
	for ; i < n; i++ {
		u := math.Float64bits(numbers[i])
		for k := range places {
			places[k][i] = byte(u >> (8 * k))
		}
	}
	return b
}

// transpose exchanges the rows and the columns of eight times eight bytes: first blocks of four, then of two, then single bytes.
func transpose(rows *[8]uint64) {
	for i := range 4 {
		rows[i], rows[i+4] = exchange(rows[i], rows[i+4], 32, 0x00000000ffffffff)
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		rows[i], rows[i+2] = exchange(rows[i], rows[i+2], 16, 0x0000ffff0000ffff)
	}
	for _, i := range [...]int{0, 2, 4, 6} {
		rows[i], rows[i+1] = exchange(rows[i], rows[i+1], 8, 0x00ff00ff00ff00ff)
	}
}

// exchange exchanges the upper parts of a, which low leaves out, with the lower parts of b.
func exchange(a, b uint64, by int, low uint64) (_, _ uint64) {
	return a&low | b&low<<by, a>>by&low | b&^low
}

// appendBits appends truth values with one bit each.
func appendBits(b []byte, values []int64) []byte {
	var bit byte
	for i, v := range values {
		bit |= byte(v) << (i % 8)
		if i%8 == 7 || i == len(values)-1 {
			b, bit = append(b, bit), 0
		}
	}
	return b
}
