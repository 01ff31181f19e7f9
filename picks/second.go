package picks

import (
	"fmt"
	"math"

	"tidemark/internal/equity"
)

// SecondClose is what a second publisher says of the close of a day. The zero value says nothing.
type SecondClose struct {
	Close  equity.Price
	Source string
}

// Disputes tells that a close is further from the second publisher's than a tolerance, a fraction of the close, and how both stand. It is
// empty where they agree, and where the second says nothing.
func (c SecondClose) Disputes(price equity.Price, tolerance float64) string {
	if c.Close == "" || math.Abs(c.Close.Float()-price.Float()) <= float64(tolerance*price.Float()) {
		return ""
	}
	return fmt.Sprintf("the close of the day is in doubt: %s, and %s by %s", price, c.Close, c.Source)
}
