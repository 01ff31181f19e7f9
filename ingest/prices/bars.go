package prices

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/ingest"
	"tidemark/internal/equity"
)

// The rules that hold for the bars of every publisher.
const (
	// official is the time of day in New York at which a day's close becomes final: the closing auctions are over and corrected. Before
	// that time, the day's bar belongs to a session under way and is left out. On days of an early close this is only late.
	official = 16*time.Hour + 15*time.Minute
	// stale is how old, in days, the newest bar of a share that trades may be. No closing since 1990 was longer.
	stale = 7
)

var errNoBar = errors.New("no bar at all, expected at least one")

// settle applies the rules to the bars of one response and returns the wanted bars in ascending date. Dates must all ascend or all
// descend, be weekdays and not lie in the future. A request without an end is about a share that trades: without a bar of the last days
// the response is stale, which is an error. Opens, highs and lows that contradict the close are unknown.
func settle(bars []equity.Bar, q fetchRequest, fetched time.Time) ([]equity.Bar, error) {
	if len(bars) > 1 && bars[0].Date.After(bars[1].Date) {
		bars = slices.Clone(bars)
		slices.Reverse(bars)
	}
	local := fetched.In(ingest.NewYork())
	year, month, d := local.Date()
	today := time.Date(year, month, d, 0, 0, 0, 0, time.UTC)
	clock := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute

	var kept []equity.Bar
	for i, b := range bars {
		switch {
		case i > 0 && !b.Date.After(bars[i-1].Date):
			return nil, fmt.Errorf("%s does not come after %s", b.Date.Format(time.DateOnly), bars[i-1].Date.Format(time.DateOnly))
		case b.Date.Weekday() == time.Saturday || b.Date.Weekday() == time.Sunday:
			return nil, fmt.Errorf("a bar of %s, a %s", b.Date.Format(time.DateOnly), b.Date.Weekday())
		case b.Date.After(today):
			return nil, fmt.Errorf("a bar of %s, which is in the future", b.Date.Format(time.DateOnly))
		case b.Volume < 0:
			return nil, fmt.Errorf("a volume of %d on %s", b.Volume, b.Date.Format(time.DateOnly))
		case b.Date.Equal(today) && clock < official, !q.wants(b.Date):
			continue
		}
		if contradicts(b) {
			b.Open, b.High, b.Low = "", "", ""
		}
		kept = append(kept, b)
	}
	if q.to.IsZero() {
		if len(kept) == 0 {
			return nil, errNoBar
		}
		if newest := kept[len(kept)-1].Date; today.Sub(newest) > stale*24*time.Hour {
			return nil, fmt.Errorf("stale: the newest bar is of %s", newest.Format(time.DateOnly))
		}
	}
	return kept, nil
}

// wants reports whether a date is within the request.
func (q fetchRequest) wants(date time.Time) bool {
	return (q.from.IsZero() || !date.Before(q.from)) && (q.to.IsZero() || !date.After(q.to))
}

// contradicts reports whether the close, or the open, is outside the range from the low to the high.
func contradicts(b equity.Bar) bool {
	known := func(p equity.Price, otherwise float64) float64 {
		if p == "" {
			return otherwise
		}
		return p.Float()
	}
	low, high := known(b.Low, 0), known(b.High, math.Inf(1))
	return low > high || b.Close.Float() < low || b.Close.Float() > high || b.Open != "" && (b.Open.Float() < low || b.Open.Float() > high)
}

// priceOf is the text of a price that is published as a binary number: cents from a dollar on, and four decimals below.
func priceOf(v float64) (equity.Price, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "", fmt.Errorf("a price of %v", v)
	}
	if v >= 1 {
		return equity.PriceOf(v, 2)
	}
	return short(equity.PriceOf(v, 4))
}

// cashOf is the text of an amount per share that is published as a binary number, with as many of four decimals as it needs.
func cashOf(v float64) (equity.Price, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "", fmt.Errorf("an amount of %v", v)
	}
	return short(equity.PriceOf(v, 4))
}

// short takes off the zeros behind the second decimal.
func short(p equity.Price, err error) (equity.Price, error) {
	text := string(p)
	for strings.HasSuffix(text, "0") && len(text)-strings.IndexByte(text, '.') > 3 {
		text = text[:len(text)-1]
	}
	return equity.Price(text), err
}

// priceText reads a price that is published as a decimal number. More decimals than prices have come from a binary number.
func priceText(text string) (equity.Price, error) {
	if p, err := equity.ParsePrice(text); err == nil {
		return p, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) {
		return "", fmt.Errorf("%.40q is not a price above zero", text)
	}
	return priceOf(v)
}

// terms writes the factor of a split as new shares for old ones: 4 is 4 for 1, 0.125 is 1 for 8, 1.5 is 3 for 2.
func terms(factor float64) (gained, given float64, err error) {
	if !(factor > 0) || math.IsInf(factor, 0) {
		return 0, 0, fmt.Errorf("a split by %v", factor)
	}
	for given = 1; given <= 1000; given++ {
		gained = math.Round(factor * given)
		if gained > 0 && math.Abs(gained/given/factor-1) < 1e-6 {
			return gained, given, nil
		}
	}
	return factor, 1, nil // no terms that anybody would write, but these
}

// within picks the actions that are wanted.
func within(actions []equity.Action, q fetchRequest) []equity.Action {
	return slices.DeleteFunc(actions, func(a equity.Action) bool { return !q.wants(a.Date) })
}
