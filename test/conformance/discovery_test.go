package conformance

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// discoveryLinks follows every link of everything that tells programs and crawlers what there is: none may lead to nothing.
func discoveryLinks(t *testing.T, s *server) {
	links := regexp.MustCompile(regexp.QuoteMeta(s.url) + "[^\\s\"<>)`,]*")
	found := map[string]string{}
	for _, path := range []string{
		"/llms.txt", "/llms-full.txt", "/robots.txt", "/sitemap.xml", "/.well-known/api-catalog", "/.well-known/security.txt",
		"/.well-known/x402", "/.well-known/mcp.json", "/server.json", "/api/v1/info", "/api/v1/x402/info",
	} {
		a := s.ask(t, http.MethodGet, path, "")
		if a.Status != http.StatusOK {
			t.Errorf("%s: %d", path, a.Status)
		}
		for _, link := range links.FindAllString(string(a.Body), -1) {
			found[strings.TrimRight(link, ".;:")] = path
		}
	}
	var doc struct {
		Info         struct{ TermsOfService string }
		ExternalDocs struct{ URL string }
		Components   struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(s.ask(t, http.MethodGet, "/openapi.json", "").Body, &doc); err != nil {
		t.Fatal(err)
	}
	found[doc.Info.TermsOfService], found[doc.ExternalDocs.URL] = "/openapi.json", "/openapi.json"

	for link, from := range found {
		path, fragment, _ := strings.Cut(strings.TrimPrefix(link, s.url), "#")
		want := http.StatusOK
		switch {
		case path == "/api/v1" || path == "/api/v1/x402" || path == "/log":
			continue // where the addresses of an API or of a log begin
		case path == "/api/mcp" || path == "/api/v1/auth/register":
			want = http.StatusMethodNotAllowed // they take POST
		case strings.HasPrefix(path, "/api/v1/x402/") && path != "/api/v1/x402/info":
			want = http.StatusPaymentRequired
		}
		if a := s.ask(t, http.MethodGet, path, ""); a.Status != want {
			t.Errorf("%s names %s, which answers %d, want %d", from, link, a.Status, want)
		}
		if schema, ok := strings.CutPrefix(fragment, "/components/schemas/"); ok && doc.Components.Schemas[schema] == nil {
			t.Errorf("%s names the schema %s, which is not there", from, schema)
		}
	}
	for _, path := range []string{"/", "/docs", "/terms", "/openapi.json", "/api/mcp", "/api/v1/x402/picks", "/signals/crack-spread-321"} {
		if found[s.url+path] == "" {
			t.Errorf("nothing names %s", path)
		}
	}
	t.Logf("%d links lead somewhere", len(found))
}
