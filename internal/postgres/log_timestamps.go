package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// LogTimestamp is the time stamp of RFC 3161 over a checkpoint of the record.
type LogTimestamp struct {
	Size int64
	// Reply is the authority's whole answer. At is the time that it states, Authority the name in its certificate.
	Reply     []byte
	At        time.Time
	Authority string
}

// provedBySQL is the size of the checkpoint that the proof of a leaf of the record is against, as LogCheckpointOf has it. %s is the leaf.
const provedBySQL = `coalesce(
	(select min(size) from log_checkpoints where log = 'record' and size > %[1]s and witnessed_at is not null),
	(select min(size) from log_checkpoints where log = 'record' and size > %[1]s))`

// stampedSeals is how many seals, the newest ones, are looked at for their time stamps.
const stampedSeals = 10

// WantTimestamps returns the checkpoints of the last day that prove one of the newest seals and have no time stamp. Where witnesses are
// asked, a checkpoint without their quorum waits two minutes: another one may take its place in the proof.
func (db LogStore) WantTimestamps(ctx context.Context) ([]LogCheckpoint, error) {
	rows, err := db.reads.Query(ctx, `
		select distinct c.size, c.root, c.note, c.witnessed_at is not null
		from log_heads h
		cross join (select idx from pick_seals where idx is not null order by seq desc limit @seals) s
		join log_checkpoints c on c.log = h.log and c.size = `+fmt.Sprintf(provedBySQL, "s.idx")+`
		where h.log = 'record' and h.stopped is null and c.signed_at > clock_timestamp() - interval '1 day'
			and (c.witnessed_at is not null or h.witnesses = '[]' or c.signed_at < clock_timestamp() - interval '2 minutes')
			and not exists (select from log_timestamps t where t.log = c.log and t.size = c.size)
		order by c.size desc`, pgx.NamedArgs{"seals": stampedSeals}) // primary keys, log_checkpoints_witnessed
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints without a time stamp: %w", asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c LogCheckpoint, err error) {
		var root []byte
		if err = row.Scan(&c.Size, &root, &c.Note, &c.Witnessed); err == nil {
			copy(c.Root[:], root)
		}
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for checkpoints without a time stamp: %w", asUnavailable(err))
	}
	return list, nil
}

// AddLogTimestamp stores the time stamp of a checkpoint of the record. The first one stays: it reports false if one is there.
func (db LogStore) AddLogTimestamp(ctx context.Context, s LogTimestamp) (added bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			insert into log_timestamps (log, size, reply, at, authority) values ('record', @size, @reply, @at, @authority)
			on conflict (log, size) do nothing`,
			pgx.NamedArgs{"size": s.Size, "reply": s.Reply, "at": s.At, "authority": s.Authority})
		added = err == nil && tag.RowsAffected() == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("store a time stamp of the log: %w", err)
	}
	return added, nil
}

// LogTimestampReply returns the authority's answer about a checkpoint, or ErrNotFound.
func (db LogStore) LogTimestampReply(ctx context.Context, log string, size int64) (reply []byte, err error) {
	err = db.reads.QueryRow(ctx, `select reply from log_timestamps where log = @log and size = @size`, pgx.NamedArgs{"log": log, "size": size}).Scan(&reply)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("a time stamp of the log %s: %w", log, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read a time stamp of the log %s: %w", log, asUnavailable(err))
	}
	return reply, nil
}

// StampedLeaves returns the leaves of the record, among some, whose proof is against a checkpoint with a time stamp.
func (db RecordStore) StampedLeaves(ctx context.Context, leaves []int64) ([]int64, error) {
	rows, err := db.reads.Query(ctx, `
		select l.idx from unnest(@leaves::bigint[]) as l (idx)
		where exists (select from log_timestamps)
			and exists (select from log_timestamps t where t.log = 'record' and t.size = `+fmt.Sprintf(provedBySQL, "l.idx")+`)`,
		pgx.NamedArgs{"leaves": leaves}) // primary keys
	if err != nil {
		return nil, fmt.Errorf("look for time stamps of the log: %w", asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("look for time stamps of the log: %w", asUnavailable(err))
	}
	return list, nil
}
