package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
)

// binaryCopy builds rows in the binary format of COPY (PostgreSQL documentation, COPY, "Binary Format"). The format is a signature, per row
// the number of its fields and per field its length and bytes, and a trailer. It is for tables with hundreds of thousands of rows: the
// driver's general encoder takes several times as long.
type binaryCopy struct {
	b []byte
	n int64
}

// reset empties it for the next COPY and keeps the memory.
func (c *binaryCopy) reset() {
	c.n = 0
	c.b = append(c.b[:0], "PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00"...)
}

func (c *binaryCopy) row(fields int16) {
	c.n++
	c.b = binary.BigEndian.AppendUint16(c.b, uint16(fields))
}

func (c *binaryCopy) null() { c.b = append(c.b, 0xff, 0xff, 0xff, 0xff) }

func (c *binaryCopy) text(s string) {
	c.b = append(binary.BigEndian.AppendUint32(c.b, uint32(len(s))), s...)
}

func (c *binaryCopy) int4(v int32) {
	c.b = binary.BigEndian.AppendUint32(append(c.b, 0, 0, 0, 4), uint32(v))
}

func (c *binaryCopy) int8(v int64) {
	c.b = binary.BigEndian.AppendUint64(append(c.b, 0, 0, 0, 8), uint64(v))
}

func (c *binaryCopy) float8(v float64) {
	c.b = binary.BigEndian.AppendUint64(append(c.b, 0, 0, 0, 8), math.Float64bits(v))
}

// number writes a number that may be unknown.
func (c *binaryCopy) number(v float64) {
	if v, known := number(v); known {
		c.float8(v)
		return
	}
	c.null()
}

func (c *binaryCopy) bool(v bool) {
	bit := byte(0)
	if v {
		bit = 1
	}
	c.b = append(c.b, 0, 0, 0, 1, bit)
}

// epoch2000 is the server's epoch, 2000-01-01, in Unix microseconds.
const epoch2000 = 946_684_800_000_000

// time writes a timestamptz.
func (c *binaryCopy) time(t time.Time) { c.int8(t.UnixMicro() - epoch2000) }

// value writes the value and the marker of a reading: one of them is null.
func (c *binaryCopy) value(v float64, marker string) {
	if marker == "" {
		c.float8(v)
		c.null()
		return
	}
	c.null()
	c.text(marker)
}

// send copies the rows into a table. The connection must not be in use.
func (c *binaryCopy) send(ctx context.Context, conn *pgx.Conn, table, columns string) (int64, error) {
	if c.n == 0 {
		return 0, nil
	}
	c.b = append(c.b, 0xff, 0xff)
	tag, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(c.b), "copy "+table+" ("+columns+") from stdin (format binary)")
	if err != nil {
		return 0, fmt.Errorf("copy rows to %s: %w", table, err)
	}
	return tag.RowsAffected(), nil
}
