package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// loadRange is loads[from:to].
type loadRange struct{ from, to int }

func (r loadRange) loads() (from, to int) { return r.from, r.to }

// stagedTable is a temporary table. rows returns how many rows a load has in it, and the function that returns one of them.
type stagedTable[L any] struct {
	name, columns string
	rows          func(group, load int, l L) (n int, row func(i int) []any)
}

// copyLoads copies the rows of all groups of loads into temporary tables.
func copyLoads[L any, G interface{ loads() (from, to int) }](ctx context.Context, c *pgx.Conn, loads []L, groups []G, tables []stagedTable[L]) error {
	type place struct{ group, load int }
	var places []place
	for g, group := range groups {
		from, to := group.loads()
		for i := from; i < to; i++ {
			places = append(places, place{g, i})
		}
	}
	for _, t := range tables {
		left := places
		rest := eachOf(0, nil)
		next := func() []any {
			for {
				if row := rest(); row != nil || len(left) == 0 {
					return row
				}
				p := left[0]
				left, rest = left[1:], eachOf(t.rows(p.group, p.load, loads[p.load]))
			}
		}
		if _, err := copyInto(ctx, c, t.name, t.columns, next); err != nil {
			return fmt.Errorf("stage: %w", err)
		}
	}
	return nil
}

// emptyStage returns a statement that empties temporary tables. A truncate makes new files for the table, its long values and its indexes, so
// small tables are deleted from. Nothing vacuums temporary tables, so grown tables are truncated.
func emptyStage(tables ...string) string {
	return `
	do $$ declare t text; begin
		foreach t in array '{` + strings.Join(tables, ",") + `}'::text[] loop
			if pg_relation_size(t::regclass) > 65536 then execute 'truncate ' || t;
			elsif pg_relation_size(t::regclass) > 0 then execute 'delete from ' || t;
			end if;
		end loop;
	end $$`
}
