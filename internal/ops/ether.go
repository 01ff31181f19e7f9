package ops

import (
	"fmt"
	"math/big"
	"strings"
)

// Runway formats how long a balance pays for gas: in days, or "more than 10 years". The attester does not count further than a century.
func Runway(days int) string {
	if days > 10*366 {
		return "more than 10 years"
	}
	if days == 1 {
		return "1 day"
	}
	return fmt.Sprintf("%d days", days)
}

// Ether formats an amount in wei as ether with four decimals, rounded down, with thousands separators: "9,999.9990 ether". A text that is
// not a number of wei is returned with the unit wei.
func Ether(wei string) string {
	n, ok := new(big.Int).SetString(wei, 10)
	if !ok || n.Sign() < 0 {
		return wei + " wei"
	}
	tenThousandths := n.Div(n, big.NewInt(100_000_000_000_000)).String()
	if len(tenThousandths) < 5 {
		tenThousandths = strings.Repeat("0", 5-len(tenThousandths)) + tenThousandths
	}
	whole, fraction := tenThousandths[:len(tenThousandths)-4], tenThousandths[len(tenThousandths)-4:]
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + "." + fraction + " ether"
}
