package x402_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"tidemark/accounts/x402"
)

// said is a facilitator that sends the same response to every request.
type said struct {
	status int
	body   []byte
}

func (s said) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200 + s.status%400, Status: "x", Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(s.body)),
		Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// For any facilitator response, a payment is settled only if the response says so and names a transaction.
func FuzzFacilitatorAnswers(f *testing.F) {
	p, err := x402.Decode(1, header(f, object(1)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte(`{"isValid":true,"payer":"0x00"}`))
	f.Add(0, []byte(`{"success":true,"transaction":"0x00","network":"base"}`))
	f.Add(200, []byte(`{"kinds":[{"x402Version":1,"scheme":"exact","network":"base"}]}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 0 {
			status = -(status + 1)
		}
		c, err := x402.NewClient(x402.Options{URL: "http://facilitator.example", Transport: said{status, body}, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		o := offer(t)
		_ = c.Verify(t.Context(), p, o)
		if end := c.Settle(t.Context(), p, o); end.Outcome == x402.Settled && end.Transaction == "" {
			t.Errorf("%q settles without a transaction", body)
		}
		if list, err := c.Supported(t.Context(), o.Seller); err == nil && len(list) > 2 || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: versions %v, %v", body, list, err)
		}
	})
}
