package api_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/accounts/x402"
	"tidemark/api"
	"tidemark/api/view"
)

// A payer who kept the answer and its header can show what was paid for, with the keys that the host publishes.
func TestAPaidAnswerHasASignedReceipt(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	text, err := x402.NewDeliveryKey([]byte("32 bytes that anyone could guess"))
	if err != nil {
		t.Fatal(err)
	}
	o := s.paymentsOptions
	if o.Deliveries, err = x402.NewDeliveryKeys(text, "https://shop.example"); err != nil {
		t.Fatal(err)
	}
	unsigned := receipt(t, s.buy("/picks/latest", pay(1, s.authorization(1000), nil)))
	if unsigned.Extensions != nil {
		t.Errorf("without a key: %s", unsigned.Extensions)
	}
	s.serve(api.Options{View: s.view, Data: s.wares(), Payments: api.NewPayments(o)})
	document := s.ask(http.MethodGet, x402.DIDPath)
	s.want("the keys", document, http.StatusOK)
	if document.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("a web page may not read the keys: %v", document.Header)
	}
	keys, err := x402.ReadDIDKeys(document.body)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, c := range []struct {
		version int
		header  []string
	}{{1, nil}, {2, nil}, {2, []string{"Accept-Encoding", "gzip"}}} {
		paid := s.authorization(1000)
		a := s.buy("/picks/latest", append(pay(c.version, paid, nil), c.header...))
		s.want("a good payment", a, http.StatusOK)
		body := a.body
		if a.Header.Get("Content-Encoding") == "gzip" {
			body = []byte(unzip(t, body))
		}
		kept = append(kept, a.Header.Get(x402.HeaderReceiptV1))
		r, err := x402.ReadReceipt([]byte(a.Header.Get(x402.HeaderReceiptV2)))
		if err != nil {
			t.Fatal(err)
		}
		found := r.Check(keys, x402.Expected{Content: body, Transaction: paid["nonce"].(string)})
		if len(found) != 5 {
			t.Errorf("%d findings: %+v", len(found), found)
		}
		for _, f := range found {
			if f.Fault != "" {
				t.Errorf("version %d %v: %s: %s", c.version, c.header, f.Name, f.Fault)
			}
		}
		if d := r.Delivery; d.Network != "eip155:8453" || d.Payer != payer || d.ResourceURL != "https://shop.example"+sold+"/picks/latest" {
			t.Errorf("version %d: %+v", c.version, d)
		}
	}
	if kept[0] == kept[1] {
		t.Error("two payments have one receipt")
	}
	// A failed settlement is not signed.
	s.facilitate(valid, says(200, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"base","payer":"`+payer+`"}`))
	failed := s.buy("/picks/latest", pay(1, s.authorization(1000), nil))
	s.want("a failed one", failed, http.StatusPaymentRequired)
	if r := receipt(t, failed); r.Success || r.Extensions != nil {
		t.Errorf("%+v", r)
	}
}

// An offer is of the request as it was: with its query and its media type. A catalog learns from it which parameters there are.
func TestAnOfferIsOfTheRequestAsItWas(t *testing.T) {
	t.Parallel()
	s := openFixture(t)
	wares := s.wares()
	wares["/picks"] = func(*http.Request, api.Caller) (api.Answer, error) {
		return api.Answer{Document: view.NewDocument(view.TypeParquet, view.CacheNever, []byte("PAR1"), time.Time{})}, nil
	}
	text, err := x402.NewDeliveryKey([]byte("32 bytes that anyone could guess"))
	if err != nil {
		t.Fatal(err)
	}
	o := s.paymentsOptions
	if o.Deliveries, err = x402.NewDeliveryKeys(text, "https://shop.example"); err != nil {
		t.Fatal(err)
	}
	s.serve(api.Options{View: s.view, Data: wares, Payments: api.NewPayments(o)})
	type input struct{ QueryParams, PathParams map[string]any }
	type parameters struct{ Properties map[string]any }
	type terms struct {
		Resource   struct{ URL, MIMEType string }
		Extensions struct {
			Bazaar struct {
				RouteTemplate string
				Info          struct{ Input input }
				Schema        struct {
					Properties struct {
						Input struct {
							Properties struct{ QueryParams, PathParams parameters }
						}
					}
				}
			}
		}
	}
	asked := func(path string) (got terms, version1 string) {
		t.Helper()
		a := s.buy(path, nil)
		s.want(path, a, http.StatusPaymentRequired)
		header := a.Header.Get(x402.HeaderRequiredV2)
		raw, err := base64.StdEncoding.DecodeString(header)
		if err == nil {
			err = json.Unmarshal(raw, &got)
		}
		if err != nil || len(header) > 3000 {
			t.Fatalf("%s: %s, %v", path, raw, err)
		}
		return got, string(a.body)
	}
	const query = "/picks?format=parquet&from=2026-01-02"
	got, version1 := asked(query)
	if want := "https://shop.example" + sold + query; got.Resource.URL != want || got.Resource.MIMEType != view.TypeParquet {
		t.Errorf("the offer is of %+v", got.Resource)
	}
	for _, part := range []string{`"mimeType":"` + view.TypeParquet, `format=parquet\u0026from=2026-01-02`, `"queryParams":{"cursor":"string"`} {
		if !strings.Contains(version1, part) {
			t.Errorf("version 1 lacks %s: %s", part, version1)
		}
	}
	bazaar := got.Extensions.Bazaar
	takes := slices.Sorted(maps.Keys(bazaar.Schema.Properties.Input.Properties.QueryParams.Properties))
	want := []string{"cursor", "format", "from", "lang", "limit", "region", "sector", "status", "ticker", "to"}
	if !slices.Equal(takes, want) || bazaar.RouteTemplate != "" {
		t.Errorf("the catalog is told of %v, want %v", takes, want)
	}
	if d := cmp.Diff(map[string]any{"format": "parquet", "from": "2026-01-02"}, bazaar.Info.Input.QueryParams); d != "" {
		t.Error(d)
	}
	got, _ = asked("/research/NVDA?lang=es")
	bazaar = got.Extensions.Bazaar
	if bazaar.RouteTemplate != sold+"/research/:ticker" || bazaar.Info.Input.PathParams["ticker"] != "NVDA" ||
		bazaar.Schema.Properties.Input.Properties.PathParams.Properties["ticker"] == nil || got.Resource.MIMEType != view.TypeJSON {
		t.Errorf("%+v", got)
	}
	if long, _ := asked("/picks?ticker=" + strings.Repeat("A", 1000)); long.Extensions.Bazaar.Info.Input.QueryParams != nil {
		t.Error("a header repeats a long query")
	}
	paid := s.buy(query, pay(2, s.authorization(5000), nil))
	s.want("a paid file", paid, http.StatusOK)
	r, err := x402.ReadReceipt([]byte(paid.Header.Get(x402.HeaderReceiptV2)))
	if err != nil || r.Delivery.ResourceURL != "https://shop.example"+sold+query {
		t.Errorf("the receipt is of %q (%v)", r.Delivery.ResourceURL, err)
	}
}
