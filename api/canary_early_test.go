package api_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// earlyAddress matches the one address where a reader who pays sees a sealed pick. What it is for everybody else, earlyTerms and the seal in the
// public log say: that a pick waits, and not which.
var (
	earlyAddress = regexp.MustCompile(`^/api/v1/picks/early(\?\S*)?(,| )`)
	earlyTerms   = regexp.MustCompile(`^/api/v1/x402/picks/early(\?\S*)?(,| )`)
)

// beforePayment reports whether an answer may differ because a pick waits: the early address of a reader who pays, and the terms of payment.
func beforePayment(address string, after trace) bool {
	if earlyTerms.MatchString(address) {
		return after.status == http.StatusPaymentRequired || after.status == http.StatusNotAcceptable
	}
	return earlyAddress.MatchString(address) && (strings.HasSuffix(address, " a key") || strings.HasSuffix(address, " a table"))
}

// unpaid leaves out the places where readers who pay may see the pick early. It fails if they do not see it there.
func unpaid(t *testing.T, found []string) []string {
	t.Helper()
	early := func(f string) bool {
		return earlyAddress.MatchString(f) && (strings.Contains(f, "asked by a key") || strings.Contains(f, "asked by a table"))
	}
	rest := slices.DeleteFunc(slices.Clone(found), early)
	if readers := len(found) - len(rest); readers < 4 {
		t.Errorf("readers who pay see the pick at %d addresses only", readers)
	}
	return rest
}
