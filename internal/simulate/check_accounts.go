package simulate

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/postgres"
)

func (c *checks) balances(ctx context.Context) (string, error) {
	seen, err := c.first(ctx, `
		select format('key %s has the balance %s, and its ledger adds up to %s', k.id, k.balance, coalesce(l.sum, 0))
		from keys k
		left join (select key_id, sum(amount) as sum from ledger group by key_id) l on l.key_id = k.id
		where k.balance <> coalesce(l.sum, 0) or k.balance < 0`)
	if seen != "" || err != nil {
		return seen, err
	}
	var keys int
	if err := c.r.own.QueryRow(ctx, `select count(*) from keys`).Scan(&keys); err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	if keys != len(c.r.customers.keys) {
		return fmt.Sprintf("%d keys were registered, and there are %d", len(c.r.customers.keys), keys), nil
	}
	return "", nil
}

// charges compares the responses that the customers received with the ledger. A request without a response that cannot be repeated may have
// been charged.
func (c *checks) charges(ctx context.Context) (string, error) {
	rows, err := c.r.own.Query(ctx, `select request_id, count(*) from ledger where kind = 'charge' group by request_id`)
	if err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	paid := map[string]int{}
	var id string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error { paid[id] = n; return nil }); err != nil {
		return "", err //nolint:wrapcheck // all does
	}
	var wrong []string
	for id, n := range paid {
		if n > 1 {
			wrong = append(wrong, fmt.Sprintf("%s was paid %d times", id, n))
		}
	}
	for id, told := range c.r.customers.told {
		want := 0
		if told == postgres.Charged || told == postgres.PaidBefore {
			want = 1
		}
		if paid[id] != want {
			wrong = append(wrong, fmt.Sprintf("%s was told %s, and was paid %d times", id, told, paid[id]))
		}
	}
	if len(wrong) == 0 {
		return "", nil
	}
	return slices.Min(wrong), nil
}
