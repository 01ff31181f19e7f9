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
func appendPacked(b []byte, width int, numbers []uint64) []byte {
	var low, high uint64 // 128 bits, because 7 leftover bits and 64 new bits must fit
	filled := 0
	for _, n := range numbers {
		low |= n << filled
		if filled > 0 {
			high = n >> (64 - filled)
		}
		for filled += width; filled >= 8; filled -= 8 {
			b = append(b, byte(low))
			low = low>>8 | high<<56
			high >>= 8
		}
	}
	if filled > 0 {
		b = append(b, byte(low))
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
		for i := range rest {
			rest[i] = 0
			if i < n {
				rest[i] = uint64(deltas[i]) - uint64(least)
			}
		}
		b = appendZigZag(b, least)
		var widths [deltaBlock / deltaMini]int
		for m := range widths {
			for _, r := range rest[m*deltaMini : (m+1)*deltaMini] {
				widths[m] = max(widths[m], bits.Len64(r))
			}
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
func appendHybrid(b []byte, width int, numbers []uint64) []byte {
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
	b = append(b, make([]byte, 8*n)...)
	out := b[from:]
	for i, f := range numbers {
		u := math.Float64bits(f)
		for k := range 8 {
			out[k*n+i] = byte(u >> (8 * k))
		}
	}
	return b
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
