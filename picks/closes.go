package picks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
)

// Closes says how many closing prices of a day are there.
type Closes struct {
	Day time.Time
	// Expected is the number of companies with a close on the session before. Have is how many of these have a close on the day.
	Have, Expected int
	// Missing lists the others in their order.
	Missing []equity.CIK
}

// ClosesOf counts the closes of a day.
func ClosesOf(prices Prices, day time.Time) Closes {
	c := Closes{Day: day}
	before := calendar.Previous(day)
	for cik, h := range prices {
		if _, ok := h.BarOn(before); !ok {
			continue
		}
		c.Expected++
		if _, ok := h.BarOn(day); ok {
			c.Have++
		} else {
			c.Missing = append(c.Missing, cik)
		}
	}
	slices.Sort(c.Missing)
	return c
}

// enoughCloses is the part of the expected closes that must be there. It is an assumption.
const enoughCloses = 0.9

// Enough reports whether a pick can be made with these closes. On any day a few shares do not trade. If more are missing, the publisher is
// late.
func (c Closes) Enough() bool {
	return c.Have > 0 && float64(c.Have) >= float64(enoughCloses*float64(c.Expected))
}

// Describe returns a line about the missing closes, for operators.
func (c Closes) Describe(companies map[equity.CIK]equity.Company) string {
	if c.Expected == 0 {
		return fmt.Sprintf("no company has a closing price of %s or of the session before (`tidemark help settings` lists the sources of prices)",
			c.Day.Format(time.DateOnly))
	}
	line := fmt.Sprintf("%d of %d closing prices of %s are there", c.Have, c.Expected, c.Day.Format(time.DateOnly))
	var tickers []string
	for _, cik := range c.Missing[:min(len(c.Missing), 5)] {
		if t := companies[cik].Ticker(c.Day); t != "" {
			tickers = append(tickers, t)
		}
	}
	if len(tickers) > 0 {
		line += "; among the missing ones " + strings.Join(tickers, ", ")
	}
	return line
}
