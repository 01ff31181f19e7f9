package base_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tidemark/chain/base"
	"tidemark/internal/devchain"
)

var (
	token    = common.HexToAddress("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913")
	us       = common.HexToAddress("0x00000000000000000000000000000000000000AA")
	payer    = common.HexToAddress("0x00000000000000000000000000000000000000BB")
	txHash   = "0x" + strings.Repeat("ab", 32)
	blockID  = common.HexToHash("0xb10c")
	paidAt   = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	transfer = common.HexToHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")
)

func moved(index uint, of, from, to common.Address, micro int64) types.Log {
	return types.Log{
		Address: of, Index: index, Data: common.LeftPadBytes(big.NewInt(micro).Bytes(), 32),
		Topics: []common.Hash{transfer, common.BytesToHash(from[:]), common.BytesToHash(to[:])},
	}
}

// evidence is a good payment of 5 units in block 1000, with the newest block at 1100 and the safe one at 1050.
func evidence(logs ...types.Log) base.Evidence {
	if logs == nil {
		logs = []types.Log{moved(7, token, payer, us, 5_000_000)}
	}
	return base.Evidence{
		TxHash:  txHash,
		Receipt: &base.Receipt{TxHash: common.HexToHash(txHash), Success: true, BlockNumber: 1000, BlockHash: blockID, Logs: logs},
		Block:   base.Head{Number: 1000, Hash: blockID, Time: uint64(paidAt.Unix())},
		Heads:   base.Heads{Latest: 1100, Safe: 1050, Final: 900},
	}
}

func TestVerdictsOnATransfer(t *testing.T) {
	t.Parallel()
	usdbc := common.HexToAddress("0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA")
	type claim struct {
		e            base.Evidence
		now, keyMade time.Time
	}
	for _, tt := range []struct {
		name string
		edit func(*claim)
		want error
	}{
		{"five units, safe", func(*claim) {}, nil},
		{"no block has it", func(c *claim) { c.e.Receipt = nil }, base.ErrTransferUnknown},
		{"it reverted", func(c *claim) { c.e.Receipt.Success = false }, base.ErrTransferFailed},
		{"no log at all", func(c *claim) { c.e.Receipt.Logs = nil }, base.ErrWrongToken},
		{"bridged dollars", func(c *claim) { c.e.Receipt.Logs[0].Address = usdbc }, base.ErrWrongToken},
		{"a lookalike's event under our token's name", func(c *claim) { c.e.Receipt.Logs[0].Address = common.Address{1} }, base.ErrWrongToken},
		{"an approval", func(c *claim) { c.e.Receipt.Logs[0].Topics[0] = common.Hash{1} }, base.ErrWrongToken},
		{"a transfer with an amount among the topics", func(c *claim) { c.e.Receipt.Logs[0].Topics = append(c.e.Receipt.Logs[0].Topics, common.Hash{}) }, base.ErrWrongToken},
		{"a removed log", func(c *claim) { c.e.Receipt.Logs[0].Removed = true }, base.ErrWrongToken},
		{"to someone else", func(c *claim) { c.e = evidence(moved(7, token, payer, payer, 5_000_000)) }, base.ErrWrongRecipient},
		{"from us to us", func(c *claim) { c.e = evidence(moved(7, token, us, us, 5_000_000)) }, base.ErrWrongRecipient},
		{"from us to someone", func(c *claim) { c.e = evidence(moved(7, token, us, payer, 5_000_000)) }, base.ErrWrongRecipient},
		{"a micro-unit too little", func(c *claim) { c.e = evidence(moved(7, token, payer, us, 4_999_999)) }, base.ErrTooSmall},
		{"two halves are not a whole", func(c *claim) {
			c.e = evidence(moved(7, token, payer, us, 2_500_000), moved(8, token, payer, us, 2_500_000))
		}, base.ErrTooSmall},
		{"nothing", func(c *claim) { c.e = evidence(moved(7, token, payer, us, 0)) }, base.ErrTooSmall},
		{"more than there is", func(c *claim) { c.e.Receipt.Logs[0].Data = common.Hash{0xff}.Bytes() }, base.ErrTooSmall},
		{"two confirmations", func(c *claim) { c.e.Heads = base.Heads{Latest: 1001, Safe: 900} }, base.ErrNotFinal},
		{"three confirmations", func(c *claim) { c.e.Heads = base.Heads{Latest: 1002, Safe: 900} }, nil},
		{"the newest block is older than its own", func(c *claim) { c.e.Heads = base.Heads{Latest: 990, Safe: 900} }, base.ErrNotFinal},
		{"another block under its number", func(c *claim) { c.e.Block.Hash = common.Hash{9} }, base.ErrNotFinal},
		{"a large amount, provisional", func(c *claim) {
			c.e = evidence(moved(7, token, payer, us, 50_000_001))
			c.e.Heads = base.Heads{Latest: 1040, Safe: 999}
		}, base.ErrNotFinal},
		{"a large amount, safe", func(c *claim) { c.e = evidence(moved(7, token, payer, us, 50_000_001)) }, nil},
		{"seven days old", func(c *claim) { c.now = paidAt.Add(7 * 24 * time.Hour) }, nil},
		{"older than seven days", func(c *claim) { c.now = paidAt.Add(7*24*time.Hour + time.Second) }, base.ErrTooOld},
		{"an hour before the key", func(c *claim) { c.keyMade = paidAt.Add(time.Hour) }, nil},
		{"more than an hour before the key", func(c *claim) { c.keyMade = paidAt.Add(time.Hour + time.Second) }, base.ErrTooOld},
		// The first reason in the order of the checks.
		{"failed and too small", func(c *claim) {
			c.e = evidence(moved(7, token, payer, us, 1))
			c.e.Receipt.Success = false
		}, base.ErrTransferFailed},
		{"too small and not final", func(c *claim) {
			c.e = evidence(moved(7, token, payer, us, 1))
			c.e.Heads = base.Heads{Latest: 1000}
		}, base.ErrTooSmall},
		{"not final and too old", func(c *claim) {
			c.e.Heads = base.Heads{Latest: 1000}
			c.now = paidAt.AddDate(1, 0, 0)
		}, base.ErrNotFinal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := claim{e: evidence(), now: paidAt.Add(time.Hour), keyMade: paidAt.AddDate(0, -1, 0)}
			tt.edit(&c)
			got, err := base.VerifyTransfer(c.e, base.DefaultTerms(token, us), c.now, c.keyMade)
			if !errors.Is(err, tt.want) || (err == nil) != (len(got) > 0) {
				t.Errorf("%+v, %v; want the error %v", got, err, tt.want)
			}
		})
	}
}

func TestEachTransferOfATransactionStandsForItself(t *testing.T) {
	t.Parallel()
	other := common.Address{0xcc}
	e := evidence(
		moved(1, token, payer, other, 9_000_000),
		moved(2, token, payer, us, 5_000_000),
		moved(3, token, other, us, 4_000_000),
		moved(4, token, other, us, 60_000_000),
	)
	got, err := base.VerifyTransfer(e, base.DefaultTerms(token, us), paidAt, paidAt)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if x := got[0]; x.LogIndex != 2 || x.From != payer || x.Micro != 5_000_000 || !x.Confirmed || x.Confirmations != 101 || !x.BlockTime.Equal(paidAt) || x.TxHash != txHash {
		t.Errorf("first %+v", x)
	}
	// 60 units are large: the safe head makes them provisional, the finalized one confirms them.
	if x := got[1]; x.LogIndex != 4 || x.From != other || x.Confirmed {
		t.Errorf("second %+v", x)
	}
	e.Heads.Final = 1000
	if got, err = base.VerifyTransfer(e, base.DefaultTerms(token, us), paidAt, paidAt); err != nil || !got[1].Confirmed {
		t.Errorf("finalized: %+v, %v", got, err)
	}
	e.Heads = base.Heads{Latest: 1010, Safe: 999}
	if got, err = base.VerifyTransfer(e, base.DefaultTerms(token, us), paidAt, paidAt); err != nil || len(got) != 1 || got[0].Confirmed {
		t.Errorf("before the block is safe: %+v, %v", got, err)
	}
}

func TestAProvisionalTransferIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	terms := base.DefaultTerms(token, us)
	early := evidence()
	early.Heads = base.Heads{Latest: 1002, Safe: 990}
	granted, err := base.VerifyTransfer(early, terms, paidAt, paidAt)
	if err != nil || granted[0].Confirmed {
		t.Fatalf("%+v, %v", granted, err)
	}
	if x, err := base.Reverify(evidence(), terms, granted[0]); err != nil || !x.Confirmed {
		t.Errorf("safe: %+v, %v", x, err)
	}
	if x, err := base.Reverify(early, terms, granted[0]); err != nil || x.Confirmed {
		t.Errorf("still provisional: %+v, %v", x, err)
	}
	gone := evidence()
	gone.Receipt = nil
	elsewhere := evidence()
	elsewhere.Receipt.BlockHash, elsewhere.Block.Hash = common.Hash{2}, common.Hash{2}
	for name, e := range map[string]base.Evidence{"gone": gone, "in another block": elsewhere} {
		if _, err := base.Reverify(e, terms, granted[0]); !errors.Is(err, base.ErrReorganised) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHashesOfTransactions(t *testing.T) {
	t.Parallel()
	if got, err := base.ParseTxHash("0x" + strings.Repeat("AB", 32)); err != nil || got != txHash {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{"", "0x", strings.Repeat("ab", 32), txHash + "0", txHash[:65], "0x" + strings.Repeat("zz", 32), " " + txHash, txHash + "\n", "0X" + txHash[2:]} {
		if _, err := base.ParseTxHash(bad); !errors.Is(err, base.ErrBadHash) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// Real transactions of a chain: a plain transfer, a contract wallet that sends two at once, a lookalike token, a failed one.
func TestTransfersOfAChain(t *testing.T) {
	t.Parallel()
	c := startChain(t)
	ctx := t.Context()
	client := dial(t, c.URL())
	shop := devchain.Address(1)
	terms := base.DefaultTerms(devchain.TokenAddress, shop)
	abi, wallet := contractABI(t, "Token"), contractABI(t, "Wallet")
	pay := func(to common.Address, micro int64) []byte {
		data, err := abi.Pack("transfer", to, big.NewInt(micro))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	send := func(account int, to *common.Address, data []byte) string {
		t.Helper()
		r, err := c.Transact(ctx, account, to, data)
		if err != nil {
			t.Fatal(err)
		}
		return r.TxHash.Hex()
	}
	verdict := func(hash string) ([]base.Transfer, error) {
		t.Helper()
		e, err := client.Evidence(ctx, hash)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(e.Block.Time), 0)
		return base.VerifyTransfer(e, terms, at, at)
	}
	all, err := devchain.Contracts()
	if err != nil {
		t.Fatal(err)
	}
	stable := devchain.TokenAddress

	plain := send(2, &stable, pay(shop, 5_000_000))
	got, err := verdict("0x" + strings.ToUpper(plain[2:]))
	if err != nil || len(got) != 1 || got[0].From != devchain.Address(2) || got[0].Micro != 5_000_000 || got[0].TxHash != plain || !got[0].Confirmed {
		t.Errorf("a plain transfer: %+v, %v", got, err)
	}

	r, err := c.Transact(ctx, 3, nil, append(slices.Clone(all["Wallet"].Create), common.LeftPadBytes(devchain.Address(3).Bytes(), 32)...))
	if err != nil {
		t.Fatal(err)
	}
	smart := r.ContractAddress
	send(3, &stable, pay(smart, 20_000_000))
	batch, err := wallet.Pack("execute", []common.Address{stable, stable, stable}, [][]byte{pay(shop, 6_000_000), pay(shop, 1), pay(shop, 7_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	got, err = verdict(send(3, &smart, batch))
	if err != nil || len(got) != 2 || got[0].From != smart || got[0].Micro != 6_000_000 || got[1].Micro != 7_000_000 || got[0].LogIndex == got[1].LogIndex {
		t.Errorf("a wallet's batch: %+v, %v", got, err)
	}

	name, err := abi.Pack("", "USDC")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = c.Transact(ctx, 4, nil, append(slices.Clone(all["Token"].Create), name...)); err != nil {
		t.Fatal(err)
	}
	fake := r.ContractAddress
	mint, err := abi.Pack("mint", shop, big.NewInt(5_000_000))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = verdict(send(4, &fake, mint)); !errors.Is(err, base.ErrWrongToken) {
		t.Errorf("a lookalike token: %v", err)
	}
	if _, err = verdict(send(4, &stable, pay(devchain.Address(5), 5_000_000))); !errors.Is(err, base.ErrWrongRecipient) {
		t.Errorf("someone else's: %v", err)
	}
	if _, err = verdict(txHash); !errors.Is(err, base.ErrTransferUnknown) {
		t.Errorf("an unknown hash: %v", err)
	}
	if _, err := client.Evidence(ctx, "0x12"); !errors.Is(err, base.ErrBadHash) {
		t.Errorf("a bad hash: %v", err)
	}

	// Reorganised away, and lost.
	parent := headHash(t, c)
	gone := send(2, &stable, pay(shop, 8_000_000))
	granted, err := verdict(gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fork(parent); err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(); err != nil {
		t.Fatal(err)
	}
	c.Commit()
	e, err := client.Evidence(ctx, gone)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := base.Reverify(e, terms, granted[0]); !errors.Is(err, base.ErrReorganised) {
		t.Errorf("reorganised: %v", err)
	}
}
