package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"tidemark/internal/postgres"
)

// question is a request.
type question struct{ name, method, path, body string }

// reads are public requests that are answered from memory: signals, the record, MCP and pages.
var reads = []question{
	{"the catalog", http.MethodGet, "/api/signals", ""},
	{"a signal", http.MethodGet, "/api/signals/crack-spread-321", ""},
	{"the chain", http.MethodGet, "/api/v1/verify/picks", ""},
	{"MCP", http.MethodPost, "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_verification_chain","arguments":{}}}`},
	{"the home page", http.MethodGet, "/", ""},
	{"the page of a signal", http.MethodGet, "/signals/crack-spread-321", ""},
	{"the page that verifies", http.MethodGet, "/verify", ""},
}

// wares are the endpoints that buyers buy from, with their prices in micro-dollars.
var wares = []struct {
	path  string
	price int
}{{"/api/v1/picks", 5_000}, {"/api/v1/portfolio", 2_000}, {"/api/v1/sectors", 1_000}, {"/api/v1/stocks", 5_000}}

// notYet is the status of some of these endpoints before the first pick. Such a response is free.
const notYet = http.StatusNotFound

// client gives up on an answer that does not come at all.
var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}

type answer struct {
	status   int
	degraded bool
	body     string
}

// ask sends a request and returns the response. key and id, the idempotency key, are sent unless they are empty.
func ask(ctx context.Context, q question, base, key, id string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, base+q.path, strings.NewReader(q.body))
	if err != nil {
		return answer{}, err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if id != "" {
		r.Header.Set("Idempotency-Key", id)
		r.Header.Set("X-Request-Id", id)
	}
	resp, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header.Get("X-Tidemark-Degraded") != "", string(body)}, errors.Join(err, resp.Body.Close())
}

// seen collects the observations of all clients.
type seen struct {
	mu sync.Mutex
	// reads counts requests with a response. degraded counts responses that reported an unavailable server.
	// passed counts requests that the other API answered because the first was being killed. slowest is the longest time of a request.
	reads, degraded, passed int
	slowest                 time.Duration
	// bought maps the id of each delivered purchase to its price. tries counts the requests for them, unanswered the requests without a
	// response. nothing counts the responses before anything was for sale, refused the responses that asked for a later retry.
	bought                              map[string]int
	tries, nothing, refused, unanswered int
	// wrong are answers that must not be.
	wrong []string
}

func (s *seen) complain(format string, args ...any) {
	if len(s.wrong) < 10 {
		s.wrong = append(s.wrong, time.Now().Format(time.TimeOnly+".000 ")+fmt.Sprintf(format, args...))
	}
}

// read sends all reads again and again until ctx ends. Like a proxy, it tries one API first, and the next one if that does not respond. An
// API that is not being killed must respond, even if every other server is unavailable.
func (s *seen) read(ctx context.Context, apis []*unit, first int) {
	for i := 0; ; i++ {
		q := reads[i%len(reads)]
		began := time.Now()
		for try := 0; ; try++ {
			u := apis[(first+try)%len(apis)]
			before := u.now()
			a, err := ask(ctx, q, before.base, "", "")
			if ctx.Err() != nil {
				return
			}
			good := err == nil && a.status == http.StatusOK
			if !good && (!before.ready || u.now() != before) && try < 200 {
				_ = sleep(ctx, time.Duration(try)*time.Millisecond)
				continue
			}
			took := time.Since(began)
			s.mu.Lock()
			s.reads++
			s.slowest = max(s.slowest, took)
			if a.degraded {
				s.degraded++
			}
			if try > 0 {
				s.passed++
			}
			if !good {
				s.complain("%s at %s: status %d after %s, %v: %.200s", q.name, u.name, a.status, took.Round(time.Millisecond), err, a.body)
			}
			s.mu.Unlock()
			break
		}
		_ = sleep(ctx, 10*time.Millisecond)
	}
}

// buy buys one thing after another until stop is closed, at one API or the other. What it does not get it asks for again under the same
// Idempotency-Key, also after the end, until ctx ends.
func (s *seen) buy(ctx context.Context, stop <-chan struct{}, buyer int, key string, apis []*unit) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		default:
		}
		w := wares[n%len(wares)]
		id := fmt.Sprintf("chaos-%d-%d", buyer, n)
		unsure := false // whether a try without an answer may have been charged
		for try := 0; ; try++ {
			a, err := ask(ctx, question{path: w.path}, apis[(n+try)%len(apis)].now().base, key, id)
			if ctx.Err() != nil {
				s.mu.Lock()
				s.complain("%s was never delivered: status %d, %v", id, a.status, err)
				s.mu.Unlock()
				return
			}
			s.mu.Lock()
			s.tries++
			switch {
			case err != nil: // an API was killed, or is not there yet
				s.unanswered++
			case a.status == http.StatusOK:
				s.bought[id] = w.price
			case a.status == http.StatusServiceUnavailable:
				s.refused++
			case a.status == notYet:
				s.nothing++
			default:
				s.complain("%s of buyer %d: status %d: %.300s", w.path, buyer, a.status, a.body)
			}
			s.mu.Unlock()
			unsure = unsure || err != nil
			if a.status == http.StatusOK && err == nil || a.status == notYet && !unsure {
				break
			}
			_ = sleep(ctx, 100*time.Millisecond)
		}
		_ = sleep(ctx, 15*time.Millisecond)
	}
}

// register makes a key with enough money.
func (s *cluster) register(buyer int) string {
	s.t.Helper()
	a, err := ask(s.t.Context(), question{method: http.MethodPost, path: "/api/v1/auth/register", body: fmt.Sprintf(`{"name":"buyer %d"}`, buyer)}, s.apis[0].now().base, "", "")
	var said struct {
		Data struct {
			Key string `json:"api_key"`
		} `json:"data"`
	}
	if err != nil || json.Unmarshal([]byte(a.body), &said) != nil || said.Data.Key == "" {
		s.t.Fatalf("a key is not registered: %v, %d: %s", err, a.status, a.body)
	}
	if _, err := s.db.Credit(s.t.Context(), int64(buyer), 1_000_000_000, postgres.Gift{Ref: fmt.Sprint("chaos ", buyer), By: "test", Reason: "for a time of chaos"}); err != nil {
		s.t.Fatal(err)
	}
	return said.Data.Key
}
