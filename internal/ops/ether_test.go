package ops_test

import (
	"testing"

	"tidemark/internal/ops"
)

func TestARunwayIsShownInDaysOrAsLong(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{0: "0 days", 1: "1 day", 14: "14 days", 3660: "3660 days", 3661: "more than 10 years", 36500: "more than 10 years"} {
		if got := ops.Runway(days); got != want {
			t.Errorf("%d days are %q, want %q", days, got, want)
		}
	}
}

func TestWeiAreShownAsEther(t *testing.T) {
	t.Parallel()
	for wei, want := range map[string]string{
		"0": "0.0000 ether", "99999999999999": "0.0000 ether", "100000000000000": "0.0001 ether", "1000000000000000000": "1.0000 ether",
		"9999999039785310634748": "9,999.9990 ether", "1234567000000000000000000": "1,234,567.0000 ether", "much": "much wei", "-1": "-1 wei",
	} {
		if got := ops.Ether(wei); got != want {
			t.Errorf("%s wei are %q, want %q", wei, got, want)
		}
	}
}
