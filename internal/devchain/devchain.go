// Package devchain is the sandbox's development chain: an EVM inside the process, with contracts of our own that have the interfaces
// of EAS, its SchemaRegistry and an EIP-3009 stablecoin, at the addresses that they have on Base Sepolia. It serves JSON-RPC on the
// loopback, so that stock wallets and payment clients can use it. Only cmd/tidemark and tests import it. Start at Start.
//
// # What it is made of
//
// go-ethereum's node, its eth service and its simulated beacon: the parts that ethclient/simulated is made of, put together here
// because that package winds the chain back to its first block whenever it starts. The genesis enables no fork after Osaka; the
// default of a development chain has a future one in which storage costs four times as much.
//
// # State
//
// With a folder the chain survives restarts, also kill -9: a block and its state are on the disk when Commit returns. Transactions
// that wait for a block are lost with the process, and so may be a block that was being made. Without a folder all is in memory and lost at Close. Chain.Fresh tells that a chain began at
// its first block; what was recorded about an earlier one at the same place is then void.
//
// Each start makes one empty block. The safe head is the newest block. The finalized head is the last block whose number divides by 32: with a block per transaction it
// may stay where it is for as long as nobody sends 32 of them.
//
// # Weight
//
// Measured with go1.26.8 on linux/amd64 without cgo: cmd/tidemark with chain/base takes 64 MB (46 stripped) and 82 MB (59) with this
// package, which is 366 packages more; a small program with chain/base alone takes 14 MB, with this package 59. ethclient/simulated
// weighs the same. The first compilation takes some 100 s on two cores. A chain starts in 0.2 s; in memory it takes 8 MB at first and
// 26 MB after three hundred blocks.
package devchain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/eth/ethconfig"
	"github.com/ethereum/go-ethereum/eth/filters"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"
)

// DefaultChainID is that of Base Sepolia: stock payment clients know only the ids of real networks.
const DefaultChainID = 84532

// The addresses of the contracts: those of the predeploys on Base, and that of the stablecoin on Base Sepolia.
var (
	EASAddress            = common.HexToAddress("0x4200000000000000000000000000000000000021")
	SchemaRegistryAddress = common.HexToAddress("0x4200000000000000000000000000000000000020")
	TokenAddress          = common.HexToAddress("0x036CbD53842c5426634e7929541eC2318f3dCF7e")
)

// Options says how a chain runs. The zero value is a chain in memory, with the default id, a block for every transaction, and
// JSON-RPC on a free port.
type Options struct {
	// Dir keeps the chain. Empty: in memory.
	Dir string
	// ChainID is the chain's id, DefaultChainID when zero. A folder keeps the id it began with.
	ChainID uint64
	// Port is the port of the JSON-RPC listener on 127.0.0.1. Zero: any free one.
	Port int
	// Origins are the web origins whose pages may call the JSON-RPC, "*" for all. Empty: none.
	Origins []string
	// Period is the time between two blocks. Zero: a block as soon as there is a transaction.
	Period time.Duration
	// Manual makes blocks only when Commit is called. Period is not looked at.
	Manual bool
	// TokenName is the stablecoin's name, which is part of what payers sign. Empty: "USDC", as on Base Sepolia.
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
	node   *node.Node
	eth    *eth.Ethereum
	beacon *catalyst.SimulatedBeacon
	client *ethclient.Client
	id     *big.Int
	manual bool
	fresh  bool

	// mining is held while the head moves.
	mining sync.Mutex
	stop   chan struct{}
	ended  sync.WaitGroup
	once   sync.Once
}

// Start starts a chain. The caller closes it.
func Start(o Options) (c *Chain, err error) {
	o = o.withDefaults()
	genesis, err := newGenesis(o)
	if err != nil {
		return nil, fmt.Errorf("start the development chain: %w", err)
	}
	n, err := node.New(nodeConfig(o))
	if err != nil {
		return nil, fmt.Errorf("start the development chain: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start the development chain: %w", err), n.Close())
		}
	}()
	service, err := eth.New(n, ethConfig(genesis))
	if err != nil {
		return nil, err
	}
	n.RegisterAPIs([]rpc.API{{Namespace: "eth", Service: filters.NewFilterAPI(filters.NewFilterSystem(service.APIBackend, filters.Config{}))}})
	if err := n.Start(); err != nil {
		return nil, err
	}
	beacon, err := catalyst.NewSimulatedBeacon(0, common.Address{}, service)
	if err != nil {
		return nil, err
	}
	c = &Chain{
		node: n, eth: service, beacon: beacon, client: ethclient.NewClient(n.Attach()), id: new(big.Int).SetUint64(o.ChainID),
		manual: o.Manual, fresh: service.BlockChain().CurrentBlock().Number.Sign() == 0, stop: make(chan struct{}),
	}
	// The first block gives a new chain the present time, and a chain that came back its safe head.
	if c.Commit() == (common.Hash{}) {
		return nil, errors.Join(errors.New("no block could be made"), c.beacon.Stop())
	}
	if err := c.settle(); err != nil {
		return nil, errors.Join(err, c.beacon.Stop())
	}
	switch {
	case o.Manual:
	case o.Period > 0:
		c.ended.Go(func() { c.mineEvery(o.Period) })
	default:
		c.mineOnDemand()
	}
	return c, nil
}

func nodeConfig(o Options) *node.Config {
	conf := node.DefaultConfig
	conf.Name = "devchain"
	conf.DataDir = o.Dir
	conf.P2P = p2p.Config{NoDiscovery: true, NoDial: true}
	conf.IPCPath = ""
	conf.HTTPHost, conf.HTTPPort = "127.0.0.1", o.Port
	conf.HTTPModules = []string{"eth", "net", "web3"}
	conf.HTTPCors = o.Origins
	return &conf
}

func ethConfig(genesis *core.Genesis) *ethconfig.Config {
	conf := ethconfig.Defaults
	conf.Genesis = genesis
	conf.NetworkId = genesis.Config.ChainID.Uint64()
	conf.SyncMode = ethconfig.FullSync
	conf.TxPool.NoLocals = true
	conf.TxPool.Journal = ""
	conf.LogNoHistory = true
	conf.TransactionHistory = 0
	// Every block's state goes to the disk with it.
	conf.StateScheme, conf.NoPruning = rawdb.HashScheme, true
	// Caches for a chain of a few thousand blocks, not for a public one.
	conf.DatabaseCache, conf.DatabaseHandles = 16, 64
	conf.TrieCleanCache, conf.TrieDirtyCache, conf.SnapshotCache = 8, 8, 0
	return &conf
}

// URL is where the JSON-RPC is served.
func (c *Chain) URL() string { return c.node.HTTPEndpoint() }

// ID is the chain's id.
func (c *Chain) ID() *big.Int { return new(big.Int).Set(c.id) }

// Fresh tells that the chain began at its first block when it was started.
func (c *Chain) Fresh() bool { return c.fresh }

// Client reaches the chain from inside the process. It is closed with the chain.
func (c *Chain) Client() *ethclient.Client { return c.client }

// Close ends the chain. A chain in memory is gone.
func (c *Chain) Close() (err error) {
	c.once.Do(func() {
		close(c.stop)
		c.ended.Wait()
		c.client.Close()
		err = errors.Join(c.beacon.Stop(), c.node.Close())
	})
	return err
}

// Commit makes a block of the transactions that wait, or an empty one, and returns its hash once it is on the disk.
func (c *Chain) Commit() common.Hash {
	c.mining.Lock()
	defer c.mining.Unlock()
	hash := c.beacon.Commit()
	if err := c.eth.ChainDb().SyncKeyValue(); err != nil {
		return common.Hash{}
	}
	return hash
}

// settle waits until the node answers questions about transactions: for a moment after its start it refuses them.
func (c *Chain) settle() error {
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for range 5000 {
		if c.eth.BlockChain().TxIndexDone() {
			return nil
		}
		<-look.C
	}
	return errors.New("the index of transactions was not ready within ten seconds")
}

// Fork makes the block with the given hash the head again: the blocks after it are reorganised away. Their transactions wait for a
// block once more as soon as the next one is made. No transaction may be waiting.
func (c *Chain) Fork(parent common.Hash) error {
	c.mining.Lock()
	defer c.mining.Unlock()
	return c.beacon.Fork(parent)
}

// Drop forgets every transaction that waits for a block, those included that a reorganisation brought back.
func (c *Chain) Drop() error {
	c.mining.Lock()
	defer c.mining.Unlock()
	if err := c.eth.TxPool().Sync(); err != nil {
		return fmt.Errorf("drop the waiting transactions: %w", err)
	}
	c.beacon.Rollback()
	return nil
}

// Skip makes an empty block whose time is d after the newest one. No transaction may be waiting.
func (c *Chain) Skip(d time.Duration) error {
	c.mining.Lock()
	defer c.mining.Unlock()
	return c.beacon.AdjustTime(d)
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

// mineOnDemand makes a block whenever a transaction arrives. The pool waits for whoever listens to it, and making a block waits for
// the pool, so one goroutine listens and another one mines.
func (c *Chain) mineOnDemand() {
	arrived := make(chan core.NewTxsEvent, 16)
	sub := c.eth.TxPool().SubscribeTransactions(arrived, true)
	wake := make(chan struct{}, 1)
	c.ended.Go(func() {
		defer sub.Unsubscribe()
		for {
			select {
			case <-c.stop:
				return
			case <-arrived:
				select {
				case wake <- struct{}{}:
				default: // the miner is awake and has not looked yet
				}
			}
		}
	})
	c.ended.Go(func() {
		for {
			select {
			case <-c.stop:
				return
			case <-wake:
				c.mineAll()
			}
		}
	})
}

// mineAll makes blocks until no transaction waits that a block would take.
func (c *Chain) mineAll() {
	for {
		hash := c.Commit()
		if executable, _ := c.eth.TxPool().Stats(); executable == 0 {
			return
		}
		count, err := c.client.TransactionCount(context.Background(), hash)
		if err != nil || count == 0 {
			return
		}
	}
}
