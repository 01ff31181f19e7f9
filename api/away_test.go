package api_test

import (
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/pgtest"
	"tidemark/internal/postgres"
)

// linesAbout counts the lines of a log that have a text.
type linesAbout struct {
	text string
	n    atomic.Int64
}

func (l *linesAbout) Write(line []byte) (int, error) {
	if strings.Contains(string(line), l.text) {
		l.n.Add(1)
	}
	return len(line), nil
}

// While Postgres is unavailable, the server serves from memory and marks the responses. It does not serve a priced response, because it
// could not charge for it. Afterwards the charges match the delivered responses.
func TestNothingPricedIsGivenWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Server(t)
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	lines := &linesAbout{text: "the database was needed for answers and is unavailable"}
	s := start(t, setup{
		dsn: server.URL(), stored: []postgres.Snapshot{full()}, accounts: &api.Accounts{Tariff: tariff, Now: time.Now},
		log: slog.New(slog.NewTextHandler(lines, nil)),
		data: map[string]api.Build{"/picks": func(*http.Request, api.Caller) (api.Answer, error) {
			return api.Answer{Document: view.NewDocument(view.TypeJSON, view.CachePublic, []byte(`{"data":"the picks"}`), noon)}, nil
		}},
	})
	registered := s.object(s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"k"}`, "Content-Type", "application/json"))["data"].(map[string]any)
	bearer := []string{"Authorization", "Bearer " + registered["api_key"].(string)}
	delivered := 0
	buy := func() int {
		t.Helper()
		a := s.ask(http.MethodGet, "/api/v1/picks", bearer...)
		given := strings.Contains(string(a.body), "the picks")
		if given != (a.StatusCode == http.StatusOK) {
			t.Errorf("%s: %s", a.Status, a.body)
		}
		if given {
			delivered++
		}
		return a.StatusCode
	}
	for range 3 {
		if status := buy(); status != http.StatusOK {
			t.Fatalf("at first: %d", status)
		}
	}
	killed := time.Now()
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	s.eventually("the loss to be noticed", s.view.Degraded)
	for range 5 {
		if status := buy(); status != http.StatusServiceUnavailable {
			t.Errorf("a priced answer without the database: %d", status)
		}
		a := s.ask(http.MethodGet, "/api/signals/crack-spread-321")
		if a.StatusCode != http.StatusOK || a.Header.Get("X-Tidemark-Degraded") != "postgres" {
			t.Errorf("a signal: %s, degraded %q", a.Status, a.Header.Get("X-Tidemark-Degraded"))
		}
	}
	// A client that asks often while the database is away must not fill the disk with lines.
	for range 100 {
		buy()
	}
	if n, most := lines.n.Load(), 1+int64(time.Since(killed)/(10*time.Second)); n < 1 || n > most {
		t.Errorf("100 requests in a row made %d lines in the log, want 1 to %d", n, most)
	}
	ready := s.object(s.ask(http.MethodGet, "/readyz"))
	if ready["ok"] != true || len(ready["degraded"].([]any)) != 1 || ready["degraded"].([]any)[0] != "postgres" {
		t.Errorf("/readyz: %v", ready)
	}
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.eventually("the database to be back", func() bool { return buy() == http.StatusOK })
	var balance any
	s.eventually("the account", func() bool {
		a := s.ask(http.MethodGet, "/api/v1/account", bearer...)
		if a.StatusCode != http.StatusOK {
			return false
		}
		balance = s.object(a)["data"].(map[string]any)["balance"].(map[string]any)["amount"]
		return true
	})
	if want := (200_000 - accounts.Micros(delivered)*5_000).String(); balance != want {
		t.Errorf("%d answers were delivered and the balance is %v, want %s", delivered, balance, want)
	}
}
