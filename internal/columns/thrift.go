package columns

import "encoding/binary"

// thrift writes values in Thrift's compact protocol, in which Parquet keeps its metadata.
type thrift struct {
	b []byte
	// last is the last field number of each open struct.
	last []int
}

// The types of fields.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

func (t *thrift) open() { t.last = append(t.last, 0) }

func (t *thrift) close() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

// field begins a field. All numbers here are less than 16 apart.
func (t *thrift) field(number, kind int) {
	top := len(t.last) - 1
	t.b = append(t.b, byte((number-t.last[top])<<4|kind))
	t.last[top] = number
}

func (t *thrift) integer(number, kind int, v int64) {
	t.field(number, kind)
	t.b = appendZigZag(t.b, v)
}

func (t *thrift) i32(number int, v int) { t.integer(number, thriftI32, int64(v)) }
func (t *thrift) i64(number int, v int) { t.integer(number, thriftI64, int64(v)) }

func (t *thrift) bool(number int, v bool) {
	if v {
		t.field(number, thriftTrue)
	} else {
		t.field(number, thriftFalse)
	}
}

// bytes adds a field of bytes. With number 0 it adds an element of a list.
func (t *thrift) bytes(number int, v []byte) {
	if number > 0 {
		t.field(number, thriftBinary)
	}
	t.b = append(binary.AppendUvarint(t.b, uint64(len(v))), v...)
}

// list begins a field with n elements of a kind. The elements follow.
func (t *thrift) list(number, kind, n int) {
	t.field(number, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = append(t.b, byte(15<<4|kind))
	t.b = binary.AppendUvarint(t.b, uint64(n))
}

// within writes a field that is a struct.
func (t *thrift) within(number int, fields func()) {
	t.field(number, thriftStruct)
	t.element(fields)
}

// element writes a struct that is an element of a list, or the whole.
func (t *thrift) element(fields func()) {
	t.open()
	fields()
	t.close()
}
