package devchain

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// contractsJSON is the output of contracts/compile.cjs for the Solidity sources in that folder. A test generates it again.
//
//go:embed contracts/contracts.json
var contractsJSON []byte

// Contract is one of this package's contracts: EAS, SchemaRegistry, Token or Wallet.
type Contract struct {
	Name string
	ABI  abi.ABI
	// Create is the code of a transaction that creates the contract. The constructor's arguments follow it.
	Create []byte
	// Code is the code at the contract's address.
	Code []byte
}

// Contracts returns the contracts by name. They are read only.
var Contracts = sync.OnceValues(func() (map[string]Contract, error) {
	var file struct {
		Contracts []struct {
			Name         string
			ABI          json.RawMessage
			Create, Code hexutil.Bytes
		}
	}
	if err := json.Unmarshal(contractsJSON, &file); err != nil {
		return nil, fmt.Errorf("read the contracts: %w", err)
	}
	all := map[string]Contract{}
	for _, c := range file.Contracts {
		parsed, err := abi.JSON(bytes.NewReader(c.ABI))
		if err != nil {
			return nil, fmt.Errorf("read the contract %s: %w", c.Name, err)
		}
		all[c.Name] = Contract{Name: c.Name, ABI: parsed, Create: c.Create, Code: c.Code}
	}
	return all, nil
})

// Transact sends a transaction of a funded account, waits for its block, and returns its receipt. On a manual chain, it makes the block
// itself. A nil to creates a contract. A transaction that reverts is an error.
func (c *Chain) Transact(ctx context.Context, account int, to *common.Address, data []byte) (*types.Receipt, error) {
	m := message{from: Address(account), to: to, data: data, value: new(uint256.Int)}
	c.mu.Lock()
	v, err := c.pending()
	if err == nil {
		m.gas, err = c.estimate(v, m)
	}
	c.mu.Unlock()
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	hash, err := c.send(account, to, m.gas+m.gas/4, data)
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	if c.manual {
		c.Commit()
	}
	r, err := c.receipt(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	if r.Status == types.ReceiptStatusSuccessful {
		return r, nil
	}
	// A receipt has no reason for the revert, but the same call has.
	if _, err := c.ask(m); err != nil {
		return r, fmt.Errorf("transact: the transaction %s reverted: %w", hash, err)
	}
	return r, fmt.Errorf("transact: the transaction %s reverted", hash)
}

// send sends a transaction of a funded account at twice the present price, without waiting for a block.
func (c *Chain) send(account int, to *common.Address, gas uint64, data []byte) (common.Hash, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := c.stateAt(c.head())
	if err != nil {
		return common.Hash{}, err
	}
	from, price := Address(account), c.gasPrice()
	tx, err := types.SignNewTx(Key(account), c.signer, &types.LegacyTx{
		Nonce: c.pool.nonce(from, now.GetNonce(from)), GasPrice: price.Add(price, price), Gas: gas, To: to, Data: data,
	})
	if err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), c.offer(tx)
}

// ask returns the result of a call in the next block.
func (c *Chain) ask(m message) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, err := c.pending()
	if err != nil {
		return nil, err
	}
	m.gas = 0
	return c.call(v, m)
}

// receipt waits for a transaction's receipt.
func (c *Chain) receipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		c.mu.Lock()
		at, ok := c.places[hash]
		c.mu.Unlock()
		if ok {
			return at.block.receipts[at.index], nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the transaction %s: %w", hash, ctx.Err())
		}
	}
}

// Sent returns the number of a funded account's transactions that are in blocks.
func (c *Chain) Sent(account int) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := c.stateAt(c.head())
	if err != nil {
		return 0, err
	}
	return now.GetNonce(Address(account)), nil
}
