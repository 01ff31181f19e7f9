package postgres

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/pgtest"
)

// A statement that failed after its caller received rows is not sent again: the caller would receive them twice.
func TestRowsThatWereReadAreNotReadAgain(t *testing.T) {
	t.Parallel()
	p := pgtest.Pool(t)
	if _, err := p.Exec(t.Context(), `
		create function fail() returns int language plpgsql as $$ begin raise exception using errcode = '40001'; end $$`); err != nil {
		t.Fatal(err)
	}
	reads := (&pool{Pool: p, timeout: apiTimeout}).reading()
	rows, err := reads.Query(t.Context(), `select case when n = 3 then fail() else n end from generate_series(1, 5) as n`)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	var n int
	_, err = pgx.ForEachRow(rows, []any{&n}, func() error { got = append(got, n); return nil })
	if want := []int{1, 2}; !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if Transient(err) != ClassSerialization {
		t.Errorf("error %v, want one that passes", err)
	}
}
