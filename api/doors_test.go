package api_test

import (
	"net/http"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// An address that sends too many requests receives a retry time. Other addresses, and responses from memory, are not affected.
func TestQuestionsAboutThePastAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := api.NewLimiter("", time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, setup{stored: []postgres.Snapshot{full()}, accounts: &api.Accounts{
		Tariff: tariff, Now: time.Now, Limiter: limiter, SignalsRate: api.Rate{N: 3, Per: time.Hour},
	}})
	paths := []string{"/history", "/vintages", "?as_of=2026-03-04T11:30:00Z"}
	for _, path := range paths {
		if a := s.ask(http.MethodGet, "/api/signals/crack-spread-321"+path); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s %s", path, a.Status, a.body)
		}
	}
	for _, path := range paths {
		a := s.ask(http.MethodGet, "/api/signals/crack-spread-321"+path)
		if a.StatusCode != http.StatusTooManyRequests || s.object(a)["code"] != view.CodeRateLimited || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s, one too many: %s %v %s", path, a.Status, a.Header, a.body)
		}
	}
	for range 5 {
		if a := s.ask(http.MethodGet, "/api/signals/crack-spread-321"); a.StatusCode != http.StatusOK {
			t.Errorf("the latest snapshot: %s", a.Status)
		}
	}
}
