package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"tidemark/chain/tlog"
)

// LogSigner signs checkpoints. It stores the largest signed checkpoint outside the database's disk.
type LogSigner interface {
	Sign(size int64, root tlog.Hash) ([]byte, error)
	// Mark returns the size and root of the last checkpoint that was signed or was about to be signed. Size 0 means none.
	Mark() (size int64, root tlog.Hash, err error)
	// SetMark stores a checkpoint before it is signed. After it returns, the checkpoint survives a crash of the machine.
	SetMark(size int64, root tlog.Hash) error
}

// ErrLogStopped means that the database and the signer disagree: the database lost data that was signed or has another root, or the
// signer's mark is lost. The log signs nothing until that is repaired.
var ErrLogStopped = errors.New("the log is stopped")

// maxLeaves limits how many leaves are numbered, or added to a tree, at once.
const maxLeaves = 16384

// numberLeavesSQL numbers leaves that were all compared with their form. The keys of the log refuse a key that comes twice.
const numberLeavesSQL = `
	with span as materialized (
		select min(id) as first, max(id) as last, bool_and(formed) as formed
		from (select id, formed from log_pending where log = @log order by id limit @most) t
	), taken as (
		delete from log_pending
		where log = @log and id between (select first from span) and (select last from span) and (select formed from span)
		returning id, key, leaf
	), numbered as (
		insert into log_entries (log, idx, key, leaf)
		select @log, @entries::bigint + row_number() over (order by id) - 1, key, leaf from taken order by id
	)
	update log_heads set entries = entries + (select count(*) from taken) where log = @log
	returning (select count(*) from taken), (select formed from span) is not false` // primary keys, unique (log, key)

// numberOddLeavesSQL numbers leaves of any kind. A leaf that is there already, or comes twice, is dropped. A leaf that cannot be numbered is set aside, so that it stops no other. Most
// leaves are neither, so only the odd ones are compared with others. Each key is looked up by itself: a join could read the whole log.
const numberOddLeavesSQL = `
	with span as materialized (
		select min(id) as first, max(id) as last from (select id from log_pending where log = @log order by id limit @most) t
	), taken as (
		delete from log_pending where log = @log and id between (select first from span) and (select last from span)
		returning id, key, leaf, formed
	), odd as materialized (
		select id, key, leaf, have, good
		from (
			select id, key, leaf, (select e.leaf from log_entries e where e.log = @log and e.key = t.key) as have, formed or log_leaf_known(leaf) as good
			from taken t offset 0
		) t
		where have is not null or not good or key in (select key from taken group by key having count(*) > 1)
	), judged as (
		select id, key, leaf, good, coalesce(have, first_value(leaf) over same) as have, have is null and good and row_number() over same = 1 as placed
		from odd window same as (partition by key, good order by id)
	), aside as (
		insert into log_aside (log, key, leaf, why)
		select @log, key, leaf, case when good then 'the log has another leaf for ' || key else 'it is of no known form' end
		from judged where not placed and (not good or leaf <> have) order by id
		returning id
	), numbered as (
		insert into log_entries (log, idx, key, leaf)
		select @log, @entries::bigint + row_number() over (order by id) - 1, key, leaf
		from taken where id not in (select id from judged where not placed) order by id
		returning idx
	)
	update log_heads set entries = entries + (select count(*) from numbered) where log = @log
	returning (select count(*) from taken), true` // primary keys, unique (log, key)

// NumberLeaves numbers the leaves without a number, in order, and returns how many it took. A leaf that cannot be numbered is set aside. If
// several callers run, one works; the others return 0.
func (db LogStore) NumberLeaves(ctx context.Context, log string) (int64, error) {
	n, done, err := db.numberLeaves(ctx, log, numberLeavesSQL)
	if err == nil && !done || code(err) == "23505" { // unique_violation
		n, _, err = db.numberLeaves(ctx, log, numberOddLeavesSQL)
	}
	if err != nil {
		return 0, fmt.Errorf("number the leaves of the log %s: %w", log, err)
	}
	return n, nil
}

// numberLeaves numbers leaves with a statement. It reports false if they are not for this statement.
func (db LogStore) numberLeaves(ctx context.Context, log, sql string) (n int64, done bool, err error) {
	err = db.tx(ctx, func(tx pgx.Tx) error {
		n, done = 0, true
		h, ok, err := lockLogHead(ctx, tx, log)
		if err != nil || !ok {
			return err
		}
		return tx.QueryRow(ctx, sql, pgx.NamedArgs{"log": log, "most": maxLeaves, "entries": h.Entries}).Scan(&n, &done)
	})
	return n, done, err
}

// lockLogHead locks the head of a log. It reports false if another transaction holds the lock or the log does not exist.
func lockLogHead(ctx context.Context, tx pgx.Tx, log string) (LogHead, bool, error) {
	rows, err := tx.Query(ctx, `select `+logHeadColumns+` from log_heads where log = @log for update skip locked`, pgx.NamedArgs{"log": log})
	if err != nil {
		return LogHead{}, false, err
	}
	h, err := pgx.CollectExactlyOneRow(rows, scanLogHead)
	if errors.Is(err, pgx.ErrNoRows) {
		return LogHead{}, false, nil
	}
	return h, err == nil, err
}

// IntegrateLeaves makes the next checkpoint of a log. It computes the tree with the numbered leaves, signs it, and stores tiles, checkpoint
// and head in one transaction. Before it signs, the signer stores size and root. If the signer's mark is missing in the database, the
// database has lost data and the error is ErrLogStopped. It returns the size, and whether it is new.
func (db LogStore) IntegrateLeaves(ctx context.Context, log string, signer LogSigner) (size int64, added bool, err error) {
	var lost error
	err = db.tx(ctx, func(tx pgx.Tx) error {
		size, added, lost = 0, false, nil
		h, ok, err := lockLogHead(ctx, tx, log)
		if err != nil || !ok {
			return err
		}
		size = h.Size
		to, err := nextSize(ctx, tx, h, signer)
		if errors.Is(err, ErrLogStopped) {
			lost = err
			return setLogStopped(ctx, tx, h, err.Error())
		}
		if err != nil {
			return err
		}
		if err := setLogStopped(ctx, tx, h, ""); err != nil || to == h.Size {
			return err
		}
		size, added = to, true
		err = integrate(ctx, tx, h, to, signer)
		if errors.Is(err, ErrLogStopped) {
			lost, added, size = err, false, h.Size
			return setLogStopped(ctx, tx, h, err.Error()) // nothing was written before
		}
		return err
	})
	if err = errors.Join(err, lost); err != nil {
		return size, false, fmt.Errorf("the log %s: %w", log, err)
	}
	return size, added, nil
}

// setLogStopped stores why a log is stopped. It no longer waits for anything else.
func setLogStopped(ctx context.Context, tx pgx.Tx, h LogHead, why string) error {
	if h.Stopped == why && h.Waits == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `update log_heads set stopped = nullif(@why, ''), waits = null, waits_since = null where log = @log`,
		pgx.NamedArgs{"log": h.Log, "why": why})
	return err
}

// nextSize returns the size of the next checkpoint, or the current size if there are no new leaves. A size that the signer has marked comes
// first: a killed process may have signed it after it set the mark.
func nextSize(ctx context.Context, tx pgx.Tx, h LogHead, signer LogSigner) (int64, error) {
	marked, root, err := signer.Mark()
	if err != nil {
		return 0, err
	}
	switch {
	case marked > h.Entries:
		return 0, fmt.Errorf("%w: size %d was signed, and the database has %d leaves", ErrLogStopped, marked, h.Entries)
	case marked > h.Size:
		return marked, nil
	case marked == 0 && h.Size > 0:
		return 0, fmt.Errorf("%w: size %d was signed, and the file of the largest size is lost (see docs/transparency-log.md)", ErrLogStopped, h.Size)
	case marked > 0:
		var have []byte
		err := tx.QueryRow(ctx, `select root from log_checkpoints where log = @log and size = @size`, pgx.NamedArgs{"log": h.Log, "size": marked}).Scan(&have)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && tlog.Hash(have) != root {
			return 0, fmt.Errorf("%w: size %d was signed with another root", ErrLogStopped, marked)
		}
		if err != nil {
			return 0, err
		}
	}
	return min(h.Entries, h.Size+maxLeaves), nil
}

func integrate(ctx context.Context, tx pgx.Tx, h LogHead, to int64, signer LogSigner) error {
	leaves, err := leafHashes(ctx, tx, h.Log, h.Size, to)
	if err != nil {
		return err
	}
	g, err := tlog.Grow(h.Size, h.Root, logTiles{ctx, tx, h.Log}, leaves)
	if err != nil {
		return err
	}
	if marked, root, err := signer.Mark(); err != nil {
		return err
	} else if marked == g.Size && root != g.Root {
		return fmt.Errorf("%w: size %d was signed with another root", ErrLogStopped, marked)
	}
	if err := signer.SetMark(g.Size, g.Root); err != nil {
		return err
	}
	signed, err := signer.Sign(g.Size, g.Root)
	if err != nil {
		return err
	}
	// A checkpoint that was served must survive a crash, even if the server's setting makes commits asynchronous.
	if _, err := tx.Exec(ctx, `set local synchronous_commit = on`); err != nil {
		return err
	}
	b := &pgx.Batch{}
	for _, t := range g.Tiles {
		b.Queue(`
			insert into log_tiles (log, level, n, hashes) values (@log, @level, @n, @hashes)
			on conflict (log, level, n) do update set hashes = excluded.hashes`,
			pgx.NamedArgs{"log": h.Log, "level": t.Level, "n": t.N, "hashes": t.Hashes})
	}
	b.Queue(`insert into log_checkpoints (log, size, root, note) values (@log, @size, @root, @note)`,
		pgx.NamedArgs{"log": h.Log, "size": g.Size, "root": g.Root[:], "note": signed})
	b.Queue(`update log_heads set size = @size, root = @root where log = @log`,
		pgx.NamedArgs{"log": h.Log, "size": g.Size, "root": g.Root[:]})
	if h.Log == LogRecord { // the pages of the record show the parts' positions in the log
		b.Queue(`select pg_notify('record', 'log_heads')`)
	}
	return tx.SendBatch(ctx, b).Close()
}

func leafHashes(ctx context.Context, tx pgx.Tx, log string, from, to int64) ([]tlog.Hash, error) {
	rows, err := tx.Query(ctx, `select idx, leaf from log_entries where log = @log and idx >= @from and idx < @to order by idx`,
		pgx.NamedArgs{"log": log, "from": from, "to": to}) // primary key
	if err != nil {
		return nil, err
	}
	next := from
	var idx int64
	var leaf []byte
	hashes := make([]tlog.Hash, 0, to-from)
	_, err = pgx.ForEachRow(rows, []any{&idx, &leaf}, func() error {
		if idx != next {
			return fmt.Errorf("%w: leaf %d is missing", ErrLogStopped, next)
		}
		next++
		hashes = append(hashes, tlog.LeafHash(leaf))
		return nil
	})
	if err == nil && next != to {
		err = fmt.Errorf("%w: leaf %d is missing", ErrLogStopped, next)
	}
	return hashes, err
}

// logTiles reads the tiles of a log.
type logTiles struct {
	ctx context.Context //nolint:containedctx // a reader of tiles takes none, and this one lives for a call
	on  interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	}
	log string
}

// Tiles implements tlog.TileStore.
func (s logTiles) Tiles(tiles []tlog.Tile) ([][]byte, error) {
	levels, numbers := make([]int16, len(tiles)), make([]int64, len(tiles))
	for i, t := range tiles {
		levels[i], numbers[i] = int16(t.Level), t.N //nolint:gosec // at most 63
	}
	rows, err := s.on.Query(s.ctx, `
		select t.ord, l.hashes
		from unnest(@levels::smallint[], @numbers::bigint[]) with ordinality as t (level, n, ord)
		join log_tiles l on l.log = @log and l.level = t.level and l.n = t.n`,
		pgx.NamedArgs{"levels": levels, "numbers": numbers, "log": s.log}) // primary key
	if err != nil {
		return nil, err
	}
	out := make([][]byte, len(tiles))
	var ord int64
	var hashes []byte
	_, err = pgx.ForEachRow(rows, []any{&ord, &hashes}, func() error {
		out[ord-1] = append([]byte(nil), hashes...)
		return nil
	})
	return out, err
}
