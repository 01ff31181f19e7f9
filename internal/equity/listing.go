package equity

import (
	"slices"
	"time"
)

// Listings updates a company's history of tickers to a date. The argument known is the history so far, and now is the current list of a
// source on that date. The listings in now have no dates.
//
// A ticker that is not in now ended on the day before. A new ticker begins on the date, or before our records if nothing was known at all.
// If now states the exchange of a ticker for the first time, it is filled in. If the exchange changed, a new listing begins. If now does
// not state the exchange, it stays. Listings that are valid on the date are in the order of now, so that the first is the company's main
// listing.
//
// Listings is pure, and repeating the same answer changes nothing. The caller must not pass an answer that is older than the history.
func Listings(known, now []Listing, day time.Time) []Listing {
	var held, ended []Listing
	open := slices.DeleteFunc(slices.Clone(known), func(l Listing) bool { return !l.To.IsZero() })
	for _, l := range now {
		i := slices.IndexFunc(open, func(o Listing) bool { return o.Ticker == l.Ticker })
		began := Listing{Ticker: l.Ticker, Exchange: l.Exchange}
		if len(known) > 0 {
			began.From = day
		}
		if i < 0 {
			held = append(held, began)
			continue
		}
		same := open[i]
		open = slices.Delete(open, i, i+1)
		switch {
		case same.Exchange == "":
			same.Exchange = l.Exchange
		case l.Exchange != "" && l.Exchange != same.Exchange:
			ended = append(ended, until(same, day))
			same = began
		}
		held = append(held, same)
	}
	for _, l := range open {
		ended = append(ended, until(l, day))
	}
	for _, l := range known {
		if !l.To.IsZero() {
			ended = append(ended, l)
		}
	}
	// Drop a listing that ended on the day that it began: it was never valid.
	ended = slices.DeleteFunc(ended, func(l Listing) bool { return l.To.Before(l.From) })
	return append(held, ended...)
}

// until returns the listing with its end set to the day before.
func until(l Listing, day time.Time) Listing {
	l.To = day.AddDate(0, 0, -1)
	return l
}
