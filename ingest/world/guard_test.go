package world

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"tidemark/ingest"
)

// A name of the public internet may resolve to anything, and to something else the second time. So the address that is dialled
// is judged too, by the transport that dials upstreams.
func TestTheDialledAddressIsJudged(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the private server was asked") }))
	t.Cleanup(s.Close)
	direct := LiveWith(LiveOptions{}).(*live).direct
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := direct.RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, ingest.Refused) {
		t.Errorf("got %v, want a refusal", err)
	}
}
