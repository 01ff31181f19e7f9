package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// AppendPick is RecordPick without a card, for tests of the chain.
func (db *DB) AppendPick(ctx context.Context, f task.Fence, n NewPick) (p Pick, added bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) (err error) {
		if p, added, err = appendPick(ctx, tx, n); err != nil {
			return err
		}
		return checkFence(ctx, tx, f, b2rows(added))
	})
	if err != nil {
		return Pick{}, false, fmt.Errorf("append the pick of %s: %w", n.Date, refused(err))
	}
	return p, added, nil
}
