package equity

import (
	"slices"
	"time"
)

// Listings brings a company's history of tickers up to a date: known is the history so far, now what one of the sources says on
// that date, which has no dates of its own. A ticker that is gone was the company's until the day before; one that is new is from
// the date on, but from before our records where nothing was known at all. An exchange that is now known of a ticker, or changes,
// is filled in or begins a listing of its own; one that the answer does not state changes nothing. Of the listings that hold on the
// date the order is that of now, so that the first stands for the company.
//
// It is pure, and the same answer again changes nothing. An answer that is older than the history must not be worked in.
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
	// What ended on the day that it began never was.
	ended = slices.DeleteFunc(ended, func(l Listing) bool { return l.To.Before(l.From) })
	return append(held, ended...)
}

// until is a listing that ended the day before.
func until(l Listing, day time.Time) Listing {
	l.To = day.AddDate(0, 0, -1)
	return l
}
