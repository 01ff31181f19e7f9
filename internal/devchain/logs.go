package devchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// wanted are the values that a part of a filter allows: none for any, one, or a list.
type wanted[T comparable] []T

func (w *wanted[T]) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte("[")) {
		return json.Unmarshal(b, (*[]T)(w))
	}
	if string(b) == "null" {
		*w = nil
		return nil
	}
	var one T
	if err := json.Unmarshal(b, &one); err != nil {
		return err
	}
	*w = []T{one}
	return nil
}

func (w wanted[T]) has(v T) bool { return len(w) == 0 || slices.Contains(w, v) }

func (c *Chain) logsAnswer(args []json.RawMessage) (any, error) {
	var q struct {
		Address   wanted[common.Address] `json:"address"`
		Topics    []wanted[common.Hash]  `json:"topics"`
		From      spot                   `json:"fromBlock"`
		To        spot                   `json:"toBlock"`
		BlockHash *common.Hash           `json:"blockHash"`
	}
	if err := argument(args, 0, &q); err != nil {
		return nil, err
	}
	if q.BlockHash != nil {
		q.From, q.To = spot{hash: q.BlockHash}, spot{hash: q.BlockHash}
	}
	first, last := c.find(q.From), c.find(q.To)
	if first == nil && q.From.number == nil {
		return nil, errors.New("unknown block")
	}
	list := []*types.Log{}
	if first == nil {
		return list, nil
	}
	end := uint64(len(c.blocks))
	if last != nil {
		end = last.number() + 1
	}
	for _, b := range c.blocks[min(first.number(), end):end] {
		for _, r := range b.receipts {
			for _, l := range r.Logs {
				if q.Address.has(l.Address) && matches(q.Topics, l.Topics) {
					list = append(list, l)
				}
			}
		}
	}
	return list, nil
}

func matches(want []wanted[common.Hash], topics []common.Hash) bool {
	if len(want) > len(topics) {
		return false
	}
	for i, w := range want {
		if !w.has(topics[i]) {
			return false
		}
	}
	return true
}
