package view

import "slices"

// Tickers are the symbols of the companies that there is research about, in alphabetical order.
func (st *PublicationsState) Tickers() []string {
	list := make([]string, len(st.stocks))
	for i, s := range st.stocks {
		list[i] = s.Ticker
	}
	slices.Sort(list)
	return slices.Compact(list)
}
