package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/internal/task"
)

// Attester identifies an attester: an account, on one chain, at one contract, with one schema. Addresses and uids are 0x and lower-case
// hex.
type Attester struct {
	ChainID   uint64
	Contract  string
	SchemaUID string
	// Attester is the account, empty if no key is set.
	Attester string
}

// Attestation is a record on the L2, as described in package base. It attests one head of the chain (Kind "attest") or registers the schema
// ("register").
type Attestation struct {
	ID, Version int64
	Attester
	Kind, State, Subject string
	// Length and Date are the length and date of the head. PreviousHead and RefUID refer to the previous attestation; both are empty for
	// the first.
	Length                     int64
	Date, PreviousHead, RefUID string
	Txs                        []AttestationTx
	// UID is empty and Mined nil until it is in a block.
	UID           string
	Mined         *AttestationPlace
	CostWei       int64
	SpentOn, Note string
	Alarm         bool
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// AttestationTx is a transaction that was signed for a row.
type AttestationTx struct {
	Hash     string    `json:"hash"`
	Raw      []byte    `json:"raw"`
	Nonce    uint64    `json:"nonce"`
	Gas      uint64    `json:"gas"`
	FeeCap   int64     `json:"fee_cap_wei"`
	TipCap   int64     `json:"tip_cap_wei"`
	SignedAt time.Time `json:"signed_at"`
	SentAt   time.Time `json:"sent_at"`
	Dead     bool      `json:"dead"`
}

// AttestationPlace is the place of a row's transaction in the chain.
type AttestationPlace struct {
	TxHash      string    `json:"tx_hash"`
	BlockNumber int64     `json:"block_number"`
	BlockHash   string    `json:"block_hash"`
	BlockTime   time.Time `json:"block_time"`
}

// The public statuses of an attestation. A pick without an attestation is pending, too.
const (
	AttestationPending   = "pending"   // nothing is signed yet
	AttestationSubmitted = "submitted" // sent, or in a block that may still be reorganised away
	AttestationConfirmed = "confirmed"
	AttestationFailed    = "failed"
)

// Status returns the public status of the row.
func (a Attestation) Status() string {
	switch a.State {
	case "due":
		return AttestationPending
	case "safe", "final":
		return AttestationConfirmed
	case "failed":
		return AttestationFailed
	}
	return AttestationSubmitted
}

// Covering returns the attestation that proves the pick with number seq, and whether one exists. list is ordered by length. The result is
// the first attestation with at least that length that has not failed, or the first failed one if there is no other.
func Covering(list []Attestation, seq int64) (Attestation, bool) {
	var found Attestation
	ok := false
	for _, a := range list {
		if a.Length < seq {
			continue
		}
		if !ok || found.State == "failed" {
			found, ok = a, true
		}
		if found.State != "failed" {
			break
		}
	}
	return found, ok
}

const attestationColumns = `id, version, chain_id, contract, schema_uid, attester, kind, state, subject, length, date, previous_head,
	ref_uid, uid, mined, cost_wei, spent_on, note, alarm, created_at, updated_at, txs`

// attestations reads rows of attestationColumns.
func attestations(rows pgx.Rows, err error) ([]Attestation, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (a Attestation, err error) {
		err = r.Scan(&a.ID, &a.Version, &a.ChainID, &a.Contract, &a.SchemaUID, &a.Attester.Attester, &a.Kind, &a.State, &a.Subject,
			&a.Length, &a.Date, &a.PreviousHead, &a.RefUID, &a.UID, &a.Mined, &a.CostWei, &a.SpentOn, &a.Note, &a.Alarm, &a.CreatedAt,
			&a.UpdatedAt, &a.Txs)
		return a, err
	})
}

// Attestations returns the attestations on the currently configured chain, by length.
func (db OutsideRecordStore) Attestations(ctx context.Context) ([]Attestation, error) {
	list, err := attestations(db.reads.Query(ctx, `
		select `+attestationColumns+` from attestations a
		where kind = 'attest' and not void
			and not exists (select from attester_state s where (s.chain_id, s.contract) <> (a.chain_id, a.contract))
		order by length, id`))
	if err != nil {
		return nil, fmt.Errorf("read the attestations: %w", asUnavailable(err))
	}
	return list, nil
}

// attesterFilter selects the rows of one attester. It ignores the schema, because an account attests with one schema only.
const attesterFilter = `not void and chain_id = @chain_id and contract = @contract and attester = @attester`

func (a Attester) args() pgx.NamedArgs {
	return pgx.NamedArgs{"chain_id": int64(a.ChainID), "contract": a.Contract, "schema_uid": a.SchemaUID, "attester": a.Attester}
}

// OpenAttestations returns the rows of an attester that are neither final nor failed, oldest first.
func (db OutsideRecordStore) OpenAttestations(ctx context.Context, who Attester) ([]Attestation, error) {
	list, err := attestations(db.reads.Query(ctx, `
		select `+attestationColumns+` from attestations where `+attesterFilter+` and state not in ('final', 'failed') order by id`, who.args()))
	if err != nil {
		return nil, fmt.Errorf("read the open attestations: %w", err) // index attestations_open
	}
	return list, nil
}

// FailedAttestations returns the failed rows of an attester, oldest first.
func (db OutsideRecordStore) FailedAttestations(ctx context.Context, who Attester) ([]Attestation, error) {
	list, err := attestations(db.reads.Query(ctx, `
		select `+attestationColumns+` from attestations where `+attesterFilter+` and state = 'failed' order by id`, who.args()))
	if err != nil {
		return nil, fmt.Errorf("read the failed attestations: %w", err)
	}
	return list, nil
}

// NewestAttested returns the attestation of the longest chain that is safe or final, or ErrNotFound.
func (db OutsideRecordStore) NewestAttested(ctx context.Context, who Attester) (Attestation, error) {
	list, err := attestations(db.reads.Query(ctx, `
		select `+attestationColumns+` from attestations
		where `+attesterFilter+` and kind = 'attest' and state in ('safe', 'final') order by length desc limit 1`, who.args()))
	if err != nil {
		return Attestation{}, fmt.Errorf("read the newest attestation: %w", err)
	}
	if len(list) == 0 {
		return Attestation{}, fmt.Errorf("an attestation: %w", ErrNotFound)
	}
	return list[0], nil
}

// InsertAttestation stores a new row and returns it with its ID and Version. It returns ErrExists if the attester already has a row with
// the same kind and subject.
func (db OutsideRecordStore) InsertAttestation(ctx context.Context, f task.Fence, a Attestation) (Attestation, error) {
	args, err := a.args()
	if err != nil {
		return a, fmt.Errorf("store an attestation: %w", err)
	}
	err = db.tx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			insert into attestations (chain_id, contract, schema_uid, attester, kind, state, subject, length, date, previous_head, ref_uid, txs,
				uid, mined, cost_wei, spent_on, note, alarm, created_at, updated_at)
			values (@chain_id, @contract, @schema_uid, @attester, @kind, @state, @subject, @length, @date, @previous_head, @ref_uid, @txs,
				@uid, @mined, @cost_wei, @spent_on, @note, @alarm, @created_at, @updated_at)
			on conflict (chain_id, contract, attester, kind, subject) where not void do nothing
			returning id, version`, args).Scan(&a.ID, &a.Version)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrExists
		}
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 1)
	})
	if err != nil {
		return a, fmt.Errorf("store an attestation: %w", refused(err))
	}
	return a, nil
}

// UpdateAttestation stores every field of a row and returns it with its new Version. If the stored Version differs, it changes nothing and
// returns ErrStale.
func (db OutsideRecordStore) UpdateAttestation(ctx context.Context, f task.Fence, a Attestation) (Attestation, error) {
	args, err := a.args()
	if err != nil {
		return a, fmt.Errorf("store attestation %d: %w", a.ID, err)
	}
	args["id"], args["version"] = a.ID, a.Version
	err = db.tx(ctx, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			update attestations
			set version = version + 1, state = @state, subject = @subject, length = @length, date = @date, previous_head = @previous_head,
				ref_uid = @ref_uid, txs = @txs, uid = @uid, mined = @mined, cost_wei = @cost_wei, spent_on = @spent_on, note = @note,
				alarm = @alarm, updated_at = @updated_at
			where id = @id and version = @version and not void
			returning version`, args).Scan(&a.Version)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrStale
		}
		if err != nil {
			return err
		}
		return checkFence(ctx, tx, f, 0)
	})
	if err != nil {
		return a, fmt.Errorf("store attestation %d: %w", a.ID, refused(err))
	}
	return a, nil
}

func (a Attestation) args() (pgx.NamedArgs, error) {
	txs, err := json.Marshal(nonNil(a.Txs))
	if err != nil {
		return nil, err
	}
	var mined []byte
	if a.Mined != nil {
		if mined, err = json.Marshal(a.Mined); err != nil {
			return nil, err
		}
	}
	args := a.Attester.args()
	maps.Copy(args, map[string]any{
		"kind": a.Kind, "state": a.State, "subject": a.Subject, "length": a.Length, "date": a.Date, "previous_head": a.PreviousHead,
		"ref_uid": a.RefUID, "txs": txs, "uid": a.UID, "mined": mined, "cost_wei": a.CostWei, "spent_on": a.SpentOn, "note": a.Note,
		"alarm": a.Alarm, "created_at": a.CreatedAt, "updated_at": a.UpdatedAt,
	})
	return args, nil
}

// SpentOnAttestations returns the sum of the actual or maximum costs of an attester's rows of a UTC day (YYYY-MM-DD), in wei.
func (db OutsideRecordStore) SpentOnAttestations(ctx context.Context, who Attester, day string) (wei int64, err error) {
	args := who.args()
	args["day"] = day
	err = db.reads.QueryRow(ctx, `select coalesce(sum(cost_wei), 0)::bigint from attestations where `+attesterFilter+` and spent_on = @day`,
		args).Scan(&wei) // index attestations_spent
	if err != nil {
		return 0, fmt.Errorf("read what attestations cost: %w", err)
	}
	return wei, nil
}

// VoidAttestations voids all rows on a chain that no longer exists, for example a development chain whose folder was removed. Only a
// sandbox allows it. It returns the number of rows.
func (db OutsideRecordStore) VoidAttestations(ctx context.Context, chainID uint64) (int64, error) {
	tag, err := db.pool.Exec(ctx, `update attestations set void = true, version = version + 1 where chain_id = @chain_id and not void`,
		pgx.NamedArgs{"chain_id": int64(chainID)})
	if err != nil {
		return 0, fmt.Errorf("give up the attestations on chain %d: %w", chainID, refused(err))
	}
	return tag.RowsAffected(), nil
}
