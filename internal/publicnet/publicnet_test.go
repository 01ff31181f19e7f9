package publicnet_test

import (
	"errors"
	"net/netip"
	"testing"

	"tidemark/internal/publicnet"
)

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"192.0.43.10": true, "8.8.8.8": true, "100.63.255.255": true, "172.32.0.1": true, "2606:4700::1111": true,
		"64:ff9b::808:808": true, "::ffff:8.8.8.8": true,

		"127.0.0.1": false, "127.8.8.8": false, "0.0.0.0": false, "0.1.2.3": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "100.64.0.1": false,
		"169.254.169.254": false, // where clouds keep credentials
		"192.0.0.8":       false, "192.0.2.1": false, "198.18.0.1": false, "198.51.100.7": false, "203.0.113.7": false,
		"224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "fc00::1": false, "fd12::1": false, "ff02::1": false,
		"fec0::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "2001::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false,
		"64:ff9b:1::1": false, "100::1": false, "::7f00:1": false, "::a9fe:a9fe": false,
	}
	for address, want := range tests {
		if got := publicnet.IsPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("IsPublic(%s) = %t, want %t", address, got, want)
		}
	}
}

func TestHostsThatNameSomethingPrivate(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"localhost", "LOCALHOST", "localhost.", "db.localhost", "printer.local", "metadata.google.internal", "redis",
		"127.0.0.1", "::1", "10.1.2.3", "169.254.169.254",
		"127.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "017700000001", "1.2.3.4.5", "0x7f.0x1", "router.home.arpa",
	} {
		if err := publicnet.CheckHost(host); !errors.Is(err, publicnet.ErrNotPublic) {
			t.Errorf("CheckHost(%q) = %v, want a refusal", host, err)
		}
	}
	for _, host := range []string{"www.eia.gov", "WWW.EIA.GOV.", "8.8.8.8", "2606:4700::1111", "3com.com", "a.xn--p1ai"} {
		if err := publicnet.CheckHost(host); err != nil {
			t.Errorf("CheckHost(%q) = %v, want it allowed", host, err)
		}
	}
}
