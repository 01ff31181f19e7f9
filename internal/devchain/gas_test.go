package devchain_test

import (
	"bytes"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tidemark/internal/devchain"
)

// The gas of transactions equals the gas that go-ethereum's node uses for the same transactions on the same first block. The figures here
// are from that node.
func TestGasIsThatOfANode(t *testing.T) {
	t.Parallel()
	c := start(t, devchain.Options{Manual: true})
	nonce := uint64(0)
	none := common.Address{}
	token, registry, eas := devchain.TokenAddress, devchain.SchemaRegistryAddress, devchain.EASAddress
	uid := crypto.Keccak256Hash([]byte("bytes32 head,uint64 length"), none[:], []byte{0})
	node := client(t, c)
	send := func(name string, to *common.Address, gas uint64, data []byte, list types.AccessList, used, status uint64) {
		t.Helper()
		tx, err := types.SignNewTx(devchain.Key(7), types.LatestSignerForChainID(c.ID()), &types.DynamicFeeTx{
			ChainID: c.ID(), Nonce: nonce, To: to, Value: new(big.Int), Gas: gas, GasFeeCap: big.NewInt(4e9), GasTipCap: big.NewInt(1e9), Data: data, AccessList: list,
		})
		if err != nil {
			t.Fatal(err)
		}
		nonce++
		if err := node.SendTransaction(t.Context(), tx); err != nil {
			t.Fatal(name, err)
		}
		c.Commit()
		r := mined(t, c, tx.Hash())
		if r.GasUsed != used || r.Status != status {
			t.Errorf("%s: %d gas with status %d, want %d with %d", name, r.GasUsed, r.Status, used, status)
		}
	}
	data := common.LeftPadBytes([]byte{7}, 64)
	owner := common.LeftPadBytes(devchain.Address(7).Bytes(), 32)
	transfer := pack(t, "Token", "transfer", devchain.Address(1), big.NewInt(5))
	attest := pack(t, "EAS", "attest", attestRequest{Schema: uid, Data: attestData{Data: data, Value: new(big.Int)}})
	send("an empty call", &none, 50_000, nil, nil, 21000, 1)
	send("data alone", &none, 200_000, bytes.Repeat([]byte{0, 1, 2}, 500), nil, 66000, 1)
	send("a creation", nil, 2_000_000, append(bytes.Clone(contract(t, "Wallet").Create), owner...), nil, 345416, 1)
	send("a transfer", &token, 200_000, transfer, nil, 34356, 1)
	send("a transfer with an access list", &token, 200_000, transfer, types.AccessList{{Address: token, StorageKeys: []common.Hash{{1}, {2}}}}, 40556, 1)
	send("a mint", &token, 200_000, pack(t, "Token", "mint", common.Address{9}, big.NewInt(3)), nil, 50906, 1)
	send("all is given away", &token, 200_000, pack(t, "Token", "transfer", devchain.Address(1), big.NewInt(1_000_000_000_000-10)), nil, 29604, 1)
	send("a transfer that reverts", &token, 200_000, pack(t, "Token", "transfer", devchain.Address(1), big.NewInt(5_000_000)), nil, 24384, 0)
	send("a schema", &registry, 500_000, pack(t, "SchemaRegistry", "register", "bytes32 head,uint64 length", none, false), nil, 74011, 1)
	send("an attestation", &eas, 900_000, attest, nil, 183086, 1)
	send("an attestation without enough gas", &eas, 60_000, attest, nil, 60000, 0)
}
