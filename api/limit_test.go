package api_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/internal/pgtest"
)

func TestRatesOfAKeyAndOfAnAddress(t *testing.T) {
	t.Parallel()
	for name, redis := range map[string]string{"counted together": pgtest.Redis(t), "each by itself": "", "Redis is away": "redis://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limiter, err := api.NewLimiter(redis, time.Now, quiet)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = limiter.Close() })
			s := newBillingFixture(t, api.Accounts{
				Limiter: limiter, KeyRate: api.Rate{N: 20, Per: time.Hour}, RegisterRate: api.Rate{N: 5, Per: 24 * time.Hour},
				TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")},
			}, accounts.ModelBalance)
			var key string
			register := func(from string, want int) {
				t.Helper()
				a := s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"x"}`, "X-Forwarded-For", from)
				if a.StatusCode != want {
					t.Errorf("from %s: %s, want %d: %s", from, a.Status, want, a.body)
				}
				if want == http.StatusTooManyRequests {
					s.problem(a, want, "rate_limited")
					if a.Header.Get("Retry-After") == "" || !strings.HasPrefix(a.Header.Get("RateLimit"), `"default";r=0;t=`) {
						t.Errorf("header of the refusal: %v", a.Header)
					}
				} else if key == "" {
					key = s.object(a)["data"].(map[string]any)["api_key"].(string)
				}
			}
			for range 5 {
				register("203.0.113.7", 201)
			}
			register("203.0.113.7", 429)
			register("198.51.100.1, 203.0.113.7, 10.1.2.3", 429) // the client's own claims do not count
			register("203.0.113.8", 201)
			for i := range 5 {
				register(fmt.Sprintf("2001:db8:0:1::%d", i), 201) // the network of one customer
			}
			register("2001:db8:0:1:ffff::1", 429)
			register("2001:db8:0:2::1", 201)

			left := 0
			for range 20 {
				a := s.paid(key, "/account")
				if a.StatusCode != http.StatusOK {
					t.Fatalf("within the rate: %s", a.Status)
				}
				if got := a.Header.Get("RateLimit-Policy"); got != `"default";q=20;w=3600` {
					t.Errorf("RateLimit-Policy: %s", got)
				}
				if _, err := fmt.Sscanf(a.Header.Get("RateLimit"), `"default";r=%d;`, &left); err != nil {
					t.Errorf("RateLimit: %s", a.Header.Get("RateLimit"))
				}
			}
			if left != 0 {
				t.Errorf("%d requests left after all of them", left)
			}
			s.problem(s.paid(key, "/account"), http.StatusTooManyRequests, "rate_limited")
		})
	}
}
