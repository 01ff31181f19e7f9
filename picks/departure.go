package picks

import (
	"slices"
	"strings"
	"time"

	"tidemark/internal/equity"
)

const (
	// controlChanged is the item of a current report by which a company says that it belongs to another now.
	controlChanged = "5.01"
	// departureDays is how many days before the last close a form counts that takes shares off an exchange: the law lets ten days pass
	// between the filing and the end of the listing.
	departureDays = 15
)

// Departs tells whether a filing may have a part in the end of a company's shares: form 25 takes a class of securities off an exchange,
// form 15 ends the duty to report, and a current report says that the company was bought. A class may be one of bonds or warrants, so
// none of them says by itself that the shares are gone.
func Departs(f equity.Filing) bool {
	return endsListing(f) || strings.HasPrefix(f.Form, "8-K") && slices.Contains(f.Items, controlChanged)
}

// endsListing tells whether a filing is a form 25 or 15, or an amended one.
func endsListing(f equity.Filing) bool {
	return f.Form == "25" || strings.HasPrefix(f.Form, "25-") || strings.HasPrefix(f.Form, "25/") || strings.HasPrefix(f.Form, "15-")
}

// departed tells whether a company whose last close is of one day had, by another day, filed that its shares leave the exchange, and why
// the position in them is closed then.
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
