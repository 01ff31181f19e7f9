package base

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tidemark/chain"
)

// ErrForked reports that the chain of picks has another head than the one attested at the same length, or is shorter. It is an alarm:
// either the record was rewritten or this is not its database.
var ErrForked = errors.New("this chain was not attested")

// oracle is where Base keeps the price of data on the L1. Other chains have nothing there.
var oracle = common.HexToAddress("0x420000000000000000000000000000000000000F")

// Attester attests the head of the chain on the L2, once for each head. It keeps no state itself.
type Attester struct {
	Client *Client
	EAS    EAS
	Signer *Signer
	Store  Store
	Limits Limits
}

// Progress is the state after a step.
type Progress struct {
	// Rows are the rows that were checked, in their stored state. Rows with Alarm need the operator's attention.
	Rows []Row
	// Busy reports whether a row is on its way to a safe block: the next step should follow within seconds. Otherwise the next step can
	// wait for the next head. It also checks rows that are safe and not yet final; a step every few minutes is enough for them.
	Busy bool
}

// Step does all work that is possible now. It checks the progress of the open rows and advances them. If no row is on its way and head is
// longer than the attested chain, it begins a new row. now is the time written into rows. It also determines which rows are stuck. If a
// step is killed at any point, the next one repairs the state. The caller holds the attester's lock.
//
// It returns ErrUnavailable if no node answered: call again. It returns ErrStale if the lock was lost: stop. Other errors are ErrForked,
// ErrWrongChain, and errors of the store. A rejection by the chain is not an error of Step: it is recorded in the row.
func (a *Attester) Step(ctx context.Context, now time.Time, head chain.Checkpoint) (Progress, error) {
	var p Progress
	now = now.UTC()
	rows, err := a.Store.Open(ctx)
	if err != nil {
		return p, fmt.Errorf("attest: read the open rows: %w", err)
	}
	steady, err := a.steady(ctx, rows)
	if err != nil {
		return p, fmt.Errorf("attest: look at the safe rows: %w", err)
	}
	for _, r := range rows {
		if steady[r.ID] {
			p.add(r)
			continue
		}
		r, err := a.drive(ctx, r, now, head)
		p.add(r)
		if err != nil {
			return p, fmt.Errorf("attest: the row of %s: %w", r.Subject, err)
		}
	}
	// Each row that comes to rest may make way for one more: the schema, then the head.
	for range 2 {
		if p.Busy || head.Length == 0 {
			return p, nil
		}
		r, ok, err := a.next(ctx, now, head)
		if err != nil || !ok {
			return p, err
		}
		r, err = a.drive(ctx, r, now, head)
		p.add(r)
		if err != nil {
			return p, fmt.Errorf("attest: the row of %s: %w", r.Subject, err)
		}
	}
	return p, nil
}

// Register takes one step for the schema alone: it stores the schema's row unless it exists, and advances it. It is for setting up a
// network before a head exists; Step registers the schema without this call. The caller holds the attester's lock, and calls again until
// the row is safe or in an end state. It returns the same errors as Step.
func (a *Attester) Register(ctx context.Context, now time.Time) (Row, error) {
	now = now.UTC()
	uid := hexOf(SchemaUID(Schema))
	rows, err := a.Store.Open(ctx)
	if err != nil {
		return Row{}, fmt.Errorf("register the schema: read the open rows: %w", err)
	}
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Kind == KindRegister && r.Subject == uid })
	if i >= 0 {
		return a.drive(ctx, rows[i], now, chain.Checkpoint{})
	}
	var registered bool
	err = a.Client.on(ctx, func(ctx context.Context, n *node) (err error) {
		registered, err = n.registered(ctx, a.EAS.Registry, SchemaUID(Schema))
		return err
	})
	r := Row{Kind: KindRegister, State: StateDue, Subject: uid, CreatedAt: now, UpdatedAt: now}
	if err != nil {
		return r, fmt.Errorf("register the schema: look for it: %w", err)
	}
	if registered {
		r.State, r.Note = StateFinal, "the schema was registered before"
		return r, nil
	}
	if r, err = a.Store.Insert(ctx, r); err != nil {
		return r, fmt.Errorf("register the schema: store its row: %w", err)
	}
	return a.drive(ctx, r, now, chain.Checkpoint{})
}

func (p *Progress) add(r Row) {
	p.Rows = append(p.Rows, r)
	p.Busy = p.Busy || r.inFlight()
}

// next stores the due row: the schema's row until it is registered, then the head's row. It returns false if no row is due.
func (a *Attester) next(ctx context.Context, now time.Time, head chain.Checkpoint) (Row, bool, error) {
	last, known, err := a.Store.Attested(ctx)
	if err != nil {
		return Row{}, false, fmt.Errorf("attest: read the newest attestation: %w", err)
	}
	if known {
		if head.Length < last.Length || head.Length == last.Length && head.Head != last.Subject {
			return Row{}, false, fmt.Errorf("%w: attested is %s at length %d, the chain has %s at length %d", ErrForked, last.Subject, last.Length, head.Head, head.Length)
		}
		if head.Length == last.Length {
			return Row{}, false, nil
		}
	}
	if _, err := NewStatement(head, common.Hash{}); err != nil {
		return Row{}, false, err
	}
	uid := SchemaUID(Schema)
	var registered bool
	err = a.Client.on(ctx, func(ctx context.Context, n *node) (err error) {
		registered, err = n.registered(ctx, a.EAS.Registry, uid)
		return err
	})
	if err != nil {
		return Row{}, false, fmt.Errorf("attest: look for the schema: %w", err)
	}
	r := Row{Kind: KindAttest, State: StateDue, Subject: head.Head, Length: head.Length, Date: head.Date, CreatedAt: now, UpdatedAt: now}
	if known {
		r.PreviousHead, r.RefUID = last.Subject, last.UID
	}
	if !registered {
		r = Row{Kind: KindRegister, State: StateDue, Subject: hexOf(uid), CreatedAt: now, UpdatedAt: now}
	}
	r, err = a.Store.Insert(ctx, r)
	if errors.Is(err, ErrExists) {
		return Row{}, false, nil // it failed, and the operator must look
	}
	if err != nil {
		return Row{}, false, fmt.Errorf("attest: store a row: %w", err)
	}
	return r, true, nil
}

// drive moves one row as far as it goes now.
func (a *Attester) drive(ctx context.Context, r Row, now time.Time, head chain.Checkpoint) (Row, error) {
	limits := a.Limits.withDefaults()
	stored := r
	// A head that was never signed for gives way to a longer one.
	if r.Kind == KindAttest && r.State == StateDue && len(r.Txs) == 0 && head.Length > r.Length {
		r.Subject, r.Length, r.Date = head.Head, head.Length, head.Date
	}
	for range 8 {
		last, known, err := a.Store.Attested(ctx)
		if err != nil {
			return r, err
		}
		if !known {
			last = Row{}
		}
		seen, err := a.observe(ctx, r, last)
		if err != nil {
			return r, err
		}
		next, do := advance(r, seen, now, limits.StuckAfter)
		if r, err = a.save(ctx, stored, next, now); err != nil {
			return r, err
		}
		switch do {
		case actionWait:
			return r, nil
		case actionSign, actionBumpFee:
			var signed bool
			if r, signed, err = a.sign(ctx, r, last, do == actionBumpFee, now, limits); err != nil {
				return r, err
			}
			if !signed && do == actionSign {
				return r, nil
			}
		case actionSend:
		}
		var again bool
		if r, again, err = a.send(ctx, r, now); err != nil || !again {
			return r, err
		}
		stored = r
	}
	return r, nil
}

// save stores what changed.
func (a *Attester) save(ctx context.Context, old, r Row, now time.Time) (Row, error) {
	if same(old, r) {
		return old, nil
	}
	r.UpdatedAt = now
	stored, err := a.Store.Update(ctx, r)
	if err != nil {
		return old, fmt.Errorf("store it as %s: %w", r.State, err)
	}
	return stored, nil
}

// sign makes a transaction and stores it. Where fees, limits or the balance forbid it, it stores why and signs nothing.
func (a *Attester) sign(ctx context.Context, r, last Row, bump bool, now time.Time, l Limits) (Row, bool, error) {
	to, data, err := a.request(r)
	if err != nil {
		return r, false, err
	}
	earlier, _ := r.newest()
	var (
		tx      *types.Transaction
		f       fees
		cost    int64
		balance *big.Int
		refused error
	)
	err = a.Client.on(ctx, func(ctx context.Context, n *node) error {
		refused = nil
		latest, err := n.latest(ctx)
		if err != nil {
			return err
		}
		if err := n.upTo(latest, last); err != nil {
			return err
		}
		tip, err := n.tip(ctx)
		if err != nil {
			return err
		}
		t := &types.DynamicFeeTx{To: &to, Data: data, Value: new(big.Int), Nonce: earlier.Nonce, Gas: earlier.Gas}
		before := &earlier
		if !bump {
			before = nil
			if t.Nonce, err = n.nonce(ctx, a.Signer.Address(), "latest"); err != nil {
				return err
			}
			gas, err := n.estimate(ctx, a.Signer.Address(), to, data)
			if err != nil {
				return err
			}
			t.Gas = gas + gas*3/10
		}
		if f, refused = price(latest.BaseFee, tip, before, l.FeeCap); refused != nil {
			return nil
		}
		t.GasFeeCap, t.GasTipCap = big.NewInt(f.cap), big.NewInt(f.tip)
		if tx, err = a.Signer.sign(a.Client.id, t); err != nil {
			return err
		}
		l1, err := n.l1Fee(ctx, tx)
		if err != nil {
			return err
		}
		cost = worst(t.Gas, f, l1)
		balance, err = n.balance(ctx, a.Signer.Address())
		return err
	})
	if reverts(err) {
		next := failed(r, "it would revert: "+err.Error())
		r, err = a.save(ctx, r, next, now)
		return r, false, err
	}
	if err != nil {
		return r, false, err
	}
	if refused == nil {
		if refused, err = a.forbidden(ctx, r, cost, balance, now, l); err != nil {
			return r, false, err
		}
	}
	next := r
	if refused != nil {
		next.Note, next.Alarm = refused.Error(), true
		r, err = a.save(ctx, r, next, now)
		return r, false, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return r, false, err
	}
	next.Txs = append(append([]Tx(nil), r.Txs...), Tx{
		Hash: hexOf(tx.Hash()), Raw: raw, Nonce: tx.Nonce(), Gas: tx.Gas(), FeeCap: f.cap, TipCap: f.tip, SignedAt: now,
	})
	next.State, next.CostWei, next.SpentOn, next.Note, next.Alarm = StateSigned, cost, now.Format(time.DateOnly), "", false
	r, err = a.save(ctx, r, next, now)
	return r, err == nil, err
}

// forbidden says why a transaction may not be signed although the chain would take it.
func (a *Attester) forbidden(ctx context.Context, r Row, cost int64, balance *big.Int, now time.Time, l Limits) (refused, err error) {
	if balance.Cmp(big.NewInt(cost)) < 0 {
		return fmt.Errorf("the account %s has %s wei and the transaction may cost %d", a.Signer.Address(), balance, cost), nil
	}
	today := now.Format(time.DateOnly)
	spent, err := a.Store.Spent(ctx, today)
	if err != nil {
		return nil, fmt.Errorf("read what was spent: %w", err)
	}
	if r.SpentOn == today {
		spent -= r.CostWei // of this row's transactions only one is mined
	}
	if spent > l.Daily-min(l.Daily, cost) || cost > l.Daily {
		return fmt.Errorf("the daily limit of %d wei: %d are spent or on their way, the transaction may cost %d", l.Daily, spent, cost), nil
	}
	return nil, nil
}

// request is the call that the row asks for.
func (a *Attester) request(r Row) (common.Address, []byte, error) {
	if r.Kind == KindRegister {
		data, err := registerCall(Schema)
		return a.EAS.Registry, data, err
	}
	s, err := r.statement()
	if err != nil {
		return common.Address{}, nil, err
	}
	data, err := attestCall(SchemaUID(Schema), common.HexToHash(r.RefUID), s)
	return a.EAS.Contract, data, err
}

// statement returns the statement that the row attests.
func (r Row) statement() (Statement, error) {
	return NewStatement(chain.Checkpoint{Length: r.Length, Head: r.Subject, Date: r.Date}, common.HexToHash(r.PreviousHead))
}

// send sends the last signed transaction to a node, and stores the node's response. again reports whether the row may be advanced at
// once.
func (a *Attester) send(ctx context.Context, r Row, now time.Time) (_ Row, again bool, err error) {
	last, ok := r.newest()
	if !ok {
		return r, false, nil
	}
	err = a.Client.on(ctx, func(ctx context.Context, n *node) error { return n.send(ctx, last.Raw) })
	next := r
	next.Txs = append([]Tx(nil), r.Txs...)
	answer, answered := errors.AsType[*answerError](err)
	switch {
	case err == nil, answered && answer.says("already known", "already exists", "known transaction"):
		for i := range next.Txs {
			if next.Txs[i].Hash == last.Hash {
				next.Txs[i].SentAt = now
			}
		}
		// A fee that could not be raised stays stuck, with its note.
		if next.State != StateStuck {
			next.State = StateSent
		}
	case !answered:
		return r, false, err
	case answer.says("nonce too low"):
		// Something of ours was mined, or something of another. The next look tells.
		next.Note = "the nonce is used"
	case answer.says("underpriced", "less than block base fee", "fee too low"):
		next.State, next.Note = StateStuck, "a node wants a higher fee: "+answer.message
		again = true
	default:
		next.Note, next.Alarm = "a node refused the transaction: "+answer.message, true
	}
	r, err = a.save(ctx, r, next, now)
	return r, again && err == nil, err
}
