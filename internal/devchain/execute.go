package devchain

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

// blockGas is the gas of a block.
const blockGas = 60_000_000

// stateAt returns the state after a block. Changes to it do not affect the chain.
func (c *Chain) stateAt(b *block) (*state.StateDB, error) {
	s, err := state.New(b.header.Root, c.states)
	if err != nil {
		return nil, fmt.Errorf("read the state after block %d: %w", b.number(), err)
	}
	return s, nil
}

func (c *Chain) rules(h *types.Header) params.Rules { return c.config.Rules(h.Number, true, h.Time) }

// firstBlock makes the block with the number zero.
func (c *Chain) firstBlock(g *genesis) (*block, error) {
	s, err := state.New(types.EmptyRootHash, c.states)
	if err != nil {
		return nil, err
	}
	h := emptyHeader()
	h.Extra, h.GasLimit, h.BaseFee = g.ExtraData, uint64(g.GasLimit), g.BaseFee.ToInt()
	for at, account := range g.Alloc {
		s.AddBalance(at, uint256.MustFromBig(account.Balance), tracing.BalanceIncreaseGenesisBalance)
		s.SetCode(at, account.Code, tracing.CodeChangeGenesis)
		s.SetNonce(at, account.Nonce, tracing.NonceChangeGenesis)
		for k, v := range account.Storage {
			s.SetState(at, k, v)
		}
	}
	if h.Root, err = s.Commit(c.rules(h), 0); err != nil {
		return nil, err
	}
	return &block{header: h, hash: h.Hash()}, nil
}

// emptyHeader returns a header without position and transactions.
func emptyHeader() *types.Header {
	return &types.Header{
		UncleHash: types.EmptyUncleHash, TxHash: types.EmptyTxsHash, ReceiptHash: types.EmptyReceiptsHash, Difficulty: new(big.Int),
		Number: new(big.Int), GasLimit: blockGas, WithdrawalsHash: new(types.EmptyWithdrawalsHash), BlobGasUsed: new(uint64(0)),
		ExcessBlobGas: new(uint64(0)), ParentBeaconRoot: new(common.Hash{}), RequestsHash: new(types.EmptyRequestsHash),
	}
}

// nextBaseFee returns the base fee of the block after another (EIP-1559). The fee changes by an eighth of the deviation of the used gas
// from one half of the limit.
func nextBaseFee(h *types.Header) *big.Int {
	const target = blockGas / 2
	off := new(big.Int).SetInt64(int64(h.GasUsed) - target)
	change := off.Mul(off, h.BaseFee)
	change.Quo(change, big.NewInt(target)).Quo(change, big.NewInt(8))
	if h.GasUsed > target && change.Sign() == 0 {
		change.SetInt64(1)
	}
	return change.Add(change, h.BaseFee)
}

// nextHeader returns the header of the next block.
func (c *Chain) nextHeader(at uint64) *types.Header {
	parent, h := c.head(), emptyHeader()
	h.ParentHash, h.Time, h.BaseFee = parent.hash, at, nextBaseFee(parent.header)
	h.Number.Add(parent.header.Number, big.NewInt(1))
	// A block that replaces another must have a different hash.
	h.Extra = binary.BigEndian.AppendUint64(nil, c.made)
	h.MixDigest = crypto.Keccak256Hash(h.ParentHash[:], h.Extra)
	return h
}

// build makes a block of transactions without appending it. It drops a transaction that is not valid in the block from the pool.
func (c *Chain) build(at uint64, txs []*types.Transaction) (*block, error) {
	s, err := c.stateAt(c.head())
	if err != nil {
		return nil, err
	}
	h := c.nextHeader(at)
	b := &block{header: h}
	for _, tx := range txs {
		from, err := types.Sender(c.signer, tx)
		if err != nil {
			return nil, err
		}
		m := messageOf(tx, from, h.BaseFee)
		s.SetTxContext(tx.Hash(), len(b.txs), 0)
		out, err := c.execute(s, h, m)
		if err != nil {
			c.pool.drop(from, tx.Nonce())
			continue
		}
		h.GasUsed += out.used
		r := &types.Receipt{
			Type: tx.Type(), Status: types.ReceiptStatusSuccessful, CumulativeGasUsed: h.GasUsed, TxHash: tx.Hash(), GasUsed: out.used,
			EffectiveGasPrice: m.price.ToBig(), BlockNumber: h.Number, TransactionIndex: uint(len(b.txs)),
			Logs: s.GetLogs(tx.Hash(), h.Number.Uint64(), common.Hash{}, h.Time),
		}
		if r.Logs == nil {
			r.Logs = []*types.Log{}
		}
		if out.err != nil {
			r.Status = types.ReceiptStatusFailed
		}
		if tx.To() == nil {
			r.ContractAddress = crypto.CreateAddress(from, tx.Nonce())
		}
		r.Bloom = types.CreateBloom(r)
		b.txs, b.receipts = append(b.txs, tx), append(b.receipts, r)
	}
	if len(b.txs) > 0 {
		h.TxHash = types.DeriveSha(types.Transactions(b.txs), trie.NewStackTrie(nil))
		h.ReceiptHash = types.DeriveSha(types.Receipts(b.receipts), trie.NewStackTrie(nil))
		h.Bloom = types.MergeBloom(b.receipts)
	}
	if h.Root, err = s.Commit(c.rules(h), h.Number.Uint64()); err != nil {
		return nil, err
	}
	b.hash = h.Hash()
	for _, r := range b.receipts {
		r.BlockHash = b.hash
		for _, l := range r.Logs {
			l.BlockHash = b.hash
		}
	}
	return b, nil
}

// message is a call of a contract, by a transaction or by a request.
type message struct {
	from  common.Address
	to    *common.Address
	data  []byte
	value *uint256.Int
	list  types.AccessList
	gas   uint64
	// paid means that the sender pays for the gas at price, must have enough for cap, and that its nonce is checked.
	paid       bool
	nonce      uint64
	price, cap *uint256.Int
}

func messageOf(tx *types.Transaction, from common.Address, fee *big.Int) message {
	price := new(big.Int).Add(fee, tx.GasTipCap())
	if tx.GasFeeCapIntCmp(price) < 0 {
		price = tx.GasFeeCap()
	}
	return message{
		from: from, to: tx.To(), data: tx.Data(), value: uint256.MustFromBig(tx.Value()), list: tx.AccessList(), gas: tx.Gas(),
		paid: true, nonce: tx.Nonce(), price: uint256.MustFromBig(price), cap: uint256.MustFromBig(tx.GasFeeCap()),
	}
}

// outcome is the result of a message.
type outcome struct {
	used     uint64
	returned []byte
	// err is the error of a message that changed nothing except its sender's balance and nonce.
	err error
}

// minGas returns the minimum gas of a valid transaction.
func minGas(data []byte, list types.AccessList, creates bool) uint64 {
	return max(beginGas(data, list, creates), floorGas(data))
}

// beginGas returns the gas charged before the code runs: for the data, for a creation and for the access list (EIP-2028, EIP-2930,
// EIP-3860).
func beginGas(data []byte, list types.AccessList, creates bool) uint64 {
	zeros := uint64(bytes.Count(data, []byte{0}))
	rest := uint64(len(data)) - zeros
	gas := params.TxGas + zeros*params.TxDataZeroGas + rest*params.TxDataNonZeroGasEIP2028
	if creates {
		gas += params.TxGasContractCreation - params.TxGas + (uint64(len(data))+31)/32*params.InitCodeWordGas
	}
	return gas + uint64(len(list))*params.TxAccessListAddressGas + uint64(list.StorageKeys())*params.TxAccessListStorageKeyGas
}

// floorGas returns the minimum gas that a transaction with some data pays (EIP-7623).
func floorGas(data []byte) uint64 {
	zeros := uint64(bytes.Count(data, []byte{0}))
	return params.TxGas + (zeros+(uint64(len(data))-zeros)*params.TxTokenPerNonZeroByte)*params.TxCostFloorPerToken
}

// execute applies a message to the state, in the block of a header. An error means that the message is not valid there and the state is
// unchanged. A failure of the called code is in the outcome.
func (c *Chain) execute(s *state.StateDB, h *types.Header, m message) (outcome, error) {
	rules := c.rules(h)
	if m.to == nil && len(m.data) > params.MaxInitCodeSize {
		return outcome{}, vm.ErrMaxInitCodeSizeExceeded
	}
	least := minGas(m.data, m.list, m.to == nil)
	if m.gas < least {
		return outcome{}, fmt.Errorf("intrinsic gas too low: have %d, want %d", m.gas, least)
	}
	if m.paid {
		if next := s.GetNonce(m.from); next != m.nonce {
			return outcome{}, fmt.Errorf("nonce %d of %s is not its next, which is %d", m.nonce, m.from, next)
		}
		most, over := new(uint256.Int).MulOverflow(uint256.NewInt(m.gas), m.cap)
		if _, more := most.AddOverflow(most, m.value); over || more || s.GetBalance(m.from).Lt(most) {
			return outcome{}, errors.New("insufficient funds for gas * price + value")
		}
		s.SubBalance(m.from, new(uint256.Int).Mul(uint256.NewInt(m.gas), m.price), tracing.BalanceDecreaseGasBuy)
	} else if s.GetBalance(m.from).Lt(m.value) {
		return outcome{}, errors.New("insufficient funds for transfer")
	}
	evm := vm.NewEVM(c.blockContext(h), s, c.config, vm.Config{NoBaseFee: !m.paid})
	defer evm.Release()
	price := new(uint256.Int)
	if m.paid {
		price = m.price
	}
	evm.SetTxContext(vm.TxContext{Origin: m.from, GasPrice: price})
	s.Prepare(rules, m.from, h.Coinbase, m.to, vm.ActivePrecompiles(rules), m.list)

	begin := beginGas(m.data, m.list, m.to == nil)
	var (
		out  outcome
		left vm.GasBudget
	)
	if m.to == nil {
		out.returned, _, left, out.err = evm.Create(m.from, m.data, vm.NewGasBudget(m.gas-begin, 0), m.value)
	} else {
		s.SetNonce(m.from, s.GetNonce(m.from)+1, tracing.NonceChangeEoACall)
		out.returned, left, out.err = evm.Call(m.from, *m.to, m.data, vm.NewGasBudget(m.gas-begin, 0), m.value)
	}
	out.used = m.gas - left.ExecutionGas
	out.used -= min(out.used/params.RefundQuotientEIP3529, s.GetRefund())
	out.used = max(out.used, floorGas(m.data))
	if m.paid {
		s.AddBalance(m.from, new(uint256.Int).Mul(uint256.NewInt(m.gas-out.used), m.price), tracing.BalanceIncreaseGasReturn)
		fee := new(uint256.Int).Sub(m.price, uint256.MustFromBig(h.BaseFee))
		s.AddBalance(h.Coinbase, fee.Mul(fee, uint256.NewInt(out.used)), tracing.BalanceIncreaseRewardTransactionFee)
	}
	s.Finalise(rules)
	return out, s.Error()
}

// blockContext returns the data of a block that code running in it can read.
func (c *Chain) blockContext(h *types.Header) vm.BlockContext {
	return vm.BlockContext{
		CanTransfer: func(s vm.StateDB, from common.Address, amount *uint256.Int) bool {
			return !s.GetBalance(from).Lt(amount)
		},
		Transfer: func(s vm.StateDB, from, to common.Address, amount *uint256.Int, _ *params.Rules) {
			s.SubBalance(from, amount, tracing.BalanceChangeTransfer)
			s.AddBalance(to, amount, tracing.BalanceChangeTransfer)
		},
		GetHash: func(number uint64) common.Hash {
			if number >= h.Number.Uint64() || number >= uint64(len(c.blocks)) {
				return common.Hash{}
			}
			return c.blocks[number].hash
		},
		Coinbase: h.Coinbase, BlockNumber: h.Number, Time: h.Time, Difficulty: new(big.Int), BaseFee: h.BaseFee, BlobBaseFee: big.NewInt(1),
		GasLimit: h.GasLimit, Random: &h.MixDigest,
	}
}

// refusal is a failure of called code, in the form that nodes report.
type refusal struct {
	code    int
	message string
	data    string
}

func (f *refusal) Error() string  { return f.message }
func (f *refusal) ErrorCode() int { return f.code }
func (f *refusal) ErrorData() any { return f.data }

// codeReverted is the error code of a reverted call, codeServer the code of any other failure.
const (
	codeReverted = 3
	codeServer   = -32000
)

// refused converts an outcome to an error, nil for a success.
func (o outcome) refused() error {
	switch {
	case o.err == nil:
		return nil
	case !errors.Is(o.err, vm.ErrExecutionReverted):
		return &refusal{code: codeServer, message: o.err.Error()}
	}
	f := &refusal{code: codeReverted, message: "execution reverted", data: hexutil.Encode(o.returned)}
	if reason, err := abi.UnpackRevert(o.returned); err == nil {
		f.message += ": " + reason
	}
	return f
}

// view is a state, and the header of the block in which calls on it run.
type view struct {
	state  *state.StateDB
	header *types.Header
}

// after returns the view after a block.
func (c *Chain) after(b *block) (view, error) {
	s, err := c.stateAt(b)
	return view{s, b.header}, err
}

// pending returns the view in the next block, after the waiting transactions.
func (c *Chain) pending() (view, error) {
	s, err := c.stateAt(c.head())
	if err != nil {
		return view{}, err
	}
	h := c.nextHeader(c.nextTime())
	for _, tx := range c.pool.ready(c) {
		from, err := types.Sender(c.signer, tx)
		if err != nil {
			return view{}, err
		}
		_, _ = c.execute(s, h, messageOf(tx, from, h.BaseFee)) // an invalid transaction changes nothing
	}
	return view{s, h}, nil
}

// call runs a message and returns its result, without changing the state. If the code failed, the error is a *refusal.
func (c *Chain) call(v view, m message) ([]byte, error) {
	if m.gas == 0 || m.gas > callGas {
		m.gas = callGas
	}
	out, err := c.execute(v.state.Copy(), v.header, m)
	if err != nil {
		return nil, err
	}
	return out.returned, out.refused()
}

// callGas limits the gas of a call.
const callGas = 50_000_000

// estimate returns, to within one part in sixty, the least gas with which a message has the same outcome as with the full limit.
func (c *Chain) estimate(v view, m message) (uint64, error) {
	if m.gas == 0 || m.gas > params.MaxTxGas {
		m.gas = params.MaxTxGas
	}
	try := func(gas uint64) (outcome, error) {
		m := m
		m.gas = gas
		return c.execute(v.state.Copy(), v.header, m)
	}
	out, err := try(m.gas)
	if err != nil {
		return 0, err
	}
	if err := out.refused(); err != nil {
		return 0, err
	}
	low, high := out.used-1, m.gas
	// A call may forward 63 of 64 parts, and a refund comes only after the gas was there.
	if guess := (out.used + params.CallStipend) * 64 / 63; guess < high {
		if again, err := try(guess); err == nil && again.err == nil {
			high = guess
		} else {
			low = guess
		}
	}
	for high-low > high/60 {
		middle := low + (high-low)/2
		if again, err := try(middle); err == nil && again.err == nil {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}
