package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
)

// A client that lost an answer asks again with the same Idempotency-Key, also when the quota is used up.
func TestOnAPlanARepetitionIsCountedOnce(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelPlan)
	key := s.key()
	remaining := func() any { return s.data(key, "/account")["quota"].(map[string]any)["remaining"] }
	var repeated sync.WaitGroup
	for range 16 {
		repeated.Go(func() {
			if a := s.paid(key, "/picks", "Idempotency-Key", "mine"); a.StatusCode != http.StatusOK {
				t.Errorf("a repetition: %s", a.Status)
			}
		})
	}
	repeated.Wait()
	if got := remaining(); got != 9.0 {
		t.Errorf("after one request and its repetitions %v are left, want 9", got)
	}
	s.paid(key, "/stocks", "Idempotency-Key", "mine")
	s.paid(key, "/picks", "Idempotency-Key", "another")
	if got := remaining(); got != 7.0 {
		t.Errorf("after another address and another Idempotency-Key %v are left, want 7", got)
	}
	s.problem(s.paid(key, "/picks", "Idempotency-Key", strings.Repeat("k", 256)), http.StatusBadRequest, "invalid_request")
	for range 7 {
		s.paid(key, "/picks/latest")
	}
	s.problem(s.paid(key, "/picks"), http.StatusTooManyRequests, "daily_quota_exhausted")
	a := s.paid(key, "/picks", "Idempotency-Key", "mine")
	if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("RateLimit"), `"day";r=0;`) {
		t.Errorf("a repetition after the last request of the day: %s, RateLimit %s", a.Status, a.Header.Get("RateLimit"))
	}
}

func TestFreeAndProPlans(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelPlan)
	s.at("2026-03-04T23:00:00Z")
	key := s.key()
	used := 0
	for _, row := range []struct {
		path string
		free bool
	}{
		{"/picks", true},
		{"/picks/latest", true},
		{"/research/NVDA", false},
		{"/portfolio", true},
		{"/portfolio/positions", false},
		{"/portfolio/history", false},
		{"/sectors", false},
		{"/regions", false},
		{"/stocks", true},
		{"/events", false},
		{"/economic-events", false},
		{"/digest/latest", false},
	} {
		a := s.paid(key, row.path)
		if !row.free {
			s.problem(a, http.StatusForbidden, "plan_required")
			continue
		}
		used++
		if got := s.object(a)["data"]; got != "free" || a.Header.Get("X-Request-Cost") != "" {
			t.Errorf("%s on the Free plan: %v, cost %q", row.path, got, a.Header.Get("X-Request-Cost"))
		}
		if got, want := a.Header.Get("RateLimit"), fmt.Sprintf(`"day";r=%d;t=3600`, 10-used); got != want || a.Header.Get("RateLimit-Policy") != `"day";q=10;w=86400` {
			t.Errorf("%s: RateLimit %s, want %s; policy %s", row.path, got, want, a.Header.Get("RateLimit-Policy"))
		}
	}
	// Responses without content, and responses about the key itself, do not count against the daily quota.
	tag := s.paid(key, "/picks").Header.Get("ETag")
	for range 3 {
		s.paid(key, "/picks", "If-None-Match", tag)
		s.paid(key, "/research/NVDA")
		s.paid(key, "/account")
		s.ask(http.MethodHead, "/api/v1/picks", "Authorization", "Bearer "+key)
	}
	for range 5 {
		if a := s.paid(key, "/picks"); a.StatusCode != http.StatusOK {
			t.Errorf("a request of the ten: %s", a.Status)
		}
	}
	a := s.paid(key, "/picks")
	s.problem(a, http.StatusTooManyRequests, "daily_quota_exhausted")
	if got := a.Header.Get("Retry-After"); got != "3600" || a.Header.Get("RateLimit") != `"day";r=0;t=3600` {
		t.Errorf("Retry-After %s, RateLimit %s", got, a.Header.Get("RateLimit"))
	}
	if q := s.data(key, "/account"); q["plan"] != "free" || q["balance"] != nil || q["quota"].(map[string]any)["remaining"] != 0.0 {
		t.Errorf("account: %v", q)
	}

	// Thirty days of Pro, valid immediately and until their end, although the key is cached.
	s.query(`insert into plan_changes (key_id, kind, period, ref) select id, 'transfer', '720 hours', 'tx' from keys returning id`)
	if a := s.paid(key, "/sectors"); a.StatusCode != http.StatusOK {
		t.Errorf("right after the upgrade: %s", a.Status)
	}
	if a := s.paid(key, "/picks"); s.object(a)["data"] != "full" || a.Header.Get("RateLimit-Policy") != `"day";q=1000;w=86400` {
		t.Errorf("Pro: %s, %v", a.body[:40], a.Header)
	}
	if q := s.data(key, "/account"); q["plan"] != "pro" || q["pro_until"] != "2026-04-03T23:00:00Z" {
		t.Errorf("account: %v", q)
	}
	s.at("2026-04-03T22:59:59.999999Z")
	if a := s.paid(key, "/sectors"); a.StatusCode != http.StatusOK {
		t.Errorf("a microsecond before the end: %s", a.Status)
	}
	s.at("2026-04-03T23:00:00Z")
	s.problem(s.paid(key, "/sectors"), http.StatusForbidden, "plan_required")
	if a := s.paid(key, "/picks"); s.object(a)["data"] != "free" {
		t.Errorf("after the end: %s", a.body[:40])
	}
}

// The database decides on the plan. An API with a slow clock may take a key for Pro, and then serves it as Free. An API with a fast clock
// serves less for a moment, without an error.
func TestClocksThatDisagreeAboutAPlan(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelPlan)
	s.at("2026-03-04T12:00:00Z")
	key := s.key()
	s.query(`insert into plan_changes (key_id, kind, period, by, reason) select id, 'grant', '1 hour', 'op', 'why' from keys returning id`)
	ask := func(api, database, path string, status int, level any) {
		t.Helper()
		s.at(database)
		wall, err := time.Parse(time.RFC3339, api)
		if err != nil {
			t.Fatal(err)
		}
		s.wall.Store(&wall)
		if a := s.paid(key, path); a.StatusCode != status || s.object(a)["data"] != level {
			t.Errorf("%s: %s, %.60s; want %d and %v", path, a.Status, a.body, status, level)
		}
	}
	ask("2026-03-04T12:59:59Z", "2026-03-04T12:59:59Z", "/sectors", 200, "full")
	ask("2026-03-04T12:59:59Z", "2026-03-04T13:00:00Z", "/picks", 200, "free")
	ask("2026-03-04T12:59:59Z", "2026-03-04T13:00:00Z", "/sectors", 403, nil)
	ask("2026-03-04T13:00:00Z", "2026-03-04T12:59:59Z", "/picks", 200, "free")
}
