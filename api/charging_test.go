package api_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/postgres"
)

// billingFixture is a system with prices: every data endpoint responds with its level and its path.
type billingFixture struct {
	*system

	// wall is the wall clock for the API and the database.
	wall atomic.Pointer[time.Time]
}

// build returns the arguments of the build function as the response.
func build(r *http.Request, c api.Caller) (api.Answer, error) {
	if r.PathValue("ticker") == "PANIC" {
		panic("on purpose")
	}
	level := map[accounts.Level]string{accounts.LevelFree: "free", accounts.LevelFull: "full"}[c.Level]
	body, err := view.Encode(map[string]any{"data": level, "path": r.URL.Path, "more": strings.Repeat("text ", 300)})
	return api.Answer{
		Document: view.NewDocument(view.TypeJSON, view.CachePublic, body, noon), Header: http.Header{"Link": {`<next>; rel="next"`}},
	}, err
}

func newBillingFixture(t *testing.T, a api.Accounts, model accounts.Model) *billingFixture {
	t.Helper()
	return openFixtureIn(t, view.WorldLive, a, model)
}

// openFixtureIn opens a billingFixture in a world.
func openFixtureIn(t *testing.T, world string, a api.Accounts, model accounts.Model) *billingFixture {
	t.Helper()
	var err error
	if a.Tariff, err = endpoint.NewTariff(model, "/digest/latest=0.002"); err != nil {
		t.Fatal(err)
	}
	s := &billingFixture{}
	wall := time.Now()
	s.wall.Store(&wall)
	a.Now = func() time.Time { return *s.wall.Load() }
	data := map[string]api.Build{}
	for _, e := range a.Tariff.Endpoints() {
		data[e.Path] = build
	}
	s.system = start(t, setup{world: world, accounts: &a, data: data})
	t.Cleanup(func() {
		if got := s.query(`
			select k.public_id from keys k left join ledger l on l.key_id = k.id group by k.id
			having k.balance <> coalesce(sum(l.amount), 0)`); len(got) > 0 {
			t.Errorf("balances that are not the sums of their ledgers: %v", got)
		}
	})
	return s
}

// query returns the rows of a query as text, as the superuser.
func (s *system) query(sql string) []string {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	c, err := pgx.Connect(ctx, s.dsn)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	rows, err := c.Query(ctx, sql)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (string, error) {
		values, err := r.Values()
		return strings.TrimSuffix(fmt.Sprintln(values...), "\n"), err
	})
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return lines
}

// at sets the wall clock.
func (s *billingFixture) at(text string) {
	s.t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		s.t.Fatal(err)
	}
	s.wall.Store(&at)
	s.query(`create or replace function billing_now() returns timestamptz language sql volatile as $$ select '` + text + `'::timestamptz $$`)
}

// key registers a key and returns it.
func (s *billingFixture) key() string {
	s.t.Helper()
	a := s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"tester"}`, "Content-Type", "application/json")
	if a.StatusCode != http.StatusCreated {
		s.t.Fatalf("register: %s: %s", a.Status, a.body)
	}
	return s.object(a)["data"].(map[string]any)["api_key"].(string)
}

// paid sends a GET with a key.
func (s *billingFixture) paid(key, path string, header ...string) answer {
	s.t.Helper()
	return s.ask(http.MethodGet, "/api/v1"+path, append([]string{"Authorization", "Bearer " + key}, header...)...)
}

func (s *billingFixture) problem(a answer, status int, code string) map[string]any {
	s.t.Helper()
	p := s.object(a)
	if a.StatusCode != status || p["code"] != code || a.Header.Get("Content-Type") != "application/problem+json" {
		s.t.Errorf("%s, %v: %s; want %d %s", a.Status, a.Header.Get("Content-Type"), a.body, status, code)
	}
	return p
}

func (s *billingFixture) data(key, path string) map[string]any {
	s.t.Helper()
	a := s.paid(key, path)
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("%s: %s: %s", path, a.Status, a.body)
	}
	return s.object(a)["data"].(map[string]any)
}

func (s *billingFixture) balance(key string) string {
	s.t.Helper()
	return s.data(key, "/account")["balance"].(map[string]any)["amount"].(string)
}

func TestEveryEndpointHasItsPrice(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	left := accounts.Trial
	for _, row := range []struct{ path, cost string }{
		{"/picks", "0.005"},
		{"/picks/latest", "0.001"},
		{"/research/NVDA", "0.01"},
		{"/portfolio", "0.002"},
		{"/portfolio/positions", "0.003"},
		{"/portfolio/history", "0.005"},
		{"/sectors", "0.001"},
		{"/regions", "0.001"},
		{"/stocks", "0.005"},
		{"/events", "0.00"},
		{"/economic-events", "0.00"},
		{"/digest/latest", "0.002"}, // the operator's price
	} {
		cost, err := accounts.ParseMicros(row.cost)
		if err != nil {
			t.Fatal(err)
		}
		left -= cost
		a := s.paid(key, row.path)
		if a.StatusCode != http.StatusOK || s.object(a)["data"] != "full" {
			t.Errorf("%s: %s: %.80s", row.path, a.Status, a.body)
		}
		if got, rest := a.Header.Get("X-Request-Cost"), a.Header.Get("X-Balance-Remaining"); got != row.cost || rest != left.String() {
			t.Errorf("%s costs %s and leaves %s, want %s and %s", row.path, got, rest, row.cost, left)
		}
		if got := a.Header.Get("Cache-Control"); got != "private, no-cache" || a.Header.Get("Link") == "" {
			t.Errorf("%s: Cache-Control %s, Link %q", row.path, got, a.Header.Get("Link"))
		}
		for _, header := range [][]string{nil, {"Authorization", "Basic dGVzdA=="}, {"X-Api-Key", key}} {
			b := s.ask(http.MethodGet, "/api/v1"+row.path+"?api_key="+key, header...)
			s.problem(b, http.StatusUnauthorized, "missing_api_key")
			if got := b.Header.Get("WWW-Authenticate"); got != `Bearer realm="api"` {
				t.Errorf("WWW-Authenticate: %s", got)
			}
		}
	}
	if got := s.balance(key); got != left.String() {
		t.Errorf("the account says %s, want %s", got, left)
	}
}

func TestWhatIsNotDeliveredCostsNothing(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	first := s.paid(key, "/picks")
	tag := first.Header.Get("ETag")
	if got := s.balance(key); got != "0.195" {
		t.Fatalf("after one request %s", got)
	}
	for name, tt := range map[string]struct {
		method, path string
		header       []string
		status       int
	}{
		"HEAD":                    {"HEAD", "/picks", nil, 200},
		"a body that it has":      {"GET", "/picks", []string{"If-None-Match", tag}, 304},
		"OPTIONS":                 {"OPTIONS", "/picks", nil, 204},
		"another method":          {"POST", "/picks", nil, 405},
		"another media type":      {"GET", "/picks", []string{"Accept", "application/xml"}, 406},
		"nothing there":           {"GET", "/none", nil, 404},
		"a fault of ours":         {"GET", "/research/PANIC", nil, 500},
		"an empty Idempotency":    {"GET", "/picks", []string{"Idempotency-Key", ""}, 400},
		"a long Idempotency-Key":  {"GET", "/picks", []string{"Idempotency-Key", strings.Repeat("x", 256)}, 400},
		"two keys":                {"GET", "/picks", []string{"Authorization", "Bearer x"}, 401},
		"the account":             {"GET", "/account", nil, 200},
		"its usage":               {"GET", "/account/usage", nil, 200},
		"a usage over many years": {"GET", "/account/usage?from=2020-01-01", nil, 400},
	} {
		a := s.ask(tt.method, "/api/v1"+tt.path, append([]string{"Authorization", "Bearer " + key}, tt.header...)...)
		if a.StatusCode != tt.status {
			t.Errorf("%s: %s, want %d: %s", name, a.Status, tt.status, a.body)
		}
		if cost := a.Header.Get("X-Request-Cost"); cost != "" && cost != "0.00" {
			t.Errorf("%s costs %s", name, cost)
		}
	}
	if got := s.balance(key); got != "0.195" {
		t.Errorf("the balance is %s, want 0.195", got)
	}
	zipped := s.paid(key, "/picks", "Accept-Encoding", "gzip")
	if zipped.Header.Get("Content-Encoding") != "gzip" || zipped.Header.Get("X-Balance-Remaining") != "0.19" {
		t.Errorf("compressed: %v", zipped.Header)
	}
	if got := unzip(t, zipped.body); got != string(first.body) {
		t.Error("the compressed answer is another one")
	}
	rows := s.paid(key, "/account/usage")
	if !strings.Contains(string(rows.body), `"endpoint":"/picks","requests":2,"cost":"0.01"`) {
		t.Errorf("usage: %s", rows.body)
	}
}

func TestAnIdempotencyKeyFetchesALostAnswerAgain(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	s.at("2026-03-04T12:00:00Z")
	key := s.key()
	ask := func(path, once, cost, left string) {
		t.Helper()
		a := s.paid(key, path, "Idempotency-Key", once)
		if got := []string{a.Header.Get("X-Request-Cost"), a.Header.Get("X-Balance-Remaining")}; a.StatusCode != http.StatusOK || got[0] != cost || got[1] != left {
			t.Errorf("%s under %s: %s, cost and balance %v, want %s and %s", path, once, a.Status, got, cost, left)
		}
	}
	ask("/research/NVDA", "a", "0.01", "0.19")
	ask("/research/NVDA", "a", "0.00", "0.19")
	ask("/research/AAPL", "a", "0.01", "0.18")         // another path
	ask("/research/NVDA?lang=es", "a", "0.01", "0.17") // another query
	ask("/research/NVDA", "b", "0.01", "0.16")         // another Idempotency-Key
	s.at("2026-03-04T12:10:00Z")
	ask("/research/NVDA", "a", "0.01", "0.15") // after ten minutes
}

func TestAnEmptyBalance(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	s.query(`insert into ledger (key_id, kind, amount, at, endpoint, request_id) select id, 'charge', -196000, now(), '/a', 'r' from keys returning id`)
	a := s.paid(key, "/research/NVDA?lang=es")
	p := s.problem(a, http.StatusPaymentRequired, "insufficient_balance")
	want := map[string]any{
		"detail": "This request costs 0.01 USD; the balance is 0.004 USD.", "instance": "/api/v1/research/NVDA",
		"balance": map[string]any{"amount": "0.004", "currency": "USD"}, "cost": map[string]any{"amount": "0.01", "currency": "USD"},
		"top_up_url": s.url + "/dashboard", "x402_url": s.url + "/api/v1/x402/research/NVDA",
	}
	for member, w := range want {
		if diff := cmp.Diff(w, p[member]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", member, diff)
		}
	}
	if a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("X-Request-Cost") != "" {
		t.Errorf("header of the refusal: %v", a.Header)
	}
	// A cheaper response is still served, and a free one always is.
	if a := s.paid(key, "/portfolio/positions"); a.Header.Get("X-Balance-Remaining") != "0.001" {
		t.Errorf("0.003 of 0.004: %s, %v", a.Status, a.Header)
	}
	s.query(`insert into ledger (key_id, kind, amount, at, ref) select id, 'reversal', -5000000, now(), 'tx' from keys returning id`)
	for path, status := range map[string]int{"/picks/latest": 402, "/events": 200, "/account": 200} {
		if a := s.paid(key, path); a.StatusCode != status {
			t.Errorf("%s below zero: %s, want %d", path, a.Status, status)
		}
	}
	if got := s.balance(key); got != "-4.999" {
		t.Errorf("balance %s", got)
	}
}

func TestAFloodSpendsABalanceToTheEnd(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200, MaxConnsPerHost: 200}}
	var statuses [600]atomic.Int64
	var wait sync.WaitGroup
	for range 2000 {
		wait.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/api/v1/picks", nil)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer "+key)
			resp, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			statuses[resp.StatusCode].Add(1)
		})
	}
	wait.Wait()
	if ok, refused := statuses[200].Load(), statuses[402].Load(); ok != 40 || refused != 1960 {
		t.Errorf("%d answers and %d refusals, want 40 and 1960", ok, refused)
	}
	if got := s.balance(key); got != "0.00" {
		t.Errorf("the balance is %s, want 0.00", got)
	}
	if got := s.query(`select count(*), sum(amount)::bigint from ledger where kind = 'charge'`)[0]; got != "40 -200000" {
		t.Errorf("charges: %s", got)
	}
}

func TestKeysThatOpenNothing(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	stranger, err := accounts.NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a stranger's": stranger.Reveal(), "a typing error": key[:44] + "!", "an empty one": "", "another's": "sk_live_123"} {
		a := s.paid(text, "/picks")
		s.problem(a, http.StatusUnauthorized, "invalid_api_key")
		if got := a.Header.Get("WWW-Authenticate"); got != `Bearer realm="api", error="invalid_token"` {
			t.Errorf("%s: WWW-Authenticate: %s", name, got)
		}
		if strings.Contains(string(a.body), text) && text != "" {
			t.Errorf("%s: the answer repeats the key", name)
		}
	}
	if a := s.ask(http.MethodGet, "/api/v1/picks", "Authorization", "bearer   "+key); a.StatusCode != http.StatusOK {
		t.Errorf("the scheme in lower case: %s", a.Status)
	}
	// A second instance receives the notification of a revocation by the first.
	other := openSecond(t, s)
	if a := other.paid(key, "/picks"); a.StatusCode != http.StatusOK {
		t.Fatalf("at the second instance: %s", a.Status)
	}
	if a := s.ask(http.MethodDelete, "/api/v1/keys/current", "Authorization", "Bearer "+key); a.StatusCode != http.StatusNoContent || len(a.body) != 0 {
		t.Errorf("revoke: %s", a.Status)
	}
	for _, door := range []*billingFixture{s, other} {
		a := door.paid(key, "/picks") // the charge itself rejects a revoked key
		door.problem(a, http.StatusUnauthorized, "revoked_api_key")
		door.eventually("it is known to be revoked", func() bool { return door.paid(key, "/account").StatusCode == http.StatusUnauthorized })
	}
}

// openSecond starts another API server on the same database.
func openSecond(t *testing.T, s *billingFixture) *billingFixture {
	t.Helper()
	second := &billingFixture{system: &system{t: t, dsn: s.dsn, madeUp: true}}
	db := second.open(postgres.RoleAPI)
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	second.serve(api.Options{
		View: s.view, Accounts: &api.Accounts{DB: db, Tariff: tariff, Now: time.Now}, Data: map[string]api.Build{"/picks": build},
	})
	return second
}
