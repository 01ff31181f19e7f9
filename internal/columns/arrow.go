package columns

import (
	"encoding/binary"
	"io"
	"math"
)

// arrowStream writes the streaming format of Arrow (IPC): a schema, record batches, and an end.
type arrowStream struct {
	w     io.Writer
	about []Pair
	begun bool
	// body is reused from batch to batch.
	body []byte
}

// The enumerations of Message.fbs and Schema.fbs.
const (
	metadataV5   = 4
	headerSchema = 1
	headerBatch  = 3

	typeInt       = 2
	typeFloat     = 3
	typeUTF8      = 5
	typeBool      = 6
	typeDate      = 8
	typeTimestamp = 10

	precisionDouble  = 2
	unitDay          = 0
	unitMicroseconds = 2
)

func (s *arrowStream) begin(columns []vector) error {
	if s.begun {
		return nil
	}
	s.begun = true
	return s.message(headerSchema, schemaTable(columns, s.about), nil)
}

func (s *arrowStream) group(columns []vector, rows int) error {
	if err := s.begin(columns); err != nil {
		return err
	}
	s.body = s.body[:0]
	var nodes, buffers []uint64 // pairs: length and nulls, offset and length
	buffer := func(from int) {
		buffers = append(buffers, uint64(from), uint64(len(s.body)-from))
		for len(s.body)%8 != 0 {
			s.body = append(s.body, 0)
		}
	}
	for i := range columns {
		v := &columns[i]
		nodes = append(nodes, uint64(rows), uint64(v.unknown))
		from := len(s.body)
		if v.unknown > 0 {
			valid := make([]int64, rows)
			for r, k := range v.known {
				if k {
					valid[r] = 1
				}
			}
			s.body = appendBits(s.body, valid)
		}
		buffer(from)
		from = len(s.body)
		s.values(v, rows)
		buffer(from)
		if v.Kind == Text {
			from = len(s.body)
			s.body = append(s.body, v.bytes...)
			buffer(from)
		}
	}
	return s.message(headerBatch, table{
		{0, scalar(8, uint64(rows))}, {1, pairs(nodes)}, {2, pairs(buffers)},
	}, s.body)
}

// values appends one value for each row. The value of an unknown one has no meaning.
func (s *arrowStream) values(v *vector, rows int) {
	i := 0 // the next known value
	switch v.Kind {
	case Text:
		s.body = append(s.body, 0, 0, 0, 0)
		end := 0
		for r := range rows {
			if v.has(r) {
				end = v.ends[i]
				i++
			}
			s.body = binary.LittleEndian.AppendUint32(s.body, uint32(end))
		}
	case Bool:
		bit := make([]int64, rows)
		for r := range bit {
			if v.has(r) {
				bit[r] = v.whole[i]
				i++
			}
		}
		s.body = appendBits(s.body, bit)
	default:
		for r := range rows {
			n, k := uint64(0), v.has(r)
			if k && v.Kind == Number {
				n = math.Float64bits(v.number[i])
			} else if k {
				n = uint64(v.whole[i])
			}
			if k {
				i++
			}
			if v.Kind == Date {
				s.body = binary.LittleEndian.AppendUint32(s.body, uint32(n))
			} else {
				s.body = binary.LittleEndian.AppendUint64(s.body, n)
			}
		}
	}
}

func (s *arrowStream) end(columns []vector) error {
	if err := s.begin(columns); err != nil {
		return err
	}
	_, err := s.w.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	return err
}

// message writes a message: its length, its metadata and its body.
func (s *arrowStream) message(kind int, header table, body []byte) error {
	meta := flatbuffer(table{
		{0, scalar(2, metadataV5)}, {1, scalar(1, uint64(kind))}, {2, header.offset()}, {3, scalar(8, uint64(len(body)))},
	})
	out := binary.LittleEndian.AppendUint32([]byte{0xff, 0xff, 0xff, 0xff}, uint32(len(meta)))
	if _, err := s.w.Write(append(out, meta...)); err != nil {
		return err
	}
	_, err := s.w.Write(body)
	return err
}

func schemaTable(columns []vector, about []Pair) table {
	fields := make([]table, len(columns))
	for i := range columns {
		v := &columns[i]
		kind, of := arrowType(v.Kind)
		nullable := uint64(0)
		if v.Nullable {
			nullable = 1
		}
		fields[i] = table{
			{0, str(v.Name)}, {1, scalar(1, nullable)}, {2, scalar(1, uint64(kind))}, {3, of.offset()}, {5, tables(nil)},
		}
	}
	out := table{{0, scalar(2, 0)}, {1, tables(fields)}}
	if len(about) > 0 {
		pairs := make([]table, len(about))
		for i, p := range about {
			pairs[i] = table{{0, str(p.Key)}, {1, str(p.Value)}}
		}
		out = append(out, field{2, tables(pairs)})
	}
	return out
}

func arrowType(k Kind) (kind int, of table) {
	switch k {
	case Number:
		return typeFloat, table{{0, scalar(2, precisionDouble)}}
	case Integer:
		return typeInt, table{{0, scalar(4, 64)}, {1, scalar(1, 1)}}
	case Bool:
		return typeBool, nil
	case Date:
		return typeDate, table{{0, scalar(2, unitDay)}}
	case Instant:
		return typeTimestamp, table{{0, scalar(2, unitMicroseconds)}, {1, str("UTC")}}
	}
	return typeUTF8, nil
}
