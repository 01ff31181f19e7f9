package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
)

// visit is a browser that is signed in with a key.
type visit struct {
	*published

	cookie, key string
}

func (p *published) signIn(key string) visit {
	p.t.Helper()
	a := p.askWith(http.MethodPost, "/dashboard/sign-in", url.Values{"api_key": {key}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	c := a.Cookies()
	if a.StatusCode != http.StatusSeeOther || len(c) != 1 {
		p.t.Fatalf("sign in: %s %s", a.Status, a.body)
	}
	if c[0].Path != "/" || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode || c[0].Domain != "" {
		p.t.Errorf("the cookie is %s", c[0].Raw)
	}
	return visit{p, c[0].Name + "=" + c[0].Value, key}
}

func (v visit) open(address string, header ...string) answer {
	v.t.Helper()
	return v.ask(http.MethodGet, address, append([]string{"Cookie", v.cookie, "Accept", "text/html", "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Dest", "document"}, header...)...)
}

// requests returns how often the key was charged or counted, and its balance.
func (v visit) requests() (n int64, balance string) {
	v.t.Helper()
	account := v.object(v.ask(http.MethodGet, "/api/v1/account", "Authorization", "Bearer "+v.key))["data"].(map[string]any)
	c, err := pgx.Connect(v.t.Context(), v.dsn)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = c.Close(v.t.Context()) }()
	err = c.QueryRow(v.t.Context(), `
		select coalesce(sum(u.requests), 0)::bigint, (k.balance / 1e6)::numeric(9, 3)::text from keys k left join usage u on u.key_id = k.id
		where k.public_id = $1 group by k.id`, account["key_id"]).Scan(&n, &balance)
	if err != nil {
		v.t.Fatal(err)
	}
	return n, balance
}

var somePaid = paidFacts{gain: 40.71, weight: 7.93, mid: 17.37, text: "Plimbax"}

// A signed-in visitor sees everything at the API's prices, and pays for a page once in ten minutes.
func TestASignedInVisitorPaysAPageOnce(t *testing.T) {
	t.Parallel()
	p := publishMany(t, accounts.ModelBalance, somePaid)
	p.offer(accounts.ModelBalance)
	v := p.signIn(p.newKey(p.db, 0))
	want := func(what string, requests int64, balance string) {
		t.Helper()
		if n, b := v.requests(); n != requests || b != balance {
			t.Errorf("%s: %d requests, balance %s, want %d and %s", what, n, b, requests, balance)
		}
	}
	want("before", 0, "0.200")

	a := v.open("/picks")
	if !strings.Contains(string(a.body), "40.71") || !strings.Contains(string(a.body), "You see this page with your key. It costs 0.005 USD") {
		t.Errorf("the picks lack what the key sees: %s", a.Status)
	}
	if a.Header.Get("X-Request-Cost") != "0.005" || a.Header.Get("X-Balance-Remaining") != "0.195" || a.Header.Get("Cache-Control") != "private, no-cache" ||
		!slices.Contains(a.Header.Values("Vary"), "Cookie") {
		t.Errorf("the picks are answered with %v", a.Header)
	}
	want("a page", 1, "0.195")
	for range 3 {
		if again := v.open("/picks?utm_source=x&lang="); string(again.body) != string(a.body) || again.Header.Get("X-Request-Cost") != "0.00" {
			t.Errorf("loaded again: %s, it cost %s", again.Status, again.Header.Get("X-Request-Cost"))
		}
	}
	want("the same page again", 1, "0.195")
	if b := v.open("/picks", "If-None-Match", a.Header.Get("ETag")); b.StatusCode != http.StatusNotModified {
		t.Errorf("the page that the browser has: %s", b.Status)
	}
	guess := sha256.Sum256(a.body)
	for what, tag := range map[string]string{
		"a page that was guessed": `"` + hex.EncodeToString(guess[:16]) + `"`,
		"another visitor's page":  p.signIn(p.newKey(p.db, 0)).open("/picks").Header.Get("ETag"),
	} {
		if b := v.open("/picks", "If-None-Match", tag); b.StatusCode != http.StatusOK {
			t.Errorf("the tag of %s: %s", what, b.Status)
		}
	}
	if n, b := v.requests(); n != 1 || b != "0.195" {
		t.Errorf("after tags that are not the browser's: %d requests, balance %s", n, b)
	}

	// A request that does not visibly open a page costs nothing and shows free data.
	for _, header := range [][]string{{"Sec-Purpose", "prefetch;prerender"}, {"Purpose", "prefetch"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Dest", "image"}} {
		b := p.ask(http.MethodGet, "/portfolio", append([]string{"Cookie", v.cookie}, header...)...)
		if strings.Contains(string(b.body), `id="positions"`) || b.Header.Get("X-Request-Cost") != "" {
			t.Errorf("%v: it cost %q", header, b.Header.Get("X-Request-Cost"))
		}
	}
	head, public := p.ask(http.MethodHead, "/portfolio", "Cookie", v.cookie), p.ask(http.MethodHead, "/portfolio")
	if head.Header.Get("ETag") != public.Header.Get("ETag") || head.Header.Get("Content-Length") != public.Header.Get("Content-Length") {
		t.Errorf("HEAD of a page tells %v, to others %v", head.Header, public.Header)
	}
	want("nothing opened", 1, "0.195")

	// Two tabs at once, then ten.
	var tabs sync.WaitGroup
	for range 10 {
		tabs.Go(func() {
			if b := v.open("/portfolio"); !strings.Contains(string(b.body), "7.93") {
				t.Errorf("a tab: %s", b.Status)
			}
		})
	}
	tabs.Wait()
	want("ten tabs", 5, "0.185")

	v.open("/research/unpk")
	if b := v.open("/research/UNPK"); !strings.Contains(string(b.body), secretSay) {
		t.Errorf("research on a company that was not picked: %s", b.Status)
	}
	want("research", 6, "0.175")
	if b := v.open("/research/NONE"); b.StatusCode != http.StatusNotFound {
		t.Errorf("research that is not there: %s", b.Status)
	}
	if b := v.open("/research/UNPK/card.png"); b.StatusCode != http.StatusNotFound {
		t.Errorf("a picture of it: %s", b.Status)
	}
	v.open("/events")
	v.open("/economic-events")
	v.open("/verify")
	v.open("/digest")
	v.open("/picks.atom")
	want("the rest", 8, "0.174") // the digest is free, but counted

	// The API ignores cookies.
	if b := p.ask(http.MethodGet, "/api/v1/picks", "Cookie", v.cookie); b.StatusCode != http.StatusUnauthorized {
		t.Errorf("the API with a cookie: %s", b.Status)
	}
	// After ten minutes the page is charged again.
	p.elapse(accounts.IdempotencyGet)
	v.open("/picks")
	want("ten minutes later", 9, "0.169")

	// Parts that the balance cannot pay for are not shown. Paid parts are.
	p.spend(v.key, "0.164")
	if b := v.open("/portfolio"); !strings.Contains(string(b.body), "That day") || strings.Contains(string(b.body), `id="positions"`) || b.StatusCode != http.StatusOK {
		t.Errorf("half a page: %s", b.Status)
	}
	want("half a page", 10, "0.000")
	if b := v.open("/picks?lang=es"); strings.Contains(string(b.body), "40,71") || b.StatusCode != http.StatusOK || b.Header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("a page without a balance: %s", b.Status)
	}
	if b := v.open("/research/CORO"); b.StatusCode != http.StatusPaymentRequired {
		t.Errorf("research without a balance: %s", b.Status)
	}

	// A revoked key is not valid.
	p.ask(http.MethodDelete, "/api/v1/keys/current", "Authorization", "Bearer "+v.key)
	if b := v.open("/picks"); strings.Contains(string(b.body), "40.71") || b.StatusCode != http.StatusOK {
		t.Errorf("with a key that has ended: %s", b.Status)
	}
}

// In the plan model the Free plan shows the public data and is not counted. The Pro plan is counted as in the API, once per page.
func TestAVisitorOnAPlanIsCountedOnce(t *testing.T) {
	t.Parallel()
	p := publishMany(t, accounts.ModelPlan, somePaid)
	p.offer(accounts.ModelPlan)
	free, pro := p.signIn(p.newKey(p.db, 0)), p.signIn(p.newKey(p.db, 30))
	for range 2 {
		if a := free.open("/picks"); strings.Contains(string(a.body), "40.71") || !strings.Contains(string(a.body), "A key on the Pro plan shows the whole page.") {
			t.Errorf("the Free plan: %s", a.Status)
		}
	}
	if n, _ := free.requests(); n != 0 {
		t.Errorf("the Free plan was counted %d requests", n)
	}
	var tabs sync.WaitGroup
	for range 6 {
		tabs.Go(func() {
			if a := pro.open("/picks"); !strings.Contains(string(a.body), "40.71") {
				t.Errorf("the Pro plan: %s", a.Status)
			}
		})
	}
	tabs.Wait()
	if n, _ := pro.requests(); n != 1 {
		t.Errorf("the Pro plan was counted %d requests, want 1", n)
	}
	pro.open("/portfolio")
	if n, _ := pro.requests(); n != 5 {
		t.Errorf("the Pro plan was counted %d requests, want 5: the portfolio has four parts", n)
	}
	p.elapse(accounts.IdempotencyGet)
	pro.open("/picks")
	if n, _ := pro.requests(); n != 6 {
		t.Errorf("ten minutes later the Pro plan was counted %d requests, want 6", n)
	}
}

// The number of pages per address is limited. Static files are not counted.
func TestPagesAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	p.free, p.pagesRate = true, 3
	p.offer(accounts.ModelBalance)
	for i, path := range []string{"/picks", "/research/UNPK", "/card.png"} {
		if a := p.ask(http.MethodGet, path); a.StatusCode == http.StatusTooManyRequests {
			t.Errorf("page %d: %s", i+1, a.Status)
		}
	}
	a := p.ask(http.MethodHead, "/portfolio")
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Errorf("one page more: %s", a.Status)
	}
	for _, path := range []string{"/dashboard", "/dashboard/paid"} {
		if a := p.ask(http.MethodGet, path, "Cookie", "tidemark-session=AAAA"); a.StatusCode != http.StatusTooManyRequests {
			t.Errorf("%s: %s", path, a.Status)
		}
	}
	for _, form := range []string{"sign-out", "rotate", "claim", "quote"} {
		if a := p.askWith(http.MethodPost, "/dashboard/"+form, "", "Content-Type", "application/x-www-form-urlencoded", "Cookie", "tidemark-session=AAAA"); a.StatusCode != http.StatusTooManyRequests {
			t.Errorf("the form %s: %s", form, a.Status)
		}
	}
	for _, path := range p.site.Paths() {
		if strings.HasPrefix(path, "/static/") {
			if a := p.ask(http.MethodGet, path); a.StatusCode != http.StatusOK {
				t.Errorf("%s: %s", path, a.Status)
			}
		}
	}
	if a := p.ask(http.MethodGet, "/api/signals"); a.StatusCode != http.StatusOK {
		t.Errorf("the signals: %s", a.Status)
	}
}

// elapse makes the records of paid requests older by d.
func (p *published) elapse(d time.Duration) {
	p.statement(`update paid_requests set expires_at = expires_at - make_interval(secs => $1)`, d.Seconds())
}

// spend removes an amount from a key's balance.
func (p *published) spend(key, amount string) {
	micros, err := accounts.ParseMicros(amount)
	if err != nil {
		p.t.Fatal(err)
	}
	parsed, err := accounts.ParseKey(key)
	if err != nil {
		p.t.Fatal(err)
	}
	p.statement(`
		insert into ledger (key_id, kind, amount, at, endpoint, request_id)
		select key_id, 'charge', -$1::bigint, billing_now(), '/picks', $3 from key_secrets where hash = $2`, int64(micros), hashOf(parsed), fmt.Sprint("req_", amount))
}

func (p *published) statement(sql string, args ...any) {
	p.t.Helper()
	c, err := pgx.Connect(p.t.Context(), p.dsn)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = c.Close(p.t.Context()) }()
	if _, err := c.Exec(p.t.Context(), sql, args...); err != nil {
		p.t.Fatal(err)
	}
}
