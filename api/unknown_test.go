package api_test

import (
	"net/http"
	"strings"
	"testing"

	"tidemark/accounts"
	"tidemark/api/openapi"
)

// A mistyped as_of would return today's numbers without a warning: a look into the future.
func TestAParameterThatAnAddressDoesNotHaveIsRefusedAndTheNearestIsNamed(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	p.serve(p.everything())
	const crack = "/api/signals/crack-spread-321"
	for address, want := range map[string]string{
		crack + "?asof=2026-03-01":                    "asof is not a parameter of this address. Did you mean as_of?",
		crack + "?As_Of=2026-03-01":                   "As_Of is not a parameter of this address. Did you mean as_of?",
		crack + "?at=2026-03-01":                      "at is not a parameter of this address, which has as_of.",
		crack + "/history?asof=2026-03-01":            "Did you mean as_of?",
		crack + "/history?vintage=all":                "Did you mean vintages?",
		crack + "/vintages?as_of=2026-03-01":          "as_of is not a parameter of this address, which has order, limit, from, to, cursor.",
		crack + "/brief?as_of=2026-03-01":             "as_of is not a parameter of this address, which has none.",
		"/api/signals?as_of=2026-03-01":               "as_of is not a parameter of this address, which has none.",
		"/api/v1/picks?form=2026-03-01":               "Did you mean from?",
		"/api/v1/picks/latest?as_of=2026-03-01":       "as_of is not a parameter of this address, which has lang.",
		"/api/v1/events?severity=3":                   "Did you mean min_severity?",
		"/api/v1/verify/picks?form_seq=2":             "Did you mean from_seq?",
		"/api/v1/verify/pick/ACME?dat=2026-03-03":     "Did you mean date?",
		"/api/v1/info?as_of=2026-03-01":               "which has none.",
		crack + "?" + strings.Repeat("x", 5000) + "=": strings.Repeat("x", 64) + " is not a parameter",
	} {
		a := p.ask(http.MethodGet, address, "Authorization", "Bearer "+p.key)
		body := p.object(a)
		if detail, _ := body["detail"].(string); a.StatusCode != http.StatusBadRequest || body["code"] != "invalid_parameter" || !strings.Contains(detail, want) ||
			a.Header.Get("Content-Type") != "application/problem+json" || a.Header.Get("X-Request-Cost") > "0" && a.Header.Get("X-Request-Cost") != "0.00" {
			t.Errorf("%.60s: %s: %.300s\nwant %s", address, a.Status, a.body, want)
		}
	}
	// Parameters of caches and campaigns are ignored everywhere.
	for _, address := range []string{crack + "?_=1732300000", crack + "?utm_source=x&_cb=1", "/api/signals?_=1", "/api/v1/picks?_=1", crack + "?"} {
		if a := p.ask(http.MethodGet, address, "Authorization", "Bearer "+p.key); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s: %s", address, a.Status, a.body)
		}
	}
	for address, status := range map[string]int{
		"/signals/crack-spread-321?asof=2026-03-01": 400, "/events?min_severty=3": 400, "/signals/crack-spread-321?utm_source=x&gclid=y&ref=z": 200,
	} {
		a := p.ask(http.MethodGet, address, "Accept", "text/html")
		if a.StatusCode != status || status == 400 && !strings.Contains(string(a.body), "Did you mean") {
			t.Errorf("the page %s: %s", address, a.Status)
		}
	}
	if body := p.object(p.ask(http.MethodGet, "/api/signals/crack-spread-312")); body["detail"] != "No signal has this id. Did you mean crack-spread-321?" {
		t.Errorf("a mistyped signal: %v", body["detail"])
	}
	many := p.object(p.ask(http.MethodGet, crack+"?"+strings.Repeat("a&b&c&d&e&f&g&", 1)+"h&i&j&k&l&m&n"))
	if faults, _ := many["errors"].([]any); len(faults) != 10 {
		t.Errorf("%d of 14 unknown parameters are named, want the first ten", len(faults))
	}
}

// Every address with data rejects unknown parameters. This also covers addresses that are added later.
func TestEveryAddressWithDataRefusesAnUnknownParameter(t *testing.T) {
	t.Parallel()
	p := publish(t, accounts.ModelBalance)
	p.serve(p.everything())
	n := 0
	for _, op := range openapi.Operations() {
		switch op.Tag {
		case "Signals", "Picks", "Verification":
		default:
			continue
		}
		if strings.HasSuffix(op.Path, "/picks/early") {
			continue // nothing is served there unless the operator says so
		}
		n++
		path := strings.NewReplacer("{id}", "crack-spread-321", "{ticker}", "ACME").Replace(op.Path)
		if a := p.ask(op.Method, path+"?zzz=1", "Authorization", "Bearer "+p.key); a.StatusCode != http.StatusBadRequest || !strings.Contains(string(a.body), "zzz is not a parameter") {
			t.Errorf("%s %s?zzz=1: %s: %.200s", op.Method, path, a.Status, a.body)
		}
	}
	if n < 18 {
		t.Errorf("only %d addresses were asked", n)
	}
}
