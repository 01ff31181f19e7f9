package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"tidemark/internal/postgres"
)

// BenchmarkSnapshot measures the cost of one response in addition to net/http's own work.
func BenchmarkSnapshot(b *testing.B) {
	s := start(b, setup{stored: []postgres.Snapshot{full()}})
	h := s.server.Handler()
	for name, header := range map[string]http.Header{
		"plain":        {},
		"gzip":         {"Accept-Encoding": {"gzip, deflate, br"}, "Accept": {"*/*"}},
		"not modified": {"If-None-Match": {s.ask(http.MethodGet, "/api/signals/crack-spread-321").Header.Get("ETag")}},
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/signals/crack-spread-321", nil)
			r.Header = header
			w := &discard{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				h.ServeHTTP(w, r)
			}
		})
	}
}

type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}
