package base

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sort"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// Authorization is a signed transfer of the token (EIP-3009) that may or may not have been submitted to the chain.
type Authorization struct {
	Token, From, To common.Address
	// Micro is the amount in micro-units.
	Micro int64
	Nonce common.Hash
	// ValidBefore is from when on the contract does not take it any more.
	ValidBefore time.Time
	// Since is before the instant when it was first shown to anybody: the chain is searched from there on.
	Since time.Time
}

// NewAuthorization reads the texts of an authorization: addresses and a nonce in hex.
func NewAuthorization(token, from, to, nonce string, micro int64, validBefore, since time.Time) (Authorization, error) {
	a := Authorization{Micro: micro, ValidBefore: validBefore, Since: since}
	for _, m := range []struct {
		text string
		to   *common.Address
	}{{token, &a.Token}, {from, &a.From}, {to, &a.To}} {
		var err error
		if *m.to, err = ParseAddress(m.text); err != nil {
			return Authorization{}, err
		}
	}
	if !hashForm.MatchString(nonce) {
		return Authorization{}, fmt.Errorf("%q is not a nonce", nonce)
	}
	a.Nonce = common.HexToHash(nonce)
	return a, nil
}

// The fates of an authorization.
const (
	// AuthorizationOpen: the chain has not seen it and would still take it.
	AuthorizationOpen = "open"
	// AuthorizationPaid: it was taken, and the money moved as it says.
	AuthorizationPaid = "paid"
	// AuthorizationExpired: the chain has not seen it and does not take it any more.
	AuthorizationExpired = "expired"
	// AuthorizationVoid: its nonce was used without paying: it was cancelled, or another authorization had the same nonce.
	AuthorizationVoid = "void"
)

// AuthorizationStatus is the chain's state of an authorization, from one view of one node.
type AuthorizationStatus struct {
	State string
	// TxHash is the transaction that used the nonce, with its block and that block's time; empty if the nonce is not used.
	TxHash      string
	BlockNumber uint64
	BlockTime   time.Time
	// Head is the time of the newest block, in UTC.
	Head time.Time
}

// topicAuthorizationUsed is the first topic of the log that the token writes when it takes an authorization. The payer and the nonce
// are the others.
var topicAuthorizationUsed = crypto.Keccak256Hash([]byte("AuthorizationUsed(address,bytes32)"))

// searchMargin is by how much the clock that Since was read from may be ahead of the chain's.
const searchMargin = 5 * time.Minute

// Authorization reads the outcome of an authorization. A used nonce does not mean that it was paid, so the log of its use is read, and
// the transfer that follows it.
func (c *Client) Authorization(ctx context.Context, a Authorization) (AuthorizationStatus, error) {
	var f AuthorizationStatus
	err := c.on(ctx, func(ctx context.Context, n *node) (err error) {
		f, err = n.authorization(ctx, a)
		return err
	})
	if err != nil {
		return AuthorizationStatus{}, fmt.Errorf("ask for the authorization %s of %s: %w", a.Nonce, a.From, err)
	}
	return f, nil
}

func (n *node) authorization(ctx context.Context, a Authorization) (AuthorizationStatus, error) {
	// All further reads are of this block: a nonce unused in its state after the authorization's expiry is never used.
	latest, err := n.latest(ctx)
	if err != nil {
		return AuthorizationStatus{}, err
	}
	f := AuthorizationStatus{Head: instant(latest.Time)}
	out, err := n.viewOf(ctx, &tokenABI, a.Token, fmt.Sprintf("%#x", latest.Number), "authorizationState", a.From, a.Nonce)
	if err != nil {
		return f, err
	}
	if used, _ := out[0].(bool); !used {
		f.State = AuthorizationOpen
		if !f.Head.Before(a.ValidBefore) {
			f.State = AuthorizationExpired
		}
		return f, nil
	}
	from, err := n.blockBefore(ctx, a.Since.Add(-searchMargin), latest.Number)
	if err != nil {
		return f, err
	}
	var use *types.Log
	topics := []any{topicAuthorizationUsed, common.BytesToHash(a.From[:]), a.Nonce}
	if err := n.logs(ctx, a.Token, topics, from, latest.Number, func(l types.Log) error {
		use = &l
		return nil
	}); err != nil {
		return f, err
	}
	if f.State = AuthorizationVoid; use == nil {
		return f, nil // a cancellation has a log of another kind
	}
	r, err := n.receipt(ctx, use.TxHash)
	if err != nil {
		return f, err
	}
	if r == nil {
		return f, &nodeError{cause: fmt.Errorf("it has the log of the transaction %s and not its receipt", use.TxHash)}
	}
	b, err := n.block(ctx, fmt.Sprintf("%#x", r.BlockNumber))
	if err != nil {
		return f, err
	}
	if b != nil {
		f.BlockTime = instant(b.Time)
	}
	f.TxHash, f.BlockNumber = use.TxHash.Hex(), r.BlockNumber
	if r.Success && moves(r.Logs, use.Index, a) {
		f.State = AuthorizationPaid
	}
	return f, nil
}

// moves reports whether the authorization's transfer follows the log of its use.
func moves(logs []types.Log, use uint, a Authorization) bool {
	for _, l := range logs {
		if l.Index > use && l.Address == a.Token && !l.Removed && len(l.Topics) == 3 && l.Topics[0] == topicTransfer &&
			l.Topics[1] == common.BytesToHash(a.From[:]) && l.Topics[2] == common.BytesToHash(a.To[:]) &&
			new(big.Int).SetBytes(l.Data).Cmp(big.NewInt(a.Micro)) == 0 {
			return true
		}
	}
	return false
}

// blockBefore finds a block that is not younger than t, up to the given block, by binary search.
func (n *node) blockBefore(ctx context.Context, t time.Time, latest uint64) (uint64, error) {
	var fault error
	first := sort.Search(int(min(latest, 1<<40)), func(i int) bool {
		if fault != nil {
			return true
		}
		b, err := n.block(ctx, fmt.Sprintf("%#x", i))
		if err == nil && b == nil {
			err = &nodeError{cause: fmt.Errorf("it has not the block %d", i)}
		}
		if err != nil {
			fault = err
			return true
		}
		return !instant(b.Time).Before(t)
	})
	return uint64(max(first-1, 0)), fault
}

// tokenABI holds what is asked of the stablecoin beyond its logs.
var tokenABI = mustABI(`[
{"type":"function","name":"authorizationState","stateMutability":"view","inputs":[{"name":"authorizer","type":"address"},{"name":"nonce","type":"bytes32"}],"outputs":[{"name":"","type":"bool"}]},
{"type":"function","name":"name","stateMutability":"view","inputs":[],"outputs":[{"name":"","type":"string"}]},
{"type":"function","name":"version","stateMutability":"view","inputs":[],"outputs":[{"name":"","type":"string"}]},
{"type":"function","name":"DOMAIN_SEPARATOR","stateMutability":"view","inputs":[],"outputs":[{"name":"","type":"bytes32"}]}
]`)

// Domain separates a token's signatures from signatures for any other (EIP-712).
type Domain struct{ Name, Version string }

// Separator computes what the contract at an address calls its domain separator.
func (d Domain) Separator(chainID uint64, token common.Address) common.Hash {
	return crypto.Keccak256Hash(
		crypto.Keccak256([]byte("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")),
		crypto.Keccak256([]byte(d.Name)), crypto.Keccak256([]byte(d.Version)),
		common.LeftPadBytes(new(big.Int).SetUint64(chainID).Bytes(), 32), common.LeftPadBytes(token[:], 32),
	)
}

// CheckDomain compares the domain that payers are told to sign for with the contract's own. The text says what is wrong, and is empty
// when nothing is.
func (c *Client) CheckDomain(ctx context.Context, token common.Address, d Domain) (fault string, err error) {
	err = c.on(ctx, func(ctx context.Context, n *node) (err error) {
		fault, err = n.checkDomain(ctx, c.id, token, d)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("look at the token %s: %w", token, err)
	}
	return fault, nil
}

func (n *node) checkDomain(ctx context.Context, chainID uint64, token common.Address, d Domain) (string, error) {
	code, err := n.code(ctx, token)
	if err != nil {
		return "", err
	}
	if len(code) == 0 {
		return "there is no contract", nil
	}
	out, err := n.viewOf(ctx, &tokenABI, token, "latest", "DOMAIN_SEPARATOR")
	if failed, ok := errors.AsType[*nodeError](err); ok {
		return "", failed
	}
	if err == nil {
		if common.Hash(out[0].([32]byte)) == d.Separator(chainID, token) {
			return "", nil
		}
		return fmt.Sprintf("its domain is not that of the name %q and the version %q%s", d.Name, d.Version, n.callString(ctx, token)), nil
	}
	return "it has no DOMAIN_SEPARATOR: it takes no authorizations", nil
}

// callString adds the contract's own name, if it has one.
func (n *node) callString(ctx context.Context, token common.Address) string {
	name, err := n.viewOf(ctx, &tokenABI, token, "latest", "name")
	if err != nil {
		return ""
	}
	version, err := n.viewOf(ctx, &tokenABI, token, "latest", "version")
	if err != nil {
		return fmt.Sprintf("; it calls itself %q", name[0])
	}
	return fmt.Sprintf("; it calls itself %q, version %q", name[0], version[0])
}
