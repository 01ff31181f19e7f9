package workers

import (
	"context"
	"fmt"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

// Accounts checks that every balance is the sum of its entries. It deletes expired records of repeated requests and data beyond its
// retention.
type Accounts struct {
	DB   *postgres.DB
	Keep postgres.Retention
}

// Run does all of it. A balance that is wrong fails the run, with the key's name: a person must look.
func (a Accounts) Run(ctx context.Context, t task.Task) error {
	if _, err := a.DB.DeleteExpiredKeys(ctx, t.Fence); err != nil {
		return err
	}
	if _, err := a.DB.ApplyRetention(ctx, t.Fence, a.Keep); err != nil {
		return err
	}
	wrong, err := a.DB.UnbalancedKeys(ctx)
	if err != nil {
		return err
	}
	if len(wrong) > 0 {
		w := wrong[0]
		return Permanent(fmt.Errorf("%d balances are not the sums of their ledgers; the first is %s: balance %s, sum %s",
			len(wrong), w.PublicID, w.Balance, w.Sum))
	}
	return nil
}
