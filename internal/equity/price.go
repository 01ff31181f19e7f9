package equity

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Price is an amount in the currency of its listing as plain decimal text, with as many decimals as it was published with: "182.50". It is
// text because a price is hashed as it is written, and a number loses its last zeros. Empty is an unknown price.
type Price string

// ParsePrice checks the text of a price. It must have digits, at most one point and at most four decimals. It must have no sign, no
// exponent and no leading zero except one before the point, and must be greater than zero. At least two decimals are written: "182.5"
// becomes "182.50".
func ParsePrice(s string) (Price, error) {
	whole, decimals, point := strings.Cut(s, ".")
	switch {
	case whole == "" || !digits(whole) || len(whole) > 1 && whole[0] == '0' || len(whole) > 12,
		point && (decimals == "" || !digits(decimals) || len(decimals) > 4):
		return "", fmt.Errorf("parse price %q: want digits with at most four decimals", s)
	case strings.Trim(whole+decimals, "0") == "":
		return "", fmt.Errorf("parse price %q: want more than zero", s)
	}
	if len(decimals) < 2 {
		decimals += "00"[len(decimals):]
	}
	return Price(whole + "." + decimals), nil
}

// PriceOf returns the text of a price that a publisher gives as a binary number, rounded to the given decimals, from 2 to 4.
func PriceOf(v float64, decimals int) (Price, error) {
	return ParsePrice(strconv.FormatFloat(v, 'f', min(max(decimals, 2), 4), 64))
}

// Float returns the price as a number, for statistics, zero for an unknown or malformed price.
func (p Price) Float() float64 {
	v, err := strconv.ParseFloat(string(p), 64)
	if err != nil {
		return 0
	}
	return v
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Bar is one company's trading on one day, unadjusted for splits and dividends. Open, High and Low may be unknown; Close is always known.
// The currency is the currency of the company's listing, US dollars on the exchanges of this module.
type Bar struct {
	CIK                    CIK
	Date                   time.Time
	Open, High, Low, Close Price
	// Volume is in shares as of that day.
	Volume int64
	// Source names the publisher of the bar.
	Source string
}

// ActionKind is the kind of a corporate action.
type ActionKind string

// The kinds.
const (
	// Split gives New shares for Old ones; a reverse split has New below Old. A dividend in shares of the same company is a split.
	Split ActionKind = "split"
	// Dividend pays Cash for each share, counted after any split of the same date. A spin-off may be stated
	// as a dividend of the new shares' first closing price.
	Dividend ActionKind = "dividend"
	// SpinOff gives shares of another company. One share with the distribution was worth as much as Ratio shares without it. The number of
	// shares does not change. Unexplained is a ratio like a spin-off's, without a filing that shows a spin-off: it is not known whether the
	// number of shares changed. Publishers state both as splits, and so they are stored; ReadSplits in package picks tells them apart.
	SpinOff     ActionKind = "spin-off"
	Unexplained ActionKind = "unexplained"
	// Merger ends the shares: each becomes Cash, New shares of Successor for Old ones, or both.
	Merger ActionKind = "merger"
	// Delisting ends trading. Cash is the value of a share afterwards, if known.
	Delisting ActionKind = "delisting"
)

// Action is one corporate action. It takes effect before the opening of Date.
type Action struct {
	CIK  CIK
	Kind ActionKind
	// Date is the first date on which the shares trade without the distribution (the ex-date), or the first date on which they no longer
	// trade.
	Date time.Time
	// New and Old are the terms of a split, or of the share part of a merger: four for one is New 4, Old 1.
	New, Old float64
	// Cash per share, empty if the action pays no cash or the amount is unknown.
	Cash Price
	// Successor is the company whose shares a merger gives, zero if it gives none.
	Successor CIK
	// Source names the publisher of the action.
	Source string
}

// Scales reports whether the action changes the price of a share by Ratio.
func (a Action) Scales() bool { return a.Kind == Split || a.Kind == SpinOff || a.Kind == Unexplained }

// Ends reports whether the action ends the shares.
func (a Action) Ends() bool { return a.Kind == Merger || a.Kind == Delisting }

// Ratio returns the number of new shares for one old share: New divided by Old, 1 if the terms are not stated. Of a spin-off it is by how
// much the price fell.
func (a Action) Ratio() float64 {
	if !(a.New > 0) || !(a.Old > 0) {
		return 1
	}
	return a.New / a.Old
}
