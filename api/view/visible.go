package view

import "tidemark/picks"

// PublicPicks is how many of the latest picks are public with their results, on the pages and through MCP.
const PublicPicks = 5

// Visitor holds the facts about a reader that a page depends on, besides its address. The zero value is a visitor without a key who prefers
// English.
type Visitor struct {
	// Lang is the language that the visitor prefers. It counts if the address names none.
	Lang picks.Lang
	// Sees are the endpoints, by their paths below /api/v1, whose non-free data the visitor may see.
	Sees []string
}

// Page is a page for one visitor.
type Page struct {
	*Document

	// Paid are the endpoints, by their paths below /api/v1, whose non-public data the page shows.
	Paid []string
	// Subject names the content of the page: its path and the parameters that it read.
	Subject string
	// Differs reports whether the page at this address depends on the endpoints that a visitor may see.
	Differs bool
	// Negotiated reports whether the page at this address depends on the language that a visitor prefers.
	Negotiated bool
}

// Picked reports whether the company with a ticker has an announced pick.
func (st *PublicationsState) Picked(ticker string) bool {
	cik, ok := st.Company(ticker)
	return ok && st.byCIK[cik] != nil
}
