// Package world holds the three worlds of a source. Live, Replay and Sandbox are transports that carry the engine's requests to the real
// publisher, to recorded responses or to a generator; each has its clock. A source does not know its world.
package world

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"tidemark/ingest"
	"tidemark/internal/publicnet"
)

// LiveOptions are for the rare installation and the test that need another Live. The zero value is Live().
type LiveOptions struct {
	// Proxy names the proxy of a request, nil for none. Nil: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, as net/http reads them.
	Proxy func(*http.Request) (*url.URL, error)
	// RootCAs are the certificate authorities to trust. Nil: the system's, or those in SSL_CERT_FILE.
	RootCAs *x509.CertPool
	// Private lets requests reach private and loopback addresses: a mirror in the operator's own network.
	Private bool
}

// Live carries requests to the real publishers. It refuses every address outside the public internet, and judges the address that is
// dialled. A proxy resolves the name itself and may be in a private network; behind a proxy, Live judges the publisher's host as written.
// Such an error is ingest.Refused. The transport reuses connections, uses HTTP/2 and decompresses gzip. The engine sets the timeout of an
// exchange.
func Live() http.RoundTripper { return LiveWith(LiveOptions{}) }

// LiveWith is Live with other options.
func LiveWith(o LiveOptions) http.RoundTripper {
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	l := &live{options: o}
	l.direct = l.transport(!o.Private)
	l.direct.Proxy = nil
	l.proxied = l.transport(false)
	return l
}

type live struct {
	options LiveOptions
	// direct dials upstreams and guards that; proxied dials proxies only.
	direct, proxied *http.Transport
}

func (l *live) transport(guarded bool) *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	if guarded {
		dialer.Control = func(network, address string, c syscall.RawConn) error {
			return refused(publicnet.Control(network, address, c))
		}
	}
	return &http.Transport{
		Proxy:                  l.options.Proxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: l.options.RootCAs},
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// RoundTrip carries one request.
func (l *live) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := l.options.Proxy(r)
	if err == nil && !l.options.Private {
		err = refused(publicnet.CheckHost(r.URL.Hostname()))
	}
	if err != nil {
		closeBody(r)
		return nil, err
	}
	transport := l.direct
	if proxy != nil {
		transport = l.proxied
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// Only our own worlds may say such things.
	resp.Header.Del(ingest.SyntheticHeader)
	resp.Header.Del(ingest.ConstructedHeader)
	return resp, nil
}

// CloseIdleConnections closes connections that are kept for later.
func (l *live) CloseIdleConnections() {
	l.direct.CloseIdleConnections()
	l.proxied.CloseIdleConnections()
}

// refused says that an address outside the public internet is refused for good.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ingest.Refused, err)
}

// closeBody does a RoundTripper's duty to a request that is not sent.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}
