// Package concepts defines the XBRL tags under which companies state a quantity, and chooses the right statement if there are several about
// one period. It is pure: no I/O, no clock. Start at Family.
package concepts

import (
	"cmp"
	"slices"

	"tidemark/internal/equity"
)

// Reason says why one statement was chosen and not another.
type Reason string

// The reasons.
const (
	// Only is the only tag of its family that the filing states for the period.
	Only Reason = "only"
	// Ordered is the first tag in the family's order.
	Ordered Reason = "ordered"
	// Largest is the largest of several totals of one filing: the smaller ones are parts of it.
	Largest Reason = "largest"
	// NetOfInterest is a bank's total: revenue after the interest that the bank pays.
	NetOfInterest Reason = "net_of_interest"
	// Equal is one of several tags that state the same amount.
	Equal Reason = "equal"
	// Sum adds several lines of one balance sheet.
	Sum Reason = "sum"
	// Remainder is a total without the part that is due within a year.
	Remainder Reason = "remainder"
	// Total is debt of all terms, used if the part due within a year is not stated.
	Total Reason = "total"
	// Reconciled is a zero: the other liabilities add up to all liabilities.
	Reconciled Reason = "reconciled"
)

// Family is a quantity that companies state under one of several tags. If Largest is false, the tags are names of the same quantity, in
// order of preference.
type Family struct {
	// Taxonomy and Unit are the same for all its tags, for example "us-gaap" and "USD".
	Taxonomy, Unit string
	Tags           []string
	// Largest means that some tags state parts of the amounts of others: the largest amount in a filing is the total.
	Largest bool
	// Net is a tag that is the total if it is stated and not smaller than the parts. It may be empty.
	Net string
	// Parts are tags that state only parts, if another tag is stated.
	Parts []string
}

// scale is the factor of the error of filers who write thousands instead of dollars.
const scale = 1000

// Choose returns the family's figure among statements about one period, and the reason. The statements may be from any filings. newer
// compares the precedence of two statements: it is positive if the first takes precedence. Choose returns false if no statement has a tag
// of the family.
//
// Choose compares the statements of the filing with the highest precedence. It keeps a larger total of an earlier filing if that filing
// states the same part: if the part has not changed, the total was not restated.
func (f Family) Choose(list []equity.Fact, newer func(x, y equity.Fact) int) (equity.Fact, Reason, bool) {
	list = slices.DeleteFunc(slices.Clone(list), func(x equity.Fact) bool {
		return x.Taxonomy != f.Taxonomy || x.Unit != f.Unit || !slices.Contains(f.Tags, x.Tag)
	})
	if len(list) == 0 {
		return equity.Fact{}, "", false
	}
	slices.SortStableFunc(list, func(x, y equity.Fact) int {
		return cmp.Or(newer(y, x), cmp.Compare(slices.Index(f.Tags, x.Tag), slices.Index(f.Tags, y.Tag)))
	})
	best, why := f.total(of(list, list[0].Accession))
	if !f.Largest {
		return best, why, true
	}
	for _, x := range list {
		if x.Accession == best.Accession || x.Tag != best.Tag || x.Value != best.Value {
			continue
		}
		if total, reason := f.total(of(list, x.Accession)); total.Value > best.Value {
			return total, reason, true
		}
	}
	return best, why, true
}

// of returns the statements of one filing.
func of(list []equity.Fact, accession string) []equity.Fact {
	var same []equity.Fact
	for _, x := range list {
		if x.Accession == accession {
			same = append(same, x)
		}
	}
	return same
}

// total returns the figure of one filing. Its statements must be in the order of the tags.
func (f Family) total(same []equity.Fact) (equity.Fact, Reason) {
	best := same[0]
	if len(same) == 1 {
		return best, Only
	}
	if !f.Largest {
		return best, Ordered
	}
	smallest := best.Value
	for _, x := range same {
		smallest = min(smallest, x.Value)
		if x.Value > best.Value && x.Value != scale*best.Value || best.Value == scale*x.Value {
			best = x
		}
	}
	for _, x := range same {
		// Revenue before the interest paid is larger than a bank's total; revenue by contracts is a part of it.
		if x.Tag == f.Net && f.Net != "" && x.Value >= f.largestPart(same) {
			return x, NetOfInterest
		}
	}
	if smallest == best.Value {
		return best, Equal
	}
	return best, Largest
}

// largestPart returns the largest amount under a tag that states only parts.
func (f Family) largestPart(same []equity.Fact) float64 {
	largest := 0.0
	for _, x := range same {
		if slices.Contains(f.Parts, x.Tag) {
			largest = max(largest, x.Value)
		}
	}
	return largest
}
