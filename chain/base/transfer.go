package base

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// The verdicts on a transfer that is not accepted. Each says something about the transfer; ErrUnavailable never comes with them.
var (
	// ErrBadHash: the hash is not 0x and 64 hex digits.
	ErrBadHash = errors.New("invalid transaction hash")
	// ErrTransferUnknown: no block has the transaction. It may still come.
	ErrTransferUnknown = errors.New("no block has this transaction")
	// ErrTransferFailed: the transaction reverted.
	ErrTransferFailed = errors.New("the transaction failed")
	// ErrWrongToken: the transaction moves none of the token.
	ErrWrongToken = errors.New("the transaction does not move the token")
	// ErrWrongRecipient: it moves the token, but no other account's transfer pays us.
	ErrWrongRecipient = errors.New("the transaction does not pay us")
	// ErrTooSmall: it pays us, and no single transfer reaches the least amount.
	ErrTooSmall = errors.New("the transfer is below the least amount")
	// ErrNotFinal: there are too few blocks on top of it. Asking again later may bring another verdict.
	ErrNotFinal = errors.New("the transfer is not final yet")
	// ErrTooOld: it was made too long ago, or before the claimant's key existed.
	ErrTooOld = errors.New("the transfer is too old to be claimed")
	// ErrReorganised: its block has left the chain. Everything granted for it must be revoked.
	ErrReorganised = errors.New("the transfer's block was reorganised away")
)

// topicTransfer is the first topic of an ERC-20 Transfer log.
var topicTransfer = crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))

// Terms are the conditions that a transfer must meet.
type Terms struct {
	// Token is the stablecoin's contract, Recipient the account that is paid.
	Token, Recipient common.Address
	// Min is the least amount of one transfer in micro-units.
	Min int64
	// Large is an amount in micro-units. A larger transfer is confirmed by the finalized head instead of the safe one, and provisional by
	// the safe head instead of after Depth blocks.
	Large int64
	// Depth is how many blocks, its own included, make a transfer provisional.
	Depth uint64
	// MaxAge is how long after its block a transfer may be claimed.
	MaxAge time.Duration
	// KeyGracePeriod is how long before the claimant's key was made a transfer may have been made.
	KeyGracePeriod time.Duration
}

// DefaultTerms are the terms for a token and a recipient: 5 units at least, 50 and more are large, three blocks, seven days, one hour.
func DefaultTerms(token, recipient common.Address) Terms {
	return Terms{
		Token: token, Recipient: recipient, Min: 5_000_000, Large: 50_000_000, Depth: 3, MaxAge: 7 * 24 * time.Hour, KeyGracePeriod: time.Hour,
	}
}

// Evidence is the chain's data about a transaction, from one view of one node.
type Evidence struct {
	TxHash string
	// Receipt is nil when no block has the transaction.
	Receipt *Receipt
	// Block is the block of the receipt's number. Its hash is another one than the receipt's when the node contradicts itself.
	Block Head
	Heads Heads
}

// Transfer is one transfer to us.
type Transfer struct {
	// TxHash and LogIndex name it: one of them can be claimed once.
	TxHash   string
	LogIndex uint
	From     common.Address
	// Micro is the amount in micro-units (6 decimals).
	Micro       int64
	BlockNumber uint64
	BlockHash   common.Hash
	// BlockTime is when its block was made, in UTC.
	BlockTime time.Time
	// Confirmations counts the blocks from its own to the newest.
	Confirmations uint64
	// Confirmed reports whether it is final. Otherwise it is provisional and must be checked again.
	Confirmed bool
}

var hashForm = regexp.MustCompile(`^0x[0-9a-fA-F]{64}$`)

// ParseTxHash checks a transaction hash and lower-cases it. Anything else is ErrBadHash.
func ParseTxHash(s string) (string, error) {
	if !hashForm.MatchString(s) {
		return "", ErrBadHash
	}
	return strings.ToLower(s), nil
}

// Evidence reads the input of VerifyTransfer. Its errors are ErrBadHash and the errors of the nodes.
func (c *Client) Evidence(ctx context.Context, txHash string) (Evidence, error) {
	hash, err := ParseTxHash(txHash)
	if err != nil {
		return Evidence{}, err
	}
	e := Evidence{TxHash: hash}
	err = c.on(ctx, func(ctx context.Context, n *node) (err error) {
		if e.Heads, err = n.heads(ctx); err != nil {
			return err
		}
		if e.Receipt, err = n.receipt(ctx, common.HexToHash(hash)); err != nil || e.Receipt == nil {
			return err
		}
		b, err := n.block(ctx, fmt.Sprintf("%#x", e.Receipt.BlockNumber))
		if err == nil && b == nil {
			err = &nodeError{cause: fmt.Errorf("it has the receipt and not the block %d", e.Receipt.BlockNumber)}
		}
		if err == nil {
			e.Block = *b
		}
		return err
	})
	if err != nil {
		return Evidence{}, fmt.Errorf("read the transaction %s: %w", hash, err)
	}
	return e, nil
}

// VerifyTransfer judges a transaction by its evidence. It returns every transfer in it that can be claimed, each as a separate entry.
// Without such a transfer, it returns the first reason, in the order of the errors above. keyMade is the time at which the claimant's key
// was made. It is pure: the same evidence gives the same result.
func VerifyTransfer(e Evidence, t Terms, now, keyMade time.Time) ([]Transfer, error) {
	r := e.Receipt
	switch {
	case r == nil:
		return nil, ErrTransferUnknown
	case !r.Success:
		return nil, ErrTransferFailed
	}
	ours, sees := paid(r.Logs, t)
	switch {
	case len(ours) == 0 && !sees:
		return nil, ErrWrongToken
	case len(ours) == 0:
		return nil, ErrWrongRecipient
	}
	var enough []Transfer
	for _, l := range ours {
		if m := micro(l); m >= t.Min {
			enough = append(enough, Transfer{TxHash: e.TxHash, LogIndex: l.Index, From: common.BytesToAddress(l.Topics[1][:]), Micro: m})
		}
	}
	if len(enough) == 0 {
		return nil, ErrTooSmall
	}
	if e.Block.Hash != r.BlockHash || e.Block.Number != r.BlockNumber {
		return nil, ErrNotFinal // the node is in the middle of a reorganisation
	}
	at := instant(e.Block.Time)
	var deep []Transfer
	for _, x := range enough {
		x.BlockNumber, x.BlockHash, x.BlockTime = r.BlockNumber, r.BlockHash, at
		x.Confirmations = e.Heads.Latest + 1 - min(e.Heads.Latest+1, r.BlockNumber)
		provisional := x.Confirmations >= t.Depth
		x.Confirmed = r.BlockNumber <= e.Heads.Safe
		if x.Micro > t.Large {
			provisional, x.Confirmed = x.Confirmed, r.BlockNumber <= e.Heads.Final
		}
		if provisional || x.Confirmed {
			deep = append(deep, x)
		}
	}
	if len(deep) == 0 {
		return nil, ErrNotFinal
	}
	if now.Sub(at) > t.MaxAge || at.Before(keyMade.Add(-t.KeyGracePeriod)) {
		return nil, ErrTooOld
	}
	return deep, nil
}

// Reverify judges a provisionally granted transfer again. It returns the transfer as confirmed or still provisional. It returns
// ErrReorganised if the transaction is missing or in another block; it can then be claimed again. Its age no longer matters.
func Reverify(e Evidence, t Terms, granted Transfer) (Transfer, error) {
	if e.Receipt == nil || e.Receipt.BlockHash != granted.BlockHash {
		return Transfer{}, ErrReorganised
	}
	t.Depth = 0
	now := granted.BlockTime
	again, err := VerifyTransfer(e, t, now, now)
	if err != nil {
		return Transfer{}, err
	}
	for _, x := range again {
		if x.LogIndex == granted.LogIndex && x.From == granted.From && x.Micro == granted.Micro {
			return x, nil
		}
	}
	return Transfer{}, ErrReorganised
}

// Granted is a transfer as it was recorded when it was granted, for Reverify. The addresses are hex.
func Granted(txHash string, logIndex uint, from string, micro int64, blockHash string, blockTime time.Time) Transfer {
	return Transfer{
		TxHash: txHash, LogIndex: logIndex, From: common.HexToAddress(from), Micro: micro, BlockHash: common.HexToHash(blockHash), BlockTime: blockTime,
	}
}

// paid returns the logs that pay us, and whether the token moves at all. Only logs count: whose call they come from does not matter,
// so wallets of contracts, routers and batches are welcome.
func paid(logs []types.Log, t Terms) (ours []types.Log, moves bool) {
	for _, l := range logs {
		if l.Address != t.Token || l.Removed || len(l.Topics) != 3 || l.Topics[0] != topicTransfer || len(l.Data) != 32 {
			continue
		}
		moves = true
		from, to := common.BytesToAddress(l.Topics[1][:]), common.BytesToAddress(l.Topics[2][:])
		if to == t.Recipient && from != t.Recipient {
			ours = append(ours, l)
		}
	}
	return ours, moves
}

// micro reads a log's amount. More than an int64 holds does not exist of the token; it counts as nothing.
func micro(l types.Log) int64 {
	n := new(big.Int).SetBytes(l.Data)
	if !n.IsInt64() {
		return 0
	}
	return n.Int64()
}
