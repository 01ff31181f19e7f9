// Package publicnet tells the public internet from everything else: the machine itself, private networks, and the addresses where clouds keep
// credentials. A program that connects to an address which a stranger named uses Control for its dialer and CheckHost for the name. Start at IsPublic.
package publicnet

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// ErrNotPublic says that an address or a name does not belong to the public internet.
var ErrNotPublic = errors.New("not in the public internet")

// special lists the address blocks that are not the public internet although netip's predicates do not say so, from the IANA
// registries of special-purpose addresses (RFC 6890 and its updates).
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // 6to4 relays, withdrawn
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarking
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // reserved, and broadcast
	netip.MustParsePrefix("::/96"),           // an IPv4 address in disguise, withdrawn
	netip.MustParsePrefix("64:ff9b:1::/48"),  // local translation
	netip.MustParsePrefix("100::/64"),        // discard
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, Teredo among them
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("2002::/16"),       // 6to4: an IPv4 address in disguise
	netip.MustParsePrefix("3fff::/20"),       // documentation
	netip.MustParsePrefix("5f00::/16"),       // segment routing
	netip.MustParsePrefix("fec0::/10"),       // site-local, withdrawn
}

// nat64 maps the whole IPv4 internet into IPv6 (RFC 6052): what counts is the IPv4 address in its last four bytes.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// IsPublic reports whether an address is in the public internet.
func IsPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Control refuses to connect to an address that is not public. As the Control of a net.Dialer it sees the final dialled address, after the
// name was resolved. So it also catches a name that resolves to something else the second time.
func Control(_, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %s is not an address", ErrNotPublic, address)
	}
	if !IsPublic(ap.Addr()) {
		return fmt.Errorf("%w: %s is not an address of the public internet", ErrNotPublic, ap.Addr())
	}
	return nil
}

// CheckHost refuses a host that itself names a private address. It is the only possible check if a proxy resolves the name, or before a name
// is resolved.
func CheckHost(host string) error {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if a, err := netip.ParseAddr(host); err == nil {
		if !IsPublic(a) {
			return fmt.Errorf("%w: %s is not an address of the public internet", ErrNotPublic, host)
		}
		return nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last == host:
		return fmt.Errorf("%w: %q is not a name of the public internet", ErrNotPublic, host)
	case isNumber(last): // "127.1", "0x7f.0.0.1": an address to some resolvers
		return fmt.Errorf("%w: %q is neither a name nor an address in its plain form", ErrNotPublic, host)
	}
	switch last {
	case "localhost", "local", "internal", "localdomain", "lan", "home", "corp", "onion":
		return fmt.Errorf("%w: %q is not a name of the public internet", ErrNotPublic, host)
	}
	if strings.HasSuffix(host, ".home.arpa") {
		return fmt.Errorf("%w: %q is not a name of the public internet", ErrNotPublic, host)
	}
	return nil
}

// isNumber reports whether the last part of a host makes it a number to a lenient resolver: digits, or 0x and hex digits.
func isNumber(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
