package workers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tidemark/internal/calendar"
	"tidemark/internal/equity"
	"tidemark/picks"
)

// settling is the max time between a fetch and its storing. A read as of this long ago is complete, so it can be repeated.
const settling = 2 * time.Minute

// settled is the newest instant whose data are all stored.
func settled(now time.Time) time.Time { return now.Add(-settling) }

// closes counts the closing prices of a day.
type closes struct {
	day time.Time
	// expected is the number of companies with a close on the session before; have is how many of these have a close on the day.
	have, expected int
	missing        []equity.CIK
}

// closesOf counts the closes of a day.
func closesOf(prices picks.Prices, day time.Time) closes {
	c := closes{day: day}
	before := calendar.Previous(day)
	for cik, h := range prices {
		if _, ok := h.BarOn(before); !ok {
			continue
		}
		c.expected++
		if _, ok := h.BarOn(day); ok {
			c.have++
		} else {
			c.missing = append(c.missing, cik)
		}
	}
	slices.Sort(c.missing)
	return c
}

// Now and then a share does not trade; where more are missing, the publisher is late.
const enoughCloses = 0.9

// in reports whether the closes of the day are available.
func (c closes) in() bool {
	return c.have > 0 && float64(c.have) >= float64(enoughCloses*float64(c.expected))
}

// says describes the missing closes in a line.
func (c closes) says(companies map[equity.CIK]equity.Company) string {
	if c.expected == 0 {
		return fmt.Sprintf("no company has a closing price of %s or of the session before (`tidemark help settings` lists the sources of prices)",
			c.day.Format(time.DateOnly))
	}
	line := fmt.Sprintf("%d of %d closing prices of %s are there", c.have, c.expected, c.day.Format(time.DateOnly))
	var tickers []string
	for _, cik := range c.missing[:min(len(c.missing), 5)] {
		if t := companies[cik].Ticker(c.day); t != "" {
			tickers = append(tickers, t)
		}
	}
	if len(tickers) > 0 {
		line += "; among the missing ones " + strings.Join(tickers, ", ")
	}
	return line
}
