package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/chain"
	"tidemark/internal/task"
)

// The states of the attester.
const (
	AttesterOff         = "off" // no key or no node is set: attestations stay pending
	AttesterOK          = "ok"
	AttesterUnavailable = "unavailable" // no node responds
	AttesterForked      = "forked"      // another chain of picks was attested
	AttesterWrongChain  = "wrong_chain" // a node serves another chain than the configured one
	AttesterFailed      = "failed"      // an attestation needs an operator
)

// AttesterState is the state of the attester at the last run of its job.
type AttesterState struct {
	Attester
	// StartBlock is a block before the attester's first attestation.
	StartBlock uint64
	// ExplorerURL is the block explorer for links, empty if none is set. RPCURL is the JSON-RPC of a development chain, which every user of
	// the machine can reach. It is empty for any other chain.
	ExplorerURL, RPCURL string
	// Status is one of the states above; the states after AttesterUnavailable are alarms. Note is one line for operators.
	Status, Note string
	// BalanceWei is the account's balance, in decimal. RunwayDays is the number of days that it pays for. They are empty and nil if the
	// balance was not read.
	BalanceWei string
	RunwayDays *int
	CheckedAt  time.Time
}

// Alarm reports whether an operator must act.
func (s AttesterState) Alarm() bool {
	switch s.Status {
	case AttesterOff, AttesterOK, AttesterUnavailable:
		return false
	}
	return true
}

// SaveAttesterState records the state of the attester. An empty balance and a nil runway keep the stored values.
func (db OutsideRecordStore) SaveAttesterState(ctx context.Context, f task.Fence, s AttesterState) error {
	args := s.args()
	maps.Copy(args, map[string]any{
		"start_block": int64(s.StartBlock), "explorer_url": s.ExplorerURL, "rpc_url": s.RPCURL, "status": s.Status, "note": s.Note,
		"balance_wei": s.BalanceWei, "runway_days": s.RunwayDays,
	})
	err := db.tx(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `
			insert into attester_state as s (chain_id, contract, schema_uid, attester, start_block, explorer_url, rpc_url, status, note,
				balance_wei, runway_days, checked_at)
			values (@chain_id, @contract, @schema_uid, @attester, @start_block, @explorer_url, @rpc_url, @status, @note,
				nullif(@balance_wei, '')::numeric, @runway_days, world_now())
			on conflict (one) do update
			set chain_id = excluded.chain_id, contract = excluded.contract, schema_uid = excluded.schema_uid, attester = excluded.attester,
				start_block = excluded.start_block, explorer_url = excluded.explorer_url, rpc_url = excluded.rpc_url,
				status = excluded.status, note = excluded.note, checked_at = excluded.checked_at,
				balance_wei = coalesce(excluded.balance_wei, s.balance_wei), runway_days = coalesce(excluded.runway_days, s.runway_days)`, args)
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return fmt.Errorf("store how the attester stands: %w", err)
	}
	return nil
}

// AttesterState returns the state of the attester at the last run of its job. It returns ErrNotFound if the job never ran.
func (db OutsideRecordStore) AttesterState(ctx context.Context) (s AttesterState, err error) {
	err = db.reads.QueryRow(ctx, `
		select chain_id, contract, schema_uid, attester, start_block, explorer_url, rpc_url, status, note, coalesce(balance_wei::text, ''),
			runway_days, checked_at
		from attester_state`).Scan(&s.ChainID, &s.Contract, &s.SchemaUID, &s.Attester.Attester, &s.StartBlock, &s.ExplorerURL, &s.RPCURL, &s.Status,
		&s.Note, &s.BalanceWei, &s.RunwayDays, &s.CheckedAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, fmt.Errorf("how the attester stands: %w", ErrNotFound)
	}
	if err != nil {
		return s, fmt.Errorf("read how the attester stands: %w", asUnavailable(err))
	}
	return s, nil
}

// AnnouncedHead returns the checkpoint of the announced chain, or the zero Checkpoint if no pick is announced.
func (db OutsideRecordStore) AnnouncedHead(ctx context.Context) (c chain.Checkpoint, err error) {
	err = db.reads.QueryRow(ctx, `select seq, hash, date from announced_picks order by seq desc limit 1`).Scan(&c.Length, &c.Head, &c.Date)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return c, fmt.Errorf("read the head of the chain: %w", asUnavailable(err))
	}
	return c, nil
}

// A lock is taken without waiting, so a call that takes longer than these is on a connection that hangs.
const lockCallTimeout, releaseTimeout = 30 * time.Second, 5 * time.Second

// TryLock takes a database-wide lock by name. ok is false if another session holds it. The lock ends with release, or when this process or
// its connection ends.
func (db OutsideRecordStore) TryLock(ctx context.Context, name string) (release func(), ok bool, err error) {
	taking, stop := context.WithTimeout(ctx, lockCallTimeout)
	defer stop()
	pooled, err := db.pool.Acquire(taking)
	if err != nil {
		return nil, false, fmt.Errorf("take the lock %q: %w", name, err)
	}
	// The connection leaves the pool, because the pool would lack it for as long as the lock is held.
	c := pooled.Hijack()
	release = func() {
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
		defer stop()
		_, _ = c.Exec(ctx, `select pg_advisory_unlock_all()`) // without this, the end of the session unlocks a moment later
		_ = c.Close(ctx)
	}
	err = c.QueryRow(taking, `select pg_try_advisory_lock(hashtextextended(@name, 1))`, pgx.NamedArgs{"name": name}).Scan(&ok)
	if err != nil || !ok {
		release()
		if err != nil {
			return nil, false, fmt.Errorf("take the lock %q: %w", name, err)
		}
		return nil, false, nil
	}
	return release, true, nil
}
