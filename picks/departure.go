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
// forms 15 and 15F end the duty to report, and other filings show that the company was bought. A class may consist of bonds or warrants, so
// none of them alone proves that the shares have ended.
func Departs(f equity.Filing) bool { return endsListing(f) || bought(f) }

// endsListing reports whether a filing is a form 25, 15 or 15F, or an amended one. Companies that report on 20-F or 40-F file form 15F.
func endsListing(f equity.Filing) bool {
	return f.Form == "25" || hasPrefix(f.Form, "25-", "25/", "15-", "15F")
}

// bought reports whether a filing shows that another takes a company over. A current report states a change of control. Companies that report
// on 20-F or 40-F file none. Schedule 13E-3 is filed where the owners take a company private, and schedule 14D-9 by a company for which
// others make an offer. Both are amended when it is completed.
func bought(f equity.Filing) bool {
	return strings.HasPrefix(f.Form, "8-K") && slices.Contains(f.Items, controlChanged) || hasPrefix(f.Form, "SC 13E3", "SC 14D9", "SC14D9F")
}

func hasPrefix(form string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(form, p) })
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
		case bought(f):
			reason = ClosedMerger
		}
	}
	return reason, ok
}
