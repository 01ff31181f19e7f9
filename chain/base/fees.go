package base

import (
	"fmt"
	"math"
	"math/big"
	"time"
)

// Limits bound what the attester spends. Zero fields take the values named there.
type Limits struct {
	// FeeCap is the most that a unit of gas may cost, in wei. Default: 10 gwei.
	FeeCap int64
	// Daily is the most that the rows of one UTC day may cost together, in wei: what is on its way counts with the worst case. Default:
	// 0.005 ether.
	Daily int64
	// StuckAfter is how long a transaction may wait for a block before it is signed again with a higher fee. Default: 60 s.
	StuckAfter time.Duration
}

// The defaults of Limits.
const (
	defaultFeeCap     = 10_000_000_000
	defaultDaily      = 5_000_000_000_000_000
	defaultStuckAfter = time.Minute
)

func (l Limits) withDefaults() Limits {
	if l.FeeCap <= 0 {
		l.FeeCap = defaultFeeCap
	}
	if l.Daily <= 0 {
		l.Daily = defaultDaily
	}
	if l.StuckAfter <= 0 {
		l.StuckAfter = defaultStuckAfter
	}
	return l
}

// fees is a transaction's offer, in wei per gas.
type fees struct{ cap, tip int64 }

// price chooses the fees of a transaction: twice the base fee and the tip that nodes suggest. They are at least a quarter more than an
// earlier transaction's of the same nonce (nil: none), because nodes refuse a replacement that pays less than a tenth more. It fails if
// the ceiling does not allow it.
func price(baseFee, suggested *big.Int, earlier *Tx, ceiling int64) (fees, error) {
	tip := wei(suggested)
	f := fees{tip: tip, cap: wei(new(big.Int).Add(new(big.Int).Lsh(baseFee, 1), suggested))}
	least := wei(new(big.Int).Add(baseFee, big.NewInt(1)))
	if earlier != nil {
		f.tip = max(f.tip, more(earlier.TipCap))
		f.cap = max(f.cap, more(earlier.FeeCap))
		least = max(least, more(earlier.FeeCap))
	}
	if least > ceiling {
		if earlier != nil {
			return fees{}, fmt.Errorf("the ceiling of %d wei per gas forbids a higher fee than the %d that are offered", ceiling, earlier.FeeCap)
		}
		return fees{}, fmt.Errorf("the base fee of %s wei per gas is above the ceiling of %d", baseFee, ceiling)
	}
	f.cap = min(f.cap, ceiling)
	f.tip = min(f.tip, f.cap)
	return f, nil
}

// more is a quarter more, rounded up.
func more(n int64) int64 {
	if n > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return n + n/4 + 1
}

// wei reads an amount into a column's type. What does not fit is as good as infinite: it is above every limit.
func wei(n *big.Int) int64 {
	if n == nil || n.Sign() < 0 {
		return 0
	}
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return n.Int64()
}

// worst is the max cost of a transaction: all its gas at its ceiling, and twice the fee for its data on the L1, which varies.
func worst(gas uint64, f fees, l1 *big.Int) int64 {
	cost := new(big.Int).Mul(new(big.Int).SetUint64(gas), big.NewInt(f.cap))
	return wei(cost.Add(cost, new(big.Int).Lsh(l1, 1)))
}
