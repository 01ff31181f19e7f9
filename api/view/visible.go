package view

// PublicPicks is how many of the latest picks everybody sees with what became of them, on the pages and through MCP.
const PublicPicks = 5

// Page is a page as one visitor sees it.
type Page struct {
	*Document

	// Paid are the endpoints, by their paths below /api/v1, whose data the page has beyond what everybody sees.
	Paid []string
	// Subject names what the page shows: its path, and the parameters that it read.
	Subject string
	// Differs reports whether a visitor who may see other endpoints gets another page at the address.
	Differs bool
}

// Picked reports whether a company that the ticker names has an announced pick.
func (st *PublicationsState) Picked(ticker string) bool {
	cik, ok := st.Company(ticker)
	return ok && st.byCIK[cik] != nil
}
