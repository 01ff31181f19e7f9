package picks

import (
	"fmt"
	"math"

	"tidemark/internal/equity"
)

// SecondClose is a second publisher's close of a day. The zero value means that it has none.
type SecondClose struct {
	Close  equity.Price
	Source string
}

// Disputes describes both closes if they differ by more than a tolerance, a fraction of the close. It is empty if they agree, or if the
// second publisher has none.
func (c SecondClose) Disputes(price equity.Price, tolerance float64) string {
	if c.Close == "" || math.Abs(c.Close.Float()-price.Float()) <= float64(tolerance*price.Float()) {
		return ""
	}
	return fmt.Sprintf("the close of the day is in doubt: %s, and %s by %s", price, c.Close, c.Source)
}
