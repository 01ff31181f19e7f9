package ops_test

import (
	"net/http"
	"testing"
	"time"

	"tidemark/internal/ops"
	"tidemark/internal/telemetry"
)

// responseHeader requests url with a Host and returns the header of the response, with its status as "Status".
func responseHeader(t *testing.T, url, host string) http.Header {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	resp.Header.Set("Status", resp.Status[:3])
	return resp.Header
}

// With DNS rebinding, a page of another site could read metrics and pages through an operator's browser.
func TestRequestsForAForeignHostAreRefused(t *testing.T) {
	t.Parallel()
	url := serve(t, ops.Options{Role: "queue", Metrics: telemetry.NewMetrics("1", "c", time.Now), Hosts: []string{"worker.internal.example"}})
	for host, want := range map[string]string{
		"": "200", "localhost": "200", "localhost:9091": "200", "127.0.0.1:1": "200", "[::1]:9091": "200", "10.1.2.3": "200", "worker": "200", "worker:9091": "200",
		"worker.internal.example": "200", "Worker.Internal.Example.:9091": "200",
		"attacker.example": "421", "attacker.example:9091": "421", "worker.internal.example.attacker.example": "421", "127.0.0.1.attacker.example": "421",
		"localhost.attacker.example:80": "421",
	} {
		for _, path := range []string{"/healthz", "/metrics", "/readyz"} {
			if got := responseHeader(t, url+path, host).Get("Status"); got != want {
				t.Errorf("%s for the host %q: %s, want %s", path, host, got, want)
			}
		}
	}
}
