package config

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Rate is a limit of N per time Per, written such as "300/1m". The zero value, written "off", means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

// UnmarshalText reads "off", or a rate: a number, a slash, and a duration in Go's notation. A unit alone (m) means one of that unit.
func (r *Rate) UnmarshalText(text []byte) error {
	*r = Rate{}
	if string(text) == "off" {
		return nil
	}
	number, per, found := strings.Cut(string(text), "/")
	if per != "" && strings.Trim(per[:1], "0123456789.") != "" {
		per = "1" + per
	}
	n, err := strconv.Atoi(number)
	d, derr := time.ParseDuration(per)
	if !found || err != nil || derr != nil || n < 1 || n > 1_000_000 || d < time.Second || d > 24*time.Hour {
		return fmt.Errorf("%q is neither off nor a rate such as 300/1m: 1 to 1000000 in one second to one day", text)
	}
	*r = Rate{N: n, Per: d}
	return nil
}

// String returns the rate in the form that UnmarshalText reads.
func (r Rate) String() string {
	if r == (Rate{}) {
		return "off"
	}
	return fmt.Sprintf("%d/%s", r.N, r.Per)
}

// Proxies returns the networks of TrustedProxies. A single address becomes a network of one address.
func (s Settings) Proxies() ([]netip.Prefix, error) {
	var list []netip.Prefix
	for one := range strings.SplitSeq(s.TrustedProxies, ",") {
		one = strings.TrimSpace(one)
		if one == "" {
			continue
		}
		if a, err := netip.ParseAddr(one); err == nil {
			a = a.Unmap().WithZone("")
			list = append(list, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(one)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", one)
		}
		if p.Addr().Is4In6() {
			if p.Bits() < 96 {
				return nil, fmt.Errorf("%q is neither an address nor a network", one)
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		list = append(list, p)
	}
	return list, nil
}
