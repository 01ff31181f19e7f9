package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const chainSQL = `select seq, ticker, price, date, previous_hash, hash from announced_picks where seq > $1 order by seq` // primary keys

// StreamChainAfter calls add for each announced link after a seq, in order. The byte slices point into the connection's buffer and are
// valid only until add returns. If add fails, StreamChainAfter stops and returns the error.
func (db OutsideRecordStore) StreamChainAfter(ctx context.Context, after int64, add func(seq int64, ticker, price, date, previousHash, hash []byte) error) error {
	rows, err := db.reads.Query(ctx, chainSQL, after)
	if err != nil {
		return fmt.Errorf("read the chain: %w", asUnavailable(err))
	}
	defer rows.Close()
	for rows.Next() {
		v := rows.RawValues()
		if err := add(int64(binary.BigEndian.Uint64(v[0])), v[1], v[2], v[3], v[4], v[5]); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read the chain: %w", asUnavailable(err))
	}
	return nil
}

// StreamChain is StreamChainAfter for the whole chain.
func (db OutsideRecordStore) StreamChain(ctx context.Context, add func(seq int64, ticker, price, date, previousHash, hash []byte) error) error {
	return db.StreamChainAfter(ctx, 0, add)
}

// LedgerCommit is an entry of the ledger without its content: exactly one of Seq, Gap and Correction is set.
type LedgerCommit struct {
	ID int64
	// Seq is the pick's number, Gap the gap's date, Correction the id of the correction.
	Seq        *int64
	Gap        *string
	Correction *int64
	// At is the date of the commit.
	At time.Time
	// Commit is the commit's id, empty before the commit.
	Commit string
}

// LedgerCommits returns the entries of the ledger after an id, in the order of their commits.
func (db OutsideRecordStore) LedgerCommits(ctx context.Context, after int64) ([]LedgerCommit, error) {
	rows, err := db.reads.Query(ctx, `
		select id, seq, gap, correction, at, coalesce(commit_id, '') as commit from ledger_entries where id > @after order by id`,
		pgx.NamedArgs{"after": after})
	list, err := collect[LedgerCommit](rows, err)
	if err != nil {
		return nil, fmt.Errorf("read the commits of the ledger: %w", asUnavailable(err))
	}
	return list, nil
}
