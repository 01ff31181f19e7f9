package base_test

import (
	"testing"

	"tidemark/chain/base"
)

// The checksummed addresses are EIP-55's own test cases.
func TestAddressesAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		ok       bool
	}{
		{"with a checksum", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", true},
		{"another with a checksum", "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", true},
		{"in lower case", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", true},
		{"in upper case", "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED", true},
		{"a digit's case changed", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", false},
		{"a digit changed", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee", false},
		{"no prefix", "5aaeb6053f3e94c9b9a09f33669435e7ef1beaed", false},
		{"a digit short", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beae", false},
		{"no hex", "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg", false},
		{"nothing", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a, err := base.ParseAddress(tt.in)
			if (err == nil) != tt.ok {
				t.Fatalf("ParseAddress(%q) = %v, %v", tt.in, a, err)
			}
		})
	}
}

func TestNetworksByTheirCAIP2Name(t *testing.T) {
	t.Parallel()
	if id, err := base.ParseNetwork("eip155:8453"); id != 8453 || err != nil {
		t.Errorf("Base is %d, %v", id, err)
	}
	for _, s := range []string{"", "8453", "eip155:", "eip155:0", "eip155:08453", "eip155:-1", "eip155:84 53", "base", "EIP155:8453"} {
		if id, err := base.ParseNetwork(s); err == nil {
			t.Errorf("ParseNetwork(%q) = %d", s, id)
		}
	}
}
