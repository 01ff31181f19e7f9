package columns

import (
	"encoding/binary"
	"slices"
)

// Flatbuffers contain Arrow's metadata. This builder writes parents before their children and then fills in the distances.

// table is a table by the numbers of its fields, in ascending order.
type table []field

type field struct {
	slot  int
	value value
}

// value is a scalar of a size in the table itself, or, with a child, the distance to something after the table.
type value struct {
	size  int
	bits  uint64
	child func(*flat) int
}

func scalar(size int, bits uint64) value { return value{size: size, bits: bits} }

func (t table) offset() value { return value{size: 4, child: func(f *flat) int { return f.table(t) }} }

// str is a text.
func str(s string) value {
	return value{size: 4, child: func(f *flat) int {
		f.align(4, 0)
		at := len(f.b)
		f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(s)))
		f.b = append(append(f.b, s...), 0)
		return at
	}}
}

// tables is a list of tables.
func tables(list []table) value {
	return value{size: 4, child: func(f *flat) int {
		f.align(4, 0)
		at := len(f.b)
		f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(list)))
		f.b = append(f.b, make([]byte, 4*len(list))...)
		for i, t := range list {
			f.point(at+4+4*i, f.table(t))
		}
		return at
	}}
}

// pairs is a list of structs with two numbers of 64 bits each.
func pairs(list []uint64) value {
	return value{size: 4, child: func(f *flat) int {
		f.align(8, 4) // the elements after the length are aligned
		at := len(f.b)
		f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(list)/2))
		for _, n := range list {
			f.b = binary.LittleEndian.AppendUint64(f.b, n)
		}
		return at
	}}
}

// flatbuffer returns the buffer of a root table. Its length is a multiple of eight.
func flatbuffer(root table) []byte {
	f := &flat{b: make([]byte, 4)}
	f.point(0, f.table(root))
	f.align(8, 0)
	return f.b
}

type flat struct{ b []byte }

// align fills with zeros until the length modulo n is rest.
func (f *flat) align(n, rest int) {
	for len(f.b)%n != rest {
		f.b = append(f.b, 0)
	}
}

// point writes the distance from one place to another.
func (f *flat) point(from, to int) { binary.LittleEndian.PutUint32(f.b[from:], uint32(to-from)) }

// table writes a table and all that it points to, and returns its place.
func (f *flat) table(t table) int {
	slots := 0
	if len(t) > 0 {
		slots = t[len(t)-1].slot + 1
	}
	f.align(2, 0)
	index := len(f.b)
	f.b = append(f.b, make([]byte, 4+2*slots)...)
	f.align(8, 4) // the fields after the distance to the index are aligned
	at := len(f.b)
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(at-index))
	fields := slices.Clone(t)
	slices.SortStableFunc(fields, func(a, b field) int { return b.value.size - a.value.size })
	places := make([]int, len(fields))
	for i, d := range fields {
		places[i] = len(f.b)
		binary.LittleEndian.PutUint16(f.b[index+4+2*d.slot:], uint16(len(f.b)-at))
		for k := range d.value.size {
			f.b = append(f.b, byte(d.value.bits>>(8*k)))
		}
	}
	binary.LittleEndian.PutUint16(f.b[index:], uint16(4+2*slots))
	binary.LittleEndian.PutUint16(f.b[index+2:], uint16(len(f.b)-at))
	for i, d := range fields {
		if d.value.child != nil {
			f.point(places[i], d.value.child(f))
		}
	}
	return at
}
