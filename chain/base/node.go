package base

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// The depths that replace the safe and the finalized head if a node does not know them. A block of Base takes two seconds.
const (
	depthSafe  = 12
	depthFinal = 900
)

// Head is a block as a node states it.
type Head struct {
	Number uint64
	Hash   common.Hash
	// Time is the block's time in seconds since 1970, UTC.
	Time uint64
	// BaseFee is the block's base fee in wei.
	BaseFee *big.Int
}

// Heads are the numbers of three blocks of one node at one moment: the newest, the safe one, and the last final one. Only a reorganisation
// of the L1 can undo the safe block.
type Heads struct{ Latest, Safe, Final uint64 }

// Receipt is a node's receipt of a transaction that is in a block.
type Receipt struct {
	TxHash      common.Hash
	Success     bool
	BlockNumber uint64
	BlockHash   common.Hash
	// Cost is the transaction's cost to its sender in wei, including the fee for data on the L1.
	Cost *big.Int
	Logs []types.Log
}

// block reads a header by tag or number. A block that does not exist is nil.
func (n *node) block(ctx context.Context, tag string) (*Head, error) {
	var b *struct {
		Number  hexutil.Uint64 `json:"number"`
		Hash    common.Hash    `json:"hash"`
		Time    hexutil.Uint64 `json:"timestamp"`
		BaseFee *hexutil.Big   `json:"baseFeePerGas"`
	}
	if err := n.ask(ctx, &b, "eth_getBlockByNumber", tag, false); err != nil || b == nil {
		return nil, err
	}
	h := &Head{Number: uint64(b.Number), Hash: b.Hash, Time: uint64(b.Time), BaseFee: new(big.Int)}
	if b.BaseFee != nil {
		h.BaseFee = b.BaseFee.ToInt()
	}
	return h, nil
}

// latest reads the newest header.
func (n *node) latest(ctx context.Context) (*Head, error) {
	h, err := n.block(ctx, "latest")
	if err == nil && h == nil {
		err = &nodeError{cause: errors.New("it has no newest block")}
	}
	return h, err
}

// heads reads the three heads.
func (n *node) heads(ctx context.Context) (Heads, error) {
	latest, err := n.latest(ctx)
	if err != nil {
		return Heads{}, err
	}
	h := Heads{Latest: latest.Number}
	for _, part := range []struct {
		tag   string
		depth uint64
		to    *uint64
	}{{"safe", depthSafe, &h.Safe}, {"finalized", depthFinal, &h.Final}} {
		b, err := n.block(ctx, part.tag)
		var answer *answerError
		switch {
		case errors.As(err, &answer), err == nil && b == nil:
			// The node does not know the tag.
			*part.to = latest.Number - min(latest.Number, part.depth)
		case err != nil:
			return Heads{}, err
		default:
			*part.to = b.Number
		}
	}
	return h, nil
}

// receipt reads a transaction's receipt, nil when it is in no block.
func (n *node) receipt(ctx context.Context, hash common.Hash) (*Receipt, error) {
	var r *struct {
		TxHash      common.Hash    `json:"transactionHash"`
		Status      hexutil.Uint64 `json:"status"`
		BlockNumber hexutil.Uint64 `json:"blockNumber"`
		BlockHash   common.Hash    `json:"blockHash"`
		GasUsed     hexutil.Uint64 `json:"gasUsed"`
		GasPrice    *hexutil.Big   `json:"effectiveGasPrice"`
		L1Fee       *hexutil.Big   `json:"l1Fee"`
		Logs        []types.Log    `json:"logs"`
	}
	if err := n.ask(ctx, &r, "eth_getTransactionReceipt", hash); err != nil || r == nil {
		return nil, err
	}
	if r.TxHash != hash {
		return nil, &nodeError{cause: fmt.Errorf("it gave the receipt of %s for %s", r.TxHash, hash)}
	}
	cost := new(big.Int)
	if r.GasPrice != nil {
		cost.Mul(new(big.Int).SetUint64(uint64(r.GasUsed)), r.GasPrice.ToInt())
	}
	if r.L1Fee != nil {
		cost.Add(cost, r.L1Fee.ToInt())
	}
	return &Receipt{
		TxHash: hash, Success: r.Status == 1, BlockNumber: uint64(r.BlockNumber), BlockHash: r.BlockHash, Cost: cost, Logs: r.Logs,
	}, nil
}

// call asks a contract at the newest block.
func (n *node) call(ctx context.Context, to common.Address, data []byte) ([]byte, error) {
	return n.callAt(ctx, to, data, "latest")
}

// callAt asks a contract in the state after the block that tag names.
func (n *node) callAt(ctx context.Context, to common.Address, data []byte, tag string) ([]byte, error) {
	var out hexutil.Bytes
	err := n.ask(ctx, &out, "eth_call", map[string]any{"to": to, "data": hexutil.Bytes(data)}, tag)
	return out, err
}

// code reads the code at an address.
func (n *node) code(ctx context.Context, a common.Address) ([]byte, error) {
	var out hexutil.Bytes
	err := n.ask(ctx, &out, "eth_getCode", a, "latest")
	return out, err
}

// nonce counts the transactions of an account up to a block.
func (n *node) nonce(ctx context.Context, a common.Address, tag string) (uint64, error) {
	var out hexutil.Uint64
	err := n.ask(ctx, &out, "eth_getTransactionCount", a, tag)
	return uint64(out), err
}

func (n *node) balance(ctx context.Context, a common.Address) (*big.Int, error) {
	var out hexutil.Big
	err := n.ask(ctx, &out, "eth_getBalance", a, "latest")
	return out.ToInt(), err
}

// tip is the node's suggested priority fee, in wei.
func (n *node) tip(ctx context.Context) (*big.Int, error) {
	var out hexutil.Big
	err := n.ask(ctx, &out, "eth_maxPriorityFeePerGas")
	return out.ToInt(), err
}

// estimate returns the gas that a transaction needs. A revert is a valid response.
func (n *node) estimate(ctx context.Context, from, to common.Address, data []byte) (uint64, error) {
	var out hexutil.Uint64
	err := n.ask(ctx, &out, "eth_estimateGas", map[string]any{"from": from, "to": to, "data": hexutil.Bytes(data)})
	return uint64(out), err
}

func (n *node) send(ctx context.Context, raw []byte) error {
	return n.ask(ctx, nil, "eth_sendRawTransaction", hexutil.Bytes(raw))
}

// pageLogs is the initial number of blocks per request. Providers refuse ranges beyond their own limits, so a refused range is halved.
const pageLogs = 10_000

// logs reads the logs of a contract with the given topics (nil: any) from one block to another. It reads page by page and passes each log
// to f in the order of the chain.
func (n *node) logs(ctx context.Context, at common.Address, topics []any, from, to uint64, f func(types.Log) error) error {
	page := uint64(pageLogs)
	for from <= to {
		end := min(to, from+page-1)
		var found []types.Log
		err := n.ask(ctx, &found, "eth_getLogs", map[string]any{
			"address": at, "topics": topics, "fromBlock": hexutil.Uint64(from), "toBlock": hexutil.Uint64(end),
		})
		if err != nil {
			// That a range is too long is said in as many ways as there are providers.
			failed, ok := errors.AsType[*nodeError](err)
			if ok && !failed.spoke || ctx.Err() != nil || page == 1 {
				return err
			}
			page = max(1, page/4)
			continue
		}
		for _, l := range found {
			if l.Removed {
				continue
			}
			if err := f(l); err != nil {
				return err
			}
		}
		from = end + 1
		page = min(pageLogs, page*2)
	}
	return nil
}
