package base

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// observe asks one node about a row. last is the newest row that is attested, the zero Row for none.
func (a *Attester) observe(ctx context.Context, r, last Row) (s txStatus, err error) {
	err = a.Client.on(ctx, func(ctx context.Context, n *node) error {
		s, err = a.observeNode(ctx, n, r, last)
		return err
	})
	return s, err
}

func (a *Attester) observeNode(ctx context.Context, n *node, r, last Row) (s txStatus, err error) {
	if s.heads, err = n.heads(ctx); err != nil {
		return s, err
	}
	// A node that is behind would let what is there look lost.
	for _, known := range []Row{r, last} {
		if err := n.upTo(&Head{Number: s.heads.Latest}, known); err != nil {
			return s, err
		}
	}
	live := r.live()
	for i := len(live) - 1; i >= 0 && s.receipt == nil; i-- {
		if s.receipt, err = n.receipt(ctx, common.HexToHash(live[i].Hash)); err != nil {
			return s, err
		}
	}
	if s.receipt != nil {
		return s, a.observeTx(ctx, n, r, &s)
	}
	if s.nonce, err = n.nonce(ctx, a.Signer.Address(), "latest"); err != nil {
		return s, err
	}
	newest, ok := r.newest()
	if ok && s.nonce > newest.Nonce {
		if s.safeNonce, err = n.safeNonce(ctx, a.Signer.Address(), s.heads); err != nil {
			return s, err
		}
	}
	// An account that never sent anything attested nothing. While the row's own nonce is free, nothing else can have been attested
	// with it either.
	if s.nonce == 0 || ok && s.nonce <= newest.Nonce && r.Mined == nil {
		return s, nil
	}
	if r.Kind == KindRegister {
		s.registered, err = n.registered(ctx, a.EAS.Registry, common.HexToHash(r.Subject))
		return s, err
	}
	return s, a.findTx(ctx, n, r, last, &s)
}

// steady returns the IDs of the rows that are safe, not yet final, and still in their block: they need no work.
func (a *Attester) steady(ctx context.Context, rows []Row) (ids map[int64]bool, err error) {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.State == StateSafe }) {
		return nil, nil
	}
	err = a.Client.on(ctx, func(ctx context.Context, n *node) error {
		ids = map[int64]bool{}
		h, err := n.heads(ctx)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.State != StateSafe || uint64(r.Mined.BlockNumber) <= h.Final {
				continue
			}
			b, err := n.block(ctx, fmt.Sprintf("%#x", r.Mined.BlockNumber))
			if err != nil {
				return err
			}
			ids[r.ID] = b != nil && hexOf(b.Hash) == r.Mined.BlockHash
		}
		return nil
	})
	return ids, err
}

// observeTx reads what a mined transaction of the row made.
func (a *Attester) observeTx(ctx context.Context, n *node, r Row, s *txStatus) error {
	if err := n.holder(ctx, s.receipt.BlockNumber, s.receipt.BlockHash, s); err != nil {
		return err
	}
	if r.Kind == KindRegister {
		var err error
		if s.registered, err = n.registered(ctx, a.EAS.Registry, common.HexToHash(r.Subject)); err == nil && !s.registered {
			s.wrong = "the schema is not registered"
		}
		return err
	}
	if !s.receipt.Success {
		return nil
	}
	for _, l := range s.receipt.Logs {
		uid, ok := attestedUID(l, a.EAS.Contract, SchemaUID(Schema), a.Signer.Address())
		if !ok {
			continue
		}
		made, err := n.attestation(ctx, a.EAS.Contract, uid)
		if err != nil {
			return err
		}
		if made == nil {
			s.wrong = "the attestation " + uid.Hex() + " is in the log and not in the contract"
			return nil
		}
		return a.compare(r, made, s)
	}
	s.wrong = "the receipt has no log of an attestation"
	return nil
}

// findTx searches the contract's log for the row's head, and for the newest attestation before it that the store does not know.
func (a *Attester) findTx(ctx context.Context, n *node, r, last Row, s *txStatus) error {
	from := a.EAS.StartBlock
	if last.Mined != nil {
		from = uint64(last.Mined.BlockNumber)
	}
	if r.Mined != nil {
		from = min(from, uint64(r.Mined.BlockNumber))
	}
	all, err := n.attestations(ctx, a.EAS.Contract, SchemaUID(Schema), a.Signer.Address(), from)
	if err != nil {
		return err
	}
	for i, found := range all {
		switch {
		case plainHex(found.Statement.Head) == r.Subject && !found.Malformed:
			if err := n.holder(ctx, found.BlockNumber, found.BlockHash, s); err != nil {
				return err
			}
			if s.other != nil {
				r = refersTo(r, s.other)
			}
			return a.compare(r, &all[i], s)
		case hexOf(found.UID) == last.UID:
			s.other = nil
		default:
			s.other = &all[i]
		}
	}
	return nil
}

// refersTo makes an attestation the one before the row's.
func refersTo(r Row, before *Attestation) Row {
	r.RefUID, r.PreviousHead = hexOf(before.UID), plainHex(before.Statement.Head)
	return r
}

// compare holds what was made against what the row asks for.
func (a *Attester) compare(r Row, made *Attestation, s *txStatus) error {
	want, err := r.statement()
	if err != nil {
		return err
	}
	s.made = made
	s.wrong = made.differs(SchemaUID(Schema), common.HexToHash(r.RefUID), a.Signer.Address(), want)
	return nil
}

// holder reads the block of an object, and requires that the node's own block of that number is the named one.
func (n *node) holder(ctx context.Context, number uint64, hash common.Hash, s *txStatus) error {
	b, err := n.block(ctx, fmt.Sprintf("%#x", number))
	if err != nil {
		return err
	}
	if b == nil || b.Hash != hash {
		return &nodeError{cause: fmt.Errorf("it names block %d with the hash %s and has another one there", number, hash)}
	}
	s.block = *b
	return nil
}

// upTo refuses a node that has not reached the block of a row yet.
func (n *node) upTo(latest *Head, r Row) error {
	if r.Mined != nil && latest.Number < uint64(r.Mined.BlockNumber) {
		return &nodeError{cause: fmt.Errorf("it is at block %d, behind block %d that was seen", latest.Number, r.Mined.BlockNumber)}
	}
	return nil
}

// depthState is how far back a node that keeps no archive still knows the accounts, with some room.
const depthState = 100

// safeNonce counts the account's transactions up to the safe block. If the safe head is far behind, a node may no longer know the
// accounts of that block. It is then asked about the deepest block that it can answer for.
func (n *node) safeNonce(ctx context.Context, who common.Address, h Heads) (uint64, error) {
	nonce, err := n.nonce(ctx, who, fmt.Sprintf("%#x", h.Safe))
	failed, ok := errors.AsType[*nodeError](err)
	if ok && failed.spoke && h.Latest > h.Safe+depthState {
		return n.nonce(ctx, who, fmt.Sprintf("%#x", h.Latest-depthState))
	}
	return nonce, err
}

// l1Fee is the cost of the transaction's data on the L1; zero on a chain without such a fee.
func (n *node) l1Fee(ctx context.Context, tx *types.Transaction) (*big.Int, error) {
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, err
	}
	data, err := easABI.Pack("getL1Fee", raw)
	if err != nil {
		return nil, err
	}
	out, err := n.call(ctx, oracle, data)
	if _, answered := errors.AsType[*answerError](err); answered || err == nil && len(out) != 32 {
		return new(big.Int), nil
	}
	return new(big.Int).SetBytes(out), err
}

// same reports whether two rows are stored alike.
func same(a, b Row) bool { return reflect.DeepEqual(a, b) }
