package postgres

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// copyInto copies rows into a table and returns their number. A row has the values of the columns, which a comma and a blank separate. The
// connection must not be in use. Without rows nothing is sent.
func copyInto(ctx context.Context, c *pgx.Conn, table, columns string, rows iter.Seq[[]any]) (int64, error) {
	next, stop := iter.Pull(rows)
	defer stop()
	row, some := next()
	if !some {
		return 0, nil
	}
	n, err := c.CopyFrom(ctx, pgx.Identifier{table}, strings.Split(columns, ", "), pgx.CopyFromFunc(func() (one []any, err error) {
		one = row // nil after the last one
		row, _ = next()
		return one, nil
	}))
	if err != nil {
		return 0, fmt.Errorf("copy rows to %s: %w", table, err)
	}
	return n, nil
}

// numberOrNull returns a float as it is stored, nil if it is unknown.
func numberOrNull(v float64) any {
	if v, known := number(v); known {
		return v
	}
	return nil
}

// valueAndMarker returns the two columns of a reading: one of them is null.
func valueAndMarker(v float64, marker string) (value, sign any) {
	if marker == "" {
		return v, nil
	}
	return nil, marker
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
