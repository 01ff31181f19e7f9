package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// copyInto copies rows into a table and returns their number. A row has the values of the columns, which a comma and a blank separate. next
// returns the next row, and nil after the last one. It can return the same slice with other values, because a row is encoded before next is
// called again. The connection must not be in use. Without rows nothing is sent.
func copyInto(ctx context.Context, c *pgx.Conn, table, columns string, next func() []any) (int64, error) {
	first := next()
	if first == nil {
		return 0, nil
	}
	n, err := c.CopyFrom(ctx, pgx.Identifier{table}, strings.Split(columns, ", "), pgx.CopyFromFunc(func() ([]any, error) {
		if row := first; row != nil {
			first = nil
			return row, nil
		}
		return next(), nil
	}))
	if err != nil {
		return 0, fmt.Errorf("copy rows to %s: %w", table, err)
	}
	return n, nil
}

// eachOf returns the next for copyInto of n rows.
func eachOf(n int, row func(i int) []any) (next func() []any) {
	i := -1
	return func() []any {
		if i++; i >= n {
			return nil
		}
		return row(i)
	}
}

// The following types of the driver are reused from row to row. They are encoded without an allocation, where a number or a time is first
// copied to the heap.

// float8 returns a float as it is stored, null if it is unknown.
func float8(v float64) pgtype.Float8 {
	v, known := number(v)
	return pgtype.Float8{Float64: v, Valid: known}
}

// timestamptz returns a time as it is stored.
func timestamptz(t time.Time) pgtype.Timestamptz { return pgtype.Timestamptz{Time: t, Valid: true} }

// text returns a text as it is stored, null if it is empty.
func text[T ~string](s T) pgtype.Text { return pgtype.Text{String: string(s), Valid: s != ""} }

// valueAndMarker returns the two columns of a reading: one of them is null.
func valueAndMarker(v float64, marker string) (value pgtype.Float8, sign pgtype.Text) {
	return pgtype.Float8{Float64: v, Valid: marker == ""}, text(marker)
}

// orNull returns nil in place of the zero value.
func orNull[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// timeOrNull returns nil in place of the zero time.
func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}
