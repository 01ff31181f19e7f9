package devchain

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// pool holds the transactions that wait for a block, by their sender and nonce.
type pool map[common.Address]map[uint64]*types.Transaction

// enter checks a transaction and adds it to the pool. Its errors have the texts that nodes use, because clients know those.
func (c *Chain) enter(tx *types.Transaction) error {
	if tx.Type() > types.DynamicFeeTxType {
		return types.ErrTxTypeNotSupported
	}
	from, err := types.Sender(c.signer, tx)
	if err != nil {
		return err
	}
	waiting := c.pool[from][tx.Nonce()]
	if waiting != nil && waiting.Hash() == tx.Hash() {
		return errors.New("already known")
	}
	if tx.Gas() > min(blockGas, params.MaxTxGas) {
		return errors.New("exceeds block gas limit")
	}
	if tx.GasFeeCapIntCmp(tx.GasTipCap()) < 0 {
		return errors.New("max priority fee per gas higher than max fee per gas")
	}
	if need := minGas(tx.Data(), tx.AccessList(), tx.To() == nil); tx.Gas() < need {
		return fmt.Errorf("intrinsic gas too low: gas %d, minimum needed %d", tx.Gas(), need)
	}
	now, err := c.stateAt(c.head())
	if err != nil {
		return err
	}
	if next := now.GetNonce(from); tx.Nonce() < next {
		return fmt.Errorf("nonce too low: next nonce %d, tx nonce %d", next, tx.Nonce())
	}
	if has := now.GetBalance(from).ToBig(); has.Cmp(tx.Cost()) < 0 {
		return fmt.Errorf("insufficient funds for gas * price + value: balance %s, tx cost %s", has, tx.Cost())
	}
	if waiting != nil && !raises(waiting.GasFeeCap(), tx.GasFeeCap()) || waiting != nil && !raises(waiting.GasTipCap(), tx.GasTipCap()) {
		return errors.New("replacement transaction underpriced")
	}
	if c.pool[from] == nil {
		c.pool[from] = map[uint64]*types.Transaction{}
	}
	c.pool[from][tx.Nonce()] = tx
	return nil
}

// raises reports whether a fee is at least a tenth above an earlier one. A smaller increase does not replace a transaction.
func raises(before, after *big.Int) bool {
	least := new(big.Int).Mul(before, big.NewInt(110))
	return after.Cmp(before) > 0 && new(big.Int).Mul(after, big.NewInt(100)).Cmp(least) >= 0
}

// ready returns the transactions for the next block, highest fee first. Of each sender, it returns the transactions that follow the last
// nonce without a gap and pay the base fee.
func (p pool) ready(c *Chain) []*types.Transaction {
	if len(p) == 0 {
		return nil
	}
	now, err := c.stateAt(c.head())
	if err != nil {
		return nil
	}
	fee := nextBaseFee(c.head().header)
	lines := map[common.Address][]*types.Transaction{}
	for from, waiting := range p {
		for nonce := now.GetNonce(from); ; nonce++ {
			tx := waiting[nonce]
			if tx == nil || tx.GasFeeCapIntCmp(fee) < 0 {
				break
			}
			lines[from] = append(lines[from], tx)
		}
	}
	senders := slices.SortedFunc(maps.Keys(lines), common.Address.Cmp)
	var ready []*types.Transaction
	for room := uint64(blockGas); len(senders) > 0; {
		next := slices.MaxFunc(senders, func(a, b common.Address) int { return tip(lines[a], fee).Cmp(tip(lines[b], fee)) })
		line := lines[next]
		if len(line) == 0 || line[0].Gas() > room {
			break
		}
		ready, room = append(ready, line[0]), room-line[0].Gas()
		lines[next] = line[1:]
	}
	return ready
}

// tip returns the tip per unit of gas of the first transaction of a line, or a negative number for an empty line.
func tip(line []*types.Transaction, fee *big.Int) *big.Int {
	if len(line) == 0 {
		return big.NewInt(-1)
	}
	t, err := line[0].EffectiveGasTip(fee)
	if err != nil {
		return big.NewInt(-1)
	}
	return t
}

// settle removes the transactions whose nonce the newest block has used.
func (p pool) settle(c *Chain) {
	if len(p) == 0 {
		return
	}
	now, err := c.stateAt(c.head())
	if err != nil {
		return
	}
	for from, waiting := range p {
		next := now.GetNonce(from)
		maps.DeleteFunc(waiting, func(nonce uint64, _ *types.Transaction) bool { return nonce < next })
		if len(waiting) == 0 {
			delete(p, from)
		}
	}
}

// drop removes a transaction that no block can take.
func (p pool) drop(from common.Address, nonce uint64) {
	if delete(p[from], nonce); len(p[from]) == 0 {
		delete(p, from)
	}
}

// find returns a waiting transaction, or nil if no such transaction waits.
func (p pool) find(hash common.Hash) *types.Transaction {
	for _, waiting := range p {
		for _, tx := range waiting {
			if tx.Hash() == hash {
				return tx
			}
		}
	}
	return nil
}

// nonce returns the next nonce of an account, including waiting transactions.
func (p pool) nonce(from common.Address, next uint64) uint64 {
	for p[from][next] != nil {
		next++
	}
	return next
}
