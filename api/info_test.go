package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts"
	"tidemark/api/endpoint"
	"tidemark/api/view"
	"tidemark/internal/locale/languages"
)

func TestInfoSaysHowItIsPaidFor(t *testing.T) {
	t.Parallel()
	for model, want := range map[accounts.Model]map[string]any{
		accounts.ModelBalance: {"model": "balance", "currency": "USD", "trial_balance": "0.20", "min_top_up": "5", "plans": nil, "pay_to": nil, "token": nil, "token_address": nil, "network": nil},
		accounts.ModelPlan: {
			"model": "plan", "currency": "USD", "trial_balance": nil, "min_top_up": nil, "pay_to": nil, "token": nil, "token_address": nil, "network": nil,
			"plans": map[string]any{
				"free": map[string]any{"requests_per_day": 10.0, "picks": 3.0},
				"pro":  map[string]any{"requests_per_day": 1000.0, "price": "5", "days": 30.0, "token": nil},
			},
		},
	} {
		p := publish(t, model)
		d := p.object(p.ask(http.MethodGet, "/api/v1/info"))["data"].(map[string]any)
		if diff := cmp.Diff(want, d["billing"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", model, diff)
		}
		prices := map[string]any{}
		for _, e := range endpoint.All() {
			switch {
			case e.Early: // this installation shows nothing early
			case model == accounts.ModelPlan:
				prices[e.Path] = "0"
			default: // a test of api/endpoint compares the prices with the interface
				prices[e.Path] = e.Price.Shortest()
			}
		}
		if model == accounts.ModelBalance {
			if a := p.paid("/research/ACME"); a.Header.Get("X-Request-Cost") != "0.01" || a.Header.Get("X-Balance-Remaining") != "0.19" {
				t.Errorf("research is answered %s at %v", a.Status, a.Header)
			}
		}
		if diff := cmp.Diff(prices, d["prices"]); diff != "" {
			t.Errorf("%s: prices (-want +got):\n%s", model, diff)
		}
		logged, err := p.publications.State().Info(&view.InfoLog{Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		if want := `"url":"` + strings.Replace(d["links"].(map[string]any)["verify"].(string), "/api/v1/verify/picks", "/log", 1) + `"`; !strings.Contains(string(logged.Identity.Body), want) {
			t.Errorf("the log: %s, want %s", logged.Identity.Body, want)
		}
		chain := d["chain"].(map[string]any)
		if chain["length"] != 4.0 || chain["rule"] != "ticker|price|date|previous_hash" || chain["genesis_hash"] != strings.Repeat("0", 64) {
			t.Errorf("chain %v", chain)
		}
		if d["environment"] != "demo" || d["version"] != "1.2.3" || d["commit"] != "3f2c1a" || len(d["languages"].([]any)) != len(languages.All()) {
			t.Errorf("%v", d)
		}
	}
}
