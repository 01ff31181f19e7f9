package companies

import (
	"slices"
	"time"

	"tidemark/internal/equity"
)

// RisksFrom returns the first day of the reports whose risk factors are compared on a day: two annual reports, the older one filed late.
func RisksFrom(day time.Time) time.Time { return day.AddDate(-3, 0, 0) }

// ToCompare lists a company's reports whose risk factors are compared: the last two annual reports and the quarterly reports after them, the
// oldest first. Corrections are left out, since most have no such section.
func ToCompare(filings []equity.Filing) []equity.Filing {
	var annual, quarterly []equity.Filing
	for _, f := range filings {
		switch f.Form {
		case "10-K", "10-KT":
			annual, quarterly = append(annual, f), nil
		case "10-Q":
			quarterly = append(quarterly, f)
		}
	}
	if len(annual) == 0 {
		return nil
	}
	return slices.Concat(annual[max(len(annual)-2, 0):], quarterly)
}

// LackRisks lists the reports of companies that must be read and are not known, company by company in the given order. The filings are in
// the order of their days.
func LackRisks(ids []equity.CIK, filings []equity.Filing, known map[string]bool) (lacking []equity.Filing) {
	of := map[equity.CIK][]equity.Filing{}
	for _, f := range filings {
		of[f.CIK] = append(of[f.CIK], f)
	}
	for _, id := range ids {
		for _, f := range ToCompare(of[id]) {
			if !known[f.Accession] && f.HasDocument() {
				lacking = append(lacking, f)
			}
		}
	}
	return lacking
}
