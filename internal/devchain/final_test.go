package devchain

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
)

// A sandbox that was started again makes few blocks. What waits for the finalized head of one must not wait until there are 32.
func TestABlockOnDemandBecomesFinal(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	chain := func(blocks int, onDemand bool) *Chain {
		c := &Chain{onDemand: onDemand}
		for n := range blocks {
			h := &types.Header{Number: big.NewInt(int64(n)), Time: uint64(began.Add(time.Duration(n) * 10 * time.Second).Unix())}
			c.blocks = append(c.blocks, &block{header: h})
		}
		return c
	}
	for _, o := range []struct {
		blocks   int
		onDemand bool
		after    time.Duration
		want     uint64
	}{
		{7, true, 50 * time.Second, 0},
		{7, true, 70 * time.Second, 1},
		{7, true, time.Hour, 6},
		{7, false, time.Hour, 0},
		{33, true, 0, 32},
		{35, true, time.Hour, 34},
		{35, false, time.Hour, 32},
	} {
		if got := chain(o.blocks, o.onDemand).final(began.Add(o.after)); got != o.want {
			t.Errorf("of %d blocks %s after the first (on demand: %t), block %d is final, want %d", o.blocks, o.after, o.onDemand, got, o.want)
		}
	}
}
