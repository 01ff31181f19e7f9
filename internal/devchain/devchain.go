// Package devchain is the sandbox's development chain: an EVM inside the process. Its own contracts have the interfaces of EAS, its
// SchemaRegistry and an EIP-3009 stablecoin, and their addresses on Base Sepolia. It serves JSON-RPC on the loopback, so that standard
// wallets and payment clients can use it. Only cmd/tidemark and tests import it. Start at Start.
//
// # Parts
//
// The chain uses go-ethereum's EVM and its in-memory state. Around them are a transaction pool (pool.go) and the rules for a transaction's
// changes of the state (execute.go). A file keeps the blocks (journal.go). Wallets use the JSON-RPC methods (methods.go, server.go). There
// is no node: no peers, no database. The genesis enables no fork after Osaka. Transactions of the types 0 to 2 are accepted.
//
// # State
//
// With a folder the chain survives restarts, also kill -9: a block is in the journal on disk before any client sees it. A start runs the
// journal's transactions again, which takes about a millisecond each. Transactions that wait for a block are lost with the process. Without
// a folder everything is in memory and is lost at Close. Chain.Fresh reports that a chain began at its first block; records about an
// earlier chain at the same address are then void.
//
// Each start makes one empty block. The safe head is the newest block. The finalized head is the last block whose number is divisible by
// 32. Where blocks are made on demand, a block is also final when it is a minute old: it may be the last one for days.
package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
)

// DefaultChainID is the id of Base Sepolia: standard payment clients know only the ids of real networks.
const DefaultChainID = 84532

// The addresses of the contracts: the predeploys on Base, and the stablecoin on Base Sepolia.
var (
	EASAddress            = common.HexToAddress("0x4200000000000000000000000000000000000021")
	SchemaRegistryAddress = common.HexToAddress("0x4200000000000000000000000000000000000020")
	TokenAddress          = common.HexToAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e")
)

// Options configure a chain. The zero value is a chain in memory, with the default id, a block for every transaction, and JSON-RPC on a
// free port.
type Options struct {
	// Dir is the folder of the chain. Empty means in memory.
	Dir string
	// ChainID is the chain's id, DefaultChainID if zero. A folder keeps its first id.
	ChainID uint64
	// Port is the port of the JSON-RPC listener on 127.0.0.1. Zero means any free port.
	Port int
	// Origins are the web origins whose pages may call the JSON-RPC, "*" for all. Empty means none.
	Origins []string
	// Period is the time between two blocks. Zero means a block for each transaction at once.
	Period time.Duration
	// Manual makes blocks only when Commit is called. Period is then ignored.
	Manual bool
	// TokenName is the stablecoin's name, which is part of the data that payers sign. Empty means "USDC", as on Base Sepolia.
	TokenName string
}

func (o Options) withDefaults() Options {
	if o.ChainID == 0 {
		o.ChainID = DefaultChainID
	}
	if o.TokenName == "" {
		o.TokenName = "USDC"
	}
	return o
}

// Chain is a running chain. It is safe for concurrent use.
type Chain struct {
	config *params.ChainConfig
	signer types.Signer
	states state.Database
	url    string
	manual bool
	// onDemand means that every transaction gets a block at once.
	onDemand bool
	fresh    bool

	server *http.Server
	stop   chan struct{}
	ended  sync.WaitGroup
	once   sync.Once

	// mu guards the fields below.
	mu      sync.Mutex
	journal *journal
	// blocks are the blocks from the first to the head, indexed by number.
	blocks []*block
	// made counts all blocks ever made, including blocks that were reorganised away.
	made uint64
	// places maps each transaction of blocks to its position.
	places map[common.Hash]place
	pool   pool
	// orphans are the transactions of the blocks that the last reorganisation removed. The next block returns them to the pool.
	orphans []*types.Transaction
}

// block is a block with its transactions and their receipts.
type block struct {
	header   *types.Header
	hash     common.Hash
	txs      []*types.Transaction
	receipts []*types.Receipt
}

func (b *block) number() uint64 { return b.header.Number.Uint64() }

// place is the position of a transaction in the chain.
type place struct {
	block *block
	index int
}

// Start starts a chain. The caller must close it.
func Start(o Options) (c *Chain, err error) {
	o = o.withDefaults()
	defer func() {
		if err != nil {
			err = fmt.Errorf("start the development chain: %w", err)
		}
	}()
	g, err := newGenesis(o)
	if err != nil {
		return nil, err
	}
	c = &Chain{
		config: g.Config, signer: types.LatestSigner(g.Config), states: state.NewDatabaseForTesting(), manual: o.Manual,
		onDemand: !o.Manual && o.Period == 0, places: map[common.Hash]place{}, pool: pool{}, stop: make(chan struct{}),
	}
	first, err := c.firstBlock(g)
	if err != nil {
		return nil, err
	}
	c.blocks = []*block{first}
	if o.Dir != "" {
		if err := c.openJournal(o.Dir); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.journal.close())
		}
	}()
	c.fresh = len(c.blocks) == 1
	// The first block sets a new chain to the present time.
	if _, err := c.commit(c.nextTime()); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return nil, err
	}
	c.url = "http://" + l.Addr().String()
	c.server = &http.Server{Handler: c.handler(o.Origins), ReadHeaderTimeout: 5 * time.Second}
	c.ended.Go(func() { _ = c.server.Serve(l) }) // it ends when the server is closed
	if !o.Manual && o.Period > 0 {
		c.ended.Go(func() { c.mineEvery(o.Period) })
	}
	return c, nil
}

// URL returns the URL of the JSON-RPC.
func (c *Chain) URL() string { return c.url }

// ID returns the chain's id.
func (c *Chain) ID() *big.Int { return new(big.Int).Set(c.config.ChainID) }

// Fresh reports whether the chain was new when it was started.
func (c *Chain) Fresh() bool { return c.fresh }

// Close stops the chain. A chain in memory is lost.
func (c *Chain) Close() (err error) {
	c.once.Do(func() {
		close(c.stop)
		err = c.server.Close()
		c.ended.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		err = errors.Join(err, c.journal.close())
	})
	return err
}

// Commit makes a block of the waiting transactions, or an empty block, and returns its hash once it is on disk. It returns the zero hash if
// the block could not be written.
func (c *Chain) Commit() common.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := c.commit(c.nextTime())
	if err != nil {
		return common.Hash{}
	}
	return b.hash
}

// Fork makes the block with the given hash the head again: the blocks after it are reorganised away. Their transactions wait for a block
// again when the next block is made. No transaction may be waiting.
func (c *Chain) Fork(parent common.Hash) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pool) > 0 {
		return errors.New("fork the chain: transactions wait for a block")
	}
	i := len(c.blocks) - 1
	for ; i >= 0 && c.blocks[i].hash != parent; i-- {
	}
	if i < 0 {
		return fmt.Errorf("fork the chain: it has no block %s", parent)
	}
	c.rewind(i + 1)
	return nil
}

// rewind removes the blocks from a number on.
func (c *Chain) rewind(number int) {
	for _, b := range c.blocks[number:] {
		c.orphans = append(c.orphans, b.txs...)
		for _, tx := range b.txs {
			delete(c.places, tx.Hash())
		}
	}
	c.blocks = c.blocks[:number]
}

// Drop removes every transaction that waits for a block, including transactions that a reorganisation brought back.
func (c *Chain) Drop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pool, c.orphans = pool{}, nil
	return nil
}

// Skip makes an empty block whose time is d after the newest block. No transaction may be waiting.
func (c *Chain) Skip(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pool) > 0 {
		return errors.New("skip time on the chain: transactions wait for a block")
	}
	_, err := c.commit(c.head().header.Time + uint64(d/time.Second))
	return err
}

func (c *Chain) mineEvery(period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
			c.Commit()
		}
	}
}

func (c *Chain) head() *block { return c.blocks[len(c.blocks)-1] }

// finalAge is how old a block of a chain that makes blocks on demand is when it becomes final.
const finalAge = time.Minute

// final returns the number of the last block that is finalized at an instant.
func (c *Chain) final(at time.Time) uint64 {
	n := c.head().number() / 32 * 32
	if !c.onDemand {
		return n
	}
	for _, b := range slices.Backward(c.blocks[n+1:]) {
		if at.Sub(time.Unix(int64(b.header.Time), 0)) >= finalAge { //nolint:gosec // a time of this century
			return b.number()
		}
	}
	return n
}

// nextTime returns the time of a block that is made now: the present, and later than the newest block.
func (c *Chain) nextTime() uint64 {
	return max(uint64(time.Now().Unix()), c.head().header.Time+1)
}

// commit makes a block of the waiting transactions and appends it, on disk first.
func (c *Chain) commit(at uint64) (*block, error) {
	b, err := c.build(at, c.pool.ready(c))
	if err != nil {
		return nil, fmt.Errorf("make a block: %w", err)
	}
	if err := c.journal.append(b); err != nil {
		return nil, fmt.Errorf("make a block: %w", err)
	}
	c.add(b)
	for _, tx := range c.orphans {
		_ = c.enter(tx) // an invalid transaction is dropped
	}
	c.orphans = nil
	return b, nil
}

// add makes a block the head.
func (c *Chain) add(b *block) {
	c.blocks = append(c.blocks, b)
	c.made++
	for i, tx := range b.txs {
		c.places[tx.Hash()] = place{b, i}
	}
	c.pool.settle(c)
}

// offer accepts a transaction, and makes a block at once if the chain is on demand.
func (c *Chain) offer(tx *types.Transaction) error {
	if err := c.enter(tx); err != nil {
		return err
	}
	if !c.onDemand || len(c.pool.ready(c)) == 0 {
		return nil
	}
	_, err := c.commit(c.nextTime())
	return err
}
