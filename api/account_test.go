package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tidemark/accounts"
	"tidemark/api"
)

func TestRegistration(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	a := s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"  my-agent ","extra":1}`, "Content-Type", "application/json; charset=utf-8", "X-Request-Id", "mine")
	if a.StatusCode != http.StatusCreated || a.Header.Get("Cache-Control") != "no-store" || a.Header.Get("ETag") != "" {
		t.Fatalf("%s, %v: %s", a.Status, a.Header, a.body)
	}
	body := s.object(a)
	data := body["data"].(map[string]any)
	key, err := accounts.ParseKey(data["api_key"].(string))
	if err != nil {
		t.Fatal(err)
	}
	checkFields(t, data, map[string]func(any) bool{
		"key_id": isString, "created_at": isTime, "docs_url": isURL,
		"prefix":     func(v any) bool { return v == key.Prefix() },
		"name":       func(v any) bool { return v == "my-agent" },
		"plan":       func(v any) bool { return v == "balance" },
		"balance":    func(v any) bool { m, _ := v.(map[string]any); return m["amount"] == "0.20" && m["currency"] == "USD" },
		"expires_at": func(v any) bool { return v == nil },
		"usage":      func(v any) bool { m, _ := v.(map[string]any); return m["header"] == "Authorization: Bearer <api_key>" },
	})
	if meta := body["meta"].(map[string]any); meta["request_id"] != "mine" || meta["warning"] != "Store this key now; it is not shown again." {
		t.Errorf("meta: %v", meta)
	}
	hash := key.Hash()
	if got := s.query(`select encode(hash, 'hex'), prefix from key_secrets`)[0]; got != fmt.Sprintf("%x %s", hash[:], key.Prefix()) {
		t.Errorf("stored: %s", got)
	}
	account := s.data(key.Reveal(), "/account")
	if account["key_id"] != data["key_id"] || account["name"] != "my-agent" || account["created_at"] != data["created_at"] {
		t.Errorf("account: %v", account)
	}
}

func TestRequestsThatChangeSomethingAreRead(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	for name, tt := range map[string]struct {
		method, body string
		header       []string
		status       int
		code         string
	}{
		"no body":           {body: "", status: 400, code: "invalid_request"},
		"no JSON":           {body: "name=x", status: 400, code: "invalid_request"},
		"half of it":        {body: `{"name":"x"`, status: 400, code: "invalid_request"},
		"more behind":       {body: `{"name":"x"} {}`, status: 400, code: "invalid_request"},
		"a list":            {body: `["x"]`, status: 400, code: "invalid_request"},
		"null":              {body: `null`, status: 400, code: "invalid_request"},
		"no name":           {body: `{}`, status: 400, code: "invalid_parameter"},
		"a null name":       {body: `{"name":null}`, status: 400, code: "invalid_parameter"},
		"a number":          {body: `{"name":5}`, status: 400, code: "invalid_parameter"},
		"an empty name":     {body: `{"name":"  "}`, status: 400, code: "invalid_parameter"},
		"a long name":       {body: `{"name":"` + strings.Repeat("x", 101) + `"}`, status: 400, code: "invalid_parameter"},
		"a control":         {body: `{"name":"a\u0007b"}`, status: 400, code: "invalid_parameter"},
		"a form":            {body: "name=x", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, code: "unsupported_media_type"},
		"another charset":   {body: `{"name":"x"}`, header: []string{"Content-Type", "application/json; charset=latin1"}, status: 415, code: "unsupported_media_type"},
		"compressed":        {body: "x", header: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_media_type"},
		"too large":         {body: `{"name":"` + strings.Repeat("x", 64<<10) + `"}`, status: 413, code: "body_too_large"},
		"GET":               {method: http.MethodGet, status: 405, code: "method_not_allowed"},
		"no Idempotency":    {body: `{"name":"x"}`, header: []string{"Idempotency-Key", ""}, status: 400, code: "invalid_request"},
		"as large as it is": {body: `{"name":"x","pad":"` + strings.Repeat("x", 64<<10-22) + `"}`, status: 201},
	} {
		if tt.method == "" {
			tt.method = http.MethodPost
		}
		a := s.askWith(tt.method, "/api/v1/auth/register", tt.body, tt.header...)
		if tt.code != "" {
			p := s.problem(a, tt.status, tt.code)
			if errs, _ := p["errors"].([]any); tt.code == "invalid_parameter" && (len(errs) != 1 || errs[0].(map[string]any)["pointer"] != "/name") {
				t.Errorf("%s: %v", name, p["errors"])
			}
		}
		if a.StatusCode != tt.status {
			t.Errorf("%s: %s, want %d: %s", name, a.Status, tt.status, a.body)
		}
	}
	for path, allow := range map[string]string{"/auth/register": "POST, OPTIONS", "/keys/rotate": "POST, OPTIONS", "/keys/current": "DELETE, OPTIONS", "/account": "GET, HEAD, OPTIONS"} {
		if a := s.ask(http.MethodPatch, "/api/v1"+path); a.StatusCode != http.StatusMethodNotAllowed || a.Header.Get("Allow") != allow {
			t.Errorf("PATCH %s: %s, Allow %s", path, a.Status, a.Header.Get("Allow"))
		}
		// Pages of other sites must not create or end keys.
		methods := ""
		if path == "/account" {
			methods = allow
		}
		if a := s.ask(http.MethodOptions, "/api/v1"+path); a.StatusCode != http.StatusNoContent || a.Header.Get("Allow") != allow || a.Header.Get("Access-Control-Allow-Methods") != methods {
			t.Errorf("OPTIONS %s: %s, methods %s", path, a.Status, a.Header.Get("Access-Control-Allow-Methods"))
		}
	}
}

func TestARegistrationIsRepeated(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	register := func(name, once string) answer {
		return s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"`+name+`"}`, "Idempotency-Key", once)
	}
	first, again := register("a", "one"), register("a", "one")
	if first.StatusCode != http.StatusCreated {
		t.Fatalf("%s: %s", first.Status, first.body)
	}
	// Another client behind the same proxy, or a client that guesses the Idempotency-Key, has proven nothing.
	s.problem(again, http.StatusConflict, "already_registered")
	text := s.object(first)["data"].(map[string]any)["api_key"].(string)
	if strings.Contains(string(again.body), text) || s.query(`select count(*) from kept_answers where position(convert_to('` + text + `', 'UTF8') in answer) > 0`)[0] != "0" {
		t.Error("the text of the key was given away, or is kept")
	}
	s.problem(register("b", "one"), http.StatusUnprocessableEntity, "idempotency_key_reused")
	if other := register("a", "two"); string(other.body) == string(first.body) {
		t.Error("another Idempotency-Key brought the same key")
	}
	if got := s.query(`select count(*) from keys`)[0]; got != "2" {
		t.Errorf("%s keys, want 2", got)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	s.at("2026-03-04T12:00:00Z")
	first := s.key()
	const once1, once2, once3 = "5d41402abc4b2a76b9719d911017c592", "7d793037a0760186574b0282f2f435e7", "9e107d9d372bb6826bd81d3542a419d6"
	rotate := func(key, body string, header ...string) answer {
		return s.askWith(http.MethodPost, "/api/v1/keys/rotate", body, append([]string{"Authorization", "Bearer " + key}, header...)...)
	}
	text := func(a answer) string {
		t.Helper()
		if a.StatusCode != http.StatusOK || a.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("rotate: %s: %s", a.Status, a.body)
		}
		return s.object(a)["data"].(map[string]any)["api_key"].(string)
	}
	s.paid(first, "/picks")
	second := text(rotate(first, `{"grace_seconds":60}`))
	for _, key := range []string{first, second} {
		if got := s.balance(key); got != "0.195" {
			t.Errorf("the balance of both is %s", got)
		}
	}
	if got := s.data(first, "/account")["expires_at"]; got != "2026-03-04T12:01:00Z" {
		t.Errorf("the old one ends %v", got)
	}
	s.at("2026-03-04T12:01:00Z")
	s.problem(s.paid(first, "/account"), http.StatusUnauthorized, "revoked_api_key")

	// Without a grace period the old text ends immediately. A client that lost the response gets it again with the old text.
	lost := rotate(second, `{"grace_seconds":60}`, "Idempotency-Key", once1)
	third := text(lost)
	if again := rotate(second, `{"grace_seconds":60}`, "Idempotency-Key", once1); string(again.body) != string(lost.body) {
		t.Errorf("a repetition: %s: %s", again.Status, again.body)
	}
	// A guess with the old text gets the same answer, whether it is right or not.
	s.problem(rotate(second, `{"grace_seconds":61}`, "Idempotency-Key", once1), http.StatusUnauthorized, "revoked_api_key")
	// In its grace period the old text can only read.
	if got := s.balance(second); got != "0.195" {
		t.Errorf("the balance is %s", got)
	}
	s.problem(rotate(second, ""), http.StatusUnauthorized, "revoked_api_key")
	s.problem(rotate(second, `{"grace_seconds":60}`, "Idempotency-Key", once3), http.StatusUnauthorized, "revoked_api_key")
	s.problem(s.ask(http.MethodDelete, "/api/v1/keys/current", "Authorization", "Bearer "+second), http.StatusUnauthorized, "revoked_api_key")
	s.problem(s.ask(http.MethodGet, "/api/v1/payments/quote", "Authorization", "Bearer "+second), http.StatusUnauthorized, "revoked_api_key")
	s.problem(s.askWith(http.MethodPost, "/api/v1/payments/verify", `{"tx_hash":"0x`+strings.Repeat("ab", 32)+`"}`, "Authorization", "Bearer "+second),
		http.StatusUnauthorized, "revoked_api_key")
	s.at("2026-03-04T12:02:00Z")
	s.problem(s.paid(second, "/account"), http.StatusUnauthorized, "revoked_api_key")
	s.problem(rotate(second, `{"grace_seconds":60}`, "Idempotency-Key", once1), http.StatusUnauthorized, "revoked_api_key")
	s.problem(rotate(second, "", "Idempotency-Key", once2), http.StatusUnauthorized, "revoked_api_key")
	s.problem(rotate(second, ""), http.StatusUnauthorized, "revoked_api_key")
	if got := s.balance(third); got != "0.195" {
		t.Errorf("the balance is %s", got)
	}
	for _, body := range []string{`{"grace_seconds":-1}`, `{"grace_seconds":604801}`, `{"grace_seconds":"1"}`, `{"grace_seconds":1.5}`} {
		s.problem(rotate(third, body), http.StatusBadRequest, "invalid_parameter")
	}
	s.problem(s.askWith(http.MethodPost, "/api/v1/keys/rotate", ""), http.StatusUnauthorized, "missing_api_key")
}

func TestAMistypedMemberOfABodyIsNamedAndChangesNothing(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	for body, want := range map[string]string{
		`{"grace_second":60}`:                    "Did you mean grace_seconds?",
		`{"Grace_Seconds":60}`:                   "Did you mean grace_seconds?",
		`{"pause":60}`:                           "There are grace_seconds.",
		`{"grace_seconds":60,"grace_seconds":0}`: "The body has this member more than once.",
	} {
		p := s.problem(s.askWith(http.MethodPost, "/api/v1/keys/rotate", body, "Authorization", "Bearer "+key), http.StatusBadRequest, "invalid_parameter")
		if detail, _ := p["detail"].(string); !strings.HasSuffix(detail, want) {
			t.Errorf("%s: %q, want %q", body, detail, want)
		}
	}
	for _, body := range []string{`{"grace_seconds":60,"pause":"` + "\xff" + `"}`, `{"pause":"\ud800"}`} {
		p := s.problem(s.askWith(http.MethodPost, "/api/v1/keys/rotate", body, "Authorization", "Bearer "+key), http.StatusBadRequest, "invalid_request")
		if p["detail"] != "The body is not valid UTF-8." {
			t.Errorf("%q: %v", body, p["detail"])
		}
	}
	if got := s.balance(key); got != "0.20" {
		t.Errorf("the key that was not rotated has %q", got)
	}
	if got := s.query(`select count(*) from keys`)[0]; got != "1" {
		t.Errorf("%s keys, want 1", got)
	}
}

// The old text of a key got the new one with the Idempotency-Key "1".
func TestAnOldTextGetsTheNewOneByNoGuess(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	rotate := func(once string) answer {
		return s.askWith(http.MethodPost, "/api/v1/keys/rotate", `{"grace_seconds":60}`, "Authorization", "Bearer "+key, "Idempotency-Key", once)
	}
	guesses := []string{"1", "rotate", "0123456789", strings.Repeat("ab", 40), "0000000000000000000000000000000000000001"}
	for _, guess := range guesses {
		s.problem(rotate(guess), http.StatusBadRequest, "invalid_request")
	}
	const once = "6f1ed002ab5595859014ebf0951522d9"
	if a := rotate(once); a.StatusCode != http.StatusOK {
		t.Fatalf("a random one: %s: %s", a.Status, a.body)
	}
	for _, guess := range guesses {
		s.problem(rotate(guess), http.StatusUnauthorized, "revoked_api_key")
	}
	if a := rotate(once); a.StatusCode != http.StatusOK {
		t.Errorf("a client that lost the answer: %s: %s", a.Status, a.body)
	}
}

func TestWithoutADatabaseNothingIsSold(t *testing.T) {
	t.Parallel()
	s := newBillingFixture(t, api.Accounts{}, accounts.ModelBalance)
	key := s.key()
	if a := s.paid(key, "/picks"); a.StatusCode != http.StatusOK {
		t.Fatal(a.Status)
	}
	name := s.database()
	s.admin(`alter database ` + name + ` with allow_connections false`)
	s.admin(`select pg_terminate_backend(pid) from pg_stat_activity where datname = $1`, name)
	for _, path := range []string{"/picks", "/events", "/account"} {
		a := s.paid(key, path)
		s.problem(a, http.StatusServiceUnavailable, "dependency_unavailable")
		if a.Header.Get("Retry-After") == "" || a.Header.Get("X-Request-Cost") != "" {
			t.Errorf("%s: header %v", path, a.Header)
		}
	}
	a := s.askWith(http.MethodPost, "/api/v1/auth/register", `{"name":"x"}`)
	s.problem(a, http.StatusServiceUnavailable, "dependency_unavailable")
	s.admin(`alter database ` + name + ` with allow_connections true`)
	s.eventually("keys are served again", func() bool { return s.paid(key, "/picks/latest").StatusCode == http.StatusOK })
	if got := s.balance(key); got != "0.194" {
		t.Errorf("the balance is %s, want 0.194: the requests that failed cost nothing", got)
	}
}
