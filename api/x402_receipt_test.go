package api_test

import (
	"net/http"
	"testing"

	"tidemark/accounts/x402"
	"tidemark/api"
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
	// A failed settlement is signed by nobody.
	s.facilitate(valid, says(200, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"base","payer":"`+payer+`"}`))
	failed := s.buy("/picks/latest", pay(1, s.authorization(1000), nil))
	s.want("a failed one", failed, http.StatusPaymentRequired)
	if r := receipt(t, failed); r.Success || r.Extensions != nil {
		t.Errorf("%+v", r)
	}
}
