package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tidemark/accounts"
	"tidemark/accounts/stripe"
	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/api/endpoint"
	"tidemark/internal/locale/languages"
)

// testLog is a client of the processor whose checkouts always open.
type testLog struct {
	*stripe.Client

	orders []stripe.Order
}

func (r *testLog) Checkout(_ context.Context, o stripe.Order) (string, error) {
	r.orders = append(r.orders, o)
	return "https://checkout.stripe.com/c/pay/cs_1", nil
}

// dashboardFixture is the dashboard with a visitor's browser.
type dashboardFixture struct {
	*system

	cards  *testLog
	cookie string
	page   string
}

const whsec = "whsec_test"

func openOffice(t *testing.T) *dashboardFixture {
	t.Helper()
	client, err := stripe.New(stripe.Options{SecretKey: "sk_test", WebhookSecret: whsec})
	if err != nil {
		t.Fatal(err)
	}
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	limiter, err := api.NewLimiter("", time.Now, quiet)
	if err != nil {
		t.Fatal(err)
	}
	seller, err := x402.NewSeller(x402.Settings{Network: "base-sepolia", PayTo: "0x00000000000000000000000000000000000000aa"})
	if err != nil {
		t.Fatal(err)
	}
	o := &dashboardFixture{cards: &testLog{Client: client}}
	o.system = start(t, setup{
		accounts: &api.Accounts{Tariff: tariff, Now: time.Now, Limiter: limiter}, cards: o.cards,
		claims: &api.ClaimsOptions{Seller: seller, WaitTimeout: time.Millisecond}, pushes: true,
	})
	return o
}

// send sends a form as a browser does on one of our pages, and stores the cookie.
func (o *dashboardFixture) send(path string, form url.Values, header ...string) answer {
	o.t.Helper()
	if m := regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(o.page); m != nil && form.Get("token") == "" {
		form.Set("token", m[1])
	}
	if m := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(o.page); m != nil && form.Get("once") == "" {
		form.Set("once", m[1])
	}
	header = append([]string{"Content-Type", "application/x-www-form-urlencoded", "Cookie", o.cookie, "Accept", "text/html"}, header...)
	if !strings.Contains(strings.Join(header, " "), "Sec-Fetch-Site") {
		header = append(header, "Sec-Fetch-Site", "same-origin", "Origin", o.url)
	}
	return o.seen(o.askWith(http.MethodPost, path, form.Encode(), header...))
}

func (o *dashboardFixture) open(path string) answer {
	o.t.Helper()
	return o.seen(o.ask(http.MethodGet, path, "Cookie", o.cookie, "Accept", "text/html"))
}

func (o *dashboardFixture) seen(a answer) answer {
	for _, c := range a.Cookies() {
		if o.cookie = ""; c.MaxAge > 0 {
			o.cookie = c.Name + "=" + c.Value
		}
	}
	if len(a.body) > 0 && a.StatusCode < 300 {
		o.page = string(a.body)
	}
	return a
}

// A visitor creates a key with one button and no script. The page shows the text once and signs the browser in.
func TestAKeyIsCreatedOnTheDashboard(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	a := o.open("/dashboard")
	if !strings.Contains(string(a.body), `action="/dashboard/create"`) {
		t.Fatal("there is no button that makes a key")
	}
	a = o.send("/dashboard/create", url.Values{"name": {""}})
	text := regexp.MustCompile(`tmk_[a-z]+_[0-9A-Za-z]{36}`).FindString(string(a.body))
	if a.StatusCode != http.StatusOK || text == "" || o.cookie == "" || !strings.Contains(string(a.body), "My key") {
		t.Fatalf("a key was asked for: %s, a text of %d letters, the cookie %q", a.Status, len(text), o.cookie)
	}
	if a := o.ask(http.MethodGet, "/api/v1/account", "Authorization", "Bearer "+text); a.StatusCode != http.StatusOK {
		t.Errorf("the key opens nothing: %s", a.Status)
	}
	if a := o.open("/dashboard"); strings.Contains(string(a.body), text) || !strings.Contains(string(a.body), `id="key-prefix"`) {
		t.Error("the text is shown twice, or the visitor is not signed in")
	}
	if a := o.send("/dashboard/create", url.Values{"name": {"x\x00y"}}); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a name with a control character: %s", a.Status)
	}
	if a := o.send("/dashboard/create", url.Values{"name": {"x"}}, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"); a.StatusCode != http.StatusForbidden {
		t.Errorf("another site's form: %s", a.Status)
	}
}

// Browsers send a form again when its result is loaded again. One form creates one key, which is shown once, and its repetition is not
// counted against the limit of five keys an hour.
func TestAFormCreatesOneKey(t *testing.T) {
	t.Parallel()
	for _, lang := range languages.Codes() {
		o := openOffice(t)
		query := "?lang=" + string(lang)
		words := languages.Or(lang).Words
		o.open("/dashboard" + query)
		form := url.Values{"name": {""}}
		made := o.send("/dashboard/create"+query, form)
		text := regexp.MustCompile(`tmk_[a-z]+_[0-9A-Za-z]{36}`).FindString(string(made.body))
		if made.StatusCode != http.StatusOK || text == "" || !strings.Contains(string(made.body), words["key.default name"]+" <code") {
			t.Fatalf("%s: %s, a text of %d letters, without the name %q", lang, made.Status, len(text), words["key.default name"])
		}
		again := func(what, word string) {
			t.Helper()
			for range 7 {
				a := o.send("/dashboard/create"+query, form)
				if a.StatusCode != http.StatusConflict || !strings.Contains(string(a.body), words["key.said "+word]) || strings.Contains(string(a.body), `id="new-key"`) || strings.Contains(string(a.body), text) {
					t.Fatalf("%s, %s: %s", lang, what, a.Status)
				}
			}
		}
		again("signed in", "created before")
		o.send("/dashboard/sign-out"+query, url.Values{})
		again("signed out", "created, signed out")
		if n := o.count(`select count(*) from keys`); n != 1 {
			t.Errorf("%s: one form made %d keys", lang, n)
		}
		old := url.Values{"name": {""}, "once": {strconv.FormatInt(time.Now().Add(-23*time.Hour).Unix(), 36) + ".X"}}
		if a := o.send("/dashboard/create"+query, old); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), words["key.said old form"]) {
			t.Errorf("%s: a form of the day before: %s", lang, a.Status)
		}

		o.send("/dashboard/sign-in"+query, url.Values{"api_key": {text}})
		o.open("/dashboard" + query)
		rotation := url.Values{"grace": {"3600"}}
		a := o.send("/dashboard/rotate"+query, rotation)
		if a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `id="new-key"`) {
			t.Fatalf("%s: rotate: %s", lang, a.Status)
		}
		if a := o.send("/dashboard/rotate"+query, rotation); a.StatusCode != http.StatusForbidden || strings.Contains(string(a.body), `id="new-key"`) ||
			!strings.Contains(string(a.body), words["key.said rotated before"]) || !strings.Contains(string(a.body), `id="rotate-button"`) {
			t.Errorf("%s: the same rotation again: %s", lang, a.Status)
		}
		if n := o.count(`select count(*) from key_secrets`); n != 2 {
			t.Errorf("%s: one rotation made a key of %d texts", lang, n)
		}
	}
}

// Two tabs make two keys, and the session is of the second. The first tab, loaded again, names both keys, and does not lead to the form that
// would rotate the other one.
func TestARepeatedFormOfAnotherKeyNamesBothKeys(t *testing.T) {
	t.Parallel()
	keyOf := regexp.MustCompile(`id="key-prefix">(tmk_[a-z]+_[0-9A-Za-z]+)…`)
	for _, lang := range languages.Codes() {
		o := openOffice(t)
		query, words := "?lang="+string(lang), languages.Or(lang).Words
		o.open("/dashboard" + query)
		first, second := url.Values{"name": {""}}, url.Values{"name": {""}, "once": {strconv.FormatInt(time.Now().Unix(), 36) + ".OTHER"}}
		one := keyOf.FindStringSubmatch(string(o.send("/dashboard/create"+query, first).body))
		rotation := url.Values{"grace": {"0"}, "token": {regexp.MustCompile(`name="token" value="([0-9a-f]+)"`).FindStringSubmatch(o.page)[1]}}
		rotation.Set("key", regexp.MustCompile(`name="key" value="([^"]+)"`).FindStringSubmatch(o.page)[1])
		two := keyOf.FindStringSubmatch(string(o.send("/dashboard/create"+query, second).body))
		if one == nil || two == nil || one[1] == two[1] {
			t.Fatalf("%s: the keys %v and %v", lang, one, two)
		}
		a := o.send("/dashboard/create"+query, first)
		if want := fmt.Sprintf(words["key.said created, other key"], one[1], two[1]); a.StatusCode != http.StatusConflict || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, lacks %q", lang, a.Status, want)
		}
		a = o.send("/dashboard/create"+query, second)
		if a.StatusCode != http.StatusConflict || !strings.Contains(string(a.body), words["key.said created before"]) {
			t.Errorf("%s: the key of the session: %s", lang, a.Status)
		}
		a = o.send("/dashboard/rotate"+query, rotation)
		if want := fmt.Sprintf(words["key.said other key"], two[1]); a.StatusCode != http.StatusForbidden || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: the rotation of the first key: %s, lacks %q", lang, a.Status, want)
		}
	}
}

// The page of a refused request says in the visitor's language what the limit is and when the next request is possible.
func TestTheLimitOfNewKeysIsToldInWords(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	limiter, err := api.NewLimiter("", func() time.Time { return now }, quiet)
	if err != nil {
		t.Fatal(err)
	}
	o := &dashboardFixture{system: start(t, setup{
		accounts: &api.Accounts{Tariff: tariff, Now: time.Now, Limiter: limiter, RegisterRate: api.Rate{N: 5, Per: time.Hour}},
	})}
	create := func(query string) answer {
		t.Helper()
		o.cookie = ""
		o.open("/dashboard" + query)
		return o.send("/dashboard/create"+query, url.Values{})
	}
	for range 5 {
		if a := create(""); a.StatusCode != http.StatusOK {
			t.Fatal(a.Status)
		}
	}
	for lang, want := range map[string][2]string{
		"en": {"Limit for requests of this kind: 5 in an hour. The next one is possible in 12 minutes.", "Try again then."},
		"es": {"5 en una hora. La próxima será posible dentro de 12 minutos.", "Inténtelo de nuevo entonces."},
		"pt": {"5 em uma hora. A próxima será possível daqui a 12 minutos.", "Tente de novo quando esse tempo passar."},
		"hi": {"एक घंटे में 5। अगला अनुरोध 12 मिनट बाद भेजा जा सकेगा।", "तब फिर कोशिश करें।"},
	} {
		a := create("?lang=" + lang)
		if page := string(a.body); a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "720" ||
			!strings.Contains(page, want[0]) || !strings.Contains(page, want[1]) || strings.Contains(page, "1h0m0s") || strings.Contains(page, `lang="en">`+want[0]) {
			t.Errorf("%s: %s %s", lang, a.Status, page)
		}
	}
}

func (o *dashboardFixture) count(sql string) (n int) {
	o.t.Helper()
	conn, err := pgx.Connect(o.t.Context(), o.dsn)
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(o.t.Context())) }()
	if err := conn.QueryRow(o.t.Context(), sql).Scan(&n); err != nil {
		o.t.Fatal(err)
	}
	return n
}

// The browser keeps the address of a form after it was sent. Opened again, from a bookmark or the address bar, it leads to the dashboard.
func TestAFormsAddressLeadsToTheDashboard(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, form := range []string{"sign-in", "create", "sign-out", "rotate", "revoke", "top-up", "claim", "quote", "alert", "alert-test", "alert-secret", "alert-replay", "alert-delete"} {
		for query, want := range map[string]string{"": "/dashboard", "?lang=es": "/dashboard?lang=es", "?lang=xx": "/dashboard"} {
			a := o.ask(http.MethodGet, "/dashboard/"+form+query, "Accept", "text/html")
			if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != want || a.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s%s: %s to %q, want %q", form, query, a.Status, a.Header.Get("Location"), want)
			}
		}
	}
	if a := o.ask(http.MethodPut, "/dashboard/create", "Accept", "text/html"); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD, POST, OPTIONS" {
		t.Errorf("another method: %s, allowed are %q", a.Status, a.Header.Get("Allow"))
	}
}

// newKey registers a key through the API.
func (o *dashboardFixture) newKey() string {
	o.t.Helper()
	a := o.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"<b>my</b> agent"}`, "Content-Type", "application/json")
	return o.object(a)["data"].(map[string]any)["api_key"].(string)
}

func (o *dashboardFixture) works(key string) int {
	o.t.Helper()
	return o.ask(http.MethodGet, "/api/v1/account", "Authorization", "Bearer "+key).StatusCode
}

func TestTheDashboardWithoutAScript(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	key := o.newKey()
	a := o.open("/dashboard")
	if a.StatusCode != http.StatusOK || !strings.Contains(o.page, `id="api-key"`) || strings.Contains(o.page, "<script") && !strings.Contains(o.page, "/static/") {
		t.Fatalf("%s %s", a.Status, a.body)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Access-Control-Allow-Origin": "", "Referrer-Policy": "same-origin"} {
		if got := a.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if csp := a.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'self'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
		t.Errorf("CSP %s", csp)
	}
	if a := o.send("/dashboard/sign-in", url.Values{"api_key": {"tmk_live_wrong"}}); a.StatusCode != http.StatusForbidden || o.cookie != "" {
		t.Errorf("a wrong key: %s, cookie %q", a.Status, o.cookie)
	}
	a = o.send("/dashboard/sign-in", url.Values{"api_key": {key}})
	c := a.Cookies()
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard" || len(c) != 1 || !c[0].HttpOnly ||
		c[0].SameSite != http.SameSiteStrictMode || c[0].Path != "/" || strings.Contains(c[0].Value, key) {
		t.Fatalf("sign in: %s %v", a.Status, a.Header)
	}
	o.open("/dashboard")
	for _, want := range []string{`id="balance">0.20`, "&lt;b&gt;my&lt;/b&gt; agent", "Nothing yet.", `id="rotate-button"`, `id="revoke-button"`, `id="top-up-button"`} {
		if !strings.Contains(o.page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(o.page, key) {
		t.Error("the page shows the key")
	}

	a = o.send("/dashboard/top-up", url.Values{"amount": {"4.99"}})
	if a.StatusCode != http.StatusBadRequest || len(o.cards.orders) > 0 {
		t.Errorf("less than the least: %s", a.Status)
	}
	a = o.send("/dashboard/top-up", url.Values{"amount": {"12.50"}, "once": {"x"}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "https://checkout.stripe.com/c/pay/cs_1" || len(o.cards.orders) != 1 || o.cards.orders[0].Amount != 12_500_000 {
		t.Errorf("top up: %s %v %+v", a.Status, a.Header, o.cards.orders)
	}
	if a := o.ask(http.MethodGet, "/dashboard/paid"); a.StatusCode != http.StatusOK || !strings.Contains(string(a.body), `href="/dashboard"`) {
		t.Errorf("back from the checkout: %s", a.Status)
	}

	before := o.cookie
	a = o.send("/dashboard/rotate", url.Values{"grace": {"0"}})
	m := regexp.MustCompile(`id="new-key">(tmk_live_[0-9A-Za-z]{36})<`).FindStringSubmatch(string(a.body))
	if a.StatusCode != http.StatusOK || m == nil {
		t.Fatalf("rotate: %s %s", a.Status, a.body)
	}
	if o.works(key) != http.StatusUnauthorized || o.works(m[1]) != 200 {
		t.Errorf("the old text answers %d, the new one %d", o.works(key), o.works(m[1]))
	}
	if a := o.ask(http.MethodGet, "/dashboard", "Cookie", before); !strings.Contains(string(a.body), `id="api-key"`) {
		t.Error("the session of the old text goes on")
	}
	if o.open("/dashboard"); strings.Contains(o.page, m[1]) || !strings.Contains(o.page, `id="balance"`) {
		t.Error("the new text is shown twice, or the session has ended with the rotation")
	}
	if a := o.send("/dashboard/revoke", url.Values{}); a.StatusCode != http.StatusBadRequest || o.works(m[1]) != 200 {
		t.Errorf("revoked without the box: %s", a.Status)
	}
	if a := o.send("/dashboard/revoke", url.Values{"sure": {"yes"}}); a.StatusCode != http.StatusOK || o.works(m[1]) != http.StatusUnauthorized || o.cookie != "" {
		t.Errorf("revoke: %s, the key answers %d, cookie %q", a.Status, o.works(m[1]), o.cookie)
	}
}

func TestAnotherSiteCannotUseTheDashboard(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	key := o.newKey()
	o.send("/dashboard/sign-in", url.Values{"api_key": {key}})
	o.open("/dashboard")
	sure := func() url.Values { return url.Values{"sure": {"yes"}} }
	for what, a := range map[string]answer{
		"from another site":         o.send("/dashboard/revoke", sure(), "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"),
		"from a sibling":            o.send("/dashboard/revoke", sure(), "Sec-Fetch-Site", "same-site", "Origin", "https://evil.example"),
		"by an old browser":         o.askWith(http.MethodPost, "/dashboard/revoke", "sure=yes", "Content-Type", "application/x-www-form-urlencoded", "Cookie", o.cookie, "Origin", "https://evil.example"),
		"with another form's token": o.send("/dashboard/revoke", url.Values{"sure": {"yes"}, "token": {strings.Repeat("0", 64)}}),
		"without a cookie":          o.askWith(http.MethodPost, "/dashboard/revoke", "sure=yes", "Content-Type", "application/x-www-form-urlencoded"),
	} {
		if a.StatusCode != http.StatusForbidden || o.works(key) != 200 {
			t.Errorf("%s: %s, the key answers %d", what, a.Status, o.works(key))
		}
	}
	session := o.cookie
	o.send("/dashboard/sign-out", url.Values{})
	if a := o.ask(http.MethodGet, "/dashboard", "Cookie", session); !strings.Contains(string(a.body), `id="api-key"`) {
		t.Error("a session that was left goes on")
	}
}

func TestReportsOfTheProcessorAreStoredOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	const body = `{"id":"evt_1","object":"event","type":"checkout.session.completed","data":{"object":{"payment_intent":"pi_1"}}}`
	sign := func(secret string, at time.Time) string {
		mac := hmac.New(sha256.New, []byte(secret))
		_, _ = fmt.Fprintf(mac, "%d.%s", at.Unix(), body)
		return fmt.Sprintf("t=%d,v1=%s", at.Unix(), hex.EncodeToString(mac.Sum(nil)))
	}
	post := func(signature string) int {
		return o.askWith(http.MethodPost, "/webhooks/stripe", body, "Stripe-Signature", signature, "Content-Type", "application/json").StatusCode
	}
	for range 10 {
		if status := post(sign(whsec, time.Now())); status != http.StatusNoContent {
			t.Errorf("a good report: %d", status)
		}
	}
	for what, signature := range map[string]string{
		"forged": sign("whsec_other", time.Now()), "stale": sign(whsec, time.Now().Add(-10*time.Minute)), "unsigned": "",
	} {
		if status := post(signature); status != http.StatusBadRequest {
			t.Errorf("%s: %d", what, status)
		}
	}
	conn, err := pgx.Connect(t.Context(), o.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var stored, due int
	err = conn.QueryRow(t.Context(), `select (select count(*) from processor_events), (select count(*) from runs where job = 'processor')`).Scan(&stored, &due)
	if err != nil || stored != 1 || due != 1 {
		t.Errorf("%d events are stored and %d runs due, %v", stored, due, err)
	}
}

func TestAServiceWithoutCardsNamesTheSettings(t *testing.T) {
	t.Parallel()
	tariff, err := endpoint.NewTariff(accounts.ModelBalance, "")
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, setup{accounts: &api.Accounts{Tariff: tariff, Now: time.Now}})
	a := s.askWith(http.MethodPost, "/webhooks/stripe", "{}")
	if a.StatusCode != http.StatusNotImplemented || !strings.Contains(string(a.body), "STRIPE_SECRET_KEY") {
		t.Errorf("%s %s", a.Status, a.body)
	}
}
