package contention

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Sums are the checksums of the tables of a world: the number of rows, and a hash over everything that must be the same after any failure.
type Sums map[string]string

// columns returns the columns of a table whose values are compared, as SQL.
func columns(ctx context.Context, db *pgxpool.Pool, table string) ([]string, error) {
	rows, err := db.Query(ctx, `
		select attname::text from pg_attribute where attrelid = $1::text::regclass and attnum > 0 and not attisdropped order by attnum`, table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if skipped(table, name) {
			continue
		}
		out = append(out, expression(table, name))
	}
	return out, rows.Err()
}

func tables(ctx context.Context, db *pgxpool.Pool) (out []string, err error) {
	rows, err := db.Query(ctx, `
		select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> 'goose_db_version' order by relname`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if _, ok := Differing[name]; !ok {
			out = append(out, name)
		}
	}
	return out, rows.Err()
}

// Sum sums up what a world holds.
func Sum(ctx context.Context, db *pgxpool.Pool) (Sums, error) {
	list, err := tables(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("sum up the world: %w", err)
	}
	out := Sums{}
	for _, table := range list {
		cols, err := columns(ctx, db, table)
		if err != nil {
			return nil, fmt.Errorf("sum up %s: %w", table, err)
		}
		var sum string
		err = db.QueryRow(ctx, fmt.Sprintf(`select count(*) || ' rows, ' || coalesce(sum(hash_record_extended(row(%s), 0)), 0) from %s t %s`,
			strings.Join(texts(cols), ", "), table, leftOut[table])).Scan(&sum)
		if err != nil {
			return nil, fmt.Errorf("sum up %s: %w", table, err)
		}
		out[table] = sum
	}
	return out, nil
}

// texts are columns as what can be hashed: some types have no hash.
func texts(cols []string) []string {
	out := make([]string, len(cols))
	for i, c := range cols {
		out[i] = "(" + c + ")::text"
	}
	return out
}

// Differences says where two worlds differ, and shows some rows that only one of them has.
func Differences(ctx context.Context, want, got *pgxpool.Pool, a, b Sums) (out []string, err error) {
	for table, sum := range a {
		if b[table] == sum {
			continue
		}
		there, err := dump(ctx, want, table)
		if err != nil {
			return nil, err
		}
		here, err := dump(ctx, got, table)
		if err != nil {
			return nil, err
		}
		missing, more := beyond(there, here), beyond(here, there)
		var line strings.Builder
		_, _ = fmt.Fprintf(&line, "%s: %s, want %s", table, b[table], sum)
		for i := range min(3, max(len(missing), len(more))) {
			was, is := "", ""
			if i < len(missing) {
				was = missing[i]
			}
			if i < len(more) {
				is = more[i]
			}
			at := 0
			for at < min(len(was), len(is)) && was[at] == is[at] {
				at++
			}
			_, _ = fmt.Fprintf(&line, "\n    missing of %d: %.100s ... %.200s\n    more of %d:    %.100s ... %.200s",
				len(missing), was, was[max(0, at-40):], len(more), is, is[max(0, at-40):])
		}
		out = append(out, line.String())
	}
	slices.Sort(out)
	return out, nil
}

// beyond are the rows of a that b does not have, or not as often.
func beyond(a, b map[string]int) (rows []string) {
	for row, n := range a {
		if n > b[row] {
			rows = append(rows, row)
		}
	}
	slices.Sort(rows)
	return rows
}

func dump(ctx context.Context, db *pgxpool.Pool, table string) (map[string]int, error) {
	cols, err := columns(ctx, db, table)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	rows, err := db.Query(ctx, fmt.Sprintf(`select row(%s)::text from %s t %s`, strings.Join(cols, ", "), table, leftOut[table]))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", table, err)
	}
	defer rows.Close()
	out := map[string]int{}
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			return nil, fmt.Errorf("read %s: %w", table, err)
		}
		out[row]++
	}
	return out, rows.Err()
}
