package world_test

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"tidemark/ingest"
	"tidemark/ingest/world"
)

// reply is an answer, read.
type reply struct {
	StatusCode    int
	Header        http.Header
	ContentLength int64
}

// get asks a transport.
func get(t *testing.T, rt http.RoundTripper, target string, header http.Header) (reply, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(r.Header, header)
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return reply{}, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, resp.ContentLength}, string(body), err
}

func noProxy(*http.Request) (*url.URL, error) { return nil, nil }

func TestLiveRefusesPrivateAddresses(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the private server was asked") }))
	t.Cleanup(s.Close)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	live := world.LiveWith(world.LiveOptions{Proxy: noProxy})
	for _, target := range []string{
		s.URL, "http://localhost" + port, "http://[::1]" + port, "http://[::ffff:127.0.0.1]" + port, "http://0.0.0.0" + port,
	} {
		_, _, err := get(t, live, target, nil)
		if !errors.Is(err, ingest.Refused) {
			t.Errorf("%s: got %v, want a refusal", target, err)
		}
	}
}

func TestLiveReachesPrivateAddressesOnlyWhenTold(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding %q, want gzip", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set(ingest.SyntheticHeader, "true") // an upstream that lies
		w.Header().Set(ingest.ConstructedHeader, "true")
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte("plain"))
		_ = z.Close()
	}))
	t.Cleanup(s.Close)
	resp, body, err := get(t, world.LiveWith(world.LiveOptions{Proxy: noProxy, Private: true}), s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if body != "plain" || resp.Header.Get("Content-Encoding") != "" {
		t.Errorf("got %q in coding %q, want it decoded", body, resp.Header.Get("Content-Encoding"))
	}
	if resp.Header.Get(ingest.SyntheticHeader) != "" || resp.Header.Get(ingest.ConstructedHeader) != "" {
		t.Error("an upstream could say where its body comes from")
	}
}

func TestLiveSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Proto)) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	_, body, err := get(t, world.LiveWith(world.LiveOptions{Proxy: noProxy, Private: true, RootCAs: roots}), s.URL, nil)
	if err != nil || body != "HTTP/2.0" {
		t.Errorf("got %q and error %v, want HTTP/2.0", body, err)
	}
	_, _, err = get(t, world.LiveWith(world.LiveOptions{Proxy: noProxy, Private: true}), s.URL, nil)
	if err == nil {
		t.Error("a certificate that nobody vouches for was accepted")
	}
}

// The proxy has a private address, as usual, and resolves the upstream's name.
func TestBehindAProxyTheUpstreamsHostIsJudged(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Header().Set(ingest.SyntheticHeader, "true")
		_, _ = io.WriteString(w, "from the proxy")
	}))
	t.Cleanup(proxy.Close)
	at, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	live := world.LiveWith(world.LiveOptions{Proxy: http.ProxyURL(at)})
	resp, body, err := get(t, live, "http://upstream.example/data", nil)
	if err != nil || body != "from the proxy" || resp.Header.Get(ingest.SyntheticHeader) != "" {
		t.Fatalf("got %q, %+v and error %v, want the proxy's answer", body, resp, err)
	}
	for _, target := range []string{"http://10.0.0.1/", "http://localhost/", "http://169.254.169.254/latest/meta-data", "http://2130706433/"} {
		if _, _, err := get(t, live, target, nil); !errors.Is(err, ingest.Refused) {
			t.Errorf("%s: got %v, want a refusal", target, err)
		}
	}
	if len(asked) != 1 || asked[0] != "http://upstream.example/data" {
		t.Errorf("the proxy was asked %v, want the upstream's URL alone", asked)
	}
}

func TestARefusedRequestsBodyIsClosed(t *testing.T) {
	t.Parallel()
	body := &closing{Reader: bytes.NewReader([]byte("question"))}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := world.LiveWith(world.LiveOptions{Proxy: noProxy}).RoundTrip(r)
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("it was not refused")
	}
	if !body.closed {
		t.Error("the body is open")
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }
