package base

import (
	"context"
	"errors"
	"time"
)

// Kind is the kind of transaction that a row requests.
type Kind string

// The kinds.
const (
	KindRegister Kind = "register" // the schema, once
	KindAttest   Kind = "attest"   // a head
)

// State is the progress of a row. Due, signed, sent and stuck are on the way to a block. Mined and safe are in a block that can still be
// reorganised away. Final and failed are end states.
type State string

// The states.
const (
	StateDue    State = "due"    // nothing is signed that could still be mined
	StateSigned State = "signed" // stored, perhaps sent
	StateSent   State = "sent"   // a node took it
	StateStuck  State = "stuck"  // a node took it and it was in no block for too long
	StateMined  State = "mined"  // in a block, and the contract has what was asked for
	StateSafe   State = "safe"   // as mined, in or before the safe block
	StateFinal  State = "final"  // as mined, in or before the finalized block
	StateFailed State = "failed" // reverted, or the contract has something else: the operator must look
)

// Row is one thing to be put on the chain, as the store keeps it. It is made of plain values: hashes and addresses are "0x" and
// lower-case hex, amounts are wei. At most one row that is not safe, final or failed exists at a time.
type Row struct {
	ID int64
	// Version counts the stored changes of the row.
	Version int64
	Kind    Kind
	State   State
	// Subject identifies the row and is unique among the rows of its kind. It is the head that is attested (64 hex digits, as the chain
	// writes it), or the uid of the schema that is registered.
	Subject string

	// Length, Date and PreviousHead are the other attested values: the number of picks, the date of the newest (YYYY-MM-DD), and the
	// previously attested head (empty for the first).
	Length       int64
	Date         string
	PreviousHead string
	// RefUID is the attestation before, empty for the first.
	RefUID string

	// Txs are all transactions ever signed for the row, oldest first. Any of them can be mined.
	Txs []Tx

	// UID is the attestation's uid once there is one.
	UID string
	// Mined is the row's place in the chain; nil while it is in no block.
	Mined *Mined

	// CostWei is the max cost of the row while it is on its way, and its actual cost once it is in a block. SpentOn is the UTC day of the
	// cost (YYYY-MM-DD).
	CostWei int64
	SpentOn string

	// Note is one line for people: why the row waits or failed. Alarm reports whether the operator should act.
	Note  string
	Alarm bool

	CreatedAt, UpdatedAt time.Time
}

// Tx is one signed transaction.
type Tx struct {
	Hash     string    `json:"hash"`
	Raw      []byte    `json:"raw"`
	Nonce    uint64    `json:"nonce"`
	Gas      uint64    `json:"gas"`
	FeeCap   int64     `json:"fee_cap_wei"`
	TipCap   int64     `json:"tip_cap_wei"`
	SignedAt time.Time `json:"signed_at"`
	// SentAt is when a node last took it, the zero time for never.
	SentAt time.Time `json:"sent_at"`
	// Dead reports whether another transaction has used its nonce permanently.
	Dead bool `json:"dead"`
}

// Mined is the place of a transaction in the chain.
type Mined struct {
	TxHash      string `json:"tx_hash"`
	BlockNumber int64  `json:"block_number"`
	BlockHash   string `json:"block_hash"`
	// BlockTime is the block's time, in UTC. That of an attestation is the attestation's time.
	BlockTime time.Time `json:"block_time"`
}

// The errors of a Store.
var (
	// ErrExists says that there is a row of this kind and subject.
	ErrExists = errors.New("there is such a row")
	// ErrStale is returned if the row was changed since it was read. The process that changed it continues with it.
	ErrStale = errors.New("the row was changed by another")
)

// Store keeps the rows of one attester on one chain. Changes are durable when a method returns. The store's caller holds a lock that
// keeps two attesters of one key apart; Version protects the rows if the lock is lost.
type Store interface {
	// Open returns the rows that are neither final nor failed, oldest first.
	Open(ctx context.Context) ([]Row, error)
	// Attested returns the newest row of KindAttest that is safe or final, by its length, and whether there is one.
	Attested(ctx context.Context) (Row, bool, error)
	// Insert stores a new row and returns it with its ID and Version. A second one of the same kind and subject is ErrExists.
	Insert(ctx context.Context, r Row) (Row, error)
	// Update stores every field of the row where its ID and Version are still the stored ones, and returns it with its new Version.
	// Else it is ErrStale and nothing is changed.
	Update(ctx context.Context, r Row) (Row, error)
	// Spent sums CostWei of all rows whose SpentOn is the day (YYYY-MM-DD).
	Spent(ctx context.Context, day string) (int64, error)
}

// live returns the transactions that could still be mined.
func (r Row) live() []Tx {
	var out []Tx
	for _, t := range r.Txs {
		if !t.Dead {
			out = append(out, t)
		}
	}
	return out
}

// newest returns the transaction that was signed last and could still be mined, and whether there is one.
func (r Row) newest() (Tx, bool) {
	l := r.live()
	if len(l) == 0 {
		return Tx{}, false
	}
	return l[len(l)-1], true
}

// inFlight reports whether the next row must wait for this one: two rows on their way could not refer to each other.
func (r Row) inFlight() bool {
	switch r.State {
	case StateDue, StateSigned, StateSent, StateStuck, StateMined:
		return true
	}
	return false
}

// Retry puts a failed row back to due, for an operator who has looked. Before anything is signed the contract's log is asked once
// more whether the head was attested.
func (r Row) Retry() Row {
	r.State, r.Alarm, r.Note, r.Mined, r.UID = StateDue, false, "tried again by an operator", nil, ""
	return r
}
