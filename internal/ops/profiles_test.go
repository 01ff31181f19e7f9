package ops_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"tidemark/internal/ops"
	"tidemark/internal/telemetry"
)

func TestProfilesAreForProgramsOfThisMachine(t *testing.T) {
	t.Parallel()
	s := ops.New(ops.Options{Role: "worker", Metrics: telemetry.NewMetrics("1", "c", time.Now), Log: slog.New(slog.DiscardHandler)})
	for _, c := range []struct {
		why, host, remote, site, path string
		want                          int
	}{
		{"a profiler", "127.0.0.1:9091", "127.0.0.1:5000", "", "heap", 200},
		{"a person", "localhost", "[::1]:5000", "", "goroutine?debug=1", 200},
		{"an endless profile", "localhost", "127.0.0.1:5000", "", "profile?seconds=86400", 400},
		{"nonsense", "localhost", "127.0.0.1:5000", "", "profile?seconds=x", 400},
		{"a processor profile", "localhost", "[::ffff:127.0.0.1]:5000", "", "profile?seconds=1", 200},
		{"an operator's own tab", "localhost", "127.0.0.1:5000", "none", "goroutine", 200},
		{"the command line, which may name secrets", "localhost", "127.0.0.1:5000", "", "cmdline", 404},
		{"another machine", "127.0.0.1:9091", "10.1.2.3:5000", "", "heap", 403},
		{"no address", "127.0.0.1:9091", "@", "", "heap", 403},
		{"another site's page", "127.0.0.1:9091", "127.0.0.1:5000", "cross-site", "profile?seconds=30", 403},
		{"a name bound anew to this machine", "attacker.example", "127.0.0.1:5000", "", "heap", 421},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, ops.ProfilesPath+c.path, nil)
		r.Host, r.RemoteAddr = c.host, c.remote
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s: %s of %s for %s: %d, want %d", c.why, c.path, c.remote, c.host, w.Code, c.want)
		}
	}
}
