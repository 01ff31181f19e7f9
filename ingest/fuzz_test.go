package ingest

import (
	"net/http"
	"strings"
	"testing"
)

// Wherever a publisher sends a question on to, it stays on its host, and encrypted.
func FuzzLocation(f *testing.F) {
	f.Add(302, "/new?x=1")
	f.Add(307, "https://other.example/")
	f.Add(301, "//up.example:443/a#b")
	f.Add(308, "http://up.example@other.example/")
	f.Fuzz(func(t *testing.T, status int, location string) {
		q, err := newFetchRequest(Source{}, Limits{}, 1, Request{URL: "https://up.example/data?key=s3cr3t", Method: http.MethodGet})
		if err != nil {
			t.Fatal(err)
		}
		next, err := q.redirected(status, location)
		if err != nil {
			return
		}
		if !strings.EqualFold(next.url.Hostname(), "up.example") || next.url.Scheme != "https" || port(next.url) != "443" || next.url.Fragment != "" {
			t.Errorf("%q leads to %s", location, next.url)
		}
	})
}
