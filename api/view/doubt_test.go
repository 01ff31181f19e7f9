package view

import "testing"

// The pages of the picks are asked for before the first portfolio is computed.
func TestWithoutAPortfolioNoCloseIsInDoubt(t *testing.T) {
	t.Parallel()
	if list := (&PublicationsState{}).InDoubt("ACME"); len(list) != 0 {
		t.Errorf("without a portfolio %+v are in doubt", list)
	}
}
