package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"tidemark/internal/postgres"
	"tidemark/internal/task"
	"tidemark/signals"
	"tidemark/test/program"
)

// listening is where the API process says that it listens.
var listening = regexp.MustCompile(`"setting":"ADDR","addr":"([^"]+)"`)

// reads are requests that are answered from memory: signals, the record, MCP and pages.
var reads = []struct{ name, method, path, body string }{
	{"the catalog", http.MethodGet, "/api/signals", ""},
	{"a signal", http.MethodGet, "/api/signals/crack-spread-321", ""},
	{"the chain", http.MethodGet, "/api/v1/verify/picks", ""},
	{"MCP", http.MethodPost, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_verification_chain","arguments":{}}}`},
	{"the home page", http.MethodGet, "/", ""},
	{"the page of a signal", http.MethodGet, "/signals/crack-spread-321", ""},
	{"the page that verifies", http.MethodGet, "/verify", ""},
}

// TestPostgresIsAwayFromAnAPI is R7: an API process whose Postgres is killed, is unavailable, and comes back.
func TestPostgresIsAwayFromAnAPI(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC)
	s := newFixtureAt(t, &begin, "ADDR=127.0.0.1:0", "LOG_LEVEL=info", "RATE_LIMIT=off", "MCP_RATE_LIMIT=off", "PAGES_RATE_LIMIT=off")
	s.save(begin, 21.5)
	last, _ := s.announce(begin, 3)
	c, _ := s.startAPI()
	key := c.register()
	for _, r := range reads {
		if a := c.ask(r.method, r.path, r.body, ""); a.status != http.StatusOK || a.degraded {
			t.Fatalf("%s at first: %d, degraded %t: %s", r.name, a.status, a.degraded, a.body)
		}
	}
	c.buy(key, http.StatusOK)

	if err := s.postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	// From the first moment on nothing public fails; that it is marked may take until the loss is noticed.
	program.Until(t, program.Timeout, "everything is marked", func() (bool, string) {
		marked := 0
		for _, r := range reads {
			a := c.ask(r.method, r.path, r.body, "")
			if a.status != http.StatusOK {
				t.Fatalf("%s without Postgres: %d: %s", r.name, a.status, a.body)
			}
			if a.degraded {
				marked++
			}
		}
		return marked == len(reads), fmt.Sprintf("%d of %d are", marked, len(reads))
	})
	if ready := c.ask(http.MethodGet, "/readyz", "", ""); ready.status != http.StatusOK || !strings.Contains(ready.body, "postgres") {
		t.Errorf("/readyz without Postgres: %d: %s", ready.status, ready.body)
	}
	for range 5 {
		c.buy(key, http.StatusServiceUnavailable)
	}

	if err := s.postgres.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.connect()
	s.save(last, 22.5)
	program.Until(t, program.Timeout, "the API goes on by itself", func() (bool, string) {
		a := c.ask(http.MethodGet, "/api/signals/crack-spread-321", "", "")
		return !a.degraded && strings.Contains(a.body, "22.5"), fmt.Sprintf("degraded %t: %s", a.degraded, a.body)
	})
	program.Until(t, program.Timeout, "keys are good again", func() (bool, string) {
		a := c.ask(http.MethodGet, "/api/v1/picks", "", key)
		if a.status == http.StatusOK {
			c.delivered++
		}
		return a.status == http.StatusOK, fmt.Sprintf("%d: %s", a.status, a.body)
	})
	want := fmt.Sprintf("%d requests, charged %d", c.delivered, c.delivered*5_000)
	charged := s.query(`select format('%s requests, charged %s', count(*), coalesce(-sum(amount), 0)) from ledger where kind = 'charge'`)
	if len(charged) != 1 || charged[0] != want {
		t.Errorf("in the ledger: %q, want %q", charged, want)
	}
}

// save stores a snapshot of one signal as of an instant that the world's clock has reached. A future snapshot is not served.
func (s *fixture) save(at time.Time, value float64) {
	s.t.Helper()
	day := at.Truncate(24 * time.Hour)
	err := s.db.SaveSnapshot(s.t.Context(), task.Fence{}, postgres.Snapshot{
		Signal: "crack-spread-321", At: at, Status: signals.StatusLive, Cause: "test", ObservedAt: &day, KnownAt: &at, Value: &value,
		Synthetic: true, CodeVersion: "test",
	}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
}

// client asks one API process.
type client struct {
	t    *testing.T
	base string
	// delivered counts the priced answers.
	delivered int
}

func (s *fixture) startAPI() (*client, *program.Process) {
	s.t.Helper()
	p := s.start("api")
	c := &client{t: s.t}
	program.Until(s.t, program.Timeout, "the API is ready", func() (bool, string) {
		address := listening.FindStringSubmatch(p.Output())
		if address == nil {
			return false, p.Output()
		}
		c.base = "http://" + address[1]
		a := c.ask(http.MethodGet, "/readyz", "", "")
		return a.status == http.StatusOK, a.body
	})
	return c, p
}

type answer struct {
	status   int
	degraded bool
	body     string
}

// ask sends a request and returns the response. key is sent unless it is empty.
func (c *client) ask(method, path, body, key string) answer {
	c.t.Helper()
	fields := http.Header{}
	if key != "" {
		fields.Set("Authorization", "Bearer "+key)
	}
	return c.send(method, path, body, fields)
}

// send returns what an address answers to a request with some header fields.
func (c *client) send(method, path, body string, fields http.Header) answer {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header = fields
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	var b bytes.Buffer
	if _, err := io.Copy(&b, resp.Body); err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{status: resp.StatusCode, degraded: resp.Header.Get("X-Tidemark-Degraded") == "postgres", body: b.String()}
}

func (c *client) register() string {
	c.t.Helper()
	a := c.ask(http.MethodPost, "/api/v1/auth/register", `{"name":"test"}`, "")
	var answer struct {
		Data struct {
			Key string `json:"api_key"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(a.body), &answer); err != nil || answer.Data.Key == "" {
		c.t.Fatalf("a key is not registered: %d: %s", a.status, a.body)
	}
	return answer.Data.Key
}

// again asks for something that has a price, as one does who asks again until there is an answer.
func (c *client) again(key string) answer {
	c.t.Helper()
	return c.send(http.MethodGet, "/api/v1/picks", "", http.Header{"Authorization": {"Bearer " + key}, "Idempotency-Key": {c.t.Name()}})
}

// buy asks for something that has a price, and counts what it gets.
func (c *client) buy(key string, want int) {
	c.t.Helper()
	a := c.ask(http.MethodGet, "/api/v1/picks", "", key)
	if a.status == http.StatusOK {
		c.delivered++
	}
	if a.status != want {
		c.t.Errorf("a priced answer: %d, want %d: %s", a.status, want, a.body)
	}
}
