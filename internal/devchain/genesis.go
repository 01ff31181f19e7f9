package devchain

import (
	"crypto/ecdsa"
	"encoding/hex"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
)

// Accounts is the number of funded accounts.
const Accounts = 10

// The initial balances of each account.
var (
	accountWei   = new(big.Int).Mul(big.NewInt(10_000), big.NewInt(params.Ether))
	accountToken = big.NewInt(1_000_000_000_000) // one million, with 6 decimals
)

// Key returns the private key of a funded account, from 0 on. The keys are the same in every copy of this program, so they are not secret:
// anything of value sent to them can be taken by anyone.
func Key(account int) *ecdsa.PrivateKey {
	seed := crypto.Keccak256(fmt.Appendf(nil, "tidemark development account %d", account))
	key, err := crypto.ToECDSA(seed)
	if err != nil {
		panic(fmt.Sprintf("account %d: %v", account, err)) // a hash that is not a valid key: about one in 2^128
	}
	return key
}

// KeyHex returns Key as 64 hex digits, the form in which programs read a key from a file.
func KeyHex(account int) string { return hex.EncodeToString(crypto.FromECDSA(Key(account))) }

// Address returns the address of a funded account.
func Address(account int) common.Address { return crypto.PubkeyToAddress(Key(account).PublicKey) }

// genesis is the initial state of a chain, in the form that `geth init` reads.
type genesis struct {
	Config     *params.ChainConfig `json:"config"`
	ExtraData  hexutil.Bytes       `json:"extraData"`
	GasLimit   hexutil.Uint64      `json:"gasLimit"`
	BaseFee    *hexutil.Big        `json:"baseFeePerGas"`
	Difficulty *hexutil.Big        `json:"difficulty"`
	Alloc      types.GenesisAlloc  `json:"alloc"`
}

// newGenesis makes the content of the first block: the funded accounts, and the contracts with their storage. It enables no fork after
// Osaka.
func newGenesis(o Options) (*genesis, error) {
	contracts, err := Contracts()
	if err != nil {
		return nil, err
	}
	if len(o.TokenName) > 31 {
		return nil, fmt.Errorf("the token's name %q is longer than 31 bytes", o.TokenName)
	}
	config := *params.AllDevChainProtocolChanges
	config.ChainID = new(big.Int).SetUint64(o.ChainID)
	config.BogotaTime, config.AmsterdamTime, config.UBTTime = nil, nil, nil

	alloc := types.GenesisAlloc{}
	// A node calls these contracts for every block and does not work without them.
	for at, code := range map[common.Address][]byte{
		params.BeaconRootsAddress: params.BeaconRootsCode, params.HistoryStorageAddress: params.HistoryStorageCode,
		params.WithdrawalQueueAddress: params.WithdrawalQueueCode, params.ConsolidationQueueAddress: params.ConsolidationQueueCode,
	} {
		alloc[at] = types.Account{Nonce: 1, Code: code, Balance: new(big.Int)}
	}
	alloc[SchemaRegistryAddress] = types.Account{Code: contracts["SchemaRegistry"].Code, Balance: new(big.Int)}
	alloc[EASAddress] = types.Account{
		Code: contracts["EAS"].Code, Balance: new(big.Int),
		Storage: map[common.Hash]common.Hash{slot(0): common.BytesToHash(SchemaRegistryAddress[:])},
	}
	token := map[common.Hash]common.Hash{
		slot(0): shortString(o.TokenName),
		slot(1): common.BigToHash(new(big.Int).Mul(accountToken, big.NewInt(Accounts))),
	}
	for i := range Accounts {
		alloc[Address(i)] = types.Account{Balance: accountWei}
		token[mappingSlot(Address(i), 2)] = common.BigToHash(accountToken)
	}
	alloc[TokenAddress] = types.Account{Code: contracts["Token"].Code, Balance: new(big.Int), Storage: token}
	// The chain's id is not part of a first block: without this a folder would open with another id.
	extra := fmt.Appendf(nil, "development %d", o.ChainID)
	return &genesis{
		Config: &config, ExtraData: extra, GasLimit: blockGas, BaseFee: (*hexutil.Big)(big.NewInt(params.GWei)), Difficulty: new(hexutil.Big), Alloc: alloc,
	}, nil
}

func slot(n int64) common.Hash { return common.BigToHash(big.NewInt(n)) }

// mappingSlot returns the storage slot of an address in a Solidity mapping that is declared at slot n.
func mappingSlot(a common.Address, n int64) common.Hash {
	at := slot(n)
	return crypto.Keccak256Hash(common.LeftPadBytes(a[:], 32), at[:])
}

// shortString returns Solidity's encoding of a string of at most 31 bytes in one slot: the bytes, and twice their number in the last byte.
func shortString(s string) common.Hash {
	var h common.Hash
	copy(h[:], s)
	h[31] = byte(2 * len(s))
	return h
}
