package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
)

// LogCheckpoint is a checkpoint with the cosignatures of its witnesses.
type LogCheckpoint struct {
	Size int64
	Root tlog.Hash
	// Note is signed by the log; the cosignatures follow the log's own signature line.
	Note []byte
	// Witnessed means that the quorum of the operator's policy has cosigned it.
	Witnessed bool
}

const logCheckpointSQL = `
	select c.size, c.root, c.note || convert_to(coalesce((
			select string_agg(s.line, '' order by s.witness) from log_cosignatures s where s.log = c.log and s.size = c.size), ''), 'UTF8'),
		c.witnessed_at is not null
	from log_checkpoints c
	where c.log = @log and (not @witnessed or c.witnessed_at is not null)`

// NewestLogCheckpoint returns the newest checkpoint of a log, or the newest witnessed one. It returns ErrNotFound if none exists.
func (db LogStore) NewestLogCheckpoint(ctx context.Context, log string, witnessed bool) (LogCheckpoint, error) {
	return db.logCheckpoint(ctx, ` order by c.size desc limit 1`, pgx.NamedArgs{"log": log, "witnessed": witnessed})
}

// LogCheckpointOf returns the smallest witnessed checkpoint that contains an entry or, without such a checkpoint, the smallest one. It
// returns ErrNotFound if no checkpoint contains it.
func (db LogStore) LogCheckpointOf(ctx context.Context, log string, index int64) (LogCheckpoint, error) {
	const smallest = ` and c.size > @index order by c.size limit 1`
	c, err := db.logCheckpoint(ctx, smallest, pgx.NamedArgs{"log": log, "witnessed": true, "index": index})
	if !errors.Is(err, ErrNotFound) {
		return c, err
	}
	return db.logCheckpoint(ctx, smallest, pgx.NamedArgs{"log": log, "witnessed": false, "index": index})
}

func (db LogStore) logCheckpoint(ctx context.Context, which string, args pgx.NamedArgs) (c LogCheckpoint, err error) {
	var root []byte
	err = db.reads.QueryRow(ctx, logCheckpointSQL+which, args).Scan(&c.Size, &root, &c.Note, &c.Witnessed)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, fmt.Errorf("a checkpoint of the log %s: %w", args["log"], ErrNotFound)
	}
	if err != nil {
		return c, fmt.Errorf("read a checkpoint of the log %s: %w", args["log"], asUnavailable(err))
	}
	c.Root = tlog.Hash(root)
	return c, nil
}

// LogTileStore returns a store that reads the tiles of a log.
func (db LogStore) LogTileStore(ctx context.Context, log string) tlog.TileStore {
	return logTiles{ctx, db.reads, log}
}

// LogTile returns the hashes of a tile, nil if the tile does not exist.
func (db LogStore) LogTile(ctx context.Context, log string, t tlog.Tile) ([]byte, error) {
	list, err := logTiles{ctx, db.reads, log}.Tiles([]tlog.Tile{t})
	if err != nil {
		return nil, fmt.Errorf("read a tile of the log %s: %w", log, asUnavailable(err))
	}
	return list[0], nil
}

// LogLeaves returns the leaves of a log in order, with numbers at or after from and before to.
func (db LogStore) LogLeaves(ctx context.Context, log string, from, to int64) ([][]byte, error) {
	rows, err := db.reads.Query(ctx, `select leaf from log_entries where log = @log and idx >= @from and idx < @to order by idx`,
		pgx.NamedArgs{"log": log, "from": from, "to": to}) // primary key
	if err != nil {
		return nil, fmt.Errorf("read the leaves of the log %s: %w", log, asUnavailable(err))
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, fmt.Errorf("read the leaves of the log %s: %w", log, asUnavailable(err))
	}
	return list, nil
}

// LogProof returns the inclusion proof of a leaf. By default it proves against the smallest witnessed checkpoint that contains the leaf, which
// shows since when the leaf exists. With newest set, it proves against the newest witnessed checkpoint, which shows that the leaf is in the log
// today. The extra line of the proof contains the leaf, so that the file can be checked alone. The file is empty if the log has no such leaf.
func (db LogStore) LogProof(ctx context.Context, log string, index int64, newest bool) (file []byte, witnessed bool, err error) {
	c, err := db.LogCheckpointOf(ctx, log, index)
	if err == nil && newest && c.Witnessed {
		c, err = db.NewestLogCheckpoint(ctx, log, true)
	}
	if err != nil {
		return nil, false, err
	}
	leaves, err := db.LogLeaves(ctx, log, index, index+1)
	if err != nil || len(leaves) == 0 {
		return nil, false, err
	}
	hashes, err := tlog.ProveInclusion(c.Size, c.Root, db.LogTileStore(ctx, log), index)
	if err != nil {
		return nil, false, fmt.Errorf("prove a leaf of the log %s: %w", log, asUnavailable(err))
	}
	return tlog.Proof{Index: index, Extra: leaves[0], Hashes: hashes, Note: c.Note}.Format(), c.Witnessed, nil
}

// LoggedPicks adds the leaf number of each announced pick to a map, by the pick's number. It reads the leaves from a number on, and returns
// the number for the next call.
func (db LogStore) LoggedPicks(ctx context.Context, from int64, all map[int64]int64) (next int64, err error) {
	rows, err := db.reads.Query(ctx, `
		select h.size, substr(e.key, 6)::bigint, e.idx
		from log_heads h left join log_entries e on e.log = h.log and e.idx >= @from and e.idx < h.size and e.key ^@ 'pick:'
		where h.log = 'record'`, pgx.NamedArgs{"from": from}) // primary key
	if err != nil {
		return from, fmt.Errorf("read the logged picks: %w", asUnavailable(err))
	}
	next = from
	var seq, idx *int64
	_, err = pgx.ForEachRow(rows, []any{&next, &seq, &idx}, func() error {
		if seq != nil {
			all[*seq] = *idx
		}
		return nil
	})
	if err != nil {
		return from, fmt.Errorf("read the logged picks: %w", asUnavailable(err))
	}
	return next, nil
}

// LogCosignature is a witness's cosignature line over a checkpoint.
type LogCosignature struct {
	// Witness is the text of its public key.
	Witness, Line string
	At            time.Time
}

// AddLogCosignatures stores cosignatures over the checkpoint of a size. An older line of a witness does not replace a newer one. witnessed
// means that the lines are a quorum.
func (db LogStore) AddLogCosignatures(ctx context.Context, log string, size int64, lines []LogCosignature, witnessed bool) error {
	err := db.tx(ctx, func(tx pgx.Tx) error {
		for _, l := range lines {
			_, err := tx.Exec(ctx, `
				insert into log_cosignatures as c (log, size, witness, line, at) values (@log, @size, @witness, @line, @at)
				on conflict (log, size, witness) do update set line = excluded.line, at = excluded.at where excluded.at > c.at`,
				pgx.NamedArgs{"log": log, "size": size, "witness": l.Witness, "line": l.Line, "at": l.At})
			if err != nil {
				return err
			}
		}
		if !witnessed {
			return nil
		}
		_, err := tx.Exec(ctx, `update log_checkpoints set witnessed_at = clock_timestamp() where log = @log and size = @size and witnessed_at is null`,
			pgx.NamedArgs{"log": log, "size": size})
		return err
	})
	if err != nil {
		return fmt.Errorf("store the cosignatures of the log %s: %w", log, err)
	}
	return nil
}
