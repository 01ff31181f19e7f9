package config_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/internal/config"
)

func TestRates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.Rate{
		"off": {}, "300/1m": {N: 300, Per: time.Minute}, "300/m": {N: 300, Per: time.Minute}, "5/h": {N: 5, Per: time.Hour},
		"1/24h": {N: 1, Per: 24 * time.Hour}, "7/90s": {N: 7, Per: 90 * time.Second},
	} {
		var r config.Rate
		if err := r.UnmarshalText([]byte(text)); err != nil || r != want {
			t.Errorf("%s is read as %v (%v)", text, r, err)
		}
		var again config.Rate
		if err := again.UnmarshalText([]byte(r.String())); err != nil || again != want {
			t.Errorf("%s, written as %s, is read as %v (%v)", text, r, again, err)
		}
	}
	for _, bad := range []string{"", "300", "0/m", "-1/m", "5/", "/m", "5/0s", "5/25h", "5/10ms", "1e3/m", "5/fortnight", "1000001/m", "on"} {
		var r config.Rate
		if err := r.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, r)
		}
	}
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	var s config.Settings
	s.TrustedProxies = "10.0.0.0/8, 192.0.2.7,,2001:db8::/32 "
	got, err := s.Proxies()
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::/32")}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{})); diff != "" || err != nil {
		t.Errorf("proxies (-want +got):\n%s%v", diff, err)
	}
	for _, bad := range []string{"proxy", "10.0.0.0/33", "10.0.0.1:80"} {
		s.TrustedProxies = bad
		if _, err := s.Proxies(); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
