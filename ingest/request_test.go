package ingest_test

import (
	"errors"
	"net/http"
	"testing"

	"tidemark/ingest"
	"tidemark/internal/series"
)

func TestLedgerURL(t *testing.T) {
	t.Parallel()
	secret := []string{"api_key", "token"}
	tests := []struct {
		fact, method, url, body, want string
	}{
		{"without a query", "", "https://h.example/a", "", "https://h.example/a"},
		{"secret values go, the rest stays byte for byte", "GET", "https://h.example/a?b=%20x+y&api_key=k&c", "", "https://h.example/a?b=%20x+y&api_key=REDACTED&c"},
		{"each of several", "GET", "https://h.example/?token=1&api_key=2&token=3", "", "https://h.example/?token=REDACTED&api_key=REDACTED&token=REDACTED"},
		{"an escaped name is the same name", "GET", "https://h.example/?api%5Fkey=k", "", "https://h.example/?api%5Fkey=REDACTED"},
		{"in any case", "GET", "https://h.example/?API_KEY=k", "", "https://h.example/?API_KEY=REDACTED"},
		{"a name that only begins alike is not secret", "GET", "https://h.example/?api_key2=k", "", "https://h.example/?api_key2=k"},
		{"a secret after a second question mark", "GET", "https://h.example/?a=?&api_key=k?k", "", "https://h.example/?a=?&api_key=REDACTED"},
		{"the fragment is not asked", "GET", "https://h.example/#top", "", "https://h.example/"},
		{"a URL that does not parse", "GET", "https://h.example/%zz?api_key=k", "", "https://h.example/%zz?api_key=REDACTED"},
		{"another method", "HEAD", "https://h.example/", "", "https://h.example/#HEAD"},
		// printf abc | sha256sum
		{"a body", "POST", "https://h.example/?token=x", "abc", "https://h.example/?token=REDACTED#POST-ba7816bf8f01cfea"},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			if got := ingest.LoggedURL(tt.method, tt.url, []byte(tt.body), secret); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestARequestSaysWhoAsks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fact        string
		engine, own string
		want        string
	}{
		{"the engine's name", "Tidemark/1.0 (ops@tidemark.example)", "", "Tidemark/1.0 (ops@tidemark.example)"},
		{"the source's, where the upstream asks for a form", "Tidemark/1.0", "Tidemark ops@tidemark.example", "Tidemark ops@tidemark.example"},
		{"the program's where nobody set one", "", "", ingest.UserAgent("")},
	}
	for _, tt := range tests {
		t.Run(tt.fact, func(t *testing.T) {
			t.Parallel()
			var got http.Header
			r := newRig(transport(func(r *http.Request) (*http.Response, error) {
				got = r.Header.Clone()
				return nil, errors.New("enough")
			}))
			r.UserAgent, r.Attempts = tt.engine, 1
			src := feed("https://upstream.example/")
			ask := src.Request
			src.Request = func(w series.Window) ([]ingest.Request, error) {
				rs, err := ask(w)
				rs[0].Header = http.Header{"Accept-Encoding": {"br"}, "Accept": {"text/csv"}}
				if tt.own != "" {
					rs[0].Header.Set("User-Agent", tt.own)
				}
				return rs, err
			}
			_, _ = r.collect(t, src)
			if got.Get("User-Agent") != tt.want || got.Get("Accept") != "text/csv" {
				t.Errorf("sent %v, want User-Agent %q and the source's Accept", got, tt.want)
			}
			if got.Get("Accept-Encoding") != "" {
				t.Errorf("sent Accept-Encoding %q, want it left to the transport", got.Get("Accept-Encoding"))
			}
		})
	}
}
