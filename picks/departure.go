package picks

import (
	"slices"
	"strings"
	"time"

	"tidemark/internal/equity"
)

const (
	// controlChanged is the item of a current report in which a company states that its control has changed.
	controlChanged = "5.01"
	// departureDays is how many days before the last close a form that takes shares off an exchange still counts. The law lets ten days
	// pass between the filing and the end of the listing.
	departureDays = 15
)

// Departs reports whether a filing may contribute to the end of a company's shares. Form 25 takes a class of securities off an exchange,
// form 15 ends the duty to report, and a current report can state that the company was bought. A class may consist of bonds or warrants,
// so none of them alone proves that the shares have ended.
func Departs(f equity.Filing) bool {
	return endsListing(f) || strings.HasPrefix(f.Form, "8-K") && slices.Contains(f.Items, controlChanged)
}

// endsListing reports whether a filing is a form 25 or 15, or an amended one.
func endsListing(f equity.Filing) bool {
	return f.Form == "25" || strings.HasPrefix(f.Form, "25-") || strings.HasPrefix(f.Form, "25/") || strings.HasPrefix(f.Form, "15-")
}

// departed reports whether a company, whose last close is on the day priced, had filed by another day that its shares leave the exchange.
// It also returns the reason for closing the position.
func departed(filings []equity.Filing, priced, day time.Time) (reason string, ok bool) {
	reason = ClosedDelisted
	for _, f := range filings {
		switch {
		case f.Filed.After(day) || f.Filed.Before(priced.AddDate(0, 0, -departureDays)):
		case endsListing(f):
			ok = true
		case Departs(f):
			reason = ClosedMerger
		}
	}
	return reason, ok
}
