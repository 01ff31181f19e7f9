package devchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// method handles a request. The chain is locked. A nil result is the JSON value null.
type method func(c *Chain, args []json.RawMessage) (any, error)

// suggestedTip is the tip for the maker of a block that a node suggests, in wei.
var suggestedTip = big.NewInt(params.GWei / 1000)

// methods are the methods that wallets, payment clients and this project's own client call.
var methods = map[string]method{
	"web3_clientVersion":       constant("tidemark-devchain"),
	"net_version":              func(c *Chain, _ []json.RawMessage) (any, error) { return c.config.ChainID.String(), nil },
	"eth_chainId":              func(c *Chain, _ []json.RawMessage) (any, error) { return (*hexutil.Big)(c.config.ChainID), nil },
	"eth_syncing":              constant(false),
	"eth_accounts":             constant([]common.Address{}),
	"eth_blockNumber":          func(c *Chain, _ []json.RawMessage) (any, error) { return hexutil.Uint64(c.head().number()), nil },
	"eth_maxPriorityFeePerGas": constant((*hexutil.Big)(suggestedTip)),
	"eth_gasPrice":             func(c *Chain, _ []json.RawMessage) (any, error) { return (*hexutil.Big)(c.gasPrice()), nil },
	"eth_feeHistory":           (*Chain).feeHistory,

	"eth_getBlockByNumber":                 (*Chain).blockAnswer,
	"eth_getBlockByHash":                   (*Chain).blockAnswer,
	"eth_getBlockTransactionCountByNumber": (*Chain).countAnswer,
	"eth_getBlockTransactionCountByHash":   (*Chain).countAnswer,
	"eth_getTransactionByHash":             (*Chain).transactionAnswer,
	"eth_getTransactionReceipt":            (*Chain).receiptAnswer,
	"eth_getLogs":                          (*Chain).logsAnswer,
	"eth_getBalance": ofAccount(func(v view, a common.Address) any {
		return (*hexutil.Big)(v.state.GetBalance(a).ToBig())
	}),
	"eth_getCode":             ofAccount(func(v view, a common.Address) any { return hexutil.Bytes(v.state.GetCode(a)) }),
	"eth_getTransactionCount": (*Chain).nonceAnswer,
	"eth_getStorageAt":        (*Chain).storageAnswer,
	"eth_call":                (*Chain).callAnswer,
	"eth_estimateGas":         (*Chain).estimateAnswer,
	"eth_sendRawTransaction":  (*Chain).sendAnswer,
}

func constant(v any) method { return func(*Chain, []json.RawMessage) (any, error) { return v, nil } }

// argument decodes one argument. If it is missing or null, into keeps its value.
func argument(args []json.RawMessage, i int, into any) error {
	if i >= len(args) {
		return nil
	}
	if err := json.Unmarshal(args[i], into); err != nil {
		return &refusal{code: codeArguments, message: fmt.Sprintf("invalid argument %d: %v", i, err)}
	}
	return nil
}

// spot identifies a block: a tag, a number, a hash, or an object with one of them (EIP-1898).
type spot struct {
	tag    string
	number *uint64
	hash   *common.Hash
}

func (s *spot) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("{")) {
		var o struct {
			BlockNumber *spot        `json:"blockNumber"`
			BlockHash   *common.Hash `json:"blockHash"`
		}
		if err := json.Unmarshal(b, &o); err != nil {
			return err
		}
		switch {
		case o.BlockHash != nil:
			s.hash = o.BlockHash
		case o.BlockNumber != nil:
			*s = *o.BlockNumber
		}
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	switch text {
	case "", "latest", "pending", "safe", "finalized", "earliest":
		s.tag = text
		return nil
	}
	if len(text) == 2+2*common.HashLength {
		s.hash = new(common.HexToHash(text))
		return nil
	}
	n, err := hexutil.DecodeUint64(text)
	if err != nil {
		return fmt.Errorf("unknown block %q", text)
	}
	s.number = &n
	return nil
}

// find returns the block of a spot, nil if it does not exist. The tag pending means the newest block here.
func (c *Chain) find(s spot) *block {
	n := c.head().number()
	switch {
	case s.hash != nil:
		for _, b := range slices.Backward(c.blocks) {
			if b.hash == *s.hash {
				return b
			}
		}
		return nil
	case s.number != nil:
		n = *s.number
	case s.tag == "finalized":
		n = c.final(time.Now())
	case s.tag == "earliest":
		n = 0
	}
	if n >= uint64(len(c.blocks)) {
		return nil
	}
	return c.blocks[n]
}

// at returns the view that a request names in its argument i.
func (c *Chain) at(args []json.RawMessage, i int, otherwise string) (view, error) {
	s := spot{tag: otherwise}
	if err := argument(args, i, &s); err != nil {
		return view{}, err
	}
	if s.tag == "pending" {
		return c.pending()
	}
	b := c.find(s)
	if b == nil {
		return view{}, errors.New("header not found")
	}
	return c.after(b)
}

// ofAccount makes a method from a function of an account.
func ofAccount(f func(view, common.Address) any) method {
	return func(c *Chain, args []json.RawMessage) (any, error) {
		var a common.Address
		if err := argument(args, 0, &a); err != nil {
			return nil, err
		}
		v, err := c.at(args, 1, "latest")
		if err != nil {
			return nil, err
		}
		return f(v, a), nil
	}
}

func (c *Chain) nonceAnswer(args []json.RawMessage) (any, error) {
	var a common.Address
	var s spot
	if err := errors.Join(argument(args, 0, &a), argument(args, 1, &s)); err != nil {
		return nil, err
	}
	b := c.find(s)
	if b == nil {
		return nil, errors.New("header not found")
	}
	now, err := c.stateAt(b)
	if err != nil {
		return nil, err
	}
	n := now.GetNonce(a)
	if s.tag == "pending" {
		n = c.pool.nonce(a, n)
	}
	return hexutil.Uint64(n), nil
}

func (c *Chain) storageAnswer(args []json.RawMessage) (any, error) {
	var a common.Address
	var key string
	if err := errors.Join(argument(args, 0, &a), argument(args, 1, &key)); err != nil {
		return nil, err
	}
	v, err := c.at(args, 2, "latest")
	if err != nil {
		return nil, err
	}
	return v.state.GetState(a, common.HexToHash(key)), nil
}

// callArgs are a wallet's parameters of a call.
type callArgs struct {
	From       common.Address    `json:"from"`
	To         *common.Address   `json:"to"`
	Gas        *hexutil.Uint64   `json:"gas"`
	Value      *hexutil.Big      `json:"value"`
	Data       *hexutil.Bytes    `json:"data"`
	Input      *hexutil.Bytes    `json:"input"`
	AccessList *types.AccessList `json:"accessList"`
}

func (a callArgs) message() (message, error) {
	m := message{from: a.From, to: a.To, value: new(uint256.Int)}
	if a.Gas != nil {
		m.gas = uint64(*a.Gas)
	}
	if a.Value != nil {
		if m.value.SetFromBig(a.Value.ToInt()) {
			return m, &refusal{code: codeArguments, message: "invalid argument 0: the value is too large"}
		}
	}
	switch {
	case a.Input != nil:
		m.data = *a.Input
	case a.Data != nil:
		m.data = *a.Data
	}
	if a.AccessList != nil {
		m.list = *a.AccessList
	}
	return m, nil
}

func readCall(args []json.RawMessage) (message, error) {
	var a callArgs
	if err := argument(args, 0, &a); err != nil {
		return message{}, err
	}
	return a.message()
}

func (c *Chain) callAnswer(args []json.RawMessage) (any, error) {
	m, err := readCall(args)
	if err != nil {
		return nil, err
	}
	v, err := c.at(args, 1, "latest")
	if err != nil {
		return nil, err
	}
	out, err := c.call(v, m)
	return hexutil.Bytes(out), err
}

// estimateAnswer estimates for the next block. The newest block is as old as the last transaction, and an estimate in it would have its
// time.
func (c *Chain) estimateAnswer(args []json.RawMessage) (any, error) {
	m, err := readCall(args)
	if err != nil {
		return nil, err
	}
	v, err := c.at(args, 1, "pending")
	if err != nil {
		return nil, err
	}
	gas, err := c.estimate(v, m)
	return hexutil.Uint64(gas), err
}

func (c *Chain) sendAnswer(args []json.RawMessage) (any, error) {
	var raw hexutil.Bytes
	if err := argument(args, 0, &raw); err != nil {
		return nil, err
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	if err := c.offer(tx); err != nil {
		return nil, err
	}
	return tx.Hash(), nil
}

// gasPrice returns the suggested price of a legacy transaction.
func (c *Chain) gasPrice() *big.Int {
	return new(big.Int).Add(nextBaseFee(c.head().header), suggestedTip)
}

func (c *Chain) feeHistory(args []json.RawMessage) (any, error) {
	var s spot
	var count any
	var percentiles []float64
	if err := errors.Join(argument(args, 0, &count), argument(args, 1, &s), argument(args, 2, &percentiles)); err != nil {
		return nil, err
	}
	n := uint64(1)
	switch v := count.(type) {
	case float64:
		n = uint64(max(v, 1))
	case string:
		if m, err := hexutil.DecodeUint64(v); err == nil {
			n = max(m, 1)
		}
	}
	last := c.find(s)
	if last == nil {
		return nil, errors.New("header not found")
	}
	n = min(n, last.number()+1, 1024)
	oldest := last.number() + 1 - n
	var fees []*hexutil.Big
	var used []float64
	var rewards [][]*hexutil.Big
	for _, b := range c.blocks[oldest : last.number()+1] {
		fees = append(fees, (*hexutil.Big)(b.header.BaseFee))
		used = append(used, float64(b.header.GasUsed)/float64(b.header.GasLimit))
		tips := make([]*hexutil.Big, len(percentiles))
		for i := range tips {
			tips[i] = (*hexutil.Big)(suggestedTip)
		}
		rewards = append(rewards, tips)
	}
	out := map[string]any{
		"oldestBlock": hexutil.Uint64(oldest), "baseFeePerGas": append(fees, (*hexutil.Big)(nextBaseFee(last.header))), "gasUsedRatio": used,
	}
	if len(percentiles) > 0 {
		out["reward"] = rewards
	}
	return out, nil
}

// members returns the JSON members of a value, and the members of more.
func members(of any, more map[string]any) (map[string]any, error) {
	b, err := json.Marshal(of)
	if err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(raw)+len(more))
	for k, v := range raw {
		out[k] = v
	}
	maps.Copy(out, more)
	return out, nil
}

func (c *Chain) blockAnswer(args []json.RawMessage) (any, error) {
	var s spot
	var full bool
	if err := errors.Join(argument(args, 0, &s), argument(args, 1, &full)); err != nil {
		return nil, err
	}
	b := c.find(s)
	if b == nil {
		return nil, nil
	}
	list := []any{}
	size := uint64(600)
	for i, tx := range b.txs {
		size += tx.Size()
		if !full {
			list = append(list, tx.Hash())
			continue
		}
		m, err := c.describe(tx, &place{b, i})
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return members(b.header, map[string]any{
		"size": hexutil.Uint64(size), "transactions": list, "uncles": []common.Hash{}, "withdrawals": []common.Hash{},
	})
}

func (c *Chain) countAnswer(args []json.RawMessage) (any, error) {
	var s spot
	if err := argument(args, 0, &s); err != nil {
		return nil, err
	}
	if b := c.find(s); b != nil {
		return hexutil.Uint64(len(b.txs)), nil
	}
	return nil, nil
}

// describe returns a transaction in the form that nodes return. The place is nil for a waiting transaction.
func (c *Chain) describe(tx *types.Transaction, at *place) (map[string]any, error) {
	from, err := types.Sender(c.signer, tx)
	if err != nil {
		return nil, err
	}
	more := map[string]any{"from": from, "blockHash": nil, "blockNumber": nil, "transactionIndex": nil, "gasPrice": (*hexutil.Big)(tx.GasPrice())}
	if at != nil {
		more["blockHash"], more["blockNumber"] = at.block.hash, hexutil.Uint64(at.block.number())
		more["transactionIndex"] = hexutil.Uint64(at.index)
		more["gasPrice"] = (*hexutil.Big)(at.block.receipts[at.index].EffectiveGasPrice)
	}
	return members(tx, more)
}

func (c *Chain) transactionAnswer(args []json.RawMessage) (any, error) {
	var hash common.Hash
	if err := argument(args, 0, &hash); err != nil {
		return nil, err
	}
	if at, ok := c.places[hash]; ok {
		return c.describe(at.block.txs[at.index], &at)
	}
	if tx := c.pool.find(hash); tx != nil {
		return c.describe(tx, nil)
	}
	return nil, nil
}

func (c *Chain) receiptAnswer(args []json.RawMessage) (any, error) {
	var hash common.Hash
	if err := argument(args, 0, &hash); err != nil {
		return nil, err
	}
	at, ok := c.places[hash]
	if !ok {
		return nil, nil
	}
	tx, r := at.block.txs[at.index], at.block.receipts[at.index]
	from, err := types.Sender(c.signer, tx)
	if err != nil {
		return nil, err
	}
	more := map[string]any{"from": from, "to": tx.To(), "contractAddress": nil}
	if tx.To() == nil {
		more["contractAddress"] = r.ContractAddress
	}
	return members(r, more)
}
