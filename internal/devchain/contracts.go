package devchain

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// contractsJSON is what contracts/compile.cjs makes of the Solidity sources beside it. A test makes it again.
//
//go:embed contracts/contracts.json
var contractsJSON []byte

// Contract is one of this package's contracts: EAS, SchemaRegistry, Token or Wallet.
type Contract struct {
	Name string
	ABI  abi.ABI
	// Create is the code of a transaction that creates it, to be followed by the arguments of its constructor.
	Create []byte
	// Code is what stands at its address.
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

// Transact sends a transaction of a funded account, waits until it is in a block (which it makes itself on a manual chain), and
// returns its receipt. A nil to creates a contract. A transaction that reverts is an error.
func (c *Chain) Transact(ctx context.Context, account int, to *common.Address, data []byte) (*types.Receipt, error) {
	from := Address(account)
	nonce, err := c.client.PendingNonceAt(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	price, err := c.client.SuggestGasPrice(ctx)
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	call := ethereum.CallMsg{From: from, To: to, Data: data}
	gas, err := c.client.EstimateGas(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	tx, err := types.SignNewTx(Key(account), types.LatestSignerForChainID(c.id), &types.LegacyTx{
		Nonce: nonce, GasPrice: price.Add(price, price), Gas: gas + gas/4, To: to, Data: data,
	})
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	if err := c.client.SendTransaction(ctx, tx); err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	if c.manual {
		c.Commit()
	}
	r, err := c.receipt(ctx, tx.Hash())
	if err != nil {
		return nil, fmt.Errorf("transact: %w", err)
	}
	if r.Status == types.ReceiptStatusSuccessful {
		return r, nil
	}
	// The estimate may have been made before the newest block was known. A receipt has no reason, the same call has one.
	if _, err := c.client.CallContract(ctx, call, r.BlockNumber); err != nil {
		return r, fmt.Errorf("transact: the transaction %s reverted: %w", tx.Hash(), err)
	}
	return r, fmt.Errorf("transact: the transaction %s reverted", tx.Hash())
}

// receipt waits for a transaction's receipt.
func (c *Chain) receipt(ctx context.Context, hash common.Hash) (*types.Receipt, error) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for {
		r, err := c.client.TransactionReceipt(ctx, hash)
		if err == nil || !errors.Is(err, ethereum.NotFound) {
			return r, err
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the transaction %s: %w", hash, ctx.Err())
		}
	}
}
