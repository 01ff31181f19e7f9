package base

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
)

// ParseAddress reads an account or a contract as people write it: 0x and 40 hex digits. Digits in mixed case carry a checksum
// (EIP-55), which must hold.
func ParseAddress(s string) (common.Address, error) {
	if !strings.HasPrefix(s, "0x") || !common.IsHexAddress(s) {
		return common.Address{}, fmt.Errorf("%.80q is not an address: it must be 0x and 40 hex digits", s)
	}
	a := common.HexToAddress(s)
	if digits := s[2:]; digits != strings.ToLower(digits) && digits != strings.ToUpper(digits) && a.Hex() != s {
		return common.Address{}, fmt.Errorf("%s is not an address: the case of its digits is a checksum, which does not match", s)
	}
	return a, nil
}

// ParseNetwork reads the name of a chain in the form of CAIP-2, as in "eip155:8453", and returns the chain's id.
func ParseNetwork(s string) (uint64, error) {
	digits, ok := strings.CutPrefix(s, "eip155:")
	id, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || id == 0 || strconv.FormatUint(id, 10) != digits {
		return 0, fmt.Errorf("%.80q names no chain: it must be eip155: and the chain's id", s)
	}
	return id, nil
}
