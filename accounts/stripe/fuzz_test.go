package stripe_test

import (
	"testing"

	"tidemark/accounts/stripe"
)

// An event without the processor's signature is never parsed. An event with a valid signature is parsed or rejected.
func FuzzEvent(f *testing.F) {
	c, err := stripe.New(stripe.Options{SecretKey: "sk_test", WebhookSecret: "whsec_test"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"id":"evt_1","object":"event","type":"charge.refunded","data":{"object":{"payment_intent":"pi_1"}}}`), "t=1,v1=00")
	f.Add([]byte(`{"id":"evt_1","type":"x","data":{"object":{"payment_intent":{"id":"pi_1"}}}}`), "")
	f.Fuzz(func(t *testing.T, body []byte, signature string) {
		if e, err := c.Event(body, signature); err == nil {
			t.Errorf("%q with %q is read as %+v", body, signature, e)
		}
		if e, err := stripe.Read(body); err == nil && (e.ID == "" || e.Type == "") {
			t.Errorf("%q is read as %+v", body, e)
		}
	})
}
