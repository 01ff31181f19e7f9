package devchain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"
)

// SignedAuthorization is a transfer of the token that a funded account has signed (EIP-3009), in the form of x402.
type SignedAuthorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
	// Signature is not part of the signed data.
	Signature string `json:"-"`
}

// Authorize signs a transfer of an amount in micro-dollars from a funded account, as a wallet would. The contract accepts it between the
// two instants, and each nonce once.
func (c *Chain) Authorize(account int, to string, micro int64, after, before time.Time, nonce [32]byte) (SignedAuthorization, error) {
	from, recipient := Address(account), common.HexToAddress(to)
	separator, err := c.view("DOMAIN_SEPARATOR")
	if err != nil {
		return SignedAuthorization{}, err
	}
	word := func(n int64) []byte { return common.BigToHash(big.NewInt(n)).Bytes() }
	typed := crypto.Keccak256(
		crypto.Keccak256([]byte("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)")),
		common.LeftPadBytes(from[:], 32), common.LeftPadBytes(recipient[:], 32), word(micro), word(after.Unix()), word(before.Unix()), nonce[:])
	domain := separator[0].([32]byte)
	signature, err := crypto.Sign(crypto.Keccak256([]byte{0x19, 1}, domain[:], typed), Key(account))
	if err != nil {
		return SignedAuthorization{}, fmt.Errorf("sign an authorization: %w", err)
	}
	signature[64] += 27
	return SignedAuthorization{
		From: from.Hex(), To: recipient.Hex(), Value: strconv.FormatInt(micro, 10), ValidAfter: strconv.FormatInt(after.Unix(), 10),
		ValidBefore: strconv.FormatInt(before.Unix(), 10), Nonce: hexutil.Encode(nonce[:]), Signature: hexutil.Encode(signature),
	}, nil
}

// TokenBalance returns the token balance of an account, in micro-dollars.
func (c *Chain) TokenBalance(account string) (int64, error) {
	out, err := c.view("balanceOf", common.HexToAddress(account))
	if err != nil {
		return 0, err
	}
	return out[0].(*big.Int).Int64(), nil
}

// view calls a read-only function of the token.
func (c *Chain) view(method string, args ...any) ([]any, error) {
	contracts, err := Contracts()
	if err != nil {
		return nil, err
	}
	token, at := contracts["Token"].ABI, TokenAddress
	data, err := token.Pack(method, args...)
	if err != nil {
		return nil, fmt.Errorf("ask the token: %w", err)
	}
	out, err := c.ask(message{to: &at, data: data, value: new(uint256.Int)})
	if err != nil {
		return nil, fmt.Errorf("ask the token: %w", err)
	}
	values, err := token.Unpack(method, out)
	if err != nil {
		return nil, fmt.Errorf("ask the token: %w", err)
	}
	return values, nil
}

// GenesisJSON returns the first block of a chain with these options, in the form that `geth init` reads. So another node can have the same
// contracts and accounts.
func GenesisJSON(o Options) ([]byte, error) {
	genesis, err := newGenesis(o.withDefaults())
	if err != nil {
		return nil, err
	}
	return json.Marshal(genesis)
}

// Transfer moves an amount in micro-dollars of the token from a funded account, and returns the transaction's hash once it is in a block.
func (c *Chain) Transfer(ctx context.Context, account int, to string, micro int64) (string, error) {
	data, err := transferData(to, micro)
	if err != nil {
		return "", err
	}
	at := TokenAddress
	r, err := c.Transact(ctx, account, &at, data)
	if err != nil {
		return "", err
	}
	return r.TxHash.Hex(), nil
}

func transferData(to string, micro int64) ([]byte, error) {
	contracts, err := Contracts()
	if err != nil {
		return nil, err
	}
	data, err := contracts["Token"].ABI.Pack("transfer", common.HexToAddress(to), big.NewInt(micro))
	if err != nil {
		return nil, fmt.Errorf("transfer the token: %w", err)
	}
	return data, nil
}

// Offer sends a transfer of the token without waiting for a block, and returns the transaction's hash. If the account does not have the
// amount, the transaction fails on the chain.
func (c *Chain) Offer(account int, to string, micro int64) (string, error) {
	data, err := transferData(to, micro)
	if err != nil {
		return "", err
	}
	at := TokenAddress
	hash, err := c.send(account, &at, 200_000, data)
	if err != nil {
		return "", fmt.Errorf("offer a transfer: %w", err)
	}
	return hash.Hex(), nil
}

// SignText signs a text with a funded account, as a wallet does (EIP-191), and returns the signature in hex.
func SignText(account int, text string) (string, error) {
	signature, err := crypto.Sign(accounts.TextHash([]byte(text)), Key(account))
	if err != nil {
		return "", fmt.Errorf("sign a text: %w", err)
	}
	signature[64] += 27
	return hexutil.Encode(signature), nil
}
